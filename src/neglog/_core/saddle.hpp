// The inverse of  [ Q   X' ]  for a diagonal Q >= 0 and rows X that do not depend on each other: the equations of a quadratic under
//                 [ X   0  ]  linear constraints.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels.hpp"

namespace neglog {

struct SaddlePoint {
    const std::vector<double>& diagonal;  // of Q: d numbers
    const std::vector<double>& rows;      // of X, one after the other

    std::size_t columns() const { return diagonal.size(); }
    std::size_t held() const { return columns() ? rows.size() / columns() : 0; }
    std::size_t size() const { return columns() + held(); }
};

// Symmetric, into rows that lie `apart`. False, and nothing useful is written, if there is no inverse.
bool saddle_inverse(const InstructionSet& set, const SaddlePoint& point, double* out, std::size_t apart);

}  // namespace neglog

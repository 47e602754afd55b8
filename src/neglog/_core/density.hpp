// A log density for samplers that call C functions from their own threads, without Python in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "passes.hpp"

namespace neglog {

// log p(x) = -factor * loss(x, v) - x' bend x / 2 - slope' x, up to a constant; v = centre + turn x are the open raw parameters.
struct Density {
    const InstructionSet& set;
    const Table& table;
    Pass pass;
    double factor;
    std::vector<double> bend, slope;    // n x n, n
    std::vector<double> centre, turn;  // one per open parameter, and n for each
};

// Returns 0 where density and gradient are numbers. `density` is a Density.
std::int64_t log_density(std::uint64_t n, const double* x, double* gradient, double* value, const void* density);

// A draw as the sampler is to keep it: as it is.
std::int64_t same_draw(std::uint64_t n, std::uint64_t kept, const double* x, double* out, const void* density);

}  // namespace neglog

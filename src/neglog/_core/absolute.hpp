// The exact minimum of  sum_i w_i |y_i - x_i' theta| + g' theta:  a vertex, where as many rows as there are independent columns
// have residual zero, with the multipliers that prove it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels.hpp"

namespace neglog {

enum class VertexStatus { optimal = 0, rank_deficient = 1, unbounded = 2, pivot_limit = 3 };

struct AbsoluteProblem {
    std::size_t rows, columns;
    const double* x;       // row by row
    const double* y;
    const double* weight;  // positive
    const double* linear;
};

struct Vertex {
    std::vector<double> theta;
    std::vector<std::size_t> basis;  // the rows with residual zero, one per independent column
    std::vector<double> dual;        // their multipliers u: sum over other rows w s x + sum over these u x = g, |u| <= w
    std::size_t pivots = 0;
    VertexStatus status = VertexStatus::optimal;
};

struct Ridge {
    const double* strength;  // q_j >= 0
    const double* centre;    // m_j
};

// Where a search begins: theta, or null for none, and the rows that were held at zero there, if it is the minimum of a problem
// like this one.
struct AbsoluteStart {
    const double* theta = nullptr;
    std::span<const std::int64_t> active;
};

// `start`, or null for none: the closer to the minimum, the fewer pivots.
Vertex absolute_vertex(const AbsoluteProblem& problem, const double* start, const AbsoluteLoops& loops);

// The same with  + 1/2 sum_j q_j (theta_j - m_j)^2,  where the minimum is seldom a vertex: fewer rows than columns may have
// residual zero. The status is rank_deficient, and theta the start, if the rows and the ridge leave a direction undetermined.
Vertex absolute_ridge(const AbsoluteProblem& problem, const Ridge& ridge, const AbsoluteStart& start, const InstructionSet& set);

}  // namespace neglog

// Small symmetric systems: the d x d end of a fit.
#pragma once

#include <cstddef>

#include "kernels.hpp"

namespace neglog {

// Solves matrix * x = right for a symmetric positive definite matrix (row-major, not modified), scaled to a unit diagonal inside.
// Returns the smallest pivot of the scaled matrix: of the order of 1 / condition, and not positive where the matrix is not.
double solve_positive(const InstructionSet& set, std::size_t n, const double* matrix, const double* right, double* x);

// min over x of  slope' (x - x0) + (x - x0)' curvature (x - x0) / 2 + sum_j lambda_j |x_j - kink_j|, by coordinate descent from
// x0 = x. Stops when a sweep over all coordinates lowers the objective by less than `tolerance`; returns the number of sweeps.
std::size_t coordinate_descent(const InstructionSet& set, std::size_t n, const double* curvature, const double* slope,
                               const double* lambda, const double* kink, double tolerance, std::size_t most_sweeps, double* x);

}  // namespace neglog

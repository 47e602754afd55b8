// The strength of a ridge that the data support most.
#pragma once

#include <cstddef>

namespace neglog {

// A least squares problem in the directions in which its columns are orthogonal.
struct RidgeProblem {
    std::size_t directions;
    const double* values;   // eigenvalues of the Gram matrix, all positive, in ascending order
    const double* squares;  // squared products of the directions with y
    double left, rows;      // sum of squares that is left of y without a ridge, and how many values of y are free
    double variance;        // of the noise; not positive: unknown, and then the one of most evidence at each strength
};

// The variance of the noise at a ridge strength alpha.
double ridge_variance(const RidgeProblem& problem, double alpha);

// log of the strength alpha = variance of the noise / variance of the coefficients that maximises the evidence.
double strongest_evidence(const RidgeProblem& problem);

}  // namespace neglog

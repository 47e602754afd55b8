#pragma once

#include "passes.hpp"

namespace neglog {

// Newton's method for factor * loss + sum of bend (theta - centre)^2 / 2, from theta and in place. `gradient` and `hessian`
// (classes * columns squared) are those of the objective where it was last evaluated.
struct NewtonEnd {
    bool converged;  // the last step was below `tol` in decrement, and has been taken
    std::size_t steps;
    double value, decrement, pivot;
};
NewtonEnd newton(const InstructionSet& set, const Table& table, const Pass& pass, const double* bend, const double* centre, double factor,
                 double tol, std::size_t most_steps, double* theta, double* gradient, double* hessian, std::size_t threads);

}  // namespace neglog

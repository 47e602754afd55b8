// Small symmetric systems: the d x d end of a fit.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels.hpp"

namespace neglog {

// The triangular factor of a symmetric positive definite matrix, scaled to a unit diagonal: by blocks of columns, whose rows are
// shared out among threads of our own. Those of a BLAS go on spinning where others need the cores.
class Factor {
  public:
    // The matrix is row-major and is not modified.
    Factor(const InstructionSet& set, std::size_t n, const double* matrix, std::size_t threads);

    // The smallest pivot of the scaled matrix: of the order of 1 / condition, and not positive where the matrix is not. Then there
    // is no factor to solve with.
    double smallest_pivot() const { return smallest_; }
    std::size_t size() const { return n_; }
    // x may be right itself.
    void solve(const double* right, double* x) const;
    // n rows of `width` numbers become L^-1 times themselves, where L L' is the matrix.
    void solve_half(std::size_t width, double* rows) const;
    // The diagonal of the inverse; returns the logarithm of its determinant.
    double inverse_diagonal(double* out) const;

  private:
    bool scale_rows(const double* matrix);
    bool factor_block(std::size_t first, std::size_t last);
    void solve_rows(std::size_t begin, std::size_t end, std::size_t first, std::size_t last);
    void subtract_products(std::size_t begin, std::size_t end, std::size_t first, std::size_t last);
    double* row(std::size_t i) { return numbers_.data() + i * apart_; }
    const double* row(std::size_t i) const { return numbers_.data() + i * apart_; }

    const InstructionSet& set_;
    std::size_t n_, apart_;
    std::vector<double> numbers_, scale_;
    double smallest_ = 1.0;
};

// Solves matrix * x = right for a symmetric positive definite matrix (row-major, not modified), scaled to a unit diagonal inside.
// Returns the smallest pivot of the scaled matrix: of the order of 1 / condition, and not positive where the matrix is not.
double solve_positive(const InstructionSet& set, std::size_t n, const double* matrix, const double* right, double* x,
                      std::size_t threads = 1);

// min over x of  slope' (x - x0) + (x - x0)' curvature (x - x0) / 2 + sum_j lambda_j |x_j - kink_j|, by coordinate descent from
// x0 = x. Stops when a sweep over all coordinates lowers the objective by less than `tolerance`; returns the number of sweeps.
std::size_t coordinate_descent(const InstructionSet& set, std::size_t n, const double* curvature, const double* slope, const double* lambda,
                               const double* kink, double tolerance, std::size_t most_sweeps, double* x);

}  // namespace neglog

// What the exact solvers of the absolute loss have in common: rows and columns scaled by powers of two, which changes no digit,
// the choice of a first basis, and the search along a line.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "absolute.hpp"

namespace neglog {

using Numbers = std::vector<double>;
using Indices = std::vector<std::size_t>;

// Uniform on [1, 2), the same on every machine.
inline double scattered(std::uint64_t i) {
    i = (i + 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;
    i = (i ^ (i >> 29)) * 0x94d049bb133111ebULL;
    return 1.0 + static_cast<double>((i ^ (i >> 32)) >> 11) * 0x1p-53;
}

class ScaledRows {
  public:
    ScaledRows(const AbsoluteProblem& problem, const AbsoluteLoops& loops);

    // The start in scaled columns; without one, the minimum of a sample or, for few rows, least squares.
    Numbers start(const double* given);
    // What there is to measure where no basis is chosen: `squares`.
    void measure_columns();
    Numbers scaled(const double* theta) const;
    // Rows with small residuals at theta that are well apart from each other; as many as the rank of X.
    Indices choose_basis(const Numbers& theta);

    void read_row(std::size_t i, double* to) const {
        const double* row = problem.x + i * d;
        for (std::size_t j = 0; j < d; ++j) to[j] = row[j] * column[j] * this->row[i];
    }
    double inner(const double* a, const double* b) const { return inner(d, a, b); }
    double inner(std::size_t n, const double* a, const double* b) const {
        double out;
        loops.inner_products(1, n, a, b, &out);
        return out;
    }

    const AbsoluteProblem problem;
    const AbsoluteLoops& loops;
    const std::size_t m, d, panels;
    Numbers column, row;        // the scales: x_ij column_j row_i
    Numbers x;                  // in panels
    Numbers y, weight, linear;  // rows padded to whole panels
    double typical = 1.0;       // the median size of targets that are not zero
    Numbers gram;               // of some rows: measures the length of edges
    Numbers squares;            // its diagonal

  private:
    void measure(std::size_t sample);
    Numbers least_squares() const;
    Numbers minimum_of_sample(std::size_t sample) const;
    bool accept(std::size_t row, double fraction, Indices& basis);

    Numbers cholesky_;     // of the Gram matrix
    Numbers orthonormal_;  // span of the basis while it is being chosen, whitened
    Numbers products_;
};

// The residuals along a line, and where the slope of the loss turns upwards.
class LineSearch {
  public:
    LineSearch(std::size_t rows, std::size_t padded) : rate(padded), time(padded), met(rows) {}

    enum class End { at_a_row, between_rows, never };
    // The loss starts with this downward slope, bends by `curvature` and gains the kink 2 w |rate| at each row. The rows that
    // are met before it turns come first in `met`, counted by `passed`; if it turns at a row, that one is next. Expected time
    // proportional to the number of rows. Of a slope that outlasts all rows, `slack` is taken for rounding.
    End run(double slope, double curvature, double slack, const Numbers& weight);

    Numbers rate, time;  // by row: of the residual, and when it becomes zero
    Indices met;
    std::size_t passed = 0;
    double step = 0.0;

  private:
    // Ties by the size of the pivot, so that the row which enters is a stable one.
    bool sooner(std::size_t a, std::size_t b) const {
        if (time[a] != time[b]) return time[a] < time[b];
        const double pa = std::abs(rate[a]), pb = std::abs(rate[b]);
        return pa != pb ? pa < pb : a < b;
    }
    double reach_ = std::numeric_limits<double>::max();  // how far the search looks first
};

// Moves every target away from zero on the side where its residual is, each by a different small amount. This breaks ties.
void scatter_targets(const Numbers& side, double unit, std::uint64_t seed, std::size_t rows, Numbers& y, Numbers& residual);

}  // namespace neglog

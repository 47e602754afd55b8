// Sparse columns, one after the other: products with them, and coordinate descent that never forms their Gram matrix.
#pragma once

#include <cstddef>
#include <cstdint>

namespace neglog {

// Entries starts[j] .. starts[j + 1] belong to column j.
template <class Index>
struct SparseColumns {
    std::size_t rows;
    const Index* starts;
    const Index* indices;
    const double* values;
};

// out_k = sum of the entries of column chosen_k times x; all columns in order where `chosen` is null.
template <class Index>
void column_products(const SparseColumns<Index>& columns, std::size_t count, const std::int64_t* chosen, const double* x, double* out,
                     std::size_t threads);

// The lasso of a quadratic about x: slope' (x - x0) + |X (x - x0) + step0|^2_weight / 2 + slope0 step0
// + sum_k bend_k (x_k - x0_k)^2 / 2 + sum_k lambda_k |x_k - kink_k|, over the `count` chosen columns and, if there is one, the
// intercept's step0. `change` becomes X (x - x0) + step0.
struct LassoModel {
    std::size_t count;
    const std::int64_t* chosen;
    const double *weight, *slope, *bend, *lambda, *kink;
    bool intercept;
    double slope0;
};

struct LassoEnd {
    double gain;   // by how much the model is lower
    double step0;  // of the intercept
    std::size_t sweeps;
};

// From x, in place, until what further sweeps over all chosen columns would gain is less than `tolerance`, or than a thousandth of
// what they have gained.
template <class Index>
LassoEnd sparse_descent(const SparseColumns<Index>& columns, const LassoModel& model, double tolerance, std::size_t most_sweeps, double* x,
                        double* change);

}  // namespace neglog

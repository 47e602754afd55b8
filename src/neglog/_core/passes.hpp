// One pass over the rows of a table: raw predictions, derivatives of the loss, and from them its value, gradient and Gram
// matrix, block by block while the rows are in the cache.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <vector>

#include "basis.hpp"
#include "blocks.hpp"
#include "kernels.hpp"

namespace neglog {

// Columns of numbers x[i * row_stride + j * column_stride], used as x - centre.
struct DenseBlock {
    const void* data;
    bool single_precision;
    std::ptrdiff_t row_stride, column_stride;
    std::size_t columns;
    const double* centre;
};

// One column of levels: row i has a one in column codes[i] - first, and nothing if that is negative.
struct CodesBlock {
    const std::int32_t* codes;
    std::int32_t first;
    std::size_t columns;
};

// Compressed rows, their columns ascending.
struct SparseBlock {
    const void *starts, *indices, *values;
    bool wide_starts, wide_indices, single_precision;
    std::size_t columns;
    std::size_t start(std::size_t i) const {
        return wide_starts ? static_cast<std::size_t>(static_cast<const std::int64_t*>(starts)[i])
                           : static_cast<std::size_t>(static_cast<const std::int32_t*>(starts)[i]);
    }
    // Calls work(indices, values) with the arrays in their own types, so that loops over them need not ask.
    template <class Work>
    void visit(Work work) const {
        const auto with_indices = [&](const auto* columns_of) {
            if (single_precision)
                work(columns_of, static_cast<const float*>(values));
            else
                work(columns_of, static_cast<const double*>(values));
        };
        if (wide_indices)
            with_indices(static_cast<const std::int64_t*>(indices));
        else
            with_indices(static_cast<const std::int32_t*>(indices));
    }
};

// Coefficients are ordered: intercept if there is one, dense columns, response if asked for, levels, sparse columns, basis blocks.
struct Table {
    std::size_t rows = 0;
    bool intercept = false;
    std::vector<DenseBlock> dense;
    std::vector<CodesBlock> codes;
    std::vector<SparseBlock> sparse;
    std::vector<BasisBlock> basis;
    std::size_t panel_columns(bool response) const;
    std::size_t plain_columns(bool response) const;  // before the basis blocks
    std::size_t columns(bool response) const { return turn(response, 1, 0).columns(); }
    Turn turn(bool response, std::size_t outputs, std::size_t rest) const { return {basis, plain_columns(response), outputs, rest}; }
};

struct Freed {
    void operator()(double* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<double[], Freed>;

// The panels of a small table: the first pass leaves them here for the next ones.
struct Panels {
    Buffer numbers;
    bool packed = false;
};

// Two ends between which a parameter lies, where it is not any number. It is predicted by the log odds of its place between them.
struct Ends {
    double low, high;
    bool any() const { return high - low < std::numeric_limits<double>::infinity(); }
    // The place at log odds z, from the nearer end, beside which the other would round; it never is one of them
    double place(double z) const {
        const double e = std::exp(-std::abs(z)), from_end = (high - low) * e / (1.0 + e);
        const double at = z < 0 ? low + from_end : high - from_end;
        return at <= low ? std::nextafter(low, high) : (at >= high ? std::nextafter(high, low) : at);
    }
    double slope(double place) const { return (place - low) * (high - place) / (high - low); }
    double bend(double place) const { return slope(place) * (low + high - 2.0 * place) / (high - low); }
};

// What a pass is to compute. Null outputs are left out.
struct Pass {
    const Kernel* kernel = nullptr;  // null: no loss; the Gram matrix is that of the weights
    std::size_t classes = 1;         // more than one: softmax, theta and gradient have a row of coefficients per class
    bool expected = false;           // the guide of a search (families.hpp) in place of the second derivative
    bool response = false;           // y - offset, less its centre, is a column; the loss is then that of 0 and the products
    double response_centre = 0.0;
    Source y, weight, offset;
    std::vector<Source> parameters;  // of the noise beside its location, as its kernel takes them
    // All raw parameters at once: `parameters` are then raw, and those that are open are added to by what stands for them in theta, after
    // the coefficients, in this order. The loss is the nll with every constant.
    bool joint = false;
    std::vector<std::size_t> open;  // which parameters
    // Those that have a row of coefficients of their own over the same columns, after that of the prediction: what it gives is added to
    // what is given for the rows. Each has its ends.
    std::vector<std::size_t> modelled;
    std::vector<Ends> ends;
    // Ordered classes, numbered by y: what stands in theta are the first edge and the logs of the gaps between edges, and each row has
    // the two edges of its class as parameters of its kernel. Sums are collected by edge, where they are simple, and turned at the end.
    bool ordered = false;
    std::vector<double> edges;  // with -infinity before and infinity after them
    const double* class_offsets = nullptr;  // softmax: all rows of the first class, then of the next
    const double* theta = nullptr;
    double* gradient = nullptr;
    double* gram = nullptr;  // lower triangle, as wide as theta
    Panels* panels = nullptr;
    bool forms = false;  // quadratic forms of the rows are wanted, and nothing else
    std::size_t outputs() const { return classes + modelled.size(); }  // rows of coefficients
    std::size_t width(const Table& table) const { return table.columns(response) * outputs() + open.size(); }
};

// The weighted sum of the loss.
double run(const InstructionSet& set, const Table& table, const Pass& pass, std::size_t threads);

// eta = offset + X theta; for several classes one row of eta per row.
void predict(const InstructionSet& set, const Table& table, const double* theta, std::size_t classes, const Source& offset, double* eta,
             std::size_t threads);

// out_i = x_i' matrix x_i, for a symmetric matrix over the columns.
void quadratic_forms(const InstructionSet& set, const Table& table, const double* matrix, double* out, std::size_t threads);

}  // namespace neglog

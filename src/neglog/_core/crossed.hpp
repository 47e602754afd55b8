// Groups that cross: sums over pairs of levels that share a third one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace neglog {

// A sparse matrix by rows, whose columns are in order in each.
struct SparseRows {
    std::size_t count;
    const std::int64_t* start;
    const std::int32_t* columns;
    const double* values;
};

// out -= rows' diag(w) rows: its lower triangle, line after line. `transposed` is the same matrix by columns.
void subtract_products(const SparseRows& rows, const SparseRows& transposed, const double* w, double* out, std::size_t threads);

// Of each row its product with a symmetric n x n matrix, of which the lower triangle is read, where the row itself is not 0.
void symmetric_products(const SparseRows& rows, const double* matrix, std::size_t n, double* out, std::size_t threads);

}  // namespace neglog

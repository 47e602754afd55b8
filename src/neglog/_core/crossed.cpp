#include "crossed.hpp"

#include <algorithm>

#include "parts.hpp"

namespace neglog {
namespace {

constexpr std::size_t together = 16;  // rows that a thread takes at once

template <class Work>
void over_rows(std::size_t rows, std::size_t threads, Work work) {
    over_parts((rows + together - 1) / together, threads, [&](std::size_t part) {
        for (std::size_t row = part * together, end = std::min(rows, row + together); row < end; ++row) work(row);
    });
}

}  // namespace

void subtract_products(const SparseRows& rows, const SparseRows& transposed, const double* w, double* out, std::size_t threads) {
    const std::size_t n = transposed.count;
    over_rows(n, threads, [&](std::size_t j) {
        double* to = out + j * n;
        for (std::int64_t k = transposed.start[j]; k < transposed.start[j + 1]; ++k) {
            const auto row = static_cast<std::size_t>(transposed.columns[k]);
            const double factor = transposed.values[k] * w[row];
            const std::int32_t *column = rows.columns + rows.start[row], *end = rows.columns + rows.start[row + 1];
            const double* value = rows.values + rows.start[row];
            for (; column < end && static_cast<std::size_t>(*column) <= j; ++column, ++value) to[*column] -= factor * *value;
        }
    });
}

void symmetric_products(const SparseRows& rows, const double* matrix, std::size_t n, double* out, std::size_t threads) {
    over_rows(rows.count, threads, [&](std::size_t row) {
        const auto begin = rows.start[row];
        const auto many = static_cast<std::size_t>(rows.start[row + 1] - begin);
        const std::int32_t* column = rows.columns + begin;
        const double* value = rows.values + begin;
        double* to = out + begin;
        for (std::size_t k = 0; k < many; ++k) {
            const double* line = matrix + static_cast<std::size_t>(column[k]) * n;
            double sum = 0.0;
            for (std::size_t m = 0; m < k; ++m) {
                const double entry = line[column[m]];
                sum += entry * value[m];
                to[m] += entry * value[k];
            }
            to[k] = sum + line[column[k]] * value[k];
        }
    });
}

}  // namespace neglog

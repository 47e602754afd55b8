// Loops over what rows have of basis blocks (basis.hpp): a few neighbouring functions each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "basis.hpp"
#include "vector_math.hpp"

namespace neglog {
namespace {

// A few neighbours at once: read before anything is written, so that they stay in registers.
template <std::size_t many>
struct Few {
    double x[many];
    static Few at(const double* from) {
        Few out;
        for (std::size_t k = 0; k < many; ++k) out.x[k] = from[k];
        return out;
    }
    void add_to(double* to, double factor) const {
        Few sum = at(to);
        for (std::size_t k = 0; k < many; ++k) sum.x[k] += factor * x[k];
        for (std::size_t k = 0; k < many; ++k) to[k] = sum.x[k];
    }
};

// The functions of one variable: `many` values a row, and the number of the first.
template <std::size_t many, class Number>
NEGLOG_VECTOR_LOOP void factor_rows(std::size_t rows, const BasisFactor& factor, std::size_t begin, std::int32_t* __restrict first,
                                    double* __restrict values) {
    const Number* x = static_cast<const Number*>(factor.x) + static_cast<std::ptrdiff_t>(begin) * factor.stride;
    const std::uint8_t* pieces = factor.pieces + begin;
    for (std::size_t i = 0; i < rows; ++i) {
        const std::size_t piece = pieces[i];
        const double t = static_cast<double>(x[static_cast<std::ptrdiff_t>(i) * factor.stride]) - factor.origins[piece];
        const double* c = factor.polynomials + piece * 4 * many;
        first[i] = factor.firsts[piece];
        for (std::size_t k = 0; k < many; ++k)
            values[i * many + k] = c[k] + t * (c[many + k] + t * (c[2 * many + k] + t * c[3 * many + k]));
    }
}

void basis_factor(std::size_t rows, const BasisFactor& factor, std::size_t begin, std::int32_t* first, double* values) {
    if (factor.many == 1)
        return factor.single_precision ? factor_rows<1, float>(rows, factor, begin, first, values)
                                       : factor_rows<1, double>(rows, factor, begin, first, values);
    factor.single_precision ? factor_rows<4, float>(rows, factor, begin, first, values)
                            : factor_rows<4, double>(rows, factor, begin, first, values);
}

// out_i += functions of row i times theta
template <std::size_t length>
NEGLOG_VECTOR_LOOP void functions_times(std::size_t rows, const RowFunctions& own, const double* theta, double* __restrict out) {
    for (std::size_t i = 0; i < rows; ++i) {
        const double *from = theta + own.first[i], *values = own.values + i * own.runs * length;
        double sum = 0.0;
        for (std::size_t r = 0; r < own.runs; ++r, from += own.apart, values += length)
            for (std::size_t k = 0; k < length; ++k) sum += values[k] * from[k];
        out[i] += sum;
    }
}

// out += functions of row i times x_i
template <std::size_t length>
NEGLOG_VECTOR_LOOP void functions_transposed(std::size_t rows, const RowFunctions& own, const double* x, double* out) {
    for (std::size_t i = 0; i < rows; ++i) {
        double* to = out + own.first[i];
        const double* values = own.values + i * own.runs * length;
        for (std::size_t r = 0; r < own.runs; ++r, to += own.apart, values += length) Few<length>::at(values).add_to(to, x[i]);
    }
}

// sums[function] += value times the row's numbers, of which there are `columns`; sums of the functions are `width` apart.
template <std::size_t length>
NEGLOG_VECTOR_LOOP void functions_by_columns(std::size_t rows, const RowFunctions& own, std::size_t columns, const double* __restrict x,
                                             double* __restrict sums, std::size_t width) {
    for (std::size_t i = 0; i < rows; ++i) {
        const double *row = x + i * columns, *values = own.values + i * own.runs * length;
        for (std::size_t r = 0; r < own.runs; ++r, values += length)
            for (std::size_t k = 0; k < length; ++k) {
                double* __restrict to = sums + (static_cast<std::size_t>(own.first[i]) + r * own.apart + k) * width;
                for (std::size_t j = 0; j < columns; ++j) to[j] += values[k] * row[j];
            }
    }
}

// gram[function of one][function of the other] += w_i value value
template <std::size_t tall, std::size_t wide, bool plain>
NEGLOG_VECTOR_LOOP void functions_by_functions(std::size_t rows, const double* w, const RowFunctions& one, const RowFunctions& other,
                                               double* gram, std::size_t width) {
    const std::size_t runs = plain ? 1 : one.runs, other_runs = plain ? 1 : other.runs;
    for (std::size_t i = 0; i < rows; ++i) {
        const double* left = one.values + i * runs * tall;
        for (std::size_t r = 0; r < runs; ++r, left += tall) {
            double* corner = gram + (static_cast<std::size_t>(one.first[i]) + r * one.apart) * width + other.first[i];
            const double* right = other.values + i * other_runs * wide;
            const Few<tall> own = Few<tall>::at(left);
            for (std::size_t s = 0; s < other_runs; ++s, right += wide, corner += other.apart) {
                const Few<wide> beside = Few<wide>::at(right);
                for (std::size_t j = 0; j < tall; ++j) beside.add_to(corner + j * width, w[i] * own.x[j]);
            }
        }
    }
}

// out_i += the sum of matrix[function of one][function of the other] value value, times `factor`
template <std::size_t tall, std::size_t wide, bool plain>
NEGLOG_VECTOR_LOOP void functions_form(std::size_t rows, double factor, const RowFunctions& one, const RowFunctions& other,
                                       const double* matrix, std::size_t width, double* __restrict out) {
    const std::size_t runs = plain ? 1 : one.runs, other_runs = plain ? 1 : other.runs;
    for (std::size_t i = 0; i < rows; ++i) {
        const double* left = one.values + i * runs * tall;
        double sum = 0.0;
        for (std::size_t r = 0; r < runs; ++r, left += tall) {
            const double* corner = matrix + (static_cast<std::size_t>(one.first[i]) + r * one.apart) * width + other.first[i];
            const double* right = other.values + i * other_runs * wide;
            for (std::size_t s = 0; s < other_runs; ++s, right += wide, corner += other.apart) {
                double lane[wide] = {};
                for (std::size_t j = 0; j < tall; ++j)
                    for (std::size_t k = 0; k < wide; ++k) lane[k] += left[j] * corner[j * width + k];
                for (std::size_t k = 0; k < wide; ++k) sum += lane[k] * right[k];
            }
        }
        out[i] += factor * sum;
    }
}

void basis_times(std::size_t rows, const RowFunctions& own, const double* theta, double* out) {
    own.length == 1 ? functions_times<1>(rows, own, theta, out) : functions_times<4>(rows, own, theta, out);
}
void basis_transposed(std::size_t rows, const RowFunctions& own, const double* x, double* out) {
    own.length == 1 ? functions_transposed<1>(rows, own, x, out) : functions_transposed<4>(rows, own, x, out);
}
void basis_by_columns(std::size_t rows, const RowFunctions& own, std::size_t columns, const double* x, double* sums, std::size_t width) {
    own.length == 1 ? functions_by_columns<1>(rows, own, columns, x, sums, width)
                    : functions_by_columns<4>(rows, own, columns, x, sums, width);
}
// Calls loop<tall, wide, plain> for the lengths of two blocks; `plain` where a row has one run of each.
#define NEGLOG_BY_LENGTHS(loop, ...)                                                                        \
    if (one.length == 4 && other.length == 4)                                                               \
        return one.runs * other.runs == 1 ? loop<4, 4, true>(__VA_ARGS__) : loop<4, 4, false>(__VA_ARGS__); \
    if (one.length == 4) return loop<4, 1, false>(__VA_ARGS__);                                             \
    if (other.length == 4) return loop<1, 4, false>(__VA_ARGS__);                                           \
    return loop<1, 1, false>(__VA_ARGS__);

void basis_gram(std::size_t rows, const double* w, const RowFunctions& one, const RowFunctions& other, double* gram, std::size_t width) {
    NEGLOG_BY_LENGTHS(functions_by_functions, rows, w, one, other, gram, width)
}
void basis_form(std::size_t rows, double factor, const RowFunctions& one, const RowFunctions& other, const double* matrix,
                std::size_t width, double* out) {
    NEGLOG_BY_LENGTHS(functions_form, rows, factor, one, other, matrix, width, out)
}

#undef NEGLOG_BY_LENGTHS

}  // namespace
}  // namespace neglog

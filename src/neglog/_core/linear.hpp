// Linear algebra on one panel: a block of rows, stored column by column, that stays in the caches of one core.
//
// A panel column has `stride` numbers, a multiple of the vector width; rows beyond the block are zero. So the loops below
// run over whole vectors, and sums over rows need no tail.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vector_math.hpp"

namespace neglog {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t lanes = 8;
#elif defined(__AVX__)
constexpr std::size_t lanes = 4;
#else
constexpr std::size_t lanes = 2;
#endif

#if defined(__GNUC__) || defined(__clang__)
// Attributes stand before the `=`: after the type, clang drops `aligned` in silence, and rows need not be aligned.
using Lanes __attribute__((vector_size(lanes * sizeof(double)), aligned(sizeof(double)), may_alias)) = double;
static_assert(alignof(Lanes) == alignof(double), "rows are read wherever they begin");
#else
struct Lanes {
    double value[lanes];
    Lanes& operator+=(const Lanes& other) {
        for (std::size_t i = 0; i < lanes; ++i) value[i] += other.value[i];
        return *this;
    }
    friend Lanes operator*(Lanes a, const Lanes& b) {
        for (std::size_t i = 0; i < lanes; ++i) a.value[i] *= b.value[i];
        return a;
    }
    double operator[](std::size_t i) const { return value[i]; }
};
#endif

inline Lanes load(const double* x) { return *reinterpret_cast<const Lanes*>(x); }

// Neighbours first, so that the order of addition is that of a vector reduction on every instruction set.
inline double total(const Lanes& v) {
    if constexpr (lanes == 8) return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
    if constexpr (lanes == 4) return (v[0] + v[2]) + (v[1] + v[3]);
    return v[0] + v[1];
}

// ---- packing -----------------------------------------------------------------------------------------------------

// `columns` columns of `rows` numbers x[i * row_stride + j * column_stride] into the panel, minus the column's centre.
template <class Number>
NEGLOG_VECTOR_LOOP void pack_column(std::size_t rows, const Number* __restrict x, double centre, double* __restrict out) {
    for (std::size_t i = 0; i < rows; ++i) out[i] = static_cast<double>(x[i]) - centre;
}

#if defined(__AVX__)
using Four __attribute__((vector_size(32), aligned(8), may_alias)) = double;
using FourSingle __attribute__((vector_size(16), aligned(4), may_alias)) = float;
static_assert(alignof(Four) == alignof(double) && alignof(FourSingle) == alignof(float), "rows are read wherever they begin");
inline Four four(const double* x) { return *reinterpret_cast<const Four*>(x); }
inline Four four(const float* x) { return __builtin_convertvector(*reinterpret_cast<const FourSingle*>(x), Four); }
#endif

// Rows that lie one after the other: four by four, through registers.
template <class Number>
NEGLOG_VECTOR_LOOP void pack_rows(std::size_t rows, std::size_t columns, const Number* x, std::ptrdiff_t row_stride, const double* centre,
                                  double* panel, std::size_t stride) {
    std::size_t j = 0;
#if defined(__AVX__)
    for (std::size_t next = 0; next < columns && columns >= 4; next += 4) {
        j = next + 4 <= columns ? next : columns - 4;  // the last four may overlap those before
        const Four middle = four(centre + j);
        double* out = panel + j * stride;
        std::size_t i = 0;
        for (; i + 4 <= rows; i += 4) {
            const Number* from = x + static_cast<std::ptrdiff_t>(i) * row_stride + j;
            const Four a = four(from) - middle, b = four(from + row_stride) - middle;
            const Four c = four(from + 2 * row_stride) - middle, d = four(from + 3 * row_stride) - middle;
            const Four ab0 = __builtin_shufflevector(a, b, 0, 4, 2, 6), ab1 = __builtin_shufflevector(a, b, 1, 5, 3, 7);
            const Four cd0 = __builtin_shufflevector(c, d, 0, 4, 2, 6), cd1 = __builtin_shufflevector(c, d, 1, 5, 3, 7);
            *reinterpret_cast<Four*>(out + i) = __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5);
            *reinterpret_cast<Four*>(out + stride + i) = __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5);
            *reinterpret_cast<Four*>(out + 2 * stride + i) = __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7);
            *reinterpret_cast<Four*>(out + 3 * stride + i) = __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7);
        }
        for (; i < rows; ++i)
            for (std::size_t k = 0; k < 4; ++k)
                out[k * stride + i] = static_cast<double>(
                                          x[static_cast<std::ptrdiff_t>(i) * row_stride + static_cast<std::ptrdiff_t>(j + k)]) -
                                      centre[j + k];
    }
    if (columns >= 4) return;
#endif
    for (; j < columns; ++j)
        for (std::size_t i = 0; i < rows; ++i)
            panel[j * stride + i] = static_cast<double>(x[static_cast<std::ptrdiff_t>(i) * row_stride + static_cast<std::ptrdiff_t>(j)]) -
                                    centre[j];
}

template <class Number>
void pack(std::size_t rows, std::size_t columns, const Number* x, std::ptrdiff_t row_stride, std::ptrdiff_t column_stride,
          const double* centre, double* panel, std::size_t stride) {
    if (column_stride == 1 && columns > 1) return pack_rows(rows, columns, x, row_stride, centre, panel, stride);
    for (std::size_t j = 0; j < columns; ++j) {
        const Number* from = x + static_cast<std::ptrdiff_t>(j) * column_stride;
        if (row_stride == 1) {
            pack_column(rows, from, centre[j], panel + j * stride);
        } else {
            for (std::size_t i = 0; i < rows; ++i)
                panel[j * stride + i] = static_cast<double>(from[static_cast<std::ptrdiff_t>(i) * row_stride]) - centre[j];
        }
    }
}

// ---- products -------------------------------------------------------------------------------------------------------

// out += panel * theta
NEGLOG_VECTOR_LOOP void multiply(std::size_t stride, std::size_t columns, std::size_t distance, const double* __restrict panel,
                                 const double* __restrict theta, double* __restrict out) {
    std::size_t j = 0;
    for (; j + 4 <= columns; j += 4) {
        const double *a = panel + j * distance, *b = a + distance, *c = b + distance, *d = c + distance;
        const double ta = theta[j], tb = theta[j + 1], tc = theta[j + 2], td = theta[j + 3];
        for (std::size_t i = 0; i < stride; ++i) out[i] += (a[i] * ta + b[i] * tb) + (c[i] * tc + d[i] * td);
    }
    for (; j < columns; ++j) {
        const double *a = panel + j * distance, ta = theta[j];
        for (std::size_t i = 0; i < stride; ++i) out[i] += a[i] * ta;
    }
}

template <std::size_t many>
inline void dots(std::size_t stride, std::size_t distance, const double* panel, const double* x, double* out) {
    Lanes sums[many] = {};
    for (std::size_t i = 0; i < stride; i += lanes) {
        const Lanes xi = load(x + i);
        for (std::size_t k = 0; k < many; ++k) sums[k] += load(panel + k * distance + i) * xi;
    }
    for (std::size_t k = 0; k < many; ++k) out[k] += total(sums[k]);
}

// out += panel' * x
NEGLOG_VECTOR_LOOP void multiply_transposed(std::size_t stride, std::size_t columns, std::size_t distance, const double* panel,
                                            const double* x, double* out) {
    std::size_t j = 0;
    for (; j + 8 <= columns; j += 8) dots<8>(stride, distance, panel + j * distance, x, out + j);
    for (; j + 2 <= columns; j += 2) dots<2>(stride, distance, panel + j * distance, x, out + j);
    for (; j < columns; ++j) dots<1>(stride, distance, panel + j * distance, x, out + j);
}

// out_i += x_i' theta, of rows that lie one after the other: four at a time, so that theta is read once for them.
NEGLOG_VECTOR_LOOP void multiply_rows(std::size_t rows, std::size_t columns, const double* x, std::ptrdiff_t row_stride,
                                      const double* theta, double* out) {
    const std::size_t whole = columns / lanes * lanes;
    for (std::size_t i = 0; i < rows; i += 4) {
        const std::size_t many = rows - i < 4 ? rows - i : 4;
        const double* row[4];
        for (std::size_t k = 0; k < 4; ++k) row[k] = x + static_cast<std::ptrdiff_t>(i + (k < many ? k : 0)) * row_stride;
        Lanes sums[4] = {};
        for (std::size_t j = 0; j < whole; j += lanes) {
            const Lanes t = load(theta + j);
            for (std::size_t k = 0; k < 4; ++k) sums[k] += load(row[k] + j) * t;
        }
        for (std::size_t k = 0; k < many; ++k) {
            double sum = total(sums[k]);
            for (std::size_t j = whole; j < columns; ++j) sum += row[k][j] * theta[j];
            out[i + k] += sum;
        }
    }
}

// out += sum of g_i x_i
NEGLOG_VECTOR_LOOP void add_rows(std::size_t rows, std::size_t columns, const double* __restrict x, std::ptrdiff_t row_stride,
                                 const double* __restrict g, double* __restrict out) {
    std::size_t i = 0;
    for (; i + 4 <= rows; i += 4) {
        const double *a = x + static_cast<std::ptrdiff_t>(i) * row_stride, *b = a + row_stride, *c = b + row_stride, *d = c + row_stride;
        const double ga = g[i], gb = g[i + 1], gc = g[i + 2], gd = g[i + 3];
        for (std::size_t j = 0; j < columns; ++j) out[j] += (a[j] * ga + b[j] * gb) + (c[j] * gc + d[j] * gd);
    }
    for (; i < rows; ++i) {
        const double *a = x + static_cast<std::ptrdiff_t>(i) * row_stride, ga = g[i];
        for (std::size_t j = 0; j < columns; ++j) out[j] += a[j] * ga;
    }
}

// The rows of a panel one after the other, each times its weight.
NEGLOG_VECTOR_LOOP void weighted_rows(std::size_t rows, std::size_t columns, std::size_t stride, const double* __restrict panel,
                                      const double* __restrict weight, double* __restrict out) {
    std::size_t i = 0;
    for (; i + 8 <= rows; i += 8)  // of eight rows the lines written to stay in the cache
        for (std::size_t j = 0; j < columns; ++j) {
            const double* from = panel + j * stride + i;
            for (std::size_t k = 0; k < 8; ++k) out[(i + k) * columns + j] = weight[i + k] * from[k];
        }
    for (; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j) out[i * columns + j] = weight[i] * panel[j * stride + i];
}

// sums[level of row i] += row i, for rows of `columns` numbers; sums of the levels are `width` apart.
NEGLOG_VECTOR_LOOP void add_by_level(std::size_t rows, std::size_t columns, const double* __restrict x, const std::int32_t* codes,
                                     std::int32_t first, double* __restrict sums, std::size_t width) {
    for (std::size_t i = 0; i < rows; ++i) {
        const std::int32_t level = codes[i] - first;
        if (level < 0) continue;
        double* __restrict to = sums + static_cast<std::size_t>(level) * width;
        const double* __restrict row = x + i * columns;
        for (std::size_t j = 0; j < columns; ++j) to[j] += row[j];
    }
}

NEGLOG_VECTOR_LOOP double dot(std::size_t n, const double* a, const double* b) {
    Lanes sums[4] = {};
    std::size_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes)
        for (std::size_t k = 0; k < 4; ++k) sums[k] += load(a + i + k * lanes) * load(b + i + k * lanes);
    for (; i + lanes <= n; i += lanes) sums[0] += load(a + i) * load(b + i);
    double rest = 0.0;
    for (; i < n; ++i) rest += a[i] * b[i];
    return rest + ((total(sums[0]) + total(sums[1])) + (total(sums[2]) + total(sums[3])));
}

// gram[j][k] += sum_i left[j][i] right[k][i] for a tile whose sums stay in registers; rows of left and right lie `from_left` and
// `from_right` apart.
template <std::size_t tall, std::size_t wide>
NEGLOG_VECTOR_LOOP void tile(std::size_t n, const double* left, std::size_t from_left, const double* right, std::size_t from_right,
                             double* gram, std::size_t width) {
    Lanes sums[tall][wide] = {};
    for (std::size_t i = 0; i < n; i += lanes) {
        Lanes l[tall];
        for (std::size_t j = 0; j < tall; ++j) l[j] = load(left + j * from_left + i);
        for (std::size_t k = 0; k < wide; ++k) {
            const Lanes r = load(right + k * from_right + i);
            for (std::size_t j = 0; j < tall; ++j) sums[j][k] += l[j] * r;
        }
    }
    for (std::size_t j = 0; j < tall; ++j)
        for (std::size_t k = 0; k < wide; ++k) gram[j * width + k] += total(sums[j][k]);
}

template <std::size_t tall>
inline void row_of_tiles(std::size_t n, const double* left, std::size_t from_left, const double* right, std::size_t from_right,
                         std::size_t columns, double* gram, std::size_t width) {
    std::size_t k = 0;
    for (; k + 3 <= columns; k += 3) tile<tall, 3>(n, left, from_left, right + k * from_right, from_right, gram + k, width);
    if (columns - k == 2) tile<tall, 2>(n, left, from_left, right + k * from_right, from_right, gram + k, width);
    if (columns - k == 1) tile<tall, 1>(n, left, from_left, right + k * from_right, from_right, gram + k, width);
}

// out += left right', for rows of n numbers, a multiple of eight, that lie `apart`; rows of out are `width` apart.
void add_products(std::size_t n, std::size_t rows, const double* left, std::size_t columns, const double* right, std::size_t apart,
                  double* out, std::size_t width) {
    constexpr std::size_t together = 256;  // numbers of each row, so that those of the right stay in the cache
    for (std::size_t begin = 0; begin < n; begin += together) {
        const std::size_t many = n - begin < together ? n - begin : together;
        const double *from = left + begin, *to = right + begin;
        std::size_t j = 0;
        for (; j + 4 <= rows; j += 4) row_of_tiles<4>(many, from + j * apart, apart, to, apart, columns, out + j * width, width);
        for (; j < rows; ++j) row_of_tiles<1>(many, from + j * apart, apart, to, apart, columns, out + j * width, width);
    }
}

// Lower triangle of gram += panel' diag(weight) panel, and a little of the upper one beside the diagonal. `gram` has rows of
// `width`; `room` holds four columns.
NEGLOG_VECTOR_LOOP void weigh(std::size_t n, const double* __restrict weight, const double* __restrict column, double* __restrict out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = weight[i] * column[i];
}

void add_gram(std::size_t stride, std::size_t columns, const double* panel, const double* weight, double* gram, std::size_t width,
              double* room) {
    for (std::size_t j = 0; j < columns; j += 4) {
        const std::size_t tall = columns - j < 4 ? columns - j : 4;
        for (std::size_t k = 0; k < tall; ++k) weigh(stride, weight, panel + (j + k) * stride, room + k * stride);
        double* to = gram + j * width;
        if (tall == 4) row_of_tiles<4>(stride, room, stride, panel, stride, j + 4, to, width);
        if (tall == 3) row_of_tiles<3>(stride, room, stride, panel, stride, j + 3, to, width);
        if (tall == 2) row_of_tiles<2>(stride, room, stride, panel, stride, j + 2, to, width);
        if (tall == 1) row_of_tiles<1>(stride, room, stride, panel, stride, j + 1, to, width);
    }
}

}  // namespace
}  // namespace neglog

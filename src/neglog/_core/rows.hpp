// Formulas over rows of classes: entropy, KL divergence, and the categorical nll at a row of raw predictions.
#pragma once

#include <cstddef>

#include "vector_math.hpp"

namespace neglog {
namespace {

// 0 log 0 = 0; a NaN or a negative entry makes the row NaN.
inline double entropy_term(double p, double) { return p > 0 ? -p * log(p) : (p == 0 ? 0.0 : nan_value); }
// p log(p/q) - p + q: its sum is the divergence of two normalised rows, and no term is negative, so nothing cancels.
inline double divergence_term(double p, double q) {
    const double far = p * (log(p) - log(q)) - p + q;
    const double near = p * excess(q, p, 0.0);
    const double v = absolute(q - p) < 0.1 * (p + q) ? near : far;
    return p > 0 ? (q >= 0 ? v : nan_value) : (p == 0 && q >= 0 ? q : nan_value);
}

// Sum in four interleaved lanes: vector code without reordering a single lane.
inline double lane_sum(std::size_t n, const double* x) {
    double lane[4] = {0, 0, 0, 0};
    std::size_t j = 0;
    for (; j + 4 <= n; j += 4)
        for (std::size_t k = 0; k < 4; ++k) lane[k] += x[j + k];
    for (std::size_t k = 0; j < n; ++j, ++k) lane[k] += x[j];
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

// Terms of many short rows (or of a piece of a long one) are made in one vector loop, then added row by row.
template <double (*term)(double, double)>
void sum_rows(std::size_t rows, std::size_t width, const double* p, const double* q, double* out) {
    constexpr std::size_t room = 1024;
    double buffer[room];
    const std::size_t rows_at_once = width < room ? room / (width ? width : 1) : 1;
    for (std::size_t i = 0; i < rows; i += rows_at_once) {
        const std::size_t count = rows - i < rows_at_once ? rows - i : rows_at_once;
        for (std::size_t k = 0; k < count; ++k) out[i + k] = 0.0;
        const std::size_t stop = (i + count) * width;
        for (std::size_t from = i * width; from < stop; from += room) {
            const std::size_t n = stop - from < room ? stop - from : room;
            for (std::size_t j = 0; j < n; ++j) buffer[j] = term(p[from + j], q[from + j]);
            const std::size_t piece = width < n ? width : n;
            for (std::size_t k = 0; k < count; ++k) out[i + k] += lane_sum(piece, buffer + k * piece);
        }
    }
}

// nll = logsumexp(eta) - eta[y]; gradient p - e_y, whose entry at y is minus the sum of the others, not p_y - 1.
// A class number that is not one of 0 .. width-1 has nll +inf and the gradient p.
inline double softmax_row(std::size_t width, double y, const double* eta, double* p) {
    std::size_t top = 0;
    for (std::size_t k = 1; k < width; ++k)
        if (eta[k] > eta[top]) top = k;
    for (std::size_t k = 0; k < width; ++k) p[k] = exp(eta[k] - eta[top]);
    double others = 0.0;
    for (std::size_t k = 0; k < width; ++k) others += k == top ? 0.0 : p[k];
    for (std::size_t k = 0; k < width; ++k) p[k] /= 1.0 + others;
    const bool inside = y >= 0 && y < static_cast<double>(width) && is_integer(y);
    if (!inside) return y == y ? infinity : y;
    const auto chosen = static_cast<std::size_t>(y);
    double rest = 0.0;
    for (std::size_t k = 0; k < width; ++k) rest += k == chosen ? 0.0 : p[k];
    p[chosen] = -rest;
    return (eta[top] - eta[chosen]) + log1p(others);
}

// The same for a panel of rows: eta, and p on return, hold one column of `stride` rows per class. p keeps the probabilities
// themselves; the gradient is p less one at class y.
NEGLOG_VECTOR_LOOP void softmax_panel(std::size_t stride, std::size_t classes, const double* __restrict y, const double* __restrict eta,
                                      double* __restrict nll, double* __restrict p) {
    constexpr std::size_t room = 64;
    double top[room], sum[room];
    for (std::size_t begin = 0; begin < stride; begin += room) {
        const std::size_t rows = stride - begin < room ? stride - begin : room;
        const double* from = eta + begin;
        double* to = p + begin;
        for (std::size_t i = 0; i < rows; ++i) top[i] = from[i], sum[i] = 0.0;
        for (std::size_t k = 1; k < classes; ++k)
            for (std::size_t i = 0; i < rows; ++i) top[i] = larger(top[i], from[k * stride + i]);
        for (std::size_t k = 0; k < classes; ++k)
            for (std::size_t i = 0; i < rows; ++i) {
                const double e = exp(from[k * stride + i] - top[i]);
                to[k * stride + i] = e;
                sum[i] += e;
            }
        for (std::size_t i = 0; i < rows; ++i) nll[begin + i] = top[i] + log(sum[i]);
        for (std::size_t k = 0; k < classes; ++k)
            for (std::size_t i = 0; i < rows; ++i) {
                to[k * stride + i] /= sum[i];
                nll[begin + i] -= y[begin + i] == static_cast<double>(k) ? from[k * stride + i] : 0.0;
            }
    }
}

// From the probabilities of such a panel, their slopes: p becomes the gradient times weights, `bend` factor p (1 - p) times weights
// and at least `least`. At class y both are made of the sum of the others, so that nothing cancels where p is near one.
NEGLOG_VECTOR_LOOP void class_slopes_panel(std::size_t stride, std::size_t classes, const double* __restrict y,
                                           const double* __restrict weight, double factor, double least, double* __restrict p,
                                           double* __restrict bend, double* __restrict others) {
    for (std::size_t i = 0; i < stride; ++i) others[i] = 0.0;
    for (std::size_t k = 0; k < classes; ++k)
        for (std::size_t i = 0; i < stride; ++i) others[i] += y[i] == static_cast<double>(k) ? 0.0 : p[k * stride + i];
    for (std::size_t k = 0; k < classes; ++k)
        for (std::size_t i = 0; i < stride; ++i) {
            const double size = y[i] == static_cast<double>(k) ? others[i] : p[k * stride + i];
            const double b = factor * weight[i] * (size * (1.0 - size));
            p[k * stride + i] = weight[i] * (y[i] == static_cast<double>(k) ? -size : size);
            bend[k * stride + i] = b < least ? least : b;
        }
}

}  // namespace
}  // namespace neglog

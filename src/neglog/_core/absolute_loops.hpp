// The loops of the exact absolute-loss solver (absolute.cpp). Rows lie in panels of 32: all 32 values of the first column,
// then of the second, so that products with X run down whole vectors whatever the number of columns.
#pragma once

#include <cstddef>

#include "vector_math.hpp"

namespace neglog {
namespace {

constexpr std::size_t panel_rows = 32;

struct PanelProduct {
    double value[panel_rows];
};
inline PanelProduct panel_times(std::size_t d, const double* __restrict panel, const double* __restrict v) {
    PanelProduct sum = {};
    for (std::size_t j = 0; j < d; ++j)
        for (std::size_t l = 0; l < panel_rows; ++l) sum.value[l] += panel[j * panel_rows + l] * v[j];
    return sum;
}

// out = X v
NEGLOG_VECTOR_LOOP void panels_times(std::size_t panels, std::size_t d, const double* x, const double* v, double* __restrict out) {
    for (std::size_t p = 0; p < panels; ++p, x += d * panel_rows, out += panel_rows) {
        const PanelProduct sum = panel_times(d, x, v);
        for (std::size_t l = 0; l < panel_rows; ++l) out[l] = sum.value[l];
    }
}

// Along an edge v residuals move at the rate X v. A row on the side s of zero meets zero after the time -residual / rate if it
// moves towards it faster than `slowest`; others never do.
NEGLOG_VECTOR_LOOP void panels_edge(std::size_t panels, std::size_t d, const double* x, const double* v, const double* __restrict side,
                                    const double* __restrict residual, double slowest, double* __restrict rate, double* __restrict time) {
    for (std::size_t p = 0; p < panels; ++p, x += d * panel_rows) {
        const PanelProduct sum = panel_times(d, x, v);
        for (std::size_t l = 0; l < panel_rows; ++l) {
            const double towards = -side[l] * sum.value[l];
            const double distance = side[l] * residual[l];
            const double ratio = (distance > 0 ? distance : 0.0) / (towards > slowest ? towards : 1.0);
            rate[l] = sum.value[l];
            time[l] = towards > slowest ? ratio : infinity;
        }
        side += panel_rows, residual += panel_rows, rate += panel_rows, time += panel_rows;
    }
}

// out = X' c; `lanes` is room for 8 d numbers.
NEGLOG_VECTOR_LOOP void panels_transposed(std::size_t panels, std::size_t d, const double* __restrict x, const double* __restrict c,
                                          double* __restrict lanes, double* __restrict out) {
    for (std::size_t k = 0; k < 8 * d; ++k) lanes[k] = 0.0;
    for (std::size_t p = 0; p < panels; ++p, x += d * panel_rows, c += panel_rows)
        for (std::size_t j = 0; j < d; ++j)
            for (std::size_t l = 0; l < 8; ++l) {
                const double* column = x + j * panel_rows + l;
                lanes[8 * j + l] += (column[0] * c[l] + column[8] * c[l + 8]) + (column[16] * c[l + 16] + column[24] * c[l + 24]);
            }
    for (std::size_t j = 0; j < d; ++j) {
        const double* s = lanes + 8 * j;
        out[j] = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
    }
}

// y += a x
NEGLOG_VECTOR_LOOP void add_multiple(std::size_t n, double a, const double* __restrict x, double* __restrict y) {
    for (std::size_t i = 0; i < n; ++i) y[i] += a * x[i];
}

// The inner products of `rows` rows of d numbers with x.
NEGLOG_VECTOR_LOOP void inner_products(std::size_t rows, std::size_t d, const double* matrix, const double* __restrict x,
                                       double* __restrict out) {
    for (std::size_t i = 0; i < rows; ++i, matrix += d) {
        double lanes[8] = {};
        std::size_t j = 0;
        for (; j + 8 <= d; j += 8)
            for (std::size_t l = 0; l < 8; ++l) lanes[l] += matrix[j + l] * x[j + l];
        double rest = 0.0;
        for (; j < d; ++j) rest += matrix[j] * x[j];
        out[i] = rest + (((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7])));
    }
}

}  // namespace
}  // namespace neglog

#include "absolute_rows.hpp"

#include <algorithm>
#include <numeric>

namespace neglog {
namespace {

constexpr std::size_t panel_rows = 32;
constexpr double everywhere = std::numeric_limits<double>::max();
constexpr double null_direction = 1e-9;  // rows, of norm one, that reach no further are taken to be orthogonal

double power_of_two_near(double x) { return x > 0 && std::isfinite(x) ? std::ldexp(1.0, std::ilogb(x)) : 1.0; }

std::ptrdiff_t signed_of(std::size_t i) { return static_cast<std::ptrdiff_t>(i); }

}  // namespace

ScaledRows::ScaledRows(const AbsoluteProblem& given, const AbsoluteLoops& set)
    : problem(given), loops(set), m(given.rows), d(given.columns), panels((m + panel_rows - 1) / panel_rows), column(d, 0.0), row(m, 1.0),
      x(panels * panel_rows * d, 0.0), y(panels * panel_rows, 0.0), weight(panels * panel_rows, 0.0), linear(d), products_(d) {
    for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < d; ++j) column[j] = std::max(column[j], std::abs(problem.x[i * d + j]));
    for (double& c : column) c = 1.0 / power_of_two_near(c);
    for (std::size_t i = 0; i < m; ++i) {
        double square = 0.0;
        const double* from = problem.x + i * d;
        double* to = x.data() + (i / panel_rows) * panel_rows * d + i % panel_rows;
        for (std::size_t j = 0; j < d; ++j) square += (from[j] * column[j]) * (from[j] * column[j]);
        const double s = row[i] = 1.0 / power_of_two_near(std::sqrt(square));
        for (std::size_t j = 0; j < d; ++j) to[j * panel_rows] = from[j] * column[j] * s;
        y[i] = problem.y[i] * s, weight[i] = problem.weight[i] / s;
    }
    for (std::size_t j = 0; j < d; ++j) linear[j] = problem.linear[j] * column[j];
    Numbers sizes;
    for (const double target : y)
        if (target != 0) sizes.push_back(std::abs(target));
    if (sizes.empty()) return;
    const auto middle = sizes.begin() + signed_of(sizes.size() / 2);
    std::nth_element(sizes.begin(), middle, sizes.end());
    typical = *middle;
}

Numbers ScaledRows::start(const double* given) {
    const bool few = m <= std::max<std::size_t>(20 * d, 400);
    measure(!given && few ? std::max<std::size_t>(m, 1) : std::max<std::size_t>(256, 6 * d));
    if (!given) return few ? least_squares() : minimum_of_sample(std::max(10 * d, m / 8));
    return scaled(given);
}

void ScaledRows::measure_columns() {
    squares.assign(d, 0.0);
    Numbers values(d);
    const std::size_t stride = std::max<std::size_t>(1, m / std::max<std::size_t>(256, 6 * d));
    for (std::size_t i = 0; i < m; i += stride) {
        read_row(i, values.data());
        for (std::size_t j = 0; j < d; ++j) squares[j] += weight[i] / row[i] * values[j] * values[j];
    }
}

Numbers ScaledRows::scaled(const double* given) const {
    Numbers theta(d);
    for (std::size_t j = 0; j < d; ++j) theta[j] = given[j] / column[j];
    return theta;
}

// The Gram matrix of evenly spaced rows and its Cholesky factor.
void ScaledRows::measure(std::size_t sample) {
    gram.assign(d * d, 0.0);
    Numbers values(d);
    const std::size_t stride = std::max<std::size_t>(1, m / sample);
    for (std::size_t i = 0; i < m; i += stride) {
        read_row(i, values.data());
        for (std::size_t j = 0; j < d; ++j)
            if (values[j] != 0) loops.add_multiple(j + 1, weight[i] / row[i] * values[j], values.data(), gram.data() + j * d);
    }
    double largest = 0.0;
    squares.resize(d);
    for (std::size_t j = 0; j < d; ++j) squares[j] = gram[j * d + j], largest = std::max(largest, squares[j]);
    for (std::size_t j = 0; j < d; ++j) {
        gram[j * d + j] += 1e-10 * (largest > 0 ? largest : 1.0);
        for (std::size_t k = j + 1; k < d; ++k) gram[j * d + k] = gram[k * d + j];
    }
    cholesky_ = gram;
    for (std::size_t j = 0; j < d; ++j) {
        double* values_j = cholesky_.data() + j * d;
        for (std::size_t k = 0; k <= j; ++k) {
            const double* values_k = cholesky_.data() + k * d;
            const double sum = values_j[k] - inner(k, values_j, values_k);
            values_j[k] = k < j ? sum / values_k[k] : std::sqrt(std::max(sum, 1e-12 * largest + 1e-300));
        }
    }
}

Numbers ScaledRows::least_squares() const {
    Numbers theta(d, 0.0), values(d);
    for (std::size_t i = 0; i < m; ++i) {
        read_row(i, values.data());
        loops.add_multiple(d, weight[i] / row[i] * y[i], values.data(), theta.data());
    }
    for (std::size_t j = 0; j < d; ++j) {
        for (std::size_t k = 0; k < j; ++k) theta[j] -= cholesky_[j * d + k] * theta[k];
        theta[j] /= cholesky_[j * d + j];
    }
    for (std::size_t j = d; j-- > 0;) {
        theta[j] /= cholesky_[j * d + j];
        for (std::size_t k = 0; k < j; ++k) theta[k] -= cholesky_[j * d + k] * theta[j];
    }
    return theta;
}

Numbers ScaledRows::minimum_of_sample(std::size_t sample) const {
    const std::size_t stride = m / sample;
    Numbers some_x, some_y, some_weight, share(d);
    for (std::size_t i = stride / 2; i < m; i += stride) {
        some_x.insert(some_x.end(), problem.x + i * d, problem.x + (i + 1) * d);
        some_y.push_back(problem.y[i]), some_weight.push_back(problem.weight[i]);
    }
    for (std::size_t j = 0; j < d; ++j) share[j] = problem.linear[j] * static_cast<double>(some_y.size()) / static_cast<double>(m);
    Numbers theta =
        absolute_vertex({some_y.size(), d, some_x.data(), some_y.data(), some_weight.data(), share.data()}, nullptr, loops).theta;
    for (std::size_t j = 0; j < d; ++j) theta[j] /= column[j];
    return theta;
}

// Adds the row to the basis if at least this fraction of it, whitened, is orthogonal to those already there.
bool ScaledRows::accept(std::size_t i, double fraction, Indices& basis) {
    const std::size_t k = basis.size();
    double* z = orthonormal_.data() + k * d;
    read_row(i, z);
    for (std::size_t j = 0; j < d; ++j) {
        const double* values = cholesky_.data() + j * d;
        z[j] = (z[j] - inner(j, values, z)) / values[j];
    }
    const double before = inner(z, z);
    for (int twice = 0; twice < 2; ++twice) {
        loops.inner_products(k, d, orthonormal_.data(), z, products_.data());
        for (std::size_t l = 0; l < k; ++l) loops.add_multiple(d, -products_[l], orthonormal_.data() + l * d, z);
    }
    const double after = inner(z, z);
    if (!(after > 0 && after >= fraction * fraction * before)) return false;
    const double scale = 1.0 / std::sqrt(after);
    for (std::size_t j = 0; j < d; ++j) z[j] *= scale;
    basis.push_back(i);
    return true;
}

Indices ScaledRows::choose_basis(const Numbers& theta) {
    Numbers product(y.size()), distance(m);
    loops.times(panels, d, x.data(), theta.data(), product.data());
    for (std::size_t i = 0; i < m; ++i) distance[i] = std::abs(y[i] - product[i]);
    Indices order(m);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto nearer = [&](std::size_t a, std::size_t b) { return distance[a] != distance[b] ? distance[a] < distance[b] : a < b; };
    const std::size_t candidates = std::min(m, 8 * d + 32);
    const auto end = order.begin() + signed_of(candidates);
    if (candidates < m) std::nth_element(order.begin(), end, order.end(), nearer);
    std::sort(order.begin(), end, nearer);
    order.resize(candidates);

    Indices basis;
    orthonormal_.assign((d + 1) * d, 0.0);
    std::vector<char> taken(m, 0);
    // A start that is a vertex keeps its basis.
    double largest = std::sqrt(inner(theta.data(), theta.data()));
    for (const std::size_t i : order) largest = std::max(largest, std::abs(y[i]));
    for (const std::size_t i : order)
        if (distance[i] <= 1e-14 * largest && basis.size() < d) taken[i] = accept(i, 1e-4, basis);
    for (const double strictness : {0.5, 0.05})
        for (const std::size_t i : order) {
            if (basis.size() == d) return basis;
            const double fraction = std::sqrt(static_cast<double>(d - basis.size()) / static_cast<double>(d));
            if (!taken[i]) taken[i] = accept(i, strictness * fraction, basis);
        }
    // Whatever direction is still missing: a vector orthogonal to the basis, and the row that reaches furthest along it.
    while (basis.size() < d && m > 0) {
        const std::size_t k = basis.size();
        Numbers v(d);
        for (std::size_t j = 0; j < d; ++j) v[j] = scattered(k * d + j) - 1.5;
        for (int twice = 0; twice < 2; ++twice) {
            loops.inner_products(k, d, orthonormal_.data(), v.data(), products_.data());
            for (std::size_t l = 0; l < k; ++l) loops.add_multiple(d, -products_[l], orthonormal_.data() + l * d, v.data());
        }
        for (std::size_t j = d; j-- > 0;) {
            v[j] /= cholesky_[j * d + j];
            for (std::size_t l = 0; l < j; ++l) v[l] -= cholesky_[j * d + l] * v[j];
        }
        loops.times(panels, d, x.data(), v.data(), product.data());
        std::size_t furthest = 0;
        for (std::size_t i = 0; i < m; ++i)
            if (std::abs(product[i]) > std::abs(product[furthest])) furthest = i;
        const double norm = std::sqrt(inner(v.data(), v.data()));
        if (!(std::abs(product[furthest]) > null_direction * norm) || !accept(furthest, 0.0, basis)) break;
    }
    return basis;
}

LineSearch::End LineSearch::run(double slope, double curvature, double slack, const Numbers& weight) {
    const auto kink = [&](std::size_t i) { return 2.0 * weight[i] * std::abs(rate[i]); };
    std::size_t begin = 0, end = 0;
    for (int attempt = 0;; ++attempt) {
        if (attempt > 0) reach_ = attempt < 3 && reach_ < 1e300 ? 16.0 * reach_ : everywhere;
        end = 0;
        for (std::size_t i = 0; i < met.size(); ++i) {
            met[end] = i;
            end += time[i] <= reach_;
        }
        double total = curvature * reach_;
        for (std::size_t c = 0; c < end; ++c) total += kink(met[c]);
        if (total >= slope) break;
        if (reach_ < everywhere) continue;
        if (end == 0 || total < slope - slack) return End::never;
        break;
    }
    // All in [0, begin) are passed and have used up their part of the slope; it turns before the row at `end`.
    bool at_a_row = false;
    while (end - begin > 16 && !at_a_row) {
        const std::size_t a = met[begin], b = met[begin + (end - begin) / 2], c = met[end - 1];
        const std::size_t middle = sooner(a, b) ? (sooner(b, c) ? b : (sooner(a, c) ? c : a)) : (sooner(a, c) ? a : (sooner(b, c) ? c : b));
        const auto split = std::partition(met.begin() + signed_of(begin), met.begin() + signed_of(end),
                                          [&](std::size_t i) { return sooner(i, middle); });
        const auto cut = static_cast<std::size_t>(split - met.begin());
        double lower = 0.0;
        for (std::size_t q = begin; q < cut; ++q) lower += kink(met[q]);
        if (lower + curvature * time[middle] >= slope) {
            end = cut;
            continue;
        }
        std::swap(*std::find(split, met.begin() + signed_of(end), middle), *split);
        slope -= lower, begin = cut;
        if (kink(middle) + curvature * time[middle] >= slope)
            at_a_row = true;
        else
            slope -= kink(middle), ++begin;
    }
    if (!at_a_row) {
        std::sort(met.begin() + signed_of(begin), met.begin() + signed_of(end),
                  [this](std::size_t a, std::size_t b) { return sooner(a, b); });
        for (; begin < end && !at_a_row; ++begin) {
            const double bend = curvature * time[met[begin]];
            if (bend >= slope) break;
            at_a_row = kink(met[begin]) + bend >= slope;
            if (at_a_row) break;
            slope -= kink(met[begin]);
        }
    }
    if (!at_a_row && !(curvature > 0)) --begin, at_a_row = true;  // rounding used the slope up with the last row
    passed = begin;
    step = at_a_row ? time[met[passed]] : std::max(slope / curvature, begin ? time[met[begin - 1]] : 0.0);
    if (step > 0) reach_ = 8.0 * step;
    return at_a_row ? End::at_a_row : End::between_rows;
}

void scatter_targets(const Numbers& side, double unit, std::uint64_t seed, std::size_t rows, Numbers& y, Numbers& residual) {
    for (std::size_t i = 0; i < rows; ++i) {
        const double move = side[i] * unit * scattered(seed + i);
        y[i] += move, residual[i] = side[i] * std::max(0.0, side[i] * residual[i]) + move;
    }
}

}  // namespace neglog

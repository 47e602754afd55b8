#include "systems.hpp"

#include <cmath>
#include <vector>

namespace neglog {

namespace {

// In eight lanes, which the compiler turns into vectors without changing the order of a lane.
double dot(std::size_t n, const double* a, const double* b) {
    double lane[8] = {};
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (std::size_t k = 0; k < 8; ++k) lane[k] += a[i + k] * b[i + k];
    for (; i < n; ++i) lane[0] += a[i] * b[i];
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

}  // namespace

double solve_positive(std::size_t n, const double* matrix, const double* right, double* x) {
    std::vector<double> factor(n * n), scale(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double diagonal = matrix[i * n + i];
        if (!(diagonal > 0)) return diagonal == 0 ? 0.0 : diagonal;
        scale[i] = 1.0 / std::sqrt(diagonal);
    }
    double smallest = 1.0;
    for (std::size_t i = 0; i < n; ++i) {
        double* row = factor.data() + i * n;
        for (std::size_t j = 0; j <= i; ++j) {
            const double* other = factor.data() + j * n;
            const double rest = matrix[i * n + j] * scale[i] * scale[j] - dot(j, row, other);
            if (j < i) {
                row[j] = rest / other[j];
            } else {
                if (!(rest > 0)) return rest;
                smallest = rest < smallest ? rest : smallest;
                row[i] = std::sqrt(rest);
            }
        }
    }
    for (std::size_t i = 0; i < n; ++i) x[i] = (right[i] * scale[i] - dot(i, factor.data() + i * n, x)) / factor[i * n + i];
    for (std::size_t i = n; i-- > 0;) {
        x[i] /= factor[i * n + i];
        for (std::size_t k = 0; k < i; ++k) x[k] -= factor[i * n + k] * x[i];
    }
    for (std::size_t i = 0; i < n; ++i) x[i] *= scale[i];
    return smallest;
}

namespace {

double shrunk(double x, double by) { return x > by ? x - by : (x < -by ? x + by : 0.0); }

// The state of one descent: x, the gradient of the smooth part there, and the coordinates that are not at their kink.
struct Descent {
    std::size_t n;
    const double *curvature, *lambda, *kink;
    double* x;
    std::vector<double> gradient;
    std::vector<std::size_t> active;

    bool is_active(std::size_t j) const { return lambda[j] == 0 || x[j] != kink[j]; }

    void move(std::size_t j, double step) {
        const double* column = curvature + j * n;
        for (std::size_t k = 0; k < n; ++k) gradient[k] += step * column[k];
    }

    // Moves one coordinate to its minimum; returns by how much that lowers the objective.
    double improve(std::size_t j) {
        const double bend = curvature[j * n + j];
        if (!(bend > 0)) return 0.0;
        const double before = x[j] - kink[j];
        const double after = shrunk(before - gradient[j] / bend, lambda[j] / bend), step = after - before;
        if (step == 0) return 0.0;
        const double gain = -step * (gradient[j] + 0.5 * bend * step) + lambda[j] * (std::abs(before) - std::abs(after));
        x[j] = kink[j] + after;
        move(j, step);
        return gain;
    }

    // Jumps to the minimum over the active coordinates with their signs as they are, or to where the first of them changes.
    // Coordinate descent alone would take very many sweeps where columns are nearly dependent.
    void jump() {
        const std::size_t m = active.size();
        std::vector<double> matrix(m * m), right(m), step(m);
        for (std::size_t a = 0; a < m; ++a) {
            const std::size_t j = active[a];
            for (std::size_t b = 0; b < m; ++b) matrix[a * m + b] = curvature[j * n + active[b]];
            const double away = x[j] - kink[j];
            right[a] = -(gradient[j] + (away > 0 ? lambda[j] : (away < 0 ? -lambda[j] : 0.0)));
        }
        if (m == 0 || solve_positive(m, matrix.data(), right.data(), step.data()) < 1e-13) return;
        double length = 1.0;
        std::size_t first = m;
        for (std::size_t a = 0; a < m; ++a) {
            const double away = x[active[a]] - kink[active[a]];
            if (lambda[active[a]] == 0 || away * step[a] >= 0) continue;
            const double reach = -away / step[a];
            if (reach < length) length = reach, first = a;
        }
        for (std::size_t a = 0; a < m; ++a) {
            const std::size_t j = active[a];
            const double to = a == first ? kink[j] : x[j] + length * step[a];
            move(j, to - x[j]);
            x[j] = to;
        }
    }
};

}  // namespace

std::size_t coordinate_descent(std::size_t n, const double* curvature, const double* slope, const double* lambda, const double* kink,
                               double tolerance, std::size_t most_sweeps, double* x) {
    Descent descent{n, curvature, lambda, kink, x, std::vector<double>(slope, slope + n), {}};
    for (std::size_t sweep = 1; sweep <= most_sweeps; ++sweep) {
        double gain = 0.0;
        descent.active.clear();
        for (std::size_t j = 0; j < n; ++j) {
            gain += descent.improve(j);
            if (descent.is_active(j)) descent.active.push_back(j);
        }
        if (gain <= tolerance) return sweep;
        // A jump costs about m^3 / 3, a sweep about m n.
        const std::size_t m = descent.active.size(), sweeps_before_jump = 4 + m * m / (3 * n);
        for (std::size_t inner = 0; inner < sweeps_before_jump && gain > tolerance; ++inner, ++sweep) {
            gain = 0.0;
            for (const std::size_t j : descent.active) gain += descent.improve(j);
        }
        std::erase_if(descent.active, [&](std::size_t j) { return !descent.is_active(j); });
        if (gain > tolerance) descent.jump();
    }
    return most_sweeps;
}

}  // namespace neglog

#include "systems.hpp"

#include <cmath>
#include <vector>

namespace neglog {

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
            double sum = matrix[i * n + j] * scale[i] * scale[j];
            for (std::size_t k = 0; k < j; ++k) sum -= row[k] * other[k];
            if (j < i) {
                row[j] = sum / other[j];
            } else {
                if (!(sum > 0)) return sum;
                smallest = sum < smallest ? sum : smallest;
                row[i] = std::sqrt(sum);
            }
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        double sum = right[i] * scale[i];
        for (std::size_t k = 0; k < i; ++k) sum -= factor[i * n + k] * x[k];
        x[i] = sum / factor[i * n + i];
    }
    for (std::size_t i = n; i-- > 0;) {
        x[i] /= factor[i * n + i];
        for (std::size_t k = 0; k < i; ++k) x[k] -= factor[i * n + k] * x[i];
    }
    for (std::size_t i = 0; i < n; ++i) x[i] *= scale[i];
    return smallest;
}

namespace {

double shrunk(double x, double by) { return x > by ? x - by : (x < -by ? x + by : 0.0); }

}  // namespace

std::size_t coordinate_descent(std::size_t n, const double* curvature, const double* slope, const double* lambda, const double* kink,
                               double tolerance, std::size_t most_sweeps, double* x) {
    std::vector<double> gradient(slope, slope + n);  // of the smooth part at x
    std::vector<std::size_t> active;
    // Moves one coordinate to its minimum; returns by how much that lowers the objective.
    const auto improve = [&](std::size_t j) {
        const double bend = curvature[j * n + j];
        if (!(bend > 0)) return 0.0;
        const double before = x[j] - kink[j];
        const double after = shrunk(before - gradient[j] / bend, lambda[j] / bend), step = after - before;
        if (step == 0) return 0.0;
        const double gain = -step * (gradient[j] + 0.5 * bend * step) + lambda[j] * (std::abs(before) - std::abs(after));
        x[j] = kink[j] + after;
        const double* column = curvature + j * n;
        for (std::size_t k = 0; k < n; ++k) gradient[k] += step * column[k];
        return gain;
    };
    for (std::size_t sweep = 1; sweep <= most_sweeps; ++sweep) {
        double gain = 0.0;
        active.clear();
        for (std::size_t j = 0; j < n; ++j) {
            gain += improve(j);
            if (lambda[j] == 0 || x[j] != kink[j]) active.push_back(j);
        }
        if (gain <= tolerance) return sweep;
        // Sweeps over what is not at its kink are cheaper and do most of the work.
        for (double inner = gain; inner > tolerance && sweep < most_sweeps; ++sweep) {
            inner = 0.0;
            for (const std::size_t j : active) inner += improve(j);
        }
    }
    return most_sweeps;
}

}  // namespace neglog

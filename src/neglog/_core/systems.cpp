#include "systems.hpp"

#include <cmath>
#include <vector>

#include "soft_threshold.hpp"

namespace neglog {

double solve_positive(const InstructionSet& set, std::size_t n, const double* matrix, const double* right, double* x) {
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
            const double rest = matrix[i * n + j] * scale[i] * scale[j] - set.dot(j, row, other);
            if (j < i) {
                row[j] = rest / other[j];
            } else {
                if (!(rest > 0)) return rest;
                smallest = rest < smallest ? rest : smallest;
                row[i] = std::sqrt(rest);
            }
        }
    }
    for (std::size_t i = 0; i < n; ++i) x[i] = (right[i] * scale[i] - set.dot(i, factor.data() + i * n, x)) / factor[i * n + i];
    for (std::size_t i = n; i-- > 0;) {
        x[i] /= factor[i * n + i];
        set.absolute.add_multiple(i, -x[i], factor.data() + i * n, x);
    }
    for (std::size_t i = 0; i < n; ++i) x[i] *= scale[i];
    return smallest;
}

namespace {

// A quadratic with absolute terms over n coordinates: x, and the gradient of its smooth part there.
struct Descent {
    const InstructionSet& set;
    std::size_t n;
    const double *curvature, *lambda, *kink;
    double *x, *gradient;

    void move(std::size_t j, double step) { set.absolute.add_multiple(n, step, curvature + j * n, gradient); }

    // Moves one coordinate to its minimum; returns by how much that lowers the objective.
    double improve(std::size_t j) {
        const double bend = curvature[j * (n + 1)];
        if (!(bend > 0)) return 0.0;
        const double before = x[j] - kink[j];
        const double after = soft_threshold(before - gradient[j] / bend, lambda[j] / bend), step = after - before;
        if (step == 0) return 0.0;
        const double gain = -step * (gradient[j] + 0.5 * bend * step) + lambda[j] * (std::abs(before) - std::abs(after));
        x[j] = kink[j] + after;
        move(j, step);
        return gain;
    }

    double sweep() {
        double gain = 0.0;
        for (std::size_t j = 0; j < n; ++j) gain += improve(j);
        return gain;
    }

    // Jumps to the minimum with all signs as they are, or to where the first of them changes. Coordinate descent alone would take
    // very many sweeps where columns are nearly dependent. Coordinates at their kink stay there.
    void jump() {
        std::vector<std::size_t> moving;
        for (std::size_t j = 0; j < n; ++j)
            if (lambda[j] == 0 || x[j] != kink[j]) moving.push_back(j);
        const std::size_t m = moving.size();
        std::vector<double> matrix(m * m), right(m), step(m);
        for (std::size_t a = 0; a < m; ++a) {
            const std::size_t j = moving[a];
            for (std::size_t b = 0; b < m; ++b) matrix[a * m + b] = curvature[j * n + moving[b]];
            const double away = x[j] - kink[j];
            right[a] = -(gradient[j] + (away > 0 ? lambda[j] : (away < 0 ? -lambda[j] : 0.0)));
        }
        if (m == 0) return;
        if (solve_positive(set, m, matrix.data(), right.data(), step.data()) < 1e-13) {
            // A singular matrix leaves directions straight: with a little more curvature the way along them is long, up to a kink.
            for (std::size_t a = 0; a < m; ++a) matrix[a * (m + 1)] *= 1 + 1e-9;
            if (solve_positive(set, m, matrix.data(), right.data(), step.data()) < 1e-13) return;
        }
        double length = 1.0;
        std::size_t first = m;
        for (std::size_t a = 0; a < m; ++a) {
            const double away = x[moving[a]] - kink[moving[a]];
            if (lambda[moving[a]] == 0 || away * step[a] >= 0) continue;
            const double reach = -away / step[a];
            if (reach < length) length = reach, first = a;
        }
        for (std::size_t a = 0; a < m; ++a) {
            const std::size_t j = moving[a];
            const double to = a == first ? kink[j] : x[j] + length * step[a];
            move(j, to - x[j]);
            x[j] = to;
        }
    }
};

// The active coordinates as a small problem of their own, which stays in the cache.
class ActivePart {
  public:
    ActivePart(const Descent& all, const std::vector<std::size_t>& active)
        : active_(active), matrix_(active.size() * active.size()), lambda_(active.size()), kink_(active.size()), x_(active.size()),
          gradient_(active.size()), part{all.set, active.size(), matrix_.data(), lambda_.data(), kink_.data(), x_.data(), gradient_.data()} {
        const std::size_t m = active.size();
        for (std::size_t a = 0; a < m; ++a) {
            const std::size_t j = active[a];
            for (std::size_t b = 0; b < m; ++b) matrix_[a * m + b] = all.curvature[j * all.n + active[b]];
            lambda_[a] = all.lambda[j], kink_[a] = all.kink[j], x_[a] = all.x[j], gradient_[a] = all.gradient[j];
        }
    }
    void write_back(Descent& all) {
        for (std::size_t a = 0; a < active_.size(); ++a) {
            const std::size_t j = active_[a];
            if (const double step = x_[a] - all.x[j]; step != 0) all.move(j, step), all.x[j] = x_[a];
        }
    }

  private:
    const std::vector<std::size_t>& active_;
    std::vector<double> matrix_, lambda_, kink_, x_, gradient_;

  public:
    Descent part;
};

}  // namespace

std::size_t coordinate_descent(const InstructionSet& set, std::size_t n, const double* curvature, const double* slope,
                               const double* lambda, const double* kink, double tolerance, std::size_t most_sweeps, double* x) {
    std::vector<double> gradient(slope, slope + n);
    Descent all{set, n, curvature, lambda, kink, x, gradient.data()};
    std::vector<std::size_t> active;
    for (std::size_t sweeps = 1; sweeps <= most_sweeps; ++sweeps) {
        double gain = all.sweep();
        if (gain <= tolerance) return sweeps;
        active.clear();
        for (std::size_t j = 0; j < n; ++j)
            if (lambda[j] == 0 || x[j] != kink[j]) active.push_back(j);
        ActivePart inner(all, active);
        const std::size_t before_jump = 8 + active.size() / 3;  // a jump costs about m^3 / 3, a sweep m^2
        while (gain > tolerance && sweeps < most_sweeps) {
            for (std::size_t k = 0; k < before_jump && gain > tolerance; ++k, ++sweeps) gain = inner.part.sweep();
            if (gain > tolerance) inner.part.jump();
        }
        inner.write_back(all);
    }
    return most_sweeps;
}

}  // namespace neglog

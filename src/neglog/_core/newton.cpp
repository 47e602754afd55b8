#include "newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "systems.hpp"

namespace neglog {

NewtonEnd newton(const InstructionSet& set, const Table& table, const Pass& pass, const double* bend, const double* centre, double factor,
                 double tol, std::size_t most_steps, double* theta, double* gradient, double* hessian, std::size_t threads) {
    constexpr double enough = 1e-4, rounding = 2e-15, singular = 1e-11, regular = 1e-4, exact_fit = 1e-6;
    const bool squares = pass.kernel && !pass.response && !pass.joint && pass.kernel->squares;
    const std::size_t n = pass.width(table);
    const bool steady = pass.kernel && pass.kernel->steady;
    std::vector<double> trial(theta, theta + n), step(n);
    Panels panels;
    Pass here = pass;
    here.theta = trial.data(), here.gradient = gradient, here.gram = hessian, here.panels = &panels;
    const auto evaluate = [&] {
        double value = factor * run(set, table, here, threads);
        for (std::size_t i = 0; i < n * n && factor != 1.0; ++i) hessian[i] *= factor;
        for (std::size_t j = 0; j < n; ++j) {
            const double away = trial[j] - centre[j];
            value += 0.5 * bend[j] * away * away;
            gradient[j] = factor * gradient[j] + bend[j] * away;
            hessian[j * (n + 1)] += bend[j];
        }
        return value;
    };
    NewtonEnd end{false, 0, evaluate(), std::numeric_limits<double>::infinity(), 0.0};
    for (; std::isfinite(end.value); ++end.steps) {
        end.pivot = solve_positive(set, n, hessian, gradient, step.data(), threads);
        if (!(end.pivot > singular)) return end;
        double squared = 0.0;
        for (std::size_t j = 0; j < n; ++j) squared += step[j] * gradient[j];
        const double before = end.decrement;
        end.decrement = squared > 0 ? std::sqrt(squared) : 0.0;
        const bool rounded = 0.5 * squared <= rounding * std::abs(end.value) && end.decrement > 0.5 * before;
        // One step ends at the minimum of a sum of squares; where rounding may show, another one looks whether it did.
        const bool arrived = squares && end.pivot > regular && end.value - 0.5 * squared > exact_fit * end.value;
        // Near the optimum each step squares the distance, in a unit that the last two steps tell; a tenth of it, to be safe.
        const double ratio = end.steps > 0 && steady ? end.decrement / before : 1.0;
        const double left = arrived ? 0.0 : 10 * ratio * ratio < 1 ? end.decrement * 10 * ratio * ratio : end.decrement;
        if (left <= tol || rounded) {
            end.decrement = left;
            end.steps += arrived;
            for (std::size_t j = 0; j < n; ++j) theta[j] -= step[j];
            end.value -= 0.5 * squared;
            end.converged = true;
            return end;
        }
        if (end.steps == most_steps) return end;
        double length = 1.0, value = end.value;
        for (int tries = 0;; ++tries) {
            for (std::size_t j = 0; j < n; ++j) trial[j] = theta[j] - length * step[j];
            value = evaluate();
            if (value <= end.value - enough * length * squared + rounding * std::abs(end.value)) break;
            if (tries == 10) return end;  // whoever asked knows more ways
            length *= 0.25;
        }
        end.value = value;
        std::copy(trial.begin(), trial.end(), theta);
    }
    return end;
}

}  // namespace neglog

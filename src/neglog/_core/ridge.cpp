#include "ridge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace neglog {
namespace {

constexpr double least = 1e-24, most = 1e6;  // where strengths are looked for, in the largest eigenvalue
constexpr int looks = 100, most_steps = 200;
constexpr double settled = 1e-5;  // a change of log alpha after which Newton's method has nothing left to change

double left_over(const RidgeProblem& problem, double alpha) {
    double left = problem.left;  // and what the ridge adds to it: a difference would lose all digits where little is left
    for (std::size_t j = 0; j < problem.directions; ++j)
        left += problem.squares[j] / problem.values[j] * (alpha / (problem.values[j] + alpha));
    return std::max(left, 1e-300);
}

// Minus twice the log evidence, up to a constant.
double lack(const RidgeProblem& problem, double alpha) {
    const double left = left_over(problem, alpha);
    double sum = problem.variance > 0 ? left / problem.variance : problem.rows * std::log(left / problem.rows);
    for (std::size_t j = 0; j < problem.directions; ++j) sum += std::log1p(problem.values[j] / alpha);
    return sum;
}

// The first two derivatives of that in log alpha.
void slopes(const RidgeProblem& problem, double alpha, double& slope, double& bend) {
    double change = 0.0, change_bend = 0.0, effective = 0.0, effective_slope = 0.0;
    for (std::size_t j = 0; j < problem.directions; ++j) {
        const double kept = alpha / (problem.values[j] + alpha), pull = problem.squares[j] / (problem.values[j] + alpha) * kept;
        change += pull, change_bend += pull * (1 - 2 * kept);
        effective += 1 - kept, effective_slope += kept * (1 - kept);
    }
    const double variance = ridge_variance(problem, alpha);
    slope = change / variance - effective;
    bend = change_bend / variance + effective_slope;
    if (!(problem.variance > 0)) bend -= change * change / (variance * variance * problem.rows);
}

}  // namespace

double ridge_variance(const RidgeProblem& problem, double alpha) {
    return problem.variance > 0 ? problem.variance : left_over(problem, alpha) / problem.rows;
}

double strongest_evidence(const RidgeProblem& problem) {
    const double largest = problem.directions ? problem.values[problem.directions - 1] : 1.0;
    const double start = std::log(largest) + std::log(least), width = std::log(most / least) / looks;
    // The evidence may have several maxima: first the best of many strengths, then Newton's method between its neighbours.
    int best = 0;
    double fewest = std::numeric_limits<double>::infinity();
    for (int i = 0; i <= looks; ++i)
        if (const double here = lack(problem, std::exp(start + i * width)); here < fewest) fewest = here, best = i;
    double low = start + std::max(best - 1, 0) * width, high = start + std::min(best + 1, looks) * width, at = start + best * width;
    for (int steps = 0; steps < most_steps; ++steps) {
        double slope, bend;
        slopes(problem, std::exp(at), slope, bend);
        (slope > 0 ? high : low) = at;
        double next = bend > 0 ? at - slope / bend : high + 1;
        if (!(next >= low && next <= high)) next = 0.5 * (low + high);
        const bool arrived = std::abs(next - at) < settled;
        at = next;
        if (arrived) break;
    }
    return at;
}

}  // namespace neglog

// Small systems: linear, a ridge's evidence, coordinate descent.

#include <cmath>

#include "../ridge.hpp"
#include "../systems.hpp"
#include "arrays.hpp"

namespace neglog {
namespace {

double solve_system(const Doubles& matrix, const Doubles& right, const DoublesOut& x) {
    const std::size_t n = x.size();
    if (matrix.size() != n * n || right.size() != n) throw nb::value_error("matrix, right and x do not fit");
    nb::gil_scoped_release release;
    return solve_positive(*active, n, matrix.data(), right.data(), x.data());
}

// log of the strength, and the variance of the noise at it
auto ridge(const Doubles& values, const Doubles& squares, double rest, double rows, double variance) {
    if (values.size() != squares.size()) throw nb::value_error("values and squares do not fit");
    const RidgeProblem problem{values.size(), values.data(), squares.data(), rest, rows, variance};
    nb::gil_scoped_release release;
    const double log_strength = strongest_evidence(problem);
    return std::make_tuple(log_strength, ridge_variance(problem, std::exp(log_strength)));
}

std::size_t descend(const Doubles& curvature, const Doubles& slope, const Doubles& lambda, const Doubles& kink, double tolerance,
                    std::size_t most_sweeps, const DoublesOut& x) {
    const std::size_t n = x.size();
    if (curvature.size() != n * n || slope.size() != n || lambda.size() != n || kink.size() != n) throw nb::value_error("the arrays do not fit");
    nb::gil_scoped_release release;
    return coordinate_descent(*active, n, curvature.data(), slope.data(), lambda.data(), kink.data(), tolerance, most_sweeps, x.data());
}

}  // namespace

void define_systems(nb::module_& m) {
    m.def("solve_positive", &solve_system, "matrix"_a, "right"_a, "x"_a);
    m.def("ridge", &ridge, "values"_a, "squares"_a, "rest"_a, "rows"_a, "variance"_a);
    m.def("coordinate_descent", &descend, "curvature"_a, "slope"_a, "strength"_a, "kink"_a, "tolerance"_a, "most_sweeps"_a, "x"_a);
}

}  // namespace neglog

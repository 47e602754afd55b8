// A function of one number, interpolated.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>

#include "vector_math.hpp"

namespace neglog {
namespace {

// Panels of equal width, each with a polynomial. A panel is made when it is first asked for, and only kept if it reproduces
// the function between its nodes to the last digits; elsewhere the caller computes the function itself. What comes out
// depends on t alone, not on what was asked before: the same in every thread and every call.
class Panels {
  public:
    // The function at t, or NaN where there is no panel. `exact` is the function.
    template <class Exact>
    double at(double t, Exact exact) {
        const double position = (t - first) * per_unit;
        if (!(position >= 0 && position < panels)) return nan_value;
        const auto index = static_cast<std::size_t>(position);
        unsigned char& state = state_[index];
        if (state == unknown) state = build(exact, index);
        return state == ready ? value(index, 2.0 * (position - static_cast<double>(index)) - 1.0) : nan_value;
    }
    void forget() {
        for (unsigned char& state : state_) state = unknown;
    }

  private:
    static constexpr int degree = 9, per_unit = 16, panels = 1024;
    static constexpr double first = -40.0;
    static constexpr unsigned char unknown = 0, ready = 1, refused = 2;

    unsigned char state_[panels] = {};
    double c_[panels][degree + 1];  // in powers of z in [-1, 1]; set when the state is ready

    double value(std::size_t index, double z) const {
        const double* c = c_[index];
        const double z2 = z * z, z4 = z2 * z2;
        const double low = (c[0] + c[1] * z) + z2 * (c[2] + c[3] * z);
        const double high = (c[4] + c[5] * z) + z2 * (c[6] + c[7] * z);
        return low + z4 * (high + z4 * (c[8] + c[9] * z));
    }

    template <class Exact>
    unsigned char build(Exact exact, std::size_t index) {
        const auto inside = [&](double z) { return exact(first + (static_cast<double>(index) + 0.5 * (z + 1.0)) / per_unit); };
        // Newton's divided differences at Chebyshev nodes, multiplied out to powers.
        double node[degree + 1], difference[degree + 1];
        for (int i = 0; i <= degree; ++i) {
            node[i] = std::cos(std::numbers::pi * (2 * i + 1) / (2 * (degree + 1)));
            difference[i] = inside(node[i]);
        }
        for (int level = 1; level <= degree; ++level)
            for (int i = degree; i >= level; --i) difference[i] = (difference[i] - difference[i - 1]) / (node[i] - node[i - level]);
        double* c = c_[index];
        for (int k = 0; k <= degree; ++k) c[k] = 0.0;
        for (int i = degree; i >= 0; --i) {
            for (int k = degree; k >= 1; --k) c[k] = c[k - 1] - node[i] * c[k];
            c[0] = difference[i] - node[i] * c[0];
        }
        for (double z : {-1.0, -0.81, 0.05, 0.63, 1.0}) {
            const double truth = inside(z);
            if (!(std::fabs(value(index, z) - truth) <= 4e-14 * (1.0 + std::fabs(truth)))) return refused;
        }
        return ready;
    }
};

}  // namespace
}  // namespace neglog

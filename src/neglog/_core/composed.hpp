// Noises made of another noise: a change of variables, and zeros that have a probability of their own.
//
// Each is a formula (formulas.hpp) made of the formula F of the noise inside. Its parameters are those of F, and after them its own.
#pragma once

#include "formulas.hpp"

namespace neglog {
namespace {

// ---- change of variables: x = g(y) has the law F, and the log of g' makes it a density of y ------------------------------------

struct LogOf {
    static double inside(double y) { return log(y); }
    static double jacobian(double y) { return log(y); }  // -log g'(y)
    static double end(double y) { return y > 0 ? log(y) : -infinity; }  // g, for ends of cells
    static bool contains(double y) { return y > 0 && y < infinity; }
};

template <class Change, class F>
struct Changed {
    static constexpr std::size_t parameters = F::parameters;
    template <class T, class P>
    static auto row(double y, const T& m, const P* raw) {
        const double some = Change::contains(y) ? y : 0.5;
        return F::row(Change::inside(some), m, raw) + Change::jacobian(some);
    }
    template <class P>
        requires has_constant<F>
    static P constant(const P* raw) {
        return F::constant(raw);
    }
    static double guide(double y, double m, const double* raw) { return F::guide(Change::inside(y), m, raw); }
    static double information(double m, const double* raw) { return F::information(m, raw); }
    static bool contains(double y) { return Change::contains(y); }
};

// ---- zeros of their own: the last raw parameter is the logit of their probability p ---------------------------------------------

// Counts of which a share p is 0 for another reason: P(0) = p + (1 - p) P_F(0).
template <class F>
struct ZeroInflated {
    static constexpr std::size_t parameters = F::parameters + 1;
    template <class T, class P>
    static auto row(double y, const T& m, const P* raw) {
        const auto& logit = raw[F::parameters];
        const auto inside = whole<F>(y, m, raw);
        const auto at_zero = -softplus(-inside - logit) - logit;  // -log(e^logit + P_F(0))
        return select(y > 0, inside, at_zero) + softplus(logit);
    }
    static double guide(double y, double m, const double* raw) {
        const double own = y > 0 ? 1.0 : 1.0 / (1.0 + exp(raw[F::parameters] + F::none(m, raw)));  // that the 0 is a count
        return own * F::guide(y, m, raw);
    }
    static double information(double m, const double* raw) {
        const auto none = F::none(Jet<1, 2>::variable(m, 0), raw);
        const double odds = exp(raw[F::parameters]), zero = exp(-none.value);
        const auto all = row(0.0, Jet<1, 2>::variable(m, 0), raw);
        return (F::information(m, raw) - zero * none.second[0] + (odds + zero) * all.second[0]) / (1.0 + odds);
    }
    static bool contains(double y) { return F::contains(y); }
};

// Zeros of probability p; other values have the law F, without its own zeros.
template <class F>
struct Hurdle {
    static constexpr bool counts = requires(double m, const double* raw) { F::none(m, raw); };
    static constexpr std::size_t parameters = F::parameters + 1;
    template <class T>
    static auto truncation(const T& none) {
        return log1mexp(select(value_of(none) > 1e-290, none, none * 0.0 + 1e-290));
    }
    template <class T, class P>
    static auto row(double y, const T& m, const P* raw) {
        const auto& logit = raw[F::parameters];
        auto inside = whole<F>(y > 0 ? y : 1.0, m, raw);
        using V = decltype(inside);
        if constexpr (counts) inside = inside + truncation(F::none(m, raw));
        return select(y == 0, as<V>(softplus(-logit)), inside + softplus(logit));
    }
    static double guide(double y, double m, const double* raw) { return y == 0 ? 0.0 : F::guide(y, m, raw); }
    static double information(double m, const double* raw) {
        double inside = F::information(m, raw);
        if constexpr (counts) {
            const auto none = F::none(Jet<1, 2>::variable(m, 0), raw);
            inside = (inside - exp(-none.value) * none.second[0]) / -expm1(-none.value) + truncation(none).second[0];
        }
        return inside / (1.0 + exp(raw[F::parameters]));
    }
    static bool contains(double y) { return y == 0 || F::contains(y); }
};

}  // namespace
}  // namespace neglog

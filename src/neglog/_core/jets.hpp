// Numbers that carry their derivatives: a formula written once gives its value, its slopes and its curvatures, all of them exact.
//
// A Jet of K variables holds a value, its K first and, at order 2, its K (K + 1) / 2 second derivatives. A formula is a template over
// the type of its arguments: with doubles it is the plain value, with jets it is differentiated by the rules of calculus, which the
// compiler inlines into straight code without branches, so that loops over rows become vector code as they do for doubles.
#pragma once

#include <cstddef>
#include <numbers>
#include <utility>

#include "vector_math.hpp"

namespace neglog {
namespace {

constexpr std::size_t triangle(std::size_t k) { return k * (k + 1) / 2; }

template <std::size_t K, int order>
struct Jet {
    static constexpr std::size_t variables = K, pairs = order > 1 ? triangle(K) : 0;
    double value;
    double first[K];
    double second[pairs ? pairs : 1];  // (0,0), (1,0), (1,1), (2,0), ...

    static Jet constant(double x) {
        Jet jet{x, {}, {}};
        return jet;
    }
    static Jet variable(double x, std::size_t place) {
        Jet jet = constant(x);
        jet.first[place] = 1.0;
        return jet;
    }
};

template <class T>
constexpr bool is_jet = false;
template <std::size_t K, int order>
constexpr bool is_jet<Jet<K, order>> = true;
template <class T>
concept AnyJet = is_jet<T>;

// How many times a number is differentiated
template <class T>
constexpr int derivatives_of = 0;
template <std::size_t K, int order>
constexpr int derivatives_of<Jet<K, order>> = order;

inline double value_of(double x) { return x; }
template <AnyJet J>
inline double value_of(const J& x) {
    return x.value;
}

// Calls f.operator()<0>(), <1>(), ...: loops over derivatives must be gone before the compiler looks at the loop over rows.
template <std::size_t count, class F>
inline void unrolled(const F& f) {
    [&]<std::size_t... at>(std::index_sequence<at...>) { (f.template operator()<at>(), ...); }(std::make_index_sequence<count>{});
}
constexpr std::size_t row_of(std::size_t pair) {
    std::size_t i = 0;
    while (triangle(i + 1) <= pair) ++i;
    return i;
}
constexpr std::size_t column_of(std::size_t pair) { return pair - triangle(row_of(pair)); }

// f(x), given f and its first two derivatives at the value of x
template <AnyJet J>
inline J compose(const J& x, double f, double f1, double f2) {
    J out;
    out.value = f;
    unrolled<J::variables>([&]<std::size_t i>() { out.first[i] = f1 * x.first[i]; });
    unrolled<J::pairs>([&]<std::size_t p>() { out.second[p] = f1 * x.second[p] + f2 * (x.first[row_of(p)] * x.first[column_of(p)]); });
    return out;
}
inline double compose(double, double f, double, double) { return f; }

// f(x, y), given f and its derivatives at their values
struct OfTwo {
    double f, x, y, xx, xy, yy;
};
template <AnyJet J>
inline J compose(const J& x, const J& y, const OfTwo& d) {
    J out;
    out.value = d.f;
    unrolled<J::variables>([&]<std::size_t i>() { out.first[i] = d.x * x.first[i] + d.y * y.first[i]; });
    unrolled<J::pairs>([&]<std::size_t p>() {
        constexpr std::size_t i = row_of(p), j = column_of(p);
        const double across = x.first[i] * y.first[j] + x.first[j] * y.first[i];
        out.second[p] = (d.x * x.second[p] + d.y * y.second[p]) +
                        (d.xx * (x.first[i] * x.first[j]) + d.xy * across + d.yy * (y.first[i] * y.first[j]));
    });
    return out;
}
inline double compose(double, double, const OfTwo& d) { return d.f; }

// The same linear function of the value and of each derivative
template <AnyJet J, class Linear>
inline J each(const Linear& f) {
    J out;
    out.value = f([](const J& x) { return x.value; });
    unrolled<J::variables>([&]<std::size_t i>() { out.first[i] = f([](const J& x) { return x.first[i]; }); });
    unrolled<J::pairs>([&]<std::size_t p>() { out.second[p] = f([](const J& x) { return x.second[p]; }); });
    return out;
}

template <AnyJet J>
inline J operator+(const J& a, const J& b) {
    return each<J>([&](auto part) { return part(a) + part(b); });
}
template <AnyJet J>
inline J operator-(const J& a, const J& b) {
    return each<J>([&](auto part) { return part(a) - part(b); });
}
template <AnyJet J>
inline J operator*(const J& a, double b) {
    return each<J>([&](auto part) { return part(a) * b; });
}
template <AnyJet J>
inline J operator*(const J& a, const J& b) {
    J out;
    out.value = a.value * b.value;
    unrolled<J::variables>([&]<std::size_t i>() { out.first[i] = a.value * b.first[i] + b.value * a.first[i]; });
    unrolled<J::pairs>([&]<std::size_t p>() {
        constexpr std::size_t i = row_of(p), j = column_of(p);
        out.second[p] = (a.value * b.second[p] + b.value * a.second[p]) + (a.first[i] * b.first[j] + a.first[j] * b.first[i]);
    });
    return out;
}
template <AnyJet J>
inline J operator+(const J& a, double b) {
    J out = a;
    out.value += b;
    return out;
}
template <AnyJet J>
inline J operator-(const J& a, double b) {
    return a + (-b);
}
template <AnyJet J>
inline J operator-(const J& a) {
    return a * -1.0;
}
template <AnyJet J>
inline J operator+(double a, const J& b) {
    return b + a;
}
template <AnyJet J>
inline J operator-(double a, const J& b) {
    return -b + a;
}
template <AnyJet J>
inline J operator*(double a, const J& b) {
    return b * a;
}

template <AnyJet J>
inline J exp(const J& x) {
    const double e = exp(x.value);
    return compose(x, e, e, e);
}
template <AnyJet J>
inline J expm1(const J& x) {
    const double m = expm1(x.value), e = m + 1.0;
    return compose(x, m, e, e);
}
template <AnyJet J>
inline J log(const J& x) {
    const double i = 1.0 / x.value;
    return compose(x, log(x.value), i, -i * i);
}
template <AnyJet J>
inline J log1p(const J& x) {
    const double i = 1.0 / (1.0 + x.value);
    return compose(x, log1p(x.value), i, -i * i);
}
template <AnyJet J>
inline J reciprocal(const J& x) {
    const double i = 1.0 / x.value;
    return compose(x, i, -i * i, 2.0 * i * i * i);
}
inline double reciprocal(double x) { return 1.0 / x; }
template <AnyJet J>
inline J stirling_error(const J& x) {
    return compose(x, stirling_error(x.value), stirling_error_slope(x.value), J::pairs > 0 ? stirling_error_bend(x.value) : 0.0);
}
template <class T>
inline T square(const T& x) {
    return x * x;
}
// e^x - 1 - x >= 0: with x the log of a ratio, what a mean that is off by that ratio costs
template <class T>
inline T excess_of_log(const T& x) {
    return expm1(x) - x;
}
// log(1 + e^x): with x the logit of p it is -log(1 - p), and of -x -log p
inline double softplus(double x) { return larger(x, 0.0) + log1p(exp(-absolute(x))); }
template <AnyJet J>
inline J softplus(const J& x) {
    const double e = exp(-absolute(x.value)), p = (x.value >= 0 ? 1.0 : e) / (1.0 + e);
    return compose(x, softplus(x.value), p, e / ((1.0 + e) * (1.0 + e)));
}
// log(1 - e^-x) for x > 0, exact for small x, and for large ones but for rounding of the 1: without a branch, which would cost the vectors
inline double log1mexp(double x) { return log(-expm1(-x)); }
template <AnyJet J>
inline J log1mexp(const J& x) {
    const double slope = 1.0 / expm1(x.value);
    return compose(x, log1mexp(x.value), slope, -slope * (1.0 + slope));
}
// log(1 - e^-e^x), of any x
inline double log1mexpexp(double x) { return x < -40.0 ? x : log1mexp(exp(x)); }
template <AnyJet J>
inline J log1mexpexp(const J& x) {
    const double u = exp(smaller(x.value, 6.5)), slope = x.value < -40.0 ? 1.0 : u / expm1(u);
    return compose(x, log1mexpexp(x.value), slope, slope * (1.0 - u - slope));
}
// A number, or a jet of it, as a T
template <class T, class X>
inline T as(const X& x) {
    if constexpr (is_jet<T> && !is_jet<X>)
        return T::constant(x);
    else
        return x;
}
inline double select(bool condition, double a, double b) { return condition ? a : b; }
template <AnyJet J>
inline J select(bool condition, const J& a, const J& b) {
    return each<J>([&](auto part) { return condition ? part(a) : part(b); });
}

}  // namespace
}  // namespace neglog

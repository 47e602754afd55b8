// Elementary functions without branches, so that the compiler turns a loop over them into vector code.
//
// Every translation unit that includes this file is compiled once per instruction set (see kernels.cpp),
// hence the unnamed namespace: no copy made for AVX may be linked into the baseline.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

// A loop whose every call must be inlined: one that is left, because the compiler's budget was spent, costs the vectors.
// It stays a function of its own, in which the compiler sees nothing but the loop.
// Under sanitizers nobody waits for vectors, but for the compiler.
#if (defined(__GNUC__) || defined(__clang__)) && !defined(__SANITIZE_ADDRESS__)
#define NEGLOG_VECTOR_LOOP __attribute__((flatten, noinline))
#else
#define NEGLOG_VECTOR_LOOP
#endif

namespace neglog {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double half_log_two_pi = 0.91893853320467274178;

inline double larger(double a, double b) { return a > b ? a : b; }
inline double smaller(double a, double b) { return a < b ? a : b; }
inline double absolute(double x) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0x7fffffffffffffffULL); }

// Adding 1.5 * 2^52 leaves the nearest integer in the low bits of the mantissa.
constexpr double integer_magnet = 0x1.8p52;
inline double nearest(double x) { return (x + integer_magnet) - integer_magnet; }
inline bool is_integer(double x) { return nearest(x) == x || absolute(x) >= 0x1p51; }

// x = k log 2 + r with |r| <= log(2)/2: what exp and expm1 are made of.
struct ReducedExp {
    double fraction;    // exp(r) - 1, by Taylor
    double half_power;  // 2^(k-1): 2^k itself overflows just before exp(x) does
};
inline ReducedExp reduced_exp(double x) {
    const double c = x < -708.0 ? -708.0 : (x > 710.0 ? 710.0 : x);
    const double shifted = c * 1.4426950408889634074 + integer_magnet;
    const double k = shifted - integer_magnet;
    const double r = (c - k * 0x1.62e42fee00000p-1) - k * 0x1.a39ef35793c76p-33;
    const double r2 = r * r;
    const double r4 = r2 * r2;
    const double low = (0.5 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
    const double mid = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
    const double top = (1.0 / 3628800 + r * (1.0 / 39916800)) + r2 * (1.0 / 479001600 + r * (1.0 / 6227020800));
    const double half_power = std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1022) << 52);
    return {r + r2 * (low + r4 * (mid + r4 * top)), half_power};
}

// Results below the normal range, 2e-308, are flushed to 0.
inline double exp(double x) {
    const ReducedExp e = reduced_exp(x);
    const double value = (1.0 + e.fraction) * e.half_power * 2.0;
    return x < -707.5 ? 0.0 : value;
}

// exp(x) - 1 without cancellation: for small x, 2^k is 1 and the fraction is the result.
inline double expm1(double x) {
    const ReducedExp e = reduced_exp(x);
    return (e.fraction * e.half_power + (e.half_power - 0.5)) * 2.0;
}

// log: mantissa in [sqrt(1/2), sqrt(2)), then log(1+f) = f - f^2/2 + s (f^2/2 + R(s^2)), s = f / (2 + f).
// `log_positive` is for finite x > 0; elsewhere it returns some number, for loops that discard it.
inline double log_positive(double x) {
    const bool tiny = x < std::numeric_limits<double>::min();
    const double scaled = tiny ? x * 0x1p54 : x;
    const auto bits = std::bit_cast<std::uint64_t>(scaled) + (0x3ff0000000000000ULL - 0x3fe6a09e00000000ULL);
    const double exponent = std::bit_cast<double>((bits >> 52) | 0x4330000000000000ULL) - (0x1p52 + 1023.0);
    const double k = tiny ? exponent - 54.0 : exponent;
    const double f = std::bit_cast<double>((bits & 0x000fffffffffffffULL) + 0x3fe6a09e00000000ULL) - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s;
    const double w = z * z;
    const double even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    const double odd = z * (6.666666666666735130e-01 +
                            w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    const double half_square = 0.5 * f * f;
    const double series = s * (half_square + (even + odd));
    return k * 6.93147180369123816490e-01 - ((half_square - (series + k * 1.90821492927058770002e-10)) - f);
}

inline double log(double x) {
    const double result = log_positive(x);
    return x > 0 ? (x == infinity ? infinity : result) : (x == 0 ? -infinity : nan_value);
}

// log(1 + x) for finite x > -1, exact for tiny x: the rounding of 1 + x is put back to first order.
inline double log1p(double x) {
    const double u = 1.0 + x;
    return log_positive(u) + (x - (u - 1.0)) / u;
}

// Stirling's error  S(x) = log Gamma(x + 1) - [(x + 1/2) log x - x + log(2 pi)/2],  x > 0.
// Below 8 the argument is raised by 8, so that the divergent series is only used where it is exact to 1e-17.
inline double stirling_error(double x) {
    const bool small = x < 8.0;
    const double z = small ? x + 8.0 : x;
    const double i = 1.0 / z;
    const double q = i * i;
    const double series =
        i * (1.0 / 12 -
             q * (1.0 / 360 -
                  q * (1.0 / 1260 -
                       q * (1.0 / 1680 - q * (1.0 / 1188 - q * (691.0 / 360360 -
                                                                q * (1.0 / 156 - q * (3617.0 / 122400 - q * (43867.0 / 244188 -
                                                                                                             q * 174611.0 / 125400)))))))));
    const double s = small ? x : 1.0;
    const double product = ((s + 1) * (s + 2)) * ((s + 3) * (s + 4)) * (((s + 5) * (s + 6)) * ((s + 7) * (s + 8)));
    const double lift = (z + 0.5) * log(z) - 8.0 - log(product) - (x + 0.5) * log(x);
    return small ? series + lift : series;
}

// The derivative of S:  digamma(x) - log x + 1/(2x), with the same lift.
inline double stirling_error_slope(double x) {
    const bool small = x < 8.0;
    const double z = small ? x + 8.0 : x;
    const double q = 1.0 / (z * z);
    const double series =
        -q * (1.0 / 12 -
              q * (1.0 / 120 -
                   q * (1.0 / 252 -
                        q * (1.0 / 240 -
                             q * (1.0 / 132 - q * (691.0 / 32760 -
                                                   q * (1.0 / 12 - q * (3617.0 / 8160 - q * (43867.0 / 14364 - q * 174611.0 / 6600)))))))));
    double sum = 0.0;
    for (int k = 1; k <= 8; ++k) sum += 1.0 / (x + k);
    const double lift = log(z / x) + 0.5 / z - 0.5 / x - sum;
    return small ? series + lift : series;
}

// The second derivative of S:  trigamma(x) - 1/x - 1/(2 x^2), with the same lift.
inline double stirling_error_bend(double x) {
    const bool small = x < 8.0;
    const double z = small ? x + 8.0 : x;
    const double i = 1.0 / z, q = i * i;
    const double series =
        i * q *
        (1.0 / 6 -
         q * (1.0 / 30 -
              q * (1.0 / 42 -
                   q * (1.0 / 30 - q * (5.0 / 66 - q * (691.0 / 2730 -
                                                        q * (7.0 / 6 - q * (3617.0 / 510 - q * (43867.0 / 798 - q * 174611.0 / 330)))))))));
    double sum = 0.0;
    for (int k = 1; k <= 8; ++k) sum += 1.0 / ((x + k) * (x + k));
    const double lift = i - 1.0 / x - 0.5 * q + 0.5 / (x * x) + sum;
    return small ? series + lift : series;
}

// r - 1 - log r  for r = a / b, given a - b and log r: zero and flat at r = 1, where the subtraction would cancel.
inline double excess(double a, double b, double difference, double log_ratio) {
    const double v = difference / (a + b);
    const double w = v * v;
    double series = 1.0 / 21;
    for (int k = 19; k >= 3; k -= 2) series = series * w + 1.0 / k;
    const double near = 2.0 * w * (1.0 / (1.0 - v) - v * series);
    const double far = a / b - 1.0 - log_ratio;
    return absolute(v) < 0.1 ? near : far;
}
inline double excess(double a, double b, double log_ratio) { return excess(a, b, a - b, log_ratio); }

}  // namespace
}  // namespace neglog

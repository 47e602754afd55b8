// The unit deviance of every power, and its derivative in the power.
#pragma once

#include <cmath>

#include "vector_math.hpp"

namespace neglog {
namespace {

// d/2 = y^(2-p) [u(2-p, x) - u(1-p, x)],  x = log(mu / y),  u(a, x) = (exp(a x) - 1) / a, which is x at a = 0: so p = 1 and
// p = 2 are ordinary points. Near mu = y, where the difference cancels, its Taylor series x^2/2! c_2 + x^3/3! c_3 + ... with
// c_k = (2-p)^(k-1) - (1-p)^(k-1). Polynomials are summed in pairs, not by Horner's rule, whose every step waits for the last.
struct Deviance {
    double a, b, over_a, over_b, linear_a, linear_b, c[10];  // u = over * expm1 + linear * x: one of the two is 0

    explicit Deviance(double power)
        : a(2.0 - power), b(1.0 - power), over_a(a == 0 ? 0.0 : 1.0 / a), over_b(b == 0 ? 0.0 : 1.0 / b), linear_a(a == 0),
          linear_b(b == 0) {
        double factorial = 2.0, ak = a, bk = b;
        for (int k = 0; k < 10; ++k) {
            c[k] = (ak - bk) / factorial;
            factorial *= k + 3;
            ak *= a, bk *= b;
        }
    }
    // d/2 over y^(2-p), for finite y > 0 and log(mu)
    double relative(double y, double log_y, double mu, double log_mu) const {
        const double v = (mu - y) / (mu + y), w = v * v, w2 = w * w;
        const double atanh = v + v * w * ((1.0 / 3 + w * (1.0 / 5)) + w2 * ((1.0 / 7 + w * (1.0 / 9)) + w2 * (1.0 / 11)));
        const double x = absolute(v) < 0.06 ? 2.0 * atanh : log_mu - log_y;
        const double far = (expm1(a * x) * over_a + linear_a * x) - (expm1(b * x) * over_b + linear_b * x);
        const double x2 = x * x, x4 = x2 * x2;
        const double low = (c[0] + c[1] * x) + x2 * (c[2] + c[3] * x);
        const double high = (c[4] + c[5] * x) + x2 * (c[6] + c[7] * x);
        const double near = x2 * (low + x4 * (high + x4 * (c[8] + c[9] * x)));
        return absolute(x) < 0.1 ? near : far;
    }
    double of_positive(double y, double log_y, double mu, double log_mu) const { return exp(a * log_y) * relative(y, log_y, mu, log_mu); }
};

inline double half_deviance(double y, double mu, double log_mu, double power) {
    if (power == 0) return 0.5 * (y - mu) * (y - mu);  // y and mu may be negative
    if (y == 0) return power < 2 ? std::exp((2.0 - power) * log_mu) / (2.0 - power) : infinity;
    const Deviance deviance(power);
    if (y == infinity || log_mu == -infinity) return infinity;
    if (log_mu == infinity) return power > 2 ? exp(deviance.a * log(y)) * (deviance.over_b - deviance.over_a) : infinity;
    return deviance.of_positive(y, log(y), mu, log_mu);
}

// d/da u(a, x) = x^2 g(a x),  g(w) = (w e^w - e^w + 1) / w^2 = sum_k (k+1)/(k+2)! w^k.
inline double box_cox_slope(double w) {
    if (std::fabs(w) > 0.5) return (w * std::exp(w) - std::expm1(w)) / (w * w);
    double sum = 0.0, term = 0.5;
    for (int k = 0; k < 16; ++k) {
        sum += term;
        term *= w * (k + 2.0) / ((k + 1.0) * (k + 3.0));
    }
    return sum;
}

// The derivative of d/2 in the power, y > 0.
inline double half_deviance_power_slope(double y, double log_y, double mu, double log_mu, double power, double half) {
    const double a = 2.0 - power, b = 1.0 - power;
    const double ratio = (mu - y) / y;
    const double x = std::fabs(ratio) < 0.2 ? std::log1p(ratio) : log_mu - log_y;
    double slope = 0.0;
    if (std::fabs(x) < 0.3) {
        double term = 0.5 * x * x, ak = 1.0, bk = 1.0;  // x^k / k! and a^(k-2), k = 2
        for (int k = 2; k < 20; ++k) {
            slope += term * (k - 1) * (ak - bk);
            term *= x / (k + 1);
            ak *= a, bk *= b;
        }
    } else {
        slope = x * x * (box_cox_slope(a * x) - box_cox_slope(b * x));
    }
    return -log_y * half - std::exp(a * log_y) * slope;
}

}  // namespace
}  // namespace neglog

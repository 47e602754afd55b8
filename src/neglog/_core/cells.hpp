// y known to lie in a cell: -log of the probability of [lower, upper], with its derivatives in all raw parameters.
//
// A cell of no width is a value, and costs its density (or its mass). Otherwise the probability is the integral of the density, or the
// sum of the masses, over the cell, and since the formulas (formulas.hpp) give the nll of every y as a jet, so is that of the cell:
//   -log sum_k w_k e^-n_k  has the slopes E[n'] and the curvatures E[n''] - Var[n'] under the weights w_k e^-n_k.
// Nothing is a difference of two distribution functions, so that nothing cancels: neither in narrow cells nor far out in either tail.
// A law whose distribution function is elementary has it as `cell` in its formula, which is faster; wide cells of a law with a
// `Standard` law of known tails use these.
#pragma once

#include <cmath>

#include "composed.hpp"

namespace neglog {
namespace {

// -log of a sum of e^-n_k w_k, collected term by term about a first one, whose slopes keep the variance from cancelling.
template <class J>
class SumOfTerms {
  public:
    void add(const J& n, double log_weight, double sign = 1.0) {
        const double nats = n.value - log_weight;
        if (empty_) reference_ = n, least_ = nats, empty_ = false;
        if (!(nats < infinity)) return;
        if (nats < least_ - 300) rescale(nats);
        const double share = sign * std::exp(least_ - nats);
        sum_ += share;
        for (std::size_t i = 0; i < J::variables; ++i) {
            const double away = n.first[i] - reference_.first[i];
            first_[i] += share * away;
            for (std::size_t j = 0; j <= i && J::pairs > 0; ++j) {
                const std::size_t p = triangle(i) + j;
                second_[p] += share * (n.second[p] - away * (n.first[j] - reference_.first[j]));
            }
        }
    }
    bool nothing() const { return !(sum_ > 0); }
    double least() const { return least_; }
    J nll() const {
        J out = J::constant(least_ - std::log(sum_));
        for (std::size_t i = 0; i < J::variables; ++i) {
            const double mean = first_[i] / sum_;
            out.first[i] = reference_.first[i] + mean;
            for (std::size_t j = 0; j <= i && J::pairs > 0; ++j) {
                const std::size_t p = triangle(i) + j;
                out.second[p] = second_[p] / sum_ + mean * (first_[j] / sum_);
            }
        }
        return out;
    }

  private:
    void rescale(double nats) {
        const double factor = std::exp(nats - least_);
        sum_ *= factor, least_ = nats;
        for (double& x : first_) x *= factor;
        for (double& x : second_) x *= factor;
    }
    bool empty_ = true;
    J reference_ = J::constant(0.0);
    double least_ = 0.0, sum_ = 0.0, first_[J::variables] = {}, second_[J::pairs ? J::pairs : 1] = {};
};

constexpr double countless = 1e15;   // counts beyond which a number has no next one
constexpr double alike = 512;        // counts whose masses differ by a factor of e^4 in all, so that neighbours differ by less than 1%
constexpr double steepest = 8.0;      // nats by which the density may change within a panel
constexpr double negligible = 42.0;  // nats beyond the likeliest value, after which nothing counts
constexpr double gauss_nodes[] = {0.12523340851146891547, 0.36783149899818019375, 0.58731795428661744730,
                                  0.76990267419430468704, 0.90411725637047485668, 0.98156063424671925069};
constexpr double gauss_weights[] = {0.24914704581340278500, 0.23349253653835480876, 0.20316742672306592175,
                                    0.16007832854334622633, 0.10693932599531843096, 0.047175336386511827195};

// Over densities: panels of a Gauss rule with 12 nodes, from the likeliest value outwards, each so short that the density changes by less
// than e^8 in it. They end at `breaks`, where the density is not smooth, and where it has ridges they are not longer than the `longest`
// panel that sees them.
template <class F, class J>
J integrated(double lower, double upper, const J& m, const J* raw) {
    double plain[F::parameters ? F::parameters : 1];
    for (std::size_t k = 0; k < F::parameters; ++k) plain[k] = raw[k].value;
    const Path path = F::path(m.value, plain);
    const auto nats = [&](double u, const auto& at, const auto* own) {
        if constexpr (requires { F::mirrors; })  // numbers near 1 have no digits for what is left of 1
            if (path.is_above_half(u)) return F::row(path.mirrored(u), -at, own);
        return F::row(path.y(u), at, own);
    };
    const auto level = [&](double u) { return nats(u, m.value, static_cast<const double*>(plain)) - path.log_slope(u); };
    const double low = lower == -infinity ? -infinity : path.u(lower), high = upper == infinity ? infinity : path.u(upper);
    const double begin = low > 0 ? low : (high < 0 ? high : 0.0);
    SumOfTerms<J> sum;
    const auto panel = [&](double a, double b) {
        const double half = 0.5 * (b - a), middle = 0.5 * (a + b), log_half = std::log(absolute(half));
        for (std::size_t k = 0; k < 6; ++k)
            for (const double side : {-1.0, 1.0}) {
                const double u = middle + side * half * gauss_nodes[k];
                sum.add(nats(u, m, raw), path.log_slope(u) + log_half + std::log(gauss_weights[k]));
            }
    };
    const double first = level(begin);
    double best = first;
    for (const double side : {1.0, -1.0}) {
        const double end = side > 0 ? high : low;
        double from = begin, here = first, step = 0.5;
        for (int count = 0; side * (end - from) > 0 && count < 400; ++count) {
            step = smaller(2.0 * step, 1.0 + 0.5 * absolute(from - begin));
            double to = from + side * step;
            if constexpr (requires { F::breaks(0.0, plain); }) {
                const double edge = path.u(m.value + side * F::breaks(m.value, plain));
                if (side * (edge - from) > 1e-12 && side * (to - edge) > 0) to = edge;
            }
            if constexpr (requires { F::longest(0.0, plain); }) {
                const double most = smaller(F::longest(path.y(from), plain), F::longest(path.y(to), plain)) / path.width;
                if (absolute(to - from) > most) to = from + side * most;
            }
            if (side * (to - end) > 0) to = end;
            double there = level(to);
            for (int halvings = 0; !(absolute(there - here) < steepest) && halvings < 60; ++halvings) {
                to = from + 0.5 * (to - from), there = level(to);
            }
            if (!(absolute(there) < infinity)) break;  // beyond all numbers
            step = absolute(to - from);
            panel(from, to);
            from = to, here = there, best = smaller(best, here);
            if (here - best > negligible) break;
        }
    }
    const J out = sum.nothing() ? J(nats(begin, m, raw))
                                : sum.nll();  // so far out no panel is short enough: the nearest end is all that counts
    if constexpr (has_constant<F>)
        return out + F::constant(raw);  // once, not at every node
    else
        return out;
}

// Over counts: masses from the likeliest outwards. Many counts whose masses are nearly alike are summed at once, by Euler and Maclaurin's
// formula: the integral from half a count before the first to half a count after the last, less 1/24 of the change of slope.
template <class F, class J>
J summed(double lower, double upper, const J& m, const J* raw) {
    const double low = larger(std::ceil(lower), 0.0), high = std::floor(upper);
    double start = std::floor(F::middle(m.value));
    start = start < low ? low : (start > high ? high : start);
    if (!(start < countless)) {
        if (!(upper == infinity && low < countless)) return J::constant(start == start ? infinity : start);
        return low > 0 ? -log1mexp(summed<F>(0.0, low - 1, m, raw)) : J::constant(0.0);  // all but some that can be counted
    }
    SumOfTerms<J> sum;
    const auto add = [&](double y, double weight = 1.0) {
        const J n = whole<F>(y, m, raw);
        sum.add(n, std::log(absolute(weight)), weight < 0 ? -1.0 : 1.0);
        return n.value;
    };
    const auto add_all = [&](double first, double last) {
        const double half = 0.5 * (last - first + 1), middle = 0.5 * (first + last);
        for (std::size_t k = 0; k < 6; ++k)
            for (const double side : {-1.0, 1.0}) add(middle + side * half * gauss_nodes[k], half * gauss_weights[k]);
        for (const double y : {first, last}) add(y, 1.0 / 24);
        for (const double y : {first - 1, last + 1}) add(y, -1.0 / 24);
    };
    for (const int side : {1, -1}) {
        double best = infinity, y = side > 0 ? start : start - 1, here = infinity;
        while (y >= low && y <= high) {
            const double left = side > 0 ? high - y : y - low;
            double count = std::floor(smaller(0.5 * smaller(absolute(y - start), y), left + 1)), there = here;
            const bool smooth = side > 0 || y - count >= alike;  // not so near 0
            for (; smooth && count >= alike; count = std::floor(0.5 * count)) {
                there = whole<F>(y + side * (count - 1), m, raw).value;
                if (absolute(there - here) < 4.0) break;
            }
            if (smooth && count >= alike)
                side > 0 ? add_all(y, y + count - 1) : add_all(y - count + 1, y), here = there;
            else
                count = 1, here = add(y);
            y += side * count;
            best = smaller(best, here);
            if (here - smaller(best, sum.least()) > negligible) break;
        }
    }
    return sum.nll();
}

template <class F>
struct CellOf {
    static bool contains(double lower, double upper) { return lower <= upper; }
    template <class J>
    static J nll(double lower, double upper, const J& m, const J* raw) {
        if constexpr (requires { F::template cell<J>(lower, upper, m, raw); })
            return F::cell(lower, upper, m, raw);
        else if constexpr (requires { F::none(m, raw); })
            return summed<F>(lower, upper, m, raw);
        else
            return integrated<F>(lower, upper, m, raw);
    }
};

// The normal law has tails that are known to all digits: of a cell between two ends the difference of logarithms, unless it cancels. So has
// every law of which some score is normal; `score` gives that of an end.
template <class J>
J log_below(const J& z) {
    const Probit::Hazard hazard = Probit::hazard(z.value);
    return compose(z, Probit::log_cdf(z.value), hazard.h, -hazard.h * hazard.plus_x);
}
template <class F, class J, class Score>
J cell_of_scores(double lower, double upper, const J& m, const J* raw, const Score& score) {
    const bool from = lower > -infinity, to = upper < infinity;
    if (!from && !to) return J::constant(0.0);
    const J low = from ? score(lower) : J::constant(0.0), high = to ? score(upper) : J::constant(0.0);
    if (!(absolute(low.value) < 1e100 && absolute(high.value) < 1e100)) return integrated<F>(lower, upper, m, raw);
    if (!from) return -log_below(high);
    if (!to) return -log_below(-low);
    const bool right = low.value + high.value > 0;  // the tail that is the smaller, mirrored to the left
    const J top = log_below(right ? -low : high), ratio = top - log_below(right ? -high : low);
    return ratio.value > 0.5 ? -top - log1mexp(ratio) : integrated<F>(lower, upper, m, raw);
}

template <>
struct CellOf<GaussianFormula> {
    template <class J>
    static J nll(double lower, double upper, const J& m, const J* raw) {
        return cell_of_scores<GaussianFormula>(lower, upper, m, raw, [&](double y) { return (y - m) * exp(-raw[0]); });
    }
};

template <>
struct CellOf<SinhArcsinhFormula> {
    template <class J>
    static J nll(double lower, double upper, const J& m, const J* raw) {
        return cell_of_scores<SinhArcsinhFormula>(lower, upper, m, raw, [&](double y) { return SinhArcsinhFormula::score(y, m, raw); });
    }
};

// Two exponentials that meet at the centre, below which lies the share q: a cell that holds the centre has a kink inside, which no node
// would see. The slopes of their logarithms are 1 - q and -q, times how steep they are.
template <class J, class Q>
J cell_of_exponentials(double lower, double upper, const J& m, const J& log_scale, const Q& q, double steep) {
    const J sharpness = steep * exp(-log_scale), low = (lower - m) * sharpness, high = (upper - m) * sharpness;
    const bool from = lower > -infinity, to = upper < infinity;
    const Q p = 1.0 - q;
    if (to && high.value <= 0) return -log(q) - p * high - (from ? log1mexp(p * (high - low)) : J::constant(0.0));
    if (from && low.value >= 0) return -log(p) + q * low - (to ? log1mexp(q * (high - low)) : J::constant(0.0));
    const J below = from ? q * exp(p * low) : J::constant(0.0), above = to ? p * exp(-q * high) : J::constant(0.0);
    return -log1p(-(below + above));
}

template <>
struct CellOf<LaplaceFormula> {
    template <class J>
    static J nll(double lower, double upper, const J& m, const J* raw) {
        return cell_of_exponentials(lower, upper, m, raw[0], 0.5, 2.0);
    }
};

template <>
struct CellOf<AsymmetricLaplaceFormula> {
    template <class J>
    static J nll(double lower, double upper, const J& m, const J* raw) {
        return cell_of_exponentials(lower, upper, m, raw[0], raw[1], 1.0);
    }
};

template <class Change, class F>
struct CellOf<Changed<Change, F>> {
    template <class J>
    static J nll(double lower, double upper, const J& m, const J* raw) {
        return CellOf<F>::nll(Change::end(lower), Change::end(upper), m, raw);
    }
};

// -log(p + (1 - p) e^-inside)
template <class J>
J with_zeros(const J& inside, const J& logit) {
    return softplus(logit) - logit - softplus(-inside - logit);
}

template <class F>
struct CellOf<ZeroInflated<F>> {
    template <class J>
    static J nll(double lower, double upper, const J& m, const J* raw) {
        const J inside = CellOf<F>::nll(lower, upper, m, raw), &logit = raw[F::parameters];
        return lower <= 0 ? with_zeros(inside, logit) : inside + softplus(logit);
    }
};

template <class F>
struct CellOf<Hurdle<F>> {
    template <class J>
    static J nll(double lower, double upper, const J& m, const J* raw) {
        const J& logit = raw[F::parameters];
        const bool counts = Hurdle<F>::counts, zero = lower <= 0;
        if (upper < (counts ? 1.0 : 5e-324)) return softplus(-logit);
        J inside = CellOf<F>::nll(zero ? (counts ? 1.0 : 0.0) : lower, upper, m, raw);
        if constexpr (Hurdle<F>::counts) inside = inside + Hurdle<F>::truncation(F::none(m, raw));
        return zero ? with_zeros(inside, logit) : inside + softplus(logit);
    }
};

// The formula of cells: y is the lower end, and the upper end stands after the raw parameters.
template <class F>
struct Cells {
    static constexpr std::size_t parameters = F::parameters, beside = 1;
    template <class J>
    static J nll(double lower, double upper, const J& m, const J* raw) {
        if (lower == upper) return F::contains(lower) ? whole<F>(lower, m, raw) : J::constant(infinity);
        if (!(lower < upper)) return J::constant(lower == lower && upper == upper ? infinity : nan_value);
        return CellOf<F>::nll(lower, upper, m, raw);
    }
};

}  // namespace
}  // namespace neglog

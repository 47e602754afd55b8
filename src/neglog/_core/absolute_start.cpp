#include "absolute_start.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "systems.hpp"

namespace neglog {
namespace {

// Shares of the rows whose loss is taken for a parabola, step by step: what is left is about the minimum of the absolute loss.
constexpr double smoothed[] = {0.5, 0.3, 0.2, 0.1, 0.1, 0.05};
constexpr double candidates = 0.1;  // share of the rows that may be held at zero
constexpr double apart = 0.3;       // share of a row, as the ridge measures it, that must be orthogonal to those chosen before

class SmoothedStart {
  public:
    SmoothedStart(const ScaledRows& rows, const Numbers& strength, const Numbers& centre, const InstructionSet& set)
        : rows_(rows), strength_(strength), centre_(centre), set_(set), d_(rows.d), row_(rows.d), distance_(rows.y.size()) {}

    // Each weight is one over the residual: the minimum of the parabola that touches the absolute loss there.
    Numbers theta() {
        Numbers theta = centre_, matrix(d_ * d_), right(d_), weight(rows_.m);
        for (const double share : smoothed) {
            measure(theta);
            const double least = quantile(share);
            if (!(least > 0)) break;
            for (std::size_t i = 0; i < rows_.m; ++i) weight[i] = rows_.weight[i] / std::max(distance_[i], least);
            add_equations(weight, matrix, right);
            const Factor factor(set_, d_, matrix.data(), 1);
            if (!(factor.smallest_pivot() > 0)) break;
            factor.solve(right.data(), theta.data());
        }
        return theta;
    }

    Indices active(const Numbers& theta) {
        measure(theta);
        Indices order(rows_.m);
        std::iota(order.begin(), order.end(), std::size_t{0});
        const std::size_t some = std::min(rows_.m, static_cast<std::size_t>(candidates * static_cast<double>(rows_.m)) + 8);
        const auto nearer = [&](std::size_t a, std::size_t b) {
            return distance_[a] != distance_[b] ? distance_[a] < distance_[b] : a < b;
        };
        std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(some), order.end(), nearer);
        order.resize(some);
        const Numbers unit = units();
        Numbers chosen(std::min(some, d_) * d_), products(d_);
        Indices active;
        for (const std::size_t i : order) {
            const std::size_t k = active.size();
            if (k == d_) break;
            double* z = chosen.data() + k * d_;
            rows_.read_row(i, z);
            for (std::size_t j = 0; j < d_; ++j) z[j] *= unit[j];
            const double before = rows_.inner(z, z);
            for (int twice = 0; twice < 2; ++twice) {
                rows_.loops.inner_products(k, d_, chosen.data(), z, products.data());
                for (std::size_t l = 0; l < k; ++l) rows_.loops.add_multiple(d_, -products[l], chosen.data() + l * d_, z);
            }
            const double after = rows_.inner(z, z);
            if (!(after > apart * apart * before)) continue;
            for (std::size_t j = 0; j < d_; ++j) z[j] /= std::sqrt(after);
            active.push_back(i);
        }
        return active;
    }

  private:
    void measure(const Numbers& theta) {
        rows_.loops.times(rows_.panels, d_, rows_.x.data(), theta.data(), distance_.data());
        for (std::size_t i = 0; i < rows_.m; ++i) distance_[i] = std::abs(rows_.y[i] - distance_[i]);
    }

    double quantile(double share) const {
        Numbers sizes(distance_.begin(), distance_.begin() + static_cast<std::ptrdiff_t>(rows_.m));
        const auto at = sizes.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(rows_.m - 1));
        std::nth_element(sizes.begin(), at, sizes.end());
        return *at;
    }

    // (X' W X + Q) theta = X' W y + Q m - g; most numbers of rows with factors are zero.
    void add_equations(const Numbers& weight, Numbers& matrix, Numbers& right) {
        std::fill(matrix.begin(), matrix.end(), 0.0);
        for (std::size_t j = 0; j < d_; ++j) {
            matrix[j * d_ + j] = strength_[j];
            right[j] = strength_[j] * centre_[j] - rows_.linear[j];
        }
        Indices some;
        for (std::size_t i = 0; i < rows_.m; ++i) {
            rows_.read_row(i, row_.data());
            some.clear();
            for (std::size_t j = 0; j < d_; ++j)
                if (row_[j] != 0) some.push_back(j);
            rows_.loops.add_multiple(d_, weight[i] * rows_.y[i], row_.data(), right.data());
            const bool sparse = 4 * some.size() < d_;
            for (std::size_t k = 0; k < some.size(); ++k) {
                double* to = matrix.data() + some[k] * d_;
                const double share = weight[i] * row_[some[k]];
                if (!sparse)
                    rows_.loops.add_multiple(some[k] + 1, share, row_.data(), to);
                else
                    for (std::size_t l = 0; l <= k; ++l) to[some[l]] += share * row_[some[l]];
            }
        }
    }

    // One over the root of the ridge; where there is none, as if it were the weakest.
    Numbers units() const {
        double weakest = 0.0;
        for (const double q : strength_)
            if (q > 0) weakest = weakest > 0 ? std::min(weakest, q) : q;
        Numbers unit(d_);
        for (std::size_t j = 0; j < d_; ++j) unit[j] = 1.0 / std::sqrt(strength_[j] > 0 ? strength_[j] : (weakest > 0 ? weakest : 1.0));
        return unit;
    }

    const ScaledRows& rows_;
    const Numbers &strength_, &centre_;
    const InstructionSet& set_;
    const std::size_t d_;
    Numbers row_, distance_;
};

}  // namespace

RidgeStart smoothed_start(const ScaledRows& rows, const Numbers& strength, const Numbers& centre, const double* given,
                          const InstructionSet& set) {
    SmoothedStart start(rows, strength, centre, set);
    RidgeStart found;
    found.theta = given ? rows.scaled(given) : start.theta();
    found.active = start.active(found.theta);
    return found;
}

}  // namespace neglog

#include "columns.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "soft_threshold.hpp"

namespace neglog {
namespace {

// In lanes, so that one addition need not wait for the other.
template <class Index>
double gathered(const Index* indices, const double* values, std::size_t n, const double* x) {
    double lane[4] = {};
    std::size_t k = 0;
    for (; k + 4 <= n; k += 4)
        for (std::size_t l = 0; l < 4; ++l) lane[l] += values[k + l] * x[indices[k + l]];
    for (; k < n; ++k) lane[0] += values[k] * x[indices[k]];
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

// What a column looks like under the weights, with the state of the descent.
template <class Index>
class Descent {
  public:
    Descent(const SparseColumns<Index>& columns, const LassoModel& model, double* x)
        : columns_(columns), model_(model), x_(x), start_(x, x + model.count), pulled_(columns.rows, 0.0), bend_(model.count),
          sum_(model.count), weight_(std::accumulate(model.weight, model.weight + columns.rows, 0.0)) {
        for (std::size_t k = 0; k < model.count; ++k) {
            double squares = 0.0, sum = 0.0;
            for_each(k, [&](Index row, double value) {
                const double weighted = value * model.weight[row];
                squares += value * weighted, sum += weighted;
            });
            bend_[k] = squares + model.bend[k], sum_[k] = sum;
        }
        settle_intercept();
    }

    // Moves one coordinate to its minimum, and the intercept after it.
    double improve(std::size_t k) {
        if (!(bend_[k] > 0)) return 0.0;
        const std::size_t j = static_cast<std::size_t>(model_.chosen[k]), begin = columns_.starts[j], size = columns_.starts[j + 1] - begin;
        const double here = x_[k] - model_.kink[k];
        const double slope = model_.slope[k] + gathered(columns_.indices + begin, columns_.values + begin, size, pulled_.data()) +
                             step0_ * sum_[k] + model_.bend[k] * (x_[k] - start_[k]);
        const double there = soft_threshold(here - slope / bend_[k], model_.lambda[k] / bend_[k]), step = there - here;
        if (step == 0) return 0.0;
        x_[k] = model_.kink[k] + there;
        for_each(k, [&](Index row, double value) { pulled_[row] += step * value * model_.weight[row]; });
        total_ += step * sum_[k];
        const double gain = -step * (slope + 0.5 * bend_[k] * step) + model_.lambda[k] * (std::abs(here) - std::abs(there));
        return gain + settle_intercept();
    }

    bool at_kink(std::size_t k) const { return x_[k] == model_.kink[k]; }
    double step0() const { return step0_; }
    double first_gain() const { return first_gain_; }

    void write_change(double* change) const {
        std::fill_n(change, columns_.rows, step0_);
        for (std::size_t k = 0; k < model_.count; ++k)
            if (const double step = x_[k] - start_[k]; step != 0)
                for_each(k, [&](Index row, double value) { change[row] += step * value; });
    }

  private:
    template <class Visit>
    void for_each(std::size_t k, Visit visit) const {
        const std::size_t j = static_cast<std::size_t>(model_.chosen[k]);
        for (Index e = columns_.starts[j]; e < columns_.starts[j + 1]; ++e) visit(columns_.indices[e], columns_.values[e]);
    }

    // The intercept's own minimum takes no pass over the rows: only sums of what they weigh.
    double settle_intercept() {
        if (!model_.intercept || !(weight_ > 0)) return 0.0;
        const double slope = model_.slope0 + total_ + step0_ * weight_, step = -slope / weight_;
        step0_ += step;
        const double gain = 0.5 * slope * slope / weight_;
        if (!begun_) first_gain_ = gain, begun_ = true;
        return gain;
    }

    const SparseColumns<Index>& columns_;
    const LassoModel& model_;
    double* x_;
    std::vector<double> start_, pulled_, bend_, sum_;  // pulled: weight times X (x - x0), without the intercept
    double weight_, total_ = 0.0, step0_ = 0.0, first_gain_ = 0.0;
    bool begun_ = false;
};

}  // namespace

template <class Index>
void column_products(const SparseColumns<Index>& columns, std::size_t count, const std::int64_t* chosen, const double* x, double* out,
                     std::size_t threads) {
    const auto part = [&](std::size_t begin, std::size_t end) {
        for (std::size_t k = begin; k < end; ++k) {
            const std::size_t j = chosen ? static_cast<std::size_t>(chosen[k]) : k, first = columns.starts[j];
            out[k] = gathered(columns.indices + first, columns.values + first, columns.starts[j + 1] - first, x);
        }
    };
    threads = std::clamp<std::size_t>(threads, 1, std::max<std::size_t>(count / 64, 1));
    std::vector<std::thread> others;
    for (std::size_t t = 1; t < threads; ++t) others.emplace_back(part, count * t / threads, count * (t + 1) / threads);
    part(0, count / threads);
    for (std::thread& other : others) other.join();
}

template <class Index>
LassoEnd sparse_descent(const SparseColumns<Index>& columns, const LassoModel& model, double tolerance, std::size_t most_sweeps, double* x,
                        double* change) {
    constexpr double share = 1e-3;  // of the gain so far: a rough step is good enough while the model is rough too
    Descent<Index> descent(columns, model, x);
    LassoEnd end{descent.first_gain(), 0.0, 0};
    std::vector<std::size_t> active;
    // Sweeps shrink what is left by some factor; the last two tell it, and with it what all further sweeps would gain.
    const auto done = [&](double gain, double before) {
        const double factor = before > 0 ? gain / before : 0.0;
        const double left = factor < 1 ? gain * std::max(1.0, factor / (1 - factor)) : std::numeric_limits<double>::infinity();
        return gain == 0 || left <= std::max(tolerance, share * end.gain);
    };
    while (end.sweeps < most_sweeps) {
        double gain = 0.0;
        for (std::size_t k = 0; k < model.count; ++k) gain += descent.improve(k);
        end.gain += gain, ++end.sweeps;
        if (done(gain, 0.0)) break;
        active.clear();
        for (std::size_t k = 0; k < model.count; ++k)
            if (!descent.at_kink(k)) active.push_back(k);
        double before = 0.0;
        while (end.sweeps < most_sweeps) {  // most of the work is about those that are not held
            gain = 0.0;
            for (const std::size_t k : active) gain += descent.improve(k);
            end.gain += gain, ++end.sweeps;
            if (done(gain, before)) break;
            before = gain;
        }
    }
    end.step0 = descent.step0();
    descent.write_change(change);
    return end;
}

template void column_products(const SparseColumns<std::int32_t>&, std::size_t, const std::int64_t*, const double*, double*, std::size_t);
template void column_products(const SparseColumns<std::int64_t>&, std::size_t, const std::int64_t*, const double*, double*, std::size_t);
template LassoEnd sparse_descent(const SparseColumns<std::int32_t>&, const LassoModel&, double, std::size_t, double*, double*);
template LassoEnd sparse_descent(const SparseColumns<std::int64_t>&, const LassoModel&, double, std::size_t, double*, double*);

}  // namespace neglog

// Descent from vertex to vertex. At a vertex as many rows as columns, the basis, have residual zero. Their multipliers u solve
//   sum over other rows  w sign(r) x  +  sum over the basis  u x  =  g
// and the vertex is the minimum if every |u| <= w. Otherwise a row that violates this is let go: along the edge on which only
// its residual leaves zero the objective is convex and piecewise linear, a weighted median finds its minimum past any number
// of kinks (Barrodale and Roberts 1973), and the row met there enters the basis.
//
// Rows and columns are scaled by powers of two, which changes no digit. Ties are broken by moving the targets a little, away
// from zero on the side where each residual is; the multipliers of the final basis do not depend on the targets, so taking
// the moves back leaves a minimum of the problem that was posed.

#include "absolute.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

namespace neglog {
namespace {

constexpr std::size_t panel_rows = 32;
constexpr double everywhere = std::numeric_limits<double>::max();

constexpr double null_direction = 1e-9;     // rows, of norm one, that reach no further are taken to be orthogonal
constexpr double slowest_pivot = 1e-10;     // a residual that moves slower than this does not move
constexpr double multiplier_slack = 1e-10;  // rounding in multipliers, relative to the weight
constexpr double residual_slack = 1e-13;    // rounding in residuals, relative to target and parameters

using Numbers = std::vector<double>;
using Rows = std::vector<std::size_t>;

double power_of_two_near(double x) { return x > 0 && std::isfinite(x) ? std::ldexp(1.0, std::ilogb(x)) : 1.0; }

// Uniform on [1, 2), the same on every machine.
double scattered(std::uint64_t i) {
    i = (i + 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;
    i = (i ^ (i >> 29)) * 0x94d049bb133111ebULL;
    return 1.0 + static_cast<double>((i ^ (i >> 32)) >> 11) * 0x1p-53;
}

class Descent {
  public:
    Descent(const AbsoluteProblem& problem, const AbsoluteLoops& loops)
        : p_(problem), loops_(loops), m_(problem.rows), d_(problem.columns), panels_((m_ + panel_rows - 1) / panel_rows) {}

    Vertex solve(const double* start);

  private:
    void scale();
    void measure(std::size_t sample);
    Numbers least_squares();
    Numbers start_from_sample(std::size_t sample);
    void choose_basis(const Numbers& theta);
    bool accept(std::size_t row, double fraction);
    Vertex reduced(const double* start);
    void factor();
    void refresh();
    void perturb();
    std::size_t most_violated() const;
    bool meet(double slope, double slack);
    void replace(std::size_t leaving, double side, double step);
    void descend(Vertex& vertex);

    void read_row(std::size_t i, double* to) const {
        const double* row = p_.x + i * d_;
        for (std::size_t j = 0; j < d_; ++j) to[j] = row[j] * column_[j] * row_[i];
    }
    double inner(const double* a, const double* b) const {
        double out;
        loops_.inner_products(1, d_, a, b, &out);
        return out;
    }
    // The order in which rows are met: ties by the size of the pivot, so that the row which enters is a stable one.
    bool sooner(std::size_t a, std::size_t b) const {
        if (time_[a] != time_[b]) return time_[a] < time_[b];
        const double pa = std::abs(rate_[a]), pb = std::abs(rate_[b]);
        return pa != pb ? pa < pb : a < b;
    }
    // What the slope gains when row i is passed.
    double kink(std::size_t i) const { return 2.0 * weight_[i] * std::abs(rate_[i]); }

    const AbsoluteProblem& p_;
    const AbsoluteLoops& loops_;
    const std::size_t m_, d_, panels_;
    Numbers column_, row_, x_, y_, exact_y_, weight_, linear_;  // all scaled
    Numbers gram_, cholesky_;                                   // of a sample: measures the length of edges
    Numbers orthonormal_;                                       // span of the basis while it is being chosen, whitened
    Rows basis_;
    Numbers inverse_;   // edge k, as row k: x_b' edge_k = 1 for the basis row k, 0 for the others
    Numbers length_;    // squared, of the edges
    Numbers theta_, residual_, side_, rest_, multiplier_;  // side: sign of the residual, 0 in the basis; rest: g - sum w s x
    Numbers rate_, time_, lanes_, edge_, entering_, pivots_, image_;
    Rows met_;
    std::size_t passed_ = 0;
    double reach_ = everywhere;  // how far the search looks first
    bool perturbed_ = false;
    double perturbation_ = 1e-6;
    std::uint64_t seed_ = 0;
};

void Descent::scale() {
    column_.assign(d_, 0.0), row_.assign(m_, 1.0);
    for (std::size_t i = 0; i < m_; ++i)
        for (std::size_t j = 0; j < d_; ++j) column_[j] = std::max(column_[j], std::abs(p_.x[i * d_ + j]));
    for (double& c : column_) c = 1.0 / power_of_two_near(c);
    x_.assign(panels_ * panel_rows * d_, 0.0);
    y_.assign(panels_ * panel_rows, 0.0), weight_ = y_, residual_ = y_, side_ = y_, rate_ = y_, time_ = y_;
    for (std::size_t i = 0; i < m_; ++i) {
        double square = 0.0;
        const double* row = p_.x + i * d_;
        double* to = x_.data() + (i / panel_rows) * panel_rows * d_ + i % panel_rows;
        for (std::size_t j = 0; j < d_; ++j) square += (row[j] * column_[j]) * (row[j] * column_[j]);
        const double s = row_[i] = 1.0 / power_of_two_near(std::sqrt(square));
        for (std::size_t j = 0; j < d_; ++j) to[j * panel_rows] = row[j] * column_[j] * s;
        y_[i] = p_.y[i] * s, weight_[i] = p_.weight[i] / s;
    }
    exact_y_ = y_;
    linear_.resize(d_);
    for (std::size_t j = 0; j < d_; ++j) linear_[j] = p_.linear[j] * column_[j];
    lanes_.resize(8 * d_), edge_.resize(d_), entering_.resize(d_), pivots_.resize(d_), image_.resize(d_);
    length_.resize(d_), rest_.resize(d_), multiplier_.resize(d_), met_.resize(m_);
}

// The Gram matrix of evenly spaced rows and its Cholesky factor.
void Descent::measure(std::size_t sample) {
    gram_.assign(d_ * d_, 0.0);
    const std::size_t stride = std::max<std::size_t>(1, m_ / sample);
    for (std::size_t i = 0; i < m_; i += stride) {
        read_row(i, entering_.data());
        const double weight = weight_[i] / row_[i];
        for (std::size_t j = 0; j < d_; ++j)
            if (entering_[j] != 0) loops_.add_multiple(j + 1, weight * entering_[j], entering_.data(), gram_.data() + j * d_);
    }
    double largest = 0.0;
    for (std::size_t j = 0; j < d_; ++j) largest = std::max(largest, gram_[j * d_ + j]);
    for (std::size_t j = 0; j < d_; ++j) {
        gram_[j * d_ + j] += 1e-10 * (largest > 0 ? largest : 1.0);
        for (std::size_t k = j + 1; k < d_; ++k) gram_[j * d_ + k] = gram_[k * d_ + j];
    }
    cholesky_ = gram_;
    for (std::size_t j = 0; j < d_; ++j) {
        double* row = cholesky_.data() + j * d_;
        for (std::size_t k = 0; k <= j; ++k) {
            const double* other = cholesky_.data() + k * d_;
            double sum = row[k];
            for (std::size_t l = 0; l < k; ++l) sum -= row[l] * other[l];
            row[k] = k < j ? sum / other[k] : std::sqrt(std::max(sum, 1e-12 * largest + 1e-300));
        }
    }
}

Numbers Descent::least_squares() {
    Numbers right(d_, 0.0);
    for (std::size_t i = 0; i < m_; ++i) {
        read_row(i, entering_.data());
        loops_.add_multiple(d_, weight_[i] / row_[i] * y_[i], entering_.data(), right.data());
    }
    for (std::size_t j = 0; j < d_; ++j) {
        for (std::size_t k = 0; k < j; ++k) right[j] -= cholesky_[j * d_ + k] * right[k];
        right[j] /= cholesky_[j * d_ + j];
    }
    for (std::size_t j = d_; j-- > 0;) {
        right[j] /= cholesky_[j * d_ + j];
        for (std::size_t k = 0; k < j; ++k) right[k] -= cholesky_[j * d_ + k] * right[j];
    }
    return right;
}

Numbers Descent::start_from_sample(std::size_t sample) {
    const std::size_t stride = m_ / sample;
    Numbers x, y, weight, linear(d_);
    for (std::size_t i = stride / 2; i < m_; i += stride) {
        x.insert(x.end(), p_.x + i * d_, p_.x + (i + 1) * d_);
        y.push_back(p_.y[i]), weight.push_back(p_.weight[i]);
    }
    for (std::size_t j = 0; j < d_; ++j) linear[j] = p_.linear[j] * static_cast<double>(y.size()) / static_cast<double>(m_);
    const Vertex vertex = absolute_vertex({y.size(), d_, x.data(), y.data(), weight.data(), linear.data()}, nullptr, loops_);
    Numbers theta(d_);
    for (std::size_t j = 0; j < d_; ++j) theta[j] = vertex.theta[j] / column_[j];
    return theta;
}

// Adds the row to the basis if at least this fraction of it, whitened, is orthogonal to those already there.
bool Descent::accept(std::size_t i, double fraction) {
    const std::size_t k = basis_.size();
    double* z = orthonormal_.data() + k * d_;
    read_row(i, z);
    for (std::size_t j = 0; j < d_; ++j) {
        const double* row = cholesky_.data() + j * d_;
        double sum = z[j];
        for (std::size_t l = 0; l < j; ++l) sum -= row[l] * z[l];
        z[j] = sum / row[j];
    }
    const double before = inner(z, z);
    for (int twice = 0; twice < 2; ++twice) {
        loops_.inner_products(k, d_, orthonormal_.data(), z, pivots_.data());
        for (std::size_t l = 0; l < k; ++l) loops_.add_multiple(d_, -pivots_[l], orthonormal_.data() + l * d_, z);
    }
    const double after = inner(z, z);
    if (!(after > 0 && after >= fraction * fraction * before)) return false;
    const double scale = 1.0 / std::sqrt(after);
    for (std::size_t j = 0; j < d_; ++j) z[j] *= scale;
    basis_.push_back(i);
    return true;
}

// Rows with small residuals at theta that are well apart from each other; as many as the rank of X.
void Descent::choose_basis(const Numbers& theta) {
    loops_.times(panels_, d_, x_.data(), theta.data(), rate_.data());
    for (std::size_t i = 0; i < m_; ++i) time_[i] = std::abs(y_[i] - rate_[i]);
    std::iota(met_.begin(), met_.end(), std::size_t{0});
    const auto nearer = [this](std::size_t a, std::size_t b) { return time_[a] != time_[b] ? time_[a] < time_[b] : a < b; };
    const std::size_t candidates = std::min(m_, 8 * d_ + 32);
    if (candidates < m_) std::nth_element(met_.begin(), met_.begin() + candidates, met_.end(), nearer);
    std::sort(met_.begin(), met_.begin() + candidates, nearer);

    basis_.clear();
    orthonormal_.assign((d_ + 1) * d_, 0.0);
    std::vector<char> taken(m_, 0);
    // A start that is a vertex keeps its basis.
    double largest = std::sqrt(inner(theta.data(), theta.data()));
    for (std::size_t c = 0; c < candidates; ++c) largest = std::max(largest, std::abs(y_[met_[c]]));
    for (std::size_t c = 0; c < candidates && basis_.size() < d_ && time_[met_[c]] <= 1e-14 * largest; ++c)
        taken[met_[c]] = accept(met_[c], 1e-4);
    for (const double strictness : {0.5, 0.05})
        for (std::size_t c = 0; c < candidates && basis_.size() < d_; ++c) {
            const std::size_t i = met_[c];
            const double fraction = std::sqrt(static_cast<double>(d_ - basis_.size()) / static_cast<double>(d_));
            if (!taken[i]) taken[i] = accept(i, strictness * fraction);
        }
    // Whatever direction is still missing: a vector orthogonal to the basis, and the row that reaches furthest along it.
    while (basis_.size() < d_) {
        const std::size_t k = basis_.size();
        Numbers v(d_);
        for (std::size_t j = 0; j < d_; ++j) v[j] = scattered(k * d_ + j) - 1.5;
        for (int twice = 0; twice < 2; ++twice) {
            loops_.inner_products(k, d_, orthonormal_.data(), v.data(), pivots_.data());
            for (std::size_t l = 0; l < k; ++l) loops_.add_multiple(d_, -pivots_[l], orthonormal_.data() + l * d_, v.data());
        }
        for (std::size_t j = d_; j-- > 0;) {
            v[j] /= cholesky_[j * d_ + j];
            for (std::size_t l = 0; l < j; ++l) v[l] -= cholesky_[j * d_ + l] * v[j];
        }
        const double norm = std::sqrt(inner(v.data(), v.data()));
        loops_.times(panels_, d_, x_.data(), v.data(), rate_.data());
        std::size_t furthest = 0;
        for (std::size_t i = 0; i < m_; ++i)
            if (std::abs(rate_[i]) > std::abs(rate_[furthest])) furthest = i;
        if (m_ == 0 || !(std::abs(rate_[furthest]) > null_direction * norm) || !accept(furthest, 0.0)) break;
    }
}

// X has fewer independent columns than columns: solves in as many as there are, the others get theta = 0.
Vertex Descent::reduced(const double* start) {
    const std::size_t rank = basis_.size();
    Numbers a(rank * d_);
    for (std::size_t k = 0; k < rank; ++k) read_row(basis_[k], a.data() + k * d_);
    Rows columns(d_);
    std::iota(columns.begin(), columns.end(), std::size_t{0});
    for (std::size_t k = 0; k < rank; ++k) {  // Gauss-Jordan with complete pivoting leaves X_dropped = X_kept A
        std::size_t row = k, column = k;
        for (std::size_t i = k; i < rank; ++i)
            for (std::size_t j = k; j < d_; ++j)
                if (std::abs(a[i * d_ + columns[j]]) > std::abs(a[row * d_ + columns[column]])) row = i, column = j;
        std::swap(columns[k], columns[column]);
        std::swap_ranges(a.begin() + k * d_, a.begin() + (k + 1) * d_, a.begin() + row * d_);
        const double scale = 1.0 / a[k * d_ + columns[k]];
        for (std::size_t j = 0; j < d_; ++j) a[k * d_ + j] *= scale;
        for (std::size_t i = 0; i < rank; ++i)
            if (const double factor = -a[i * d_ + columns[k]]; i != k) loops_.add_multiple(d_, factor, a.data() + k * d_, a.data() + i * d_);
    }
    bool bounded = true;
    for (std::size_t j = rank; j < d_; ++j) {
        double difference = linear_[columns[j]], size = std::abs(difference);
        for (std::size_t k = 0; k < rank; ++k) {
            const double term = a[k * d_ + columns[j]] * linear_[columns[k]];
            difference -= term, size += std::abs(term);
        }
        bounded = bounded && std::abs(difference) <= 1e-8 * size;
    }
    std::sort(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(rank));
    Numbers x(m_ * rank), linear(rank), first(rank, 0.0);
    for (std::size_t k = 0; k < rank; ++k) {
        linear[k] = p_.linear[columns[k]];
        if (start) first[k] = start[columns[k]];
        for (std::size_t i = 0; i < m_; ++i) x[i * rank + k] = p_.x[i * d_ + columns[k]];
    }
    Vertex vertex;
    if (rank) {
        const AbsoluteProblem smaller{m_, rank, x.data(), p_.y, p_.weight, linear.data()};
        vertex = Descent(smaller, loops_).solve(start ? first.data() : nullptr);
    } else {
        vertex.dual.resize(m_);
        for (std::size_t i = 0; i < m_; ++i) vertex.dual[i] = std::copysign(p_.weight[i], p_.y[i]);
    }
    Numbers theta(d_, 0.0);
    for (std::size_t k = 0; k < rank; ++k) theta[columns[k]] = vertex.theta[k];
    vertex.theta = theta;
    if (!bounded) vertex.status = VertexStatus::unbounded;
    if (vertex.status == VertexStatus::optimal) vertex.status = VertexStatus::rank_deficient;
    return vertex;
}

// The edges anew from the basis, by Gauss-Jordan with row pivoting.
void Descent::factor() {
    Numbers a(d_ * 2 * d_, 0.0);
    for (std::size_t k = 0; k < d_; ++k) {
        read_row(basis_[k], a.data() + k * 2 * d_);
        a[k * 2 * d_ + d_ + k] = 1.0;
    }
    for (std::size_t k = 0; k < d_; ++k) {
        std::size_t best = k;
        for (std::size_t i = k + 1; i < d_; ++i)
            if (std::abs(a[i * 2 * d_ + k]) > std::abs(a[best * 2 * d_ + k])) best = i;
        double* row = a.data() + k * 2 * d_;
        std::swap_ranges(row, row + 2 * d_, a.begin() + static_cast<std::ptrdiff_t>(best * 2 * d_));
        const double scale = 1.0 / row[k];
        for (std::size_t j = k; j < 2 * d_; ++j) row[j] *= scale;
        for (std::size_t i = 0; i < d_; ++i)
            if (const double factor = -a[i * 2 * d_ + k]; i != k && factor != 0)
                loops_.add_multiple(2 * d_ - k, factor, row + k, a.data() + i * 2 * d_ + k);
    }
    inverse_.resize(d_ * d_);
    for (std::size_t k = 0; k < d_; ++k)
        for (std::size_t j = 0; j < d_; ++j) inverse_[k * d_ + j] = a[j * 2 * d_ + d_ + k];
    for (std::size_t k = 0; k < d_; ++k) {
        loops_.inner_products(d_, d_, gram_.data(), inverse_.data() + k * d_, image_.data());
        length_[k] = inner(image_.data(), inverse_.data() + k * d_);
    }
}

// Parameters, residuals, sides and multipliers anew from the basis and its edges.
void Descent::refresh() {
    theta_.assign(d_, 0.0);
    for (int refinement = 0; refinement < 3; ++refinement)
        for (std::size_t k = 0; k < d_; ++k) {
            if (k == 0)
                for (std::size_t b = 0; b < d_; ++b) {
                    read_row(basis_[b], entering_.data());
                    pivots_[b] = y_[basis_[b]] - inner(entering_.data(), theta_.data());
                }
            loops_.add_multiple(d_, pivots_[k], inverse_.data() + k * d_, theta_.data());
        }
    loops_.times(panels_, d_, x_.data(), theta_.data(), rate_.data());
    const double size = std::sqrt(inner(theta_.data(), theta_.data()));
    for (std::size_t i = 0; i < m_; ++i) {
        residual_[i] = y_[i] - rate_[i];
        const bool clear = std::abs(residual_[i]) > residual_slack * (std::abs(y_[i]) + size);
        if (clear || side_[i] == 0) side_[i] = residual_[i] < 0 ? -1.0 : 1.0;
    }
    for (const std::size_t b : basis_) side_[b] = 0.0, residual_[b] = 0.0;
    for (std::size_t i = 0; i < m_; ++i) rate_[i] = weight_[i] * side_[i];
    std::fill(rate_.begin() + static_cast<std::ptrdiff_t>(m_), rate_.end(), 0.0);
    loops_.transposed(panels_, d_, x_.data(), rate_.data(), lanes_.data(), rest_.data());
    for (std::size_t j = 0; j < d_; ++j) rest_[j] = linear_[j] - rest_[j];
    loops_.inner_products(d_, d_, inverse_.data(), rest_.data(), multiplier_.data());
}

// Moves every target away from zero on the side where its residual is, each by a different small amount.
void Descent::perturb() {
    double mean = 0.0, largest = 0.0;
    for (std::size_t i = 0; i < m_; ++i) {
        mean += std::abs(residual_[i]) / static_cast<double>(m_);
        largest = std::max(largest, std::abs(y_[i]));
    }
    const double floor = 1e-10 * (largest + std::sqrt(inner(theta_.data(), theta_.data())));
    const double unit = std::max({perturbation_ * mean, floor, 1e-300});
    for (std::size_t i = 0; i < m_; ++i) {
        const double move = side_[i] * unit * scattered(seed_ + i);
        y_[i] += move, residual_[i] = side_[i] * std::max(0.0, side_[i] * residual_[i]) + move;
    }
    perturbed_ = true;
    perturbation_ *= 0.25, seed_ += m_;
}

// The basis row whose edge goes down most steeply, measured in predictions; d if none goes down.
std::size_t Descent::most_violated() const {
    std::size_t best = d_;
    double steepest = 0.0;
    for (std::size_t k = 0; k < d_; ++k) {
        const double weight = weight_[basis_[k]], slope = std::abs(multiplier_[k]) - weight * (1.0 + multiplier_slack);
        const double rating = slope > 0 ? slope * slope / std::max(length_[k], 1e-300) : 0.0;
        if (rating > steepest) steepest = rating, best = k;
    }
    return best;
}

// Puts the rows that are met before the slope is used up first in `met_`, counted by `passed_`, and the one that uses it up
// next. Expected time proportional to the number of rows. False if more than `slack` of the slope outlasts all of them.
bool Descent::meet(double slope, double slack) {
    std::size_t end = 0;
    for (int attempt = 0;; ++attempt) {
        if (attempt > 0) reach_ = attempt < 3 && reach_ < 1e300 ? 16.0 * reach_ : everywhere;
        end = 0;
        for (std::size_t i = 0; i < m_; ++i) {
            met_[end] = i;
            end += time_[i] <= reach_;
        }
        double total = 0.0;
        for (std::size_t c = 0; c < end; ++c) total += kink(met_[c]);
        if (total >= slope) break;
        if (reach_ < everywhere) continue;
        if (end == 0 || total < slope - slack) return false;
        break;
    }
    const auto before = [this](std::size_t a, std::size_t b) { return sooner(a, b); };
    std::size_t begin = 0;
    while (end - begin > 16) {
        std::size_t a = met_[begin], b = met_[begin + (end - begin) / 2], c = met_[end - 1];
        const std::size_t middle = sooner(a, b) ? (sooner(b, c) ? b : (sooner(a, c) ? c : a)) : (sooner(a, c) ? a : (sooner(b, c) ? c : b));
        const auto split = std::partition(met_.begin() + begin, met_.begin() + end, [&](std::size_t i) { return sooner(i, middle); });
        const std::size_t cut = static_cast<std::size_t>(split - met_.begin());
        double lower = 0.0;
        for (std::size_t q = begin; q < cut; ++q) lower += kink(met_[q]);
        if (lower >= slope) {
            end = cut;
        } else {
            slope -= lower;
            std::swap(*std::find(split, met_.begin() + end, middle), *split);
            begin = cut;
            if (kink(middle) >= slope) break;
            slope -= kink(middle), begin = cut + 1;
        }
    }
    if (end - begin <= 16) {
        std::sort(met_.begin() + begin, met_.begin() + end, before);
        while (begin + 1 < end && kink(met_[begin]) < slope) slope -= kink(met_[begin++]);
    }
    if (begin == end) --begin;  // rounding used the slope up with the last row
    passed_ = begin;
    return true;
}

// Goes to the row that was met; the basis row number `leaving` stays behind on this side of zero.
void Descent::replace(std::size_t leaving, double side, double step) {
    const std::size_t out = basis_[leaving], in = met_[passed_];
    double* edge = inverse_.data() + leaving * d_;
    for (std::size_t c = 0; c < passed_; ++c) {
        const std::size_t i = met_[c];
        read_row(i, image_.data());
        loops_.add_multiple(d_, 2.0 * side_[i] * weight_[i], image_.data(), rest_.data());
        side_[i] = -side_[i];
    }
    read_row(out, image_.data());
    loops_.add_multiple(d_, -side * weight_[out], image_.data(), rest_.data());
    read_row(in, entering_.data());
    loops_.add_multiple(d_, side_[in] * weight_[in], entering_.data(), rest_.data());

    loops_.add_multiple(m_, step, rate_.data(), residual_.data());
    loops_.add_multiple(d_, -side * step, edge, theta_.data());
    residual_[out] = side * step, side_[out] = side;
    residual_[in] = 0.0, side_[in] = 0.0;
    basis_[leaving] = in;

    loops_.inner_products(d_, d_, inverse_.data(), entering_.data(), pivots_.data());
    const double scale = 1.0 / pivots_[leaving];
    for (std::size_t j = 0; j < d_; ++j) edge[j] *= scale;
    length_[leaving] *= scale * scale;
    loops_.inner_products(d_, d_, gram_.data(), edge, image_.data());
    loops_.inner_products(d_, d_, inverse_.data(), image_.data(), lanes_.data());
    for (std::size_t k = 0; k < d_; ++k) {
        if (k == leaving || pivots_[k] == 0) continue;
        loops_.add_multiple(d_, -pivots_[k], edge, inverse_.data() + k * d_);
        const double length = length_[k] - 2.0 * pivots_[k] * lanes_[k] + pivots_[k] * pivots_[k] * length_[leaving];
        length_[k] = std::max(length, 1e-12 * length_[k]);
    }
    loops_.inner_products(d_, d_, inverse_.data(), rest_.data(), multiplier_.data());
}

void Descent::descend(Vertex& vertex) {
    const std::size_t limit = 2000 + 50 * (m_ + d_), refactor_every = std::max<std::size_t>(60, d_);
    std::size_t since_factor = 0, standstills = 0;
    factor(), refresh();
    for (;;) {
        const std::size_t leaving = most_violated();
        if (leaving == d_ || since_factor >= refactor_every) {
            if (leaving == d_ && since_factor == 0 && !perturbed_) return;
            if (leaving == d_ && perturbed_) y_ = exact_y_, perturbed_ = false, standstills = 0;
            factor(), refresh(), since_factor = 0;
            continue;
        }
        if (vertex.pivots >= limit) {
            vertex.status = VertexStatus::pivot_limit;
            return;
        }
        const double side = multiplier_[leaving] < 0 ? -1.0 : 1.0;
        const double weight = weight_[basis_[leaving]], slope = std::abs(multiplier_[leaving]) - weight;
        for (std::size_t j = 0; j < d_; ++j) edge_[j] = side * inverse_[leaving * d_ + j];
        const double slowest = slowest_pivot * std::sqrt(inner(edge_.data(), edge_.data()));
        loops_.edge(panels_, d_, x_.data(), edge_.data(), side_.data(), residual_.data(), slowest, rate_.data(), time_.data());
        const double slack = 1e-9 * (weight + std::abs(multiplier_[leaving]));
        if (!meet(slope, slack)) {
            if (slope <= slack) {
                multiplier_[leaving] = side * weight;  // flat without end, but for rounding
                continue;
            }
            if (since_factor == 0) {
                vertex.status = VertexStatus::unbounded;
                return;
            }
            since_factor = refactor_every;  // look again without accumulated rounding
            continue;
        }
        const double step = time_[met_[passed_]];
        if (step > 0) reach_ = 8.0 * step;
        if (step <= 0 && ++standstills > 2 && seed_ < 40 * m_) {
            if (perturbed_) y_ = exact_y_, factor(), refresh(), since_factor = 0;
            perturb(), standstills = 0;
            continue;
        }
        const bool small = std::abs(rate_[met_[passed_]]) * std::sqrt(static_cast<double>(d_)) < 1e-6;
        replace(leaving, side, step);
        since_factor = small ? refactor_every : since_factor + 1;
        ++vertex.pivots;
    }
}

Vertex Descent::solve(const double* start) {
    scale();
    const bool sampled = !start && m_ > std::max<std::size_t>(20 * d_, 400);
    measure(start || sampled ? std::max<std::size_t>(256, 6 * d_) : std::max<std::size_t>(m_, 1));
    Numbers first(d_);
    if (start) {
        for (std::size_t j = 0; j < d_; ++j) first[j] = start[j] / column_[j];
    } else {
        first = sampled ? start_from_sample(std::max(10 * d_, m_ / 8)) : least_squares();
    }
    choose_basis(first);
    if (basis_.size() < d_) return reduced(start);
    Vertex vertex;
    descend(vertex);
    vertex.theta.resize(d_), vertex.dual.resize(m_);
    for (std::size_t j = 0; j < d_; ++j) vertex.theta[j] = theta_[j] * column_[j];
    for (std::size_t i = 0; i < m_; ++i) vertex.dual[i] = p_.weight[i] * side_[i];
    for (std::size_t k = 0; k < d_; ++k)
        vertex.dual[basis_[k]] = std::clamp(multiplier_[k], -weight_[basis_[k]], weight_[basis_[k]]) * row_[basis_[k]];
    vertex.basis = basis_;
    return vertex;
}

}  // namespace

Vertex absolute_vertex(const AbsoluteProblem& problem, const double* start, const AbsoluteLoops& loops) {
    return Descent(problem, loops).solve(start);
}

}  // namespace neglog

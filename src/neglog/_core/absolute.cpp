// Descent from vertex to vertex. At a vertex as many rows as columns, the basis, have residual zero. Their multipliers u solve
//   sum over other rows  w sign(r) x  +  sum over the basis  u x  =  g
// and the vertex is the minimum if every |u| <= w. Otherwise a row that violates this is let go: along the edge on which only
// its residual leaves zero the objective is convex and piecewise linear, a weighted median finds its minimum past any number
// of kinks (Barrodale and Roberts 1973), and the row met there enters the basis.
//
// Ties are broken by moving the targets a little, away
// from zero on the side where each residual is; the multipliers of the final basis do not depend on the targets, so taking
// the moves back leaves a minimum of the problem that was posed.

#include <algorithm>
#include <numeric>

#include "absolute_rows.hpp"

namespace neglog {
namespace {

constexpr double slowest_pivot = 1e-10;     // a residual that moves slower than this does not move
constexpr double multiplier_slack = 1e-10;  // rounding in multipliers, relative to the weight
constexpr double residual_slack = 1e-13;    // rounding in residuals, relative to targets and parameters

class Descent {
  public:
    Descent(const AbsoluteProblem& problem, const AbsoluteLoops& loops)
        : rows_(problem, loops), loops_(loops), m_(rows_.m), d_(rows_.d), y_(rows_.y), length_(d_), residual_(y_.size()), side_(y_.size()),
          rest_(d_), multiplier_(d_), line_(m_, y_.size()), lanes_(8 * d_), edge_(d_), entering_(d_), pivots_(d_), image_(d_) {}

    Vertex solve(const double* start);

  private:
    Vertex reduced(const double* start);
    void factor();
    void refresh();
    void perturb();
    std::size_t most_violated() const;
    void replace(std::size_t leaving, double side);
    void descend(Vertex& vertex);

    ScaledRows rows_;
    const AbsoluteLoops& loops_;
    const std::size_t m_, d_;
    Numbers y_;  // the targets, moved while ties are being broken
    Indices basis_;
    Numbers inverse_;  // edge k, as row k: x_b' edge_k = 1 for the basis row k, 0 for the others
    Numbers length_;   // squared, of the edges
    Numbers theta_, residual_, side_, rest_, multiplier_;  // side: sign of the residual, 0 in the basis; rest: g - sum w s x
    LineSearch line_;
    Numbers lanes_, edge_, entering_, pivots_, image_;
    bool perturbed_ = false;
    double perturbation_ = 1e-7;
    std::uint64_t seed_ = 0;
};

// X has fewer independent columns than columns: solves in as many as there are, the others get theta = 0.
Vertex Descent::reduced(const double* start) {
    const std::size_t rank = basis_.size();
    Numbers a(rank * d_);
    for (std::size_t k = 0; k < rank; ++k) rows_.read_row(basis_[k], a.data() + k * d_);
    Indices columns(d_);
    std::iota(columns.begin(), columns.end(), std::size_t{0});
    for (std::size_t k = 0; k < rank; ++k) {  // Gauss-Jordan with complete pivoting leaves X_dropped = X_kept A
        std::size_t row = k, column = k;
        for (std::size_t i = k; i < rank; ++i)
            for (std::size_t j = k; j < d_; ++j)
                if (std::abs(a[i * d_ + columns[j]]) > std::abs(a[row * d_ + columns[column]])) row = i, column = j;
        std::swap(columns[k], columns[column]);
        std::swap_ranges(a.data() + k * d_, a.data() + (k + 1) * d_, a.data() + row * d_);
        const double scale = 1.0 / a[k * d_ + columns[k]];
        for (std::size_t j = 0; j < d_; ++j) a[k * d_ + j] *= scale;
        for (std::size_t i = 0; i < rank; ++i)
            if (i != k) loops_.add_multiple(d_, -a[i * d_ + columns[k]], a.data() + k * d_, a.data() + i * d_);
    }
    bool bounded = true;
    for (std::size_t j = rank; j < d_; ++j) {
        double difference = rows_.linear[columns[j]], size = std::abs(difference);
        for (std::size_t k = 0; k < rank; ++k) {
            const double term = a[k * d_ + columns[j]] * rows_.linear[columns[k]];
            difference -= term, size += std::abs(term);
        }
        bounded = bounded && std::abs(difference) <= 1e-8 * size;
    }
    std::sort(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(rank));
    Numbers x(m_ * rank), linear(rank), first(rank, 0.0);
    for (std::size_t k = 0; k < rank; ++k) {
        linear[k] = rows_.problem.linear[columns[k]];
        if (start) first[k] = start[columns[k]];
        for (std::size_t i = 0; i < m_; ++i) x[i * rank + k] = rows_.problem.x[i * d_ + columns[k]];
    }
    Vertex vertex;
    if (rank) {
        const AbsoluteProblem smaller{m_, rank, x.data(), rows_.problem.y, rows_.problem.weight, linear.data()};
        vertex = Descent(smaller, loops_).solve(start ? first.data() : nullptr);
    } else {
        vertex.dual.resize(m_);
        for (std::size_t i = 0; i < m_; ++i) vertex.dual[i] = std::copysign(rows_.problem.weight[i], rows_.problem.y[i]);
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
        rows_.read_row(basis_[k], a.data() + k * 2 * d_);
        a[k * 2 * d_ + d_ + k] = 1.0;
    }
    for (std::size_t k = 0; k < d_; ++k) {
        std::size_t best = k;
        for (std::size_t i = k + 1; i < d_; ++i)
            if (std::abs(a[i * 2 * d_ + k]) > std::abs(a[best * 2 * d_ + k])) best = i;
        double* row = a.data() + k * 2 * d_;
        std::swap_ranges(row, row + 2 * d_, a.data() + best * 2 * d_);
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
        loops_.inner_products(d_, d_, rows_.gram.data(), inverse_.data() + k * d_, image_.data());
        length_[k] = rows_.inner(image_.data(), inverse_.data() + k * d_);
    }
}

// Parameters, residuals, sides and multipliers anew from the basis and its edges.
void Descent::refresh() {
    theta_.assign(d_, 0.0);
    for (int refinement = 0; refinement < 3; ++refinement) {
        for (std::size_t k = 0; k < d_; ++k) {
            rows_.read_row(basis_[k], entering_.data());
            pivots_[k] = y_[basis_[k]] - rows_.inner(entering_.data(), theta_.data());
        }
        for (std::size_t k = 0; k < d_; ++k) loops_.add_multiple(d_, pivots_[k], inverse_.data() + k * d_, theta_.data());
    }
    loops_.times(rows_.panels, d_, rows_.x.data(), theta_.data(), line_.rate.data());
    const double size = rows_.typical + std::sqrt(rows_.inner(theta_.data(), theta_.data()));
    for (std::size_t i = 0; i < m_; ++i) {
        residual_[i] = y_[i] - line_.rate[i];
        const bool clear = std::abs(residual_[i]) > residual_slack * (std::abs(y_[i]) + size);
        if (clear || side_[i] == 0) side_[i] = residual_[i] < 0 ? -1.0 : 1.0;
    }
    for (const std::size_t b : basis_) side_[b] = 0.0, residual_[b] = 0.0;
    for (std::size_t i = 0; i < m_; ++i) line_.rate[i] = rows_.weight[i] * side_[i];
    std::fill(line_.rate.begin() + static_cast<std::ptrdiff_t>(m_), line_.rate.end(), 0.0);
    loops_.transposed(rows_.panels, d_, rows_.x.data(), line_.rate.data(), lanes_.data(), rest_.data());
    for (std::size_t j = 0; j < d_; ++j) rest_[j] = rows_.linear[j] - rest_[j];
    loops_.inner_products(d_, d_, inverse_.data(), rest_.data(), multiplier_.data());
}

// Breaks ties by amounts that are large for rounding and small for anything else.
void Descent::perturb() {
    const double size = rows_.typical + std::sqrt(rows_.inner(theta_.data(), theta_.data()));
    scatter_targets(side_, std::max(perturbation_, 1e-10) * size, seed_, m_, y_, residual_);
    perturbed_ = true;
    perturbation_ *= 0.25, seed_ += m_;
}

// The basis row whose edge goes down most steeply, measured in predictions; d if none goes down.
std::size_t Descent::most_violated() const {
    std::size_t best = d_;
    double steepest = 0.0;
    for (std::size_t k = 0; k < d_; ++k) {
        const double weight = rows_.weight[basis_[k]], slope = std::abs(multiplier_[k]) - weight * (1.0 + multiplier_slack);
        const double rating = slope > 0 ? slope * slope / std::max(length_[k], 1e-300) : 0.0;
        if (rating > steepest) steepest = rating, best = k;
    }
    return best;
}

// Goes to the row that was met; the basis row number `leaving` stays behind on this side of zero.
void Descent::replace(std::size_t leaving, double side) {
    const double step = line_.step;
    const std::size_t out = basis_[leaving], in = line_.met[line_.passed];
    double* edge = inverse_.data() + leaving * d_;
    for (std::size_t c = 0; c < line_.passed; ++c) {
        const std::size_t i = line_.met[c];
        rows_.read_row(i, image_.data());
        loops_.add_multiple(d_, 2.0 * side_[i] * rows_.weight[i], image_.data(), rest_.data());
        side_[i] = -side_[i];
    }
    rows_.read_row(out, image_.data());
    loops_.add_multiple(d_, -side * rows_.weight[out], image_.data(), rest_.data());
    rows_.read_row(in, entering_.data());
    loops_.add_multiple(d_, side_[in] * rows_.weight[in], entering_.data(), rest_.data());

    loops_.add_multiple(m_, step, line_.rate.data(), residual_.data());
    loops_.add_multiple(d_, -side * step, edge, theta_.data());
    residual_[out] = side * step, side_[out] = side;
    residual_[in] = 0.0, side_[in] = 0.0;
    basis_[leaving] = in;

    loops_.inner_products(d_, d_, inverse_.data(), entering_.data(), pivots_.data());
    const double scale = 1.0 / pivots_[leaving];
    for (std::size_t j = 0; j < d_; ++j) edge[j] *= scale;
    length_[leaving] *= scale * scale;
    loops_.inner_products(d_, d_, rows_.gram.data(), edge, image_.data());
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
    const std::size_t limit = 2000 + m_ + 100 * d_, refactor_every = std::max<std::size_t>(60, d_);
    std::size_t since_factor = 0, standstills = 0;
    factor(), refresh();
    for (;;) {
        const std::size_t leaving = most_violated();
        if (leaving == d_ || since_factor >= refactor_every) {
            if (leaving == d_ && since_factor == 0 && !perturbed_) return;
            if (leaving == d_ && perturbed_) y_ = rows_.y, perturbed_ = false, standstills = 0;
            factor(), refresh(), since_factor = 0;
            continue;
        }
        if (vertex.pivots >= limit) {
            vertex.status = VertexStatus::pivot_limit;
            return;
        }
        const double side = multiplier_[leaving] < 0 ? -1.0 : 1.0;
        const double weight = rows_.weight[basis_[leaving]], slope = std::abs(multiplier_[leaving]) - weight;
        for (std::size_t j = 0; j < d_; ++j) edge_[j] = side * inverse_[leaving * d_ + j];
        const double slowest = slowest_pivot * std::sqrt(rows_.inner(edge_.data(), edge_.data()));
        loops_.edge(rows_.panels, d_, rows_.x.data(), edge_.data(), side_.data(), residual_.data(), slowest, line_.rate.data(),
                    line_.time.data());
        const double slack = 1e-9 * (weight + std::abs(multiplier_[leaving]));
        if (line_.run(slope, 0.0, slack, rows_.weight) == LineSearch::End::never) {
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
        const double size = rows_.typical + std::sqrt(rows_.inner(theta_.data(), theta_.data()));
        const bool stands = line_.step <= residual_slack * size;
        if (stands && ++standstills > 2 && seed_ < 40 * m_) {
            if (perturbed_) y_ = rows_.y, factor(), refresh(), since_factor = 0;
            perturb(), standstills = 0;
            continue;
        }
        const bool small = std::abs(line_.rate[line_.met[line_.passed]]) * std::sqrt(static_cast<double>(d_)) < 1e-6;
        replace(leaving, side);
        since_factor = small ? refactor_every : since_factor + 1;
        ++vertex.pivots;
    }
}

Vertex Descent::solve(const double* start) {
    basis_ = rows_.choose_basis(rows_.start(start));
    if (basis_.size() < d_) return reduced(start);
    Vertex vertex;
    descend(vertex);
    vertex.theta.resize(d_), vertex.dual.resize(m_);
    for (std::size_t j = 0; j < d_; ++j) vertex.theta[j] = theta_[j] * rows_.column[j];
    for (std::size_t i = 0; i < m_; ++i) vertex.dual[i] = rows_.problem.weight[i] * side_[i];
    for (std::size_t k = 0; k < d_; ++k) {
        const double weight = rows_.weight[basis_[k]];
        vertex.dual[basis_[k]] = std::clamp(multiplier_[k], -weight, weight) * rows_.row[basis_[k]];
    }
    vertex.basis = basis_;
    return vertex;
}

}  // namespace

Vertex absolute_vertex(const AbsoluteProblem& problem, const double* start, const AbsoluteLoops& loops) {
    return Descent(problem, loops).solve(start);
}

}  // namespace neglog

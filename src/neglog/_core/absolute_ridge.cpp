// Active sets. Given the rows A whose residuals are held at zero, and the signs of all others, the minimum solves
//   [ Q    X_A' ] [ theta ]   [ Q m - h ]
//   [ X_A  0    ] [  -u   ] = [   y_A   ]      h = g - sum over other rows  w sign(r) x
// The way there ends early where the loss turns upwards at a row, which then joins A. Once there, a row with |u| > w is let go,
// along the edge on which the equations of all others stay solved. The loss falls with every step and there are finitely many
// sets of rows and signs. The inverse of the matrix is kept, and changed when a row joins, leaves, or replaces another.

#include <algorithm>
#include <cmath>

#include "absolute_rows.hpp"
#include "absolute_start.hpp"
#include "saddle.hpp"

namespace neglog {
namespace {

constexpr double slowest_pivot = 1e-10;     // a residual that moves slower than this does not move
constexpr double multiplier_slack = 1e-10;  // rounding in multipliers, relative to the weight
constexpr double residual_slack = 1e-13;    // rounding in residuals, relative to targets and parameters
constexpr double arrived = 1e-12;           // a way this short, relative to the parameters, is rounding
constexpr double nearly_arrived = 1e-9;     // the same while the inverse is changed, not new
constexpr std::size_t wide_enough = 20;      // columns from which a whole basis is too dear

class ActiveSets {
  public:
    ActiveSets(const AbsoluteProblem& problem, const Ridge& ridge, const InstructionSet& set)
        : rows_(problem, set.absolute), set_(set), loops_(set.absolute), m_(rows_.m), d_(rows_.d), wide_(2 * d_), y_(rows_.y),
          strength_(d_), centre_(d_), target_(wide_), residual_(y_.size()), side_(y_.size()), rest_(d_), line_(m_, y_.size()),
          lanes_(8 * d_), move_(d_), row_(wide_), image_(wide_) {
        for (std::size_t j = 0; j < d_; ++j) {
            strength_[j] = ridge.strength[j] * rows_.column[j] * rows_.column[j];
            centre_[j] = ridge.centre[j] / rows_.column[j];
        }
    }

    Vertex solve(const AbsoluteStart& start);

  private:
    double* inverse(std::size_t i) { return inverse_.data() + i * wide_; }
    double multiplier(std::size_t k) const { return -target_[d_ + k]; }
    bool begin_near(const AbsoluteStart& start);
    bool factor();
    void aim();
    void refresh();
    void perturb();
    std::size_t most_violated();
    void straighten(std::size_t leaving, double rate);
    LineSearch::End search(double slope, double curvature, double slack);
    void cross();
    void join(std::size_t row);
    void leave(std::size_t k);
    void replace(std::size_t k, std::size_t row);
    bool way_to_target();
    VertexStatus descend(std::size_t& steps);  // from the rows whose equations are factored

    ScaledRows rows_;
    const InstructionSet& set_;
    const AbsoluteLoops& loops_;
    const std::size_t m_, d_, wide_;
    Numbers y_;  // the targets, moved while ties are being broken
    Numbers strength_, centre_;
    Indices active_;
    Numbers inverse_;  // symmetric, of d + active rows
    Numbers theta_, target_;
    Numbers residual_, side_, rest_;
    LineSearch line_;
    Numbers lanes_, move_, row_, image_;
    std::size_t since_factor_ = 0;
    bool perturbed_ = false;
    double perturbation_ = 1e-7;
    std::uint64_t seed_ = 0;
};

// The inverse anew. False if there is none.
bool ActiveSets::factor() {
    Numbers held(active_.size() * d_);
    for (std::size_t k = 0; k < active_.size(); ++k) rows_.read_row(active_[k], held.data() + k * d_);
    since_factor_ = 0;
    return saddle_inverse(set_, {strength_, held}, inverse_.data(), wide_);
}

// Where the equations point; refined while the inverse is new.
void ActiveSets::aim() {
    const std::size_t n = d_ + active_.size();
    std::fill(target_.begin(), target_.end(), 0.0);
    for (int refinement = 0; refinement < (since_factor_ == 0 ? 3 : 1); ++refinement) {
        for (std::size_t j = 0; j < d_; ++j) image_[j] = strength_[j] * (centre_[j] - target_[j]) - rest_[j];
        for (std::size_t k = 0; k < active_.size(); ++k) {
            rows_.read_row(active_[k], row_.data());
            image_[d_ + k] = y_[active_[k]] - rows_.inner(row_.data(), target_.data());
            loops_.add_multiple(d_, -target_[d_ + k], row_.data(), image_.data());
        }
        for (std::size_t i = 0; i < n; ++i) loops_.add_multiple(n, image_[i], inverse(i), target_.data());
    }
}

// Puts theta back on the active rows; residuals, sides and their sum anew.
void ActiveSets::refresh() {
    for (int refinement = 0; refinement < 2; ++refinement) {
        for (std::size_t k = 0; k < active_.size(); ++k) {
            rows_.read_row(active_[k], row_.data());
            image_[k] = y_[active_[k]] - rows_.inner(row_.data(), theta_.data());
        }
        for (std::size_t k = 0; k < active_.size(); ++k) loops_.add_multiple(d_, image_[k], inverse(d_ + k), theta_.data());
    }
    loops_.times(rows_.panels, d_, rows_.x.data(), theta_.data(), line_.rate.data());
    const double size = rows_.typical + std::sqrt(rows_.inner(theta_.data(), theta_.data()));
    for (std::size_t i = 0; i < m_; ++i) {
        residual_[i] = y_[i] - line_.rate[i];
        const bool clear = std::abs(residual_[i]) > residual_slack * (std::abs(y_[i]) + size);
        if (clear || side_[i] == 0) side_[i] = residual_[i] < 0 ? -1.0 : 1.0;
    }
    for (const std::size_t b : active_) side_[b] = 0.0, residual_[b] = 0.0;
    for (std::size_t i = 0; i < m_; ++i) line_.rate[i] = rows_.weight[i] * side_[i];
    std::fill(line_.rate.begin() + static_cast<std::ptrdiff_t>(m_), line_.rate.end(), 0.0);
    loops_.transposed(rows_.panels, d_, rows_.x.data(), line_.rate.data(), lanes_.data(), rest_.data());
    for (std::size_t j = 0; j < d_; ++j) rest_[j] = rows_.linear[j] - rest_[j];
}

// Breaks ties by amounts that are large for rounding and small for anything else.
void ActiveSets::perturb() {
    const double size = rows_.typical + std::sqrt(rows_.inner(theta_.data(), theta_.data()));
    scatter_targets(side_, std::max(perturbation_, 1e-10) * size, seed_, m_, y_, residual_);
    perturbed_ = true;
    perturbation_ *= 0.25, seed_ += m_;
}

// The active row whose edge goes down most steeply; their number if none goes down.
std::size_t ActiveSets::most_violated() {
    std::size_t best = active_.size();
    double steepest = 0.0;
    for (std::size_t k = 0; k < active_.size(); ++k) {
        const double slope = std::abs(multiplier(k)) - rows_.weight[active_[k]] * (1.0 + multiplier_slack);
        if (!(slope > 0)) continue;
        double length = 1e-300;
        const double* edge = inverse(d_ + k);
        for (std::size_t j = 0; j < d_; ++j) length += rows_.squares[j] * edge[j] * edge[j];
        if (slope * slope / length > steepest) steepest = slope * slope / length, best = k;
    }
    return best;
}

// Makes move keep the active rows at zero, but for `leaving`, to the last digit: a copy of one of them must not seem to move.
void ActiveSets::straighten(std::size_t leaving, double rate) {
    for (std::size_t k = 0; k < active_.size(); ++k) {
        rows_.read_row(active_[k], row_.data());
        image_[k] = (k == leaving ? rate : 0.0) - rows_.inner(row_.data(), move_.data());
    }
    for (std::size_t k = 0; k < active_.size(); ++k) loops_.add_multiple(d_, image_[k], inverse(d_ + k), move_.data());
}

// The line theta + t move.
LineSearch::End ActiveSets::search(double slope, double curvature, double slack) {
    for (std::size_t j = 0; j < d_; ++j) image_[j] = -move_[j];
    const double slowest = slowest_pivot * std::sqrt(rows_.inner(move_.data(), move_.data()));
    loops_.edge(rows_.panels, d_, rows_.x.data(), image_.data(), side_.data(), residual_.data(), slowest, line_.rate.data(),
                line_.time.data());
    return line_.run(slope, curvature, slack, rows_.weight);
}

// Goes to the end of the line; the rows passed change sides.
void ActiveSets::cross() {
    for (std::size_t c = 0; c < line_.passed; ++c) {
        const std::size_t i = line_.met[c];
        rows_.read_row(i, row_.data());
        loops_.add_multiple(d_, 2.0 * side_[i] * rows_.weight[i], row_.data(), rest_.data());
        side_[i] = -side_[i];
    }
    loops_.add_multiple(m_, line_.step, line_.rate.data(), residual_.data());
    loops_.add_multiple(d_, line_.step, move_.data(), theta_.data());
}

void ActiveSets::join(std::size_t i) {
    const std::size_t n = d_ + active_.size();
    rows_.read_row(i, row_.data());
    loops_.add_multiple(d_, side_[i] * rows_.weight[i], row_.data(), rest_.data());
    side_[i] = 0.0, residual_[i] = 0.0;
    std::fill(image_.begin(), image_.end(), 0.0);
    for (std::size_t j = 0; j < d_; ++j) loops_.add_multiple(n, row_[j], inverse(j), image_.data());
    const double scale = -1.0 / rows_.inner(row_.data(), image_.data());
    for (std::size_t k = 0; k < n; ++k) loops_.add_multiple(n, scale * image_[k], image_.data(), inverse(k));
    for (std::size_t k = 0; k < n; ++k) inverse(k)[n] = inverse(n)[k] = -scale * image_[k];
    inverse(n)[n] = scale;
    active_.push_back(i);
}

void ActiveSets::leave(std::size_t k) {
    const std::size_t n = d_ + active_.size(), p = d_ + k, last = n - 1;
    const std::size_t out = active_[k];
    rows_.read_row(out, row_.data());
    loops_.add_multiple(d_, -side_[out] * rows_.weight[out], row_.data(), rest_.data());
    std::copy_n(inverse(p), n, image_.data());
    const double scale = -1.0 / image_[p];
    for (std::size_t i = 0; i < n; ++i) loops_.add_multiple(n, scale * image_[i], image_.data(), inverse(i));
    // The last one takes its place.
    std::copy_n(inverse(last), n, inverse(p));
    for (std::size_t i = 0; i < n; ++i) inverse(i)[p] = inverse(i)[last];
    active_[k] = active_.back();
    active_.pop_back();
}

// A symmetric change of rank two, well-posed whenever the residual of the new row moves along the edge of the old one.
void ActiveSets::replace(std::size_t k, std::size_t in) {
    const std::size_t n = d_ + active_.size(), p = d_ + k, out = active_[k];
    rows_.read_row(out, row_.data());
    loops_.add_multiple(d_, -side_[out] * rows_.weight[out], row_.data(), rest_.data());
    rows_.read_row(in, row_.data());
    loops_.add_multiple(d_, side_[in] * rows_.weight[in], row_.data(), rest_.data());
    side_[in] = 0.0, residual_[in] = 0.0;
    active_[k] = in;

    std::fill(image_.begin(), image_.end(), 0.0);
    for (std::size_t j = 0; j < d_; ++j) loops_.add_multiple(n, row_[j], inverse(j), image_.data());
    const Numbers old(inverse(p), inverse(p) + n);
    const double length = rows_.inner(row_.data(), image_.data()), pivot = image_[p], bend = old[p];
    const double determinant = bend * length - pivot * pivot;
    image_[p] -= 1.0;
    for (std::size_t i = 0; i < n; ++i) {
        loops_.add_multiple(n, -(length * old[i] - pivot * image_[i]) / determinant, old.data(), inverse(i));
        loops_.add_multiple(n, -(bend * image_[i] - pivot * old[i]) / determinant, image_.data(), inverse(i));
    }
}

// move := the way to the target; false if it is there.
bool ActiveSets::way_to_target() {
    double way = 0.0, size = 0.0;
    for (std::size_t j = 0; j < d_; ++j) {
        move_[j] = target_[j] - theta_[j];
        way += move_[j] * move_[j], size += target_[j] * target_[j];
    }
    const double rounding = since_factor_ == 0 ? arrived : nearly_arrived;
    return way > rounding * rounding * size;
}

VertexStatus ActiveSets::descend(std::size_t& steps) {
    const std::size_t limit = 2000 + m_ + 100 * d_, refactor_every = std::max<std::size_t>(50, d_);
    std::size_t standstills = 0, unsettled = 0;
    bool there = false;  // the last step went all the way to the target
    refresh();
    for (;; ++steps) {
        if (steps >= limit) return VertexStatus::pivot_limit;
        aim();
        const bool on_the_way = !there && active_.size() < d_ && way_to_target();
        there = false;
        const std::size_t leaving = on_the_way ? active_.size() : most_violated();
        const bool settled = !on_the_way && leaving == active_.size();
        if (settled && since_factor_ == 0 && !perturbed_) {
            std::copy_n(target_.begin(), d_, theta_.begin());
            return VertexStatus::optimal;
        }
        if (settled || since_factor_ >= refactor_every) {
            if (settled && perturbed_) y_ = rows_.y, perturbed_ = false, standstills = 0;
            if (!factor()) return VertexStatus::pivot_limit;
            refresh();
            continue;
        }
        LineSearch::End end;
        if (on_the_way) {
            double bend = 0.0;
            straighten(active_.size(), 0.0);
            for (std::size_t j = 0; j < d_; ++j) bend += strength_[j] * move_[j] * move_[j];
            end = unsettled < 30 ? search(bend, bend, 0.0) : search(1e-300, 0.0, 0.0);
            // One way in many may pass row after row without joining any: then it ends at the first.
            if (end == LineSearch::End::never || (unsettled >= 30 && line_.step >= 1.0))
                line_.passed = 0, line_.step = 1.0, end = LineSearch::End::between_rows;
            unsettled = end == LineSearch::End::between_rows && line_.passed > 0 ? unsettled + 1 : 0;
        } else {
            unsettled = 0;
            const double side = multiplier(leaving) < 0 ? -1.0 : 1.0, weight = rows_.weight[active_[leaving]];
            double bend = 0.0;
            for (std::size_t j = 0; j < d_; ++j) move_[j] = -side * inverse(d_ + leaving)[j];
            straighten(leaving, -side);
            for (std::size_t j = 0; j < d_; ++j) bend += strength_[j] * move_[j] * move_[j];
            if (since_factor_ > 0 && std::abs(bend + inverse(d_ + leaving)[d_ + leaving]) > 1e-6 * bend) {
                since_factor_ = refactor_every;  // the inverse has lost this edge
                continue;
            }
            end = search(std::abs(multiplier(leaving)) - weight, bend, 1e-9 * (weight + std::abs(multiplier(leaving))));
            if (end == LineSearch::End::never) {
                if (since_factor_ == 0) return VertexStatus::unbounded;
                since_factor_ = refactor_every;
                continue;
            }
        }
        const double way = on_the_way ? line_.step * std::sqrt(rows_.inner(move_.data(), move_.data())) : line_.step;
        const bool stands = way <= residual_slack * (rows_.typical + std::sqrt(rows_.inner(theta_.data(), theta_.data())));
        if (stands && ++standstills > 2 && seed_ < 40 * m_) {
            if (perturbed_) {
                y_ = rows_.y;
                if (!factor()) return VertexStatus::pivot_limit;
                refresh();
            }
            perturb(), standstills = 0;
            continue;
        }
        const bool at_a_row = end == LineSearch::End::at_a_row;
        there = on_the_way && !at_a_row && line_.passed == 0;
        const std::size_t in = at_a_row ? line_.met[line_.passed] : m_;
        const bool small = at_a_row && std::abs(line_.rate[in]) < 1e-6;
        if (!on_the_way) side_[active_[leaving]] = multiplier(leaving) < 0 ? -1.0 : 1.0;
        cross();
        if (on_the_way && at_a_row) join(in);
        if (!on_the_way) {
            residual_[active_[leaving]] = side_[active_[leaving]] * line_.step;
            if (at_a_row)
                replace(leaving, in);
            else
                leave(leaving);
        }
        if (at_a_row || !on_the_way) since_factor_ = small ? refactor_every : since_factor_ + 1;
    }
}

// Holds the rows of another solution, or a few that a rough one suggests: a whole basis costs more to choose than to find, unless
// there are few columns. False if their equations have no solution.
bool ActiveSets::begin_near(const AbsoluteStart& start) {
    const bool known = start.theta && !start.active.empty();
    if (!known && (d_ < wide_enough || m_ == 0)) return false;
    rows_.measure_columns();
    if (known) {
        theta_ = rows_.scaled(start.theta);
        active_.assign(start.active.begin(), start.active.end());
    } else {
        RidgeStart rough = smoothed_start(rows_, strength_, centre_, start.theta, set_);
        theta_ = std::move(rough.theta), active_ = std::move(rough.active);
    }
    return factor();
}

Vertex ActiveSets::solve(const AbsoluteStart& start) {
    inverse_.assign(wide_ * wide_, 0.0);
    Vertex vertex;
    const bool begun = begin_near(start);
    if (begun) vertex.status = descend(vertex.pivots);
    if (!begun || vertex.status == VertexStatus::pivot_limit) {
        y_ = rows_.y, perturbed_ = false;
        std::fill(side_.begin(), side_.end(), 0.0);
        theta_ = rows_.start(start.theta);
        active_ = rows_.choose_basis(theta_);
        std::size_t more = 0;
        vertex.status = factor() ? descend(more) : VertexStatus::rank_deficient;
        vertex.pivots += more;
    }
    vertex.theta.resize(d_), vertex.dual.resize(m_);
    for (std::size_t j = 0; j < d_; ++j) vertex.theta[j] = theta_[j] * rows_.column[j];
    for (std::size_t i = 0; i < m_; ++i) vertex.dual[i] = rows_.problem.weight[i] * side_[i];
    for (std::size_t k = 0; k < active_.size(); ++k) {
        const double weight = rows_.weight[active_[k]];
        vertex.dual[active_[k]] = std::clamp(multiplier(k), -weight, weight) * rows_.row[active_[k]];
    }
    vertex.basis = active_;
    return vertex;
}

}  // namespace

Vertex absolute_ridge(const AbsoluteProblem& problem, const Ridge& ridge, const AbsoluteStart& start, const InstructionSet& set) {
    return ActiveSets(problem, ridge, set).solve(start);
}

}  // namespace neglog

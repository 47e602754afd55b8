#include "groups.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "parts.hpp"
#include "small_factor.hpp"

namespace neglog {
namespace {

constexpr std::size_t at_once = 256;         // rows of a panel
constexpr std::size_t groups_at_once = 16;   // that a thread takes
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double singular = 1e-11;

std::size_t whole_vectors(std::size_t n) { return (n + 7) / 8 * 8; }

double sum(std::size_t n, const double* x) {  // n is a multiple of eight
    double lane[8] = {};
    for (std::size_t i = 0; i < n; i += 8)
        for (std::size_t k = 0; k < 8; ++k) lane[k] += x[i + k];
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

void multiply(std::size_t n, const double* by, double* x) {
    for (std::size_t i = 0; i < n; ++i) x[i] *= by[i];
}

// One thread's room, and what it does to one group after the other.
class Group {
  public:
    explicit Group(const GroupQuestion& question)
        : q_(question), set_(question.set), table_(question.table), pass_(question.pass), all_(table_.columns(false)),
          open_(pass_.open.size()), recentred_(table_.intercept && q_.bend[0] == 0 && !q_.unit), place_(all_), middle_(all_),
          parameters_(std::max(pass_.parameters.size(), ParameterBlocks::least)) {
        for (std::size_t b = 0, first = table_.panel_columns(false); b < table_.codes.size(); ++b) {
            first_levels_.push_back(first);
            first += table_.codes[b].columns;
        }
        counts_.assign(all_, 0);
    }

    std::size_t rows() const { return rows_; }
    std::size_t width() const { return own_.size() + open_; }

    // Gathers the rows of a group, of the columns that vary among them.
    void take(std::size_t g) {
        begin_ = static_cast<std::size_t>(q_.rows.starts[g]);
        rows_ = static_cast<std::size_t>(q_.rows.starts[g + 1]) - begin_;
        padded_ = rows_ / at_once * at_once + whole_vectors(rows_ % at_once);
        own_.clear();
        std::fill(place_.begin(), place_.end(), nowhere);
        std::fill(middle_.begin(), middle_.end(), 0.0);
        panels_.resize(std::max(panels_.size(), padded_ * table_.panel_columns(false)));
        take_numbers();
        take_levels();
        take_source(pass_.y, 0.0, y_);
        take_source(pass_.offset, 0.0, offset_);
        if (pass_.weight.data) take_source(pass_.weight, 1.0, weight_);
        for (std::size_t k = 0; k < parameters_.size(); ++k)
            take_source(k < pass_.parameters.size() ? pass_.parameters[k] : Source{}, 0.0, parameters_[k]);
        make_room();
    }

    // From coefficients of the columns as they are to those of this group's, and back.
    void enter(const double* theta, double* own) const {
        for (std::size_t k = 0; k < own_.size(); ++k) own[k] = theta[own_[k]];
        for (std::size_t j = 0; j < open_; ++j) own[own_.size() + j] = theta[all_ + j];
        if (recentred_)
            for (std::size_t j = 1; j < all_; ++j) own[0] += middle_[j] * theta[j];
    }
    void leave(const double* own, double* theta) const {
        for (std::size_t j = 0; j < all_; ++j) theta[j] = varies(j) ? own[place_[j]] : q_.unit ? 0.0 : q_.centre[j];
        for (std::size_t j = 0; j < open_; ++j) theta[all_ + j] = own[own_.size() + j];
        if (recentred_)
            for (std::size_t j = 1; j < all_; ++j) theta[0] -= middle_[j] * theta[j];
    }

    // The objective at coefficients of this group's columns; without a Hessian only its value and gradient.
    double evaluate(const double* theta, double* gradient, double* hessian, bool guide) {
        const std::size_t d = own_.size(), n = width();
        std::fill_n(gradient, n, 0.0);
        if (hessian) std::fill_n(hessian, n * n, 0.0);
        for (std::size_t j = 0; j < open_; ++j)
            if (const double v = theta[d + j]; !(v > q_.ends[j].low && v < q_.ends[j].high)) return infinity;
        double value = 0.0;
        for (std::size_t begin = 0; begin < rows_; begin += at_once) {
            const std::size_t rows = std::min(at_once, rows_ - begin), stride = whole_vectors(rows);
            const double* panel = panels_.data() + begin * d;
            std::copy_n(offset_.data() + begin, stride, eta_.data());
            set_.multiply(stride, d, stride, panel, coefficients_of(theta), eta_.data());
            value += pass_.joint ? add_joint(begin, rows, stride, panel, theta + d, gradient, hessian, guide)
                                 : add_loss(begin, rows, stride, panel, gradient, hessian, guide);
        }
        value *= q_.factor;
        for (std::size_t k = 0; k < n; ++k) {
            gradient[k] *= q_.factor;
            for (std::size_t l = 0; hessian && l <= k; ++l) hessian[k * n + l] *= q_.factor;
        }
        if (q_.unit) return value + turn_to_units(theta, gradient, hessian);
        for (std::size_t k = 0; k < d; ++k) {
            const double bend = q_.bend[own_[k]], away = theta[k] - q_.centre[own_[k]];
            value += 0.5 * bend * away * away;
            gradient[k] += bend * away;
            if (hessian) hessian[k * (n + 1)] += bend;
        }
        return value;
    }

    // The slopes of value + log determinant / 2 in centres and units, of which theta is a function, where the objective was last
    // evaluated. How the curvature of a row changes with its prediction is a difference.
    void add_slopes(const double* theta, const SmallFactor& factor, double* slopes) {
        constexpr double step = 1e-4;
        const std::size_t d = own_.size();
        inverse_.assign(d * d, 0.0), weights_.resize(4 * padded_ + 4 * d);
        double *form = weights_.data(), *along = form + padded_, *up = along + padded_, *down = up + padded_;
        double *turn = down + padded_, *moved = turn + d, *pull = moved + d, *unit = pull + d;
        for (std::size_t k = 0; k < d; ++k) {
            inverse_[k * (d + 1)] = 1.0;
            factor.solve(inverse_.data() + k * d, inverse_.data() + k * d);
            unit[k] = q_.unit[own_[k]], turn[k] = 0.0;
        }
        for (std::size_t begin = 0; begin < rows_; begin += at_once) {
            const std::size_t rows = std::min(at_once, rows_ - begin), stride = whole_vectors(rows);
            const double* panel = panels_.data() + begin * d;
            std::fill_n(form, stride, 0.0);
            for (std::size_t k = 0; k < d; ++k) {
                for (std::size_t l = 0; l < d; ++l) moved[l] = inverse_[k * d + l] * unit[k] * unit[l];
                std::fill_n(along, stride, 0.0);
                set_.multiply(stride, d, stride, panel, moved, along);
                for (std::size_t i = 0; i < stride; ++i) form[i] += along[i] * panel[k * stride + i];
            }
            std::copy_n(offset_.data() + begin, stride, eta_.data());
            set_.multiply(stride, d, stride, panel, coefficients_of(theta), eta_.data());
            std::copy_n(eta_.data(), stride, along);
            bends(begin, rows, stride, up);
            for (std::size_t i = 0; i < rows; ++i) down[i] = step * std::min(1.0, 1.0 / std::sqrt(std::abs(up[i])));
            for (std::size_t i = 0; i < rows; ++i) eta_[i] = along[i] + down[i];
            bends(begin, rows, stride, up);
            for (std::size_t i = 0; i < rows; ++i) up[i] /= 2.0 * down[i], eta_[i] = along[i] - down[i];
            std::copy_n(down, rows, along);
            bends(begin, rows, stride, down);
            for (std::size_t i = 0; i < rows; ++i) form[i] *= up[i] - down[i] / (2.0 * along[i]);
            weigh(begin, rows, stride, form);
            set_.multiply_transposed(stride, d, stride, panel, form, turn);
        }
        for (std::size_t k = 0; k < d; ++k) moved[k] = unit[k] * (turn[k] *= q_.factor);
        factor.solve(moved, moved);
        for (std::size_t k = 0; k < d; ++k) {
            pull[k] = turn[k];
            for (std::size_t l = 0; l < d; ++l) pull[k] -= whole_gram(k, l) * unit[l] * moved[l];
        }
        for (std::size_t k = 0; k < d; ++k) {
            double own = 0.0;
            for (std::size_t l = 0; l < d; ++l) own += whole_gram(k, l) * unit[l] * inverse_[l * d + k];
            slopes[own_[k]] = plain_gradient_[k] + 0.5 * pull[k];
            slopes[all_ + own_[k]] = plain_gradient_[k] * theta[k] + own + 0.5 * (theta[k] * pull[k] - moved[k] * plain_gradient_[k]);
        }
    }

    // The nll of the rows at the other raw parameters, the coefficients' part being what it is.
    double nll(const double* theta) {
        const std::size_t d = own_.size();
        for (std::size_t j = 0; j < open_; ++j)
            if (const double v = theta[d + j]; !(v > q_.ends[j].low && v < q_.ends[j].high)) return infinity;
        double value = 0.0;
        for (std::size_t begin = 0; begin < rows_; begin += at_once) {
            const std::size_t rows = std::min(at_once, rows_ - begin), stride = whole_vectors(rows);
            std::copy_n(offset_.data() + begin, stride, eta_.data());
            set_.multiply(stride, d, stride, panels_.data() + begin * d, theta, eta_.data());
            joint_rows(pass_.kernel->joint.slopes, begin, rows, stride, theta + d);
            value += sum(stride, value_.data());
        }
        return value;
    }

    // The intercept where the targets are, from which one step leads to the minimum of squares without losing digits.
    void begin_at_middle(double* own) const {
        if (!recentred_) return;
        double total = 0.0;
        for (std::size_t i = 0; i < rows_; ++i) total += y_[i] - offset_[i];
        own[0] = total / static_cast<double>(rows_);
    }

    double largest() const {
        double most = 0.0;
        for (std::size_t i = 0; i < rows_; ++i) most = std::max(most, std::abs(y_[i]));
        return most;
    }
    bool varies(std::size_t column) const { return place_[column] != nowhere; }
    std::size_t columns() const { return all_; }
    std::size_t place(std::size_t column) const { return place_[column]; }
    double middle(std::size_t column) const { return recentred_ ? middle_[column] : 0.0; }

  private:
    // The coefficients at theta.
    const double* coefficients_of(const double* theta) {
        if (!q_.unit) return theta;
        coefficients_.resize(std::max(coefficients_.size(), own_.size()));
        for (std::size_t k = 0; k < own_.size(); ++k) coefficients_[k] = q_.centre[own_[k]] + q_.unit[own_[k]] * theta[k];
        return coefficients_.data();
    }

    // The chain rule from coefficients to what they are in units, whose squares have their part; the former is kept.
    double turn_to_units(const double* theta, double* gradient, double* hessian) {
        const std::size_t d = own_.size();
        double value = 0.0;
        plain_gradient_.assign(gradient, gradient + d);
        if (hessian) plain_gram_.assign(hessian, hessian + d * d);
        for (std::size_t k = 0; k < d; ++k) {
            const double unit = q_.unit[own_[k]];
            value += 0.5 * theta[k] * theta[k];
            gradient[k] = unit * gradient[k] + theta[k];
            for (std::size_t l = 0; hessian && l <= k; ++l) hessian[k * d + l] *= unit * q_.unit[own_[l]];
            if (hessian) hessian[k * (d + 1)] += 1.0;
        }
        return value;
    }

    double whole_gram(std::size_t k, std::size_t l) const { return plain_gram_[std::max(k, l) * own_.size() + std::min(k, l)]; }

    // Second derivatives of the rows at the raw predictions where they stand.
    void bends(std::size_t begin, std::size_t rows, std::size_t stride, double* out) {
        if (pass_.joint) {
            joint_rows(pass_.kernel->joint.curvatures, begin, rows, stride, nullptr);
        } else {
            const double* parameters[most_parameters];
            for (std::size_t k = 0; k < parameters_.size(); ++k) parameters[k] = parameters_[k].data() + begin;
            pass_.kernel->observed_loss(rows, y_.data() + begin, eta_.data(), parameters, value_.data(), slopes_.data(), bends_.data());
        }
        std::copy_n(bends_.data(), rows, out);
    }

    static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

    std::size_t row(std::size_t i) const { return q_.rows.order ? static_cast<std::size_t>(q_.rows.order[begin_ + i]) : begin_ + i; }

    void take_numbers() {
        gathered_.resize(std::max(gathered_.size(), padded_));
        if (table_.intercept) {
            std::fill_n(gathered_.data(), rows_, 1.0);
            keep(0);
        }
        std::size_t column = table_.intercept ? 1 : 0;
        for (const DenseBlock& block : table_.dense)
            for (std::size_t j = 0; j < block.columns; ++j, ++column) {
                const auto across = static_cast<std::ptrdiff_t>(j) * block.column_stride;
                if (block.single_precision)
                    gather(static_cast<const float*>(block.data) + across, block.row_stride);
                else
                    gather(static_cast<const double*>(block.data) + across, block.row_stride);
                if (place_numbers(column)) keep(column);
            }
    }

    template <class Number>
    void gather(const Number* from, std::ptrdiff_t stride) {
        double* to = gathered_.data();
        if (!q_.rows.order) {
            const Number* first = from + static_cast<std::ptrdiff_t>(begin_) * stride;
            for (std::size_t i = 0; i < rows_; ++i) to[i] = static_cast<double>(first[static_cast<std::ptrdiff_t>(i) * stride]);
            return;
        }
        const std::int64_t* order = q_.rows.order + begin_;
        for (std::size_t i = 0; i < rows_; ++i) to[i] = static_cast<double>(from[order[i] * stride]);
    }

    // Less their middle, which keeps them small, where an intercept takes it up. False where they do not vary.
    bool place_numbers(std::size_t column) {
        double* x = gathered_.data();
        double total = 0.0;
        bool alike = true;
        for (std::size_t i = 0; i < rows_; ++i) total += x[i], alike &= x[i] == x[0];
        if (!recentred_) return !alike || x[0] != 0;
        const double middle = alike ? x[0] : total / static_cast<double>(rows_);
        middle_[column] = middle;
        for (std::size_t i = 0; i < rows_; ++i) x[i] -= middle;
        return !alike;
    }

    // What was gathered becomes the next column of the panels.
    void keep(std::size_t column) {
        const std::size_t k = own_.size();
        place_[column] = k;
        own_.push_back(column);
        columns_.resize(std::max(columns_.size(), (k + 1) * padded_));
        double* to = columns_.data() + k * padded_;
        std::copy_n(gathered_.data(), rows_, to);
        std::fill(to + rows_, to + padded_, 0.0);
    }

    void take_levels() {
        for (std::size_t b = 0; b < table_.codes.size(); ++b) {
            const CodesBlock& block = table_.codes[b];
            std::size_t* counts = counts_.data() + first_levels_[b];
            for (std::size_t i = 0; i < rows_; ++i)
                if (const std::int32_t level = block.codes[row(i)] - block.first; level >= 0) ++counts[level];
            for (std::size_t level = 0; level < block.columns; ++level) {
                const std::size_t column = first_levels_[b] + level, count = counts[level];
                counts[level] = 0;
                const bool everywhere = count == rows_ && recentred_;
                if (everywhere) middle_[column] = 1.0;
                if (count == 0 || everywhere) continue;
                for (std::size_t i = 0; i < rows_; ++i)
                    gathered_[i] = block.codes[row(i)] - block.first == static_cast<std::int32_t>(level);
                keep(column);
            }
        }
    }

    void take_source(const Source& source, double otherwise, std::vector<double>& to) {
        to.resize(std::max(to.size(), padded_));
        double last = otherwise;
        if (!source.data || source.constant) {
            if (source.data)
                last = source.single_precision ? *static_cast<const float*>(source.data) : *static_cast<const double*>(source.data);
            std::fill_n(to.data(), rows_, last);
        } else if (source.single_precision) {
            for (std::size_t i = 0; i < rows_; ++i) to[i] = static_cast<const float*>(source.data)[row(i)];
        } else {
            for (std::size_t i = 0; i < rows_; ++i) to[i] = static_cast<const double*>(source.data)[row(i)];
        }
        std::fill(to.begin() + static_cast<std::ptrdiff_t>(rows_), to.begin() + static_cast<std::ptrdiff_t>(padded_), 0.0);
    }

    // Columns one after the other become panels of as many rows as are gone through at once.
    void make_room() {
        const std::size_t d = own_.size(), most = std::min(padded_, at_once);
        if (padded_ <= at_once) {
            panels_.swap(columns_);
        } else {
            panels_.resize(std::max(panels_.size(), padded_ * d));
            for (std::size_t begin = 0; begin < padded_; begin += at_once) {
                const std::size_t stride = std::min(at_once, padded_ - begin);
                for (std::size_t k = 0; k < d; ++k)
                    std::copy_n(columns_.data() + k * padded_ + begin, stride, panels_.data() + begin * d + k * stride);
            }
        }
        const auto fit = [most](std::vector<double>& room, std::size_t columns) { room.resize(std::max(room.size(), columns * most)); };
        fit(eta_, 1), fit(room_, 4);
        if (!pass_.joint) return fit(value_, 1), fit(slopes_, 1), fit(bends_, 1);
        const std::size_t variables = pass_.kernel->joint.variables;
        fit(value_, 1), fit(slopes_, variables), fit(bends_, variables * (variables + 1) / 2), fit(raw_, std::max<std::size_t>(open_, 1));
    }

    double add_loss(std::size_t begin, std::size_t rows, std::size_t stride, const double* panel, double* gradient, double* hessian,
                    bool guide) {
        const double* parameters[most_parameters];
        for (std::size_t k = 0; k < parameters_.size(); ++k) parameters[k] = parameters_[k].data() + begin;
        const LossLoop loop = guide ? pass_.kernel->guide_loss : pass_.kernel->observed_loss;
        loop(rows, y_.data() + begin, eta_.data(), parameters, value_.data(), slopes_.data(), bends_.data());
        for (std::vector<double>* one : {&value_, &slopes_, &bends_}) weigh(begin, rows, stride, one->data());
        const std::size_t d = own_.size();
        set_.multiply_transposed(stride, d, stride, panel, slopes_.data(), gradient);
        if (hessian) set_.add_gram(stride, d, panel, bends_.data(), hessian, d, room_.data());
        return sum(stride, value_.data());
    }

    void joint_rows(JointLoop loop, std::size_t begin, std::size_t rows, std::size_t stride, const double* v) {
        const double* raw[most_parameters];
        for (std::size_t k = 0; k < parameters_.size(); ++k) raw[k] = parameters_[k].data() + begin;
        for (std::size_t j = 0; j < open_; ++j) {
            const double* shift = raw[pass_.open[j]];
            double* to = raw_.data() + j * stride;
            for (std::size_t i = 0; i < rows; ++i) to[i] = shift[i] + v[j];
            raw[pass_.open[j]] = to;
        }
        loop(rows, stride, y_.data() + begin, eta_.data(), raw, value_.data(), slopes_.data(), bends_.data());
        weigh(begin, rows, stride, value_.data());
    }

    double add_joint(std::size_t begin, std::size_t rows, std::size_t stride, const double* panel, const double* v, double* gradient,
                     double* hessian, bool guide) {
        const JointLoops& loops = pass_.kernel->joint;
        joint_rows(!hessian ? loops.slopes : guide ? loops.guide : loops.curvatures, begin, rows, stride, v);
        const std::size_t d = own_.size(), n = width(), variables = loops.variables;
        for (std::size_t k = 0; k < variables; ++k) weigh(begin, rows, stride, slopes_.data() + k * stride);
        set_.multiply_transposed(stride, d, stride, panel, slopes_.data(), gradient);
        for (std::size_t j = 0; j < open_; ++j) gradient[d + j] += sum(stride, slopes_.data() + (1 + pass_.open[j]) * stride);
        if (hessian) {
            for (std::size_t k = 0; k < variables * (variables + 1) / 2; ++k) weigh(begin, rows, stride, bends_.data() + k * stride);
            set_.add_gram(stride, d, panel, bends_.data(), hessian, n, room_.data());
            for (std::size_t j = 0; j < open_; ++j) {
                double* border = hessian + (d + j) * n;
                const std::size_t own = 1 + pass_.open[j];
                set_.multiply_transposed(stride, d, stride, panel, bends_.data() + own * (own + 1) / 2 * stride, border);
                for (std::size_t l = 0; l <= j; ++l) {
                    const std::size_t a = std::max(own, 1 + pass_.open[l]), b = std::min(own, 1 + pass_.open[l]);
                    border[d + l] += sum(stride, bends_.data() + (a * (a + 1) / 2 + b) * stride);
                }
            }
        }
        return sum(stride, value_.data());
    }

    void weigh(std::size_t begin, std::size_t rows, std::size_t stride, double* x) {
        if (pass_.weight.data) multiply(rows, weight_.data() + begin, x);
        std::fill(x + rows, x + stride, 0.0);
    }

    const GroupQuestion& q_;
    const InstructionSet& set_;
    const Table& table_;
    const Pass& pass_;
    std::size_t all_, open_, begin_ = 0, rows_ = 0, padded_ = 0;
    bool recentred_;
    std::vector<std::size_t> own_, place_, first_levels_, counts_;  // the columns that vary, and where each of all is among them
    std::vector<double> middle_;
    std::vector<double> gathered_, columns_, panels_, y_, offset_, weight_, eta_, value_, slopes_, bends_, room_, raw_;
    std::vector<double> coefficients_, plain_gradient_, plain_gram_, inverse_, weights_;  // where there are units
    std::vector<std::vector<double>> parameters_;
};

// Newton's method for one group after the other.
class Newton {
  public:
    Newton(const GroupQuestion& question, const GroupSearch& search) : q_(question), search_(search), group_(question) {}

    void solve(std::size_t g) {
        const std::size_t all = q_.pass.width(q_.table);
        double* theta = search_.theta + g * all;
        if (q_.rows.starts[g] == q_.rows.starts[g + 1]) {
            std::fill_n(search_.held + g * all, all, std::uint8_t{0});
            search_.largest[g] = 0.0;
            return end(g, GroupEnd::no_number, 0, NAN, infinity);
        }
        group_.take(g);
        const std::size_t n = group_.width();
        for (std::vector<double>* one : {&here_, &trial_, &step_, &gradient_}) one->resize(std::max(one->size(), n));
        hessian_.resize(std::max(hessian_.size(), n * n));
        std::fill_n(search_.held + g * all, all, std::uint8_t{0});
        for (std::size_t j = 0; j < group_.columns(); ++j) search_.held[g * all + j] = !group_.varies(j);
        search_.largest[g] = group_.largest();
        group_.enter(theta, here_.data());
        if (!q_.pass.joint && q_.pass.kernel->squares) group_.begin_at_middle(here_.data());
        look(g);
        descend(g);
        group_.leave(here_.data(), theta);
    }

  private:
    static constexpr double enough = 1e-4, rounding = 2e-15, regular = 1e-4, exact_fit = 1e-6, longest = 3.0;

    void end(std::size_t g, GroupEnd how, std::size_t steps, double value, double decrement) {
        search_.ends[g] = how, search_.steps[g] = static_cast<std::int32_t>(steps);
        search_.value[g] = value, search_.decrement[g] = decrement;
    }

    // The best of some values of what is open.
    void look(std::size_t g) {
        const std::size_t open = q_.pass.open.size(), d = group_.width() - open;
        if (!search_.looks || !open) return;
        double least = infinity;
        std::copy(here_.begin(), here_.begin() + static_cast<std::ptrdiff_t>(d), trial_.begin());
        for (std::size_t k = 0; k < search_.looks; ++k) {
            for (std::size_t j = 0; j < open; ++j) trial_[d + j] = search_.looked_at[k * open + j] + search_.shifts[g * open + j];
            if (const double value = group_.nll(trial_.data()); value < least) {
                least = value;
                for (std::size_t j = 0; j < open; ++j) here_[d + j] = trial_[d + j];
            }
        }
    }

    // The step that the curvature tells; where that is not positive, one by the guide (families.hpp), and more of the diagonal with it
    // until it is one.
    bool step_of(double& pivot, bool& own) {
        const std::size_t n = group_.width(), open = q_.pass.open.size();
        pivot = factor_.set(n, hessian_.data());
        own = pivot > singular;
        if (!own) {
            group_.evaluate(here_.data(), gradient_.data(), hessian_.data(), true);
            for (std::size_t k = n - open; k < n; ++k) {
                double& diagonal = hessian_[k * (n + 1)];
                diagonal = std::max({std::abs(diagonal), 0.5 * std::abs(gradient_[k]), 1e-12});
            }
            double more = 1e-3;
            while (!(factor_.set(n, hessian_.data()) > singular)) {
                if (!q_.pass.joint || more > 1e3) return false;
                for (std::size_t k = 0; k < n; ++k) hessian_[k * (n + 1)] += more * std::abs(hessian_[k * (n + 1)]);
                more *= 10;
            }
        }
        factor_.solve(gradient_.data(), step_.data());
        return true;
    }

    void descend(std::size_t g) {
        const bool squares = !q_.pass.joint && q_.pass.kernel->squares, steady = q_.pass.kernel->steady;
        const std::size_t n = group_.width(), open = q_.pass.open.size();
        double value = group_.evaluate(here_.data(), gradient_.data(), hessian_.data(), false), decrement = infinity;
        bool plain = true;  // whether the last step was Newton's own
        for (std::size_t steps = 0;; ++steps) {
            if (!std::isfinite(value)) return end(g, GroupEnd::no_number, steps, value, decrement);
            double pivot;
            bool own;
            if (!step_of(pivot, own)) return end(g, GroupEnd::singular, steps, value, decrement);
            double squared = 0.0, longest_raw = 0.0;
            for (std::size_t k = 0; k < n; ++k) squared += step_[k] * gradient_[k];
            for (std::size_t k = n - open; k < n; ++k) longest_raw = std::max(longest_raw, std::abs(step_[k]));
            const double before = decrement, size = std::abs(value) + static_cast<double>(group_.rows());
            if (!std::isfinite(squared)) return end(g, GroupEnd::no_number, steps, value, infinity);
            decrement = squared > 0 ? std::sqrt(squared) : 0.0;
            const bool rounded = 0.5 * squared <= rounding * size && decrement > 0.5 * before;
            // As newton.cpp has it.
            const bool arrived = squares && pivot > regular && value - 0.5 * squared > exact_fit * value;
            const double ratio = steps > 0 && steady && plain ? decrement / before : 1.0;
            const double left = arrived ? 0.0 : 10 * ratio * ratio < 1 ? decrement * 10 * ratio * ratio : decrement;
            if (own && (left <= search_.tol || rounded)) {
                for (std::size_t k = 0; k < n; ++k) here_[k] -= step_[k];
                return end(g, GroupEnd::arrived, steps + arrived, value - 0.5 * squared, left);
            }
            plain = own;
            if (steps == search_.most_steps) return end(g, GroupEnd::not_arrived, steps, value, decrement);
            double length = longest_raw > longest ? longest / longest_raw : 1.0, next;
            for (int tries = 0;; ++tries) {
                for (std::size_t k = 0; k < n; ++k) trial_[k] = here_[k] - length * step_[k];
                next = group_.evaluate(trial_.data(), gradient_.data(), hessian_.data(), false);
                if (next <= value - enough * length * squared + rounding * size) break;
                if (tries == 20) return end(g, GroupEnd::not_arrived, steps, value, decrement);
                length *= 0.25;
            }
            value = next;
            here_.swap(trial_);
        }
    }

    const GroupQuestion& q_;
    const GroupSearch& search_;
    Group group_;
    SmallFactor factor_;
    std::vector<double> here_, trial_, step_, gradient_, hessian_;
};

// Calls work(thread's own, group) for all groups, with what `make` makes for each thread.
template <class Make>
void over_groups(std::size_t count, std::size_t threads, Make make) {
    threads = std::max<std::size_t>(1, std::min(threads, (count + groups_at_once - 1) / groups_at_once));
    std::atomic<std::size_t> next{0};
    over_parts(threads, threads, [&](std::size_t) {
        auto work = make();
        for (std::size_t begin; (begin = next.fetch_add(groups_at_once)) < count;)
            for (std::size_t g = begin; g < std::min(count, begin + groups_at_once); ++g) work(g);
    });
}

// The variances of the columns as they are, from the curvature in this group's.
void variances_of(const GroupQuestion& question, const Group& group, const SmallFactor& factor, std::vector<double>& room, double* out) {
    const std::size_t all = group.columns(), open = question.pass.open.size(), n = group.width();
    room.resize(std::max(room.size(), n * n + n));
    double *inverse = room.data(), *along = inverse + n * n;
    factor.inverse_diagonal(inverse, along);
    double of_held = 0.0;
    for (std::size_t j = 0; j < all; ++j) {
        if (group.varies(j)) {
            out[j] = along[group.place(j)];
            continue;
        }
        out[j] = question.unit ? 1.0 : question.bend[j] > 0 ? 1.0 / question.bend[j] : infinity;
        if (const double middle = group.middle(j); middle != 0) of_held += middle * middle * out[j];
    }
    for (std::size_t j = 0; j < open; ++j) out[all + j] = along[n - open + j];
    if (!question.table.intercept) return;
    std::fill_n(along, n, 0.0);
    along[0] = 1.0;
    for (std::size_t j = 1; j < all; ++j)
        if (group.varies(j)) along[group.place(j)] = -group.middle(j);
    out[0] = factor.form(along, inverse) + of_held;
}

}  // namespace

void search_groups(const GroupQuestion& question, const GroupSearch& search, std::size_t threads) {
    over_groups(question.rows.count, threads,
                [&] { return [newton = Newton(question, search)](std::size_t g) mutable { newton.solve(g); }; });
}

void curvature_of_groups(const GroupQuestion& question, const GroupCurvature& wanted, std::size_t threads) {
    const std::size_t all = question.pass.width(question.table);
    over_groups(question.rows.count, threads, [&] {
        return [&, group = Group(question), factor = SmallFactor(), theta = std::vector<double>(), gradient = std::vector<double>(),
                hessian = std::vector<double>(), room = std::vector<double>()](std::size_t g) mutable {
            const double* given = wanted.theta + g * all;
            double* variances = wanted.variances + g * all;
            std::fill_n(variances, all, NAN);
            wanted.value[g] = wanted.log_determinant[g] = NAN;
            if (wanted.slopes) std::fill_n(wanted.slopes + g * 2 * all, 2 * all, 0.0);
            const bool known = std::all_of(given, given + all, [](double value) { return std::isfinite(value); });
            if (!known || question.rows.starts[g] == question.rows.starts[g + 1]) return;
            group.take(g);
            const std::size_t n = group.width();
            theta.resize(std::max(theta.size(), n)), gradient.resize(theta.size()), hessian.resize(std::max(hessian.size(), n * n));
            group.enter(given, theta.data());
            wanted.value[g] = group.evaluate(theta.data(), gradient.data(), hessian.data(), false);
            if (!std::isfinite(wanted.value[g]) || !(factor.set(n, hessian.data()) > singular)) return;
            wanted.log_determinant[g] = factor.log_determinant();
            if (wanted.slopes) group.add_slopes(theta.data(), factor, wanted.slopes + g * 2 * all);
            variances_of(question, group, factor, room, variances);
        };
    });
}

}  // namespace neglog

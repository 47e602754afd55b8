#include "systems.hpp"

#include <algorithm>
#include <cmath>

#include "parts.hpp"
#include "soft_threshold.hpp"

namespace neglog {

namespace {

constexpr std::size_t block = 64;                       // columns at a time
constexpr std::size_t least_work = std::size_t{1} << 22;  // products that are worth a thread

}  // namespace

Factor::Factor(const InstructionSet& set, std::size_t n, const double* matrix, std::size_t threads)
    : set_(set), n_(n), apart_((n + 7) / 8 * 8), numbers_(n * apart_), scale_(n) {
    if (!scale_rows(matrix)) return;
    for (std::size_t first = 0; first < n; first += block) {
        const std::size_t last = std::min(n, first + block);
        subtract_products(first, last, first, last);
        if (!factor_block(first, last)) return;
        const std::size_t blocks = (n - last + block - 1) / block, worth = blocks * block * block * (first + block) / least_work;
        over_parts(blocks, std::min(threads, worth + 1), [&](std::size_t part) {
            const std::size_t begin = last + part * block, end = std::min(n, begin + block);
            subtract_products(begin, end, first, last);
            solve_rows(begin, end, first, last);
        });
    }
}

// The lower triangle at unit diagonal; false where that cannot be, with the pivot that says so.
bool Factor::scale_rows(const double* matrix) {
    for (std::size_t i = 0; i < n_; ++i) {
        const double diagonal = matrix[i * (n_ + 1)];
        if (!(diagonal > 0)) {
            smallest_ = diagonal == 0 ? 0.0 : diagonal;
            return false;
        }
        scale_[i] = 1.0 / std::sqrt(diagonal);
    }
    for (std::size_t i = 0; i < n_; ++i)
        for (std::size_t j = 0; j <= i; ++j) row(i)[j] = matrix[i * n_ + j] * scale_[i] * scale_[j];
    return true;
}

// What the columns before `first` contribute to those up to `last`, in some rows.
void Factor::subtract_products(std::size_t begin, std::size_t end, std::size_t first, std::size_t last) {
    if (first == 0) return;
    double sums[block * block] = {};
    set_.add_products(first, end - begin, row(begin), last - first, row(first), apart_, sums, block);
    for (std::size_t i = begin; i < end; ++i)
        for (std::size_t j = first; j < std::min(last, i + 1); ++j) row(i)[j] -= sums[(i - begin) * block + j - first];
}

bool Factor::factor_block(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
        solve_rows(i, i + 1, first, i);
        double* own = row(i) + first;
        const double rest = own[i - first] - set_.dot(i - first, own, own);
        if (!(rest > 0)) {
            smallest_ = rest;
            return false;
        }
        smallest_ = std::min(rest, smallest_);
        own[i - first] = std::sqrt(rest);
    }
    return true;
}

// Rows of the factor in the columns of a block that is factored.
void Factor::solve_rows(std::size_t begin, std::size_t end, std::size_t first, std::size_t last) {
    for (std::size_t i = begin; i < end; ++i) {
        double* own = row(i) + first;
        for (std::size_t j = first; j < last; ++j) {
            const double* other = row(j) + first;
            own[j - first] = (own[j - first] - set_.dot(j - first, own, other)) / other[j - first];
        }
    }
}

void Factor::solve(const double* right, double* x) const {
    for (std::size_t i = 0; i < n_; ++i) x[i] = (right[i] * scale_[i] - set_.dot(i, row(i), x)) / row(i)[i];
    for (std::size_t i = n_; i-- > 0;) {
        x[i] /= row(i)[i];
        set_.absolute.add_multiple(i, -x[i], row(i), x);
    }
    for (std::size_t i = 0; i < n_; ++i) x[i] *= scale_[i];
}

void Factor::solve_half(std::size_t width, double* rows) const {
    for (std::size_t i = 0; i < n_; ++i) {
        double* own = rows + i * width;
        for (std::size_t j = 0; j < width; ++j) own[j] *= scale_[i];
        for (std::size_t k = 0; k < i; ++k) set_.absolute.add_multiple(width, -row(i)[k], rows + k * width, own);
        for (std::size_t j = 0; j < width; ++j) own[j] /= row(i)[i];
    }
}

double Factor::inverse_diagonal(double* out) const {
    std::vector<double> half(n_ * n_, 0.0);  // L^-1, whose columns have the squared lengths that are asked for
    std::fill_n(out, n_, 0.0);
    double volume = 0.0;
    for (std::size_t i = 0; i < n_; ++i) {
        double* own = half.data() + i * n_;
        own[i] = scale_[i];
        for (std::size_t k = 0; k < i; ++k) set_.absolute.add_multiple(k + 1, -row(i)[k], half.data() + k * n_, own);
        for (std::size_t j = 0; j <= i; ++j) {
            own[j] /= row(i)[i];
            out[j] += own[j] * own[j];
        }
        volume += 2.0 * std::log(scale_[i] / row(i)[i]);
    }
    return volume;
}

double solve_positive(const InstructionSet& set, std::size_t n, const double* matrix, const double* right, double* x, std::size_t threads) {
    const Factor factor(set, n, matrix, threads);
    if (factor.smallest_pivot() > 0) factor.solve(right, x);
    return factor.smallest_pivot();
}

namespace {

// A quadratic with absolute terms over n coordinates: x, and the gradient of its smooth part there.
struct Descent {
    const InstructionSet& set;
    std::size_t n;
    const double *curvature, *lambda, *kink;
    double *x, *gradient;

    void move(std::size_t j, double step) { set.absolute.add_multiple(n, step, curvature + j * n, gradient); }

    // Moves one coordinate to its minimum; returns by how much that lowers the objective.
    double improve(std::size_t j) {
        const double bend = curvature[j * (n + 1)];
        if (!(bend > 0)) return 0.0;
        const double before = x[j] - kink[j];
        const double after = soft_threshold(before - gradient[j] / bend, lambda[j] / bend), step = after - before;
        if (step == 0) return 0.0;
        const double gain = -step * (gradient[j] + 0.5 * bend * step) + lambda[j] * (std::abs(before) - std::abs(after));
        x[j] = kink[j] + after;
        move(j, step);
        return gain;
    }

    double sweep() {
        double gain = 0.0;
        for (std::size_t j = 0; j < n; ++j) gain += improve(j);
        return gain;
    }

    // Jumps to the minimum with all signs as they are, or to where the first of them changes. Coordinate descent alone would take
    // very many sweeps where columns are nearly dependent. Coordinates at their kink stay there.
    void jump() {
        std::vector<std::size_t> moving;
        for (std::size_t j = 0; j < n; ++j)
            if (lambda[j] == 0 || x[j] != kink[j]) moving.push_back(j);
        const std::size_t m = moving.size();
        std::vector<double> matrix(m * m), right(m), step(m);
        for (std::size_t a = 0; a < m; ++a) {
            const std::size_t j = moving[a];
            for (std::size_t b = 0; b < m; ++b) matrix[a * m + b] = curvature[j * n + moving[b]];
            const double away = x[j] - kink[j];
            right[a] = -(gradient[j] + (away > 0 ? lambda[j] : (away < 0 ? -lambda[j] : 0.0)));
        }
        if (m == 0) return;
        if (solve_positive(set, m, matrix.data(), right.data(), step.data()) < 1e-13) {
            // A singular matrix leaves directions straight: with a little more curvature the way along them is long, up to a kink.
            for (std::size_t a = 0; a < m; ++a) matrix[a * (m + 1)] *= 1 + 1e-9;
            if (solve_positive(set, m, matrix.data(), right.data(), step.data()) < 1e-13) return;
        }
        double length = 1.0;
        std::size_t first = m;
        for (std::size_t a = 0; a < m; ++a) {
            const double away = x[moving[a]] - kink[moving[a]];
            if (lambda[moving[a]] == 0 || away * step[a] >= 0) continue;
            const double reach = -away / step[a];
            if (reach < length) length = reach, first = a;
        }
        for (std::size_t a = 0; a < m; ++a) {
            const std::size_t j = moving[a];
            const double to = a == first ? kink[j] : x[j] + length * step[a];
            move(j, to - x[j]);
            x[j] = to;
        }
    }
};

// The active coordinates as a small problem of their own, which stays in the cache.
class ActivePart {
  public:
    ActivePart(const Descent& all, const std::vector<std::size_t>& active)
        : active_(active), matrix_(active.size() * active.size()), lambda_(active.size()), kink_(active.size()), x_(active.size()),
          gradient_(active.size()),
          part{all.set, active.size(), matrix_.data(), lambda_.data(), kink_.data(), x_.data(), gradient_.data()} {
        const std::size_t m = active.size();
        for (std::size_t a = 0; a < m; ++a) {
            const std::size_t j = active[a];
            for (std::size_t b = 0; b < m; ++b) matrix_[a * m + b] = all.curvature[j * all.n + active[b]];
            lambda_[a] = all.lambda[j], kink_[a] = all.kink[j], x_[a] = all.x[j], gradient_[a] = all.gradient[j];
        }
    }
    void write_back(Descent& all) {
        for (std::size_t a = 0; a < active_.size(); ++a) {
            const std::size_t j = active_[a];
            if (const double step = x_[a] - all.x[j]; step != 0) all.move(j, step), all.x[j] = x_[a];
        }
    }

  private:
    const std::vector<std::size_t>& active_;
    std::vector<double> matrix_, lambda_, kink_, x_, gradient_;

  public:
    Descent part;
};

}  // namespace

std::size_t coordinate_descent(const InstructionSet& set, std::size_t n, const double* curvature, const double* slope, const double* lambda,
                               const double* kink, double tolerance, std::size_t most_sweeps, double* x) {
    std::vector<double> gradient(slope, slope + n);
    Descent all{set, n, curvature, lambda, kink, x, gradient.data()};
    std::vector<std::size_t> active;
    constexpr std::size_t cheap = 128;  // active coordinates whose exact minimum is worth a look before the end
    bool jumped = false;
    for (std::size_t sweeps = 1; sweeps <= most_sweeps; ++sweeps) {
        double gain = all.sweep();
        const bool slow = gain <= tolerance;
        if (slow && jumped) return sweeps;
        active.clear();
        for (std::size_t j = 0; j < n; ++j)
            if (lambda[j] == 0 || x[j] != kink[j]) active.push_back(j);
        if (slow && active.size() > cheap) return sweeps;
        ActivePart inner(all, active);
        if (slow) {  // in a narrow valley sweeps gain little long before they arrive
            inner.part.jump();
            inner.write_back(all);
            jumped = true;
            continue;
        }
        jumped = false;
        const std::size_t before_jump = 8 + active.size() / 3;  // a jump costs about m^3 / 3, a sweep m^2
        while (gain > tolerance && sweeps < most_sweeps) {
            for (std::size_t k = 0; k < before_jump && gain > tolerance; ++k, ++sweeps) gain = inner.part.sweep();
            if (gain > tolerance) inner.part.jump();
        }
        inner.write_back(all);
    }
    return most_sweeps;
}

}  // namespace neglog

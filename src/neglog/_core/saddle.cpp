#include "saddle.hpp"

#include <algorithm>
#include <cmath>

#include "systems.hpp"

namespace neglog {
namespace {

using Numbers = std::vector<double>;

constexpr std::size_t few = 48;               // equations that are solved at once
constexpr std::size_t few_free = 4;           // columns without curvature, each of which costs a change of the inverse
constexpr double near_singular = 1e-8;        // pivots below this leave too few digits for what follows to refine
constexpr double undetermined = 1e-10;        // what is left of a free column that the rows do not hold

std::size_t padded(std::size_t n) { return (n + 7) / 8 * 8; }

// Q^-1 is known, so the rest is about the matrix X Q^-1 X' = L L' of the rows: with V = L^-1 [ X Q^-1, -1 ] the inverse is
// [ Q^-1 0; 0 0 ] - V' V. A column without curvature is lent one, 1 / c, which is taken back from the inverse.
class BySchur {
  public:
    BySchur(const InstructionSet& set, const SaddlePoint& point)
        : set_(set), point_(point), d_(point.columns()), a_(point.held()), inverse_diagonal_(d_) {}

    bool run(double* out, std::size_t apart) {
        lend();
        if (a_ > 0 && !subtract_squares(out, apart)) return false;
        if (a_ == 0)
            for (std::size_t i = 0; i < d_; ++i) std::fill_n(out + i * apart, d_, 0.0);
        for (std::size_t j = 0; j < d_; ++j) out[j * apart + j] += inverse_diagonal_[j];
        return take_back(out, apart);
    }

  private:
    // So much that a free column counts among the rows as much as all others do.
    void lend() {
        Numbers squares(d_, 0.0);
        for (std::size_t k = 0; k < a_; ++k)
            for (std::size_t j = 0; j < d_; ++j) squares[j] += point_.rows[k * d_ + j] * point_.rows[k * d_ + j];
        double held = 0.0;
        for (std::size_t j = 0; j < d_; ++j) {
            if (!(point_.diagonal[j] > 0)) continue;
            inverse_diagonal_[j] = 1.0 / point_.diagonal[j];
            held += squares[j] * inverse_diagonal_[j];
        }
        for (std::size_t j = 0; j < d_; ++j)
            if (!(point_.diagonal[j] > 0)) inverse_diagonal_[j] = squares[j] > 0 && held > 0 ? held / squares[j] : 1.0;
    }

    // out := -V' V
    bool subtract_squares(double* out, std::size_t apart) {
        const std::size_t wide = padded(d_), tall = padded(a_), n = d_ + a_;
        Numbers whitened(a_ * wide, 0.0), matrix(a_ * a_, 0.0), v(a_ * n, 0.0), columns(n * tall, 0.0);
        for (std::size_t k = 0; k < a_; ++k)
            for (std::size_t j = 0; j < d_; ++j) whitened[k * wide + j] = point_.rows[k * d_ + j] * std::sqrt(inverse_diagonal_[j]);
        set_.add_products(wide, a_, whitened.data(), a_, whitened.data(), wide, matrix.data(), a_);
        const Factor factor(set_, a_, matrix.data(), 1);
        if (!(factor.smallest_pivot() > near_singular)) return false;
        for (std::size_t k = 0; k < a_; ++k) {
            for (std::size_t j = 0; j < d_; ++j) v[k * n + j] = point_.rows[k * d_ + j] * inverse_diagonal_[j];
            v[k * n + d_ + k] = -1.0;
        }
        factor.solve_half(n, v.data());
        for (std::size_t k = 0; k < a_; ++k)
            for (std::size_t i = 0; i < n; ++i) columns[i * tall + k] = v[k * n + i];
        for (std::size_t first = 0; first < n; first += block) {  // the lower triangle, by rows of blocks
            const std::size_t many = std::min(block, n - first);
            for (std::size_t i = first; i < first + many; ++i) std::fill_n(out + i * apart, n, 0.0);
            set_.add_products(tall, many, columns.data() + first * tall, first + many, columns.data(), tall, out + first * apart, apart);
        }
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j <= i; ++j) out[i * apart + j] = -out[i * apart + j];
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < i; ++j) out[j * apart + i] = out[i * apart + j];
        return true;
    }

    bool take_back(double* out, std::size_t apart) {
        const std::size_t n = d_ + a_;
        Numbers image(n);
        for (std::size_t f = 0; f < d_; ++f) {
            if (point_.diagonal[f] > 0) continue;
            const double lent = inverse_diagonal_[f], left = lent - out[f * apart + f];
            if (!(left > undetermined * lent)) return false;
            std::copy_n(out + f * apart, n, image.data());
            for (std::size_t i = 0; i < n; ++i)
                if (image[i] != 0) set_.absolute.add_multiple(n, image[i] / left, image.data(), out + i * apart);
        }
        return true;
    }

    static constexpr std::size_t block = 64;
    const InstructionSet& set_;
    const SaddlePoint& point_;
    const std::size_t d_, a_;
    Numbers inverse_diagonal_;
};

// Gauss-Jordan with row pivoting; rows and columns are scaled to size one.
bool by_elimination(const InstructionSet& set, const SaddlePoint& point, double* out, std::size_t apart) {
    const std::size_t d = point.columns(), held = point.held(), n = d + held, w = 2 * n;
    Numbers a(n * w, 0.0), scales(n);
    for (std::size_t j = 0; j < d; ++j) {
        scales[j] = 1.0 / std::sqrt(std::max(point.diagonal[j], 1.0));
        a[j * w + j] = point.diagonal[j] * scales[j] * scales[j];
    }
    for (std::size_t k = 0; k < held; ++k) {
        const double* row = point.rows.data() + k * d;
        double largest = 1e-300;
        for (std::size_t j = 0; j < d; ++j) largest = std::max(largest, std::abs(row[j] * scales[j]));
        scales[d + k] = 1.0 / largest;
        for (std::size_t j = 0; j < d; ++j) a[(d + k) * w + j] = a[j * w + d + k] = row[j] * scales[j] / largest;
    }
    for (std::size_t i = 0; i < n; ++i) a[i * w + n + i] = 1.0;
    for (std::size_t k = 0; k < n; ++k) {
        std::size_t best = k;
        for (std::size_t i = k + 1; i < n; ++i)
            if (std::abs(a[i * w + k]) > std::abs(a[best * w + k])) best = i;
        double* row = a.data() + k * w;
        if (best != k) std::swap_ranges(row, row + w, a.data() + best * w);
        if (!(std::abs(row[k]) > 1e-15)) return false;
        const double scale = 1.0 / row[k];
        for (std::size_t j = k; j < w; ++j) row[j] *= scale;
        for (std::size_t i = 0; i < n; ++i)
            if (i != k && a[i * w + k] != 0) set.absolute.add_multiple(w - k, -a[i * w + k], row + k, a.data() + i * w + k);
    }
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) out[i * apart + j] = 0.5 * (a[i * w + n + j] + a[j * w + n + i]) * scales[i] * scales[j];
    return true;
}

}  // namespace

bool saddle_inverse(const InstructionSet& set, const SaddlePoint& point, double* out, std::size_t apart) {
    const auto free = static_cast<std::size_t>(std::count(point.diagonal.begin(), point.diagonal.end(), 0.0));
    if (point.size() > few && free <= few_free && BySchur(set, point).run(out, apart)) return true;
    return by_elimination(set, point, out, apart);
}

}  // namespace neglog

// The triangular factor of a small symmetric matrix, in room that is kept for the next one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace neglog {

class SmallFactor {
  public:
    // Reads the lower triangle, row-major, and scales it to a unit diagonal. Returns the smallest pivot of that: of the order of
    // 1 / condition, and not positive where the matrix is not. Then there is no factor to solve with.
    double set(std::size_t n, const double* matrix) {
        n_ = n;
        if (scale_.size() < n) scale_.resize(n), numbers_.resize(n * n);
        double smallest = 1.0;
        for (std::size_t i = 0; i < n; ++i) {
            const double diagonal = matrix[i * (n + 1)];
            if (!(diagonal > 0 && std::isfinite(diagonal))) return diagonal > 0 ? 0.0 : diagonal;
            scale_[i] = 1.0 / std::sqrt(diagonal);
            double* own = row(i);
            for (std::size_t j = 0; j <= i; ++j) {
                const double* other = row(j);
                double rest = i == j ? 1.0 : matrix[i * n + j] * scale_[i] * scale_[j];
                for (std::size_t k = 0; k < j; ++k) rest -= own[k] * other[k];
                if (j < i) {
                    own[j] = rest / other[j];
                    continue;
                }
                if (!(rest > 0)) return rest;
                smallest = std::min(smallest, rest);
                own[i] = std::sqrt(rest);
            }
        }
        return smallest;
    }

    void solve(const double* right, double* x) const {
        half(right, x);
        for (std::size_t i = n_; i-- > 0;) {
            x[i] /= row(i)[i];
            for (std::size_t k = 0; k < i; ++k) x[k] -= x[i] * row(i)[k];
        }
        for (std::size_t i = 0; i < n_; ++i) x[i] *= scale_[i];
    }

    // The diagonal of the inverse; `room` holds n * n numbers.
    void inverse_diagonal(double* room, double* out) const {
        std::fill_n(out, n_, 0.0);
        for (std::size_t i = 0; i < n_; ++i) {  // L^-1 row by row
            double* own = room + i * n_;
            std::fill_n(own, n_, 0.0);
            own[i] = scale_[i];
            for (std::size_t k = 0; k < i; ++k)
                for (std::size_t j = 0; j <= k; ++j) own[j] -= row(i)[k] * room[k * n_ + j];
            for (std::size_t j = 0; j <= i; ++j) own[j] /= row(i)[i], out[j] += own[j] * own[j];
        }
    }

    // a' matrix^-1 a; `room` holds n numbers.
    double form(const double* a, double* room) const {
        half(a, room);
        double sum = 0.0;
        for (std::size_t i = 0; i < n_; ++i) sum += room[i] * room[i];
        return sum;
    }

    double log_determinant() const {
        double sum = 0.0;
        for (std::size_t i = 0; i < n_; ++i) sum += std::log(row(i)[i]) - std::log(scale_[i]);
        return 2.0 * sum;
    }

  private:
    // L^-1 times what stands on the right; x may be right itself.
    void half(const double* right, double* x) const {
        for (std::size_t i = 0; i < n_; ++i) {
            double rest = right[i] * scale_[i];
            for (std::size_t k = 0; k < i; ++k) rest -= row(i)[k] * x[k];
            x[i] = rest / row(i)[i];
        }
    }

    double* row(std::size_t i) { return numbers_.data() + i * (i + 1) / 2; }
    const double* row(std::size_t i) const { return numbers_.data() + i * (i + 1) / 2; }

    std::size_t n_ = 0;
    std::vector<double> numbers_, scale_;
};

}  // namespace neglog

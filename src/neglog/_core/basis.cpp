#include "basis.hpp"

#include <algorithm>

namespace neglog {
namespace {

// Walks through runs of numbers that stay as they are, and through levels of blocks: plain(outer, inner, count) and
// turned(block, outer, inner) are called with where they begin.
template <class Plain, class Turned>
void walk(const Turn& turn, Plain plain, Turned turned) {
    std::size_t outer = 0, inner = 0;
    for (std::size_t k = 0; k < turn.outputs; ++k) {
        plain(outer, inner, turn.before);
        outer += turn.before, inner += turn.before;
        for (const BasisBlock& block : turn.blocks)
            for (std::size_t level = 0; level < block.levels; ++level) {
                turned(block, outer, inner);
                outer += block.columns_of_level, inner += block.functions_of_level();
            }
    }
    plain(outer, inner, turn.rest);
}

}  // namespace

std::size_t Turn::columns() const {
    std::size_t count = before;
    for (const BasisBlock& block : blocks) count += block.columns();
    return count;
}

std::size_t Turn::functions() const {
    std::size_t count = before;
    for (const BasisBlock& block : blocks) count += block.functions();
    return count;
}

void Turn::spread(const double* theta, double* to) const {
    walk(*this, [&](std::size_t outer, std::size_t inner, std::size_t count) { std::copy_n(theta + outer, count, to + inner); },
         [&](const BasisBlock& block, std::size_t outer, std::size_t inner) {
        const std::size_t columns = block.columns_of_level, functions = block.functions_of_level();
        for (std::size_t f = 0; f < functions; ++f) {
            double sum = 0.0;
            for (std::size_t c = 0; c < columns; ++c) sum += block.turn[f * columns + c] * theta[outer + c];
            to[inner + f] = sum;
        }
    });
}

void Turn::gather(const double* from, double* out) const {
    walk(*this, [&](std::size_t outer, std::size_t inner, std::size_t count) { std::copy_n(from + inner, count, out + outer); },
         [&](const BasisBlock& block, std::size_t outer, std::size_t inner) {
        const std::size_t columns = block.columns_of_level, functions = block.functions_of_level();
        std::fill_n(out + outer, columns, 0.0);
        for (std::size_t f = 0; f < functions; ++f)
            for (std::size_t c = 0; c < columns; ++c) out[outer + c] += block.turn[f * columns + c] * from[inner + f];
    });
}

void Turn::gather_matrix(const double* from, double* out) const {
    const std::size_t width = this->width(), inside = inner_width();
    std::vector<double> half(inside * width);
    for (std::size_t i = 0; i < inside; ++i) gather(from + i * inside, half.data() + i * width);
    walk(*this, [&](std::size_t outer, std::size_t inner, std::size_t count) {
        std::copy_n(half.data() + inner * width, count * width, out + outer * width);
    }, [&](const BasisBlock& block, std::size_t outer, std::size_t inner) {
        const std::size_t columns = block.columns_of_level, functions = block.functions_of_level();
        std::fill_n(out + outer * width, columns * width, 0.0);
        for (std::size_t f = 0; f < functions; ++f)
            for (std::size_t c = 0; c < columns; ++c) {
                const double* row = half.data() + (inner + f) * width;
                double *to = out + (outer + c) * width, factor = block.turn[f * columns + c];
                for (std::size_t j = 0; j < width; ++j) to[j] += factor * row[j];
            }
    });
}

void Turn::spread_matrix(const double* from, double* to) const {
    const std::size_t width = this->width(), inside = inner_width();
    std::vector<double> half(width * inside);
    for (std::size_t i = 0; i < width; ++i) spread(from + i * width, half.data() + i * inside);
    walk(*this, [&](std::size_t outer, std::size_t inner, std::size_t count) {
        std::copy_n(half.data() + outer * inside, count * inside, to + inner * inside);
    }, [&](const BasisBlock& block, std::size_t outer, std::size_t inner) {
        const std::size_t columns = block.columns_of_level, functions = block.functions_of_level();
        std::fill_n(to + inner * inside, functions * inside, 0.0);
        for (std::size_t f = 0; f < functions; ++f)
            for (std::size_t c = 0; c < columns; ++c) {
                const double* row = half.data() + (outer + c) * inside;
                double *out = to + (inner + f) * inside, factor = block.turn[f * columns + c];
                for (std::size_t j = 0; j < inside; ++j) out[j] += factor * row[j];
            }
    });
}

}  // namespace neglog

// Small systems: linear, a ridge's evidence, coordinate descent.

#include <algorithm>
#include <cmath>

#include "../crossed.hpp"
#include "../parts.hpp"
#include "../ridge.hpp"
#include "../systems.hpp"
#include "arrays.hpp"

namespace neglog {
namespace {

double solve_system(const Doubles& matrix, const Doubles& right, const DoublesOut& x, std::size_t threads) {
    const std::size_t n = x.size();
    if (matrix.size() != n * n || right.size() != n) throw nb::value_error("matrix, right and x do not fit");
    nb::gil_scoped_release release;
    return solve_positive(*active, n, matrix.data(), right.data(), x.data(), threads);
}

Factor factored(const Doubles& matrix, std::size_t n, std::size_t threads) {
    if (matrix.size() != n * n) throw nb::value_error("the matrix is not n x n");
    nb::gil_scoped_release release;
    return Factor(*active, n, matrix.data(), threads);
}

void solve_factored(const Factor& factor, const Doubles& right, const DoublesOut& x) {
    if (right.size() != factor.size() || x.size() != factor.size()) throw nb::value_error("right and x do not fit");
    if (!(factor.smallest_pivot() > 0)) throw nb::value_error("the matrix is not positive definite");
    nb::gil_scoped_release release;
    factor.solve(right.data(), x.data());
}

double inverse_diagonal_of(const Factor& factor, const DoublesOut& out) {
    if (out.size() != factor.size()) throw nb::value_error("out does not fit");
    if (!(factor.smallest_pivot() > 0)) throw nb::value_error("the matrix is not positive definite");
    nb::gil_scoped_release release;
    return factor.inverse_diagonal(out.data());
}

// out += left right', for rows that lie one after the other
void add_row_products(const Doubles& left, const Doubles& right, const DoublesOut& out, std::size_t threads) {
    const bool fits = left.ndim() == 2 && right.ndim() == 2 && out.ndim() == 2 && left.shape(1) == right.shape(1) &&
                      out.shape(0) == left.shape(0) && out.shape(1) == right.shape(0) && left.shape(1) % 8 == 0;
    if (!fits) throw nb::value_error("left, right and out do not fit, or rows are no multiple of eight numbers");
    const std::size_t n = left.shape(1), rows = left.shape(0), columns = right.shape(0), together = 32;
    nb::gil_scoped_release release;
    over_parts((rows + together - 1) / together, threads, [&](std::size_t part) {
        const std::size_t begin = part * together, many = std::min(rows - begin, together);
        active->add_products(n, many, left.data() + begin * n, columns, right.data(), n, out.data() + begin * columns, columns);
    });
}

using Starts = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Its row pointers, column numbers and values; these have been looked at by the caller.
using Compressed = std::tuple<Starts, Numbers, Doubles>;

SparseRows sparse_rows(const Compressed& matrix) {
    const auto& [start, columns, values] = matrix;
    if (start.size() == 0 || columns.size() != values.size()) throw nb::value_error("the parts of a sparse matrix do not fit");
    return {start.size() - 1, start.data(), columns.data(), values.data()};
}

void subtract_crossed(const Compressed& rows, const Compressed& transposed, const Doubles& w, const DoublesOut& out, std::size_t threads) {
    const SparseRows own = sparse_rows(rows), other = sparse_rows(transposed);
    if (w.size() != own.count || out.size() != other.count * other.count) throw nb::value_error("rows, weights and out do not fit");
    nb::gil_scoped_release release;
    subtract_products(own, other, w.data(), out.data(), threads);
}

void multiply_crossed(const Compressed& rows, const Doubles& matrix, std::size_t n, const DoublesOut& out, std::size_t threads) {
    const SparseRows own = sparse_rows(rows);
    if (matrix.size() != n * n || out.size() != std::get<2>(rows).size()) throw nb::value_error("rows, matrix and out do not fit");
    nb::gil_scoped_release release;
    symmetric_products(own, matrix.data(), n, out.data(), threads);
}

// log of the strength, and the variance of the noise at it
auto ridge(const Doubles& values, const Doubles& squares, double left, double rows, double variance) {
    if (values.size() != squares.size()) throw nb::value_error("values and squares do not fit");
    const RidgeProblem problem{values.size(), values.data(), squares.data(), left, rows, variance};
    nb::gil_scoped_release release;
    const double log_strength = strongest_evidence(problem);
    return std::make_tuple(log_strength, ridge_variance(problem, std::exp(log_strength)));
}

std::size_t descend(const Doubles& curvature, const Doubles& slope, const Doubles& lambda, const Doubles& kink, double tolerance,
                    std::size_t most_sweeps, const DoublesOut& x) {
    const std::size_t n = x.size();
    if (curvature.size() != n * n || slope.size() != n || lambda.size() != n || kink.size() != n)
        throw nb::value_error("the arrays do not fit");
    nb::gil_scoped_release release;
    return coordinate_descent(*active, n, curvature.data(), slope.data(), lambda.data(), kink.data(), tolerance, most_sweeps, x.data());
}

}  // namespace

void define_systems(nb::module_& m) {
    m.def("solve_positive", &solve_system, "matrix"_a, "right"_a, "x"_a, "threads"_a);
    m.def("add_row_products", &add_row_products, "left"_a, "right"_a, "out"_a, "threads"_a);
    m.def("subtract_products", &subtract_crossed, "rows"_a, "transposed"_a, "w"_a, "out"_a, "threads"_a);
    m.def("symmetric_products", &multiply_crossed, "rows"_a, "matrix"_a, "n"_a, "out"_a, "threads"_a);
    nb::class_<Factor>(m, "Factor")
        .def("__init__",
             [](Factor* self, const Doubles& matrix, std::size_t n, std::size_t threads) {
        new (self) Factor(factored(matrix, n, threads));
    }, "matrix"_a, "n"_a, "threads"_a)
        .def_prop_ro("smallest_pivot", &Factor::smallest_pivot)
        .def("solve", &solve_factored, "right"_a, "x"_a)
        .def("inverse_diagonal", &inverse_diagonal_of, "out"_a);
    m.def("ridge", &ridge, "values"_a, "squares"_a, "left"_a, "rows"_a, "variance"_a);
    m.def("coordinate_descent", &descend, "curvature"_a, "slope"_a, "strength"_a, "kink"_a, "tolerance"_a, "most_sweeps"_a, "x"_a);
}

}  // namespace neglog

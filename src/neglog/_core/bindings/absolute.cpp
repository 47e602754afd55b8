// The exact minimum of absolute losses.

#include "../absolute.hpp"
#include "arrays.hpp"

namespace neglog {
namespace {

template <class Number>
nb::ndarray<nb::numpy, Number, nb::ndim<1>> owned(std::vector<Number> values) {
    auto* kept = new std::vector<Number>(std::move(values));
    const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<Number>*>(p); });
    return {kept->data(), {kept->size()}, owner};
}

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Array>
bool is_finite(const Array& array) {
    bool finite = true;
    for (std::size_t i = 0; i < array.size(); ++i) finite &= array.data()[i] - array.data()[i] == 0;
    return finite;
}

auto absolute_minimum(const Matrix& x, const Vector& y, const Vector& w, const Vector& linear, const std::optional<Vector>& start,
                      const std::optional<Vector>& strength, const std::optional<Vector>& centre, const std::optional<Rows>& active_rows) {
    const AbsoluteProblem problem{x.shape(0), x.shape(1), x.data(), y.data(), w.data(), linear.data()};
    if (y.size() != problem.rows || w.size() != problem.rows) throw nb::value_error("X, y and w differ in their rows");
    for (const auto& vector : {std::optional(linear), start, strength, centre})
        if (vector && vector->size() != problem.columns)
            throw nb::value_error("linear, start, strength and centre need one number per column of X");
    bool usable = is_finite(x) && is_finite(y) && is_finite(w) && is_finite(linear);
    for (const auto& vector : {start, strength, centre}) usable = usable && (!vector || is_finite(*vector));
    for (std::size_t i = 0; i < w.size(); ++i) usable = usable && w.data()[i] > 0;
    for (std::size_t j = 0; strength && j < strength->size(); ++j) usable = usable && strength->data()[j] >= 0;
    if (!usable) throw nb::value_error("all numbers must be finite, weights positive and strengths not negative");
    const double* first = start ? start->data() : nullptr;
    AbsoluteStart begin{first, {}};
    if (active_rows) begin.active = {active_rows->data(), active_rows->size()};
    for (const std::int64_t row : begin.active)
        if (row < 0 || static_cast<std::size_t>(row) >= problem.rows) throw nb::value_error("active rows must be rows of X");
    if (begin.active.size() > problem.columns) throw nb::value_error("at most as many rows may be active as X has columns");
    Vertex vertex;
    {
        nb::gil_scoped_release release;
        vertex = strength && centre ? absolute_ridge(problem, {strength->data(), centre->data()}, begin, *active)
                                    : absolute_vertex(problem, first, active->absolute);
    }
    return std::make_tuple(owned(std::move(vertex.theta)), owned(std::vector<std::int64_t>(vertex.basis.begin(), vertex.basis.end())),
                           owned(std::move(vertex.dual)), vertex.pivots, static_cast<int>(vertex.status));
}

auto absolute_vertex_of(const Matrix& x, const Vector& y, const Vector& w, const Vector& linear, const std::optional<Vector>& start) {
    return absolute_minimum(x, y, w, linear, start, std::nullopt, std::nullopt, std::nullopt);
}

}  // namespace

void define_absolute(nb::module_& m) {
    m.def("absolute_vertex", &absolute_vertex_of, "X"_a, "y"_a, "w"_a, "linear"_a, "start"_a.none());
    m.def("absolute_ridge", &absolute_minimum, "X"_a, "y"_a, "w"_a, "linear"_a, "start"_a.none(), "strength"_a, "centre"_a,
          "active"_a.none() = nb::none());
}

}  // namespace neglog

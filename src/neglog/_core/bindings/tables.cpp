// Passes over a table, and what is made of them: fits by Newton, densities for samplers.

#include "../density.hpp"
#include "../groups.hpp"
#include "../newton.hpp"
#include "../passes.hpp"
#include "arrays.hpp"

namespace neglog {
namespace {

using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;
using Integers = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

using Levels = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows64Out = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows32Out = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using DoublesMatrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using BasisInput = std::tuple<AnyArray, nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>, Doubles,
                              nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>, Levels, std::size_t>;

bool is_wide(const Integers& array) {
    if (array.dtype() == nb::dtype<std::int64_t>()) return true;
    if (array.dtype() == nb::dtype<std::int32_t>()) return false;
    throw nb::type_error("indices must be int32 or int64");
}

// A table that keeps the arrays alive into which its blocks point.
struct OwningTable : Table {
    std::vector<AnyArray> arrays;
    std::vector<Doubles> centres;
    std::vector<Integers> integers;
    std::vector<BasisInput> kept;
    std::vector<DoublesMatrix> turns;

    OwningTable(std::size_t row_count, bool with_intercept) { rows = row_count, intercept = with_intercept; }

    void add_dense(const AnyArray& values, const Doubles& centre) {
        if (values.ndim() != 2 || values.shape(0) != rows || centre.size() != values.shape(1))
            throw nb::value_error("a dense block does not fit");
        dense.push_back({values.data(), is_single(values.dtype()), values.stride(0), values.stride(1), values.shape(1), centre.data()});
        arrays.push_back(values), centres.push_back(centre);
    }
    void add_codes(const Levels& levels, std::int32_t first, std::size_t columns) {
        if (levels.size() != rows) throw nb::value_error("a block of codes does not fit");
        codes.push_back({levels.data(), first, columns});
        integers.push_back(Integers(levels));
    }
    void add_sparse(const Integers& starts, const Integers& indices, const Input& values, std::size_t columns) {
        if (starts.size() != rows + 1 || indices.size() != values.size()) throw nb::value_error("a sparse block does not fit");
        sparse.push_back(
            {starts.data(), indices.data(), values.data(), is_wide(starts), is_wide(indices), is_single(values.dtype()), columns});
        integers.push_back(starts), integers.push_back(indices), arrays.push_back(AnyArray(values));
    }
    // Variables as (x, pieces, origins, polynomials, firsts); polynomials are pieces × powers × functions that a row meets.
    void add_basis(const std::vector<BasisInput>& factors, const std::optional<Levels>& levels, std::size_t count,
                   const DoublesMatrix& turn) {
        BasisBlock block{{}, nullptr, count, turn.data(), turn.shape(1)};
        if (factors.empty() || factors.size() > 2 || !sparse.empty()) throw nb::value_error("a basis has one or two variables");
        for (const auto& [x, pieces, origins, polynomials, firsts, functions] : factors) {
            const std::size_t many = polynomials.shape(2);
            if (x.ndim() != 1 || x.shape(0) != rows || pieces.size() != rows || polynomials.shape(0) != origins.size() ||
                firsts.size() != origins.size() || polynomials.shape(1) != 4 || (many != 1 && many != 4))
                throw nb::value_error("a basis does not fit");
            for (std::size_t k = 0; k < firsts.size(); ++k)
                if (firsts.data()[k] < 0 || static_cast<std::size_t>(firsts.data()[k]) + many > functions)
                    throw nb::value_error("a piece has functions that are not there");
            for (std::size_t i = 0; i < rows; ++i)
                if (pieces.data()[i] >= origins.size()) throw nb::value_error("a row is in no piece");
            block.factors.push_back({x.data(), is_single(x.dtype()), x.stride(0), pieces.data(), origins.data(), polynomials.data(),
                                     firsts.data(), many, functions});
            kept.push_back({x, pieces, origins, polynomials, firsts, functions});
        }
        if (turn.shape(0) != block.functions_of_level()) throw nb::value_error("the turn of a basis does not fit");
        if (levels) {
            if (levels->size() != rows) throw nb::value_error("levels do not fit");
            for (std::size_t i = 0; i < rows; ++i)
                if (levels->data()[i] >= static_cast<std::int64_t>(count)) throw nb::value_error("a level is not there");
            block.codes = levels->data();
            integers.push_back(Integers(*levels));
        } else if (count != 1) {
            throw nb::value_error("levels without codes");
        }
        turns.push_back(turn);
        basis.push_back(block);
    }
};

// The piece that each number lies in: how many of the ascending breaks are not above it; the last for what is no number.
void pieces_of(const nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>& x, const Doubles& breaks, const Bytes& out) {
    if (out.size() != x.shape(0) || breaks.size() > 255) throw nb::value_error("breaks or pieces do not fit");
    const std::size_t n = out.size(), count = breaks.size();
    const double* edges = breaks.data();
    std::uint8_t* to = out.data();
    // A look at equal cells between the ends says where to begin, and there are few breaks in most of them.
    constexpr std::size_t cells = 256;
    std::uint8_t begins[cells + 1] = {};
    const double low = count ? edges[0] : 0.0, per_unit = count > 1 ? cells / (edges[count - 1] - low) : 0.0;
    for (std::size_t c = 0; c <= cells && per_unit > 0; ++c)
        begins[c] = static_cast<std::uint8_t>(std::lower_bound(edges, edges + count, low + (static_cast<double>(c) - 0.5) / per_unit) -
                                              edges);
    const auto fill = [&](const auto* from) {
        for (std::size_t i = 0; i < n; ++i) {
            const auto value = static_cast<double>(from[static_cast<std::ptrdiff_t>(i) * x.stride(0)]);
            const double cell = (value - low) * per_unit;
            std::size_t place = cell >= 0 ? begins[cell < cells ? static_cast<std::size_t>(cell) : cells] : 0;
            while (place < count && !(value < edges[place])) ++place;
            to[i] = static_cast<std::uint8_t>(place);
        }
    };
    nb::gil_scoped_release release;
    is_single(x.dtype()) ? fill(static_cast<const float*>(x.data())) : fill(static_cast<const double*>(x.data()));
}

// A table with a target and a loss: what is the same in every pass of one fit.
struct Problem {
    const OwningTable& table;
    Pass pass;
    std::vector<Input> inputs;

    // An empty family asks for the Gram matrix of the weights alone, "softmax" for classes.
    Problem(const OwningTable& over, const std::string& family, const std::string& link, const Input& y, const std::optional<Input>& weight,
            const std::optional<Input>& offset, const std::vector<Input>& parameters, const std::optional<std::vector<std::size_t>>& open,
            bool response, double response_centre, std::size_t classes, const std::vector<std::size_t>& modelled,
            const std::vector<std::tuple<double, double>>& ends, bool ordered)
        : table(over) {
        const std::size_t n = over.rows;
        if (family == "softmax") {
            pass.classes = classes;
            if (offset) {
                if (offset->size() != n * classes || is_single(offset->dtype())) throw nb::value_error("offsets of classes do not fit");
                pass.class_offsets = static_cast<const double*>(offset->data());
            }
        } else {
            if (!family.empty()) pass.kernel = &find_kernel(family, link);
            if (offset) pass.offset = source(*offset, n);
        }
        pass.response = response, pass.response_centre = response_centre;
        pass.y = source(y, n);
        if (weight) pass.weight = source(*weight, n);
        pass.parameters = sources(parameters, n);
        if (open) {
            if (!pass.kernel || response || parameters.size() + 1 != pass.kernel->joint.variables + pass.kernel->joint.beside)
                throw nb::value_error("a joint pass needs all raw parameters of a noise");
            if (ordered && !modelled.empty()) throw nb::value_error("ordered classes have no parameters that could be modelled");
            if (ends.size() != modelled.size()) throw nb::value_error("each parameter that is modelled has two ends");
            pass.joint = true, pass.open = *open, pass.modelled = modelled, pass.ordered = ordered;
            for (const auto& [low, high] : ends) pass.ends.push_back({low, high});
            if (ordered) check_classes(y, open->size());
            for (const std::vector<std::size_t>& found : {pass.open, pass.modelled})
                for (const std::size_t which : found)
                    if (!ordered && which + 1 >= pass.kernel->joint.variables) throw nb::value_error("there is no such parameter");
        } else if (!modelled.empty()) {
            throw nb::value_error("a parameter is modelled in a joint pass only");
        }
        inputs = parameters;
        for (const std::optional<Input>& kept : {std::optional<Input>(y), weight, offset})
            if (kept) inputs.push_back(*kept);
    }

    // Edges are looked up by class, so that no other number may come.
    static void check_classes(const Input& y, std::size_t last) {
        if (is_single(y.dtype())) throw nb::type_error("class numbers must be float64");
        const double* classes = static_cast<const double*>(y.data());
        for (std::size_t i = 0; i < y.size(); ++i)
            if (!(classes[i] >= 0 && classes[i] <= static_cast<double>(last))) throw nb::value_error("y has a number that is no class");
    }

    std::size_t width() const { return pass.width(table); }

    double evaluate(const Doubles& theta, const std::optional<DoublesOut>& gradient, const std::optional<DoublesOut>& gram, bool expected,
                    std::size_t threads) const {
        const std::size_t width = this->width();
        if (theta.size() != width || (gradient && gradient->size() != width) || (gram && gram->size() != width * width))
            throw nb::value_error("theta, gradient and gram do not fit the table");
        Pass now = pass;
        now.theta = theta.data(), now.expected = expected;
        now.gradient = gradient ? gradient->data() : nullptr;
        now.gram = gram ? gram->data() : nullptr;
        nb::gil_scoped_release release;
        return run(*active, table, now, threads);
    }

    auto newton(const Doubles& bend, const Doubles& centre, double factor, double tol, std::size_t most_steps, const DoublesOut& theta,
                const DoublesOut& gradient, const DoublesOut& hessian, std::size_t threads) const {
        const std::size_t width = this->width();
        if (theta.size() != width || bend.size() != width || centre.size() != width || gradient.size() != width ||
            hessian.size() != width * width)
            throw nb::value_error("theta, penalty, gradient and hessian do not fit the table");
        NewtonEnd end;
        {
            nb::gil_scoped_release release;
            end = neglog::newton(*active, table, pass, bend.data(), centre.data(), factor, tol, most_steps, theta.data(), gradient.data(),
                                 hessian.data(), threads);
        }
        return std::make_tuple(end.converged, end.steps, end.value, end.decrement, end.pivot);
    }

    // ---- one fit for each group of rows ------------------------------------------------------------------------------

    GroupQuestion by_group(const std::optional<Rows>& order, const Rows& starts, const Doubles& bend, const Doubles& centre,
                           const std::optional<Doubles>& unit, double factor) const {
        const std::size_t width = this->width(), count = starts.size() - 1;
        if (!pass.kernel || pass.classes > 1 || pass.response || pass.ordered || !pass.modelled.empty() || !table.sparse.empty() ||
            !table.basis.empty() || (pass.joint && pass.kernel->joint.beside))
            throw nb::value_error("groups are of rows of numbers and levels under a noise of one prediction");
        if (starts.size() < 2 || bend.size() != width || centre.size() != width || (unit && unit->size() != width) ||
            (unit && !pass.open.empty()))
            throw nb::value_error("starts, penalty and units do not fit the table");
        const std::size_t last = order ? order->size() : table.rows;
        for (std::size_t g = 0; g < count; ++g)
            if (starts.data()[g] < 0 || starts.data()[g] > starts.data()[g + 1] || static_cast<std::size_t>(starts.data()[g + 1]) > last)
                throw nb::value_error("groups do not begin one after the other");
        for (std::size_t i = 0; order && i < order->size(); ++i)
            if (order->data()[i] < 0 || static_cast<std::size_t>(order->data()[i]) >= table.rows)
                throw nb::value_error("there is no such row");
        return {*active,
                table,
                pass,
                {order ? order->data() : nullptr, starts.data(), count},
                bend.data(),
                centre.data(),
                unit ? unit->data() : nullptr,
                factor,
                {}};
    }

    void search_groups(const std::optional<Rows>& order, const Rows& starts, const Doubles& bend, const Doubles& centre,
                       const std::optional<Doubles>& unit, double factor, const std::vector<std::tuple<double, double>>& within, double tol,
                       std::size_t most_steps, const Doubles& looked_at, const Doubles& shifts, const DoublesOut& theta,
                       const DoublesOut& value, const DoublesOut& decrement, const DoublesOut& largest, const Rows32Out& steps,
                       const Bytes& ends, const Bytes& held, std::size_t threads) const {
        GroupQuestion question = by_group(order, starts, bend, centre, unit, factor);
        const std::size_t width = this->width(), open = pass.open.size(), count = question.rows.count;
        for (const auto& [low, high] : within) question.ends.push_back({low, high});
        if (within.size() != open || (open && looked_at.size() % open) || shifts.size() != count * open || theta.size() != count * width ||
            value.size() != count || decrement.size() != count || largest.size() != count || steps.size() != count ||
            ends.size() != count || held.size() != count * width)
            throw nb::value_error("outputs do not fit the groups");
        const GroupSearch search{tol,
                                 most_steps,
                                 open ? looked_at.size() / open : 0,
                                 looked_at.data(),
                                 shifts.data(),
                                 theta.data(),
                                 value.data(),
                                 decrement.data(),
                                 largest.data(),
                                 steps.data(),
                                 reinterpret_cast<GroupEnd*>(ends.data()),
                                 held.data()};
        nb::gil_scoped_release release;
        neglog::search_groups(question, search, threads);
    }

    void curvature_of_groups(const std::optional<Rows>& order, const Rows& starts, const Doubles& bend, const Doubles& centre,
                             const std::optional<Doubles>& unit, double factor, const Doubles& theta, const DoublesOut& value,
                             const DoublesOut& variances, const DoublesOut& log_determinant, const std::optional<DoublesOut>& slopes,
                             std::size_t threads) const {
        GroupQuestion question = by_group(order, starts, bend, centre, unit, factor);
        const std::size_t width = this->width(), count = question.rows.count;
        question.ends.assign(pass.open.size(), {-HUGE_VAL, HUGE_VAL});
        if (theta.size() != count * width || value.size() != count || variances.size() != count * width ||
            log_determinant.size() != count || (slopes && (!unit || slopes->size() != 2 * count * width)))
            throw nb::value_error("outputs do not fit the groups");
        const GroupCurvature wanted{theta.data(), value.data(), variances.data(), log_determinant.data(),
                                    slopes ? slopes->data() : nullptr};
        nb::gil_scoped_release release;
        neglog::curvature_of_groups(question, wanted, threads);
    }
};

// Rows by group: a stable counting sort. Returns how many there are of each, as ends of ranges.
void rows_by_group(const Levels& groups, const Rows64Out& starts, const Rows64Out& order) {
    const std::size_t n = groups.size(), count = starts.size() - 1;
    if (starts.size() < 1 || order.size() != n) throw nb::value_error("the outputs do not fit");
    const std::int32_t* of = groups.data();
    std::int64_t *begins = starts.data(), *to = order.data();
    for (std::size_t i = 0; i < n; ++i)
        if (of[i] < 0 || static_cast<std::size_t>(of[i]) >= count) throw nb::value_error("there is no such group");
    nb::gil_scoped_release release;
    std::fill_n(begins, count + 1, 0);
    for (std::size_t i = 0; i < n; ++i) ++begins[of[i] + 1];
    for (std::size_t g = 0; g < count; ++g) begins[g + 1] += begins[g];
    std::vector<std::int64_t> next(begins, begins + count);
    for (std::size_t i = 0; i < n; ++i) to[next[static_cast<std::size_t>(of[i])]++] = static_cast<std::int64_t>(i);
}

// A sampler calls the C functions at the addresses of the returned object, with the object's own.
Density density(const Problem& problem, double factor, const Doubles& bend, const Doubles& slope, const Doubles& centre,
                const Doubles& turn) {
    const std::size_t open = problem.pass.open.size(), n = problem.width() - open;
    if (slope.size() != n || bend.size() != n * n || centre.size() != open || turn.size() != open * n)
        throw nb::value_error("bend, slope, centre and turn do not fit the table");
    const auto kept = [](const Doubles& array) { return std::vector<double>(array.data(), array.data() + array.size()); };
    return {*active, problem.table, problem.pass, factor, kept(bend), kept(slope), kept(centre), kept(turn)};
}

template <class Pointer>
std::uintptr_t address(Pointer pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

void predict_rows(const OwningTable& table, const Doubles& theta, std::size_t classes, const std::optional<Input>& offset,
                  const DoublesOut& eta, std::size_t threads) {
    if (theta.size() != table.columns(false) * classes || eta.size() != table.rows * classes)
        throw nb::value_error("theta and eta do not fit the table");
    const Source offsets = offset ? source(*offset, table.rows) : Source{};
    const double* coefficients = theta.data();
    double* to = eta.data();
    nb::gil_scoped_release release;
    predict(*active, table, coefficients, classes, offsets, to, threads);
}

void row_forms(const OwningTable& table, const Doubles& matrix, const DoublesOut& out, std::size_t threads) {
    const std::size_t columns = table.columns(false);
    if (matrix.size() != columns * columns || out.size() != table.rows || !table.sparse.empty())
        throw nb::value_error("matrix and forms do not fit the table");
    nb::gil_scoped_release release;
    quadratic_forms(*active, table, matrix.data(), out.data(), threads);
}

}  // namespace

void define_tables(nb::module_& m) {
    nb::class_<OwningTable>(m, "Table")
        .def(nb::init<std::size_t, bool>(), "rows"_a, "intercept"_a)
        .def("add_dense", &OwningTable::add_dense, "values"_a, "centre"_a)
        .def("add_codes", &OwningTable::add_codes, "codes"_a, "first"_a, "columns"_a)
        .def("add_basis", &OwningTable::add_basis, "factors"_a, "levels"_a.none(), "count"_a, "turn"_a)
        .def("add_sparse", &OwningTable::add_sparse, "starts"_a, "indices"_a, "values"_a, "columns"_a);
    m.def("rows_by_group", &rows_by_group, "groups"_a, "starts"_a, "order"_a);
    m.def("pieces_of", &pieces_of, "x"_a, "breaks"_a, "out"_a);
    m.def("row_forms", &row_forms, "table"_a, "matrix"_a, "out"_a, "threads"_a);
    m.def("predict_rows", &predict_rows, "table"_a, "theta"_a, "classes"_a, "offset"_a.none(), "eta"_a, "threads"_a);
    nb::class_<Problem>(m, "Problem")
        .def(nb::init<const OwningTable&, const std::string&, const std::string&, const Input&, const std::optional<Input>&,
                      const std::optional<Input>&, const std::vector<Input>&, const std::optional<std::vector<std::size_t>>&, bool, double,
                      std::size_t, const std::vector<std::size_t>&, const std::vector<std::tuple<double, double>>&, bool>(),
             nb::keep_alive<1, 2>(), "table"_a, "family"_a, "link"_a, "y"_a, "weight"_a.none(), "offset"_a.none(), "parameters"_a,
             "found"_a.none(), "response"_a, "response_centre"_a, "classes"_a, "modelled"_a = std::vector<std::size_t>{},
             "ends"_a = std::vector<std::tuple<double, double>>{}, "ordered"_a = false)
        .def("newton", &Problem::newton, "bend"_a, "centre"_a, "factor"_a, "tol"_a, "most_steps"_a, "theta"_a, "gradient"_a, "hessian"_a,
             "threads"_a)
        .def("search_groups", &Problem::search_groups, "order"_a.none(), "starts"_a, "bend"_a, "centre"_a, "unit"_a.none(), "factor"_a,
             "within"_a, "tol"_a, "most_steps"_a, "looked_at"_a, "shifts"_a, "theta"_a, "value"_a, "decrement"_a, "largest"_a, "steps"_a,
             "ends"_a, "held"_a, "threads"_a)
        .def("curvature_of_groups", &Problem::curvature_of_groups, "order"_a.none(), "starts"_a, "bend"_a, "centre"_a, "unit"_a.none(),
             "factor"_a, "theta"_a, "value"_a, "variances"_a, "log_determinant"_a, "slopes"_a.none(), "threads"_a)
        .def("evaluate", &Problem::evaluate, "theta"_a, "gradient"_a.none(), "gram"_a.none(), "expected"_a, "threads"_a);
    nb::class_<Density>(m, "Density").def_prop_ro("log_density", [](const Density&) {
        return address(&log_density);
    }).def_prop_ro("same_draw", [](const Density&) {
        return address(&same_draw);
    }).def_prop_ro("data", [](const Density& law) { return address(&law); });
    m.def("density", &density, nb::keep_alive<0, 1>(), "problem"_a, "factor"_a, "bend"_a, "slope"_a, "centre"_a, "turn"_a);
}

}  // namespace neglog

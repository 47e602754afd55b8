// Bindings, nothing else: arrays in, loops of the chosen instruction set, arrays out.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "absolute.hpp"
#include "blocks.hpp"
#include "columns.hpp"
#include "density.hpp"
#include "kernels.hpp"
#include "newton.hpp"
#include "passes.hpp"
#include "ridge.hpp"
#include "systems.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace neglog {
namespace {

const InstructionSet* active = instruction_set();

using Input = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using DoublesOut = nb::ndarray<double, nb::c_contig, nb::device::cpu>;

bool is_single(const nb::dlpack::dtype& type) {
    if (type == nb::dtype<float>()) return true;
    if (type == nb::dtype<double>()) return false;
    throw nb::type_error("arrays must be float32 or float64");
}

Source source(const Input& array, std::size_t n) {
    if (array.size() != n && array.size() != 1) throw nb::value_error("an input has neither one element nor as many as the output");
    return {array.data(), is_single(array.dtype()), array.size() != n};
}

Sink sink(const Output& array, std::size_t n) {
    if (array.size() != n) throw nb::value_error("the outputs differ in size");
    return {array.data(), is_single(array.dtype())};
}

const Kernel& find_kernel(const std::string& family, const std::string& link) {
    for (const Kernel& kernel : active->kernels)
        if (family == kernel.family && link == kernel.link) return kernel;
    throw nb::key_error((family + " has no kernel for the link " + link).c_str());
}

struct Inputs {
    Source y, eta, p0, p1;
};

Inputs inputs(const Input& y, const Input& eta, const std::vector<Input>& parameters, std::size_t n) {
    if (parameters.size() > 2) throw nb::value_error("at most two parameters");
    return {source(y, n), source(eta, n), parameters.size() > 0 ? source(parameters[0], n) : Source{},
            parameters.size() > 1 ? source(parameters[1], n) : Source{}};
}

void nll(const std::string& family, const std::string& link, const Input& y, const Input& eta,
         const std::vector<Input>& parameters, const Input& constant, const Output& out, std::size_t threads) {
    const NllLoop loop = find_kernel(family, link).nll;
    const std::size_t n = out.size();
    const Inputs in = inputs(y, eta, parameters, n);
    const Source constants = source(constant, n);
    const Sink to = sink(out, n);
    nb::gil_scoped_release release;
    in_threads(n, threads, [&](std::size_t begin, std::size_t end) {
        SourceBlock ys(in.y), etas(in.eta), p0s(in.p0), p1s(in.p1), shifts(constants);
        SinkBlock outs(to);
        for (; begin < end; begin += block_size) {
            const std::size_t m = std::min(block_size, end - begin);
            double* values = outs.at(begin);
            const double* shift = shifts.at(begin, m);
            loop(m, ys.at(begin, m), etas.at(begin, m), p0s.at(begin, m), p1s.at(begin, m), values);
            for (std::size_t i = 0; i < m; ++i) values[i] += shift[i];
            outs.write(begin, m);
        }
    });
}

void slopes(const std::string& family, const std::string& link, bool expected, const Input& y, const Input& eta,
            const std::vector<Input>& parameters, const Output& gradient, const Output& hessian, double least, std::size_t threads) {
    const Kernel& kernel = find_kernel(family, link);
    const SlopesLoop loop = expected ? kernel.expected : kernel.observed;
    const std::size_t n = gradient.size();
    const Inputs in = inputs(y, eta, parameters, n);
    const Sink to_gradient = sink(gradient, n), to_hessian = sink(hessian, n);
    nb::gil_scoped_release release;
    in_threads(n, threads, [&](std::size_t begin, std::size_t end) {
        SourceBlock ys(in.y), etas(in.eta), p0s(in.p0), p1s(in.p1);
        SinkBlock gradients(to_gradient), hessians(to_hessian);
        for (; begin < end; begin += block_size) {
            const std::size_t m = std::min(block_size, end - begin);
            double* bends = hessians.at(begin);
            loop(m, ys.at(begin, m), etas.at(begin, m), p0s.at(begin, m), p1s.at(begin, m), gradients.at(begin), bends);
            for (std::size_t i = 0; i < m; ++i) bends[i] = bends[i] < least ? least : bends[i];  // NaN stays
            gradients.write(begin, m);
            hessians.write(begin, m);
        }
    });
}

void tweedie_slopes(const Input& y, const Input& mean, const Input& power, const Input& dispersion, const Output& nll_out,
                    const Output& d_mean, const Output& d_power, const Output& d_dispersion, std::size_t threads) {
    const std::size_t n = nll_out.size();
    const Source in[] = {source(y, n), source(mean, n), source(power, n), source(dispersion, n)};
    const Sink to[] = {sink(nll_out, n), sink(d_mean, n), sink(d_power, n), sink(d_dispersion, n)};
    nb::gil_scoped_release release;
    in_threads(n, threads, [&](std::size_t begin, std::size_t end) {
        SourceBlock ys(in[0]), means(in[1]), powers(in[2]), dispersions(in[3]);
        SinkBlock nlls(to[0]), mean_slopes(to[1]), power_slopes(to[2]), dispersion_slopes(to[3]);
        for (; begin < end; begin += block_size) {
            const std::size_t m = std::min(block_size, end - begin);
            active->tweedie_slopes(m, ys.at(begin, m), means.at(begin, m), powers.at(begin, m), dispersions.at(begin, m),
                                   nlls.at(begin), mean_slopes.at(begin), power_slopes.at(begin), dispersion_slopes.at(begin));
            for (SinkBlock* block : {&nlls, &mean_slopes, &power_slopes, &dispersion_slopes}) block->write(begin, m);
        }
    });
}

void half_deviance(const Input& y, const Input& mean, const Input& power, const Output& out, std::size_t threads) {
    const std::size_t n = out.size();
    const Source in[] = {source(y, n), source(mean, n), source(power, n)};
    const Sink to = sink(out, n);
    nb::gil_scoped_release release;
    in_threads(n, threads, [&](std::size_t begin, std::size_t end) {
        SourceBlock ys(in[0]), means(in[1]), powers(in[2]);
        SinkBlock outs(to);
        for (; begin < end; begin += block_size) {
            const std::size_t m = std::min(block_size, end - begin);
            active->half_deviance(m, ys.at(begin, m), means.at(begin, m), powers.at(begin, m), outs.at(begin));
            outs.write(begin, m);
        }
    });
}

template <void (*InstructionSet::*member)(std::size_t, const double*, double*)>
void unary(const Doubles& x, const DoublesOut& out) {
    if (x.size() != out.size()) throw nb::value_error("x and out differ in size");
    (active->*member)(out.size(), x.data(), out.data());
}

// Rows of classes: the last axis of p (and q, of the same shape) is summed.
using RowLoop = void (*InstructionSet::*)(std::size_t, std::size_t, const double*, const double*, double*);

template <RowLoop member>
void over_rows(const Doubles& p, const Doubles& q, const DoublesOut& out, std::size_t threads) {
    const std::size_t rows = out.size(), width = rows ? p.size() / rows : 0;
    if (p.size() != q.size() || rows * width != p.size()) throw nb::value_error("p, q and out do not fit");
    const double *p_data = p.data(), *q_data = q.data();
    double* to = out.data();
    nb::gil_scoped_release release;
    in_threads(rows, threads, [=](std::size_t begin, std::size_t end) {
        (active->*member)(end - begin, width, p_data + begin * width, q_data + begin * width, to + begin);
    });
}

void softmax(const Doubles& y, const Doubles& eta, const DoublesOut& nll_out, const DoublesOut& gradient, std::size_t threads) {
    const std::size_t rows = nll_out.size(), width = rows ? eta.size() / rows : 0;
    if (y.size() != rows || eta.size() != gradient.size() || rows * width != eta.size())
        throw nb::value_error("y, eta and the outputs do not fit");
    const double *y_data = y.data(), *eta_data = eta.data();
    double *to_nll = nll_out.data(), *to_gradient = gradient.data();
    nb::gil_scoped_release release;
    in_threads(rows, threads, [=](std::size_t begin, std::size_t end) {
        active->softmax(end - begin, width, y_data + begin, eta_data + begin * width, to_nll + begin, to_gradient + begin * width);
    });
}

// ---- passes over a table ---------------------------------------------------------------------------------------------

using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;
using Integers = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

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

    OwningTable(std::size_t row_count, bool with_intercept) { rows = row_count, intercept = with_intercept; }

    void add_dense(const AnyArray& values, const Doubles& centre) {
        if (values.ndim() != 2 || values.shape(0) != rows || centre.size() != values.shape(1)) throw nb::value_error("a dense block does not fit");
        dense.push_back({values.data(), is_single(values.dtype()), values.stride(0), values.stride(1), values.shape(1), centre.data()});
        arrays.push_back(values), centres.push_back(centre);
    }
    void add_codes(const nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& levels, std::int32_t first,
                   std::size_t columns) {
        if (levels.size() != rows) throw nb::value_error("a block of codes does not fit");
        codes.push_back({levels.data(), first, columns});
        integers.push_back(Integers(levels));
    }
    void add_sparse(const Integers& starts, const Integers& indices, const Input& values, std::size_t columns) {
        if (starts.size() != rows + 1 || indices.size() != values.size()) throw nb::value_error("a sparse block does not fit");
        sparse.push_back({starts.data(), indices.data(), values.data(), is_wide(starts), is_wide(indices), is_single(values.dtype()), columns});
        integers.push_back(starts), integers.push_back(indices), arrays.push_back(AnyArray(values));
    }
};

// A table with a target and a loss: what is the same in every pass of one fit.
struct Problem {
    const OwningTable& table;
    Pass pass;
    std::vector<Input> inputs;

    // An empty family asks for the Gram matrix of the weights alone, "softmax" for classes.
    Problem(const OwningTable& over, const std::string& family, const std::string& link, const Input& y, const std::optional<Input>& weight,
            const std::optional<Input>& offset, const Input& p0, const Input& p1, bool response, double response_centre, std::size_t classes)
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
        pass.p0 = source(p0, n), pass.p1 = source(p1, n);
        for (const std::optional<Input>& kept : {std::optional<Input>(y), weight, offset, std::optional<Input>(p0), std::optional<Input>(p1)})
            if (kept) inputs.push_back(*kept);
    }

    double evaluate(const Doubles& theta, const std::optional<DoublesOut>& gradient, const std::optional<DoublesOut>& gram, bool expected,
                    std::size_t threads) const {
        const std::size_t width = table.columns(pass.response) * pass.classes;
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
        const std::size_t width = table.columns(pass.response) * pass.classes;
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
};

// A sampler calls the C functions at the addresses of the returned object, with the object's own.
Density density(const Problem& problem, double factor, const Doubles& bend, const Doubles& slope) {
    const std::size_t n = problem.table.columns(problem.pass.response) * problem.pass.classes;
    if (slope.size() != n || bend.size() != n * n) throw nb::value_error("bend and slope do not fit the table");
    return {*active, problem.table, problem.pass, factor, {bend.data(), bend.data() + n * n}, {slope.data(), slope.data() + n}};
}

template <class Pointer>
std::uintptr_t address(Pointer pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

void predict_rows(const OwningTable& table, const Doubles& theta, std::size_t classes, const std::optional<Input>& offset,
                  const DoublesOut& eta, std::size_t threads) {
    if (theta.size() != table.columns(false) * classes || eta.size() != table.rows * classes) throw nb::value_error("theta and eta do not fit the table");
    const Source offsets = offset ? source(*offset, table.rows) : Source{};
    const double* coefficients = theta.data();
    double* to = eta.data();
    nb::gil_scoped_release release;
    predict(*active, table, coefficients, classes, offsets, to, threads);
}

// ---- small systems ---------------------------------------------------------------------------------------------------

double solve_system(const Doubles& matrix, const Doubles& right, const DoublesOut& x) {
    const std::size_t n = x.size();
    if (matrix.size() != n * n || right.size() != n) throw nb::value_error("matrix, right and x do not fit");
    nb::gil_scoped_release release;
    return solve_positive(*active, n, matrix.data(), right.data(), x.data());
}

// log of the strength, and the variance of the noise at it
auto ridge(const Doubles& values, const Doubles& squares, double rest, double rows, double variance) {
    if (values.size() != squares.size()) throw nb::value_error("values and squares do not fit");
    const RidgeProblem problem{values.size(), values.data(), squares.data(), rest, rows, variance};
    nb::gil_scoped_release release;
    const double log_strength = strongest_evidence(problem);
    return std::make_tuple(log_strength, ridge_variance(problem, std::exp(log_strength)));
}

std::size_t descend(const Doubles& curvature, const Doubles& slope, const Doubles& lambda, const Doubles& kink, double tolerance,
                    std::size_t most_sweeps, const DoublesOut& x) {
    const std::size_t n = x.size();
    if (curvature.size() != n * n || slope.size() != n || lambda.size() != n || kink.size() != n) throw nb::value_error("the arrays do not fit");
    nb::gil_scoped_release release;
    return coordinate_descent(*active, n, curvature.data(), slope.data(), lambda.data(), kink.data(), tolerance, most_sweeps, x.data());
}

// ---- sparse columns --------------------------------------------------------------------------------------------------

// The weighted sum of the loss of rows whose raw predictions are known, and the two derivatives of each.
double row_losses(const std::string& family, const std::string& link, const Input& y, const Doubles& eta, const std::optional<Input>& weight,
                  const Input& p0, const Input& p1, const DoublesOut& gradient, const DoublesOut& hessian, std::size_t threads) {
    const LossLoop loop = find_kernel(family, link).observed_loss;
    const std::size_t n = eta.size(), blocks = (n + block_size - 1) / block_size;
    if (gradient.size() != n || hessian.size() != n) throw nb::value_error("eta, gradient and hessian differ in size");
    const Source ys = source(y, n), p0s = source(p0, n), p1s = source(p1, n), weights = weight ? source(*weight, n) : Source{};
    std::vector<double> sums(blocks, 0.0);  // block by block: the same for any number of threads
    const double* raw = eta.data();
    double *slope = gradient.data(), *bend = hessian.data();
    {
        nb::gil_scoped_release release;
        in_threads(n, threads, [&](std::size_t begin, std::size_t end) {
            SourceBlock y_block(ys), p0_block(p0s), p1_block(p1s), weight_block(weights);
            std::vector<double> values(block_size);
            for (; begin < end; begin += block_size) {
                const std::size_t m = std::min(block_size, end - begin);
                loop(m, y_block.at(begin, m), raw + begin, p0_block.at(begin, m), p1_block.at(begin, m), values.data(), slope + begin, bend + begin);
                double sum = 0.0;
                if (weights.data) {
                    const double* w = weight_block.at(begin, m);
                    for (std::size_t i = 0; i < m; ++i) {
                        sum += w[i] == 0 ? 0.0 : w[i] * values[i];
                        slope[begin + i] = w[i] == 0 ? 0.0 : w[i] * slope[begin + i];
                        bend[begin + i] = w[i] == 0 ? 0.0 : w[i] * bend[begin + i];
                    }
                } else {
                    for (std::size_t i = 0; i < m; ++i) sum += values[i];
                }
                sums[begin / block_size] = sum;
            }
        });
    }
    double total = 0.0;
    for (const double sum : sums) total += sum;
    return total;
}

using Chosen = nb::ndarray<const std::int64_t, nb::c_contig, nb::device::cpu>;

template <class Index>
using Indices = nb::ndarray<const Index, nb::c_contig, nb::device::cpu>;

template <class Index>
void products_of(const Indices<Index>& starts, const Indices<Index>& indices, const Doubles& values, const std::optional<Chosen>& chosen,
                 const Doubles& x, const DoublesOut& out, std::size_t threads) {
    if (chosen ? chosen->size() != out.size() : starts.size() != out.size() + 1) throw nb::value_error("the columns do not fit the output");
    const SparseColumns<Index> columns{x.size(), starts.data(), indices.data(), values.data()};
    nb::gil_scoped_release release;
    column_products(columns, out.size(), chosen ? chosen->data() : nullptr, x.data(), out.data(), threads);
}

template <class Index>
auto descent_of(const Indices<Index>& starts, const Indices<Index>& indices, const Doubles& values, const Chosen& chosen, const Doubles& weight,
                const Doubles& slope, const Doubles& bend, const Doubles& strength, const Doubles& kink, std::optional<double> slope0,
                double tolerance, std::size_t most_sweeps, const DoublesOut& x, const DoublesOut& change) {
    const std::size_t n = x.size();
    if (chosen.size() != n || slope.size() != n || bend.size() != n || strength.size() != n || kink.size() != n || weight.size() != change.size())
        throw nb::value_error("the arrays do not fit");
    const SparseColumns<Index> columns{weight.size(), starts.data(), indices.data(), values.data()};
    const LassoModel model{n, chosen.data(), weight.data(), slope.data(), bend.data(), strength.data(), kink.data(), slope0.has_value(), slope0.value_or(0.0)};
    LassoEnd end;
    {
        nb::gil_scoped_release release;
        end = sparse_descent(columns, model, tolerance, most_sweeps, x.data(), change.data());
    }
    return std::make_tuple(end.gain, end.step0, end.sweeps);
}

// ---- the absolute loss -----------------------------------------------------------------------------------------------

template <class Number>
nb::ndarray<nb::numpy, Number, nb::ndim<1>> owned(std::vector<Number> values) {
    auto* kept = new std::vector<Number>(std::move(values));
    const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<Number>*>(p); });
    return {kept->data(), {kept->size()}, owner};
}

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Array>
bool is_finite(const Array& array) {
    bool finite = true;
    for (std::size_t i = 0; i < array.size(); ++i) finite &= array.data()[i] - array.data()[i] == 0;
    return finite;
}

auto absolute_minimum(const Matrix& x, const Vector& y, const Vector& w, const Vector& linear, const std::optional<Vector>& start,
                      const std::optional<Vector>& strength, const std::optional<Vector>& centre) {
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
    Vertex vertex;
    {
        nb::gil_scoped_release release;
        vertex = strength && centre ? absolute_ridge(problem, {strength->data(), centre->data()}, first, active->absolute)
                                    : absolute_vertex(problem, first, active->absolute);
    }
    return std::make_tuple(owned(std::move(vertex.theta)), owned(std::vector<std::int64_t>(vertex.basis.begin(), vertex.basis.end())),
                           owned(std::move(vertex.dual)), vertex.pivots, static_cast<int>(vertex.status));
}

auto absolute_vertex_of(const Matrix& x, const Vector& y, const Vector& w, const Vector& linear, const std::optional<Vector>& start) {
    return absolute_minimum(x, y, w, linear, start, std::nullopt, std::nullopt);
}

template <class Index>
void define_columns(nb::module_& m) {
    m.def("column_products", &products_of<Index>, "starts"_a, "indices"_a, "values"_a, "chosen"_a.none(), "x"_a, "out"_a, "threads"_a);
    m.def("sparse_descent", &descent_of<Index>, "starts"_a, "indices"_a, "values"_a, "chosen"_a, "weight"_a, "slope"_a, "bend"_a,
          "strength"_a, "kink"_a, "slope0"_a.none(), "tolerance"_a, "most_sweeps"_a, "x"_a, "change"_a);
}

}  // namespace
}  // namespace neglog

NB_MODULE(_core, m) {
    using namespace neglog;
    m.def("instruction_set", [] { return std::string(active->name); });
    m.def("use_instruction_set", [](const std::string& name) {
        const InstructionSet* chosen = instruction_set(name.c_str());
        if (!chosen) throw nb::value_error(("this processor or build has no instruction set '" + name + "'").c_str());
        active = chosen;
    }, "name"_a);
    m.def("links", [](const std::string& family) {
        std::vector<std::string> names;
        for (const Kernel& kernel : active->kernels)
            if (family == kernel.family) names.emplace_back(kernel.link);
        return names;
    }, "family"_a);
    m.def("nll", &nll, "family"_a, "link"_a, "y"_a, "eta"_a, "parameters"_a, "constant"_a, "out"_a, "threads"_a);
    m.def("slopes", &slopes, "family"_a, "link"_a, "expected"_a, "y"_a, "eta"_a, "parameters"_a, "gradient"_a, "hessian"_a, "least"_a,
          "threads"_a);
    m.def("tweedie_slopes", &tweedie_slopes, "y"_a, "mean"_a, "power"_a, "dispersion"_a, "nll"_a, "d_mean"_a, "d_power"_a,
          "d_dispersion"_a, "threads"_a);
    m.def("half_deviance", &half_deviance, "y"_a, "mean"_a, "power"_a, "out"_a, "threads"_a);
    m.def("stirling_error", &unary<&InstructionSet::stirling_error>, "x"_a, "out"_a);
    m.def("stirling_error_slope", &unary<&InstructionSet::stirling_error_slope>, "x"_a, "out"_a);
    m.def("entropy", &over_rows<&InstructionSet::entropy>, "p"_a, "q"_a, "out"_a, "threads"_a);
    m.def("divergence", &over_rows<&InstructionSet::divergence>, "p"_a, "q"_a, "out"_a, "threads"_a);
    m.def("row_sum", &over_rows<&InstructionSet::row_sum>, "p"_a, "q"_a, "out"_a, "threads"_a);
    m.def("absolute_vertex", &absolute_vertex_of, "X"_a, "y"_a, "w"_a, "linear"_a, "start"_a.none());
    m.def("absolute_ridge", &absolute_minimum, "X"_a, "y"_a, "w"_a, "linear"_a, "start"_a.none(), "strength"_a, "centre"_a);
    m.def("softmax", &softmax, "y"_a, "eta"_a, "nll"_a, "gradient"_a, "threads"_a);
    nb::class_<OwningTable>(m, "Table")
        .def(nb::init<std::size_t, bool>(), "rows"_a, "intercept"_a)
        .def("add_dense", &OwningTable::add_dense, "values"_a, "centre"_a)
        .def("add_codes", &OwningTable::add_codes, "codes"_a, "first"_a, "columns"_a)
        .def("add_sparse", &OwningTable::add_sparse, "starts"_a, "indices"_a, "values"_a, "columns"_a);
    m.def("solve_positive", &solve_system, "matrix"_a, "right"_a, "x"_a);
    m.def("ridge", &ridge, "values"_a, "squares"_a, "rest"_a, "rows"_a, "variance"_a);
    m.def("coordinate_descent", &descend, "curvature"_a, "slope"_a, "strength"_a, "kink"_a, "tolerance"_a, "most_sweeps"_a, "x"_a);
    m.def("row_losses", &row_losses, "family"_a, "link"_a, "y"_a, "eta"_a, "weight"_a.none(), "p0"_a, "p1"_a, "gradient"_a, "hessian"_a,
          "threads"_a);
    define_columns<std::int32_t>(m);
    define_columns<std::int64_t>(m);
    m.def("predict_rows", &predict_rows, "table"_a, "theta"_a, "classes"_a, "offset"_a.none(), "eta"_a, "threads"_a);
    nb::class_<Problem>(m, "Problem")
        .def(nb::init<const OwningTable&, const std::string&, const std::string&, const Input&, const std::optional<Input>&,
                      const std::optional<Input>&, const Input&, const Input&, bool, double, std::size_t>(),
             nb::keep_alive<1, 2>(), "table"_a, "family"_a, "link"_a, "y"_a, "weight"_a.none(), "offset"_a.none(), "p0"_a, "p1"_a,
             "response"_a, "response_centre"_a, "classes"_a)
        .def("newton", &Problem::newton, "bend"_a, "centre"_a, "factor"_a, "tol"_a, "most_steps"_a, "theta"_a, "gradient"_a, "hessian"_a,
             "threads"_a)
        .def("evaluate", &Problem::evaluate, "theta"_a, "gradient"_a.none(), "gram"_a.none(), "expected"_a, "threads"_a);
    nb::class_<Density>(m, "Density")
        .def_prop_ro("log_density", [](const Density&) { return address(&log_density); })
        .def_prop_ro("same_draw", [](const Density&) { return address(&same_draw); })
        .def_prop_ro("data", [](const Density& law) { return address(&law); });
    m.def("density", &density, nb::keep_alive<0, 1>(), "problem"_a, "factor"_a, "bend"_a, "slope"_a);
}

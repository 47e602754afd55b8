// Elementwise functions of the laws, and of rows of classes.

#include <cstdint>

#include "arrays.hpp"

namespace neglog {
namespace {

struct Inputs {
    Source y, eta;
    std::vector<Source> parameters;
};

Inputs inputs(const Input& y, const Input& eta, const std::vector<Input>& parameters, std::size_t n) {
    return {source(y, n), source(eta, n), sources(parameters, n)};
}

// A kernel of cells reads the upper ends after the parameters: they must be there.
const Kernel& kernel_of(const std::string& family, const std::string& link, const std::vector<Input>& parameters) {
    const Kernel& kernel = find_kernel(family, link);
    if (kernel.joint.beside && parameters.size() + 1 != kernel.joint.variables + kernel.joint.beside)
        throw nb::value_error("cells need all raw parameters of a noise, and their upper ends");
    return kernel;
}

void nll(const std::string& family, const std::string& link, const Input& y, const Input& eta, const std::vector<Input>& parameters,
         const Input& constant, const Output& out, std::size_t threads) {
    const NllLoop loop = kernel_of(family, link, parameters).nll;
    const std::size_t n = out.size();
    const Inputs in = inputs(y, eta, parameters, n);
    const Source constants = source(constant, n);
    const Sink to = sink(out, n);
    nb::gil_scoped_release release;
    in_threads(n, threads, [&](std::size_t begin, std::size_t end) {
        SourceBlock ys(in.y), etas(in.eta), shifts(constants);
        ParameterBlocks p(in.parameters.data(), in.parameters.size());
        SinkBlock outs(to);
        for (; begin < end; begin += block_size) {
            const std::size_t m = std::min(block_size, end - begin);
            double* values = outs.at(begin);
            const double* shift = shifts.at(begin, m);
            loop(m, ys.at(begin, m), etas.at(begin, m), p.at(begin, m), values);
            for (std::size_t i = 0; i < m; ++i) values[i] += shift[i];
            outs.write(begin, m);
        }
    });
}

using TeamAddresses = std::optional<std::tuple<std::uintptr_t, std::uintptr_t, std::uintptr_t, unsigned>>;

std::optional<Team> team_at(const TeamAddresses& addresses) {
    if (!addresses) return std::nullopt;
    const auto [parallel, number, size, threads] = *addresses;
    return Team{reinterpret_cast<decltype(Team::parallel)>(parallel), reinterpret_cast<decltype(Team::number)>(number),
                reinterpret_cast<decltype(Team::size)>(size), threads};
}

// Without a `hessian` the gradient alone.
void slopes(const std::string& family, const std::string& link, bool expected, const Input& y, const Input& eta,
            const std::vector<Input>& parameters, const Input& weight, double least, const Output& gradient,
            const std::optional<Output>& hessian, std::size_t threads, const TeamAddresses& team) {
    const Kernel& kernel = kernel_of(family, link, parameters);
    const SlopesLoops& loops = expected ? kernel.expected : kernel.observed;
    const std::size_t n = gradient.size();
    const Inputs in = inputs(y, eta, parameters, n);
    const Source weights = source(weight, n);
    const Sink to_gradient = sink(gradient, n), to_hessian = hessian ? sink(*hessian, n) : Sink{};
    const std::optional<Team> others = team_at(team);
    const auto run = [&]<class Label, class Raw, class Slope>(SlopesLoop<Label, Raw, Slope> loop) {
        in_threads(n, threads, others, [&](std::size_t begin, std::size_t end) {
            SourceBlockOf<Label> ys(in.y);
            SourceBlockOf<Raw> etas(in.eta);
            SourceBlock ws(weights);
            ParameterBlocks p(in.parameters.data(), in.parameters.size());
            SinkBlockOf<Slope> gradients(to_gradient), hessians(to_hessian);
            for (; begin < end; begin += block_size) {
                const std::size_t m = std::min(block_size, end - begin);
                loop(m, ys.at(begin, m), etas.at(begin, m), p.at(begin, m), ws.at(begin, m), least, gradients.at(begin),
                     hessians.at(begin));
                gradients.write(begin, m);
                hessians.write(begin, m);
            }
        });
    };
    const bool for_trainers = in.y.single_precision && to_gradient.single_precision && (!hessian || to_hessian.single_precision);
    nb::gil_scoped_release release;
    if (!for_trainers)
        run(loops.in_doubles);
    else if (in.eta.single_precision)
        run(loops.in_singles);
    else
        run(loops.mixed);
}

// All raw parameters at once: the nll, slopes (variables x rows) and, if wanted, second derivatives (pairs x rows).
void joint(const std::string& family, const std::string& link, const Input& y, const Input& eta, const std::vector<Input>& parameters,
           const DoublesOut& nll_out, const DoublesOut& slopes_out, const std::optional<DoublesOut>& bends_out, std::size_t threads) {
    const JointLoops& loops = kernel_of(family, link, parameters).joint;
    const std::size_t n = nll_out.size(), variables = loops.variables;
    if (slopes_out.size() != n * variables || (bends_out && bends_out->size() != n * variables * (variables + 1) / 2))
        throw nb::value_error("the outputs do not fit the parameters of the noise");
    const Inputs in = inputs(y, eta, parameters, n);
    double *nlls = nll_out.data(), *slopes = slopes_out.data(), *bends = bends_out ? bends_out->data() : nullptr;
    const JointLoop loop = bends ? loops.curvatures : loops.slopes;
    nb::gil_scoped_release release;
    in_threads(n, threads, [&](std::size_t begin, std::size_t end) {
        SourceBlock ys(in.y), etas(in.eta);
        ParameterBlocks p(in.parameters.data(), in.parameters.size());
        for (; begin < end; begin += block_size) {
            const std::size_t m = std::min(block_size, end - begin);
            loop(m, n, ys.at(begin, m), etas.at(begin, m), p.at(begin, m), nlls + begin, slopes + begin, bends ? bends + begin : nullptr);
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
            active->tweedie_slopes(m, ys.at(begin, m), means.at(begin, m), powers.at(begin, m), dispersions.at(begin, m), nlls.at(begin),
                                   mean_slopes.at(begin), power_slopes.at(begin), dispersion_slopes.at(begin));
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

template <class Number>
using Rows = nb::ndarray<Number, nb::ndim<2>, nb::device::cpu>;  // with any strides

// For trainers of trees: p - e_y, and `factor` times p (1 - p), times weights; second ones at least `least`.
template <class Number>
void class_slopes(const Input& y, const Rows<const Number>& eta, const Input& weight, double factor, double least,
                  const Rows<float>& gradient, const Rows<float>& hessian, std::size_t threads, const TeamAddresses& team) {
    const std::size_t rows = gradient.shape(0), classes = gradient.shape(1);
    for (std::size_t axis : {0, 1})
        if (eta.shape(axis) != gradient.shape(axis) || eta.shape(axis) != hessian.shape(axis))
            throw nb::value_error("eta and the outputs differ in shape");
    const Source labels = source(y, rows), weights = source(weight, rows);
    const std::optional<Team> others = team_at(team);
    const std::size_t at_once = std::clamp<std::size_t>(8192 / std::max<std::size_t>(classes, 1), 8, block_size);
    nb::gil_scoped_release release;
    in_threads(rows, threads, others, [&](std::size_t begin, std::size_t end) {
        SourceBlock ys(labels), ws(weights);
        std::vector<double> room((3 * classes + 1) * at_once);
        for (; begin < end; begin += at_once) {
            const std::size_t m = std::min(at_once, end - begin), size = m * classes;
            double *etas = room.data(), *p = etas + size, *bend = p + size, *nll = bend + size;
            for (std::size_t k = 0; k < classes; ++k)
                for (std::size_t i = 0; i < m; ++i) etas[k * m + i] = eta(begin + i, k);
            const double *of_rows = ys.at(begin, m), *by = ws.at(begin, m);
            active->softmax_panel(m, classes, of_rows, etas, nll, p);
            active->class_slopes_panel(m, classes, of_rows, by, factor, least, p, bend, nll);
            for (std::size_t k = 0; k < classes; ++k)
                for (std::size_t i = 0; i < m; ++i) {
                    gradient(begin + i, k) = static_cast<float>(p[k * m + i]);
                    hessian(begin + i, k) = static_cast<float>(bend[k * m + i]);
                }
        }
    });
}

}  // namespace

void define_functions(nb::module_& m) {
    m.def("nll", &nll, "family"_a, "link"_a, "y"_a, "eta"_a, "parameters"_a, "constant"_a, "out"_a, "threads"_a);
    m.def("slopes", &slopes, "family"_a, "link"_a, "expected"_a, "y"_a, "eta"_a, "parameters"_a, "weight"_a, "least"_a, "gradient"_a,
          "hessian"_a.none(), "threads"_a, "team"_a.none() = nb::none());
    m.def("joint", &joint, "family"_a, "link"_a, "y"_a, "eta"_a, "parameters"_a, "nll"_a, "slopes"_a, "bends"_a.none(), "threads"_a);
    m.def("tweedie_slopes", &tweedie_slopes, "y"_a, "mean"_a, "power"_a, "dispersion"_a, "nll"_a, "d_mean"_a, "d_power"_a, "d_dispersion"_a,
          "threads"_a);
    m.def("half_deviance", &half_deviance, "y"_a, "mean"_a, "power"_a, "out"_a, "threads"_a);
    m.def("stirling_error", &unary<&InstructionSet::stirling_error>, "x"_a, "out"_a);
    m.def("stirling_error_slope", &unary<&InstructionSet::stirling_error_slope>, "x"_a, "out"_a);
    m.def("stirling_error_bend", &unary<&InstructionSet::stirling_error_bend>, "x"_a, "out"_a);
    m.def("entropy", &over_rows<&InstructionSet::entropy>, "p"_a, "q"_a, "out"_a, "threads"_a);
    m.def("divergence", &over_rows<&InstructionSet::divergence>, "p"_a, "q"_a, "out"_a, "threads"_a);
    m.def("row_sum", &over_rows<&InstructionSet::row_sum>, "p"_a, "q"_a, "out"_a, "threads"_a);
    m.def("class_slopes", &class_slopes<double>, "y"_a, "eta"_a, "weight"_a, "factor"_a, "least"_a, "gradient"_a, "hessian"_a, "threads"_a,
          "team"_a.none());
    m.def("class_slopes", &class_slopes<float>, "y"_a, "eta"_a, "weight"_a, "factor"_a, "least"_a, "gradient"_a, "hessian"_a, "threads"_a,
          "team"_a.none());
    m.def("softmax", &softmax, "y"_a, "eta"_a, "nll"_a, "gradient"_a, "threads"_a);
}

}  // namespace neglog

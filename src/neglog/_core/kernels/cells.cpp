// Noises whose y lies in cells (cells.hpp). A new noise adds its line here to be fitted to censored rows.

#include "../tweedie_cells.hpp"

#include <iterator>

#include "loops.hpp"

namespace neglog {
namespace {

// Rows of one kind, gathered from a block.
template <class F>
struct Gathered {
    static constexpr std::size_t K = 1 + F::parameters;
    std::size_t n = 0, row[joint_rows_at_once];
    double lower[joint_rows_at_once], upper[joint_rows_at_once], m[joint_rows_at_once],
        raw[F::parameters ? F::parameters : 1][joint_rows_at_once];
    double value[joint_rows_at_once], gradient[K * joint_rows_at_once], hessian[triangle(K) * joint_rows_at_once];

    void add(std::size_t i, double low, double high, double at, Parameters p) {
        row[n] = i, lower[n] = low, upper[n] = high, m[n] = at;
        for (std::size_t k = 0; k < F::parameters; ++k) raw[k][n] = p[k][i];
        ++n;
    }
    void scatter(std::size_t stride, double* to_value, double* to_gradient, double* to_hessian) const {
        for (std::size_t i = 0; i < n; ++i) to_value[row[i]] = value[i];
        for (std::size_t k = 0; k < K; ++k)
            for (std::size_t i = 0; i < n; ++i) to_gradient[k * stride + row[i]] = gradient[k * joint_rows_at_once + i];
        for (std::size_t k = 0; k < triangle(K) && to_hessian; ++k)
            for (std::size_t i = 0; i < n; ++i) to_hessian[k * stride + row[i]] = hessian[k * joint_rows_at_once + i];
    }
};

// A guide for a cell: its curvature, but for where that is too small, or none
template <class F>
double cell_guide(double bend, double lower, double upper, double m, const double* raw) {
    const double y = lower > -infinity && F::contains(lower) ? lower : (upper < infinity && F::contains(upper) ? upper : 1.0);
    return larger(bend, 0.01 * F::guide(y, m, raw));
}

template <class F, Wanted wanted>
NEGLOG_VECTOR_LOOP void elementary_cells(Gathered<F>& rows) {
    constexpr std::size_t stride = joint_rows_at_once;
    using J = JetOf<1 + F::parameters, wanted>;
    NEGLOG_INDEPENDENT
    for (std::size_t i = 0; i < rows.n; ++i) {
        J raw[F::parameters];
        double plain[F::parameters];
        unrolled<F::parameters>([&]<std::size_t k>() { plain[k] = rows.raw[k][i], raw[k] = J::variable(plain[k], 1 + k); });
        const J jet = F::cell(rows.lower[i], rows.upper[i], J::variable(rows.m[i], 0), raw);
        const double guide = wanted == Wanted::guide ? cell_guide<F>(jet.second[0], rows.lower[i], rows.upper[i], rows.m[i], plain) : 0.0;
        store<wanted>(jet, guide, i, stride, rows.value, rows.gradient, rows.hessian);
    }
}

template <class F, Wanted wanted>
void other_cells(Gathered<F>& rows) {
    using J = JetOf<1 + F::parameters, wanted>;
    for (std::size_t i = 0; i < rows.n; ++i) {
        J raw[F::parameters ? F::parameters : 1];
        double plain[F::parameters ? F::parameters : 1];
        for (std::size_t k = 0; k < F::parameters; ++k) plain[k] = rows.raw[k][i], raw[k] = J::variable(plain[k], 1 + k);
        const J jet = Cells<F>::nll(rows.lower[i], rows.upper[i], J::variable(rows.m[i], 0), raw);
        const double guide = wanted == Wanted::guide ? cell_guide<F>(jet.second[0], rows.lower[i], rows.upper[i], rows.m[i], plain) : 0.0;
        store<wanted>(jet, guide, i, joint_rows_at_once, rows.value, rows.gradient, rows.hessian);
    }
}

// Values and cells apart: those take the loop of the noise itself.
template <class F, Wanted wanted>
void cells_loop(std::size_t n, std::size_t stride, const double* lower, const double* m, Parameters p, double* value, double* gradient,
                double* hessian) {
    const double* upper = p[F::parameters];
    Gathered<F> exact, cells;
    for (std::size_t i = 0; i < n; ++i) {
        const bool is_value = lower[i] == upper[i] && F::contains(lower[i]);
        (is_value ? exact : cells).add(i, lower[i], upper[i], m[i], p);
    }
    if (exact.n) {
        const double* raw[most_parameters];
        for (std::size_t k = 0; k < F::parameters; ++k) raw[k] = exact.raw[k];
        if constexpr (F::parameters > 0 && !std::is_same_v<F, TweedieFormula>) {  // whose sums leave nothing to vectors
            joint_rows<F, wanted>(exact.n, joint_rows_at_once, exact.lower, exact.m, raw, exact.value, exact.gradient, exact.hessian);
            if constexpr (has_constant<F>)
                add_constants<F, wanted>(exact.n, joint_rows_at_once, raw, exact.value, exact.gradient, exact.hessian);
        } else {
            other_cells<F, wanted>(exact);
        }
        exact.scatter(stride, value, gradient, wanted == Wanted::slopes ? nullptr : hessian);
    }
    if (!cells.n) return;
    if constexpr (requires(double y, const Jet<1 + F::parameters, 2>* jets) { F::cell(y, y, *jets, jets); })
        elementary_cells<F, wanted>(cells);
    else
        other_cells<F, wanted>(cells);
    cells.scatter(stride, value, gradient, wanted == Wanted::slopes ? nullptr : hessian);
}

// What solvers of one prediction ask, of the joint loops.
template <class F>
void cells_nll(std::size_t n, const double* y, const double* eta, Parameters p, double* nll) {
    double gradient[(1 + F::parameters) * joint_rows_at_once];
    cells_loop<F, Wanted::slopes>(n, joint_rows_at_once, y, eta, p, nll, gradient, nullptr);
}
template <class F, Wanted wanted>
void cells_loss(std::size_t n, const double* y, const double* eta, Parameters p, double* value, double* gradient, double* hessian) {
    constexpr std::size_t K = 1 + F::parameters;
    double slopes[K * joint_rows_at_once], bends[triangle(K) * joint_rows_at_once];
    cells_loop<F, wanted>(n, joint_rows_at_once, y, eta, p, value, slopes, bends);
    std::copy_n(slopes, n, gradient), std::copy_n(bends, n, hessian);
}
template <class F, Wanted wanted>
void cells_slopes(std::size_t n, const double* y, const double* eta, Parameters p, const double* weight, double least, double* gradient,
                  double* hessian) {
    double value[joint_rows_at_once], bends[joint_rows_at_once];
    cells_loss<F, wanted>(n, y, eta, p, value, gradient, bends);
    for (std::size_t i = 0; i < n; ++i) gradient[i] *= weight[i];
    for (std::size_t i = 0; i < n && hessian; ++i) hessian[i] = larger(bends[i] * weight[i], least);
}

template <class F>
constexpr Kernel cells_of(const char* family, const char* link) {
    return {family,
            link,
            cells_nll<F>,
            through_doubles<cells_slopes<F, Wanted::curvatures>>,
            through_doubles<cells_slopes<F, Wanted::guide>>,
            cells_loss<F, Wanted::curvatures>,
            cells_loss<F, Wanted::guide>,
            {1 + F::parameters, cells_loop<F, Wanted::slopes>, cells_loop<F, Wanted::curvatures>, cells_loop<F, Wanted::guide>, 1}};
}

}  // namespace

namespace NEGLOG_ISA {

extern const Kernel cell_kernels[];
extern const std::size_t cell_count;
constinit const Kernel cell_kernels[] = {
    cells_of<GaussianFormula>("cells(gaussian)", "identity"),
    cells_of<LaplaceFormula>("cells(laplace)", "identity"),
    cells_of<AsymmetricLaplaceFormula>("cells(asymmetriclaplace)", "identity"),
    cells_of<HuberFormula>("cells(huber)", "identity"),
    cells_of<StudentTFormula>("cells(studentt)", "identity"),
    cells_of<SinhArcsinhFormula>("cells(sinharcsinh)", "identity"),
    cells_of<Changed<LogOf, GaussianFormula>>("cells(lognormal)", "identity"),
    cells_of<PoissonFormula>("cells(poisson)", "log"),
    cells_of<NegativeBinomialFormula>("cells(negativebinomial)", "log"),
    cells_of<GammaFormula>("cells(gamma)", "log"),
    cells_of<WeibullFormula>("cells(weibull)", "log"),
    cells_of<InverseGaussianFormula>("cells(inversegaussian)", "log"),
    cells_of<TweedieFormula>("cells(tweedie)", "log"),
    cells_of<BetaProportionFormula>("cells(betaproportion)", "logit"),
    cells_of<ZeroInflated<PoissonFormula>>("cells(zeroinflated(poisson))", "log"),
    cells_of<ZeroInflated<NegativeBinomialFormula>>("cells(zeroinflated(negativebinomial))", "log"),
    cells_of<Hurdle<PoissonFormula>>("cells(hurdle(poisson))", "log"),
    cells_of<Hurdle<NegativeBinomialFormula>>("cells(hurdle(negativebinomial))", "log"),
    cells_of<Hurdle<GammaFormula>>("cells(hurdle(gamma))", "log"),
    cells_of<Hurdle<WeibullFormula>>("cells(hurdle(weibull))", "log"),
    cells_of<Hurdle<InverseGaussianFormula>>("cells(hurdle(inversegaussian))", "log"),
    cells_of<Hurdle<Changed<LogOf, GaussianFormula>>>("cells(hurdle(lognormal))", "identity"),
    cells_of<Hurdle<Changed<LogOf, StudentTFormula>>>("cells(hurdle(log(studentt)))", "identity"),
    cells_of<Hurdle<Changed<LogOf, SinhArcsinhFormula>>>("cells(hurdle(log(sinharcsinh)))", "identity"),
};
const std::size_t cell_count = std::size(cell_kernels);

}  // namespace NEGLOG_ISA
}  // namespace neglog

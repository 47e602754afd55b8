// One instruction set: its tables of noises, and the loops that know nothing of noises. CMake compiles this folder once per set, with
// NEGLOG_ISA set to its name; dispatch.cpp chooses among the results when the module is imported.

#include "../absolute_loops.hpp"
#include "../basis_loops.hpp"
#include "../kernels.hpp"
#include "../linear.hpp"
#include "../rows.hpp"

#define NEGLOG_STRING2(x) #x
#define NEGLOG_STRING(x) NEGLOG_STRING2(x)

namespace neglog {
namespace {

template <double (*function)(double)>
NEGLOG_VECTOR_LOOP void unary_loop(std::size_t n, const double* __restrict x, double* __restrict out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = function(x[i]);
}

inline double first(double p, double) { return p; }

void softmax_loop(std::size_t rows, std::size_t width, const double* y, const double* eta, double* nll, double* gradient) {
    for (std::size_t i = 0; i < rows; ++i) nll[i] = softmax_row(width, y[i], eta + i * width, gradient + i * width);
}

}  // namespace

namespace NEGLOG_ISA {

extern const Kernel location_kernels[], mean_kernels[], tweedie_kernels[], composed_kernels[], cell_kernels[];
extern const std::size_t location_count, mean_count, tweedie_count, composed_count, cell_count;
void half_deviance_loop(std::size_t n, const double* y, const double* mean, const double* power, double* out);
void tweedie_slopes_loop(std::size_t n, const double* y, const double* mean, const double* power, const double* dispersion, double* nll,
                         double* d_mean, double* d_power, double* d_dispersion);

extern const InstructionSet instruction_set;
constinit const InstructionSet instruction_set = {
    .name = NEGLOG_STRING(NEGLOG_ISA),
    .tables = {{location_kernels, &location_count},
               {mean_kernels, &mean_count},
               {tweedie_kernels, &tweedie_count},
               {composed_kernels, &composed_count},
               {cell_kernels, &cell_count}},
    .stirling_error = unary_loop<stirling_error>,
    .stirling_error_slope = unary_loop<stirling_error_slope>,
    .stirling_error_bend = unary_loop<stirling_error_bend>,
    .half_deviance = half_deviance_loop,
    .tweedie_slopes = tweedie_slopes_loop,
    .entropy = sum_rows<entropy_term>,
    .divergence = sum_rows<divergence_term>,
    .row_sum = sum_rows<first>,
    .softmax = softmax_loop,
    .pack_double = pack<double>,
    .pack_float = pack<float>,
    .multiply = multiply,
    .multiply_transposed = multiply_transposed,
    .multiply_rows = multiply_rows,
    .add_rows = add_rows,
    .weighted_rows = weighted_rows,
    .add_by_level = add_by_level,
    .add_gram = add_gram,
    .basis_factor = basis_factor,
    .basis_times = basis_times,
    .basis_transposed = basis_transposed,
    .basis_by_columns = basis_by_columns,
    .basis_gram = basis_gram,
    .basis_form = basis_form,
    .softmax_panel = softmax_panel,
    .class_slopes_panel = class_slopes_panel,
    .add_products = add_products,
    .dot = dot,
    .absolute = {panels_times, panels_edge, panels_transposed, add_multiple, inner_products},
};

}  // namespace NEGLOG_ISA
}  // namespace neglog

// What the native core offers: loops over contiguous numbers, one table of them per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "basis.hpp"

namespace neglog {

// Of the parameters of a noise beside its location, each an array: as many as its kernel takes, at least two of them readable.
using Parameters = const double* const*;
constexpr std::size_t most_parameters = 8;

// y, eta and parameters in, the nll out. All arrays have n elements.
using NllLoop = void (*)(std::size_t n, const double* y, const double* eta, Parameters p, double* nll);
// Its first two derivatives in eta, times weights; second ones that are then below `least` are raised to it. Without a `hessian`
// the first alone.
template <class Label, class Raw, class Slope>
using SlopesLoop = void (*)(std::size_t n, const Label* y, const Raw* eta, Parameters p, const double* weight, double least,
                            Slope* gradient, Slope* hessian);
struct SlopesLoops {  // computed in doubles, whatever comes and goes
    SlopesLoop<double, double, double> in_doubles;
    SlopesLoop<float, float, float> in_singles;  // XGBoost
    SlopesLoop<float, double, float> mixed;      // LightGBM
};
// Both at once, of the nll without what does not depend on eta: what a solver needs, without logarithms of factorials.
using LossLoop = void (*)(std::size_t n, const double* y, const double* eta, Parameters p, double* value, double* gradient,
                          double* hessian);
// The nll with every constant, its slopes in the prediction and all raw parameters, one column of `stride` numbers each, and the
// second derivatives by pairs: (0,0), (1,0), (1,1), (2,0), ... At most joint_rows_at_once rows at a time.
using JointLoop = void (*)(std::size_t n, std::size_t stride, const double* y, const double* eta, Parameters p, double* value,
                           double* gradient, double* hessian);
constexpr std::size_t joint_rows_at_once = 512;
struct JointLoops {
    std::size_t variables;  // the prediction, and the parameters
    JointLoop slopes, curvatures, guide;
    std::size_t beside = 0;  // arrays after the parameters that nobody differentiates in: upper ends of cells
};

struct Kernel {
    const char* family;
    const char* link;
    NllLoop nll;
    SlopesLoops observed;
    SlopesLoops expected;
    LossLoop observed_loss;
    LossLoop guide_loss;
    JointLoops joint;
    bool squares = false;  // a sum of squares, whose minimum is one step away
    bool steady = true;    // false: the curvature jumps, so that one step says little about the next
};
struct KernelTable {
    const Kernel* first;
    const std::size_t* count;
};

// What the exact solver of the absolute loss is made of; absolute_loops.hpp says what each does.
struct AbsoluteLoops {
    void (*times)(std::size_t panels, std::size_t d, const double* x, const double* v, double* out);
    void (*edge)(std::size_t panels, std::size_t d, const double* x, const double* v, const double* side, const double* residual,
                 double slowest, double* rate, double* time);
    void (*transposed)(std::size_t panels, std::size_t d, const double* x, const double* c, double* lanes, double* out);
    void (*add_multiple)(std::size_t n, double a, const double* x, double* y);
    void (*inner_products)(std::size_t rows, std::size_t d, const double* matrix, const double* x, double* out);
};

struct InstructionSet {
    const char* name;
    KernelTable tables[5];  // of noises: around a location, with a mean, Tweedie, made of others, of cells
    const Kernel* find(const char* family, const char* link) const;  // null if there is none
    void (*stirling_error)(std::size_t n, const double* x, double* out);
    void (*stirling_error_slope)(std::size_t n, const double* x, double* out);
    void (*stirling_error_bend)(std::size_t n, const double* x, double* out);
    void (*half_deviance)(std::size_t n, const double* y, const double* mean, const double* power, double* out);
    void (*tweedie_slopes)(std::size_t n, const double* y, const double* mean, const double* power, const double* dispersion, double* nll,
                           double* d_mean, double* d_power, double* d_dispersion);
    // Rows of `width` classes.
    void (*entropy)(std::size_t rows, std::size_t width, const double* p, const double* q, double* out);
    void (*divergence)(std::size_t rows, std::size_t width, const double* p, const double* q, double* out);
    void (*row_sum)(std::size_t rows, std::size_t width, const double* p, const double* q, double* out);
    void (*softmax)(std::size_t rows, std::size_t width, const double* y, const double* eta, double* nll, double* gradient);
    // Panels (linear.hpp): columns of `stride` numbers.
    void (*pack_double)(std::size_t rows, std::size_t columns, const double* x, std::ptrdiff_t row_stride, std::ptrdiff_t column_stride,
                        const double* centre, double* panel, std::size_t stride);
    void (*pack_float)(std::size_t rows, std::size_t columns, const float* x, std::ptrdiff_t row_stride, std::ptrdiff_t column_stride,
                       const double* centre, double* panel, std::size_t stride);
    // `distance` lies between one column and the next: the stride, unless the columns are where the data are.
    void (*multiply)(std::size_t stride, std::size_t columns, std::size_t distance, const double* panel, const double* theta, double* out);
    void (*multiply_transposed)(std::size_t stride, std::size_t columns, std::size_t distance, const double* panel, const double* x,
                                double* out);
    // Rows that lie one after the other.
    void (*multiply_rows)(std::size_t rows, std::size_t columns, const double* x, std::ptrdiff_t row_stride, const double* theta,
                          double* out);
    void (*add_rows)(std::size_t rows, std::size_t columns, const double* x, std::ptrdiff_t row_stride, const double* g, double* out);
    void (*weighted_rows)(std::size_t rows, std::size_t columns, std::size_t stride, const double* panel, const double* weight,
                          double* out);
    void (*add_by_level)(std::size_t rows, std::size_t columns, const double* x, const std::int32_t* codes, std::int32_t first,
                         double* sums, std::size_t width);
    void (*add_gram)(std::size_t stride, std::size_t columns, const double* panel, const double* weight, double* gram, std::size_t width,
                     double* room);
    // Basis blocks (basis_loops.hpp).
    void (*basis_factor)(std::size_t rows, const BasisFactor& factor, std::size_t begin, std::int32_t* first, double* values);
    void (*basis_times)(std::size_t rows, const RowFunctions& own, const double* theta, double* out);
    void (*basis_transposed)(std::size_t rows, const RowFunctions& own, const double* x, double* out);
    void (*basis_by_columns)(std::size_t rows, const RowFunctions& own, std::size_t columns, const double* x, double* sums,
                             std::size_t width);
    void (*basis_gram)(std::size_t rows, const double* w, const RowFunctions& one, const RowFunctions& other, double* gram,
                       std::size_t width);
    void (*basis_form)(std::size_t rows, double factor, const RowFunctions& one, const RowFunctions& other, const double* matrix,
                       std::size_t width, double* out);
    void (*softmax_panel)(std::size_t stride, std::size_t classes, const double* y, const double* eta, double* nll, double* p);
    void (*class_slopes_panel)(std::size_t stride, std::size_t classes, const double* y, const double* weight, double factor, double least,
                               double* p, double* bend, double* others);
    void (*add_products)(std::size_t n, std::size_t rows, const double* left, std::size_t columns, const double* right, std::size_t apart,
                         double* out, std::size_t width);
    double (*dot)(std::size_t n, const double* a, const double* b);
    AbsoluteLoops absolute;
};

namespace baseline {
extern const InstructionSet instruction_set;
}
namespace avx2 {
extern const InstructionSet instruction_set;
}
namespace avx512 {
extern const InstructionSet instruction_set;
}

// The best set this processor has, or the named one; null if there is none of that name here.
const InstructionSet* instruction_set(const char* name = nullptr);

}  // namespace neglog

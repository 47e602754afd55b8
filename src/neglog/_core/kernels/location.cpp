// Noises of y around a location. A new one adds its lines here.

#include <iterator>

#include "../ordered.hpp"
#include "loops.hpp"

namespace neglog::NEGLOG_ISA {

constexpr Kernel squared(Kernel kernel) {
    kernel.squares = true;
    return kernel;
}

constexpr Kernel unsteady(Kernel kernel) {
    kernel.steady = false;
    return kernel;
}

extern const Kernel location_kernels[];
extern const std::size_t location_count;
constinit const Kernel location_kernels[] = {
    squared(kernel<Location<Square, IdentityLocation>>("gaussian", "identity", joint_loops<GaussianFormula>)),
    kernel<Location<Square, LogLocation>>("gaussian", "log", joint_loops<GaussianFormula, LogLocation>),
    kernel<Location<Square, InverseLocation>>("gaussian", "inverse", joint_loops<GaussianFormula, InverseLocation>),
    kernel<Location<Square, SqrtLocation>>("gaussian", "sqrt", joint_loops<GaussianFormula, SqrtLocation>),
    kernel<Location<Absolute, IdentityLocation>>("laplace", "identity", joint_loops<LaplaceFormula>),
    kernel<Location<Absolute, LogLocation>>("laplace", "log", joint_loops<LaplaceFormula, LogLocation>),
    kernel<Location<Absolute, InverseLocation>>("laplace", "inverse", joint_loops<LaplaceFormula, InverseLocation>),
    kernel<Location<Absolute, SqrtLocation>>("laplace", "sqrt", joint_loops<LaplaceFormula, SqrtLocation>),
    unsteady(kernel<Location<HuberLoss, IdentityLocation>>("huber", "identity", joint_loops<HuberFormula>)),
    unsteady(kernel<Location<HuberLoss, LogLocation>>("huber", "log", joint_loops<HuberFormula, LogLocation>)),
    unsteady(kernel<Location<HuberLoss, InverseLocation>>("huber", "inverse", joint_loops<HuberFormula, InverseLocation>)),
    unsteady(kernel<Location<HuberLoss, SqrtLocation>>("huber", "sqrt", joint_loops<HuberFormula, SqrtLocation>)),
    kernel_of<StudentTFormula>("studentt", "identity"),
    kernel_of<StudentTFormula, LogLocation>("studentt", "log"),
    kernel_of<StudentTFormula, InverseLocation>("studentt", "inverse"),
    kernel_of<StudentTFormula, SqrtLocation>("studentt", "sqrt"),
    kernel<LogNormal>("lognormal", "identity", joint_loops<LogNormalFormula>),
    kernel_of<SinhArcsinhFormula>("sinharcsinh", "identity"),
    kernel_of<SinhArcsinhFormula, LogLocation>("sinharcsinh", "log"),
    kernel_of<SinhArcsinhFormula, InverseLocation>("sinharcsinh", "inverse"),
    kernel_of<SinhArcsinhFormula, SqrtLocation>("sinharcsinh", "sqrt"),
    kernel<Location<Pinball, IdentityLocation>>("asymmetriclaplace", "identity", joint_loops<AsymmetricLaplaceFormula>),
    kernel<Location<Pinball, LogLocation>>("asymmetriclaplace", "log", joint_loops<AsymmetricLaplaceFormula, LogLocation>),
    kernel<Location<Pinball, InverseLocation>>("asymmetriclaplace", "inverse", joint_loops<AsymmetricLaplaceFormula, InverseLocation>),
    kernel<Location<Pinball, SqrtLocation>>("asymmetriclaplace", "sqrt", joint_loops<AsymmetricLaplaceFormula, SqrtLocation>),
    kernel_of<LogisticCell>("ordinal", "logit"),
    kernel_of<GaussianCell>("ordinal", "probit"),
};
const std::size_t location_count = std::size(location_kernels);

}  // namespace neglog::NEGLOG_ISA

#include "density.hpp"

#include <algorithm>
#include <cmath>

namespace neglog {

std::int64_t log_density(std::uint64_t n, const double* x, double* gradient, double* value, const void* density) {
    const Density& law = *static_cast<const Density*>(density);
    if (n != law.slope.size()) return 2;
    Pass pass = law.pass;
    pass.theta = x, pass.gradient = gradient;
    double sum = law.factor * run(law.set, law.table, pass, 1), slopes = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        double product = 0.0;
        for (std::size_t j = 0; j < n; ++j) product += law.bend[i * n + j] * x[j];
        sum += x[i] * (0.5 * product + law.slope[i]);
        gradient[i] = -(law.factor * gradient[i] + product + law.slope[i]);
        slopes += gradient[i];
    }
    *value = -sum;
    return std::isfinite(sum) && std::isfinite(slopes) ? 0 : 1;
}

std::int64_t same_draw(std::uint64_t n, std::uint64_t kept, const double* x, double* out, const void*) {
    if (n != kept) return 2;
    std::copy(x, x + n, out);
    return 0;
}

}  // namespace neglog

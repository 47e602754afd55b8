#include "density.hpp"

#include <algorithm>
#include <cmath>

namespace neglog {

std::int64_t log_density(std::uint64_t n, const double* x, double* gradient, double* value, const void* density) {
    const Density& law = *static_cast<const Density*>(density);
    if (n != law.slope.size()) return 2;
    const std::size_t open = law.centre.size();
    std::vector<double> theta(x, x + n), slopes(n + open);
    for (std::size_t k = 0; k < open; ++k) {
        theta.push_back(law.centre[k]);
        for (std::size_t j = 0; j < n; ++j) theta.back() += law.turn[k * n + j] * x[j];
    }
    Pass pass = law.pass;
    pass.theta = theta.data(), pass.gradient = slopes.data();
    double sum = law.factor * run(law.set, law.table, pass, 1), total = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        double product = 0.0, down = slopes[i];
        for (std::size_t j = 0; j < n; ++j) product += law.bend[i * n + j] * x[j];
        for (std::size_t k = 0; k < open; ++k) down += law.turn[k * n + i] * slopes[n + k];
        sum += x[i] * (0.5 * product + law.slope[i]);
        gradient[i] = -(law.factor * down + product + law.slope[i]);
        total += gradient[i];
    }
    *value = -sum;
    return std::isfinite(sum) && std::isfinite(total) ? 0 : 1;
}

std::int64_t same_draw(std::uint64_t n, std::uint64_t kept, const double* x, double* out, const void*) {
    if (n != kept) return 2;
    std::copy(x, x + n, out);
    return 0;
}

}  // namespace neglog

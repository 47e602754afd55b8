#include "wide_rows.hpp"

#include "parts.hpp"

namespace neglog {
namespace {

constexpr std::size_t least_columns = 512, cached_numbers = 1 << 16, most_rows = 64, most_parts = 16;

}  // namespace

bool has_wide_rows(const Table& table, const Pass& pass) {
    if (pass.gram || !pass.kernel || pass.joint || pass.classes > 1 || pass.response || table.dense.size() != 1 || !table.codes.empty() ||
        !table.sparse.empty() || !table.basis.empty())
        return false;
    const DenseBlock& block = table.dense[0];
    return !block.single_precision && block.column_stride == 1 && block.columns >= least_columns;
}

double run_wide_rows(const InstructionSet& set, const Table& table, const Pass& pass, std::size_t threads) {
    const DenseBlock& block = table.dense[0];
    const std::size_t first = table.intercept ? 1 : 0, columns = block.columns;
    const std::size_t together = std::clamp<std::size_t>(cached_numbers / columns / 4 * 4, 4, most_rows);
    const std::size_t parts = std::clamp<std::size_t>(table.rows / (8 * together), 1, most_parts);  // of the shape alone
    const std::size_t per_part = (table.rows + parts - 1) / parts;
    const double* theta = pass.theta + first;
    const double shift = (first ? pass.theta[0] : 0.0) - set.dot(columns, block.centre, theta);
    std::vector<double> values(parts, 0.0), sums(parts, 0.0), gradients(pass.gradient ? parts * columns : 0, 0.0);
    const LossLoop loop = pass.expected ? pass.kernel->guide_loss : pass.kernel->observed_loss;
    over_parts(parts, threads, [&](std::size_t part) {
        SourceBlock ys(pass.y), weights(pass.weight), offsets(pass.offset);
        ParameterBlocks parameters(pass.parameters.data(), pass.parameters.size());
        double eta[most_rows], value[most_rows], slope[most_rows], bend[most_rows];
        const std::size_t end = std::min(table.rows, (part + 1) * per_part);
        for (std::size_t begin = part * per_part; begin < end; begin += together) {
            const std::size_t rows = std::min(together, end - begin);
            const double* x = static_cast<const double*>(block.data) + static_cast<std::ptrdiff_t>(begin) * block.row_stride;
            const double* offset = pass.offset.data ? offsets.at(begin, rows) : nullptr;
            for (std::size_t i = 0; i < rows; ++i) eta[i] = shift + (offset ? offset[i] : 0.0);
            set.multiply_rows(rows, columns, x, block.row_stride, theta, eta);
            loop(rows, ys.at(begin, rows), eta, parameters.at(begin, rows), value, slope, bend);
            const double* weight = pass.weight.data ? weights.at(begin, rows) : nullptr;
            for (std::size_t i = 0; i < rows; ++i) {
                const double w = weight ? weight[i] : 1.0;  // a row without weight may lie outside the domain
                values[part] += w == 0 ? 0.0 : w * value[i];
                slope[i] = w == 0 ? 0.0 : w * slope[i];
                sums[part] += slope[i];
            }
            if (pass.gradient) set.add_rows(rows, columns, x, block.row_stride, slope, gradients.data() + part * columns);
        }
    });
    double total = 0.0, sum = 0.0;
    for (std::size_t part = 0; part < parts; ++part) total += values[part], sum += sums[part];
    if (pass.gradient) {
        if (first) pass.gradient[0] = sum;
        double* out = pass.gradient + first;
        for (std::size_t j = 0; j < columns; ++j) {
            double slopes = -sum * block.centre[j];
            for (std::size_t part = 0; part < parts; ++part) slopes += gradients[part * columns + j];
            out[j] = slopes;
        }
    }
    return total;
}

}  // namespace neglog

#include "passes.hpp"

#include <algorithm>
#include <cmath>

#include "parts.hpp"
#include "wide_rows.hpp"

namespace neglog {
namespace {

std::size_t rounded_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

// Rows per panel: with a Gram matrix the panel may fill the second-level cache, without one better the first.
std::size_t panel_stride(std::size_t rows, std::size_t columns, bool with_gram) {
    const std::size_t room = (with_gram ? 64 : 8) * 1024;  // numbers
    const std::size_t most = std::clamp<std::size_t>(room / std::max<std::size_t>(columns, 1), 64, with_gram ? 256 : block_size);
    return rounded_up(std::min(rows, most / 8 * 8), 8);
}

// Sums are collected in parts that depend on the data's shape alone and added up in order: the same for any number of threads.
std::size_t number_of_parts(std::size_t rows, std::size_t columns, std::size_t stride, bool with_gram) {
    if (columns == 0) columns = 1;
    const std::size_t panels = (rows + stride - 1) / stride;
    const std::size_t room = with_gram ? rows / (64 * columns) : (std::size_t{1} << 20) / columns;
    const std::size_t affordable = std::clamp<std::size_t>(room, 4, 64);
    return std::max<std::size_t>(1, std::min(panels / 8, affordable));
}

// Functions are many and the numbers in a row few: the Gram matrices of the parts are to be small beside the table.
std::size_t number_of_parts(const Table& table, std::size_t width, std::size_t stride, bool with_gram) {
    const std::size_t parts = number_of_parts(table.rows, width, stride, with_gram);
    if (!with_gram || table.basis.empty()) return parts;
    const std::size_t numbers = table.panel_columns(false) + table.codes.size() + table.basis.size();
    return std::min(parts, std::max<std::size_t>(4, table.rows * numbers / (32 * width * width)));
}

Buffer make_buffer(std::size_t n) { return Buffer(static_cast<double*>(std::aligned_alloc(64, rounded_up(n * sizeof(double), 64) + 64))); }

// None where the panels would crowd the second-level cache.
Buffer room_for_panels(const Table& table, const Pass& pass, std::size_t stride) {
    const std::size_t n = rounded_up(table.rows, stride) * table.panel_columns(pass.response);
    return n <= std::size_t{1} << 16 ? make_buffer(n) : nullptr;
}

// The working memory of one thread, and what it does to one panel of rows.
class Worker {
  public:
    Worker(const InstructionSet& set, const Table& table, const Pass& pass, std::size_t stride)
        : set_(set), table_(table), pass_(pass), stride_(stride), dense_columns_(table.panel_columns(pass.response)),
          columns_(table.turn(pass.response, 1, 0).functions()), y_(pass.y), weight_(pass.weight), offset_(pass.offset),
          parameters_(pass.parameters.data(), pass.parameters.size()),
          panel_(pass.panels && pass.panels->numbers ? nullptr : make_buffer(stride * dense_columns_)),
          eta_(make_buffer(stride * pass.classes)), value_(make_buffer(stride)), gradient_(make_buffer(stride * pass.classes)),
          curvature_(make_buffer(stride)), room_(make_buffer(4 * stride)),
          by_rows_(make_buffer(pass.forms || (pass.gram && !(table.codes.empty() && table.basis.empty())) ? stride * dense_columns_ : 0)),
          in_place_(!pass.gram && !pass.forms && lies_ready(table, pass)) {
        if (pass.forms || !table.basis.empty()) make_room_for_functions();
        if (!pass.joint) return;
        const std::size_t variables = pass.kernel->joint.variables;
        slopes_ = make_buffer(stride * variables);
        raw_ = make_buffer(stride * std::max<std::size_t>(pass.open.size() + pass.modelled.size(), 2));
        if (pass.gram) bends_ = make_buffer(stride * variables * (variables + 1) / 2);
    }

    // Adds the rows from `begin` on to the sums.
    void add(std::size_t begin, std::size_t rows, double& value, double* gradient, double* gram) {
        begin_ = begin, rows_ = rows;
        pack_panel();
        if (pass_.classes > 1) return add_classes(value, gradient, gram);
        if (pass_.ordered) return add_ordered(value, gradient, gram);
        if (pass_.joint) return add_joint(value, gradient, gram);
        if (pass_.kernel) {
            predict_panel(pass_.theta, pass_.response ? nullptr : offset_.at(begin, rows), eta_.get());
            loss();
            value += sum(value_.get());
            add_gradient(gradient_.get(), gradient);
        } else {
            spread(pass_.weight.data ? weight_.at(begin, rows) : nullptr, 1.0, curvature_.get());
        }
        if (gram) add_gram(curvature_.get(), gram, columns_);
    }

    void pack_panel() {
        for (std::size_t b = 0; b < table_.basis.size(); ++b) find_functions(b);
        if (in_place_ && rows_ == stride_) {
            columns_of_panel_ = static_cast<const double*>(table_.dense[0].data) + begin_;
            distance_ = static_cast<std::size_t>(table_.dense[0].column_stride);
            return;
        }
        double* to = panel_ ? panel_.get() : pass_.panels->numbers.get() + begin_ * dense_columns_;
        columns_of_panel_ = to, distance_ = stride_;
        if (!panel_ && pass_.panels->packed) return;
        if (table_.intercept) to = constant_column(to);
        for (const DenseBlock& block : table_.dense) {
            const auto place = static_cast<std::ptrdiff_t>(begin_) * block.row_stride;
            if (block.single_precision)
                set_.pack_float(rows_, block.columns, static_cast<const float*>(block.data) + place, block.row_stride, block.column_stride,
                                block.centre, to, stride_);
            else
                set_.pack_double(rows_, block.columns, static_cast<const double*>(block.data) + place, block.row_stride,
                                 block.column_stride, block.centre, to, stride_);
            if (rows_ < stride_)
                for (std::size_t j = 0; j < block.columns; ++j) std::fill(to + j * stride_ + rows_, to + (j + 1) * stride_, 0.0);
            to += block.columns * stride_;
        }
        if (pass_.response) {
            const double *y = y_.at(begin_, rows_), *offset = offset_.at(begin_, rows_);
            for (std::size_t i = 0; i < rows_; ++i) to[i] = y[i] - offset[i] - pass_.response_centre;
            std::fill(to + rows_, to + stride_, 0.0);
        }
    }

    void predict_panel(const double* theta, const double* offset, double* eta) {
        if (offset)
            spread(offset, 0.0, eta);
        else
            std::fill_n(eta, stride_, 0.0);
        set_.multiply(stride_, dense_columns_, distance_, columns_of_panel_, theta, eta);
        theta += dense_columns_;
        // All blocks of a row at once: their look-ups do not wait for each other.
        for (std::size_t i = 0; i < rows_ && !table_.codes.empty(); ++i) {
            const double* effects = theta;
            double sum = 0.0;
            for (const CodesBlock& block : table_.codes) {
                const std::int32_t level = block.codes[begin_ + i] - block.first;
                sum += level >= 0 ? effects[level] : 0.0;
                effects += block.columns;
            }
            eta[i] += sum;
        }
        for (const CodesBlock& block : table_.codes) theta += block.columns;
        for (const SparseBlock& block : table_.sparse) {
            block.visit([&](const auto* columns, const auto* values) {
                for (std::size_t i = 0; i < rows_; ++i) {
                    double sum = 0.0;
                    for (std::size_t k = block.start(begin_ + i), end = block.start(begin_ + i + 1); k < end; ++k)
                        sum += values[k] * theta[columns[k]];
                    eta[i] += sum;
                }
            });
            theta += block.columns;
        }
        for (std::size_t b = 0; b < table_.basis.size(); ++b) {
            set_.basis_times(rows_, functions_[b], theta, eta);
            theta += table_.basis[b].functions();
        }
    }

    // out_i = x_i' matrix x_i, the matrix over functions.
    void quadratic_form(const double* matrix, double* out) {
        const std::size_t d = dense_columns_;
        std::fill_n(out, rows_, 0.0);
        std::fill_n(curvature_.get(), rows_, 1.0);
        set_.weighted_rows(rows_, d, stride_, columns_of_panel_, curvature_.get(), by_rows_.get());
        for (std::size_t j = 0; j < d; ++j) {
            std::fill_n(value_.get(), rows_, 0.0);
            set_.multiply_rows(rows_, d, by_rows_.get(), static_cast<std::ptrdiff_t>(d), matrix + j * columns_, value_.get());
            for (std::size_t i = 0; i < rows_; ++i) out[i] += value_[i] * by_rows_[i * d + j];
        }
        find_levels();
        std::vector<std::pair<RowFunctions, std::size_t>> groups;  // with where they begin
        std::size_t place = d;
        for (std::size_t b = 0; b < levels_.size(); ++b) groups.emplace_back(levels_[b], place), place += table_.codes[b].columns;
        for (std::size_t b = 0; b < functions_.size(); ++b) groups.emplace_back(functions_[b], place), place += table_.basis[b].functions();
        for (std::size_t a = 0; a < groups.size(); ++a) {
            const auto& [own, begin] = groups[a];
            for (std::size_t b = 0; b <= a; ++b) {
                const auto& [other, from] = groups[b];
                set_.basis_form(rows_, a == b ? 1.0 : 2.0, own, other, matrix + begin * columns_ + from, columns_, out);
            }
            for (std::size_t j = 0; j < d; ++j) {
                std::fill_n(value_.get(), rows_, 0.0);
                set_.basis_times(rows_, own, matrix + j * columns_ + begin, value_.get());
                for (std::size_t i = 0; i < rows_; ++i) out[i] += 2.0 * value_[i] * by_rows_[i * d + j];
            }
        }
    }

    void set_rows(std::size_t begin, std::size_t rows) { begin_ = begin, rows_ = rows; }
    double* eta() { return eta_.get(); }
    const double* offset() { return offset_.at(begin_, rows_); }

  private:
    // Whether the columns can be used where they are: doubles, one after the other, nothing to subtract or to add.
    static bool lies_ready(const Table& table, const Pass& pass) {
        if (table.intercept || pass.response || table.dense.size() != 1) return false;
        const DenseBlock& block = table.dense[0];
        return !block.single_precision && block.row_stride == 1 && block.column_stride >= 0 &&
               std::all_of(block.centre, block.centre + block.columns, [](double centre) { return centre == 0; });
    }

    // In lanes, so that one addition need not wait for the other.
    double sum(const double* x) const {
        double lane[8] = {};
        std::size_t i = 0;
        for (; i + 8 <= rows_; i += 8)
            for (std::size_t k = 0; k < 8; ++k) lane[k] += x[i + k];
        for (; i < rows_; ++i) lane[0] += x[i];
        return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
    }

    double* constant_column(double* to) {
        std::fill_n(to, rows_, 1.0);
        std::fill(to + rows_, to + stride_, 0.0);
        return to + stride_;
    }

    // The rows of this panel, and `beyond` after them.
    void spread(const double* from, double fallback, double* to) {
        if (from)
            std::copy_n(from, rows_, to);
        else
            std::fill_n(to, rows_, fallback);
        std::fill(to + rows_, to + stride_, 0.0);
    }

    // value, gradient and curvature of each row, times its weight
    void loss() {
        const double* y = pass_.response ? zeros() : y_.at(begin_, rows_);
        const LossLoop loop = pass_.expected ? pass_.kernel->guide_loss : pass_.kernel->observed_loss;
        loop(rows_, y, eta_.get(), parameters_.at(begin_, rows_), value_.get(), gradient_.get(), curvature_.get());
        if (pass_.weight.data) {
            const double* weight = weight_.at(begin_, rows_);
            for (std::size_t i = 0; i < rows_; ++i) {
                value_[i] = weight[i] == 0 ? 0.0 : value_[i] * weight[i];  // a row without weight may lie outside the domain
                gradient_[i] = weight[i] == 0 ? 0.0 : gradient_[i] * weight[i];
                curvature_[i] = weight[i] == 0 ? 0.0 : curvature_[i] * weight[i];
            }
        }
        std::fill(gradient_.get() + rows_, gradient_.get() + stride_, 0.0);
        std::fill(curvature_.get() + rows_, curvature_.get() + stride_, 0.0);
    }

    // All raw parameters at once: the rows' part of the sums, and beside the Gram matrix a border for each parameter that is open. A
    // parameter that is modelled has a row of coefficients, and so blocks of Gram matrices.
    void add_joint(double& value, double* gradient, double* gram) {
        const JointLoops& loops = pass_.kernel->joint;
        const std::size_t open = pass_.open.size(), outputs = pass_.outputs(), coefficients = columns_ * outputs;
        const std::size_t width = coefficients + open, variables = loops.variables;
        predict_panel(pass_.theta, offset_.at(begin_, rows_), eta_.get());
        const double* raw[most_parameters];
        std::copy_n(parameters_.at(begin_, rows_), std::max<std::size_t>(variables - 1 + loops.beside, ParameterBlocks::least), raw);
        for (std::size_t j = 0; j < open; ++j) {
            const double *shift = raw[pass_.open[j]], v = pass_.theta[coefficients + j];
            double* to = raw_.get() + j * stride_;
            for (std::size_t i = 0; i < rows_; ++i) to[i] = shift[i] + v;
            raw[pass_.open[j]] = to;
        }
        for (std::size_t k = 1; k < outputs; ++k) {
            const std::size_t which = pass_.modelled[k - 1];
            double* to = raw_.get() + (open + k - 1) * stride_;
            predict_panel(pass_.theta + k * columns_, raw[which], to);
            if (const Ends& ends = pass_.ends[k - 1]; ends.any())
                for (std::size_t i = 0; i < rows_; ++i) to[i] = ends.place(to[i]);
            raw[which] = to;
        }
        const JointLoop loop = !gram ? loops.slopes : pass_.expected ? loops.guide : loops.curvatures;
        loop(rows_, stride_, y_.at(begin_, rows_), eta_.get(), raw, value_.get(), slopes_.get(), bends_.get());
        for (std::size_t k = 1; k < outputs; ++k)
            if (pass_.ends[k - 1].any()) from_place(pass_.ends[k - 1], raw[pass_.modelled[k - 1]], variable(k), variables, gram != nullptr);
        const double* weight = pass_.weight.data ? weight_.at(begin_, rows_) : nullptr;
        weigh_rows(weight, 1, value_.get());
        weigh_rows(weight, variables, slopes_.get());
        if (gram) weigh_rows(weight, variables * (variables + 1) / 2, bends_.get());
        value += sum(value_.get());
        for (std::size_t k = 0; k < outputs; ++k) add_gradient(slopes_.get() + variable(k) * stride_, gradient + k * columns_);
        for (std::size_t j = 0; j < open; ++j) gradient[coefficients + j] += sum(slopes_.get() + (1 + pass_.open[j]) * stride_);
        if (!gram) return;
        add_gram(bend(0, 0), gram, width);
        for (std::size_t k = 1; k < outputs; ++k) {
            double* rows = gram + k * columns_ * width;
            if (pass_.expected) {
                add_gram(upwards(bend(variable(k), variable(k)), slopes_.get() + variable(k) * stride_), rows + k * columns_, width);
                continue;
            }
            for (std::size_t l = 0; l <= k; ++l) add_gram(bend(variable(k), variable(l)), rows + l * columns_, width);
        }
        for (std::size_t j = 0; j < open; ++j) {
            double* border = gram + (coefficients + j) * width;
            for (std::size_t k = 0; k < (pass_.expected ? 1 : outputs); ++k)
                add_gradient(bend(1 + pass_.open[j], variable(k)), border + k * columns_);
            for (std::size_t l = 0; l <= j; ++l) border[coefficients + l] += sum(bend(1 + pass_.open[j], 1 + pass_.open[l]));
        }
    }

    // The second derivatives of the rows in two of a kernel's variables.
    double* bend(std::size_t a, std::size_t b) const {
        return bends_.get() + (a >= b ? a * (a + 1) / 2 + b : b * (b + 1) / 2 + a) * stride_;
    }

    // The chain rule from a variable that lies between two ends to the log odds of its place.
    void from_place(const Ends& ends, const double* place, std::size_t variable, std::size_t variables, bool bends) {
        double* slope = slopes_.get() + variable * stride_;
        for (std::size_t j = 0; j < variables && bends; ++j) {
            double* own = bend(variable, j);
            for (std::size_t i = 0; i < rows_; ++i) {
                const double pace = ends.slope(place[i]);
                own[i] = j == variable ? own[i] * pace * pace + slope[i] * ends.bend(place[i]) : own[i] * pace;
            }
        }
        for (std::size_t i = 0; i < rows_; ++i) slope[i] *= ends.slope(place[i]);
    }

    // The number among a kernel's variables of what a row of coefficients predicts.
    std::size_t variable(std::size_t output) const { return output == 0 ? 0 : 1 + pass_.modelled[output - 1]; }

    // A guide in a modelled parameter: the size of each row's curvature, whichever way it bends, and never so small that the row alone
    // would go farther than `longest`.
    const double* upwards(const double* bend, const double* slope) {
        constexpr double longest = 2.0;
        double* to = curvature_.get();
        for (std::size_t i = 0; i < stride_; ++i) {
            const double size = std::abs(bend[i]), pull = std::abs(slope[i]) / longest;
            to[i] = size >= pull ? size : pull;
        }
        return to;
    }

    // The same where each row has two of the edges: those of its class.
    void add_ordered(double& value, double* gradient, double* gram) {
        const JointLoops& loops = pass_.kernel->joint;
        const std::size_t edges = pass_.open.size(), width = columns_ + edges;
        predict_panel(pass_.theta, offset_.at(begin_, rows_), eta_.get());
        const double* y = y_.at(begin_, rows_);
        double *low = raw_.get(), *high = low + stride_;
        for (std::size_t i = 0; i < rows_; ++i) {
            const double* own = pass_.edges.data() + class_of(y[i]);
            low[i] = own[0], high[i] = own[1];
        }
        const double* raw[] = {low, high};
        const JointLoop loop = !gram ? loops.slopes : pass_.expected ? loops.guide : loops.curvatures;
        loop(rows_, stride_, y, eta_.get(), raw, value_.get(), slopes_.get(), bends_.get());
        const double* weight = pass_.weight.data ? weight_.at(begin_, rows_) : nullptr;
        weigh_rows(weight, 1, value_.get());
        weigh_rows(weight, 3, slopes_.get());
        if (gram) weigh_rows(weight, 6, bends_.get());
        value += sum(value_.get());
        add_gradient(slopes_.get(), gradient);
        for (std::size_t i = 0; i < rows_; ++i) {
            const std::size_t own = class_of(y[i]);
            if (own > 0) gradient[columns_ + own - 1] += slopes_[stride_ + i];
            if (own < edges) gradient[columns_ + own] += slopes_[2 * stride_ + i];
        }
        if (!gram) return;
        add_gram(bends_.get(), gram, width);
        const double *with_low = bends_.get() + stride_, *with_high = bends_.get() + 3 * stride_;
        for (std::size_t k = 0; k < edges; ++k) {
            const double before = static_cast<double>(k), after = before + 1.0;
            for (std::size_t i = 0; i < rows_; ++i) curvature_[i] = y[i] == before ? with_high[i] : (y[i] == after ? with_low[i] : 0.0);
            std::fill(curvature_.get() + rows_, curvature_.get() + stride_, 0.0);
            add_gradient(curvature_.get(), gram + (columns_ + k) * width);
        }
        const auto bend = [&](std::size_t pair, std::size_t i) { return bends_[pair * stride_ + i]; };
        double* corner = gram + columns_ * width + columns_;
        for (std::size_t i = 0; i < rows_; ++i) {
            const std::size_t own = class_of(y[i]);
            if (own > 0) corner[(own - 1) * (width + 1)] += bend(2, i);
            if (own < edges) corner[own * (width + 1)] += bend(5, i);
            if (own > 0 && own < edges) corner[own * width + own - 1] += bend(4, i);
        }
    }

    static std::size_t class_of(double y) { return static_cast<std::size_t>(y); }

    // Columns of numbers times the rows' weights, and zeros beyond the rows.
    void weigh_rows(const double* weight, std::size_t columns, double* x) {
        for (std::size_t k = 0; k < columns; ++k, x += stride_) {
            if (weight)
                for (std::size_t i = 0; i < rows_; ++i) x[i] = weight[i] == 0 ? 0.0 : weight[i] * x[i];
            std::fill(x + rows_, x + stride_, 0.0);
        }
    }

    const double* zeros() {
        std::fill_n(room_.get(), rows_, 0.0);
        return room_.get();
    }

    void add_gradient(const double* x, double* gradient) {
        set_.multiply_transposed(stride_, dense_columns_, distance_, columns_of_panel_, x, gradient);
        gradient += dense_columns_;
        for (std::size_t i = 0; i < rows_ && !table_.codes.empty(); ++i) {
            double* to = gradient;
            for (const CodesBlock& block : table_.codes) {
                const std::int32_t level = block.codes[begin_ + i] - block.first;
                if (level >= 0) to[level] += x[i];
                to += block.columns;
            }
        }
        for (const CodesBlock& block : table_.codes) gradient += block.columns;
        for (const SparseBlock& block : table_.sparse) {
            block.visit([&](const auto* columns, const auto* values) {
                for (std::size_t i = 0; i < rows_; ++i)
                    for (std::size_t k = block.start(begin_ + i), end = block.start(begin_ + i + 1); k < end; ++k)
                        gradient[columns[k]] += values[k] * x[i];
            });
            gradient += block.columns;
        }
        for (std::size_t b = 0; b < table_.basis.size(); ++b) {
            set_.basis_transposed(rows_, functions_[b], x, gradient);
            gradient += table_.basis[b].functions();
        }
    }

    // The lower triangle of the Gram matrix of all columns, weighted by w.
    void add_gram(const double* w, double* gram, std::size_t width) {
        set_.add_gram(stride_, dense_columns_, columns_of_panel_, w, gram, width, room_.get());
        if (!(table_.codes.empty() && table_.basis.empty()))
            set_.weighted_rows(rows_, dense_columns_, stride_, columns_of_panel_, w, by_rows_.get());
        std::size_t place = dense_columns_;
        for (std::size_t b = 0; b < table_.codes.size(); ++b) {
            add_levels(table_.codes[b], w, gram + place * width, place, width, b);
            place += table_.codes[b].columns;
        }
        for (std::size_t b = 0; b < table_.sparse.size(); ++b) {
            add_sparse(table_.sparse[b], w, gram + place * width, place, width, b);
            place += table_.sparse[b].columns;
        }
        if (!table_.basis.empty()) find_levels();
        for (std::size_t b = 0; b < table_.basis.size(); ++b) {
            add_functions(b, w, gram + place * width, width);
            place += table_.basis[b].functions();
        }
    }

    // Rows of the Gram matrix that belong to a basis block.
    void add_functions(std::size_t b, const double* w, double* gram, std::size_t width) {
        const RowFunctions& own = functions_[b];
        if (dense_columns_ > few_columns) {
            set_.basis_by_columns(rows_, own, dense_columns_, by_rows_.get(), gram, width);
        } else {
            const std::size_t count = table_.basis[b].functions();
            for (std::size_t j = 0; j < dense_columns_; ++j) {
                for (std::size_t i = 0; i < rows_; ++i) room_[i] = w[i] * columns_of_panel_[j * distance_ + i];
                sums_.assign(count, 0.0);
                set_.basis_transposed(rows_, own, room_.get(), sums_.data());
                for (std::size_t k = 0; k < count; ++k) gram[k * width + j] += sums_[k];
            }
        }
        std::size_t from = dense_columns_;
        for (std::size_t c = 0; c < table_.codes.size(); ++c) {
            set_.basis_gram(rows_, w, own, levels_[c], gram + from, width);
            from += table_.codes[c].columns;
        }
        for (std::size_t c = 0; c <= b; ++c) {
            set_.basis_gram(rows_, w, own, functions_[c], gram + from, width);
            from += table_.basis[c].functions();
        }
    }

    void make_room_for_functions() {
        std::size_t count = table_.codes.size(), blocks = table_.codes.size() + table_.basis.size();
        for (const BasisBlock& block : table_.basis) count += block.runs() * block.length();
        function_values_ = make_buffer(stride_ * count);
        function_firsts_.resize(stride_ * (blocks + 1));
        factor_values_ = make_buffer(stride_ * 8);
        double* values = function_values_.get();
        std::int32_t* first = function_firsts_.data();
        for (std::size_t c = 0; c < table_.codes.size(); ++c, first += stride_, values += stride_)
            levels_.push_back({first, values, 1, 1, table_.codes[c].columns});
        for (const BasisBlock& block : table_.basis) {
            functions_.push_back({first, values, block.runs(), block.length(), block.apart()});
            first += stride_, values += stride_ * functions_.back().count();
        }
    }

    // What the rows of this panel have of a basis block.
    void find_functions(std::size_t b) {
        const BasisBlock& block = table_.basis[b];
        auto* first = const_cast<std::int32_t*>(functions_[b].first);
        auto* values = const_cast<double*>(functions_[b].values);
        const std::size_t count = functions_[b].count();
        if (block.factors.size() == 1) {
            set_.basis_factor(rows_, block.factors[0], begin_, first, values);
        } else {
            const BasisFactor &one = block.factors[0], &other = block.factors[1];
            double *left = factor_values_.get(), *right = left + 4 * stride_;
            std::int32_t* beside = function_firsts_.data() + function_firsts_.size() - stride_;
            set_.basis_factor(rows_, one, begin_, first, left);
            set_.basis_factor(rows_, other, begin_, beside, right);
            for (std::size_t i = 0; i < rows_; ++i) {
                first[i] = first[i] * static_cast<std::int32_t>(other.functions) + beside[i];
                for (std::size_t j = 0; j < one.many; ++j)
                    for (std::size_t k = 0; k < other.many; ++k)
                        values[i * count + j * other.many + k] = left[i * one.many + j] * right[i * other.many + k];
            }
        }
        if (!block.codes) return;
        const auto per_level = static_cast<std::int32_t>(block.functions_of_level());
        for (std::size_t i = 0; i < rows_; ++i) {
            const std::int32_t level = block.codes[begin_ + i];
            if (level >= 0)
                first[i] += level * per_level;
            else
                std::fill_n(values + i * count, count, 0.0);
        }
    }

    // Levels as functions of which a row has one, or none.
    void find_levels() {
        for (std::size_t c = 0; c < levels_.size(); ++c) {
            auto* first = const_cast<std::int32_t*>(levels_[c].first);
            auto* values = const_cast<double*>(levels_[c].values);
            for (std::size_t i = 0; i < rows_; ++i) {
                const std::int32_t level = table_.codes[c].codes[begin_ + i] - table_.codes[c].first;
                first[i] = level >= 0 ? level : 0, values[i] = level >= 0 ? 1.0 : 0.0;
            }
        }
    }

    // Rows of the Gram matrix that belong to a block of levels: sums of the other columns by level.
    void add_levels(const CodesBlock& block, const double* w, double* gram, std::size_t place, std::size_t width, std::size_t before) {
        const std::int32_t* codes = block.codes + begin_;
        set_.add_by_level(rows_, dense_columns_, by_rows_.get(), codes, block.first, gram, width);
        std::size_t from = dense_columns_;
        for (std::size_t b = 0; b < before; ++b) {
            const CodesBlock& other = table_.codes[b];
            for (std::size_t i = 0; i < rows_; ++i) {
                const std::int32_t level = codes[i] - block.first, other_level = other.codes[begin_ + i] - other.first;
                if (level >= 0 && other_level >= 0)
                    gram[static_cast<std::size_t>(level) * width + from + static_cast<std::size_t>(other_level)] += w[i];
            }
            from += other.columns;
        }
        for (std::size_t i = 0; i < rows_; ++i) {
            const std::int32_t level = codes[i] - block.first;
            if (level >= 0) gram[static_cast<std::size_t>(level) * (width + 1) + place] += w[i];
        }
    }

    void add_sparse(const SparseBlock& block, const double* w, double* gram, std::size_t place, std::size_t width, std::size_t before) {
        block.visit([&](const auto* columns, const auto* values) {
            for (std::size_t i = 0; i < rows_; ++i) {
                if (w[i] == 0) continue;
                const std::size_t row = begin_ + i, begin = block.start(row), end = block.start(row + 1);
                for (std::size_t k = begin; k < end; ++k) {
                    const double scaled = w[i] * values[k];
                    double* to = gram + static_cast<std::size_t>(columns[k]) * width;
                    for (std::size_t j = 0; j < dense_columns_; ++j) to[j] += scaled * columns_of_panel_[j * stride_ + i];
                    for (std::size_t m = begin; m <= k; ++m) to[place + static_cast<std::size_t>(columns[m])] += scaled * values[m];
                    if (before || !table_.codes.empty()) add_other_blocks(row, scaled, to, before);
                }
            }
        });
    }

    // One entry of a sparse block against the levels and the sparse blocks before it.
    void add_other_blocks(std::size_t row, double scaled, double* to, std::size_t before) {
        std::size_t from = dense_columns_;
        for (const CodesBlock& other : table_.codes) {
            const std::int32_t level = other.codes[row] - other.first;
            if (level >= 0) to[from + static_cast<std::size_t>(level)] += scaled;
            from += other.columns;
        }
        for (std::size_t b = 0; b < before; ++b) {
            const SparseBlock& other = table_.sparse[b];
            other.visit([&](const auto* columns, const auto* values) {
                for (std::size_t m = other.start(row), stop = other.start(row + 1); m < stop; ++m)
                    to[from + static_cast<std::size_t>(columns[m])] += scaled * values[m];
            });
            from += other.columns;
        }
    }

    // Softmax: theta has a row of coefficients per class.
    void add_classes(double& value, double* gradient, double* gram) {
        const std::size_t classes = pass_.classes, width = classes * columns_;
        for (std::size_t k = 0; k < classes; ++k) {
            const double* offset = pass_.class_offsets ? pass_.class_offsets + k * table_.rows + begin_ : nullptr;
            predict_panel(pass_.theta + k * columns_, offset, eta_.get() + k * stride_);
        }
        double* p = gradient_.get();
        std::copy_n(y_.at(begin_, rows_), rows_, room_.get());
        std::fill(room_.get() + rows_, room_.get() + stride_, 0.0);
        set_.softmax_panel(stride_, classes, room_.get(), eta_.get(), value_.get(), p);
        spread(pass_.weight.data ? weight_.at(begin_, rows_) : nullptr, 1.0, eta_.get());
        const double* weight = eta_.get();
        // Of a row without weight, whatever it holds, nothing is to be seen: not even a NaN times 0.
        for (std::size_t i = 0; i < rows_ && pass_.weight.data; ++i)
            if (weight[i] == 0) {
                value_[i] = 0.0;
                for (std::size_t k = 0; k < classes; ++k) p[k * stride_ + i] = 0.0;
            }
        for (std::size_t i = 0; i < rows_; ++i) value += weight[i] * value_[i];
        if (gram)
            for (std::size_t k = 0; k < classes; ++k)
                for (std::size_t l = 0; l <= k; ++l) {
                    const double *pk = p + k * stride_, *pl = p + l * stride_;
                    for (std::size_t i = 0; i < stride_; ++i) curvature_[i] = weight[i] * pk[i] * ((k == l) - pl[i]);
                    add_gram(curvature_.get(), gram + k * columns_ * width + l * columns_, width);
                }
        const double* y = y_.at(begin_, rows_);
        for (std::size_t k = 0; k < classes; ++k) {
            double* slope = p + k * stride_;
            for (std::size_t i = 0; i < rows_; ++i) slope[i] = weight[i] * (slope[i] - (y[i] == static_cast<double>(k)));
            std::fill(slope + rows_, slope + stride_, 0.0);
            add_gradient(slope, gradient + k * columns_);
        }
    }

    const InstructionSet& set_;
    const Table& table_;
    const Pass& pass_;
    std::size_t stride_, dense_columns_, columns_, begin_ = 0, rows_ = 0;
    SourceBlock y_, weight_, offset_;
    ParameterBlocks parameters_;
    Buffer slopes_, bends_, raw_;  // of all raw parameters at once
    Buffer panel_, eta_, value_, gradient_, curvature_, room_, by_rows_;
    std::vector<RowFunctions> levels_, functions_;  // where there are basis blocks, and the numbers of these below
    Buffer function_values_, factor_values_;
    std::vector<std::int32_t> function_firsts_;
    static constexpr std::size_t few_columns = 4;  // dense ones, of which sums by function are made one after the other
    std::vector<double> sums_;
    bool in_place_;
    const double* columns_of_panel_ = nullptr;
    std::size_t distance_ = 0;
};

// Of each block of a row of coefficients with another, which is symmetric, and then of the whole.
void fill_upper_triangles(double* gram, std::size_t width, std::size_t columns, std::size_t outputs) {
    for (std::size_t k = 0; k < outputs; ++k)
        for (std::size_t l = 0; l < k; ++l) {
            double* block = gram + k * columns * width + l * columns;
            for (std::size_t i = 0; i < columns; ++i)
                for (std::size_t j = i + 1; j < columns; ++j) block[i * width + j] = block[j * width + i];
        }
    for (std::size_t i = 0; i < width; ++i)
        for (std::size_t j = i + 1; j < width; ++j) gram[i * width + j] = gram[j * width + i];
}

// The edges that the first of them and the logs of the gaps between them give, with the ends of the line.
std::vector<double> edges_of(const double* raw, std::size_t count) {
    std::vector<double> edges(count + 2);
    double at = raw[0];
    for (std::size_t k = 0; k < count; ++k) edges[k + 1] = at += k ? std::exp(raw[k]) : 0.0;
    edges.front() = -HUGE_VAL, edges.back() = HUGE_VAL;
    return edges;
}

// The chain rule from edges to the first of them and the logs of the gaps, of which each moves all edges after it.
void turn_to_gaps(const double* raw, std::size_t count, std::size_t columns, double* gradient, double* gram) {
    const std::size_t width = columns + count;
    const auto pace = [raw](std::size_t k) { return k ? std::exp(raw[k]) : 1.0; };
    if (gradient)
        for (std::size_t k = count; k-- > 0;) gradient[columns + k] += k + 1 < count ? gradient[columns + k + 1] : 0.0;
    if (gram) {  // its lower triangle, whose last corner is made whole first
        double* corner = gram + columns * width + columns;
        for (std::size_t k = 0; k < count; ++k)
            for (std::size_t l = 0; l < k; ++l) corner[l * width + k] = corner[k * width + l];
        for (std::size_t k = count - 1; k-- > 0;)
            for (std::size_t j = 0; j < width; ++j) gram[(columns + k) * width + j] += gram[(columns + k + 1) * width + j];
        for (std::size_t l = count - 1; l-- > 0;)
            for (std::size_t k = 0; k < count; ++k) corner[k * width + l] += corner[k * width + l + 1];
        for (std::size_t k = 0; k < count; ++k) {
            double* row = gram + (columns + k) * width;
            for (std::size_t j = 0; j < columns; ++j) row[j] *= pace(k);
            for (std::size_t l = 0; l <= k; ++l) row[columns + l] *= pace(k) * pace(l);
            if (k && gradient) row[columns + k] += pace(k) * gradient[columns + k];
        }
    }
    for (std::size_t k = 0; k < count && gradient; ++k) gradient[columns + k] *= pace(k);
}

}  // namespace

std::size_t Table::panel_columns(bool response) const {
    std::size_t count = (intercept ? 1 : 0) + (response ? 1 : 0);
    for (const DenseBlock& block : dense) count += block.columns;
    return count;
}

std::size_t Table::plain_columns(bool response) const {
    std::size_t count = panel_columns(response);
    for (const CodesBlock& block : codes) count += block.columns;
    for (const SparseBlock& block : sparse) count += block.columns;
    return count;
}

namespace {

double sums(const InstructionSet& set, const Table& table, const Pass& pass, std::size_t threads) {
    if (has_wide_rows(table, pass)) return run_wide_rows(set, table, pass, threads);
    const Turn turn = table.turn(pass.response, pass.outputs(), pass.open.size());
    const std::size_t width = turn.inner_width();
    const std::size_t stride = panel_stride(table.rows, table.panel_columns(pass.response), pass.gram != nullptr);
    const std::size_t parts = number_of_parts(table, width, stride, pass.gram != nullptr);
    const std::size_t per_part = rounded_up((table.rows + parts - 1) / parts, stride);
    if (pass.panels && !pass.panels->numbers) pass.panels->numbers = room_for_panels(table, pass, stride);
    std::vector<double> values(parts, 0.0), gradients(parts * width, 0.0), grams(pass.gram ? parts * width * width : 0, 0.0);
    over_parts(parts, threads, [&](std::size_t part) {
        Worker worker(set, table, pass, stride);
        double* gram = pass.gram ? grams.data() + part * width * width : nullptr;
        const std::size_t end = std::min(table.rows, (part + 1) * per_part);
        for (std::size_t begin = part * per_part; begin < end; begin += stride)
            worker.add(begin, std::min(stride, end - begin), values[part], gradients.data() + part * width, gram);
    });
    if (pass.panels) pass.panels->packed = true;
    const auto add_up = [parts](const std::vector<double>& sums, std::size_t n, double* out) {
        std::copy_n(sums.data(), n, out);
        for (std::size_t part = 1; part < parts; ++part)
            for (std::size_t i = 0; i < n; ++i) out[i] += sums[part * n + i];
    };
    double value = 0.0;
    add_up(values, 1, &value);
    if (pass.gradient) add_up(gradients, width, pass.gradient);
    if (pass.gram) {
        add_up(grams, width * width, pass.gram);
        fill_upper_triangles(pass.gram, width, turn.functions(), pass.outputs());
    }
    return value;
}

// The same where sums are collected by function, and turned into those of the columns at the end.
double turned_sums(const InstructionSet& set, const Table& table, const Pass& pass, std::size_t threads) {
    if (table.basis.empty()) return sums(set, table, pass, threads);
    const Turn turn = table.turn(pass.response, pass.outputs(), pass.open.size());
    const std::size_t width = turn.inner_width();
    std::vector<double> theta(width), gradient(width), gram(pass.gram ? width * width : 0);
    if (pass.theta) turn.spread(pass.theta, theta.data());
    Pass inner = pass;
    inner.theta = theta.data(), inner.gradient = pass.gradient ? gradient.data() : nullptr, inner.gram = pass.gram ? gram.data() : nullptr;
    const double value = sums(set, table, inner, threads);
    if (pass.gradient) turn.gather(gradient.data(), pass.gradient);
    if (pass.gram) turn.gather_matrix(gram.data(), pass.gram);
    return value;
}

}  // namespace

double run(const InstructionSet& set, const Table& table, const Pass& given, std::size_t threads) {
    if (!given.ordered) return turned_sums(set, table, given, threads);
    Pass pass = given;
    const std::size_t columns = table.columns(false), count = pass.open.size();
    pass.edges = edges_of(pass.theta + columns, count);
    const double value = turned_sums(set, table, pass, threads);
    turn_to_gaps(pass.theta + columns, count, columns, pass.gradient, pass.gram);
    if (pass.gram) fill_upper_triangles(pass.gram, columns + count, columns, 1);
    return value;
}

namespace {

// Calls work(worker, begin, rows) with the rows of each panel packed.
template <class Work>
void over_panels(const InstructionSet& set, const Table& table, const Pass& pass, std::size_t threads, Work work) {
    const std::size_t columns = table.columns(false), stride = panel_stride(table.rows, table.panel_columns(false), false);
    const std::size_t parts = number_of_parts(table.rows, columns, stride, false);
    const std::size_t per_part = rounded_up((table.rows + parts - 1) / parts, stride);
    over_parts(parts, threads, [&](std::size_t part) {
        Worker worker(set, table, pass, stride);
        const std::size_t end = std::min(table.rows, (part + 1) * per_part);
        for (std::size_t begin = part * per_part; begin < end; begin += stride) {
            const std::size_t rows = std::min(stride, end - begin);
            worker.set_rows(begin, rows);
            worker.pack_panel();
            work(worker, begin, rows);
        }
    });
}

}  // namespace

void predict(const InstructionSet& set, const Table& table, const double* theta, std::size_t classes, const Source& offset, double* eta,
             std::size_t threads) {
    Pass pass;
    pass.offset = offset;
    const Turn turn = table.turn(false, classes, 0);
    std::vector<double> inner(table.basis.empty() ? 0 : turn.inner_width());
    if (!inner.empty()) turn.spread(theta, inner.data()), theta = inner.data();
    over_panels(set, table, pass, threads, [&](Worker& worker, std::size_t begin, std::size_t rows) {
        for (std::size_t k = 0; k < classes; ++k) {
            worker.predict_panel(theta + k * turn.functions(), worker.offset(), worker.eta());
            for (std::size_t i = 0; i < rows; ++i) eta[(begin + i) * classes + k] = worker.eta()[i];
        }
    });
}

void quadratic_forms(const InstructionSet& set, const Table& table, const double* matrix, double* out, std::size_t threads) {
    const Turn turn = table.turn(false, 1, 0);
    std::vector<double> inner(turn.inner_width() * turn.inner_width());
    turn.spread_matrix(matrix, inner.data());
    Pass pass;
    pass.forms = true;
    over_panels(set, table, pass, threads,
                [&](Worker& worker, std::size_t begin, std::size_t) { worker.quadratic_form(inner.data(), out + begin); });
}

}  // namespace neglog

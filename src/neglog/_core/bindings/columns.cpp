// Sparse columns, one at a time.

#include "../columns.hpp"
#include "arrays.hpp"

namespace neglog {
namespace {

// The weighted sum of the loss of rows whose raw predictions are known, and the two derivatives of each.
double row_losses(const std::string& family, const std::string& link, const Input& y, const Doubles& eta,
                  const std::optional<Input>& weight, const std::vector<Input>& parameters, const DoublesOut& gradient,
                  const DoublesOut& hessian, std::size_t threads) {
    const LossLoop loop = find_kernel(family, link).observed_loss;
    const std::size_t n = eta.size(), blocks = (n + block_size - 1) / block_size;
    if (gradient.size() != n || hessian.size() != n) throw nb::value_error("eta, gradient and hessian differ in size");
    const std::vector<Source> given = sources(parameters, n);
    const Source ys = source(y, n), weights = weight ? source(*weight, n) : Source{};
    std::vector<double> sums(blocks, 0.0);  // block by block: the same for any number of threads
    const double* raw = eta.data();
    double *slope = gradient.data(), *bend = hessian.data();
    {
        nb::gil_scoped_release release;
        in_threads(n, threads, [&](std::size_t begin, std::size_t end) {
            SourceBlock y_block(ys), weight_block(weights);
            ParameterBlocks p(given.data(), given.size());
            std::vector<double> values(block_size);
            for (; begin < end; begin += block_size) {
                const std::size_t m = std::min(block_size, end - begin);
                loop(m, y_block.at(begin, m), raw + begin, p.at(begin, m), values.data(), slope + begin, bend + begin);
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
auto descent_of(const Indices<Index>& starts, const Indices<Index>& indices, const Doubles& values, const Chosen& chosen,
                const Doubles& weight, const Doubles& slope, const Doubles& bend, const Doubles& strength, const Doubles& kink,
                std::optional<double> slope0, double tolerance, std::size_t most_sweeps, const DoublesOut& x, const DoublesOut& change) {
    const std::size_t n = x.size();
    if (chosen.size() != n || slope.size() != n || bend.size() != n || strength.size() != n || kink.size() != n ||
        weight.size() != change.size())
        throw nb::value_error("the arrays do not fit");
    const SparseColumns<Index> columns{weight.size(), starts.data(), indices.data(), values.data()};
    const LassoModel model{n,           chosen.data(),      weight.data(),       slope.data(), bend.data(), strength.data(),
                           kink.data(), slope0.has_value(), slope0.value_or(0.0)};
    LassoEnd end;
    {
        nb::gil_scoped_release release;
        end = sparse_descent(columns, model, tolerance, most_sweeps, x.data(), change.data());
    }
    return std::make_tuple(end.gain, end.step0, end.sweeps);
}

template <class Index>
void define_columns_of(nb::module_& m) {
    m.def("column_products", &products_of<Index>, "starts"_a, "indices"_a, "values"_a, "chosen"_a.none(), "x"_a, "out"_a, "threads"_a);
    m.def("sparse_descent", &descent_of<Index>, "starts"_a, "indices"_a, "values"_a, "chosen"_a, "weight"_a, "slope"_a, "bend"_a,
          "strength"_a, "kink"_a, "slope0"_a.none(), "tolerance"_a, "most_sweeps"_a, "x"_a, "change"_a);
}

}  // namespace

void define_columns(nb::module_& m) {
    m.def("row_losses", &row_losses, "family"_a, "link"_a, "y"_a, "eta"_a, "weight"_a.none(), "parameters"_a, "gradient"_a, "hessian"_a,
          "threads"_a);
    define_columns_of<std::int32_t>(m);
    define_columns_of<std::int64_t>(m);
}

}  // namespace neglog

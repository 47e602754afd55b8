// Columns that are made of functions of which a row meets few, all neighbours: a smooth curve, a number by level, a curve by level, a
// surface. Passes collect sums by function, which are simple, and `turn` makes those of the columns of them at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace neglog {

// One variable as polynomials in pieces. A row in piece k has the functions firsts[k] .. firsts[k] + many - 1, each a cubic in x less
// origins[k]; the coefficients of a piece lie by power, highest last, and within it by function.
struct BasisFactor {
    const void* x;
    bool single_precision;
    std::ptrdiff_t stride;
    const std::uint8_t* pieces;  // of the rows
    const double *origins, *polynomials;
    const std::int32_t* firsts;
    std::size_t many;  // 1 or 4
    std::size_t functions;
};

// Products of one or two such variables, for each level of a factor if there is one. Functions are numbered by level, by the first
// variable, by the second. A code below 0 is a level without functions.
struct BasisBlock {
    std::vector<BasisFactor> factors;
    const std::int32_t* codes;  // null: one level
    std::size_t levels;
    const double* turn;         // functions of one level × columns of one level
    std::size_t columns_of_level;
    std::size_t functions_of_level() const {
        std::size_t count = 1;
        for (const BasisFactor& factor : factors) count *= factor.functions;
        return count;
    }
    std::size_t functions() const { return levels * functions_of_level(); }
    std::size_t columns() const { return levels * columns_of_level; }
    std::size_t runs() const { return factors.size() > 1 ? factors[0].many : 1; }
    std::size_t length() const { return factors.back().many; }
    std::size_t apart() const { return factors.back().functions; }
};

// What some rows have of a block: the first function of each, and the values of its functions, `runs` of `length` neighbours each; runs
// begin `apart` functions from each other.
struct RowFunctions {
    const std::int32_t* first;
    const double* values;
    std::size_t runs, length, apart;
    std::size_t count() const { return runs * length; }
};

// Columns before the basis blocks, then these, for each row of coefficients, then `rest` numbers that are as they are.
struct Turn {
    const std::vector<BasisBlock>& blocks;
    std::size_t before, outputs, rest;
    std::size_t columns() const;
    std::size_t functions() const;
    std::size_t width() const { return columns() * outputs + rest; }
    std::size_t inner_width() const { return functions() * outputs + rest; }
    // Coefficients of the columns to those of the functions.
    void spread(const double* theta, double* inner) const;
    // Sums by function to those by column: of a vector, and of a symmetric matrix.
    void gather(const double* inner, double* out) const;
    void gather_matrix(const double* inner, double* out) const;
    // A symmetric matrix over columns, as one over functions whose quadratic form is the same.
    void spread_matrix(const double* matrix, double* inner) const;
};

}  // namespace neglog

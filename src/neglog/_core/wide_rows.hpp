// Losses and gradients of rows so wide that a panel of them would not stay in a cache: row by row, where they lie.
#pragma once

#include "passes.hpp"

namespace neglog {

// Whether the pass wants no Gram matrix of one dense block of many columns whose rows are doubles one after the other.
bool has_wide_rows(const Table& table, const Pass& pass);

// The weighted sum of the loss, and its gradient.
double run_wide_rows(const InstructionSet& set, const Table& table, const Pass& pass, std::size_t threads);

}  // namespace neglog

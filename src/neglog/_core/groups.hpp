// One fit for each group of rows: the rows of a group are gathered once, stay in the first-level cache, and are gone through by
// Newton's method there. Groups are shared out among threads; what is found for one depends on its own rows alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "passes.hpp"

namespace neglog {

// The rows of group g are order[starts[g]], ..., order[starts[g + 1] - 1]; without an order, these numbers themselves.
struct GroupRows {
    const std::int64_t *order, *starts;
    std::size_t count;
};

// factor * loss + sum of bend (theta - centre)^2 / 2 for each group, over coefficients in the order of the table and then what is open.
// With units, nothing may be open, and what is looked for are u with coefficients centre + unit u, under u^2 / 2.
struct GroupQuestion {
    const InstructionSet& set;
    const Table& table;
    const Pass& pass;
    GroupRows rows;
    const double *bend, *centre;
    const double* unit;
    double factor;
    std::vector<Ends> ends;  // of what is open
};

enum class GroupEnd : std::uint8_t { arrived, not_arrived, singular, no_number };

// Where the search of each group begins, and ends: rows of as many numbers as there are coefficients and open parameters.
struct GroupSearch {
    double tol;
    std::size_t most_steps, looks;  // values of what is open that are looked at first, beside `shifts` of each group
    const double *looked_at, *shifts;
    double *theta, *value, *decrement, *largest;  // the last: |y| as the noise is given it
    std::int32_t* steps;
    GroupEnd* ends;
    std::uint8_t* held;  // columns that do not vary within the group, and stay where their prior is centred
};
void search_groups(const GroupQuestion& question, const GroupSearch& search, std::size_t threads);

// What is known at theta: the objective, the variances of coefficients and open parameters (infinite where nothing is known, NaN where
// there is no maximum), and the logarithm of the determinant of the curvature. With units, also the slopes of value + that / 2, which is
// minus the log evidence by Laplace, in the centres and then in the units; theta follows these.
struct GroupCurvature {
    const double* theta;
    double *value, *variances, *log_determinant, *slopes;
};
void curvature_of_groups(const GroupQuestion& question, const GroupCurvature& wanted, std::size_t threads);

}  // namespace neglog

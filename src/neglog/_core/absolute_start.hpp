// Where the search for the minimum of an absolute loss with a ridge begins.
#pragma once

#include "absolute_rows.hpp"

namespace neglog {

struct RidgeStart {
    Numbers theta;
    Indices active;  // rows near zero that are well apart from each other
};

// Near the minimum, by a few weighted least squares, unless a theta is `given`. All in scaled columns.
RidgeStart smoothed_start(const ScaledRows& rows, const Numbers& strength, const Numbers& centre, const double* given,
                          const InstructionSet& set);

}  // namespace neglog

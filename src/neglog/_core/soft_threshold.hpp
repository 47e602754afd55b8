// The minimum of (z - x)^2 / 2 + by |z| over z.
#pragma once

namespace neglog {

inline double soft_threshold(double x, double by) { return x > by ? x - by : (x < -by ? x + by : 0.0); }

}  // namespace neglog

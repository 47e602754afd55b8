"""Sums, integrals and incomplete gamma and beta functions that can be trusted to 30 digits.

mpmath offers some of these, but slowly, or with silent loss of digits, at the sizes needed here
(shapes of 1e8, Poisson means of 1e15). Every routine works at the precision of the caller.
"""

from mpmath import exp, log, loggamma, mp, mpf, quad, sqrt

NEGLIGIBLE = mpf(10) ** -45  # relative to the largest term


def sum_over_integers(term, peak, width, first):
    """Sum of term(j) over the integers j >= first; each term is a tuple whose first entry is positive.

    The first entry must be unimodal with its maximum near `peak` and about `width` wide. A smooth bump
    much wider than its stride is summed exactly, up to aliasing, by every stride-th term (Poisson's
    summation formula). Two interleaved strided sums have opposite leading aliasing errors, so their
    agreement proves both; if they disagree the stride is halved, down to the full sum.
    """
    peak = max(first, int(peak))
    stride = 1
    while 4 * stride <= width:
        stride *= 2
    kept = _strided(term, peak, stride, first)
    while stride > 1:
        between = _strided(term, peak + stride // 2, stride, first)
        size = [max(abs(a), abs(b)) for a, b in zip(kept, between, strict=True)]
        if all(abs(a - b) <= s * mpf(10) ** -35 for a, b, s in zip(kept, between, size, strict=True)):
            return [stride * (a + b) / 2 for a, b in zip(kept, between, strict=True)]
        kept = [a + b for a, b in zip(kept, between, strict=True)]
        stride //= 2
    return kept


def _strided(term, start, stride, first):
    total = list(term(start))
    for step in (stride, -stride):
        largest, j = total[0], start + step
        while j >= first:
            values = term(j)
            total = [a + b for a, b in zip(total, values, strict=True)]
            if values[0] > largest:
                largest = values[0]
            elif values[0] < NEGLIGIBLE * largest:
                break
            j += step
    return total


def climb(value, first, guess):
    """The integer j >= first at which a unimodal function is largest."""
    low, high = first, max(first + 4, int(2 * guess))
    while value(high) > value(high - 1):
        low, high = high, 2 * high
    while high - low > 2:
        middle = (low + high) // 2
        if value(middle + 1) > value(middle):
            low = middle + 1
        else:
            high = middle + 1
    return max(range(low, high + 1), key=value)


def integrate_over_log(integrand, centre, step):
    """Integral of integrand(y) over y > 0 by the trapezoidal rule in log y, halved until it settles.

    The rule converges geometrically for analytic integrands: when two meshes agree to 1e-18,
    the finer one has about twice as many digits.
    """
    centre, step = log(mpf(centre)), mpf(step)

    def mesh(offset):
        total = mpf(0)
        for direction in (1, -1):
            k, largest, quiet = (0 if direction == 1 else 1), mpf(0), 0
            while quiet < 8:  # the integrand may cross zero: wait for eight negligible values in a row
                y = exp(centre + (direction * k + offset) * step)
                value = y * integrand(y)
                total += value
                largest = max(largest, abs(value))
                quiet = quiet + 1 if abs(value) <= largest * mpf(10) ** -38 else 0
                k += 1
        return total

    kept = mesh(0)
    while True:
        between = mesh(mpf(1) / 2)
        fine = (kept + between) / 2 * step
        if abs(kept - between) <= mpf(10) ** -18 * abs(kept + between):
            return fine
        kept, step = kept + between, step / 2


def integrate_pieces(integrand, points):
    """Integral over a union of intervals, refused unless mpmath's own error estimate is below 1e-25 of it."""
    total, error = quad(integrand, points, error=True, maxdegree=12)
    assert error <= mpf(10) ** -25 * abs(total), (total, error)
    return total


def gamma_tails(shape, x):
    """Regularised incomplete gamma functions (P, Q) of x, the smaller one to full relative precision."""
    shape, x = mpf(shape), mpf(x)
    if x <= 0:
        return mpf(0), mpf(1)
    if shape > 1e9:
        return _gamma_tails_by_quadrature(shape, x)
    front = exp(shape * log(x) - x - loggamma(shape))
    if x <= shape + 1:
        lower = front / shape * _rising_ratio_series(x, None, shape)
        return lower, 1 - lower
    upper = front / _legendre_fraction(shape, x)
    return 1 - upper, upper


def _rising_ratio_series(x, top, bottom):
    """1 + sum over n of the products of x (top + k) / (bottom + k), k = 1 .. n; top=None leaves the numerator out.

    All terms are positive, so fixed-point integers lose nothing and are ten times faster than mpf.
    """
    bits = mp.prec + 40
    unit = 1 << bits
    x, bottom = int(x * unit), int(bottom * unit)
    top = None if top is None else int(top * unit)
    term = total = unit
    while term:
        bottom += unit
        if top is not None:
            top += unit
            term = term * top >> bits
        term = term * x // bottom
        total += term
    return mpf(total) / unit


def _legendre_fraction(shape, x):
    """Legendre's continued fraction x + 1 - a - 1 (1 - a) / (x + 3 - a - ...), by Lentz's algorithm."""
    b = x + 1 - shape
    value = c = b
    d = mpf(0)
    n = 1
    while True:
        a = -n * (n - shape)
        b += 2
        d = 1 / (b + a * d)
        c = b + a / c
        value *= c * d
        if abs(c * d - 1) < mp.eps * 4:
            return value
        n += 1


def _gamma_tails_by_quadrature(shape, x):
    """The smaller tail as an integral of the density, piece by piece on the scale of its own decay."""
    slope = (shape - 1) / x - 1
    sign = -1 if x < shape else 1
    unit = min(1 / max(abs(slope), mpf(10) ** -40), sqrt(shape))
    height = exp(shape * log(x) - x - loggamma(shape) - log(x))

    def relative(t):
        return exp((shape - 1) * mp.log1p(sign * t / x) - sign * t)

    pieces = [2 * k * unit for k in range(70)]
    tail = height * mp.quad(relative, pieces, method="gauss-legendre")
    return (tail, 1 - tail) if sign < 0 else (1 - tail, tail)


def beta_tails(a, b, x):
    """Regularised incomplete beta functions (I_x(a, b), 1 - I), the smaller one to full relative precision."""
    a, b, x = mpf(a), mpf(b), mpf(x)
    if x > (a + 1) / (a + b + 2):
        upper, lower = beta_tails(b, a, 1 - x)
        return lower, upper
    front = exp(a * log(x) + b * log(1 - x) - loggamma(a) - loggamma(b) + loggamma(a + b)) / a
    lower = front * _rising_ratio_series(x, a + b - 1, a)
    return lower, 1 - lower

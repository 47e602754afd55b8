"""Likelihood, Bayes' rule and MAP as the handbook derives them: one test for each page, by SymPy or exact numbers."""

import itertools

import sympy as sp
from docs.symbols import Y, b, eta, gaussian, lam, m, minus_log, n, sigma, tau, theta, y, zero


def test_likelihood():
    # -log of a product of densities is the sum of their -logs, and an argmin ignores a positive factor and a constant
    product = sp.Mul(*(gaussian(value, m, sigma) for value in Y))
    rss = sum((value - m) ** 2 for value in Y)
    nll = sp.Rational(n, 2) * sp.log(2 * sp.pi * sigma**2) + rss / (2 * sigma**2)
    assert zero(minus_log(product) - nll)
    loss, c1, c2 = sp.Function("L")(theta), sp.Symbol("c1", positive=True), sp.Symbol("c2")
    assert zero(sp.diff(c1 * loss + c2, theta) / c1 - sp.diff(loss, theta))

    # Gaussian: the two stationary points
    assert zero(sp.diff(nll, m) + sum(value - m for value in Y) / sigma**2)
    mean = sum(Y) / n
    assert zero(sp.solve(sp.diff(nll, m), m)[0] - mean)
    assert zero(sp.diff(nll, sigma) - (n / sigma - rss / sigma**3))
    at_mean = rss.subs(m, mean)
    assert zero(sp.diff(nll, sigma).subs({m: mean, sigma: sp.sqrt(at_mean / n)}))

    # Laplace: the scale with the highest likelihood is the mean distance
    distance = sp.Symbol("S", positive=True)  # the sum of |y - m|
    assert sp.solve(sp.diff(n * sp.log(2 * b) + distance / b, b), b) == [distance / n]

    # multiplicative noise: the Jacobian of eps = y e^-f is e^-f, and without it f moves by sigma^2
    f = sp.Symbol("f", real=True)
    noise = minus_log(gaussian(sp.log(y) - f, 0, sigma) / (y * sp.exp(-f)))  # the density of eps at y e^-f
    assert zero(noise + f - minus_log(gaussian(sp.log(y), f, sigma) / y))
    assert zero(sp.solve(sp.diff(noise, f), f)[0] - (sp.log(y) + sigma**2))
    assert zero(sp.solve(sp.diff(noise + f, f), f)[0] - sp.log(y))

    # a batch sum times n / |B| has the whole gradient as its average
    rows = sp.symbols("g1:5")
    batches = list(itertools.combinations(rows, 2))
    assert sp.expand(sum(sp.Rational(4, 2) * sum(batch) for batch in batches) / len(batches) - sum(rows)) == 0


def test_bayes_rule():
    # the diagnostic test, from the product rule and the sum over both hypotheses
    prevalence, s, specificity = sp.symbols("pi s c", positive=True)
    joint = {
        ("sick", "+"): prevalence * s,
        ("sick", "-"): prevalence * (1 - s),
        ("well", "+"): (1 - prevalence) * (1 - specificity),
        ("well", "-"): (1 - prevalence) * specificity,
    }
    assert sp.expand(sum(joint.values())) == 1
    positive, negative = (joint["sick", r] / (joint["sick", r] + joint["well", r]) for r in "+-")
    assert zero(positive - s * prevalence / (s * prevalence + (1 - specificity) * (1 - prevalence)))
    assert zero(negative - (1 - s) * prevalence / ((1 - s) * prevalence + specificity * (1 - prevalence)))

    # in odds an update is one multiplication; two updates commute and equal one with both
    prior, l1, k1, l2, k2 = sp.symbols("p l1 k1 l2 k2", positive=True)

    def updated(p, likely, otherwise):
        return p * likely / (p * likely + (1 - p) * otherwise)

    after = updated(prior, l1, k1)
    assert sp.simplify(after / (1 - after) - l1 / k1 * prior / (1 - prior)) == 0
    assert sp.simplify(updated(after, l2, k2) - updated(prior, l1 * l2, k1 * k2)) == 0
    assert sp.simplify(updated(after, l2, k2) - updated(updated(prior, l2, k2), l1, k1)) == 0

    # the coin: evidence B(a + h, b + t) / B(a, b), posterior Beta(a + h, b + t), and its mean
    p = sp.Symbol("p", positive=True)
    for first, second, heads, tails in ((2, 2, 3, 2), (1, 1, 3, 7), (4, 1, 0, 5)):

        def beta(i, j):
            return sp.gamma(i) * sp.gamma(j) / sp.gamma(i + j)

        density = p ** (first - 1) * (1 - p) ** (second - 1) / beta(first, second)
        weighted = sp.expand(p**heads * (1 - p) ** tails * density)
        evidence = sp.integrate(weighted, (p, 0, 1))
        assert evidence == beta(first + heads, second + tails) / beta(first, second)
        posterior = weighted / evidence
        by_name = p ** (first + heads - 1) * (1 - p) ** (second + tails - 1) / beta(first + heads, second + tails)
        assert zero(posterior - by_name)
        mean = sp.integrate(sp.expand(p * posterior), (p, 0, 1))
        total = first + second + heads + tails
        assert mean == sp.Rational(first + heads, total)
        share = sp.Rational(heads, heads + tails)
        compromise = (sp.Rational(first, first + second) * (first + second) + share * (heads + tails)) / total
        assert mean == compromise


def test_map():
    # -log of the priors of a vector, with every constant
    coefficients = sp.symbols("t1:4", positive=True)  # |t| = t
    d = len(coefficients)
    squares, absolutes = sum(t**2 for t in coefficients), sum(coefficients)
    normal = sp.Mul(*(gaussian(t, 0, tau) for t in coefficients))
    double = sp.Mul(*(sp.exp(-t / b) / (2 * b) for t in coefficients))
    assert zero(minus_log(normal) - squares / (2 * tau**2) - sp.Rational(d, 2) * sp.log(2 * sp.pi * tau**2))
    assert zero(minus_log(double) - absolutes / b - d * sp.log(2 * b))
    assert zero(minus_log(normal * double) - minus_log(normal) - minus_log(double))

    # with their constants the scales of the priors have an optimum
    assert zero(sp.diff(minus_log(normal), tau).subs(tau, sp.sqrt(squares / d)))
    assert zero(sp.diff(minus_log(double), b).subs(b, absolutes / d))

    # the table of lambdas: a data term that is k times the NLL takes k times both factors
    rss, rows = sp.symbols("RSS N", positive=True)
    nll = rss / (2 * sigma**2)
    table = {
        nll: (1 / (2 * tau**2), 1 / b),
        nll / rows: (1 / (2 * rows * tau**2), 1 / (rows * b)),
        rss: (sigma**2 / tau**2, 2 * sigma**2 / b),
        rss / 2: (sigma**2 / (2 * tau**2), sigma**2 / b),
        rss / rows: (sigma**2 / (rows * tau**2), 2 * sigma**2 / (rows * b)),
        rss / (2 * rows): (sigma**2 / (2 * rows * tau**2), sigma**2 / (rows * b)),
    }
    assert len(table) == 6
    for data, (l2, l1) in table.items():
        factor = data / nll
        assert sp.simplify(l2 - factor / (2 * tau**2)) == 0
        assert sp.simplify(l1 - factor / b) == 0
    assert sp.solve(lam - 1 / (2 * rows * tau**2), tau**2) == [1 / (2 * rows * lam)]  # a fixed lambda on a mean loss

    # one Gaussian observation: ridge shrinks by a share, the lasso by sigma^2 / b until zero
    objective = (y - theta) ** 2 / (2 * sigma**2)
    ridge = sp.solve(sp.diff(objective + theta**2 / (2 * tau**2), theta), theta)[0]
    assert zero(ridge - y * tau**2 / (sigma**2 + tau**2))
    lasso = sp.solve(sp.diff(objective + theta / b, theta), theta)[0]  # to the right of zero
    assert zero(lasso - (y - sigma**2 / b))
    assert zero(sp.diff(objective, theta).subs(theta, 0) + y / sigma**2)  # which exceeds 1/b exactly if lasso > 0

    # 3 of 10 under a uniform prior: 0.3 for p, 1/3 for logit p, whose density has the factor p (1 - p)
    p = sp.Symbol("p", positive=True)
    nats = -3 * sp.log(p) - 7 * sp.log(1 - p)
    assert sp.solve(sp.diff(nats, p), p) == [sp.Rational(3, 10)]
    assert sp.solve(sp.diff(nats - sp.log(p * (1 - p)), p), p) == [sp.Rational(1, 3)]
    inverse = 1 / (1 + sp.exp(-eta))
    assert sp.simplify(sp.diff(inverse, eta) - inverse * (1 - inverse)) == 0


def test_how_sure():
    # two groups of Poisson counts: the curvature of the nll in (log mean of the first, effect), at the fit
    a, effect, one = sp.symbols("a beta mu_1", real=True)
    n0, n1, s0, s1 = sp.symbols("n_0 n_1 S_0 S_1", positive=True)
    nll = n0 * sp.exp(a) - s0 * a + n1 * sp.exp(a + effect) - s1 * (a + effect)
    found = {a: sp.log(s0 / n0), effect: sp.log(s1 / n1) - sp.log(s0 / n0)}
    assert all(sp.simplify(sp.diff(nll, z).subs(found)) == 0 for z in (a, effect))
    bread = sp.hessian(nll, (a, effect)).subs(found).inv()
    assert sp.simplify(bread[1, 1] - (1 / s0 + 1 / s1)) == 0

    # the slope of a row, its step, and the sandwich of both groups
    def step(count, group):
        eta = a + effect * group
        slope = sp.Matrix([sp.diff(sp.exp(eta) - count * eta, z) for z in (a, effect)]).subs(found)
        return (-bread @ slope)[1]

    assert sp.simplify(step(one, 1) - (one - s1 / n1) / s1) == 0
    assert sp.simplify(step(one, 0) + (one - s0 / n0) / s0) == 0

    # the profile: given the sum of both, one is binomial
    c = sp.Symbol("c", real=True)
    best = sp.log((s0 + s1) / (n0 + n1 * sp.exp(c)))
    assert sp.simplify(sp.diff(nll.subs(effect, c), a).subs(a, best)) == 0
    share = n1 * sp.exp(c) / (n0 + n1 * sp.exp(c))
    binomial = s1 * sp.log(s1 / ((s0 + s1) * share)) + s0 * sp.log(s0 / ((s0 + s1) * (1 - share)))
    lost = nll.subs({effect: c, a: best}) - nll.subs(found)
    values = {n0: 12, n1: 7, s0: 23, s1: 5, c: sp.Rational(1, 3)}
    assert abs(sp.N((lost - binomial).subs(values), 30)) < 1e-25

    # if the noise is right, the filling is the bread: E s^2 = E of the curvature, for one Poisson mean
    k, mean = sp.symbols("k mu", positive=True)
    law = mean**k * sp.exp(-mean) / sp.factorial(k)
    assert sp.simplify(sp.summation(sp.expand((mean - k) ** 2) * law, (k, 0, sp.oo)) - mean) == 0


def test_residuals_of_least_squares():
    X = sp.Matrix([[1, 0], [1, 1], [1, 3], [1, 4]])
    values = sp.Matrix(sp.symbols("v1:5"))
    hat = X @ (X.T @ X).inv() @ X.T
    residual = values - hat @ values
    covariance = (sp.eye(4) - hat) @ (sp.eye(4) - hat).T
    for i in range(4):
        assert covariance[i, i] == 1 - hat[i, i]
        rest = [j for j in range(4) if j != i]
        others, own = X.extract(rest, [0, 1]), values.extract(rest, [0])
        left_out = values[i] - (X.row(i) @ (others.T @ others).inv() @ others.T @ own)[0]
        assert sp.expand(left_out - residual[i] / (1 - hat[i, i])) == 0

    # with k coefficients the best scale makes n/2 log(1 + t^2/(n - k)) of what squares grow by
    size, count, squares, t = sp.symbols("n k R t", positive=True)
    error = sp.sqrt(squares / (size - count))  # of a coefficient whose column has the square 1 beside the others
    grown = squares + (t * error) ** 2
    assert sp.simplify(grown / squares - (1 + t**2 / (size - count))) == 0


def test_clusters_make_a_difference_better_or_worse():
    rows, rho, spread = 4, sp.Symbol("rho"), sp.Symbol("v", positive=True)
    covariance = spread * ((1 - rho) * sp.eye(rows) + rho * sp.ones(rows))
    whole, half = sp.ones(rows, 1) / rows, sp.Matrix([1, -1, 1, -1]) * 2 / rows
    of_two = 2 * (whole.T @ covariance @ whole)[0]  # one cluster less another
    assert sp.simplify(of_two - 2 * spread / rows * (1 + (rows - 1) * rho)) == 0
    assert sp.simplify((half.T @ covariance @ half)[0] - 4 * spread / rows * (1 - rho)) == 0

"""Entropies and KL divergences in mpmath, in nats.

Closed forms where the textbooks have one, otherwise sums and quadrature of the -log p in oracle_laws.
The laws with an atom (Tweedie, 1 < power < 2) are taken with respect to "counting at 0 plus length on y > 0".
"""

import oracle_tweedie as tweedie
from mpmath import digamma, e1, exp, inf, log, log1p, loggamma, mpf, pi, sqrt
from oracle_laws import NLL, huber_constant
from oracle_sums import integrate_over_log, integrate_pieces, sum_over_integers

# ---- entropy -----------------------------------------------------------------------------------------


def gaussian_entropy(scale, loc=0):
    return log(2 * pi * scale**2) / 2 + mpf(1) / 2


def laplace_entropy(scale, loc=0):
    return 1 + log(2 * scale)


def huber_entropy(scale, delta, loc=0):
    constant = huber_constant(delta)
    return log(scale * constant) + mpf(1) / 2 + exp(-(delta**2) / 2) / (delta * constant)


def poisson_entropy(mean):
    def term(k):
        surprise = mean - k * log(mean) + loggamma(k + 1)
        return exp(-surprise), exp(-surprise) * surprise

    return sum_over_integers(term, mean, sqrt(mean), first=0)[1]


def gamma_entropy(mean, shape):
    return shape + log(mean / shape) + loggamma(shape) + (1 - shape) * digamma(shape)


def lognormal_entropy(loc, scale):
    return loc + gaussian_entropy(scale)


def categorical_entropy(p):
    return -sum(x * log(x) for x in p if x > 0)


def bernoulli_entropy(p):
    return -p * log(p) - (1 - p) * log1p(-p)


def dirichlet_entropy(alpha):
    total = sum(alpha)
    constant = sum(map(loggamma, alpha)) - loggamma(total)
    return constant + (total - len(alpha)) * digamma(total) - sum((a - 1) * digamma(a) for a in alpha)


def beta_entropy(a, b):
    return dirichlet_entropy([a, b])


def tweedie_entropy(mean, power, dispersion):
    if power == 0:
        return gaussian_entropy(sqrt(dispersion))
    if power == 1:  # a relabelled count: its labels do not change the entropy
        return poisson_entropy(mean / dispersion)
    if power == 2:
        return gamma_entropy(mean, 1 / dispersion)
    if power == 3:
        x = 2 / (dispersion * mean)
        mean_log = log(mean) - exp(x) * e1(x)
        return log(2 * pi * dispersion) / 2 + mpf(1) / 2 + 3 * mean_log / 2
    law = CompoundDensity(mean, power, dispersion)
    rate = law.rate

    def integrand(y):
        value = law.log_density(y)
        return -exp(value) * value

    return exp(-rate) * rate + integrate_over_log(integrand, mean, law.step())


ENTROPY = {
    "Gaussian": gaussian_entropy,
    "Laplace": laplace_entropy,
    "Huber": huber_entropy,
    "Poisson": poisson_entropy,
    "Gamma": gamma_entropy,
    "LogNormal": lognormal_entropy,
    "Bernoulli": bernoulli_entropy,
    "Beta": beta_entropy,
    "Dirichlet": dirichlet_entropy,
    "Categorical": categorical_entropy,
    "Tweedie": tweedie_entropy,
}


class CompoundDensity:
    """log f(y) of a compound Poisson law at many y: the gamma functions are computed once per j."""

    def __init__(self, mean, power, dispersion):
        self.mean, self.power, self.dispersion = mean, power, dispersion
        self.rate, self.nu, _ = tweedie.compound(mean, power, dispersion)
        self.log_gammas, self.ratios = {}, {}

    def step(self):
        """A first mesh in log y: half a standard deviation."""
        return min(mpf(1) / 4, sqrt(self.dispersion * self.mean ** (self.power - 2)) / 2)

    def _log_gamma(self, j):
        if j not in self.log_gammas:
            self.log_gammas[j] = loggamma(j + 1) + loggamma(j * self.nu)
        return self.log_gammas[j]

    def _ratio(self, j):
        """W_{j+1} / W_j without its power of y."""
        if j not in self.ratios:
            self.ratios[j] = exp(self._log_gamma(j) - self._log_gamma(j + 1))
        return self.ratios[j]

    def log_density(self, y):
        p, phi, nu, mean = self.power, self.dispersion, self.nu, self.mean
        drift = nu * log(y / (p - 1)) - (1 + nu) * log(phi) - log(2 - p)
        peak = max(1, int(y ** (2 - p) / (phi * (2 - p))))
        up, down = exp(drift), exp(-drift)
        total = term = mpf(1)
        j = peak
        while term > mpf(10) ** -40:
            term *= up * self._ratio(j)
            total += term
            j += 1
        term, j = mpf(1), peak
        while j > 1 and term > mpf(10) ** -40:
            j -= 1
            term *= down / self._ratio(j)
            total += term
        log_w = peak * drift - self._log_gamma(peak) + log(total)
        theta, kappa = mean ** (1 - p) / (1 - p), mean ** (2 - p) / (2 - p)
        return log_w - log(y) + (y * theta - kappa) / phi


# ---- KL divergence -----------------------------------------------------------------------------------


def gaussian_kl(p, q):
    ratio = p["scale"] / q["scale"]
    shift = (p["loc"] - q["loc"]) / q["scale"]
    return (ratio**2 + shift**2 - 1) / 2 - log(ratio)


def laplace_kl(p, q):
    ratio = p["scale"] / q["scale"]
    shift = abs(p["loc"] - q["loc"])
    return shift / q["scale"] + ratio * exp(-shift / p["scale"]) - 1 - log(ratio)


def poisson_kl(p, q):
    return p["mean"] * log(p["mean"] / q["mean"]) - p["mean"] + q["mean"]


def gamma_kl(p, q):
    a, b = p["shape"], q["shape"]
    ratio = (p["mean"] / a) / (q["mean"] / b)  # of the scales
    return (a - b) * digamma(a) - loggamma(a) + loggamma(b) - b * log(ratio) + a * (ratio - 1)


def categorical_kl(p, q):
    return sum(x * log(x / y) for x, y in zip(p["p"], q["p"], strict=True) if x > 0)


def bernoulli_kl(p, q):
    return categorical_kl({"p": [p["p"], 1 - p["p"]]}, {"p": [q["p"], 1 - q["p"]]})


def dirichlet_kl(p, q):
    alpha, beta = p["alpha"], q["alpha"]
    constant = loggamma(sum(alpha)) - loggamma(sum(beta)) + sum(map(loggamma, beta)) - sum(map(loggamma, alpha))
    return constant + sum((a - b) * (digamma(a) - digamma(sum(alpha))) for a, b in zip(alpha, beta, strict=True))


def beta_kl(p, q):
    return dirichlet_kl({"alpha": [p["a"], p["b"]]}, {"alpha": [q["a"], q["b"]]})


def tweedie_kl(p, q):
    power, phi = p["power"], p["dispersion"]
    if power in (0, 2) and power == q["power"]:
        as_parent = {
            0: lambda t: {"loc": t["mean"], "scale": sqrt(t["dispersion"])},
            2: lambda t: {"mean": t["mean"], "shape": 1 / t["dispersion"]},
        }[int(power)]
        return (gaussian_kl if power == 0 else gamma_kl)(as_parent(p), as_parent(q))
    if power == 3 == q["power"]:
        ratio = phi / q["dispersion"]
        shift = (p["mean"] - q["mean"]) ** 2 / (p["mean"] * q["mean"] ** 2)
        return (ratio - 1 - log(ratio)) / 2 + shift / (2 * q["dispersion"])
    if power == 1 == q["power"]:
        assert phi == q["dispersion"], "other dispersions have other supports"
        return poisson_kl({"mean": p["mean"] / phi}, {"mean": q["mean"] / phi})
    one, two = CompoundDensity(**p), CompoundDensity(**q)

    def integrand(y):
        value = one.log_density(y)
        return exp(value) * (value - two.log_density(y))

    return exp(-one.rate) * (two.rate - one.rate) + integrate_over_log(integrand, one.mean, one.step())


SAME_FAMILY_KL = {
    "Gaussian": gaussian_kl,
    "Laplace": laplace_kl,
    "Poisson": poisson_kl,
    "Gamma": gamma_kl,
    "LogNormal": gaussian_kl,  # KL does not change when both laws are mapped through exp
    "Bernoulli": bernoulli_kl,
    "Categorical": categorical_kl,
    "Beta": beta_kl,
    "Dirichlet": dirichlet_kl,
    "Tweedie": tweedie_kl,
}

SUPPORT = {"Gamma": "y > 0", "LogNormal": "y > 0", "Beta": "0 < y < 1", "Poisson": "count", "Bernoulli": "0, 1"}


def kl(family_p, p, family_q, q):
    """KL(P || Q); +inf where P puts mass outside the support of Q."""
    if family_p == family_q and family_p in SAME_FAMILY_KL:
        return SAME_FAMILY_KL[family_p](p, q)

    def surprise_p(y):
        return NLL[family_p](y, **p)

    def surprise_q(y):
        return NLL[family_q](y, **q)

    def integrand(y):
        surprise = surprise_p(y)
        return exp(-surprise) * (surprise_q(y) - surprise)

    here, there = SUPPORT.get(family_p, "real"), SUPPORT.get(family_q, "real")
    if (here, there) == ("0, 1", "count"):
        return integrand(mpf(0)) + integrand(mpf(1))
    if here == "0 < y < 1" and there == "real":
        return beta_gaussian_kl(p, q)
    if here == "y > 0" and there in ("y > 0", "real"):
        return integrate_over_log(integrand, exp(p["loc"]) if "loc" in p else p["mean"], mpf(1) / 4)
    if here == "real" and there == "real":
        return integrate_pieces(integrand, breakpoints(p, q))
    return inf


def beta_gaussian_kl(p, q):
    a, b, mean = p["a"], p["b"], p["a"] / (p["a"] + p["b"])
    variance = mean * (1 - mean) / (a + b + 1)
    spread = (variance + (mean - q["loc"]) ** 2) / (2 * q["scale"] ** 2)
    return log(2 * pi * q["scale"] ** 2) / 2 + spread - beta_entropy(a, b)


def breakpoints(p, q):
    """Kinks of both laws, and pieces that double in length until the density of p is below 1e-60."""
    delta = p.get("delta", mpf(1))
    tail = p["scale"] / min(delta, 1)
    points = {p["loc"] + side * tail * mpf(2) ** k for side in (-1, 1) for k in range(-2, 9)}
    for law in (p, q):
        points |= {law["loc"] + side * law["scale"] * law.get("delta", 0) for side in (-1, 0, 1)}
    reach = tail * 256
    return sorted(x for x in points if abs(x - p["loc"]) <= reach)

"""scikit-learn's private loss module: Cython loops with OpenMP."""

from sklearn._loss import loss

NAME = "scikit-learn _loss"

LOSSES = {
    "poisson": loss.HalfPoissonLoss,
    "gamma": loss.HalfGammaLoss,
    "tweedie": lambda: loss.HalfTweedieLoss(power=1.5),
    "bernoulli": loss.HalfBinomialLoss,
}


def gradient_hessian(family, y, eta, gradient, hessian, threads):
    """Gradient and Hessian of the loss in the raw prediction, into the given arrays."""
    LOSSES[family]().gradient_hessian(y, eta, gradient_out=gradient, hessian_out=hessian, n_threads=threads)

"""One observation and one coefficient: loss and penalty from the same two families."""

import neglog as nl

FAMILIES = {"gaussian": nl.Gaussian, "laplace": nl.Laplace}


def data():
    """Where the curves are drawn."""
    return {"low": -4.0, "high": 4.0, "points": 401}


def expected(noise, prior, y, noise_scale, prior_scale):
    """The most probable theta for y = theta + noise, and what it costs."""
    belief = FAMILIES[prior](scale=prior_scale)
    loss = FAMILIES[noise](scale=noise_scale)

    def objective(theta):
        return loss.given(theta).nll(y) + belief.nll(theta)

    # The objective is convex and its minimum is a kink or where one straight piece meets the curved one.
    squares = noise_scale**2, prior_scale**2
    places = (
        0.0,
        y,
        y * squares[1] / (squares[0] + squares[1]),
        *(y - sign * squares[0] / prior_scale for sign in (1, -1)),
        *(sign * squares[1] / noise_scale for sign in (1, -1)),
    )
    mode = min(places, key=lambda theta: (round(float(objective(theta)), 12), -abs(theta)))
    return {"mode": mode, "nll": float(loss.given(mode).nll(y)), "prior_nll": float(belief.nll(mode))}

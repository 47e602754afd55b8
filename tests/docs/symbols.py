"""Symbols and laws for the derivations of the handbook."""

import sympy as sp

y, mu, sigma, tau, b, alpha, phi, delta, lam = sp.symbols("y mu sigma tau b alpha phi delta lambda", positive=True)
eta, theta, m, c = sp.symbols("eta theta m c", real=True)
Y = sp.symbols("y1:4", positive=True)  # a sample of three
n = len(Y)


def zero(expression):
    """Whether an expression vanishes identically, all its symbols being what they were declared to be."""
    return sp.simplify(sp.expand(sp.expand_log(expression, force=True))) == 0


def minus_log(density):
    return sp.expand_log(-sp.log(density), force=True)


def gaussian(y, mu, sigma):
    return sp.exp(-((y - mu) ** 2) / (2 * sigma**2)) / sp.sqrt(2 * sp.pi * sigma**2)


def expected_nll(p, q):
    """E_P[-log q] of two Gaussians (mean, scale), from E(y - mean of Q)^2 = variance of P + square of the gap."""
    (m1, s1), (m2, s2) = p, q
    return sp.log(2 * sp.pi * s2**2) / 2 + (s1**2 + (m1 - m2) ** 2) / (2 * s2**2)

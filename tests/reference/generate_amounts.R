# Weibull, inverse Gaussian and Beta regressions, with the rows they were made from: `Rscript generate_amounts.R` writes amounts.json.
library(survival)
library(statmod)
library(glmmTMB)

number <- function(x) formatC(x, digits = 17, width = 1, format = "g")
numbers <- function(x) paste0("[", paste(number(x), collapse = ", "), "]")

# `other` is the parameter beside the location, in the words of neglog
case <- function(name, noise, link, y, X, coef, other, value, nats) {
  columns <- apply(X[, -1, drop = FALSE], 2, numbers)
  paste0(
    '{"name": "', name, '", "noise": "', noise, '", "link": "', link, '", "other": "', other, '", "value": ', number(value),
    ', "log likelihood": ', number(nats), ', "intercept": ', number(coef[1]), ', "coef": ', numbers(coef[-1]),
    ',\n "y": ', numbers(y), ',\n "columns": [', paste(columns, collapse = ",\n  "), "]}"
  )
}

weibull <- function(name, formula, data) {
  fit <- survreg(formula, data, x = TRUE, control = survreg.control(rel.tolerance = 1e-14, maxiter = 200))
  y <- eval(formula[[2]], data)[, 1]
  case(name, "Weibull", "log", y, fit$x, coef(fit), "shape", 1 / fit$scale, fit$loglik[2])
}

inverse_gaussian <- function(name, link) {
  fit <- glm(Volume ~ log(Girth) + log(Height), inverse.gaussian(link), trees,
    mustart = trees$Volume, control = glm.control(epsilon = 1e-15, maxit = 200))
  y <- trees$Volume
  dispersion <- mean((y - fitted(fit))^2 / (fitted(fit)^2 * y)) # of the maximum of the likelihood; summary() has Pearson's
  nats <- sum(dinvgauss(y, fitted(fit), dispersion = dispersion, log = TRUE))
  case(name, "InverseGaussian", link, y, model.matrix(fit), coef(fit), "dispersion", dispersion, nats)
}

beta <- function(name, link) {
  control <- glmmTMBControl(optCtrl = list(rel.tol = 1e-11, iter.max = 1000, eval.max = 2000))
  swiss$share <- swiss$Examination / 100
  fit <- glmmTMB(share ~ Fertility + Education + Catholic, swiss, beta_family(link), control = control)
  X <- model.matrix(~ Fertility + Education + Catholic, swiss)
  case(name, "BetaProportion", link, swiss$share, X, fixef(fit)$cond, "precision", sigma(fit), as.numeric(logLik(fit)))
}

deaths <- na.omit(lung[lung$status == 2, c("time", "age", "sex", "ph.ecog")])
cases <- c(
  weibull("survival of lung cancer, deaths alone", Surv(time) ~ age + sex + ph.ecog, deaths),
  weibull("ovarian cancer, deaths alone", Surv(futime) ~ age + rx, ovarian[ovarian$fustat == 1, ]),
  inverse_gaussian("volume of trees, log link", "log"),
  inverse_gaussian("volume of trees, inverse link", "inverse"),
  beta("examinations of recruits, logit link", "logit"),
  beta("examinations of recruits, probit link", "probit"),
  beta("examinations of recruits, cloglog link", "cloglog")
)
folder <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
versions <- sapply(c("survival", "statmod", "glmmTMB"), function(name) paste(name, packageVersion(name)))
tool <- paste0(R.version.string, ", ", paste(versions, collapse = ", "))
writeLines(paste0(
  '{"tool": "', tool, '", "generator": "generate_amounts.R", "cases": [\n', paste(cases, collapse = ",\n"), "\n]}"
), file.path(folder, "amounts.json"))

# Smooth curves and groups by mgcv's REML, with the rows they were made from: `Rscript generate_terms.R` writes terms.json.
suppressMessages({library(mgcv); library(MASS)})

number <- function(x) formatC(x, digits = 17, width = 1, format = "g")
numbers <- function(x) paste0("[", paste(number(x), collapse = ", "), "]")
texts <- function(x) paste0('["', paste(x, collapse = '", "'), '"]')
field <- function(name, value) paste0('"', name, '": ', value)

# Penalties are in units of their own; lambda is what multiplies the integral of f''^2, or the sum of squares of a group
lambda <- function(fit) fit$sp / sapply(fit$smooth, function(s) s$S.scale)

case <- function(name, noise, formula, data, family, factor = 3) {
  tight <- gam.control(epsilon = 1e-13, maxit = 500, newton = list(conv.tol = 1e-10, maxNstep = 2, maxSstep = 1, maxHalf = 60))
  fit <- gam(formula, data = data, family = family, method = "REML", control = tight)
  shape <- if (inherits(fit$family, "extended.family")) fit$family$getTheta(TRUE) else numeric(0) # which the next fit changes
  # the criterion where all penalties are three times as large, everything else, the scale included, at its best there
  other <- gam(formula, data = data, family = family, method = "REML", sp = factor * fit$sp, control = tight)
  terms <- sapply(fit$smooth, function(s) s$term)
  edf <- sapply(fit$smooth, function(s) sum(fit$edf[s$first.para:s$last.para]))
  predicted <- predict(fit, se.fit = TRUE)
  y <- eval(formula[[2]], data)
  columns <- lapply(all.vars(formula)[-1], function(v) {
    x <- data[[v]]
    field(v, if (is.factor(x)) texts(as.character(x)) else numbers(x))
  })
  paste0("{", paste(c(
    field("name", paste0('"', name, '"')), field("noise", paste0('"', noise, '"')),
    field("terms", texts(terms)), field("groups", texts(sapply(fit$smooth, function(s) inherits(s, "random.effect")))),
    field("size", number(max(sapply(fit$smooth, function(s) s$bs.dim)))),
    field("lambda", numbers(lambda(fit))), field("edf", numbers(edf)), field("scale", number(fit$reml.scale)),
    field("scale of errors", number(fit$sig2)),
    field("shape", numbers(shape)), field("reml", number(fit$gcv.ubre)),
    field("factor", number(factor)), field("reml beside", number(other$gcv.ubre)),
    field("eta", numbers(predicted$fit)), field("errors", numbers(predicted$se.fit)),
    field("y", numbers(y)), unlist(columns)
  ), collapse = ",\n "), "}")
}

set.seed(1)
n <- 200
d <- data.frame(a = round(runif(n), 4), b = round(rexp(n), 4), g = factor(sample(letters[1:12], n, TRUE)))
eta <- with(d, sin(5 * a) + 0.3 * b - 0.08 * b^2 + rnorm(12, 0, 0.4)[g])
d$normal <- round(eta + rnorm(n, 0, 0.5), 4)
d$count <- rpois(n, exp(0.5 + eta))
d$spread <- rnbinom(n, mu = exp(1 + eta), size = 1.5)
d$amount <- pmax(round(rgamma(n, 2, rate = 2 * exp(-eta)), 4), 1e-4)
d$yes <- rbinom(n, 1, plogis(eta))
d$claims <- round(rTweedie(exp(eta), p = 1.5, phi = 0.8), 4)
smooths <- function(y) as.formula(paste(y, '~ s(a, bs = "cr", k = 12) + s(b, bs = "cr", k = 12) + s(g, bs = "re")'))
cases <- c(
  case("mcycle", "Gaussian", accel ~ s(times, bs = "cr", k = 20), mcycle, gaussian()),
  case("normal", "Gaussian", smooths("normal"), d, gaussian()),
  case("count", "Poisson", smooths("count"), d, poisson()),
  case("spread", "NegativeBinomial", smooths("spread"), d, nb()),
  case("amount", "Gamma", smooths("amount"), d, Gamma("log")),
  case("yes", "Bernoulli", smooths("yes"), d, binomial()),
  case("claims", "Tweedie", smooths("claims"), d, tw())
)
folder <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
tool <- paste0(R.version.string, ", mgcv ", packageVersion("mgcv"))
writeLines(paste0('{"tool": "', tool, '", "generator": "generate_terms.R", "cases": [\n', paste(cases, collapse = ",\n"), "\n]}"),
  file.path(folder, "terms.json"))

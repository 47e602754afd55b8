# One fit for each group of rows, and groups that know of each other (mixed models by ML with independent coefficients: lme4 of
# Gaussian noise, glmmTMB else), with the rows they were made from: `Rscript generate_by_group.R` writes by_group.json.
suppressMessages({library(MASS); library(lme4); library(glmmTMB)})

number <- function(x) formatC(as.numeric(x), digits = 15, width = 1, format = "g")
numbers <- function(x) paste0("[", paste(number(x), collapse = ", "), "]")
texts <- function(x) paste0('["', paste(x, collapse = '", "'), '"]')
field <- function(name, value) paste0('"', name, '": ', value)
object <- function(...) paste0("{", paste(c(...), collapse = ", "), "}")
columns <- function(data) {
  one <- function(v) field(v, if (is.numeric(data[[v]])) numbers(data[[v]]) else texts(as.character(data[[v]])))
  field("columns", paste0("\n ", object(sapply(names(data), one))))
}

set.seed(1)
groups <- c("a", "b", "c", "d")
rows <- 40
g <- rep(groups, each = rows)[sample(length(groups) * rows)]
d <- data.frame(g = g, x = round(rnorm(length(g)), 6), z = round(runif(length(g)), 6), years = round(runif(length(g), 0.5, 2), 6))
level <- c(a = 0.2, b = 0.8, c = -0.3, d = 0.5)[d$g]
slope <- c(a = 0.5, b = -0.4, c = 0.1, d = 0.3)[d$g]
eta <- level + slope * d$x - 0.3 * d$z
d$amount <- round(eta + rnorm(length(g)), 6)
d$count <- rpois(length(g), exp(eta) * d$years)
d$many <- rnbinom(length(g), size = 1.5, mu = 3 * exp(eta))
d$yes <- rbinom(length(g), 1, plogis(eta))
d$cost <- round(rgamma(length(g), shape = 2, rate = 2 / exp(eta)), 6) + 1e-6

# own: what is estimated of the noise, and minus its log likelihood
each <- function(name, noise, y, fitted, offset = NULL) {
  fits <- lapply(groups, function(k) fitted(d[d$g == k, ]))
  field_of <- function(name, get) field(name, paste0("[", paste(sapply(fits, function(f) numbers(get(f))), collapse = ", "), "]"))
  object(field("name", paste0('"', name, '"')), field("noise", paste0('"', noise, '"')), field("y", paste0('"', y, '"')),
         field("exposure", if (is.null(offset)) "null" else paste0('"', offset, '"')),
         field_of("coefficients", function(f) f$coef), field_of("errors", function(f) f$errors), field_of("own", function(f) f$own),
         field("loglik", numbers(sapply(fits, function(f) f$loglik))))
}
tight <- glm.control(epsilon = 1e-14, maxit = 100)
plain <- function(family) function(rows) {
  f <- glm(formula(family$y), family$family, rows, control = tight)
  list(coef = coef(f), errors = summary(f, dispersion = 1)$coefficients[, 2], own = numeric(0), loglik = logLik(f))
}
cases <- c(
  each("least squares", "Gaussian", "amount", function(rows) {
    f <- lm(amount ~ x + z, rows)
    sigma <- sqrt(mean(resid(f)^2))
    list(coef = coef(f), errors = sigma * sqrt(diag(summary(f)$cov.unscaled)), own = sigma, loglik = logLik(f))
  }),
  each("counts", "Poisson", "count", plain(list(y = "count ~ x + z + offset(log(years))", family = poisson())), "years"),
  each("yes or no", "Bernoulli", "yes", plain(list(y = "yes ~ x + z", family = binomial()))),
  each("many", "NegativeBinomial", "many", function(rows) {
    f <- glm.nb(many ~ x + z, rows, control = glm.control(epsilon = 1e-14, maxit = 200))
    list(coef = coef(f), errors = numeric(0), own = 1 / f$theta, loglik = logLik(f))
  }),
  each("costs", "Gamma", "cost", function(rows) {
    f <- glm(cost ~ x + z, Gamma("log"), rows, control = tight)
    shape <- gamma.shape(f, it.lim = 100, eps.max = 1e-12)$alpha
    loglik <- sum(dgamma(rows$cost, shape = shape, rate = shape / fitted(f), log = TRUE))
    list(coef = coef(f), errors = numeric(0), own = shape, loglik = loglik)
  }))

set.seed(2)
many <- 40
p <- data.frame(g = sprintf("s%02d", rep(seq_len(many), length.out = 600)), x = round(rnorm(600), 6), z = round(runif(600), 6))
b <- data.frame(level = rnorm(many, 0.5, 0.4), x = rnorm(many, 0.3, 0.25))
own <- match(p$g, sort(unique(p$g)))
p$eta <- b$level[own] + b$x[own] * p$x - 0.5 * p$z
p$amount <- round(p$eta + 0.6 * rnorm(600), 6)
p$count <- rpois(600, exp(p$eta))
p$many <- rnbinom(600, size = 2, mu = 2 * exp(p$eta))
p$yes <- rbinom(600, 1, plogis(p$eta))
p$eta <- NULL

pooled <- function(name, noise, y, names, data, family, group = "g") {
  bars <- c(sprintf("(1 | %s)", group), sprintf("(0 + %s | %s)", names, group))
  f <- as.formula(paste(y, "~", paste(c(names, bars), collapse = " + ")))
  if (noise == "Gaussian") {
    m <- lmer(f, data, REML = FALSE, control = lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10)))
    scale <- sapply(VarCorr(m), function(v) attr(v, "stddev")[[1]])
    fixed <- fixef(m)
    own <- sigma(m)
    of_groups <- coef(m)[[group]]
  } else {
    m <- glmmTMB(f, data, family, control = glmmTMBControl(optCtrl = list(iter.max = 1e4, eval.max = 1e4, rel.tol = 1e-14)))
    parts <- VarCorr(m)$cond
    scale <- sapply(parts, function(v) attr(v, "stddev")[[1]])
    fixed <- fixef(m)$cond
    own <- if (noise == "NegativeBinomial") 1 / sigma(m) else numeric(0)
    of_groups <- coef(m)$cond[[group]]
  }
  of_groups <- of_groups[order(rownames(of_groups)), c("(Intercept)", names)]
  object(field("name", paste0('"', name, '"')), field("noise", paste0('"', noise, '"')), field("y", paste0('"', y, '"')),
         field("group", paste0('"', group, '"')), field("names", texts(names)), field("mean", numbers(fixed)), field("scale", numbers(scale)),
         field("own", numbers(own)), field("loglik", number(logLik(m))),
         field("groups", paste0("[", paste(apply(of_groups, 1, numbers), collapse = ", "), "]")),
         columns(data[c(group, names, y)]))
}
sleep <- sleepstudy
sleep$Subject <- as.character(sleep$Subject)
together <- c(
  pooled("sleep", "Gaussian", "Reaction", "Days", sleep, NULL, "Subject"),
  pooled("amounts", "Gaussian", "amount", c("x", "z"), p, NULL),
  pooled("counts", "Poisson", "count", c("x", "z"), p, poisson()),
  pooled("many", "NegativeBinomial", "many", "x", p, nbinom2()),
  pooled("yes or no", "Bernoulli", "yes", "x", p, binomial()))

version <- function(name) paste(name, packageVersion(name))
tool <- paste0(R.version.string, ", ", paste(sapply(c("MASS", "lme4", "glmmTMB"), version), collapse = ", "))
writeLines(paste0('{"tool": "', tool, '", "generator": "generate_by_group.R",\n', columns(d), ",\n",
                  '"cases": [\n', paste(cases, collapse = ",\n"), '\n],\n"pooled": [\n', paste(together, collapse = ",\n"), "\n]}"),
           "by_group.json")

# Rewrite r.json beside this file with R: Rscript generate_r.R
# Rows hold -log p with both tails, or a quantile. Parameters carry the names that neglog gives them.

suppressPackageStartupMessages(library(statmod))

digits <- function(x) {
  if (length(x) > 1) return(paste0("[", paste(vapply(x, digits, ""), collapse = ", "), "]"))
  if (is.infinite(x)) return(if (x > 0) '"inf"' else '"-inf"')
  formatC(x, digits = 17, format = "g", width = 1)
}

object <- function(fields) {
  text <- vapply(fields, function(value) {
    if (is.list(value)) object(value) else if (is.character(value)) paste0('"', value, '"') else digits(value)
  }, "")
  paste0("{", paste0('"', names(fields), '": ', text, collapse = ", "), "}")
}

rows <- character()
add <- function(...) rows <<- c(rows, object(list(...)))

# `law` has d, p and q with R's arguments already in place; points and probabilities are vectors.
tabulate_law <- function(family, parameters, law, points, probabilities = numeric()) {
  for (y in points) {
    density <- law$d(y)
    if (is.null(law$p)) {
      add(family = family, parameters = parameters, y = y, nll = -density)
    } else {
      add(family = family, parameters = parameters, y = y, nll = -density,
          cdf = law$p(y, TRUE), sf = law$p(y, FALSE))
    }
  }
  for (q in probabilities) add(family = family, parameters = parameters, q = q, icdf = law$q(q))
}

probabilities <- c(1e-12, 1e-3, 0.05, 0.25, 0.5, 0.9, 0.999)

for (s in list(c(0, 1), c(-3, 0.25), c(1e6, 50))) {
  tabulate_law("Gaussian", list(loc = s[1], scale = s[2]), list(
    d = function(y) dnorm(y, s[1], s[2], log = TRUE),
    p = function(y, lower) pnorm(y, s[1], s[2], lower.tail = lower),
    q = function(q) qnorm(q, s[1], s[2])
  ), s[1] + s[2] * c(-30, -4, -0.5, 0, 1.25, 9), probabilities)
}

for (s in list(c(1, 0.5), c(2, 1), c(3, 12.5), c(50, 2000))) {
  tabulate_law("Gamma", list(mean = s[1], shape = s[2]), list(
    d = function(y) dgamma(y, shape = s[2], scale = s[1] / s[2], log = TRUE),
    p = function(y, lower) pgamma(y, shape = s[2], scale = s[1] / s[2], lower.tail = lower),
    q = function(q) qgamma(q, shape = s[2], scale = s[1] / s[2])
  ), s[1] * c(1e-3, 0.5, 0.95, 1, 1.25, 4), probabilities)
}

for (mean in c(0.01, 0.75, 6, 130, 25000)) {
  tabulate_law("Poisson", list(mean = mean), list(
    d = function(y) dpois(y, mean, log = TRUE),
    p = function(y, lower) ppois(y, mean, lower.tail = lower),
    q = function(q) qpois(q, mean)
  ), unique(c(0, 1, round(mean * c(0.9, 1, 1.1)), 2 * ceiling(mean) + 5)), probabilities)
}

for (s in list(c(0, 1), c(2, 0.1), c(-5, 3))) {
  tabulate_law("LogNormal", list(loc = s[1], scale = s[2]), list(
    d = function(y) dlnorm(y, s[1], s[2], log = TRUE),
    p = function(y, lower) plnorm(y, s[1], s[2], lower.tail = lower),
    q = function(q) qlnorm(q, s[1], s[2])
  ), signif(exp(s[1] + s[2] * c(-20, -2, 0, 0.5, 8)), 6), probabilities)
}

for (s in list(c(0.5, 0.5), c(2, 3), c(30, 7), c(400, 9000))) {
  centre <- s[1] / sum(s)
  tabulate_law("Beta", list(a = s[1], b = s[2]), list(
    d = function(y) dbeta(y, s[1], s[2], log = TRUE),
    p = function(y, lower) pbeta(y, s[1], s[2], lower.tail = lower),
    q = function(q) qbeta(q, s[1], s[2])
  ), signif(c(centre * c(0.05, 0.6, 0.9, 1), centre + (1 - centre) * c(0.05, 0.5)), 6), probabilities)
}

for (p in c(1e-9, 0.2, 0.5, 0.875)) {
  tabulate_law("Bernoulli", list(p = p), list(d = function(y) dbinom(y, 1, p, log = TRUE)), c(0, 1))
}

for (s in list(c(1, 1), c(2, 0.01), c(0.5, 20), c(100, 1e-4))) {
  tabulate_law("Tweedie", list(mean = s[1], power = 3, dispersion = s[2]), list(
    d = function(y) dinvgauss(y, mean = s[1], dispersion = s[2], log = TRUE),
    p = function(y, lower) pinvgauss(y, mean = s[1], dispersion = s[2], lower.tail = lower),
    q = function(q) qinvgauss(q, mean = s[1], dispersion = s[2])
  ), s[1] * c(0.05, 0.5, 0.95, 1.25, 4), probabilities[-1])  # at 1e-12 qinvgauss leaves the domain (negative)
}

header <- c(
  tool = paste0(R.version.string, ", statmod ", packageVersion("statmod")),
  generator = "generate_r.R"
)
folder <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
text <- paste0(sub("}$", "", object(as.list(header))), ', "cases": [\n', paste(rows, collapse = ",\n"), "\n]}")
writeLines(text, file.path(folder, "r.json"))
cat("r.json:", length(rows), "cases\n")

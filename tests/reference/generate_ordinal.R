# Ordered classes by ordinal's clm and MASS's polr, with the rows they were made from: `Rscript generate_ordinal.R` writes ordinal.json.
library(MASS)
library(ordinal)

number <- function(x) formatC(x, digits = 17, width = 1, format = "g")
numbers <- function(x) paste0("[", paste(number(x), collapse = ", "), "]")

case <- function(name, by, link, formula, data, weights) {
  data$counted <- weights  # where both look for them
  if (by == "clm") {
    fit <- clm(formula, data = data, weights = counted, link = link,
               control = clm.control(gradTol = 1e-12, maxIter = 200))
    edges <- fit$alpha
    coefs <- fit$beta
    errors <- sqrt(diag(vcov(fit)))
    edge_errors <- errors[seq_along(edges)]
    coef_errors <- errors[-seq_along(edges)]
  } else {
    fit <- polr(formula, data = data, weights = counted, method = if (link == "logit") "logistic" else "probit",
                Hess = TRUE, control = list(reltol = 1e-15, maxit = 1000))
    edges <- fit$zeta
    coefs <- coef(fit)
    errors <- sqrt(diag(vcov(fit)))
    coef_errors <- errors[seq_along(coefs)]
    edge_errors <- errors[-seq_along(coefs)]
  }
  X <- model.matrix(formula, data)[, -1, drop = FALSE]
  y <- as.integer(model.response(model.frame(formula, data)))
  paste0(
    '{"name": "', name, '", "by": "', by, '", "link": "', link, '", "log likelihood": ', number(as.numeric(logLik(fit))),
    ', "coef": ', numbers(coefs), ', "coef errors": ', numbers(coef_errors), ', "edges": ', numbers(edges),
    ', "edge errors": ', numbers(edge_errors), ',\n "y": ', numbers(y), ', "weight": ', numbers(weights),
    ',\n "columns": [', paste(apply(X, 2, numbers), collapse = ",\n  "), "]}"
  )
}

ones <- rep(1, nrow(wine))
cases <- c(
  case("wine", "clm", "logit", rating ~ temp + contact, wine, ones),
  case("wine with judges", "clm", "logit", rating ~ temp + contact + judge, wine, ones),
  case("wine", "clm", "probit", rating ~ temp + contact, wine, ones),
  case("housing", "clm", "logit", Sat ~ Infl + Type + Cont, housing, housing$Freq),
  case("housing", "polr", "logit", Sat ~ Infl + Type + Cont, housing, housing$Freq),
  case("housing", "polr", "probit", Sat ~ Infl + Type + Cont, housing, housing$Freq)
)
folder <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
tool <- paste0(R.version.string, ", ordinal ", packageVersion("ordinal"), ", MASS ", packageVersion("MASS"))
writeLines(paste0(
  '{"tool": "', tool, '", "generator": "generate_ordinal.R",\n"cases": [\n', paste(cases, collapse = ",\n"), "\n]}"
), file.path(folder, "ordinal.json"))

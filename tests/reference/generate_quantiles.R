# Quantile regressions by quantreg, with the rows they were made from: `Rscript generate_quantiles.R` writes quantiles.json.
# Where a table holds no more than some hundred rows the simplex method "br" gives the vertex itself.
suppressMessages(library(quantreg))

number <- function(x) formatC(x, digits = 17, width = 1, format = "g")
numbers <- function(x) paste0("[", paste(number(x), collapse = ", "), "]")
data(engel, barro)

fitted <- function(formula, rows, tau, weights) {
  fit <- if (is.null(weights)) rq(formula, tau, rows, method = "br") else {
    rows$weights <- weights
    rq(formula, tau, rows, weights = weights, method = "br")
  }
  paste0(
    '{"quantile": ', number(tau), ', "intercept": ', number(coef(fit)[1]), ', "coef": ', numbers(coef(fit)[-1]),
    ', "pinball": ', number(fit$rho), "}"
  )
}

table <- function(name, formula, rows, taus, weights = NULL) {
  frame <- model.frame(formula, rows)
  X <- model.matrix(formula, rows)[, -1, drop = FALSE]
  fits <- sapply(taus, function(tau) suppressWarnings(fitted(formula, rows, tau, weights)))
  paste0(
    '{"name": "', name, '", "weights": ', if (is.null(weights)) "null" else numbers(weights),
    ',\n "y": ', numbers(model.response(frame)), ',\n "columns": [', paste(apply(X, 2, numbers), collapse = ",\n  "),
    '],\n "fits": [', paste(fits, collapse = ",\n  "), "]}"
  )
}

tables <- c(
  table("Engel's food expenditure", foodexp ~ income, engel, c(0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)),
  table("Engel's, weighted", foodexp ~ income, engel, c(0.1, 0.75), 1 + (seq_len(nrow(engel)) %% 7) / 4),
  table("stack loss", stack.loss ~ Air.Flow + Water.Temp + Acid.Conc., stackloss, c(0.13, 0.37, 0.61, 0.83)),
  table("growth of Barro and Lee", y.net ~ ., barro, c(0.11, 0.303, 0.71, 0.913))
)
folder <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
tool <- paste0(R.version.string, ", quantreg ", packageVersion("quantreg"))
writeLines(paste0(
  '{"tool": "', tool, '", "generator": "generate_quantiles.R", "tables": [\n', paste(tables, collapse = ",\n"), "\n]}"
), file.path(folder, "quantiles.json"))

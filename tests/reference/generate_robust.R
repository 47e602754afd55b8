# Robust regressions with Huber's loss by rlm, with the rows they were made from: `Rscript generate_robust.R` writes robust.json. The
# scale is the median absolute residual / 0.6745 ("MAD") or that of Huber's proposal 2; errors are those of sandwich, at that scale.
# Weights are inverse variances, of whom the square roots multiply residuals, or repeat rows.
library(MASS)
library(sandwich)

number <- function(x) formatC(x, digits = 17, width = 1, format = "g")
numbers <- function(x) paste0("[", paste(number(x), collapse = ", "), "]")

case <- function(name, formula, data, way, k = 1.345, weights = NULL, method = "inv.var") {
  data$w <- if (is.null(weights)) rep(1, nrow(data)) else weights
  fit <- if (is.null(weights)) rlm(formula, data, scale.est = way, k = k, k2 = k, maxit = 5000, acc = 1e-14)
    else rlm(formula, data, weights = w, wt.method = method, scale.est = way, k = k, k2 = k, maxit = 5000, acc = 1e-14)
  frame <- model.frame(formula, data)
  X <- model.matrix(formula, frame)[, -1, drop = FALSE]
  errors <- if (is.null(weights)) sqrt(diag(sandwich(fit))) else numeric(0)
  paste0(
    '{"name": "', name, ', ', way, '", "way": "', if (way == "MAD") "mad" else "proposal2", '", "delta": ', number(k),
    ', "coef": ', numbers(coef(fit)), ', "scale": ', number(fit$s), ', "errors": ', numbers(errors),
    ',\n "weights": ', if (is.null(weights)) "null" else paste0('["', method, '", ', numbers(weights), "]"),
    ',\n "y": ', numbers(model.response(frame)),
    ',\n "columns": [', paste(apply(X, 2, numbers), collapse = ",\n  "), "]}"
  )
}

cases <- character(0)
for (way in c("MAD", "proposal 2")) {
  cases <- c(cases,
    case("stack loss", stack.loss ~ Air.Flow + Water.Temp + Acid.Conc., stackloss, way),
    case("stack loss, narrow threshold", stack.loss ~ Air.Flow + Water.Temp + Acid.Conc., stackloss, way, k = 0.8),
    case("phone calls in Belgium", calls ~ year, data.frame(phones), way),
    case("hill races", time ~ dist + climb, hills, way),
    case("cement", y ~ x1 + x2, cement, way, k = 2),
    case("hill races by length", time ~ dist + climb, hills, way, weights = 1 / hills$dist^2),
    case("stack loss, rows repeated", stack.loss ~ Air.Flow + Water.Temp + Acid.Conc., stackloss, way, weights = rep(1:3, 7), method = "case")
  )
}
folder <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
tool <- paste0(R.version.string, ", MASS ", packageVersion("MASS"), ", sandwich ", packageVersion("sandwich"))
writeLines(paste0('{"tool": "', tool, '", "generator": "generate_robust.R",\n"cases": [\n', paste(cases, collapse = ",\n"), "\n]}"),
  file.path(folder, "robust.json"))

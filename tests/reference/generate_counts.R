# Negative binomial regressions by MASS, with the rows they were made from: `Rscript generate_counts.R` writes counts.json.
library(MASS)

number <- function(x) formatC(x, digits = 17, width = 1, format = "g")
numbers <- function(x) paste0("[", paste(number(x), collapse = ", "), "]")

case <- function(name, formula) {
  fit <- glm.nb(formula, data = quine, control = glm.control(epsilon = 1e-14, maxit = 200))
  X <- model.matrix(fit)
  kept <- !is.na(coef(fit)) & colnames(X) != "(Intercept)"
  columns <- apply(X[, kept, drop = FALSE], 2, numbers)
  paste0(
    '{"name": "', name, '", "theta": ', number(fit$theta), ', "theta error": ', number(fit$SE.theta),
    ', "log likelihood": ', number(fit$twologlik / 2), ', "intercept": ', number(coef(fit)[1]),
    ', "coef": ', numbers(coef(fit)[kept]), ',\n "columns": [', paste(columns, collapse = ",\n  "), "]}"
  )
}

cases <- c(case("main effects", Days ~ Eth + Sex + Age + Lrn), case("all interactions", Days ~ .^4))
folder <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
tool <- paste0(R.version.string, ", MASS ", packageVersion("MASS"))
writeLines(paste0(
  '{"tool": "', tool, '", "generator": "generate_counts.R", "y": ', numbers(quine$Days), ',\n"cases": [\n',
  paste(cases, collapse = ",\n"), "\n]}"
), file.path(folder, "counts.json"))

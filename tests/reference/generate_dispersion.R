# Fits in which a further parameter is modelled by the columns of the location, by glmmTMB, with the rows they were made from:
# `Rscript generate_dispersion.R` writes dispersion.json. What it models is the log of the variance (gaussian), of the shape (Gamma), of
# 1 / dispersion (nbinom2), of the dispersion (nbinom1) and of the precision (beta); and the log odds of an extra zero, or of any.
library(glmmTMB)
library(MASS)

number <- function(x) formatC(x, digits = 17, width = 1, format = "g")
numbers <- function(x) paste0("[", paste(number(x), collapse = ", "), "]")
tight <- glmmTMBControl(optCtrl = list(iter.max = 1e4, eval.max = 1e4, rel.tol = 1e-13))

case <- function(name, noise, data, formula, family, zeros = FALSE) {
  fit <- if (zeros) glmmTMB(formula, ziformula = formula[-2], family = family, data = data, control = tight)
    else glmmTMB(formula, dispformula = formula[-2], family = family, data = data, control = tight)
  X <- model.matrix(fit)[, -1, drop = FALSE]
  errors <- sqrt(diag(vcov(fit, full = TRUE)))
  own <- fixef(fit)
  half <- length(own$cond)
  paste0(
    '{"name": "', name, '", "noise": "', noise, '", "log likelihood": ', number(as.numeric(logLik(fit))),
    ', "location": ', numbers(own$cond), ', "model": ', numbers(if (zeros) own$zi else own$disp),
    ',\n "location errors": ', numbers(errors[seq_len(half)]), ', "model errors": ', numbers(errors[half + seq_len(half)]),
    ',\n "y": ', numbers(model.response(model.frame(fit))),
    ',\n "columns": [', paste(apply(X, 2, numbers), collapse = ",\n  "), "]}"
  )
}

cars$speed <- cars$speed / 10
quine$Days <- as.numeric(quine$Days)
births <- data.frame(share = swiss$Fertility / 100, education = swiss$Education / 10, catholic = swiss$Catholic / 100)
cases <- c(
  case("stopping distances", "gaussian", cars, dist ~ speed, gaussian()),
  case("weights of chicks", "gamma", ChickWeight, weight ~ Time + Diet, Gamma(link = "log")),
  case("days absent from school", "nb2", quine, Days ~ Eth + Sex + Age, nbinom2()),
  case("counts of warp breaks", "nb1", warpbreaks, breaks ~ wool + tension, nbinom1()),
  case("births in Switzerland", "beta", births, share ~ education + catholic, beta_family()),
  case("absent from school at all", "zero-inflated", quine, Days ~ Eth + Sex, poisson(), zeros = TRUE),
  case("absent from school, zeros apart", "hurdle", quine, Days ~ Eth + Sex, truncated_poisson(), zeros = TRUE)
)
folder <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
tool <- paste0(R.version.string, ", glmmTMB ", packageVersion("glmmTMB"))
writeLines(paste0(
  '{"tool": "', tool, '", "generator": "generate_dispersion.R",\n"cases": [\n', paste(cases, collapse = ",\n"), "\n]}"
), file.path(folder, "dispersion.json"))

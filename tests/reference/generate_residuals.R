# Residuals, leverages, Cook's distances and what each coefficient loses without a row, by lm, glm and glm.nb, with the rows:
# `Rscript generate_residuals.R` writes residuals.json. Pearson residuals and Cook's distances of R have the dispersion that
# stands beside them: none in the former, Pearson's in the latter. R's dfbeta of glm has deviance residuals in the place of
# Pearson's.
library(MASS)
library(statmod)

number <- function(x) formatC(x, digits = 17, width = 1, format = "g")
numbers <- function(x) paste0("[", paste(number(x), collapse = ", "), "]")

case <- function(name, noise, fit, weight = NULL, offset = NULL) {
  X <- model.matrix(fit)[, -1, drop = FALSE]
  y <- if (is.matrix(model.response(model.frame(fit)))) fit$y else model.response(model.frame(fit))
  dispersion <- if (inherits(fit, "glm")) summary(fit)$dispersion else summary(fit)$sigma^2
  paste0(
    '{"name": "', name, '", "noise": "', noise, '", "dispersion": ', number(dispersion),
    if (inherits(fit, "negbin")) paste0(', "theta": ', number(fit$theta)),
    ',\n "y": ', numbers(y), ',\n "columns": [', paste(apply(X, 2, numbers), collapse = ",\n  "), "]",
    if (!is.null(weight)) paste0(',\n "precision": ', numbers(weight)),
    if (!is.null(offset)) paste0(',\n "offset": ', numbers(offset)),
    ',\n "deviance": ', numbers(residuals(fit, "deviance")), ',\n "pearson": ', numbers(residuals(fit, "pearson")),
    ',\n "leverage": ', numbers(hatvalues(fit)), ',\n "cooks": ', numbers(cooks.distance(fit)),
    ',\n "dfbeta": [', paste(apply(dfbeta(fit), 2, numbers), collapse = ",\n  "), "]}"
  )
}

tight <- glm.control(epsilon = 1e-14, maxit = 100)
cars$w <- 1 + (seq_len(nrow(cars)) %% 3)
chick <- subset(ChickWeight, Time > 0 & as.integer(Chick) %% 5 == 0)
quine$Days <- as.numeric(quine$Days)
claims <- data.frame(lapply(Insurance, function(x) if (is.ordered(x)) factor(x, ordered = FALSE) else x))
rain <- data.frame(x = seq(-1, 1, length.out = 40), y = c(rep(c(0, 1.3, 0.2, 2.5, 0), 8)) * rep(1:4, each = 10))
cases <- c(
  case("stack loss", "gaussian", lm(stack.loss ~ ., data = stackloss)),
  case("stopping distances, weighted", "gaussian", lm(dist ~ speed, data = cars, weights = w), weight = cars$w),
  case("warp breaks", "poisson", glm(breaks ~ wool + tension, poisson, warpbreaks, control = tight)),
  case("claims by exposure", "poisson",
       glm(Claims ~ District + Group + Age + offset(log(Holders)), poisson, claims, control = tight), offset = log(claims$Holders)),
  case("infertility", "bernoulli", glm(case ~ age + spontaneous + induced, binomial, infert, control = tight)),
  case("menarche", "bernoulli",
       glm(cbind(Menarche, Total - Menarche) ~ Age, binomial, menarche, control = tight), weight = menarche$Total),
  case("weights of chicks", "gamma", glm(weight ~ Time + Diet, Gamma("log"), chick, control = tight)),
  case("weights of chicks, weighted", "gamma",
       glm(weight ~ Time + Diet, Gamma("log"), chick, weights = as.integer(Diet), control = tight), weight = as.integer(chick$Diet)),
  case("weights of chicks, with a longer tail", "inversegaussian",
       glm(weight ~ Time + Diet, inverse.gaussian("log"), chick, control = tight)),
  case("amounts with zeros", "tweedie", glm(y ~ x, tweedie(var.power = 1.5, link.power = 0), rain, control = tight)),
  case("days absent from school", "negativebinomial", glm.nb(Days ~ Eth + Sex + Age, quine, control = tight))
)
folder <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
tool <- paste0(R.version.string, ", MASS ", packageVersion("MASS"), ", statmod ", packageVersion("statmod"))
writeLines(paste0(
  '{"tool": "', tool, '", "generator": "generate_residuals.R",\n"cases": [\n', paste(cases, collapse = ",\n"), "\n]}"
), file.path(folder, "residuals.json"))

# One fit in R, timed by R:  Rscript vocabulary.R folder n d package model
# The folder holds X (by columns), y and event as raw numbers; the answer goes there too: least seconds, intercept, coefficients,
# and the other parameters as neglog knows them.

arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]
n <- as.integer(arguments[2])
d <- as.integer(arguments[3])
package <- arguments[4]
model <- arguments[5]
suppressMessages(suppressWarnings(library(package, character.only = TRUE)))

numbers <- function(name) readBin(file.path(folder, name), "double", file.info(file.path(folder, name))$size / 8)

y <- numbers("y")
event <- numbers("event")
X <- matrix(numbers("X"), n, d)
quick <- if (package == "glmmTMB" && "se" %in% names(formals(glmmTMB))) list(se = FALSE) else list() # no standard errors asked
tmb <- function(...) do.call(glmmTMB, c(list(y ~ X, ...), quick))
centred <- function(fit) unname(fixef(fit)$cond)

models <- list(
  glm.nb = list(function() glm.nb(y ~ X), function(fit) c(coef(fit), 1 / fit$theta)),
  nbinom2 = list(function() tmb(family = nbinom2()), function(fit) c(centred(fit), 1 / sigma(fit))),
  zeroinfl = list(
    function() zeroinfl(y ~ X | 1, dist = "poisson"),
    function(fit) c(fit$coefficients$count, plogis(fit$coefficients$zero))
  ),
  poisson = list(
    function() tmb(family = poisson(), ziformula = ~1),
    function(fit) c(centred(fit), plogis(fixef(fit)$zi))
  ),
  hurdle = list(
    function() hurdle(y ~ X | 1, dist = "poisson", zero.dist = "binomial"),
    function(fit) c(fit$coefficients$count, plogis(-fit$coefficients$zero))
  ),
  truncated_poisson = list(
    function() tmb(family = truncated_poisson(), ziformula = ~1),
    function(fit) c(centred(fit), plogis(fixef(fit)$zi))
  ),
  survreg = list(function() survreg(Surv(y, event) ~ X, dist = "weibull"), function(fit) c(coef(fit), 1 / fit$scale)),
  clm = list(function() clm(factor(y) ~ X, Hess = FALSE), function(fit) c(0, fit$beta, fit$alpha)),
  polr = list(function() polr(factor(y) ~ X, method = "logistic"), function(fit) c(0, coef(fit), fit$zeta)),
  beta_family = list(function() tmb(family = beta_family()), function(fit) c(centred(fit), sigma(fit))),
  betareg = list(function() betareg(y ~ X), function(fit) c(coef(fit)))
)
fit <- models[[model]][[1]]
answer <- models[[model]][[2]]

least <- Inf
spent <- 0
repetitions <- 0
while (repetitions < 1 || (repetitions < 5 && spent < 2)) {
  start <- Sys.time()
  found <- suppressMessages(suppressWarnings(fit()))
  seconds <- as.numeric(difftime(Sys.time(), start, units = "secs"))
  least <- min(least, seconds)
  spent <- spent + seconds
  repetitions <- repetitions + 1
}
writeBin(as.double(c(least, answer(found))), file.path(folder, "answer"))

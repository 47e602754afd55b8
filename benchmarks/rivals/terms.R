# One fit of curves or groups in R, timed by R:  Rscript terms.R folder problem package threads
# The folder holds table.csv (y, columns; factors as text). The answer goes there too: seconds, then what the problem asks for.

arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]
problem <- arguments[2]
package <- arguments[3]
threads <- as.integer(arguments[4])
suppressMessages(suppressWarnings(library(package, character.only = TRUE)))
data <- read.csv(file.path(folder, "table.csv"), stringsAsFactors = TRUE)

curves <- function(names, size) paste0("s(", names, ', bs = "cr", k = ', size, ")", collapse = " + ")
lambdas <- function(fit) fit$sp / sapply(fit$smooth, function(s) s$S.scale)
columns <- setdiff(names(data), c("y", "exposure"))

models <- list(
  curves = function() {
    form <- as.formula(paste("y ~", curves(columns, 20)))
    if (package == "mgcv" && nrow(data) > 2e4) {
      bam(form, data = data, family = poisson(), discrete = TRUE, nthreads = threads)
    } else {
      gam(form, data = data, family = poisson(), method = "REML")
    }
  },
  motor = function() {
    number <- columns[sapply(data[columns], is.numeric)]
    form <- as.formula(paste("y ~", curves(number, 10), "+", paste(setdiff(columns, number), collapse = " + ")))
    bam(form, data = data, family = poisson(), offset = log(data$exposure), discrete = TRUE, nthreads = threads)
  },
  motor_nb = function() {
    number <- columns[sapply(data[columns], is.numeric)]
    form <- as.formula(paste("y ~", curves(number, 10), "+", paste(setdiff(columns, number), collapse = " + ")))
    bam(form, data = data, family = nb(), offset = log(data$exposure), discrete = TRUE, nthreads = threads)
  },
  poisson_groups = function() {
    form <- y ~ x + z + (1 | g)
    if (package == "glmmTMB") glmmTMB(form, data = data, family = poisson()) else glmer(form, data = data, family = poisson(), nAGQ = 1)
  },
  gaussian_groups = function() {
    form <- y ~ x + z + (1 | g)
    if (package == "glmmTMB") glmmTMB(form, data = data, REML = TRUE) else lmer(form, data = data, REML = TRUE)
  },
  gaussian_crossed = function() lmer(y ~ x + (1 | g) + (1 | h), data = data, REML = TRUE)
)
answers <- list(
  mgcv = function(fit) lambdas(fit),
  glmmTMB = function(fit) sqrt(unlist(VarCorr(fit)$cond)),
  lme4 = function(fit) as.data.frame(VarCorr(fit))$sdcor
)
start <- Sys.time()
found <- suppressMessages(suppressWarnings(models[[problem]]()))
seconds <- as.numeric(difftime(Sys.time(), start, units = "secs"))
if (seconds < 5) {
  start <- Sys.time()
  found <- suppressMessages(suppressWarnings(models[[problem]]()))
  seconds <- min(seconds, as.numeric(difftime(Sys.time(), start, units = "secs")))
}
writeBin(as.double(c(seconds, answers[[package]](found))), file.path(folder, "answer"))

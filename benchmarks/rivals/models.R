# One fit in R, timed by R:  Rscript models.R folder n d package method tolerance quantile
# The folder holds X (by columns) or i, p, x (a sparse matrix by columns), y and lambda as raw numbers;
# the answer goes there too: least seconds, scale, then intercept and coefficients of each strength.

arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]
n <- as.integer(arguments[2])
d <- as.integer(arguments[3])
package <- arguments[4]
method <- arguments[5]
tolerance <- as.numeric(arguments[6])
quantile <- as.numeric(arguments[7])
suppressMessages(suppressWarnings(library(package, character.only = TRUE)))

numbers <- function(name, what = "double") {
  path <- file.path(folder, name)
  readBin(path, what, file.info(path)$size / ifelse(what == "double", 8, 4))
}

y <- numbers("y")
if (file.exists(file.path(folder, "X"))) {
  X <- matrix(numbers("X"), n, d)
} else {
  X <- new("dgCMatrix", i = numbers("i", "integer"), p = numbers("p", "integer"), x = numbers("x"), Dim = c(n, d))
}

if (package == "glmnet") {
  words <- strsplit(paste0(method, "/ "), "/")[[1]]
  lambda <- numbers("lambda")
  glmnet.control(fdev = 0, devmax = 1)
  if (words[3] == "warm") {
    largest <- max(abs(as.vector(crossprod(X, y - mean(y))))) / n
    lambda <- exp(seq(log(max(largest, lambda)), log(lambda), length.out = 20))
  }
  options <- list(family = words[1], alpha = 1, lambda = lambda, standardize = FALSE, thresh = tolerance, maxit = 1e6)
  if (words[1] == "gaussian") options$type.gaussian <- words[2]
  if (words[1] == "binomial") options$type.logistic <- words[2]
  fit <- function() do.call(glmnet, c(list(X, y), options))
  answer <- function(model) {
    table <- rbind(as.numeric(model$a0), as.matrix(model$beta))
    # A path that stopped early leaves its last strengths without an answer.
    c(0, table, rep(NaN, (length(lambda) - ncol(table)) * (d + 1)))
  }
} else if (package == "quantreg") {
  ones <- cbind(1, X)
  fit <- switch(method,
    br = function() rq.fit.br(ones, y, tau = quantile),
    fn = function() rq.fit.fnb(ones, y, tau = quantile, eps = tolerance),
    pfn = function() rq.fit.pfn(ones, y, tau = quantile, eps = tolerance),
    sfn = function() rq.fit.sfn(as.matrix.csr(ones), y, tau = quantile, control = list(small = tolerance))
  )
  answer <- function(model) c(0, model$coefficients)
} else {
  ones <- cbind(1, X)
  fit <- function() rlm(ones, y, scale.est = method, acc = tolerance, maxit = 1000)
  answer <- function(model) c(model$s, model$coefficients)
}

least <- Inf
spent <- 0
repetitions <- 0
while (repetitions < 1 || (repetitions < 5 && spent < 2)) {
  start <- Sys.time()
  model <- suppressWarnings(fit())
  seconds <- as.numeric(difftime(Sys.time(), start, units = "secs"))
  least <- min(least, seconds)
  spent <- spent + seconds
  repetitions <- repetitions + 1
}
writeBin(as.double(c(least, answer(model))), file.path(folder, "answer"))

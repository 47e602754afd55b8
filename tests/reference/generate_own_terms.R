# Fits in which a parameter beside the location has terms of its own, with the rows they were made from: `Rscript generate_own_terms.R`
# writes own_terms.json. Columns as they are by glmmTMB, which models the log of the variance (gaussian), of the shape (Gamma) and of
# 1 / dispersion (nbinom2), and the log odds of an extra zero; curves of the mean and of the log of the scale by mgcv's REML (gaulss, b = 0;
# gammals, whose log of the scale is b + log(1 + exp(eta)): with b = -30 that is b + eta; ziplss, counts above 0 by a curve, others alike).
suppressMessages({library(mgcv); library(glmmTMB); library(MASS)})

number <- function(x) formatC(as.numeric(x), digits = 15, width = 1, format = "g")
numbers <- function(x) paste0("[", paste(number(x), collapse = ", "), "]")
texts <- function(x) paste0('["', paste(x, collapse = '", "'), '"]')
field <- function(name, value) paste0('"', name, '": ', value)
word <- function(name, value) field(name, paste0('"', value, '"'))
object <- function(...) paste0("{", paste(c(...), collapse = ", "), "}")
columns_of <- function(data, names) object(sapply(names, function(v) {
  field(v, if (is.numeric(data[[v]])) numbers(data[[v]]) else texts(as.character(data[[v]])))
}))

plain <- function(name, noise, y, terms, own, data, family, zeros = FALSE) {
  tight <- glmmTMBControl(optCtrl = list(iter.max = 1e4, eval.max = 1e4, rel.tol = 1e-14))
  formula <- as.formula(paste(y, "~", paste(terms, collapse = " + ")))
  beside <- as.formula(paste("~", paste(own, collapse = " + ")))
  fit <- if (zeros) glmmTMB(formula, ziformula = beside, family = family, data = data, control = tight)
    else glmmTMB(formula, dispformula = beside, family = family, data = data, control = tight)
  object(word("name", name), word("noise", noise), word("y", y), field("terms", texts(terms)), field("own", texts(own)),
         field("loglik", number(logLik(fit))), field("location", numbers(fixef(fit)$cond)),
         field("model", numbers(if (zeros) fixef(fit)$zi else fixef(fit)$disp)),
         field("columns", paste0("\n ", columns_of(data, unique(c(y, terms, own))))))
}

curve <- function(x, size) if (size > 0) paste0("~ s(", x, ', bs = "cr", k = ', size, ")") else "~ 1"

curves <- function(name, y, x, size, own, data, noise = "Gaussian") {
  tight <- gam.control(epsilon = 1e-13, maxit = 500, newton = list(conv.tol = 1e-10, maxHalf = 60))
  formula <- list(as.formula(paste(y, curve(x, size))), as.formula(curve(x, own)))
  family <- switch(noise, Gaussian = gaulss(b = 0), Gamma = gammals(b = -30), Hurdle = ziplss())
  fit <- gam(formula, data = data, family = family, method = "REML", control = tight)
  eta <- predict(fit)
  eta[, 2] <- switch(noise, Gaussian = eta[, 2], Gamma = -30 + log1p(exp(eta[, 2])), Hurdle = -exp(eta[, 2]))
  edf <- sapply(fit$smooth, function(s) sum(fit$edf[s$first.para:s$last.para]))
  object(word("name", name), word("noise", noise), word("y", y), word("x", x), field("sizes", numbers(c(size, own))), field("edf", numbers(edf)),
         field("lambda", numbers(fit$sp / sapply(fit$smooth, function(s) s$S.scale))),
         field("loglik", number(logLik(fit))), field("reml", number(fit$gcv.ubre)),
         field("location", numbers(eta[, 1])), field("other", numbers(eta[, 2])),
         field("columns", paste0("\n ", columns_of(data, c(y, x)))))
}

quine$Days <- as.numeric(quine$Days)
chicks <- as.data.frame(ChickWeight)
chicks$Diet <- paste0("d", chicks$Diet)
Salamanders$mined <- as.character(Salamanders$mined)
Salamanders$spp <- as.character(Salamanders$spp)
set.seed(2)
n <- 300
simulated <- data.frame(t = round(runif(n), 4))
simulated$y <- round(sin(6 * simulated$t) + exp(-1 + cos(4 * simulated$t)) * rnorm(n), 4)
simulated$shape <- exp(1 + cos(4 * simulated$t))
simulated$visits <- ifelse(runif(n) < 0.3, 0, qpois(runif(n, dpois(0, exp(sin(6 * simulated$t))), 1), exp(sin(6 * simulated$t))))
simulated$amount <- round(rgamma(n, simulated$shape, simulated$shape / exp(sin(6 * simulated$t))), 4)
plains <- c(
  plain("fertility", "Gaussian", "Fertility", c("Education", "Catholic"), "Agriculture", swiss, gaussian()),
  plain("chicks", "Gamma", "weight", c("Time", "Diet"), "Time", chicks, Gamma(link = "log")),
  plain("absence", "NegativeBinomial", "Days", c("Eth", "Sex", "Age"), "Sex", quine, nbinom2()),
  plain("salamanders", "ZeroInflated", "count", c("mined", "spp"), "mined", Salamanders, poisson(), zeros = TRUE),
  plain("salamanders that vary more", "ZeroInflatedNegativeBinomial", "count", c("mined", "spp"), "mined", Salamanders, nbinom2(),
        zeros = TRUE)
)
smooths <- c(
  curves("mcycle", "accel", "times", 20, 10, mcycle),
  curves("GAGurine", "GAG", "Age", 15, 10, GAGurine),
  curves("simulated", "y", "t", 12, 12, simulated),
  curves("amounts", "amount", "t", 12, 12, simulated, "Gamma"),
  curves("GAGurine, Gamma", "GAG", "Age", 15, 10, GAGurine, "Gamma"),
  curves("visits", "visits", "t", 12, 0, simulated, "Hurdle")
)
folder <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
versions <- sapply(c("mgcv", "glmmTMB", "MASS"), function(p) paste(p, packageVersion(p)))
tool <- paste(c(R.version.string, versions), collapse = ", ")
writeLines(paste0('{"tool": "', tool, '", "generator": "generate_own_terms.R",\n"plain": [\n', paste(plains, collapse = ",\n"),
  '\n],\n"curves": [\n', paste(smooths, collapse = ",\n"), "\n]}"), file.path(folder, "own_terms.json"))

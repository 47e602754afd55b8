# Regressions of censored times and values by survival's survreg, with their rows: `Rscript generate_survival.R` writes survival.json.
# A row is a cell from `lower` to `upper`, equal where the value was observed, null where the cell has no end on that side.
# Its likelihood is that of the time itself (not of its logarithm); its errors are from the observed information.
library(survival)

number <- function(x) ifelse(is.na(x), "null", formatC(x, digits = 17, width = 1, format = "g"))
numbers <- function(x) paste0("[", paste(number(x), collapse = ", "), "]")
text <- function(x) paste0('"', x, '"')
object <- function(fields) paste0("{", paste0(text(names(fields)), ": ", unlist(fields), collapse = ", "), "}")

until <- function(time, event, columns) data.frame(lower = time, upper = ifelse(event == 1, time, NA), columns)

# Times between inspections: some seen exactly, some before the first inspection, between two, or after the last.
inspected <- function(n = 250) {
  set.seed(23)
  x <- round(rnorm(n), 3)
  z <- rbinom(n, 1, 0.5)
  time <- exp(1 + 0.4 * x - 0.3 * z) * rweibull(n, 1.6)
  before <- floor(time / 1.5) * 1.5
  lower <- ifelse(before == 0, NA, before)
  upper <- ifelse(before >= 6, NA, before + 1.5)
  lower <- ifelse(before >= 6, 6, lower)
  seen <- runif(n) < 0.3
  data.frame(lower = ifelse(seen, round(time, 3), lower), upper = ifelse(seen, round(time, 3), upper), x = x, z = z)
}

kept <- lung[!is.na(lung$ph.ecog), ]
tables <- list(
  ovarian = until(ovarian$futime, ovarian$fustat, ovarian[c("ecog.ps", "rx")]),
  lung = until(kept$time, kept$status - 1, kept[c("age", "sex", "ph.ecog")]),
  tobin = data.frame(lower = ifelse(tobin$durable > 0, tobin$durable, NA), upper = tobin$durable, tobin[c("age", "quant")]),
  inspected = inspected()
)

case <- function(table, dist) {
  rows <- tables[[table]]
  answer <- Surv(rows$lower, rows$upper, type = "interval2")
  columns <- rows[setdiff(names(rows), c("lower", "upper"))]
  fit <- survreg(answer ~ ., data = columns, dist = dist, control = survreg.control(rel.tolerance = 1e-15, maxiter = 500))
  errors <- sqrt(diag(vcov(fit)))
  k <- length(coef(fit))
  fields <- list(
    name = text(paste(dist, table, sep = ", ")), table = text(table), dist = text(dist), "log likelihood" = number(fit$loglik[2]),
    coef = numbers(coef(fit)), errors = numbers(errors[1:k]), scale = number(fit$scale)
  )
  if (length(errors) > k) fields["log scale error"] <- number(unname(errors[k + 1]))
  object(fields)
}

asked <- list(
  c("ovarian", "weibull"), c("ovarian", "lognormal"), c("ovarian", "exponential"),
  c("lung", "weibull"), c("lung", "lognormal"), c("lung", "exponential"), c("tobin", "gaussian"),
  c("inspected", "weibull"), c("inspected", "lognormal"), c("inspected", "exponential"), c("inspected", "gaussian"), c("inspected", "t")
)
cases <- vapply(asked, function(pair) case(pair[1], pair[2]), "")

folder <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
tool <- paste0(R.version.string, ", survival ", packageVersion("survival"))
rows <- lapply(tables, function(table) object(lapply(table, numbers)))
writeLines(paste0(
  '{"tool": "', tool, '", "generator": "generate_survival.R",\n"tables": ', object(rows), ',\n"cases": [\n',
  paste(cases, collapse = ",\n"), "\n]}"
), file.path(folder, "survival.json"))

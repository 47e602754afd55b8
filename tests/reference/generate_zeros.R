# Zero-inflated and hurdle regressions by pscl, with the rows they were made from: `Rscript generate_zeros.R` writes zeros.json.
# Its optimiser (BFGS with exact gradients) is run until nothing changes any more; its errors are from the observed information.
suppressMessages(library(pscl))

number <- function(x) formatC(x, digits = 17, width = 1, format = "g")
numbers <- function(x) paste0("[", paste(number(x), collapse = ", "), "]")
text <- function(x) paste0('"', x, '"')
object <- function(fields) paste0("{", paste0(text(names(fields)), ": ", unlist(fields), collapse = ", "), "}")

simulated <- function(n = 400) {
  set.seed(23)
  x <- round(rnorm(n), 3)
  z <- rbinom(n, 1, 0.4)
  count <- rnbinom(n, size = 2, mu = exp(0.8 + 0.5 * x - 0.4 * z))
  data.frame(y = ifelse(runif(n) < plogis(-0.7 - 0.6 * x + 0.5 * z), 0, count), x = x, z = z)
}

chemists <- data.frame(y = bioChemists$art, model.matrix(art ~ ., bioChemists)[, -1])
chemists$ment <- chemists$ment / 10 # pscl takes differences over 0.001 of its gradient for the errors, whatever the column
tables <- list("articles of biochemists" = chemists, simulated = simulated())

exact <- list(method = "BFGS", maxit = 10000, reltol = 1e-20)

case <- function(kind, dist, zero, table) {
  fit <- get(kind)
  formula <- if (zero == "constant") y ~ . | 1 else y ~ .
  options <- do.call(paste0(kind, ".control"), exact)
  model <- fit(formula, data = tables[[table]], dist = dist, control = options)
  start <- c(model$coefficients, if (dist == "negbin") list(theta = model$theta))
  options <- do.call(paste0(kind, ".control"), c(exact, list(start = start)))
  model <- fit(formula, data = tables[[table]], dist = dist, control = options)
  errors <- sqrt(diag(model$vcov))
  count <- grepl("^count_", names(errors))
  fields <- list(
    name = text(paste(kind, dist, zero, table, sep = ", ")), table = text(table), kind = text(kind), dist = text(dist),
    zero = text(zero), "log likelihood" = number(model$loglik),
    "count coef" = numbers(model$coefficients$count), "count errors" = numbers(errors[count]),
    "zero coef" = numbers(model$coefficients$zero), "zero errors" = numbers(errors[!count])
  )
  if (dist == "negbin") {
    fields <- c(fields, list(theta = number(unname(model$theta[1])), "log theta error" = number(unname(model$SE.logtheta[1]))))
  }
  object(fields)
}

asked <- expand.grid(
  kind = c("zeroinfl", "hurdle"), dist = c("poisson", "negbin"), zero = c("constant", "modelled"), table = names(tables),
  stringsAsFactors = FALSE
)
cases <- Map(case, asked$kind, asked$dist, asked$zero, asked$table)

folder <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
tool <- paste0(R.version.string, ", pscl ", packageVersion("pscl"))
rows <- lapply(tables, function(table) object(lapply(table, numbers)))
writeLines(paste0(
  '{"tool": "', tool, '", "generator": "generate_zeros.R",\n"tables": ', object(rows), ',\n"cases": [\n',
  paste(unlist(cases), collapse = ",\n"), "\n]}"
), file.path(folder, "zeros.json"))

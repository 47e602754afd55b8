// Functions that figures share. tests/docs compares them with neglog.

const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
];

/** log |Gamma(x)|, by Lanczos' sum with g = 7. */
export function lgamma(x) {
  if (x < 0.5) return Math.log(Math.PI / Math.abs(Math.sin(Math.PI * x))) - lgamma(1 - x);
  const t = x + 6.5;
  let sum = LANCZOS[0];
  for (let k = 1; k < LANCZOS.length; k++) sum += LANCZOS[k] / (x - 1 + k);
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

/** P(Z <= x) of a standard normal Z: a series near 0, a continued fraction in the tails. */
export function normalCdf(x) {
  if (x === Infinity) return 1;
  if (x === -Infinity) return 0;
  const z = Math.abs(x);
  const density = Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI);
  if (z < 3) {
    let term = z;
    let sum = z;
    for (let k = 3; Math.abs(term) > 1e-17 * Math.abs(sum); k += 2) {
      term *= (z * z) / k;
      sum += term;
    }
    return x < 0 ? 0.5 - density * sum : 0.5 + density * sum;
  }
  let fraction = z;
  for (let k = 60; k >= 1; k--) fraction = z + k / fraction;
  const tail = density / fraction;
  return x < 0 ? tail : 1 - tail;
}

/** n numbers from a to b, both included. */
export function linspace(a, b, n) {
  return Array.from({ length: n }, (_, i) => (i === n - 1 ? b : a + ((b - a) * i) / (n - 1)));
}

/** log of the sum of exp, without overflow. */
export function logsumexp(values) {
  const top = Math.max(...values);
  if (!Number.isFinite(top)) return top;
  return top + Math.log(values.reduce((sum, value) => sum + Math.exp(value - top), 0));
}

/** A number with 4 significant digits, as readouts and sliders show it. */
export function short(number) {
  if (Number.isNaN(number)) return "not defined";
  if (!Number.isFinite(number)) return number > 0 ? "∞" : "−∞";
  const rounded = Number(number.toPrecision(4));
  const size = Math.abs(rounded);
  const text = size !== 0 && (size < 1e-4 || size >= 1e7) ? rounded.toExponential() : String(rounded);
  return text.replaceAll("-", "−");
}

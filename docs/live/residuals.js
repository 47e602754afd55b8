// Residuals of counts under a noise that may not be theirs: their places in the law, and the worm.

import * as kit from "./kit.js";

const { Plot } = kit;
const BARS = 20;

// The quantile of a standard normal (Acklam's rational approximation, relative error 1e-9).
const A = [-3.969683028665376e1, 2.209460984245205e2, -2.759285104469687e2, 1.38357751867269e2, -3.066479806614716e1, 2.506628277459239];
const B = [-5.447609879822406e1, 1.615858368580409e2, -1.556989798598866e2, 6.680131188771972e1, -1.328068155288572e1, 1];
const C = [-7.784894002430293e-3, -3.223964580411365e-1, -2.400758277161838, -2.549732539343734, 4.374664141464968, 2.938163982698783];
const D = [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416, 1];
const horner = (coefficients, x) => coefficients.reduce((sum, one) => sum * x + one, 0);

function lowerQuantile(p) {
  if (p < 0.02425) {
    const q = Math.sqrt(-2 * Math.log(Math.max(p, 1e-300)));
    return horner(C, q) / horner(D, q);
  }
  const q = p - 0.5;
  return (horner(A, q * q) * q) / horner(B, q * q);
}

// Each noise at what is predicted for a row: the mass or density, the mean, and the variance.
const poisson = (k, mean) => Math.exp(k * Math.log(mean) - mean - kit.lgamma(k + 1));
const binomial = (k, mean, dispersion) => {
  if (dispersion < 1e-7) return poisson(k, mean);
  const r = 1 / dispersion;
  const choices = kit.lgamma(k + r) - kit.lgamma(r) - kit.lgamma(k + 1);
  return Math.exp(choices - r * Math.log1p(mean / r) - k * Math.log1p(r / mean));
};
const laws = {
  poisson: { mass: poisson, mean: (m) => m, variance: (m) => m },
  negativebinomial: { mass: binomial, mean: (m) => m, variance: (m, d) => m + d * m * m },
  zeros: {
    mass: (k, m, p) => (k === 0 ? p : 0) + (1 - p) * poisson(k, m),
    mean: (m, p) => (1 - p) * m,
    variance: (m, p) => (1 - p) * (m + p * m * m),
  },
};

export default function (figure, data) {
  const names = { gaussian: "Gaussian", poisson: "Poisson", negativebinomial: "negative binomial", zeros: "Poisson and zeros" };
  const truth = figure.choice({
    name: "truth",
    label: "The counts come from",
    options: ["poisson", "negativebinomial", "zeros"].map((name) => [name, names[name]]),
    value: "negativebinomial",
  });
  const noise = figure.choice({ name: "noise", label: "Noise that is fitted", options: Object.entries(names), value: "poisson" });
  const kind = figure.choice({
    name: "kind",
    label: "Residuals",
    options: [["quantile", "quantile"], ["pearson", "Pearson"]],
    value: "quantile",
  });
  const rows = figure.slider({ name: "rows", label: "Rows", min: 0, max: data.rows.length - 1, step: 1, value: 3, format: (k) => String(data.rows[k]) });
  const spread = figure.readout({ name: "spread", label: "standard deviation of the residuals" });
  const far = figure.readout({ name: "far", label: "share beyond ±2 (of a normal 0.0455)" });
  const zeros = figure.readout({ name: "zeros", label: "share of zeros" });
  const expected = figure.readout({ name: "expected", label: "share up to 0 that is expected" });
  const nats = figure.readout({ name: "nats", label: "−log p of a row, in nats" });

  function shown() {
    const n = data.rows[rows.value];
    const y = data.targets[truth.value];
    const [intercept, slope, own] = data.fits[truth.value][noise.value][rows.value];
    const found = { z: [], nll: 0, zeros: 0, upToZero: 0, n };
    for (let i = 0; i < n; i++) {
      const eta = intercept + slope * data.x[i];
      found.zeros += (y[i] === 0) / n;
      if (noise.value === "gaussian") {
        found.z.push((y[i] - eta) / own);
        found.nll += (0.5 * ((y[i] - eta) / own) ** 2 + Math.log(own) + 0.5 * Math.log(2 * Math.PI)) / n;
        found.upToZero += kit.normalCdf(-eta / own) / n;
        continue;
      }
      const { mass, mean, variance } = laws[noise.value];
      const m = Math.exp(eta);
      const here = mass(y[i], m, own);
      found.nll -= Math.log(here) / n;
      found.upToZero += mass(0, m, own) / n;
      if (kind.value === "pearson") {
        found.z.push((y[i] - mean(m, own)) / Math.sqrt(variance(m, own)));
        continue;
      }
      let [below, above] = [data.shares[i] * here, (1 - data.shares[i]) * here];
      for (let k = 0; k < y[i]; k++) below += mass(k, m, own);
      for (let k = y[i] + 1, term = 1; k < y[i] + 500 && (term > 1e-17 * above || k < m); k++) above += term = mass(k, m, own);
      found.z.push(below < above ? lowerQuantile(below) : -lowerQuantile(above));
    }
    return found;
  }

  figure.onChange(() => {
    const found = shown();
    const mean = found.z.reduce((sum, z) => sum + z, 0) / found.n;
    spread.set(Math.sqrt(found.z.reduce((sum, z) => sum + (z - mean) ** 2, 0) / found.n));
    far.set(found.z.filter((z) => Math.abs(z) > 2).length / found.n);
    zeros.set(found.zeros);
    expected.set(found.upToZero);
    nats.set(found.nll);
  });

  figure.plot(() => {
    const { z, n } = shown();
    const counts = new Array(BARS).fill(0);
    for (const one of z) counts[Math.min(BARS - 1, Math.floor(BARS * kit.normalCdf(one)))] += 1;
    const bars = counts.map((count, k) => ({ from: k / BARS, to: (k + 1) / BARS, height: (count * BARS) / n }));
    const chance = 2 * Math.sqrt((BARS - 1) / n);
    return {
      x: { label: "place in the law, Φ(residual)", domain: [0, 1] },
      y: { label: "rows over what is expected", domain: [0, Math.max(2.4, 1.05 * Math.max(...bars.map((bar) => bar.height)))] },
      marks: [
        Plot.rect([0], { x1: 0, x2: 1, y1: Math.max(0, 1 - chance), y2: 1 + chance, fill: figure.colour.pale, fillOpacity: 0.18 }),
        Plot.rectY(bars, { x1: "from", x2: "to", y: "height", fill: figure.colour.accent, fillOpacity: 0.65, insetLeft: 0.5, insetRight: 0.5 }),
        Plot.ruleY([1], { stroke: figure.colour.third, strokeWidth: 1.5 }),
      ],
    };
  });

  figure.plot(() => {
    const sorted = shown().z.sort((a, b) => a - b);
    const { ranks, expected: at, lower, upper } = data.bands[rows.value];
    const worm = ranks.map((rank, k) => ({ at: at[k], away: sorted[rank - 1] - at[k], low: lower[k], high: upper[k] }));
    const out = (point) => point.away < point.low || point.away > point.high;
    const reach = Math.max(0.75, 1.1 * Math.max(...worm.map((point) => Math.abs(point.away))));
    return {
      x: { label: "quantile of a standard normal", domain: [-3.3, 3.3] },
      y: { label: "quantile of the residuals, less that", domain: [-reach, reach] },
      marks: [
        Plot.areaY(worm, { x: "at", y1: "low", y2: "high", fill: figure.colour.pale, fillOpacity: 0.18, clip: true }),
        Plot.ruleY([0], { stroke: figure.colour.pale }),
        Plot.line(worm, { x: "at", y: "away", stroke: figure.colour.accent, strokeOpacity: 0.5 }),
        Plot.dot(worm, { x: "at", y: "away", r: 2.5, fill: (point) => (out(point) ? figure.colour.third : figure.colour.accent) }),
      ],
    };
  });
}

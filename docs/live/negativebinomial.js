// The negative binomial law of a count beside the Poisson law of the same mean, and what one observed count costs.

import * as kit from "./kit.js";

const { Plot } = kit;
const MOST = 40;

const poissonNats = (y, mean) => mean - y * Math.log(mean) + kit.lgamma(y + 1);

function nats(y, mean, size) {
  const ways = kit.lgamma(y + size) - kit.lgamma(size) - kit.lgamma(y + 1);
  return -ways + size * Math.log1p(mean / size) + y * Math.log1p(size / mean);
}

export default function (figure, data) {
  const mean = figure.slider({ name: "mean", label: "Mean μ", min: 0.1, max: 25, step: 0.1, value: 6 });
  const dispersion = figure.slider({ name: "dispersion", label: "Dispersion φ", min: 0.05, max: 3, step: 0.05, value: 0.5 });
  const y = figure.slider({ name: "y", label: "Observed count y", min: 0, max: MOST, step: 1, value: 14 });
  const power = figure.choice({
    name: "power",
    label: "Variance",
    options: [
      [1, "NB1: μ + φμ"],
      [2, "NB2: μ + φμ²"],
    ],
    value: 2,
  });

  const nll = figure.readout({ name: "nll", label: "−log p, nats" });
  const poisson = figure.readout({ name: "poisson", label: "Poisson’s −log p, nats" });
  const zero = figure.readout({ name: "zero", label: "P(y = 0)" });
  const poissonZero = figure.readout({ name: "poisson_zero", label: "Poisson’s P(y = 0)" });
  const variance = figure.readout({ name: "variance", label: "Variance" });

  const sizeAt = (m) => m ** (2 - power.value) / dispersion.value;
  const cost = (count, m) => nats(count, m, sizeAt(m));

  figure.onChange(() => {
    nll.set(cost(y.value, mean.value));
    poisson.set(poissonNats(y.value, mean.value));
    zero.set(Math.exp(-cost(0, mean.value)));
    poissonZero.set(Math.exp(-mean.value));
    variance.set(mean.value + dispersion.value * mean.value ** power.value);
  });

  figure.plot(() => {
    const counts = Array.from({ length: MOST + 1 }, (_, k) => ({
      k,
      p: Math.exp(-cost(k, mean.value)),
      poisson: Math.exp(-poissonNats(k, mean.value)),
    }));
    return {
      height: 260,
      x: { label: "count", domain: [-0.6, MOST + 0.6] },
      y: { label: "probability (line: Poisson)", grid: true },
      marks: [
        Plot.rectY(counts, {
          x1: (d) => d.k - 0.4,
          x2: (d) => d.k + 0.4,
          y: "p",
          fill: (d) => (d.k === y.value ? figure.colour.accent : figure.colour.pale),
        }),
        Plot.line(counts, { x: "k", y: "poisson", stroke: figure.colour.third }),
        Plot.dot(counts, { x: "k", y: "poisson", fill: figure.colour.third, r: 1.5 }),
        Plot.ruleX([mean.value], { stroke: figure.colour.ink, strokeDasharray: "4,3" }),
        Plot.dot([y.value], { x: (d) => d, frameAnchor: "bottom", fill: figure.colour.accent, r: 5 }),
        Plot.ruleY([0]),
      ],
    };
  });

  figure.plot(() => {
    const curve = kit.linspace(0.1, 25, 400).map((m) => ({ m, nats: cost(y.value, m), poisson: poissonNats(y.value, m) }));
    return {
      height: 220,
      x: { label: "mean μ", domain: [0, 25] },
      y: { label: "−log p(y), nats (dashed: Poisson)", grid: true, domain: [0, 20] },
      marks: [
        Plot.line(curve, { x: "m", y: "poisson", stroke: figure.colour.third, strokeDasharray: "5 4", clip: true }),
        Plot.line(curve, { x: "m", y: "nats", stroke: figure.colour.ink, clip: true }),
        Plot.dot([{ m: mean.value, nats: cost(y.value, mean.value) }], {
          x: "m", y: "nats", fill: figure.colour.accent, r: 5, clip: true,
        }),
      ],
    };
  });
}

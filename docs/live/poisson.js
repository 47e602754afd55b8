// The Poisson law of a count, and what one observed count costs.

import * as kit from "./kit.js";

const { Plot } = kit;
const MOST = 40;

const nats = (y, mean) => mean - y * Math.log(mean) + kit.lgamma(y + 1);
const halfDeviance = (y, mean) => (y === 0 ? mean : y * Math.log(y / mean) - y + mean);

export default function (figure, data) {
  const mean = figure.slider({ name: "mean", label: "Mean μ", min: 0.1, max: 25, step: 0.1, value: 4 });
  const y = figure.slider({ name: "y", label: "Observed count y", min: 0, max: MOST, step: 1, value: 7 });

  const mass = figure.readout({ name: "mass", label: "Probability of y" });
  const nll = figure.readout({ name: "nll", label: "−log p, nats" });
  const loss = figure.readout({ name: "loss", label: "Half deviance, nats" });
  const rest = figure.readout({ name: "rest", label: "Rest, free of μ, nats" });

  figure.onChange(() => {
    const [total, part] = [nats(y.value, mean.value), halfDeviance(y.value, mean.value)];
    mass.set(Math.exp(-total));
    nll.set(total);
    loss.set(part);
    rest.set(total - part);
  });

  figure.plot(() => {
    const counts = Array.from({ length: MOST + 1 }, (_, k) => ({ k, p: Math.exp(-nats(k, mean.value)) }));
    return {
      height: 260,
      x: { label: "count", domain: [-0.6, MOST + 0.6] },
      y: { label: "probability", grid: true },
      marks: [
        Plot.rectY(counts, {
          x1: (d) => d.k - 0.4,
          x2: (d) => d.k + 0.4,
          y: "p",
          fill: (d) => (d.k === y.value ? figure.colour.accent : figure.colour.pale),
        }),
        Plot.ruleX([mean.value], { stroke: figure.colour.ink, strokeDasharray: "4,3" }),
        Plot.dot([y.value], { x: (d) => d, frameAnchor: "bottom", fill: figure.colour.accent, r: 5 }),
        Plot.ruleY([0]),
      ],
    };
  });

  figure.plot(() => {
    const curve = kit.linspace(0.1, 25, 400).map((m) => ({ m, nats: nats(y.value, m) }));
    return {
      height: 220,
      x: { label: "mean μ", domain: [0, 25] },
      y: { label: "−log p(y), nats", grid: true, domain: [0, 20], clamp: false },
      marks: [
        Plot.line(curve, { x: "m", y: "nats", stroke: figure.colour.ink, clip: true }),
        Plot.dot([{ m: mean.value, nats: nats(y.value, mean.value) }], {
          x: "m", y: "nats", fill: figure.colour.accent, r: 5, clip: true,
        }),
      ],
    };
  });
}

// The Gamma law of a positive amount, and what one amount costs.

import * as kit from "./kit.js";

const { Plot } = kit;

function nats(y, mean, shape) {
  return shape * (y / mean + Math.log(mean)) - shape * Math.log(shape) - (shape - 1) * Math.log(y) + kit.lgamma(shape);
}

export default function (figure, data) {
  const mean = figure.slider({ name: "mean", label: "Mean μ", min: 0.5, max: 10, step: 0.1, value: 4 });
  const shape = figure.slider({ name: "shape", label: "Shape α", min: 0.4, max: 20, step: 0.1, value: 2.5 });
  const y = figure.slider({ name: "y", label: "Observed amount y", min: 0.1, max: 20, step: 0.1, value: 7 });

  const nll = figure.readout({ name: "nll", label: "−log p, nats" });
  const loss = figure.readout({ name: "loss", label: "Half deviance" });
  const gradient = figure.readout({ name: "gradient", label: "Gradient in log μ, nats" });
  const variation = figure.readout({ name: "variation", label: "Standard deviation / mean" });

  figure.onChange(() => {
    const ratio = y.value / mean.value;
    nll.set(nats(y.value, mean.value, shape.value));
    loss.set(ratio - 1 - Math.log(ratio));
    gradient.set(shape.value * (1 - ratio));
    variation.set(1 / Math.sqrt(shape.value));
  });

  figure.plot(() => {
    const curve = kit.linspace(0.02, 20, 500).map((at) => ({ at, density: Math.exp(-nats(at, mean.value, shape.value)) }));
    const highest = Math.min(Math.max(...curve.map((d) => d.density)), 1.2);
    return {
      height: 250,
      x: { label: "amount", domain: [0, 20] },
      y: { label: "density", grid: true, domain: [0, 1.05 * highest] },
      marks: [
        Plot.areaY(curve, { x: "at", y: "density", fill: figure.colour.soft, clip: true }),
        Plot.line(curve, { x: "at", y: "density", stroke: figure.colour.ink, clip: true }),
        Plot.ruleX([mean.value], { stroke: figure.colour.ink, strokeDasharray: "4,3" }),
        Plot.ruleX([y.value], { stroke: figure.colour.accent, strokeWidth: 2 }),
        Plot.ruleY([0]),
      ],
    };
  });

  figure.plot(() => {
    const curve = kit.linspace(0.2, 20, 400).map((m) => ({ m, nats: nats(y.value, m, shape.value) }));
    const least = nats(y.value, y.value, shape.value);
    return {
      height: 210,
      x: { label: "predicted mean", domain: [0, 20] },
      y: { label: "−log p(y), nats", grid: true, domain: [least - 0.5, least + 10] },
      marks: [
        Plot.line(curve, { x: "m", y: "nats", stroke: figure.colour.ink, clip: true }),
        Plot.ruleX([y.value], { stroke: figure.colour.accent, strokeDasharray: "2,3" }),
        Plot.dot([{ m: mean.value, nats: nats(y.value, mean.value, shape.value) }], {
          x: "m", y: "nats", fill: figure.colour.accent, r: 5, clip: true,
        }),
      ],
    };
  });
}

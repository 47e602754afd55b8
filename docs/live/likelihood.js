// Three observations, one unknown mean: the -log likelihood as a curve, and its lowest point.

import * as kit from "./kit.js";

const { Plot } = kit;
const HALF_LOG_TWO_PI = 0.5 * Math.log(2 * Math.PI);

const nats = {
  gaussian: (y, mean, scale) => ((y - mean) / scale) ** 2 / 2 + Math.log(scale) + HALF_LOG_TWO_PI,
  laplace: (y, mean, scale) => Math.abs(y - mean) / scale + Math.log(2 * scale),
};
const average = (values) => values.reduce((a, b) => a + b, 0) / values.length;
const best = {
  gaussian: average,
  laplace: (y) => [...y].sort((a, b) => a - b)[1],
};
const bestScale = {
  gaussian: (y, mean) => Math.sqrt(average(y.map((v) => (v - mean) ** 2))),
  laplace: (y, mean) => average(y.map((v) => Math.abs(v - mean))),
};

export default function (figure, data) {
  const noise = figure.choice({
    name: "noise",
    label: "Noise",
    options: [["gaussian", "Gaussian"], ["laplace", "Laplace"]],
    value: "gaussian",
  });
  const observations = data.y.map((value, i) =>
    figure.slider({ name: `y${i + 1}`, label: `Observation ${i + 1}`, min: 0, max: 10, step: 0.1, value }),
  );
  const mean = figure.slider({ name: "mean", label: "Trial mean μ", min: 0, max: 10, step: 0.1, value: 5 });
  const scale = figure.slider({ name: "scale", label: "Scale of the noise", min: 0.3, max: 3, step: 0.1, value: 1 });

  const nll = figure.readout({ name: "nll", label: "−log likelihood at μ, nats" });
  const mle = figure.readout({ name: "mle", label: "MLE of the mean" });
  const least = figure.readout({ name: "least", label: "−log likelihood at the MLE, nats" });
  const scaleMle = figure.readout({ name: "scale_mle", label: "MLE of the scale" });

  const y = () => observations.map((control) => control.value);
  const total = (m) => y().reduce((sum, v) => sum + nats[noise.value](v, m, scale.value), 0);

  figure.onChange(() => {
    const at = best[noise.value](y());
    nll.set(total(mean.value));
    mle.set(at);
    least.set(total(at));
    scaleMle.set(bestScale[noise.value](y(), at));
  });

  figure.plot(() => {
    const at = best[noise.value](y());
    const curve = kit.linspace(0, 10, 401).map((m) => ({ m, nats: total(m) }));
    return {
      height: 320,
      x: { label: "mean μ", domain: [0, 10] },
      y: { label: "−log likelihood, nats", grid: true, zero: false },
      marks: [
        Plot.ruleX(y(), { stroke: figure.colour.pale, strokeDasharray: "2,3" }),
        Plot.line(curve, { x: "m", y: "nats", stroke: figure.colour.ink, strokeWidth: 2 }),
        Plot.dot(y(), { x: (d) => d, frameAnchor: "bottom", fill: figure.colour.third, symbol: "triangle", r: 6 }),
        Plot.dot([{ m: at, nats: total(at) }], { x: "m", y: "nats", fill: figure.colour.accent, r: 6 }),
        Plot.text([{ m: at, nats: total(at) }], { x: "m", y: "nats", text: ["MLE"], dy: -14, fill: figure.colour.accent }),
        Plot.dot([{ m: mean.value, nats: total(mean.value) }], {
          x: "m", y: "nats", stroke: figure.colour.ink, strokeWidth: 2, r: 6,
        }),
      ],
    };
  });
}

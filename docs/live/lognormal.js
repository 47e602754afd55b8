// The log-normal law of y above, the Gaussian law of log y below, and the Jacobian between them.

import * as kit from "./kit.js";

const { Plot } = kit;
const HALF_LOG_TWO_PI = 0.5 * Math.log(2 * Math.PI);
const FARTHEST = 15;

const gaussianNats = (z, loc, scale) => ((z - loc) / scale) ** 2 / 2 + Math.log(scale) + HALF_LOG_TWO_PI;

export default function (figure, data) {
  const loc = figure.slider({ name: "loc", label: "Mean of log y, η", min: -1, max: 2, step: 0.05, value: 1 });
  const scale = figure.slider({ name: "scale", label: "Scale of log y, σ", min: 0.1, max: 1.2, step: 0.05, value: 0.7 });
  const y = figure.slider({ name: "y", label: "Observed amount y", min: 0.1, max: FARTHEST, step: 0.1, value: 6 });

  const mode = figure.readout({ name: "mode", label: "Mode" });
  const median = figure.readout({ name: "median", label: "Median" });
  const mean = figure.readout({ name: "mean", label: "Mean" });
  const jacobian = figure.readout({ name: "jacobian", label: "Jacobian log y, nats" });
  const part = figure.readout({ name: "gaussian", label: "−log p of log y, nats" });
  const nll = figure.readout({ name: "nll", label: "−log p of y, their sum" });

  const centres = () => [
    { name: "mode", at: Math.exp(loc.value - scale.value ** 2) },
    { name: "median", at: Math.exp(loc.value) },
    { name: "mean", at: Math.exp(loc.value + scale.value ** 2 / 2) },
  ];

  figure.onChange(() => {
    const [low, middle, high] = centres();
    mode.set(low.at);
    median.set(middle.at);
    mean.set(high.at);
    const z = Math.log(y.value);
    jacobian.set(z);
    part.set(gaussianNats(z, loc.value, scale.value));
    nll.set(z + gaussianNats(z, loc.value, scale.value));
  });

  const strokes = () => [figure.colour.third, figure.colour.ink, figure.colour.accent];

  figure.plot(() => {
    const curve = kit.linspace(0.01, FARTHEST, 600).map((at) => {
      const z = Math.log(at);
      return { at, density: Math.exp(-z - gaussianNats(z, loc.value, scale.value)) };
    });
    const highest = Math.max(...curve.map((d) => d.density));
    return {
      height: 270,
      x: { label: "y", domain: [0, FARTHEST] },
      y: { label: "density of y", grid: true, domain: [0, 1.2 * highest] },
      marks: [
        Plot.areaY(curve, { x: "at", y: "density", fill: figure.colour.soft }),
        Plot.line(curve, { x: "at", y: "density", stroke: figure.colour.ink }),
        ...centres().map(({ name, at }, i) => Plot.ruleX([at], { stroke: strokes()[i], strokeWidth: 2, clip: true })),
        ...centres().map(({ name, at }, i) =>
          Plot.text([at], { x: (d) => d, y: (1.16 - 0.07 * i) * highest, text: [name], dx: 4, textAnchor: "start", fill: strokes()[i], clip: true }),
        ),
        Plot.dot([y.value], { x: (d) => d, y: 0, fill: figure.colour.accent, r: 6 }),
        Plot.ruleY([0]),
      ],
    };
  });

  figure.plot(() => {
    const curve = kit.linspace(-5, 6, 400).map((z) => ({ z, density: Math.exp(-gaussianNats(z, loc.value, scale.value)) }));
    return {
      height: 190,
      x: { label: "log y", domain: [-5, 6] },
      y: { label: "density of log y", grid: true, zero: true },
      marks: [
        Plot.areaY(curve, { x: "z", y: "density", fill: figure.colour.soft }),
        Plot.line(curve, { x: "z", y: "density", stroke: figure.colour.ink }),
        Plot.ruleX([loc.value], { stroke: figure.colour.ink, strokeWidth: 2 }),
        Plot.dot([Math.log(y.value)], { x: (d) => d, y: 0, fill: figure.colour.accent, r: 6 }),
        Plot.ruleY([0]),
      ],
    };
  });
}

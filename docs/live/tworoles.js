// One observation and one coefficient: loss and penalty from the same two families.
import * as kit from "./kit.js";

const KINDS = [
  ["gaussian", "Gaussian"],
  ["laplace", "Laplace"],
];

export default function (figure, data) {
  const noise = figure.choice({ name: "noise", label: "Noise", options: KINDS, value: "gaussian" });
  const prior = figure.choice({ name: "prior", label: "Prior", options: KINDS, value: "laplace" });
  const y = figure.slider({ name: "y", label: "Observed y", min: -3, max: 3, step: 0.05, value: 2 });
  const noiseScale = figure.slider({
    name: "noise_scale", label: "Scale of the noise", min: 0.2, max: 3, step: 0.05, value: 1,
  });
  const priorScale = figure.slider({
    name: "prior_scale", label: "Scale of the prior", min: 0.2, max: 3, step: 0.05, value: 0.9,
  });
  const mode = figure.readout({ name: "mode", label: "Most probable θ" });
  const nll = figure.readout({ name: "nll", label: "−log p of y there" });
  const priorNll = figure.readout({ name: "prior_nll", label: "−log p of θ there" });

  // One function serves both roles.
  const minusLog = (kind, distance, scale) => {
    const z = distance / scale;
    return kind === "gaussian"
      ? 0.5 * z * z + Math.log(scale) + 0.5 * Math.log(2 * Math.PI)
      : Math.abs(z) + Math.log(2 * scale);
  };
  const loss = (theta) => minusLog(noise.value, y.value - theta, noiseScale.value);
  const penalty = (theta) => minusLog(prior.value, theta, priorScale.value);
  const best = () => {
    const [s, t, v] = [noiseScale.value, priorScale.value, y.value];
    const clip = (value, limit) => Math.min(Math.max(value, -limit), limit);
    if (noise.value === "gaussian" && prior.value === "gaussian") return (v * t * t) / (s * s + t * t);
    if (noise.value === "gaussian") return v - clip(v, (s * s) / t); // soft threshold
    if (prior.value === "gaussian") return clip(v, (t * t) / s);
    return s <= t ? v : 0;
  };

  figure.onChange(() => {
    const theta = best();
    mode.set(theta);
    nll.set(loss(theta));
    priorNll.set(penalty(theta));
  });

  figure.plot(() => {
    const grid = Array.from(kit.linspace(data.low, data.high, data.points));
    const curve = (value) => grid.map((theta) => [theta, value(theta)]);
    const theta = best();
    const total = (t) => loss(t) + penalty(t);
    return {
      height: 280,
      x: { label: "θ" },
      y: { label: "nats (noise solid, prior dashed, sum thick)", domain: [-1, total(theta) + 6], grid: true },
      marks: [
        kit.Plot.line(curve(loss), { stroke: figure.colour.accent, strokeWidth: 1.5, clip: true }),
        kit.Plot.line(curve(penalty), { stroke: figure.colour.third, strokeWidth: 1.5, strokeDasharray: "5 3", clip: true }),
        kit.Plot.line(curve(total), { stroke: figure.colour.ink, strokeWidth: 3, clip: true }),
        kit.Plot.dot([[theta, total(theta)]], { fill: figure.colour.ink, r: 5 }),
        kit.Plot.ruleX([y.value], { stroke: figure.colour.soft }),
      ],
    };
  });
}

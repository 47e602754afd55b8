// Two coefficients: ellipses of the likelihood, circle or diamond of the prior, and where they meet.

import * as kit from "./kit.js";

const { Plot } = kit;
const REACH = 4;
const STEPS = 320; // even, with a node at 0: Simpson's rule then keeps its order at the kink

const soft = (x, by) => Math.sign(x) * Math.max(Math.abs(x) - by, 0);

export default function (figure, data) {
  const [[g11, g12], [, g22]] = data.information; // X'X / sigma²
  const prior = figure.choice({
    name: "prior",
    label: "Prior",
    options: [["gaussian", "Gaussian (L2)"], ["laplace", "Laplace (L1)"]],
    value: "laplace",
  });
  const scale = figure.slider({ name: "scale", label: "Scale of the prior", min: 0.1, max: 3, step: 0.05, value: 0.15 });
  const mle1 = figure.slider({ name: "mle1", label: "MLE of coefficient 1", min: -2, max: 2, step: 0.05, value: 1.4 });
  const mle2 = figure.slider({ name: "mle2", label: "MLE of coefficient 2", min: -1.5, max: 1.5, step: 0.05, value: 0.5 });

  const map1 = figure.readout({ name: "map1", label: "MAP of coefficient 1" });
  const map2 = figure.readout({ name: "map2", label: "MAP of coefficient 2" });
  const mean2 = figure.readout({ name: "mean2", label: "Posterior mean of coefficient 2" });
  const penalty = figure.readout({ name: "penalty", label: "Penalty at the MAP, nats" });

  const minusLogPrior = (t, s) => (prior.value === "gaussian" ? (t * t) / (2 * s * s) : Math.abs(t) / s);

  // The mode for a prior of scale s: a linear system, or coordinate descent.
  function mode(s) {
    const [m1, m2] = [mle1.value, mle2.value];
    const [r1, r2] = [g11 * m1 + g12 * m2, g12 * m1 + g22 * m2];
    if (prior.value === "gaussian") {
      const [a, d] = [g11 + 1 / (s * s), g22 + 1 / (s * s)];
      const det = a * d - g12 * g12;
      return [(d * r1 - g12 * r2) / det, (a * r2 - g12 * r1) / det];
    }
    let [t1, t2] = [m1, m2];
    for (let i = 0; i < 500; i++) {
      t1 = soft(r1 - g12 * t2, 1 / s) / g11;
      t2 = soft(r2 - g12 * t1, 1 / s) / g22;
    }
    return [t1, t2];
  }

  // The marginal posterior density of coefficient 2, by Simpson's rule over both.
  let known = { key: null };
  function marginal() {
    const key = [prior.value, scale.value, mle1.value, mle2.value].join();
    if (known.key === key) return known;
    const at = kit.linspace(-REACH, REACH, STEPS + 1);
    at[STEPS / 2] = 0;
    const weight = at.map((_, i) => (i === 0 || i === STEPS ? 1 : i % 2 ? 4 : 2));
    const [m1, m2] = [mle1.value, mle2.value];
    const first = at.map((t) => minusLogPrior(t, scale.value));
    const [peak1, peak2] = mode(scale.value);
    const nats = (t1, t2) => (g11 * (t1 - m1) ** 2 + g22 * (t2 - m2) ** 2) / 2 + g12 * (t1 - m1) * (t2 - m2);
    const least = nats(peak1, peak2) + minusLogPrior(peak1, scale.value) + minusLogPrior(peak2, scale.value);
    const density = at.map((t2, j) => {
      let sum = 0;
      for (let i = 0; i <= STEPS; i++) sum += weight[i] * Math.exp(least - nats(at[i], t2) - first[i] - first[j]);
      return sum;
    });
    const step = (2 * REACH) / STEPS;
    const total = density.reduce((sum, d, j) => sum + weight[j] * d, 0);
    const mean = density.reduce((sum, d, j) => sum + weight[j] * d * at[j], 0) / total;
    const curve = at.map((t, j) => ({ t, density: (3 * density[j]) / (total * step) }));
    known = { key, mean, curve };
    return known;
  }

  figure.onChange(() => {
    const [t1, t2] = mode(scale.value);
    map1.set(t1);
    map2.set(t2);
    mean2.set(marginal().mean);
    penalty.set(minusLogPrior(t1, scale.value) + minusLogPrior(t2, scale.value));
  });

  // Points with the same -log likelihood, so many nats above the least.
  function ellipse(nats) {
    const l11 = Math.sqrt(g11);
    const l21 = g12 / l11;
    const l22 = Math.sqrt(g22 - l21 * l21);
    return kit.linspace(0, 2 * Math.PI, 121).map((angle) => {
      const [u, v] = [Math.sqrt(2 * nats) * Math.cos(angle), Math.sqrt(2 * nats) * Math.sin(angle)];
      return [mle1.value + (u - (l21 / l22) * v) / l11, mle2.value + v / l22];
    });
  }

  function ball([t1, t2]) {
    if (prior.value === "gaussian") {
      const r = Math.hypot(t1, t2);
      return kit.linspace(0, 2 * Math.PI, 121).map((angle) => [r * Math.cos(angle), r * Math.sin(angle)]);
    }
    const r = Math.abs(t1) + Math.abs(t2);
    return [[r, 0], [0, r], [-r, 0], [0, -r], [r, 0]];
  }

  figure.plot(() => {
    const top = mode(scale.value);
    const path = kit.linspace(Math.log(0.02), Math.log(30), 160).map((s) => mode(Math.exp(s)));
    return {
      aspectRatio: 1,
      height: undefined, // follows from the aspect ratio
      x: { label: "coefficient 1", domain: [-2.6, 2.6] },
      y: { label: "coefficient 2", domain: [-1.8, 1.8] },
      marks: [
        Plot.ruleX([0], { stroke: figure.colour.pale }),
        Plot.ruleY([0], { stroke: figure.colour.pale }),
        Plot.line(ball(top), { curve: "linear", fill: figure.colour.soft, fillOpacity: 0.5, stroke: figure.colour.third, clip: true }),
        ...[0.5, 2, 4.5].map((nats) => Plot.line(ellipse(nats), { stroke: figure.colour.ink, strokeOpacity: 0.5, clip: true })),
        Plot.line(path, { stroke: figure.colour.accent, strokeDasharray: "4,3", clip: true }),
        Plot.dot([[mle1.value, mle2.value]], { stroke: figure.colour.ink, strokeWidth: 2, r: 5 }),
        Plot.text([[mle1.value, mle2.value]], { text: ["MLE"], dy: -12, fill: figure.colour.ink }),
        Plot.dot([top], { fill: figure.colour.accent, r: 6 }),
        Plot.text([top], { text: ["MAP"], dy: 15, fill: figure.colour.accent }),
      ],
    };
  });

  figure.plot(() => {
    const { curve, mean } = marginal();
    return {
      height: 190,
      x: { label: "coefficient 2", domain: [-2, 2] },
      y: { label: "posterior density", grid: true, zero: true },
      marks: [
        Plot.areaY(curve, { x: "t", y: "density", fill: figure.colour.soft, clip: true }),
        Plot.line(curve, { x: "t", y: "density", stroke: figure.colour.ink, clip: true }),
        Plot.ruleX([mode(scale.value)[1]], { stroke: figure.colour.accent, strokeWidth: 2 }),
        Plot.ruleX([mean], { stroke: figure.colour.ink, strokeDasharray: "4,3" }),
        Plot.ruleY([0]),
      ],
    };
  });
}

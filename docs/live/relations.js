// H(P, Q) as a sum: the entropy of P, and the divergence of Q that continues it.
import * as kit from "./kit.js";

const NAMES = ["A", "B", "C"];

export default function (figure, data) {
  const truth = figure.choice({
    name: "truth",
    label: "Truth P",
    options: [
      ["skewed", "0.5, 0.3, 0.2"],
      ["even", "a third each"],
      ["label", "A for sure"],
    ],
    value: "skewed",
  });
  const unit = figure.choice({
    name: "unit",
    label: "Unit",
    options: [
      ["nats", "nats"],
      ["bits", "bits"],
    ],
    value: "nats",
  });
  const start = [0.2, 0.3, 0.5];
  const weights = NAMES.map((name, k) =>
    figure.slider({
      name: name.toLowerCase(),
      label: `Weight of ${name} in Q`,
      min: 0.01,
      max: 1,
      step: 0.01,
      value: start[k],
    }),
  );
  const entropy = figure.readout({ name: "entropy", label: "H(P)" });
  const divergence = figure.readout({ name: "divergence", label: "KL(P‖Q)" });
  const cross = figure.readout({ name: "cross", label: "H(P, Q)" });

  const parts = () => {
    const p = data.truths[truth.value];
    const values = weights.map((weight) => weight.value);
    const total = values.reduce((sum, value) => sum + value, 0);
    const unitOf = Math.log(data.bases[unit.value]);
    const nats = p.reduce((sum, share, k) => sum + (share > 0 ? share * Math.log(share / (values[k] / total)) : 0), 0);
    return { entropy: data.entropies[truth.value] / unitOf, divergence: Math.max(nats, 0) / unitOf };
  };

  figure.onChange(() => {
    const now = parts();
    entropy.set(now.entropy);
    divergence.set(now.divergence);
    cross.set(now.entropy + now.divergence);
  });

  figure.plot(() => {
    const now = parts();
    const total = now.entropy + now.divergence;
    const bar = (row, x1, x2, fill) => kit.Plot.barX([{ row, x1, x2 }], { y: "row", x1: "x1", x2: "x2", fill });
    const dashed = { stroke: figure.colour.ink, strokeDasharray: "4 3" };
    return {
      height: 190,
      marginLeft: 70,
      x: { domain: [0, Math.max(2.5, total * 1.02)], label: unit.value, grid: true },
      y: { domain: ["H(P)", "KL(P‖Q)", "H(P, Q)"], label: null },
      marks: [
        bar("H(P)", 0, now.entropy, figure.colour.soft),
        bar("KL(P‖Q)", now.entropy, total, figure.colour.accent),
        bar("H(P, Q)", 0, total, figure.colour.third),
        kit.Plot.ruleX([now.entropy, total], dashed),
      ],
    };
  });
}

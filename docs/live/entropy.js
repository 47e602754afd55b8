// Entropy of four outcomes whose weights are set by sliders.
import * as kit from "./kit.js";

const NAMES = ["A", "B", "C", "D"];

export default function (figure, data) {
  const start = [0.5, 0.25, 0.12, 0.12];
  const weights = NAMES.map((name, k) =>
    figure.slider({
      name: name.toLowerCase(),
      label: `Weight of ${name}`,
      min: k === 3 ? 0.01 : 0, // one weight stays above zero, so that there is something to normalise
      max: 1,
      step: 0.01,
      value: start[k],
    }),
  );
  const nats = figure.readout({ name: "nats", label: "H in nats" });
  const bits = figure.readout({ name: "bits", label: "H in bits" });
  const bound = figure.readout({ name: "bound", label: "Uniform bound log 4, nats" });
  const outcomes = figure.readout({ name: "outcomes", label: "exp H, effective outcomes" });

  const probabilities = () => {
    const values = weights.map((weight) => weight.value);
    const total = values.reduce((sum, value) => sum + value, 0);
    return values.map((value) => value / total);
  };
  const surprise = (p) => (p > 0 ? -p * Math.log(p) : 0); // 0 log 0 = 0

  figure.onChange(() => {
    const entropy = probabilities().reduce((sum, p) => sum + surprise(p), 0);
    nats.set(entropy);
    bits.set(entropy / Math.LN2);
    bound.set(data.bound);
    outcomes.set(Math.exp(entropy));
  });

  figure.plot(() => {
    const p = probabilities();
    const panel = (part, values, even, fill) => [
      kit.Plot.barY(NAMES.map((outcome, k) => ({ part, outcome, value: values[k] })), {
        fx: "part", x: "outcome", y: "value", fill,
      }),
      kit.Plot.ruleY([{ part, even }], { fx: "part", y: "even", stroke: figure.colour.ink, strokeDasharray: "4 3" }),
    ];
    return {
      height: 260,
      fx: { label: null, domain: ["probability p", "−p log p, nats"] },
      x: { label: null, domain: NAMES },
      y: { domain: [0, 1], label: null, grid: true },
      marks: [
        ...panel("probability p", p, 0.25, figure.colour.accent),
        ...panel("−p log p, nats", p.map(surprise), surprise(0.25), figure.colour.third),
        kit.Plot.ruleY([0], { stroke: figure.colour.ink }),
      ],
    };
  });
}

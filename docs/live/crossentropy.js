// Cross-entropy of a softmax prediction to a label, or to the shares of three classes.
import * as kit from "./kit.js";

const NAMES = ["A", "B", "C"];

export default function (figure, data) {
  const truth = figure.choice({
    name: "truth",
    label: "Truth P",
    options: [
      ["label", "the label B"],
      ["shares", "shares 0.2, 0.5, 0.3"],
    ],
    value: "shares",
  });
  const start = [0, 1, -1];
  const raw = NAMES.map((name, k) =>
    figure.slider({
      name: `eta_${name.toLowerCase()}`,
      label: `Raw prediction of ${name}`,
      min: -4,
      max: 4,
      step: 0.05,
      value: start[k],
    }),
  );
  const nats = figure.readout({ name: "nats", label: "H(P, Q) in nats" });
  const bits = figure.readout({ name: "bits", label: "H(P, Q) in bits" });
  const perplexity = figure.readout({ name: "perplexity", label: "Perplexity exp H(P, Q)" });
  const floor = figure.readout({ name: "floor", label: "Least possible, H(P)" });
  const lossB = figure.readout({ name: "loss_b", label: "−log q of B" });

  // −log q of each class: logsumexp of the raw predictions minus its own
  const losses = () => {
    const eta = raw.map((slider) => slider.value);
    const total = kit.logsumexp(eta);
    return eta.map((value) => total - value);
  };

  figure.onChange(() => {
    const each = losses();
    const cross = each.reduce((sum, loss, k) => sum + data.truths[truth.value][k] * loss, 0);
    nats.set(cross);
    bits.set(cross / Math.LN2);
    perplexity.set(Math.exp(cross));
    floor.set(data.floors[truth.value]);
    lossB.set(each[1]);
  });

  figure.plot(() => {
    const bars = (values, part) => NAMES.map((name, k) => ({ name, part, value: values[k] }));
    const side = { fx: "name", x: "part", y: "value" };
    return {
      height: 260,
      fx: { label: null, domain: NAMES },
      x: { label: null, domain: ["P", "Q"] },
      y: { domain: [0, 1], label: "probability", labelAnchor: "center", labelArrow: "none", grid: true },
      marks: [
        kit.Plot.barY(bars(data.truths[truth.value], "P"), { ...side, fill: figure.colour.soft }),
        kit.Plot.barY(bars(losses().map((loss) => Math.exp(-loss)), "Q"), { ...side, fill: figure.colour.accent }),
        kit.Plot.ruleY([0], { stroke: figure.colour.ink }),
      ],
    };
  });
}

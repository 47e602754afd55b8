// Two Gaussians and the divergence in both directions.
import * as kit from "./kit.js";

export default function (figure, data) {
  const mean = (name, label, value) => figure.slider({ name, label, min: -3, max: 3, step: 0.05, value });
  const scale = (name, label, value) => figure.slider({ name, label, min: 0.3, max: 3, step: 0.05, value });
  const p = { mean: mean("mean_p", "Mean of P", 0), scale: scale("scale_p", "Scale of P", 1) };
  const q = { mean: mean("mean_q", "Mean of Q", 1), scale: scale("scale_q", "Scale of Q", 1.8) };
  const show = figure.choice({
    name: "show",
    label: "Draw",
    options: [
      ["densities", "the densities"],
      ["forward", "p log(p/q), whose area is KL(P‖Q)"],
      ["reverse", "q log(q/p), whose area is KL(Q‖P)"],
    ],
    value: "densities",
  });
  const forward = figure.readout({ name: "forward", label: "KL(P‖Q) in nats" });
  const reverse = figure.readout({ name: "reverse", label: "KL(Q‖P) in nats" });

  const nll = (law, y) => {
    const z = (y - law.mean.value) / law.scale.value;
    return 0.5 * z * z + Math.log(law.scale.value) + 0.5 * Math.log(2 * Math.PI);
  };
  const divergence = (from, to) => {
    const ratio = from.scale.value / to.scale.value;
    const gap = (from.mean.value - to.mean.value) / to.scale.value;
    return 0.5 * (ratio * ratio - 1) - Math.log(ratio) + 0.5 * gap * gap;
  };

  figure.onChange(() => {
    forward.set(divergence(p, q));
    reverse.set(divergence(q, p));
  });

  figure.plot(() => {
    const grid = kit.linspace(data.low, data.high, data.points);
    const curve = (value) => grid.map((y) => ({ y, value: value(y) }));
    const density = (law) => curve((y) => Math.exp(-nll(law, y)));
    const extra = (from, to) => curve((y) => Math.exp(-nll(from, y)) * (nll(to, y) - nll(from, y)));
    const axis = kit.Plot.ruleY([0], { stroke: figure.colour.ink });
    const both = [
      kit.Plot.line(density(p), { x: "y", y: "value", stroke: figure.colour.accent, strokeWidth: 2 }),
      kit.Plot.line(density(q), {
        x: "y", y: "value", stroke: figure.colour.third, strokeWidth: 2, strokeDasharray: "5 3",
      }),
    ];
    if (show.value === "densities") {
      return {
        height: 260,
        x: { label: "y" },
        y: { label: "density (P solid, Q dashed)", grid: true },
        marks: [kit.Plot.areaY(density(p), { x: "y", y: "value", fill: figure.colour.pale }), ...both, axis],
      };
    }
    const [from, to, integrand] = show.value === "forward" ? [p, q, "p log(p/q)"] : [q, p, "q log(q/p)"];
    return {
      height: 260,
      x: { label: "y" },
      y: { label: `${integrand}, and densities (P solid, Q dashed)`, grid: true },
      marks: [kit.Plot.areaY(extra(from, to), { x: "y", y: "value", fill: figure.colour.soft }), ...both, axis],
    };
  });
}

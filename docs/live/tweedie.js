// The Tweedie law between powers 1 and 2: an atom at zero and a density above it, precomputed on a grid.

import * as kit from "./kit.js";

const { Plot } = kit;

export default function (figure, data) {
  const { powers, dispersions, means, y: amounts } = data.grid;
  const first = (values) => values[0];
  const last = (values) => values[values.length - 1];
  const onGrid = (name, label, values, step, value) =>
    figure.slider({ name, label, min: first(values), max: last(values), step, value });
  const mean = onGrid("mean", "Mean μ", means, 0.5, 2);
  const dispersion = onGrid("dispersion", "Dispersion φ", dispersions, 0.5, 1);
  const power = onGrid("power", "Power", powers, 0.1, 1.5);
  const y = figure.slider({ name: "y", label: "Observed amount y", min: 0, max: last(amounts), step: 0.25, value: 3 });

  const atom = figure.readout({ name: "atom", label: "P(y = 0)" });
  const variance = figure.readout({ name: "variance", label: "Variance φ μ^power" });
  const events = figure.readout({ name: "events", label: "Mean number of events" });
  const nll = figure.readout({ name: "nll", label: "−log p(y), nats" });

  const place = (values, value) => Math.round((value - first(values)) / (values[1] - values[0]));
  const rate = () => mean.value ** (2 - power.value) / (dispersion.value * (2 - power.value));
  const row = () =>
    data.nll[place(powers, power.value)][place(dispersions, dispersion.value)][place(means, mean.value)];

  figure.onChange(() => {
    atom.set(Math.exp(-rate()));
    variance.set(dispersion.value * mean.value ** power.value);
    events.set(rate());
    nll.set(y.value === 0 ? rate() : row()[place(amounts, y.value)]);
  });

  figure.plot(() => {
    const zero = Math.exp(-rate());
    const curve = amounts.map((at, i) => ({ at, density: Math.exp(-row()[i]) }));
    const highest = Math.min(Math.max(...curve.map((d) => d.density)), 1);
    const top = Math.max(0.3, highest);
    return {
      height: 300,
      x: { label: "amount y", domain: [-0.5, last(amounts)] },
      y: { label: "density above 0; the bar at 0 is a probability", grid: true, domain: [0, 1.02 * Math.max(top, zero)] },
      marks: [
        Plot.areaY(curve, { x: "at", y: "density", fill: figure.colour.soft, clip: true }),
        Plot.line(curve, { x: "at", y: "density", stroke: figure.colour.ink, clip: true }),
        Plot.rectY([zero], { x1: -0.35, x2: -0.05, y: (d) => d, fill: figure.colour.third }),
        Plot.text([zero], { x: 0, y: (d) => d, text: (d) => `P(0) = ${d.toPrecision(2)}`, dx: 6, dy: -6, textAnchor: "start", fill: figure.colour.third }),
        Plot.ruleX([mean.value], { stroke: figure.colour.ink, strokeDasharray: "4,3" }),
        Plot.ruleX([y.value], { stroke: figure.colour.accent, strokeWidth: 2 }),
        Plot.ruleY([0]),
      ],
    };
  });
}

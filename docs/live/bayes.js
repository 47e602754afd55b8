// A diagnostic test as a thousand people, and a coin with a Beta prior.

import * as kit from "./kit.js";

const { Plot } = kit;
const CELLS = 8000; // of the unit interval, for the distribution function

function logBeta(a, b) {
  return kit.lgamma(a) + kit.lgamma(b) - kit.lgamma(a + b);
}

function density(p, a, b) {
  const power = (x, k) => (k === 0 ? 0 : k * Math.log(x)); // 0 log 0 = 0
  return Math.exp(power(p, a - 1) + power(1 - p, b - 1) - logBeta(a, b));
}

// The central interval that holds 90%, from the mass of many small cells; a, b >= 1, so that the density is bounded.
function interval(a, b) {
  const mass = Array.from({ length: CELLS }, (_, i) => density((i + 0.5) / CELLS, a, b));
  const total = mass.reduce((sum, m) => sum + m, 0);
  const quantile = (q) => {
    let below = 0;
    for (let i = 0; i < CELLS; i++) {
      if (below + mass[i] >= q * total) return (i + (q * total - below) / mass[i]) / CELLS;
      below += mass[i];
    }
    return 1;
  };
  return [quantile(0.05), quantile(0.95)];
}

export default function (figure, data) {
  const percent = (value) => `${(100 * value).toFixed(1)}%`;
  const share = (name, label, min, max, step, value) =>
    figure.slider({ name, label, min, max, step, value, format: percent });
  const prevalence = share("prevalence", "Test: prevalence", 0.001, 0.5, 0.001, 0.01);
  const sensitivity = share("sensitivity", "Test: sensitivity", 0.5, 1, 0.005, 0.8);
  const specificity = share("specificity", "Test: specificity", 0.5, 1, 0.005, 0.905);
  const a = figure.slider({ name: "a", label: "Coin: prior a", min: 1, max: 20, step: 0.5, value: 2 });
  const b = figure.slider({ name: "b", label: "Coin: prior b", min: 1, max: 20, step: 0.5, value: 2 });
  const heads = figure.slider({ name: "heads", label: "Coin: heads", min: 0, max: 50, step: 1, value: 7 });
  const tails = figure.slider({ name: "tails", label: "Coin: tails", min: 0, max: 50, step: 1, value: 3 });

  const positive = figure.readout({ name: "positive", label: "Test: P(sick | positive)" });
  const negative = figure.readout({ name: "negative", label: "Test: P(sick | negative)" });
  const mean = figure.readout({ name: "mean", label: "Coin: posterior mean" });
  const low = figure.readout({ name: "low", label: "Coin: 90% from" });
  const high = figure.readout({ name: "high", label: "Coin: to" });

  const people = () => {
    const [sick, well] = [1000 * prevalence.value, 1000 * (1 - prevalence.value)];
    return [
      { result: "positive", state: "sick", people: sick * sensitivity.value },
      { result: "positive", state: "well", people: well * (1 - specificity.value) },
      { result: "negative", state: "sick", people: sick * (1 - sensitivity.value) },
      { result: "negative", state: "well", people: well * specificity.value },
    ];
  };
  const bars = () => {
    const groups = people();
    return [0, 2].map((i) => ({
      result: groups[i].result,
      total: groups[i].people + groups[i + 1].people,
      text: `${groups[i].people.toFixed(1)} sick, ${groups[i + 1].people.toFixed(1)} well`,
    }));
  };
  const after = () => [a.value + heads.value, b.value + tails.value];

  figure.onChange(() => {
    const [sickPositive, wellPositive, sickNegative, wellNegative] = people().map((group) => group.people);
    positive.set(sickPositive / (sickPositive + wellPositive));
    negative.set(sickNegative / (sickNegative + wellNegative));
    const [after_a, after_b] = after();
    mean.set(after_a / (after_a + after_b));
    const [from, to] = interval(after_a, after_b);
    low.set(from);
    high.set(to);
  });

  figure.plot(() => ({
    height: 150,
    marginLeft: 70,
    x: { label: "people of 1000", domain: [0, 1000] },
    y: { label: null, domain: ["positive", "negative"] },
    marks: [
      Plot.barX(people(), {
        x: "people",
        y: "result",
        fill: (d) => (d.state === "sick" ? figure.colour.accent : figure.colour.soft),
      }),
      ...[true, false].map((long) =>
        Plot.text(bars().filter(({ total }) => total > 500 === long), {
          x: "total",
          y: "result",
          text: "text",
          dx: long ? -6 : 6,
          textAnchor: long ? "end" : "start",
        }),
      ),
      Plot.ruleX([0]),
    ],
  }));

  figure.plot(() => {
    const p = kit.linspace(0, 1, 401);
    const curve = (a, b) => p.map((at) => ({ p: at, density: density(at, a, b) }));
    const [after_a, after_b] = after();
    const [from, to] = interval(after_a, after_b);
    const posterior = curve(after_a, after_b);
    return {
      height: 260,
      x: { label: "chance of heads p", domain: [0, 1] },
      y: { label: "density", grid: true, zero: true },
      marks: [
        Plot.areaY(posterior.filter(({ p }) => p >= from && p <= to), { x: "p", y: "density", fill: figure.colour.soft }),
        Plot.line(curve(a.value, b.value), { x: "p", y: "density", stroke: figure.colour.pale, strokeDasharray: "5,4" }),
        Plot.line(posterior, { x: "p", y: "density", stroke: figure.colour.accent, strokeWidth: 2 }),
        Plot.ruleX([after_a / (after_a + after_b)], { stroke: figure.colour.ink }),
        Plot.ruleY([0]),
      ],
    };
  });
}

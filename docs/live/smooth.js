// A smooth curve as a straight line and wiggles with a Gaussian prior; what its scale does, and what the data say of it.

import * as kit from "./kit.js";

const { Plot } = kit;
const Z90 = 1.6448536269514722; // standard deviations, either way, that hold 90 %

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

export default function (figure, data) {
  const { sigma, least, x, sizes, grid, onGrid } = data;
  const target = figure.choice({
    name: "target",
    label: "Data",
    options: [["wave", "a wave and noise"], ["line", "a line and noise"]],
    value: "wave",
  });
  const scaleOf = (u) => (u <= least ? 0 : 10 ** u);
  const scale = figure.slider({
    name: "scale",
    label: "Scale s of the wiggles",
    min: least,
    max: 3,
    step: 0.05,
    value: -0.7,
    format: (u) => kit.short(scaleOf(u)),
  });
  const effective = figure.readout({ name: "effective", label: "effective parameters" });
  const error = figure.readout({ name: "error", label: "rms residual" });
  const gained = figure.readout({ name: "gained", label: "evidence over a straight line, nats" });
  const best = figure.readout({ name: "best", label: "most evident s" });

  // The line by least squares; the wiggles are orthogonal to it and to each other.
  const n = x.length;
  const middle = dot(x, x.map(() => 1)) / n;
  const spread = dot(x.map((v) => v - middle), x.map((v) => v - middle));
  const known = {};
  function facts() {
    if (known[target.value]) return known[target.value];
    const y = data.targets[target.value];
    const mean = dot(y, x.map(() => 1)) / n;
    const slope = dot(y, x.map((v) => v - middle)) / spread;
    const own = { y, line: (v) => mean + slope * (v - middle), seen: data.wiggles.map((w) => dot(w, y)) };
    own.evidence = (s) =>
      sizes.reduce((sum, d, j) => sum + (kept(d, s) * own.seen[j] ** 2) / (2 * sigma ** 2) - Math.log1p((d * s * s) / sigma ** 2) / 2, 0);
    own.best = mostEvident(own.evidence);
    known[target.value] = own;
    return own;
  }

  // The share of a wiggle that a scale lets through.
  const kept = (d, s) => (d * s * s) / (d * s * s + sigma * sigma);

  function mostEvident(evidence) {
    const logs = kit.linspace(least, 3, 201);
    const values = logs.map((u) => evidence(10 ** u));
    const top = values.indexOf(Math.max(...values));
    if (values[top] <= 0) return 0;
    let [a, b] = [logs[Math.max(top - 1, 0)], logs[Math.min(top + 1, 200)]];
    for (let i = 0; i < 60; i++) {
      const [l, r] = [a + 0.382 * (b - a), a + 0.618 * (b - a)];
      if (evidence(10 ** l) < evidence(10 ** r)) a = l;
      else b = r;
    }
    return 10 ** ((a + b) / 2);
  }

  function curve() {
    const { y, line, seen } = facts();
    const s = scaleOf(scale.value);
    const shares = sizes.map((d) => kept(d, s));
    const along = grid.map((v, i) => {
      const f = line(v) + seen.reduce((sum, a, j) => sum + shares[j] * a * onGrid[i][j], 0);
      const wiggly = onGrid[i].reduce((sum, w, j) => sum + shares[j] * w * w, 0);
      const reach = Z90 * sigma * Math.sqrt(1 / n + (v - middle) ** 2 / spread + wiggly);
      return { x: v, f, low: f - reach, high: f + reach };
    });
    const residuals = y.map((v, i) => v - line(x[i]) - data.wiggles.reduce((sum, w, j) => sum + shares[j] * seen[j] * w[i], 0));
    return { along, residuals, effective: 1 + shares.reduce((sum, value) => sum + value, 0) };
  }

  figure.onChange(() => {
    const own = facts();
    const shown = curve();
    effective.set(shown.effective);
    error.set(Math.sqrt(dot(shown.residuals, shown.residuals) / n));
    gained.set(own.evidence(scaleOf(scale.value)));
    best.set(own.best);
  });

  figure.plot(() => {
    const { along } = curve();
    const { y } = facts();
    return {
      x: { label: "x", domain: [0, 10] },
      y: { label: "y", domain: target.value === "wave" ? [-2.4, 3.6] : [-2.7, 3.1] },
      marks: [
        Plot.areaY(along, { x: "x", y1: "low", y2: "high", fill: figure.colour.soft, fillOpacity: 0.7, clip: true }),
        Plot.line(along, { x: "x", y: "f", stroke: figure.colour.accent, strokeWidth: 2, clip: true }),
        Plot.dot(x.map((v, i) => [v, y[i]]), { fill: figure.colour.ink, r: 3 }),
      ],
    };
  });

  figure.plot(() => {
    const { evidence, best: top } = facts();
    const low = 10 ** least;
    const points = kit.linspace(least, 3, 151).map((u) => ({ s: 10 ** u, nats: evidence(u === least ? 0 : 10 ** u) }));
    const most = Math.max(...points.map((point) => point.nats), 0);
    const floor = target.value === "wave" ? -5 : -35;
    const here = scaleOf(scale.value);
    const place = (s) => Math.max(s, low);
    return {
      x: { type: "log", label: "scale s", domain: [low, 1e3], ticks: [0.01, 0.1, 1, 10, 100, 1000], tickFormat: (s) => (s <= low ? "0" : kit.short(s)) },
      y: { label: "nats over a straight line", grid: true, domain: [floor, Math.max(most * 1.2, 5)] },
      marks: [
        Plot.ruleY([0], { stroke: figure.colour.pale }),
        Plot.ruleX([place(top)], { stroke: figure.colour.third, strokeDasharray: "4,3" }),
        Plot.text([[place(top), most]], { text: [`most evident: ${kit.short(top)}`], dy: -9, dx: top === 0 ? 4 : 0, textAnchor: top === 0 ? "start" : "middle", fill: figure.colour.third, stroke: "var(--color-background-primary)", strokeWidth: 5 }),
        Plot.line(points, { x: "s", y: "nats", stroke: figure.colour.ink, clip: true }),
        Plot.dot([[place(here), Math.max(evidence(here), floor)]], { fill: figure.colour.accent, r: 6 }),
      ],
    };
  });
}

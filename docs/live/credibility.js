// Levels of a group: each estimate lies between the level's own mean and the common one, and the scale says where.

import * as kit from "./kit.js";

const { Plot } = kit;
const Z90 = 1.6448536269514722;

export default function (figure, data) {
  const { sigma, least, levels, means } = data;
  const rows = figure.slider({ name: "rows", label: "Rows of level A", min: 0, max: 40, step: 1, value: 2 });
  const scaleOf = (u) => (u <= least ? 0 : 10 ** u);
  const scale = figure.slider({
    name: "scale",
    label: "Scale s of the levels",
    min: least,
    max: 2,
    step: 0.05,
    value: 0,
    format: (u) => kit.short(scaleOf(u)),
  });
  const credibility = figure.readout({ name: "credibility", label: "credibility of A" });
  const estimate = figure.readout({ name: "estimate", label: "estimate of A" });
  const error = figure.readout({ name: "error", label: "its standard error" });
  const common = figure.readout({ name: "common", label: "common mean" });
  const gained = figure.readout({ name: "gained", label: "evidence over one common mean, nats" });
  const best = figure.readout({ name: "best", label: "most evident s" });

  const counts = () => [rows.value, ...data.rows.slice(1)];

  // With the levels integrated out, the mean of n rows has the variance s² + σ²/n about the common mean.
  function pooled(s) {
    const weights = counts().map((n) => (n ? 1 / (s * s + (sigma * sigma) / n) : 0));
    const total = weights.reduce((sum, w) => sum + w, 0);
    const centre = weights.reduce((sum, w, k) => sum + w * means[k], 0) / total;
    const away = weights.reduce((sum, w, k) => sum + w * (means[k] - centre) ** 2, 0);
    const volume = weights.reduce((sum, w) => sum + (w ? Math.log(w) : 0), 0);
    return { centre, total, evidence: (volume - Math.log(total) - away) / 2 };
  }

  function estimates(s) {
    const { centre, total } = pooled(s);
    return levels.map((level, k) => {
      const n = counts()[k];
      const z = s ? n / (n + (sigma * sigma) / (s * s)) : 0;
      const own = n ? means[k] : centre;
      const mean = z * own + (1 - z) * centre;
      const spread = Math.sqrt((1 - z) * s * s + (1 - z) ** 2 / total);
      return { level, n, own: n ? own : NaN, mean, z, spread, low: mean - Z90 * spread, high: mean + Z90 * spread };
    });
  }

  const gain = (s) => pooled(s).evidence - pooled(0).evidence;

  function mostEvident() {
    const logs = kit.linspace(least, 2, 201);
    const values = logs.map((u) => gain(10 ** u));
    const top = values.indexOf(Math.max(...values));
    if (values[top] <= 0) return 0;
    let [a, b] = [logs[Math.max(top - 1, 0)], logs[Math.min(top + 1, 200)]];
    for (let i = 0; i < 60; i++) {
      const [l, r] = [a + 0.382 * (b - a), a + 0.618 * (b - a)];
      if (gain(10 ** l) < gain(10 ** r)) a = l;
      else b = r;
    }
    return 10 ** ((a + b) / 2);
  }

  figure.onChange(() => {
    const s = scaleOf(scale.value);
    const [first] = estimates(s);
    credibility.set(first.z);
    estimate.set(first.mean);
    error.set(first.spread);
    common.set(pooled(s).centre);
    gained.set(gain(s));
    best.set(mostEvident());
  });

  figure.plot(() => {
    const s = scaleOf(scale.value);
    const shown = estimates(s);
    const names = Object.fromEntries(shown.map(({ level, n }) => [level, `${level}\n${n}`]));
    return {
      marginBottom: 52,
      x: { type: "point", label: "level, and its number of rows", domain: levels, tickFormat: (level) => names[level] },
      y: { label: "mean of the level", domain: [-3, 3.6] },
      marks: [
        Plot.ruleY([pooled(s).centre], { stroke: figure.colour.pale, strokeDasharray: "4,3" }),
        Plot.ruleX(shown, { x: "level", y1: "low", y2: "high", stroke: figure.colour.soft, strokeWidth: 7, clip: true }),
        Plot.ruleX(shown.filter((one) => one.n), { x: "level", y1: "own", y2: "mean", stroke: figure.colour.accent }),
        Plot.dot(shown.filter((one) => one.n), { x: "level", y: "own", stroke: figure.colour.ink, fill: "var(--color-background-primary)", r: 4 }),
        Plot.dot(shown, { x: "level", y: "mean", fill: figure.colour.accent, r: 4.5 }),
      ],
    };
  });

  figure.plot(() => {
    const low = 10 ** least;
    const top = mostEvident();
    const here = scaleOf(scale.value);
    const points = kit.linspace(least, 2, 151).map((u) => ({ s: 10 ** u, nats: gain(u === least ? 0 : 10 ** u) }));
    const most = Math.max(...points.map((point) => point.nats), 0);
    const floor = -12;
    return {
      x: { type: "log", label: "scale s", domain: [low, 100], ticks: [0.01, 0.1, 1, 10, 100], tickFormat: (s) => (s <= low ? "0" : kit.short(s)) },
      y: { label: "nats over one common mean", grid: true, domain: [floor, Math.max(1.2 * most, 5)] },
      marks: [
        Plot.ruleY([0], { stroke: figure.colour.pale }),
        Plot.ruleX([Math.max(top, low)], { stroke: figure.colour.third, strokeDasharray: "4,3" }),
        Plot.text([[Math.max(top, low), most]], { text: [`most evident: ${kit.short(top)}`], dy: -9, fill: figure.colour.third, stroke: "var(--color-background-primary)", strokeWidth: 5 }),
        Plot.line(points, { x: "s", y: "nats", stroke: figure.colour.ink, clip: true }),
        Plot.dot([[Math.max(here, low), Math.max(gain(here), floor)]], { fill: figure.colour.accent, r: 6 }),
      ],
    };
  });
}

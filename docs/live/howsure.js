// Intervals of four kinds, and how often each holds the truth in a thousand data sets whose noise may be wrong.

import * as kit from "./kit.js";

const { Plot } = kit;
const KINDS = ["posterior", "profile", "robust", "clustered"];
const SHOWN = 40; // data sets that are drawn
const REACH = 1.3; // of the axes, from the truth

export default function (figure, data) {
  const { sets, clinic, means, truth, z } = data;
  const rows = figure.slider({ name: "rows", label: `Rows, in clinics of ${clinic}`, min: data.fewest, max: data.most, step: data.step, value: 80 });
  const own = figure.slider({ name: "own", label: "Persons differ by", min: 0, max: 0.8, step: 0.1, value: 0 });
  const shared = figure.slider({ name: "shared", label: "Clinics differ by", min: 0, max: 0.8, step: 0.1, value: 0 });
  const shown = figure.slider({ name: "shown", label: "Data set", min: 1, max: SHOWN, step: 1, value: 1 });
  const design = figure.choice({
    name: "design",
    label: "Treated are",
    options: [["whole", "all of every other clinic"], ["half", "half of each clinic"]],
    value: "whole",
  });
  const readouts = (what, label) =>
    Object.fromEntries(KINDS.map((kind) => [kind, figure.readout({ name: `${kind}_${what}`, label: `${kind} ${label}` })]));
  const holds = readouts("holds", "holds it, %");
  const lengths = readouts("length", "length");

  // The same numbers as in live/howsure.py: bits of the place, well mixed.
  function uniform(place) {
    let h = Math.imul(place + data.seed, 0x9e3779b1);
    h = Math.imul(h ^ (h >>> 16), 0x21f0aaad);
    h = Math.imul(h ^ (h >>> 15), 0x735a2d97);
    return (((h ^ (h >>> 15)) >>> 0) + 0.5) / 2 ** 32;
  }

  // The smallest number up to which Poisson's law has the probability u.
  function count(rate, u) {
    let term = Math.exp(-rate);
    let below = term;
    let y = 0;
    while (below < u && y < 200) {
      y += 1;
      term *= rate / y;
      below += term;
    }
    return y;
  }

  const treated = (i) => (design.value === "whole" ? Math.floor(i / clinic) % 2 : i % 2);

  // 1 on average, and as far from it as the spread says: a constant share, and an exponential one
  const factor = (spread, u) => 1 - spread - spread * Math.log(u);

  function draw(set) {
    return Array.from({ length: rows.value }, (_, i) => {
      const place = 3 * (data.most * set + i);
      const rate = means[treated(i)] * factor(own.value, uniform(place)) * factor(shared.value, uniform(place - 3 * (i % clinic) + 1));
      return count(rate, uniform(place + 2));
    });
  }

  function judged(set) {
    const y = draw(set);
    const half = rows.value / 2;
    const sums = [0, 0];
    y.forEach((v, i) => (sums[treated(i)] += v));
    const estimate = Math.log(sums[1] / sums[0]);
    let [robust, clustered, together] = [0, 0, 0];
    y.forEach((v, i) => {
      const moved = (treated(i) ? 1 : -1) * (v / sums[treated(i)] - 1 / half); // the estimate, by this row
      robust += moved ** 2;
      together = i % clinic ? together + moved : moved;
      if (i % clinic === clinic - 1) clustered += together ** 2;
    });
    const clinics = rows.value / clinic;
    const error = {
      posterior: Math.sqrt(1 / sums[0] + 1 / sums[1]),
      robust: Math.sqrt(robust) / (1 - 1 / half),
      clustered: Math.sqrt((clustered * clinics) / (clinics - 1)),
    };
    const reach = { posterior: z, robust: z, clustered: data.t[rows.value] };
    const ends = Object.fromEntries(
      Object.keys(error).map((kind) => [kind, [estimate - reach[kind] * error[kind], estimate + reach[kind] * error[kind]]]),
    );
    const held = Object.fromEntries(Object.keys(ends).map((kind) => [kind, ends[kind][0] <= truth && truth <= ends[kind][1]]));
    held.profile = lost(sums, truth) <= (z * z) / 2;
    return { y, sums, estimate, error, ends, held };
  }

  // The nats that the best fit with this effect loses: given the sum of both groups, one of them is binomial.
  function lost(sums, effect) {
    const total = sums[0] + sums[1];
    const share = 1 / (1 + Math.exp(-effect));
    return sums[1] * Math.log(sums[1] / (total * share)) + sums[0] * Math.log(sums[0] / (total * (1 - share)));
  }

  function profileEnd(sums, estimate, error, sign) {
    let [near, far] = [estimate, estimate + sign * 6 * z * error];
    for (let i = 0; i < 60; i++) {
      const middle = (near + far) / 2;
      if (lost(sums, middle) < (z * z) / 2) near = middle;
      else far = middle;
    }
    return near;
  }

  let known = { key: "" };
  function all() {
    const key = [rows.value, own.value, shared.value, design.value].join();
    if (known.key === key) return known;
    const found = Array.from({ length: sets }, (_, set) => judged(set));
    const held = Object.fromEntries(
      KINDS.map((kind) => [kind, (100 * found.reduce((sum, one) => sum + one.held[kind], 0)) / sets]),
    );
    const drawn = found.slice(0, SHOWN);
    for (const { sums, estimate, error, ends } of drawn) {
      ends.profile = [-1, 1].map((sign) => profileEnd(sums, estimate, error.posterior, sign));
    }
    known = { key, drawn, held };
    return known;
  }

  const one = () => all().drawn[shown.value - 1];

  figure.onChange(() => {
    const { ends } = one();
    for (const kind of KINDS) {
      holds[kind].set(all().held[kind]);
      lengths[kind].set(ends[kind][1] - ends[kind][0]);
    }
  });

  figure.plot(() => {
    const { y, sums } = one();
    const half = rows.value / 2;
    const points = y.map((v, i) => ({ x: Math.floor(i / clinic) + 1 + 0.17 * ((i % clinic) - (clinic - 1) / 2), y: v, treated: treated(i) }));
    const colours = [figure.colour.ink, figure.colour.accent];
    const levels = sums.map((sum, k) => ({ mean: sum / half, text: k ? "treated" : "not", k }));
    const upper = sums[0] > sums[1] ? 0 : 1;
    return {
      marginRight: 54,
      x: { label: "clinic", domain: [0.3, rows.value / clinic + 0.7], ticks: 6, tickFormat: (k) => (Number.isInteger(k) ? String(k) : "") },
      y: { label: "count of a person, and mean of a group", domain: [0, Math.max(8, ...y)] },
      marks: [
        Plot.ruleY(levels, { y: "mean", stroke: (level) => colours[level.k], strokeDasharray: "4,3" }),
        Plot.dot(points, { x: "x", y: "y", r: 2.7, fill: (point) => (point.treated ? colours[1] : "none"), stroke: (point) => colours[point.treated] }),
        ...levels.map((level) =>
          Plot.text([level], {
            y: "mean",
            text: "text",
            frameAnchor: "right",
            textAnchor: "start",
            dx: 5,
            dy: level.k === upper ? -4 : 5,
            fill: colours[level.k],
          }),
        ),
      ],
    };
  });

  figure.plot(() => {
    const { ends, estimate } = one();
    const lines = KINDS.map((kind) => ({ kind, from: ends[kind][0], to: ends[kind][1], estimate }));
    return {
      marginLeft: 76,
      x: { label: "effect on the log of the mean", domain: [truth - REACH, truth + REACH], grid: true },
      y: { type: "point", label: null, domain: KINDS, tickSize: 0 },
      marks: [
        Plot.ruleX([truth], { stroke: figure.colour.third, strokeDasharray: "4,3" }),
        Plot.text([[truth]], { x: (d) => d[0], frameAnchor: "top", text: ["truth"], dy: -14, fill: figure.colour.third }),
        Plot.ruleY(lines, { y: "kind", x1: "from", x2: "to", stroke: figure.colour.accent, strokeWidth: 4, clip: true }),
        Plot.dot(lines, { y: "kind", x: "estimate", fill: figure.colour.ink, r: 4, clip: true }),
      ],
    };
  });

  figure.plot(() => {
    const { drawn, held } = all();
    const lines = KINDS.flatMap((kind) =>
      drawn.map((one, k) => ({ kind, k: k + 1, from: one.ends[kind][0], to: one.ends[kind][1], held: one.held[kind] })),
    );
    const here = (line) => line.k === shown.value;
    return {
      height: 400,
      marginTop: 34,
      x: { label: `data sets 1 to ${SHOWN}`, domain: [0, SHOWN + 1], ticks: [1, 10, 20, 30, 40] },
      y: { label: null, domain: [truth - REACH, truth + REACH], ticks: [-1, 0], tickFormat: kit.short },
      fy: { axis: null, domain: KINDS, padding: 0.32 },
      marks: [
        Plot.ruleX([shown.value], { stroke: figure.colour.soft, strokeWidth: 7 }),
        Plot.ruleY([truth], { stroke: figure.colour.third, strokeDasharray: "4,3" }),
        Plot.ruleX(lines, {
          x: "k",
          y1: "from",
          y2: "to",
          fy: "kind",
          stroke: (line) => (line.held ? figure.colour.pale : figure.colour.third),
          strokeWidth: (line) => (here(line) ? 4 : line.held ? 1.5 : 2.5),
          clip: true,
        }),
        Plot.text(KINDS, {
          fy: (kind) => kind,
          text: (kind) => `${kind}: ${kit.short(held[kind])} % of ${sets} hold the truth`,
          frameAnchor: "top-left",
          dy: -15,
          fill: figure.colour.ink,
        }),
      ],
    };
  });
}

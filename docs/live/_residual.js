// A noise that depends on the residual r = y - f alone: its density, its -log, and the tangent at one residual.
import * as kit from "./kit.js";

/**
 * law(r) gives { loss, nll, gradient, curvature } at the present controls; rivals() gives [{ name, nll, place, dy }] to compare with.
 * Call it after the sliders are made. `residual` is the slider of the marked residual, `range` how far the axes go.
 */
export function residualFigure(figure, { residual, range, law, rivals, lossLabel, more = () => {} }) {
  const grid = kit.linspace(-range, range, 401);
  const { ink, accent, pale, third } = figure.colour;

  const loss = figure.readout({ name: "loss", label: lossLabel });
  const nll = figure.readout({ name: "nll", label: "−log p, in nats" });
  const gradient = figure.readout({ name: "gradient", label: "gradient in the prediction" });
  const curvature = figure.readout({ name: "curvature", label: "curvature in the prediction" });

  const lines = (value) => [
    ...rivals().map((rival) => kit.Plot.line(grid, { x: (r) => r, y: (r) => value(rival.nll(r)), stroke: pale, strokeDasharray: "5 4" })),
    kit.Plot.line(grid, { x: (r) => r, y: (r) => value(law(r).nll), stroke: accent, strokeWidth: 2.5 }),
  ];
  // Names stand where there is room: inside the arms of a parabola at the top, or under the tip of a wedge.
  const name = (rival, top) => {
    const under = rival.place === "under";
    let at = 0;
    while (!under && at > -range && rival.nll(at) < top) at -= 0.02 * range;
    const options = under ? { textAnchor: "middle", dy: 12 } : { textAnchor: "start", dx: 12, dy: rival.dy ?? 8 };
    return kit.Plot.text([rival.name], { x: [at], y: [under ? rival.nll(0) : Math.min(top, rival.nll(at))], fill: ink, ...options });
  };
  const axis = { label: "residual y − f →", domain: [-range, range] };

  figure.plot(() => ({
    x: axis,
    y: { label: "↑ density p", domain: [0, 1.05 * Math.max(law(0).density, ...rivals().map((rival) => Math.exp(-rival.nll(0))))] },
    marks: [
      kit.Plot.ruleY([0], { stroke: pale }),
      ...lines((value) => Math.exp(-value)),
      kit.Plot.ruleX([residual.value], { stroke: third, y1: 0, y2: law(residual.value).density }),
      kit.Plot.dot([residual.value], { x: (r) => r, y: (r) => law(r).density, fill: third, r: 5 }),
    ],
  }));

  figure.plot(() => {
    const r = residual.value;
    const here = law(r);
    const lowest = Math.min(law(0).nll, ...rivals().map((rival) => rival.nll(0)));
    const domain = [Math.min(0, lowest - 1), Math.max(lowest + 6, here.nll * 1.1)];
    const reach = 0.22 * range;
    const tangent = [r - reach, r + reach].map((x) => [x, here.nll - here.gradient * (x - r)]);
    return {
      x: axis,
      y: { label: "↑ −log p (nats)", domain },
      clip: true,
      marks: [
        ...lines((value) => value),
        kit.Plot.line(tangent, { stroke: third, strokeWidth: 2, clip: true }),
        kit.Plot.dot([r], { x: (x) => x, y: here.nll, fill: third, r: 5 }),
        ...rivals().map((rival) => name(rival, domain[1])),
      ],
    };
  });

  figure.onChange(() => {
    const here = law(residual.value);
    loss.set(here.loss);
    nll.set(here.nll);
    gradient.set(here.gradient);
    curvature.set(here.curvature);
    more();
  });
}

export const gaussianNll = (r, scale) => 0.5 * Math.log(2 * Math.PI) + Math.log(scale) + 0.5 * (r / scale) ** 2;

export const laplaceNll = (r, scale) => Math.log(2 * scale) + Math.abs(r) / scale;

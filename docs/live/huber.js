import * as kit from "./kit.js";
import { gaussianNll, laplaceNll, residualFigure } from "./_residual.js";

export default function (figure, data) {
  const residual = figure.slider({ name: "residual", label: "residual r = y − f", min: -6, max: 6, step: 0.1, value: data.residual });
  const delta = figure.slider({ name: "delta", label: "threshold δ, in scales", min: 0.2, max: 4, step: 0.05, value: data.delta });
  const scale = figure.slider({ name: "scale", label: "scale σ", min: 0.3, max: 3, step: 0.1, value: data.scale });

  // What exp(-rho) integrates to: the Gaussian centre and two exponential tails.
  const total = (d) => Math.sqrt(2 * Math.PI) * (2 * kit.normalCdf(d) - 1) + (2 / d) * Math.exp(-0.5 * d * d);

  residualFigure(figure, {
    residual,
    range: 6,
    lossLabel: "Huber’s loss, in units of y²",
    rivals: () => [
      { name: "Gaussian", nll: (r) => gaussianNll(r, scale.value) },
      { name: "Laplace", nll: (r) => laplaceNll(r, scale.value / delta.value), place: "under" },
    ],
    law: (r) => {
      const s = scale.value;
      const z = r / s;
      const bounded = Math.min(Math.abs(z), delta.value);
      const rho = bounded * (Math.abs(z) - 0.5 * bounded);
      const nll = rho + Math.log(s) + Math.log(total(delta.value));
      return {
        nll,
        density: Math.exp(-nll),
        loss: s * s * rho,
        gradient: (-Math.sign(z) * bounded) / s,
        curvature: Math.abs(z) <= delta.value ? 1 / (s * s) : 0,
      };
    },
    more: () => contamination.set(1 - Math.sqrt(2 * Math.PI) / total(delta.value)),
  });
  const contamination = figure.readout({ name: "contamination", label: "contamination ε" });
}

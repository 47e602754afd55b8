// Student's t noise between the Gaussian and the Cauchy law, and the weight that it gives a row.
import * as kit from "./kit.js";
import { gaussianNll, residualFigure } from "./_residual.js";

export default function (figure, data) {
  const residual = figure.slider({ name: "residual", label: "residual r = y − f", min: -8, max: 8, step: 0.1, value: data.residual });
  const df = figure.slider({ name: "df", label: "degrees of freedom ν", min: 1, max: 20, step: 0.5, value: data.df });
  const scale = figure.slider({ name: "scale", label: "scale σ", min: 0.3, max: 3, step: 0.1, value: data.scale });

  const rho = (z, nu) => 0.5 * (nu + 1) * Math.log1p((z * z) / nu);
  const logBeta = (a, b) => kit.lgamma(a) + kit.lgamma(b) - kit.lgamma(a + b);
  const studentNll = (r, s, nu) => rho(r / s, nu) + Math.log(s) + 0.5 * Math.log(nu) + logBeta(0.5, 0.5 * nu);

  residualFigure(figure, {
    residual,
    range: 8,
    lossLabel: "loss ρ(z), in nats",
    rivals: () => [
      { name: "Gaussian", nll: (r) => gaussianNll(r, scale.value) },
      { name: "Cauchy", nll: (r) => studentNll(r, scale.value, 1), dy: 30 }, // under its line, which is flat
    ],
    law: (r) => {
      const [s, nu] = [scale.value, df.value];
      const z = r / s;
      const nll = studentNll(r, s, nu);
      return {
        nll,
        density: Math.exp(-nll),
        loss: rho(z, nu),
        gradient: (-(nu + 1) * z) / (nu + z * z) / s,
        curvature: ((nu + 1) * (nu - z * z)) / (nu + z * z) ** 2 / (s * s),
      };
    },
    more: () => {
      const z = residual.value / scale.value;
      weight.set((df.value + 1) / (df.value + z * z));
      gaussian.set(0.5 * z * z);
    },
  });
  const weight = figure.readout({ name: "weight", label: "weight of the row" });
  const gaussian = figure.readout({ name: "gaussian", label: "the Gaussian’s loss, in nats" });
}

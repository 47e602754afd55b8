import { gaussianNll, laplaceNll, residualFigure } from "./_residual.js";

export default function (figure, data) {
  const residual = figure.slider({ name: "residual", label: "residual r = y − f", min: -6, max: 6, step: 0.1, value: data.residual });
  const scale = figure.slider({ name: "scale", label: "scale b", min: 0.3, max: 2, step: 0.1, value: data.scale });
  const gaussian = (r) => gaussianNll(r, Math.SQRT2 * scale.value); // the same variance, 2 b²
  residualFigure(figure, {
    residual,
    range: 6,
    lossLabel: "absolute error |r|",
    rivals: () => [{ name: "Gaussian", nll: gaussian }],
    law: (r) => {
      const b = scale.value;
      const nll = laplaceNll(r, b);
      return { nll, density: Math.exp(-nll), loss: Math.abs(r), gradient: -Math.sign(r) / b, curvature: 0 };
    },
    more: () => cost.set(gaussian(residual.value)),
  });
  const cost = figure.readout({ name: "gaussian", label: "the Gaussian’s −log p, in nats" });
}

// The pinball loss: of two arms, the steeper one is where errors cost more.
import { gaussianNll, residualFigure } from "./_residual.js";

export default function (figure, data) {
  const residual = figure.slider({ name: "residual", label: "residual r = y − f", min: -6, max: 6, step: 0.1, value: data.residual });
  const quantile = figure.slider({ name: "quantile", label: "quantile τ", min: 0.05, max: 0.95, step: 0.05, value: data.quantile });
  const scale = figure.slider({ name: "scale", label: "scale s", min: 0.1, max: 1, step: 0.1, value: data.scale });
  const spread = () => scale.value * Math.hypot(1 / quantile.value, 1 / (1 - quantile.value));
  const gaussian = (r) => gaussianNll(r, spread());
  residualFigure(figure, {
    residual,
    range: 6,
    lossLabel: "pinball loss",
    rivals: () => [{ name: "Gaussian", nll: gaussian }],
    law: (r) => {
      const [tau, s] = [quantile.value, scale.value];
      const slope = r > 0 ? tau : r < 0 ? tau - 1 : tau - 0.5;
      const loss = slope * r;
      const nll = loss / s + Math.log(s) - Math.log(tau) - Math.log1p(-tau);
      return { nll, density: Math.exp(-nll), loss, gradient: -slope / s, curvature: 0 };
    },
    more: () => {
      const [tau, z] = [quantile.value, residual.value / scale.value];
      below.set(z < 0 ? tau * Math.exp((1 - tau) * z) : 1 - (1 - tau) * Math.exp(-tau * z));
      cost.set(gaussian(residual.value));
    },
  });
  const below = figure.readout({ name: "below", label: "probability of a smaller residual" });
  const cost = figure.readout({ name: "gaussian", label: "the Gaussian’s −log p, in nats" });
}

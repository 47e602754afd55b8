import { gaussianNll, residualFigure } from "./_residual.js";

export default function (figure, data) {
  const residual = figure.slider({ name: "residual", label: "residual r = y − f", min: -4, max: 4, step: 0.1, value: data.residual });
  const scale = figure.slider({ name: "scale", label: "scale σ", min: 0.3, max: 3, step: 0.1, value: data.scale });
  residualFigure(figure, {
    residual,
    range: 4,
    lossLabel: "squared error r²",
    rivals: () => [],
    law: (r) => {
      const s2 = scale.value ** 2;
      const nll = gaussianNll(r, scale.value);
      return { nll, density: Math.exp(-nll), loss: r * r, gradient: -r / s2, curvature: 1 / s2 };
    },
  });
}

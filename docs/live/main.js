// Finds the figures of a page and gives each its data.
import { Figure } from "./kit.js";

export function mountAll(figures) {
  for (const element of document.querySelectorAll("figure[data-live]")) {
    const draw = figures[element.dataset.live];
    if (!draw) throw new Error(`there is no live figure called ${element.dataset.live}`);
    const data = JSON.parse(element.querySelector('script[type="application/json"]').textContent);
    const figure = new Figure(element);
    draw(figure, data);
    figure.start();
  }
}

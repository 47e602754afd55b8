// What a live figure is made of: sliders, choices, readouts and plots. A figure is
//
//   export default function (figure, data) {
//     const scale = figure.slider({ name: "scale", label: "scale σ", min: 0.2, max: 3, step: 0.1, value: 1 });
//     const nll = figure.readout({ name: "nll", label: "−log p (nats)" });
//     figure.plot(() => ({ marks: [...] }));
//     figure.onChange(() => nll.set(...));
//   }
//
// in live/NAME.js, with data() and expected() beside it in live/NAME.py.
import * as Plot from "@observablehq/plot";
import { short } from "./maths.js";

export { Plot };
export { lgamma, linspace, logsumexp, normalCdf, short } from "./maths.js";

/** Colours that follow the light and dark theme; they are set in live.css. */
export const colour = Object.freeze({
  ink: "var(--live-ink)",
  accent: "var(--live-accent)",
  pale: "var(--live-pale)",
  soft: "var(--live-soft)",
  third: "var(--live-third)",
});

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export class Figure {
  colour = colour;
  #element;
  #prefix;
  #controls = make("div", { class: "live-controls" });
  #readouts = make("div", { class: "live-readouts" });
  #plots = make("div", { class: "live-plots" });
  #drawings = [];
  #listeners = [];

  constructor(element) {
    this.#element = element;
    this.#prefix = `live-${element.dataset.live}`;
    element.prepend(this.#controls, this.#plots, this.#readouts);
  }

  /** A labelled range input. The object's value is a number. */
  slider({ name, label, min, max, step, value, format = short }) {
    const id = `${this.#prefix}-${name}`;
    const shown = make("output", { class: "live-value", for: id, "aria-live": "off" });
    const input = make("input", { type: "range", id, "data-control": name, min, max, step });
    input.value = value;
    const show = () => {
      const text = format(Number(input.value));
      shown.textContent = text;
      input.setAttribute("aria-valuetext", text);
    };
    input.addEventListener("input", () => {
      show();
      this.refresh();
    });
    show();
    this.#controls.append(make("div", { class: "live-control" }, make("label", { for: id }, label), shown, input));
    return {
      get value() {
        return Number(input.value);
      },
    };
  }

  /** A group of radio buttons. The object's value is that of the chosen option. */
  choice({ name, label, options, value }) {
    const group = make("fieldset", { class: "live-choice", "data-control": name });
    group.append(make("legend", {}, label));
    let current = value;
    group.dataset.value = JSON.stringify(current);
    for (const [option, text] of options) {
      const input = make("input", { type: "radio", name: `${this.#prefix}-${name}` });
      input.checked = option === value;
      input.addEventListener("change", () => {
        current = option;
        group.dataset.value = JSON.stringify(current);
        this.refresh();
      });
      group.append(make("label", {}, input, make("span", {}, text)));
    }
    this.#controls.append(group);
    return {
      get value() {
        return current;
      },
    };
  }

  /** A named number or text. Numbers are shown with 4 significant digits and kept whole in data-value. */
  readout({ name, label }) {
    const id = `${this.#prefix}-shown-${name}`;
    const output = make("output", { id, "data-readout": name });
    this.#readouts.append(make("div", {}, make("label", { for: id }, label), output));
    return {
      set(value) {
        if (typeof value === "number") {
          output.dataset.value = String(value);
          output.textContent = short(value);
        } else {
          delete output.dataset.value;
          output.textContent = value;
        }
      },
    };
  }

  /** A plot that is drawn anew at every change and at every new width. */
  plot(options) {
    const holder = make("div", { class: "live-plot" });
    this.#plots.append(holder);
    this.#drawings.push({ holder, options, width: 0 });
  }

  /** Called at the start and after every change of a control. */
  onChange(listener) {
    this.#listeners.push(listener);
  }

  refresh() {
    for (const listener of this.#listeners) listener();
    for (const drawing of this.#drawings) this.#draw(drawing);
  }

  #draw(drawing) {
    const width = Math.max(220, Math.floor(drawing.holder.clientWidth));
    drawing.width = width;
    const options = drawing.options();
    const style = { background: "none", color: "var(--live-ink)", fontSize: "13px", overflow: "visible", ...options.style };
    const picture = Plot.plot({
      width,
      height: Math.round(Math.min(320, Math.max(220, 0.62 * width))),
      marginLeft: 48,
      marginBottom: 42,
      marginTop: options.fx ? 48 : 28,
      ...options,
      style,
    });
    for (const svg of picture.matches("svg") ? [picture] : picture.querySelectorAll(":scope > svg")) {
      svg.setAttribute("role", "img");
      svg.setAttribute("aria-labelledby", `${this.#prefix}-caption`);
      for (const part of svg.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label"); // an image has no parts
    }
    drawing.holder.replaceChildren(picture);
  }

  /** Draw once, and again whenever the width changes. */
  start() {
    if (!this.#readouts.children.length) this.#readouts.remove();
    this.refresh();
    const observer = new ResizeObserver(() => {
      for (const drawing of this.#drawings) {
        if (Math.max(220, Math.floor(drawing.holder.clientWidth)) !== drawing.width) this.#draw(drawing);
      }
    });
    for (const drawing of this.#drawings) observer.observe(drawing.holder);
    this.#element.classList.add("live-ready");
  }
}

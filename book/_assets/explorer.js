// What the explorers of the book share: random numbers, parts of pictures, and controls that show their
// values. Loaded before them.
"use strict";

(function (root) {
  const SVG = "http://www.w3.org/2000/svg";

  // Random numbers in [0, 1) that a seed repeats (mulberry32).
  function random(seed) {
    let state = seed >>> 0;
    return () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = Math.imul(state ^ (state >>> 15), state | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }

  function element(name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) {
      made.setAttribute(key, value);
    }
    if (text !== undefined) {
      made.textContent = text;
    }
    return made;
  }

  // A line through points [[x, y], ...].
  function line(points, look) {
    const steps = points.map(([x, y], i) => `${i === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`);
    return element("path", { d: steps.join(""), fill: "none", class: look });
  }

  // The frame of a plot with numbers along both axes; x and y turn numbers into places.
  function axes({ x, y, xTicks, yTicks, xLabel, yLabel, digits = 2 }) {
    const [left, right] = [x(xTicks[0]), x(xTicks[xTicks.length - 1])];
    const [bottom, top] = [y(yTicks[0]), y(yTicks[yTicks.length - 1])];
    const parts = [];
    for (const tick of xTicks) {
      parts.push(element("line", { x1: x(tick), x2: x(tick), y1: bottom, y2: top, class: "explorer-grid" }));
      parts.push(element("text", { x: x(tick), y: bottom + 16, "text-anchor": "middle" }, String(tick)));
    }
    for (const tick of yTicks) {
      parts.push(element("line", { x1: left, x2: right, y1: y(tick), y2: y(tick), class: "explorer-grid" }));
      parts.push(element("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, String(Number(tick.toFixed(digits)))));
    }
    parts.push(element("text", { x: (left + right) / 2, y: bottom + 33, "text-anchor": "middle" }, xLabel));
    parts.push(element("text", { x: left - 34, y: top - 9 }, yLabel));
    return parts;
  }

  // Write cells of a table: {"name of a row": [text, ...]} for rows marked data-row="name of a row".
  function fill(panel, rows) {
    for (const row of panel.querySelectorAll("[data-row]")) {
      row.querySelectorAll("td").forEach((cell, i) => {
        cell.textContent = rows[row.dataset.row][i];
      });
    }
  }

  // Call update with the inputs by name, now and on every change; buttons with data-set="name=value ..." set some.
  function start(panel, update) {
    const inputs = {};
    for (const input of panel.querySelectorAll("[name]")) {
      if (input.type !== "radio" || input.checked) {
        inputs[input.name] = input;
      }
    }
    const change = (event) => {
      if (event && event.target.type === "radio") {
        inputs[event.target.name] = event.target;
      }
      update(inputs);
    };
    panel.addEventListener("input", change);
    for (const button of panel.querySelectorAll("button[data-set]")) {
      button.addEventListener("click", () => {
        for (const [name, value] of button.dataset.set.split(" ").map((one) => one.split("="))) {
          const choice = panel.querySelector(`[type="radio"][name="${name}"][value="${value}"]`);
          if (choice) {
            choice.checked = true;
            inputs[name] = choice;
          } else {
            inputs[name].value = value;
          }
        }
        update(inputs);
      });
    }
    update(inputs);
    panel.hidden = false;
  }

  function show(panel, name, text) {
    panel.querySelector(`output[for="${name}"]`).textContent = text;
    // A slider would say its position, which for a logarithmic scale is not its value.
    panel.querySelector(`#${name}`).setAttribute("aria-valuetext", text);
  }

  root.explorer = { axes, element, fill, line, random, show, start };
})(globalThis);

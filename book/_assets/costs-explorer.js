// The explorer of the chapter "What calibration means": a threshold and two costs, for real stroke scores, raw and
// calibrated. Loaded by that page only, after its data (stroke-counts.js).
"use strict";

(function (root) {
  const SCALE = 1000;

  // Cost per person of examining those whose score exceeds the threshold: an examination costs 1, a stroke that is not
  // found costs `missed`.
  function cost(counts, forecast, threshold, missed) {
    const { people, strokes } = counts[forecast];
    const place = Math.round(SCALE * threshold);
    return { examined: people[place], found: strokes[place], cost: perPerson(counts, people[place], strokes[place], missed) };
  }

  function perPerson(counts, examined, found, missed) {
    return (examined + missed * (counts.strokes - found)) / counts.people;
  }

  // What the policies cost that need no threshold.
  function constant(counts, missed) {
    return {
      nobody: { examined: 0, found: 0, cost: perPerson(counts, 0, 0, missed) },
      everybody: { examined: counts.people, found: counts.strokes, cost: perPerson(counts, counts.people, counts.strokes, missed) },
    };
  }

  // The threshold of lowest cost on these very people, in hindsight.
  function hindsight(counts, forecast, missed) {
    let best = 0;
    for (let place = 1; place <= SCALE; place += 1) {
      if (cost(counts, forecast, place / SCALE, missed).cost < cost(counts, forecast, best / SCALE, missed).cost) {
        best = place;
      }
    }
    return best / SCALE;
  }

  root.costsExplorer = { constant, cost, hindsight };
  if (typeof document === "undefined") {
    return;
  }

  const { axes, element, fill, line, show, start } = root.explorer;
  const panel = document.getElementById("costs-explorer");
  const counts = root.strokeCounts;
  // The threshold's slider moves in equal steps of the logarithm, in which thresholds of rare events lie apart.
  const STEPS = Array.from({ length: 121 }, (_, i) => 10 ** (-3 + i / 40)).map((t) => Math.round(SCALE * t) / SCALE);

  function draw(missed, threshold, words) {
    const x = (t) => 46 + 100 * (Math.log10(t) + 3);
    const curves = ["raw", "calibrated"].map((name) => STEPS.map((t) => [t, cost(counts, name, t, missed).cost]));
    const highest = 1.1 * Math.max(...curves.flat().map(([, value]) => value));
    const y = (value) => 226 - (200 * value) / highest;
    const step = 10 ** Math.floor(Math.log10(highest));
    const unit = highest / step > 5 ? 2 * step : highest / step > 2 ? step : step / 2;
    const yTicks = Array.from({ length: Math.floor(highest / unit) + 1 }, (_, i) => i * unit);
    const parts = axes({ x, y, xTicks: [0.001, 0.01, 0.1, 1], yTicks, xLabel: "threshold", yLabel: "cost per person" });
    parts.push(line([[x(threshold), y(0)], [x(threshold), 26]], "explorer-diagonal"));
    curves.forEach((curve, i) => {
      parts.push(line(curve.map(([t, value]) => [x(t), y(value)]), i === 0 ? "explorer-line-2" : "explorer-line-1"));
      const here = cost(counts, i === 0 ? "raw" : "calibrated", threshold, missed).cost;
      const look = { class: `explorer-mark-${i === 0 ? 2 : 1}` };
      parts.push(
        i === 0
          ? element("rect", { x: x(threshold) - 5, y: y(here) - 5, width: 10, height: 10, ...look })
          : element("circle", { cx: x(threshold), cy: y(here), r: 5.5, ...look })
      );
    });
    const svg = panel.querySelector("svg.explorer-plot");
    svg.replaceChildren(...parts);
    svg.setAttribute("aria-label", words);
  }

  function update(inputs) {
    const missed = Number(inputs["costs-missed"].value);
    const threshold = STEPS[Number(inputs["costs-threshold"].value)];
    show(panel, "costs-missed", String(missed));
    show(panel, "costs-threshold", threshold.toFixed(3));
    const right = Math.round(SCALE / missed) / SCALE;
    const found = {
      raw: cost(counts, "raw", threshold, missed),
      calibrated: cost(counts, "calibrated", threshold, missed),
      ...constant(counts, missed),
    };
    fill(
      panel,
      Object.fromEntries(
        Object.entries(found).map(([row, one]) => [row, [String(one.examined), String(one.found), one.cost.toFixed(3)]])
      )
    );
    const at = (name, t) => cost(counts, name, t, missed).cost.toFixed(3);
    const verdict = panel.querySelector(".explorer-verdict");
    verdict.dataset.right = String(threshold === right);
    verdict.textContent =
      `The costs ask for the threshold 1/${missed} = ${right.toFixed(3)}: there calibrated scores cost ` +
      `${at("calibrated", right)} and raw ones ${at("raw", right)}. In hindsight the best thresholds were ` +
      `${hindsight(counts, "calibrated", missed).toFixed(3)} and ${hindsight(counts, "raw", missed).toFixed(3)}.`;
    draw(missed, threshold, `Cost per person against the threshold. ${verdict.textContent}`);
    panel.right = right;
  }

  panel.querySelector("#costs-right").addEventListener("click", () => {
    const slider = panel.querySelector("#costs-threshold");
    const nearest = STEPS.reduce((best, t, i) => (Math.abs(t - panel.right) < Math.abs(STEPS[best] - panel.right) ? i : best), 0);
    slider.value = nearest;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  });
  start(panel, update);
})(globalThis);

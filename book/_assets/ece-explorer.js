// The explorer of the chapter "When ECE mis-ranks": two regions of equal mass, a forecast for each, and what three
// measures say of the change from the overall frequency to these forecasts. Loaded by that page only.
"use strict";

(function (root) {
  // A change smaller than this is rounding.
  const TOLERANCE = 1e-9;

  function crossEntropy(p, q) {
    return -p * Math.log(q) - (1 - p) * Math.log1p(-q);
  }

  // The bin of a forecast by the rule of the package: bins are (a, b], and the first also holds 0.
  function binOf(q, nBins) {
    let bin = 0;
    while (q > (bin + 1) / nBins) {
      bin += 1;
    }
    return bin;
  }

  // The three measures, exact, of forecasts for regions of equal mass whose frequencies are the truths.
  function judge(truths, forecasts, nBins) {
    const weight = 1 / truths.length;
    const gaps = new Array(nBins).fill(0);
    let nll = 0;
    let brier = 0;
    truths.forEach((p, region) => {
      const q = forecasts[region];
      nll += weight * crossEntropy(p, q);
      brier += weight * ((p - q) ** 2 + p * (1 - p));
      gaps[binOf(q, nBins)] += weight * (p - q);
    });
    return { nll, brier, ece: gaps.reduce((sum, gap) => sum + Math.abs(gap), 0) };
  }

  function direction(before, after) {
    return Math.abs(after - before) < TOLERANCE ? 0 : Math.sign(after - before);
  }

  // Both forecasts, and whether NLL and ECE agree: "reversal", "agree" or "undecided" (one of them does not change).
  function compare({ pA, pB, qA, qB, nBins }) {
    const prevalence = (pA + pB) / 2;
    const before = judge([pA, pB], [prevalence, prevalence], nBins);
    const after = judge([pA, pB], [qA, qB], nBins);
    const change = {};
    for (const measure of ["nll", "brier", "ece"]) {
      change[measure] = direction(before[measure], after[measure]);
    }
    const product = change.nll * change.ece;
    return { before, after, change, verdict: product < 0 ? "reversal" : product > 0 ? "agree" : "undecided" };
  }

  root.eceExplorer = { binOf, compare, judge };
  if (typeof document === "undefined") {
    return;
  }

  const NAMES = ["pA", "pB", "qA", "qB", "bins"];
  const MOVES = { "-1": "falls", 0: "stays", 1: "rises" };

  function verdictInWords({ change, verdict }) {
    const moves = `NLL ${MOVES[change.nll]}, Brier score ${MOVES[change.brier]}, ECE ${MOVES[change.ece]}.`;
    if (verdict === "reversal") {
      return `A reversal: ${change.nll < 0 ? "the better forecast has the larger ECE" : "the worse forecast has the smaller ECE"}. ${moves}`;
    }
    if (verdict === "agree") {
      return `No reversal: NLL and ECE agree that the forecast gets ${change.nll < 0 ? "better" : "worse"}. ${moves}`;
    }
    return `No reversal: one of the two does not move. ${moves}`;
  }

  // ---- The picture: one row for the truth, one for each forecast, over the bins of [0, 1] -------------------------------------

  function element(name, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) {
      made.setAttribute(key, value);
    }
    if (text !== undefined) {
      made.textContent = text;
    }
    return made;
  }

  function mark(region, x, y) {
    const shape =
      region === "A"
        ? element("circle", { cx: x, cy: y, r: 6, class: "ece-a" })
        : element("rect", { x: x - 5.5, y: y - 5.5, width: 11, height: 11, class: "ece-b" });
    const label = element("text", { x, y: y - 9, "text-anchor": "middle", class: "ece-small" }, region);
    return [shape, label];
  }

  function draw(svg, { pA, pB, qA, qB, nBins }) {
    const left = 62;
    const width = 326;
    const at = (value) => left + width * value;
    const prevalence = (pA + pB) / 2;
    const parts = [];
    for (let edge = 0; edge <= nBins; edge += 1) {
      parts.push(element("line", { x1: at(edge / nBins), x2: at(edge / nBins), y1: 8, y2: 126, class: "ece-edge" }));
    }
    for (const end of [0, 1]) {
      parts.push(element("text", { x: at(end), y: 143, "text-anchor": "middle" }, String(end)));
    }
    parts.push(element("text", { x: at(0.5), y: 143, "text-anchor": "middle" }, "probability, with the edges of the bins"));
    const rows = [["truth", pA, pB], ["before", prevalence, prevalence], ["after", qA, qB]];
    rows.forEach(([name, a, b], row) => {
      const y = 32 + 40 * row;
      parts.push(element("text", { x: 2, y: y + 4 }, name));
      if (name === "before") {
        parts.push(element("path", { d: `M${at(a)} ${y - 7}l7 7l-7 7l-7 -7z`, class: "ece-both" }));
        parts.push(element("text", { x: at(a), y: y - 9, "text-anchor": "middle", class: "ece-small" }, "A and B"));
      } else {
        parts.push(...mark("B", at(b), y), ...mark("A", at(a), y));
      }
    });
    svg.replaceChildren(...parts);
    svg.setAttribute(
      "aria-label",
      `Number line from 0 to 1 with ${nBins} bins. Truth: A at ${pA}, B at ${pB}. ` +
        `Before: both at ${prevalence.toFixed(3)}. After: A at ${qA}, B at ${qB}.`
    );
  }

  // ---- The panel ------------------------------------------------------------------------------------------------------------

  function start(panel) {
    const inputs = Object.fromEntries(NAMES.map((name) => [name, panel.querySelector(`#ece-${name}`)]));

    function update() {
      const values = { nBins: Number(inputs.bins.value) };
      for (const name of NAMES) {
        const digits = name === "bins" ? 0 : 2;
        panel.querySelector(`output[for="ece-${name}"]`).textContent = Number(inputs[name].value).toFixed(digits);
        values[name] = Number(inputs[name].value);
      }
      const found = compare(values);
      for (const row of panel.querySelectorAll("[data-measure]")) {
        const measure = row.dataset.measure;
        const change = found.change[measure] === 0 ? 0 : found.after[measure] - found.before[measure];
        const sign = change < 0 ? "\u2212" : change > 0 ? "+" : "";
        const cells = row.querySelectorAll("td");
        cells[0].textContent = found.before[measure].toFixed(4);
        cells[1].textContent = found.after[measure].toFixed(4);
        cells[2].textContent = sign + Math.abs(change).toFixed(4);
      }
      const verdict = panel.querySelector(".ece-verdict");
      verdict.dataset.verdict = found.verdict;
      verdict.textContent = verdictInWords(found);
      draw(panel.querySelector("svg"), values);
    }

    for (const input of Object.values(inputs)) {
      input.addEventListener("input", update);
    }
    for (const button of panel.querySelectorAll("button[data-set]")) {
      button.addEventListener("click", () => {
        button.dataset.set.split(" ").forEach((value, position) => {
          inputs[NAMES[position]].value = value;
        });
        update();
      });
    }
    update();
    panel.hidden = false;
  }

  start(document.getElementById("ece-explorer"));
})(globalThis);

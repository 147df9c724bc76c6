// The explorer of bins in the chapter "Measuring it": what their width and number do to an ECE whose true value is known.
// Sums over equally likely scores stand for integrals. Loaded by that page only.
"use strict";

(function (root) {
  const N_SCORES = 2520; // so that many numbers of bins divide it
  const MOST_BINS = 60;

  const sigmoid = (z) => 1 / (1 + Math.exp(-z));
  const logit = (p) => Math.log(p) - Math.log1p(-p);

  // Scores by the share u of people that lie below.
  const SCORES = {
    uniform: (u) => u,
    rare: (u) => 0.4 * u ** 3,
    confident: (u) => Math.sin((Math.PI * u) / 2) ** 2,
  };

  // What happens at a score.
  const TRUTHS = {
    calibrated: (s) => s,
    wave: (s) => s + 0.1 * Math.sin(10 * Math.PI * s),
    power: (s) => s ** 1.2,
    extreme: (s) => sigmoid(0.6 * logit(s)),
  };

  function population(scores) {
    return Array.from({ length: N_SCORES }, (_, i) => SCORES[scores]((i + 0.5) / N_SCORES));
  }

  // The inner edges of bins, by the rule of the package; equal mass needs sorted scores.
  function innerEdges(sorted, nBins, kind) {
    const edges = Array.from({ length: nBins - 1 }, (_, j) => j + 1);
    return kind === "width"
      ? edges.map((j) => j / nBins)
      : edges.map((j) => sorted[Math.ceil((j * sorted.length) / nBins) - 1]);
  }

  // Bins are (a, b], and the first also holds 0.
  function binOf(s, edges) {
    let [low, high] = [0, edges.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (s > edges[middle]) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  // An upper bound of the error of the error function by Abramowitz and Stegun, 7.1.26, is 1.5e-7.
  function errorFunction(x) {
    const t = 1 / (1 + 0.3275911 * Math.abs(x));
    const sum = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
    return Math.sign(x) * (1 - sum * Math.exp(-x * x));
  }

  // The mean of the absolute value of a normal variable.
  function meanAbsolute(mean, deviation) {
    if (deviation === 0) {
      return Math.abs(mean);
    }
    const z = mean / deviation;
    return deviation * Math.sqrt(2 / Math.PI) * Math.exp((-z * z) / 2) + mean * errorFunction(z / Math.SQRT2);
  }

  // Three values of the error (L1): the true one, that of endlessly many rows in bins, and the mean ECE of n rows.
  function errors({ scores, truth, kind, nBins, n }) {
    const people = population(scores);
    const edges = innerEdges(people, nBins, kind);
    const bins = Array.from({ length: nBins }, () => ({ gap: 0, square: 0, most: 0 }));
    let trueError = 0;
    for (const s of people) {
      const g = TRUTHS[truth](s);
      const bin = bins[binOf(s, edges)];
      bin.gap += (g - s) / N_SCORES;
      bin.square += (g * (1 - g) + (g - s) ** 2) / N_SCORES;
      bin.most += (g * (1 - s) + (1 - g) * s) / N_SCORES;
      trueError += Math.abs(g - s) / N_SCORES;
    }
    // What a bin adds is |D|, where D is a mean of n terms y - s (0 outside of the bin), nearly normal where the bin
    // holds several rows, and never more than the mean of |y - s|.
    const ofRows = ({ gap, square, most }) => Math.min(most, meanAbsolute(gap, Math.sqrt((square - gap * gap) / n)));
    return {
      truth: trueError,
      endless: bins.reduce((sum, bin) => sum + Math.abs(bin.gap), 0),
      rows: bins.reduce((sum, bin) => sum + ofRows(bin), 0),
    };
  }

  // One sample: scores in their order, and what happened.
  function draw({ scores, truth, n, seed }) {
    const random = root.explorer.random(seed);
    const people = Array.from({ length: n }, () => SCORES[scores](random())).sort((a, b) => a - b);
    return { s: people, y: people.map((s) => (random() < TRUTHS[truth](s) ? 1 : 0)) };
  }

  // The ECE of a sample (L1), as the package has it.
  function ece({ s, y }, nBins, kind) {
    const edges = innerEdges(s, nBins, kind);
    const gaps = new Array(nBins).fill(0);
    s.forEach((one, i) => {
      gaps[binOf(one, edges)] += (y[i] - one) / s.length;
    });
    return gaps.reduce((sum, gap) => sum + Math.abs(gap), 0);
  }

  root.binsExplorer = { draw, ece, errors, meanAbsolute, population };
  if (typeof document === "undefined") {
    return;
  }

  const { axes, element, fill, line, show, start } = root.explorer;
  const panel = document.getElementById("bins-explorer");
  // The slider of rows moves in equal steps of the logarithm.
  const ROWS = Array.from({ length: 51 }, (_, i) => Math.round(10 * 10 ** (i / 20)) * 10);
  let seed = 1;

  function picture(settings, here, words) {
    const counts = Array.from({ length: MOST_BINS }, (_, i) => i + 1);
    const found = counts.map((nBins) => errors({ ...settings, nBins }));
    const highest = 1.08 * Math.max(here.sample, ...found.flatMap((one) => Object.values(one)));
    const step = [0.01, 0.02, 0.05, 0.1, 0.2].find((one) => highest / one <= 6) || 0.5;
    const x = (nBins) => 50 + (310 * nBins) / MOST_BINS;
    const y = (value) => 236 - (210 * value) / highest;
    const yTicks = Array.from({ length: Math.floor(highest / step) + 1 }, (_, i) => i * step);
    const parts = axes({ x, y, xTicks: [0, 10, 20, 30, 40, 50, 60], yTicks, xLabel: "number of bins", yLabel: "error (L1)" });
    parts.push(line([[x(0), y(here.truth)], [x(MOST_BINS), y(here.truth)]], "explorer-line-3"));
    parts.push(line(counts.map((nBins, i) => [x(nBins), y(found[i].endless)]), "explorer-line-2"));
    parts.push(line(counts.map((nBins, i) => [x(nBins), y(found[i].rows)]), "explorer-line-1"));
    const at = x(settings.nBins);
    parts.push(element("rect", { x: at - 5, y: y(here.endless) - 5, width: 10, height: 10, class: "explorer-mark-2" }));
    parts.push(element("circle", { cx: at, cy: y(here.rows), r: 5.5, class: "explorer-mark-1" }));
    const d = `M${at} ${y(here.sample) - 7}l7 7l-7 7l-7 -7z`;
    parts.push(element("path", { d, class: "explorer-mark-sample" }));
    const svg = panel.querySelector("svg.explorer-plot");
    svg.replaceChildren(...parts);
    svg.setAttribute("aria-label", words);
  }

  function update(inputs) {
    const settings = {
      scores: inputs["bins-scores"].value,
      truth: inputs["bins-truth"].value,
      kind: inputs["bins-kind"].value,
      nBins: Number(inputs["bins-number"].value),
      n: ROWS[Number(inputs["bins-rows"].value)],
    };
    show(panel, "bins-number", String(settings.nBins));
    show(panel, "bins-rows", settings.n.toLocaleString("en"));
    const here = errors(settings);
    here.sample = ece(draw({ ...settings, seed }), settings.nBins, settings.kind);
    const text = (value) => value.toFixed(4);
    const off = (value) => (value < 0 ? "\u2212" : "+") + Math.abs(value).toFixed(4);
    fill(panel, {
      truth: [text(here.truth), ""],
      endless: [text(here.endless), off(here.endless - here.truth)],
      rows: [text(here.rows), off(here.rows - here.truth)],
      sample: [text(here.sample), off(here.sample - here.truth)],
    });
    const hidden = here.truth - here.endless;
    const added = here.rows - here.endless;
    const verdict = panel.querySelector(".explorer-verdict");
    verdict.dataset.verdict = added > hidden ? "too high" : "too low";
    verdict.textContent =
      `Averaging within bins hides ${text(Math.max(0, hidden))} of the true error, and chance adds ${text(added)}: ` +
      `on average the ECE is ${verdict.dataset.verdict}. One sample: ${text(here.sample)}.`;
    picture(settings, here, `Error against the number of bins. ${verdict.textContent}`);
  }

  panel.querySelector("#bins-again").addEventListener("click", () => {
    seed += 1;
    panel.querySelector("#bins-number").dispatchEvent(new Event("input", { bubbles: true }));
  });
  start(panel, update);
})(globalThis);

// The explorer of the chapter "Global calibrators": a map of the score, on a chosen distribution of scores, beside a
// truth that is known. Sums over a fine grid of scores stand for integrals. Loaded by that page only.
"use strict";

(function (root) {
  const N_SCORES = 400;
  // Steps of Newton's method at most; the problem is convex.
  const STEPS = 100;

  const sigmoid = (z) => 1 / (1 + Math.exp(-z));
  const logit = (p) => Math.log(p) - Math.log1p(-p);

  // The features of a score, in the order of the parameters.
  const FEATURES = {
    temperature: (p) => [logit(p)],
    platt: (p) => [logit(p), 1],
    beta: (p) => [Math.log(p), -Math.log1p(-p), 1],
  };
  // The least values of the parameters, as in the package: maps must not fall, but for Platt scaling.
  const LEAST = { temperature: [0.01], platt: [-Infinity, -Infinity], beta: [0, 0, -Infinity] };

  // The truths of the chapter's four simulated data sets.
  const TRUTHS = {
    temperature: (p) => sigmoid(logit(p) / 2),
    platt: (p) => sigmoid(0.7 * logit(p) - 1),
    beta: (p) => sigmoid(0.2 * Math.log(p) - 1.8 * Math.log1p(-p) - 1),
    wave: (p) => p + 0.07 * Math.sin(4 * Math.PI * p),
  };

  // Scores in the middle of equal steps, weighted by a Beta density.
  function distribution(alpha, beta) {
    const scores = Array.from({ length: N_SCORES }, (_, i) => (i + 0.5) / N_SCORES);
    const density = scores.map((p) => p ** (alpha - 1) * (1 - p) ** (beta - 1));
    const total = density.reduce((a, b) => a + b);
    return { scores, weights: density.map((one) => one / total) };
  }

  function apply(family, theta, p) {
    return sigmoid(FEATURES[family](p).reduce((z, x, j) => z + x * theta[j], 0));
  }

  // Expected scores of forecasts for these truths, their mean, and their mean distance from the truth.
  function judge(weights, truths, forecasts) {
    const found = { nll: 0, brier: 0, mean: 0, distance: 0 };
    weights.forEach((w, i) => {
      const [t, q] = [truths[i], forecasts[i]];
      found.nll -= w * (t * Math.log(q) + (1 - t) * Math.log1p(-q));
      found.brier += w * ((t - q) ** 2 + t * (1 - t));
      found.mean += w * q;
      found.distance += w * Math.abs(t - q);
    });
    return found;
  }

  // Solve a small linear system by Gauss's method.
  function solve(matrix, vector) {
    const rows = matrix.map((row, i) => [...row, vector[i]]);
    const n = rows.length;
    for (let k = 0; k < n; k += 1) {
      const pivot = rows.slice(k).reduce((best, row, i) => (Math.abs(row[k]) > Math.abs(rows[best][k]) ? i + k : best), k);
      [rows[k], rows[pivot]] = [rows[pivot], rows[k]];
      for (let i = 0; i < n; i += 1) {
        if (i !== k) {
          const factor = rows[i][k] / rows[k][k];
          rows[i] = rows[i].map((value, j) => value - factor * rows[k][j]);
        }
      }
    }
    return rows.map((row, k) => row[n] / row[k]);
  }

  // The parameters of a family with the least expected log-loss, by Newton's method with halved steps.
  function fit(family, scores, weights, truths) {
    const X = scores.map(FEATURES[family]);
    const p = X[0].length;
    const loss = (theta) => judge(weights, truths, scores.map((s) => apply(family, theta, s))).nll;
    const least = LEAST[family];
    let theta = X[0].map((_, j) => (family === "temperature" || j < p - 1 ? 1 : 0));
    for (let step = 0; step < STEPS; step += 1) {
      const gradient = new Array(p).fill(0);
      const hessian = gradient.map(() => new Array(p).fill(0));
      X.forEach((x, i) => {
        const q = sigmoid(x.reduce((z, one, j) => z + one * theta[j], 0));
        x.forEach((a, j) => {
          gradient[j] += weights[i] * (q - truths[i]) * a;
          x.forEach((b, k) => {
            hessian[j][k] += weights[i] * q * (1 - q) * a * b;
          });
        });
      });
      // A parameter at its least value that would go below it stays there.
      const free = theta.map((_, j) => j).filter((j) => theta[j] > least[j] || gradient[j] < 0);
      const move = solve(free.map((j) => free.map((k) => hessian[j][k])), free.map((j) => -gradient[j]));
      const decrease = -free.reduce((sum, j, k) => sum + gradient[j] * move[k], 0);
      if (decrease < 1e-13) {
        break;
      }
      let length = 1;
      const moved = () => {
        const next = [...theta];
        free.forEach((j, k) => {
          next[j] += length * move[k];
        });
        return next.map((value, j) => Math.max(value, least[j]));
      };
      while (length > 1e-6 && loss(moved()) > loss(theta)) {
        length /= 2;
      }
      theta = moved();
    }
    return theta;
  }

  root.mapsExplorer = { TRUTHS, apply, distribution, fit, judge };
  if (typeof document === "undefined") {
    return;
  }

  const { axes, element, fill, line, show, start } = root.explorer;
  const panel = document.getElementById("maps-explorer");
  const NAMES = { temperature: "Temperature scaling", platt: "Platt scaling", beta: "Beta calibration" };

  // The parameters that the sliders ask for: a, b and c as far as the family has them.
  function parameters(family, { a, b, c }) {
    return { temperature: [a], platt: [a, c], beta: [a, b, c] }[family];
  }

  function draw({ scores, weights }, truths, forecasts, words) {
    const x = (p) => 46 + 300 * p;
    const y = (q) => 316 - 290 * q;
    const ticks = [0, 0.2, 0.4, 0.6, 0.8, 1];
    const parts = axes({ x, y, xTicks: ticks, yTicks: ticks, xLabel: "score", yLabel: "probability" });
    const bins = Array.from({ length: 40 }, (_, k) => weights.slice(10 * k, 10 * k + 10).reduce((s, w) => s + w));
    const highest = Math.max(...bins);
    bins.forEach((share, k) => {
      const height = (70 * share) / highest;
      parts.push(element("rect", { x: x(k / 40) + 0.5, y: y(0) - height, width: 6.5, height, class: "explorer-bar" }));
    });
    parts.push(line([[x(0), y(0)], [x(1), y(1)]], "explorer-diagonal"));
    parts.push(line(scores.map((p, i) => [x(p), y(truths[i])]), "explorer-line-2"));
    parts.push(line(scores.map((p, i) => [x(p), y(forecasts[i])]), "explorer-line-1"));
    const svg = panel.querySelector("svg.explorer-plot");
    svg.replaceChildren(...parts);
    svg.setAttribute("aria-label", words);
  }

  function update(inputs) {
    const family = inputs["maps-family"].value;
    const truth = TRUTHS[inputs["maps-truth"].value];
    const [alpha, beta] = inputs["maps-scores"].value.split("-").map(Number);
    const sliders = {};
    for (const name of ["a", "b", "c"]) {
      const input = inputs[`maps-${name}`];
      input.disabled = (name === "b" && family !== "beta") || (name === "c" && family === "temperature");
      sliders[name] = Number(input.value);
      show(panel, `maps-${name}`, input.disabled ? (name === "b" ? "as a" : "0") : sliders[name].toFixed(2));
    }
    const given = distribution(alpha, beta);
    const truths = given.scores.map(truth);
    const forecasts = given.scores.map((p) => apply(family, parameters(family, sliders), p));
    const best = fit(family, given.scores, given.weights, truths);
    panel.best = { family, theta: best };
    const judged = {
      none: judge(given.weights, truths, given.scores),
      map: judge(given.weights, truths, forecasts),
      best: judge(given.weights, truths, given.scores.map((p) => apply(family, best, p))),
      truth: judge(given.weights, truths, truths),
    };
    fill(
      panel,
      Object.fromEntries(
        Object.entries(judged).map(([row, found]) => [
          row,
          [found.nll, found.brier, found.mean, found.distance].map((value) => value.toFixed(4)),
        ])
      )
    );
    const behind = judged.map.nll - judged.best.nll;
    const left = judged.best.nll - judged.truth.nll;
    const place = behind < 5e-5 ? "Your map is the best of its family." : `Your map is ${behind.toFixed(4)} behind the best of its family.`;
    const rest = left < 5e-5 ? "That best is the truth." : `That best is ${left.toFixed(4)} behind the truth.`;
    const verdict = panel.querySelector(".explorer-verdict");
    verdict.dataset.best = String(behind < 5e-5);
    verdict.textContent = `${NAMES[family]}. ${place} ${rest}`;
    draw(given, truths, forecasts, `Calibrated probability against score: the truth and your map. ${verdict.textContent}`);
  }

  panel.querySelector("#maps-fit").addEventListener("click", () => {
    const { family, theta } = panel.best;
    const names = { temperature: ["a"], platt: ["a", "c"], beta: ["a", "b", "c"] }[family];
    names.forEach((name, j) => {
      panel.querySelector(`#maps-${name}`).value = theta[j];
    });
    panel.querySelector("#maps-a").dispatchEvent(new Event("input", { bubbles: true }));
  });
  start(panel, update);
})(globalThis);

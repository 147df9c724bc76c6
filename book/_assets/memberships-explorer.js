// The explorer of the chapter "Clusters and soft memberships": memberships of real patients, from hard to uniform, and
// what they do to clustered Platt scaling. Loaded by that page only, after its data (stroke-rows.js).
"use strict";

(function (root) {
  const SCALE = 1000;
  const STEPS = 30;

  const sigmoid = (z) => 1 / (1 + Math.exp(-z));

  // Scores as logits, labels, and the directions of the rows, from whole numbers.
  function read({ logits, labels, directions }) {
    const width = directions.length / labels.length;
    return {
      logits: logits.map((z) => z / SCALE),
      labels,
      directions: labels.map((_, i) => unit(directions.slice(width * i, width * (i + 1)))),
    };
  }

  function unit(vector) {
    const length = Math.hypot(...vector);
    return vector.map((value) => value / length);
  }

  // Memberships (n, K) of directions in clusters: exp(-(1 - cos)^2 / temperature), scaled to sum to 1.
  function memberships(directions, centroids, temperature) {
    const ways = centroids.map(unit);
    return directions.map((row) => {
      const far = ways.map((way) => (1 - way.reduce((sum, value, j) => sum + value * row[j], 0)) ** 2);
      const nearest = Math.min(...far);
      const close = far.map((d) => Math.exp((nearest - d) / temperature));
      const total = close.reduce((a, b) => a + b);
      return close.map((value) => value / total);
    });
  }

  // Slope and intercept with the least weighted mean log-loss plus shrinkage times the squared distance from a target.
  function platt(logits, labels, weights, target, shrinkage) {
    const total = weights.reduce((a, b) => a + b);
    const cost = (a, b) =>
      logits.reduce((sum, x, i) => {
        const z = a * x + b;
        return sum + weights[i] * (Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z))) - labels[i] * z);
      }, 0) / total + shrinkage * ((a - target[0]) ** 2 + (b - target[1]) ** 2);
    let [a, b] = target;
    for (let step = 0; step < STEPS; step += 1) {
      let [ga, gb] = [2 * shrinkage * (a - target[0]), 2 * shrinkage * (b - target[1])];
      let [haa, hab, hbb] = [2 * shrinkage, 0, 2 * shrinkage];
      logits.forEach((x, i) => {
        const q = sigmoid(a * x + b);
        const w = weights[i] / total;
        ga += w * (q - labels[i]) * x;
        gb += w * (q - labels[i]);
        const h = w * q * (1 - q);
        haa += h * x * x;
        hab += h * x;
        hbb += h;
      });
      const determinant = haa * hbb - hab * hab;
      const da = (hab * gb - hbb * ga) / determinant;
      const db = (hab * ga - haa * gb) / determinant;
      if (-(ga * da + gb * db) < 1e-14) {
        break;
      }
      let length = 1;
      while (length > 1e-6 && cost(a + length * da, b + length * db) > cost(a, b)) {
        length /= 2;
      }
      a += length * da;
      b += length * db;
    }
    return [a, b];
  }

  // The mixture of the clusters' Platt scalings for each row.
  function mixture(logits, W, theta) {
    return logits.map((x, i) => W[i].reduce((sum, w, k) => sum + w * sigmoid(theta[k][0] * x + theta[k][1]), 0));
  }

  function logLoss(labels, q) {
    return -labels.reduce((sum, y, i) => sum + Math.log(y ? q[i] : 1 - q[i]), 0) / labels.length;
  }

  // Mean largest membership, and mean effective number of clusters.
  function softness(W) {
    const mean = (values) => values.reduce((a, b) => a + b) / values.length;
    const entropy = (row) => -row.reduce((sum, w) => sum + (w > 0 ? w * Math.log(w) : 0), 0);
    return { largest: mean(W.map((row) => Math.max(...row))), effective: mean(W.map((row) => Math.exp(entropy(row)))) };
  }

  // Clustered Platt scaling fitted to the calibration rows: memberships, parameters, log-losses on both parts.
  function clustered({ calibration, test }, centroids, temperature, shrinkage) {
    const global = platt(calibration.logits, calibration.labels, calibration.labels.map(() => 1), [1, 0], 0);
    const W = memberships(calibration.directions, centroids, temperature);
    const theta = centroids.map((_, k) =>
      platt(calibration.logits, calibration.labels, W.map((row) => row[k]), global, shrinkage)
    );
    const losses = (part, rows) => ({
      global: logLoss(part.labels, part.logits.map((x) => sigmoid(global[0] * x + global[1]))),
      clustered: logLoss(part.labels, mixture(part.logits, rows, theta)),
    });
    return {
      global,
      theta,
      W,
      calibration: losses(calibration, W),
      test: losses(test, memberships(test.directions, centroids, temperature)),
      ...softness(W),
    };
  }

  root.membershipsExplorer = { clustered, memberships, platt, read };
  if (typeof document === "undefined") {
    return;
  }

  const { element, fill, show, start } = root.explorer;
  const panel = document.getElementById("memberships-explorer");
  const data = { calibration: read(root.strokeRows.calibration), test: read(root.strokeRows.test) };
  const N_SHOWN = 12;

  function draw(W, words) {
    const [left, width, step] = [72, 320, 17];
    const parts = [];
    W.slice(0, N_SHOWN).forEach((row, i) => {
      const y = 8 + step * i;
      parts.push(element("text", { x: left - 6, y: y + 11, "text-anchor": "end" }, i === 0 ? "patient 1" : String(i + 1)));
      let x = left;
      row.forEach((w, k) => {
        parts.push(element("rect", { x, y, width: w * width, height: step - 3, class: `explorer-part explorer-part-${k + 1}` }));
        if (w * width > 12) {
          const place = { x: x + (w * width) / 2, y: y + 11.5, "text-anchor": "middle", class: "explorer-on-part" };
          parts.push(element("text", place, String(k + 1)));
        }
        x += w * width;
      });
    });
    const svg = panel.querySelector("svg.explorer-plot");
    svg.replaceChildren(...parts);
    svg.setAttribute("aria-label", words);
  }

  function update(inputs) {
    const K = Number(inputs["memberships-k"].value);
    const temperature = 10 ** Number(inputs["memberships-temperature"].value);
    const shrinkage = 10 ** Number(inputs["memberships-shrinkage"].value);
    show(panel, "memberships-k", String(K));
    show(panel, "memberships-temperature", String(Number(temperature.toPrecision(2))));
    show(panel, "memberships-shrinkage", String(Number(shrinkage.toPrecision(2))));
    const found = clustered(data, root.strokeRows.centroids[K], temperature, shrinkage);
    const digits = (values, n) => values.map((value) => value.toFixed(n).replace(/^-(0\.0+)$/, "$1").replace("-", "\u2212"));
    const rows = {
      calibration: digits([found.calibration.global, found.calibration.clustered], 4),
      test: digits([found.test.global, found.test.clustered], 4),
      global: ["100 %", String(data.calibration.labels.reduce((a, b) => a + b)), ...digits(found.global, 2)],
    };
    for (let k = 1; k <= 8; k += 1) {
      const row = panel.querySelector(`[data-row="${k}"]`);
      row.hidden = k > K;
      rows[k] = ["", "", "", ""];
      if (k <= K) {
        const weights = found.W.map((one) => one[k - 1]);
        const mass = weights.reduce((a, b) => a + b);
        const strokes = weights.reduce((sum, w, i) => sum + w * data.calibration.labels[i], 0);
        rows[k] = [`${((100 * mass) / weights.length).toFixed(0)} %`, strokes.toFixed(1), ...digits(found.theta[k - 1], 2)];
      }
    }
    fill(panel, rows);
    const kind =
      found.largest > 0.9 ? "Nearly hard" : found.effective > 0.9 * K ? "Nearly uniform" : "Between hard and uniform";
    const gain = found.test.global - found.test.clustered;
    const verdict = panel.querySelector(".explorer-verdict");
    verdict.dataset.kind = kind;
    verdict.textContent =
      `${kind}: the largest membership is ${found.largest.toFixed(2)} on average, and a patient uses ` +
      `${found.effective.toFixed(2)} of ${K} clusters. On the test rows the clusters ` +
      `${gain >= 0 ? "gain" : "lose"} ${Math.abs(gain).toFixed(4)} in log-loss.`;
    draw(found.W, `Memberships of ${N_SHOWN} patients in ${K} clusters, as bars. ${verdict.textContent}`);
  }

  start(panel, update);
})(globalThis);

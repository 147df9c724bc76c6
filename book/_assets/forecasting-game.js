// The forecasting game of the chapter "Measuring it": ten balls drawn from an urn are shown, the player says how
// probable it is that the next one is blue, and nature draws. Loaded by that page only.
"use strict";

(function (root) {
  const SHOWN = 10;
  const N_BINS = 5;
  const ROUNDS_AT_ONCE = 50;

  // A new urn: any share of blue balls is as probable as any other; some balls are drawn, and put back.
  function newUrn(draw) {
    const share = draw();
    let blue = 0;
    for (let ball = 0; ball < SHOWN; ball += 1) {
      blue += draw() < share ? 1 : 0;
    }
    return { share, blue };
  }

  // The probability that the next ball is blue, given those that were seen: the mean of the posterior.
  function best(blue) {
    return (blue + 1) / (SHOWN + 2);
  }

  // How players that are no people forecast from the number of blue balls. A forecast is from 1 to 99 %.
  const ROBOTS = {
    sample: (blue) => Math.min(Math.max(blue / SHOWN, 0.01), 0.99),
    bold: (blue) => (blue > SHOWN / 2 ? 0.95 : blue < SHOWN / 2 ? 0.05 : 0.5),
    coin: () => 0.5,
    best,
  };

  function binOf(q) {
    let bin = 0;
    while (q > (bin + 1) / N_BINS) {
      bin += 1;
    }
    return bin;
  }

  // Mean log-loss and Brier score of forecasts, and in each bin how many there are, their mean, and what happened.
  function judge(forecasts, outcomes) {
    const n = forecasts.length;
    const found = { nll: 0, brier: 0, ece: 0, bins: Array.from({ length: N_BINS }, () => ({ count: 0, said: 0, happened: 0 })) };
    forecasts.forEach((q, i) => {
      const y = outcomes[i];
      found.nll -= Math.log(y ? q : 1 - q) / n;
      found.brier += (y - q) ** 2 / n;
      const bin = found.bins[binOf(q)];
      bin.count += 1;
      bin.said += q;
      bin.happened += y;
    });
    for (const bin of found.bins) {
      found.ece += Math.abs(bin.said - bin.happened) / n;
      if (bin.count > 0) {
        bin.said /= bin.count;
        bin.happened /= bin.count;
      }
    }
    return found;
  }

  root.forecastingGame = { ROBOTS, best, judge, newUrn };
  if (typeof document === "undefined") {
    return;
  }

  const { axes, element, fill, line, random, show, start } = root.explorer;
  const panel = document.getElementById("forecasting-game");
  const record = { yours: [], best: [], outcomes: [] };
  let draw, urn, inputs;

  function showUrn() {
    const balls = [];
    // Drawn balls are shown sorted: their order says nothing.
    for (let ball = 0; ball < SHOWN; ball += 1) {
      const blue = ball < urn.blue;
      const shape = blue
        ? element("circle", { cx: 20 + 36 * ball, cy: 18, r: 13, class: "explorer-mark-1" })
        : element("rect", { x: 8 + 36 * ball, y: 6, width: 24, height: 24, class: "explorer-mark-2" });
      balls.push(shape);
    }
    const svg = panel.querySelector("svg.game-urn");
    svg.replaceChildren(...balls);
    svg.setAttribute("aria-label", `Drawn from the urn: ${urn.blue} blue and ${SHOWN - urn.blue} orange balls.`);
  }

  function play(forecast) {
    const blue = draw() < urn.share;
    record.yours.push(forecast);
    record.best.push(best(urn.blue));
    record.outcomes.push(blue ? 1 : 0);
    const cost = -Math.log(blue ? forecast : 1 - forecast);
    const said =
      `You said ${Math.round(100 * forecast)} % blue, and it was ${blue ? "blue" : "orange"}: log-loss ${cost.toFixed(2)}. ` +
      `The best forecast for ${urn.blue} blue of ${SHOWN} was ${Math.round(100 * best(urn.blue))} %.`;
    urn = newUrn(draw);
    return said;
  }

  function drawRecord(judged, words) {
    const x = (p) => 46 + 240 * p;
    const y = (q) => 266 - 240 * q;
    const ticks = [0, 0.2, 0.4, 0.6, 0.8, 1];
    const parts = axes({ x, y, xTicks: ticks, yTicks: ticks, xLabel: "said", yLabel: "happened" });
    parts.push(line([[x(0), y(0)], [x(1), y(1)]], "explorer-diagonal"));
    for (const bin of judged.bins.filter((one) => one.count > 0)) {
      parts.push(element("circle", { cx: x(bin.said), cy: y(bin.happened), r: 3 + Math.min(Math.sqrt(bin.count), 8), class: "explorer-mark-1" }));
    }
    const svg = panel.querySelector("svg.explorer-plot");
    svg.replaceChildren(...parts);
    svg.setAttribute("aria-label", words);
  }

  function report(said) {
    const n = record.outcomes.length;
    const yours = judge(record.yours, record.outcomes);
    const bests = judge(record.best, record.outcomes);
    const shown = (one) => (n === 0 ? ["-", "-", "-"] : [one.nll, one.brier, one.ece].map((value) => value.toFixed(3)));
    const rows = { yours: shown(yours), best: shown(bests) };
    yours.bins.forEach((bin, i) => {
      rows[`bin-${i}`] = [String(bin.count), ...(bin.count ? [bin.said, bin.happened].map((v) => v.toFixed(2)) : ["-", "-"])];
    });
    fill(panel, rows);
    panel.querySelector(".game-rounds").textContent = String(n);
    const verdict = panel.querySelector(".explorer-verdict");
    verdict.textContent = said;
    drawRecord(
      yours,
      n === 0
        ? "Your record, empty so far."
        : `Your record of ${n} rounds: log-loss ${rows.yours[0]}, Brier score ${rows.yours[1]}, ECE ${rows.yours[2]}.`
    );
    showUrn();
  }

  function begin() {
    // A page may fix the game by data-seed; else every game is another.
    draw = random(Number(panel.dataset.seed ?? Math.floor(4294967296 * Math.random())));
    urn = newUrn(draw);
    record.yours.length = record.best.length = record.outcomes.length = 0;
    report("Look at the balls, say how probable it is that the next one is blue, and let nature draw.");
  }

  panel.querySelector("#game-play").addEventListener("click", () => report(play(Number(inputs["game-forecast"].value) / 100)));
  panel.querySelector("#game-again").addEventListener("click", begin);
  for (const button of panel.querySelectorAll("button[data-robot]")) {
    button.addEventListener("click", () => {
      for (let round = 0; round < ROUNDS_AT_ONCE; round += 1) {
        play(ROBOTS[button.dataset.robot](urn.blue));
      }
      report(`"${button.textContent}" played ${ROUNDS_AT_ONCE} rounds in your name.`);
    });
  }
  start(panel, (found) => {
    inputs = found;
    show(panel, "game-forecast", `${found["game-forecast"].value} %`);
  });
  begin();
})(globalThis);

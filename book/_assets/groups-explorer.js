// The explorer of the chapter "Groups and fairness": a threshold for men and one for women, on real scores (Adult).
// Loaded by that page only, after its data (adult-groups.js).
"use strict";

(function (root) {
  const STEPS = 100;
  const MEASURES = ["chosen", "tpr", "fpr", "ppv"];

  // What a threshold does in one group: shares of the group, of its positives, of its negatives, and of the chosen.
  function rates(group, threshold) {
    const place = Math.round(STEPS * threshold);
    const [hits, alarms] = [group.chosenPositives[place], group.chosenNegatives[place]];
    const chosen = hits + alarms;
    return {
      chosen: chosen / (group.positives + group.negatives),
      tpr: hits / group.positives,
      fpr: alarms / group.negatives,
      ppv: chosen === 0 ? NaN : hits / chosen,
      wrong: group.positives - hits + alarms,
    };
  }

  // The threshold of one group at which a measure is nearest to a value.
  function match(group, measure, value) {
    let best = 1;
    for (let place = 1; place < STEPS; place += 1) {
      const gap = (at) => Math.abs(rates(group, at / STEPS)[measure] - value);
      if (gap(place) < gap(best) || Number.isNaN(gap(best))) {
        best = place;
      }
    }
    return best / STEPS;
  }

  // Share of all people whose decision is wrong.
  function wrong(groups, thresholds) {
    const people = (name) => groups[name].positives + groups[name].negatives;
    const names = Object.keys(thresholds);
    const sum = (value) => names.map(value).reduce((a, b) => a + b, 0);
    return sum((name) => rates(groups[name], thresholds[name]).wrong) / sum(people);
  }

  root.groupsExplorer = { match, rates, wrong };
  if (typeof document === "undefined") {
    return;
  }

  const { axes, element, fill, line, show, start } = root.explorer;
  const panel = document.getElementById("groups-explorer");
  const groups = root.adultGroups;
  const NAMES = { chosen: "share chosen", tpr: "true positive rate", fpr: "false positive rate", ppv: "right among the chosen" };
  const TICKS = [0, 0.2, 0.4, 0.6, 0.8, 1];

  function draw(thresholds, words) {
    const [x, y] = [(value) => 46 + 300 * value, (value) => 326 - 300 * value];
    const parts = axes({ x, y, xTicks: TICKS, yTicks: TICKS, xLabel: "false positive rate", yLabel: "true positive rate" });
    Object.keys(thresholds).forEach((name, i) => {
      const curve = Array.from({ length: STEPS + 1 }, (_, place) => rates(groups[name], place / STEPS));
      parts.push(line(curve.map(({ fpr, tpr }) => [x(fpr), y(tpr)]), `explorer-line-${i + 1}`));
      const here = rates(groups[name], thresholds[name]);
      const look = { class: `explorer-mark-${i + 1}` };
      parts.push(
        i === 0
          ? element("circle", { cx: x(here.fpr), cy: y(here.tpr), r: 5.5, ...look })
          : element("rect", { x: x(here.fpr) - 5, y: y(here.tpr) - 5, width: 10, height: 10, ...look })
      );
    });
    const svg = panel.querySelector("svg.explorer-plot");
    svg.replaceChildren(...parts);
    svg.setAttribute("aria-label", words);
  }

  function update(inputs) {
    const thresholds = {
      men: Number(inputs["groups-men"].value) / STEPS,
      women: Number(inputs["groups-women"].value) / STEPS,
    };
    const found = {};
    for (const [name, threshold] of Object.entries(thresholds)) {
      show(panel, `groups-${name}`, threshold.toFixed(2));
      found[name] = rates(groups[name], threshold);
    }
    const percent = (value) => (Number.isNaN(value) ? "none" : `${(100 * value).toFixed(1)} %`);
    fill(panel, Object.fromEntries(MEASURES.map((m) => [m, [percent(found.men[m]), percent(found.women[m])]])));
    const equal = MEASURES.filter((m) => Math.abs(found.men[m] - found.women[m]) < 0.01);
    const verdict = panel.querySelector(".explorer-verdict");
    verdict.dataset.equal = equal.join(" ");
    verdict.textContent =
      (equal.length === 0 ? "None of the four is equal" : `Equal to one point: ${equal.map((m) => NAMES[m]).join(", ")}`) +
      `. Wrong over all people: ${percent(wrong(groups, thresholds))}.`;
    draw(thresholds, `True against false positive rate of men and of women. ${verdict.textContent}`);
  }

  const women = panel.querySelector("#groups-women");
  for (const button of panel.querySelectorAll("button[data-match]")) {
    button.addEventListener("click", () => {
      const measure = button.dataset.match;
      const value = rates(groups.men, Number(panel.querySelector("#groups-men").value) / STEPS)[measure];
      women.value = STEPS * match(groups.women, measure, value);
      women.dispatchEvent(new Event("input", { bubbles: true }));
    });
  }
  start(panel, update);
})(globalThis);

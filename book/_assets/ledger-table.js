// The ledger: search its text, filter by where, verdict and kind, sort by a column. Without this script it is a table.
"use strict";

// What a cell is sorted by: its first number, or else its text. Thousands have commas, negative numbers a minus sign.
function ledgerKey(text) {
  const found = text.replace(/,/g, "").replace(/\u2212/g, "-").match(/^[^\d+-]*([+-]?\d*\.?\d+(?:e[+-]?\d+)?)/i);
  return found ? parseFloat(found[1]) : text.trim().toLowerCase();
}

// Numbers before texts, and empty cells last, whichever the direction.
function compareLedgerKeys(a, b, direction) {
  if (a === "" || b === "") return (a === "") - (b === "");
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return direction * (a < b ? -1 : a > b ? 1 : 0);
}

// All words must stand somewhere in the row, and every filter that is set must be the text of its cell.
function ledgerRowFits(row, words, filters) {
  return words.every((word) => row.text.includes(word)) && filters.every(([n, value]) => row.cells[n] === value);
}

if (typeof document !== "undefined") {
  for (const box of document.querySelectorAll(".ledger-searched")) {
    const table = box.querySelector("table");
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    const rows = [...body.rows].map((element) => {
      // A name unfolds into more, which is searched, and by which nothing is sorted.
      const cells = [...element.cells].map((cell) => (cell.querySelector("summary") ?? cell).textContent.trim());
      return { element, cells, text: (cells.join(" ") + " " + element.cells[1].textContent).toLowerCase() };
    });
    const controls = document.createElement("div");
    controls.className = "ledger-controls";
    const add = (name, control) => {
      const label = document.createElement("label");
      label.append(name, control);
      controls.append(label);
      control.addEventListener("input", show);
      return control;
    };
    const search = add("Search", Object.assign(document.createElement("input"), { type: "search" }));
    const filters = ["Where", "Verdict", "Kind"].map((name) => {
      const column = heads.findIndex((head) => head.textContent === name);
      const select = document.createElement("select");
      select.append(new Option("all", ""));
      for (const value of new Set(rows.map((row) => row.cells[column]))) select.append(new Option(value, value));
      return [column, add(name, select)];
    });
    const count = Object.assign(document.createElement("p"), { className: "ledger-count" });
    count.setAttribute("role", "status");
    box.before(controls, count);

    function show() {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const set = filters.map(([column, select]) => [column, select.value]).filter(([, value]) => value);
      let shown = 0;
      for (const row of rows) {
        row.element.hidden = !ledgerRowFits(row, words, set);
        shown += !row.element.hidden;
      }
      count.textContent = `${shown} of ${rows.length} numbers`;
    }

    heads.forEach((head, column) => {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: head.textContent });
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
        const keyed = rows.map((row) => [ledgerKey(row.cells[column]), row]);
        keyed.sort(([a], [b]) => compareLedgerKeys(a, b, direction));
        body.append(...keyed.map(([, row]) => row.element));
      });
    });
    show();
  }
}

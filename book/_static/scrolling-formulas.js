// A displayed formula or a table of a cell that is wider than the text scrolls in its own box. The keyboard can scroll it only if it is a tab
// stop; one that fits is none. Formulas in closed solutions are measured when these are opened.
window.addEventListener("load", async () => {
  await window.MathJax?.startup?.promise;
  const BOXES = 'mjx-container[display="true"], .bd-article div.math, .bd-article .cell_output .text_html';
  const watcher = new ResizeObserver((entries) => {
    for (const box of new Set(entries.map(({ target }) => target.closest(BOXES)))) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  });
  // What is in a box may grow while the box does not, as when another font arrives.
  for (const box of document.querySelectorAll(BOXES)) [box, ...box.children].forEach((part) => watcher.observe(part));
});

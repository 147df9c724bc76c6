// A displayed formula that is wider than the text scrolls in its own box. The keyboard can scroll it only if it is a tab
// stop; one that fits is none. Formulas in closed solutions are measured when these are opened.
window.addEventListener("load", async () => {
  if (!window.MathJax?.startup?.promise) return;
  await window.MathJax.startup.promise;
  const watcher = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  for (const formula of document.querySelectorAll('mjx-container[display="true"], .bd-article div.math')) {
    watcher.observe(formula);
  }
});

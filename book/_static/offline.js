// Search shows an excerpt of every hit by fetching its page, which browsers refuse for pages opened from disk.
if (window.location.protocol === "file:") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

// What scrolls sideways can be reached by keyboard, as long as it scrolls.
function markScrollable() {
  for (const element of document.querySelectorAll("article pre, article .katex-display, article .table-wrapper, article .output")) {
    if (element.scrollWidth > element.clientWidth) element.setAttribute("tabindex", "0");
    else element.removeAttribute("tabindex");
  }
}
window.addEventListener("load", markScrollable);
window.addEventListener("resize", markScrollable);

// Lines of prose with more characters than an eye follows with ease.
(() => {
  const MOST = 105;
  const found = [];
  const range = document.createRange();
  for (const element of document.querySelectorAll("main :is(p, li, dd)")) {
    if (!element.checkVisibility() || element.closest("table, .doubts, svg, .unseen")) continue;
    const text = element.textContent.trim();
    range.selectNodeContents(element);
    const lines = new Set([...range.getClientRects()].map((rect) => Math.round(rect.bottom / 12))).size;
    if (text.length > MOST && lines < 2) found.push(`${text.length} characters in a line: ${text.slice(0, 60)}`);
  }
  return found;
})()

// Texts that overlap, and short words that are broken in two.
(() => {
  const clipped = (rect, element) => {
    let { left, top, right, bottom } = rect;
    for (let at = element; at && at !== document.body; at = at.parentElement) {
      if (getComputedStyle(at).overflow === "visible") continue;
      const box = at.getBoundingClientRect();
      [left, top] = [Math.max(left, box.left), Math.max(top, box.top)];
      [right, bottom] = [Math.min(right, box.right), Math.min(bottom, box.bottom)];
    }
    return { left, top, right, bottom };
  };
  const told = (text) => {
    const around = [text.parentElement.closest("section"), text.parentElement];
    const names = around.map((element) => `${element?.localName}#${element?.id}.${element?.className}`);
    return `"${text.data.trim().slice(0, 40)}" (${names.join(" ")})`;
  };
  const lines = [];
  const defects = [];
  const range = document.createRange();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    const element = text.parentElement;
    if (!text.data.trim() || element.closest("script, style")) continue;
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    for (const { index, 0: word } of text.data.matchAll(/\p{L}{2,12}/gu)) {
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      const rects = [...range.getClientRects()].filter((rect) => rect.width > 0);
      const broken = rects.some((rect) => rect.top > rects[0].top + 2);
      if (broken) defects.push(`broken: ${word} in ${told(text)}`);
    }
    range.selectNodeContents(text);
    for (const rect of range.getClientRects()) {
      const line = clipped(rect, element);
      // A line of text is higher than its letters.
      const spare = (line.bottom - line.top) / 5;
      if (line.right - line.left > 2 && line.bottom - line.top > 4) {
        lines.push({ ...line, top: line.top + spare, bottom: line.bottom - spare, text });
      }
    }
  }
  lines.sort((a, b) => a.top - b.top);
  lines.forEach((a, at) => {
    for (let next = at + 1; next < lines.length && lines[next].top < a.bottom - 1; next += 1) {
      const b = lines[next];
      const shared = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      if (a.text !== b.text && shared > 2) defects.push(`${told(a.text)} lies on ${told(b.text)}`);
    }
  });
  return [...new Set(defects)].slice(0, 20);
})()

// Controls and links whose focus cannot be seen: neither outline nor shadow, border or ground tell it from what it was.
(() => {
  const look = (element) => {
    const { outlineStyle, outlineWidth, outlineColor, boxShadow, borderColor, backgroundColor } = getComputedStyle(element);
    const outline = outlineStyle === "none" || parseFloat(outlineWidth) < 1 ? "none" : outlineWidth + outlineColor;
    return [outline, boxShadow, borderColor, backgroundColor].join();
  };
  const focusable = "a[href], button, input, select, summary, textarea, [tabindex]:not([tabindex='-1'])";
  const shown = [...document.querySelectorAll(focusable)].filter((element) => element.checkVisibility() && !element.disabled);
  const unseen = shown.filter((element) => {
    const before = look(element);
    element.focus({ focusVisible: true, preventScroll: true });
    const reached = document.activeElement === element;
    return reached && look(element) === before;
  });
  document.activeElement?.blur();
  return { looked: shown.length, unseen: unseen.map((element) => element.outerHTML.slice(0, 80)) };
})()

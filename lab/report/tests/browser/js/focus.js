// Controls and links without a visible focus: outline, shadow, border and background all stay as they were.
(() => {
  const look = (element) => {
    const style = getComputedStyle(element);
    const hasOutline = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
    const outline = hasOutline ? style.outlineWidth + style.outlineColor : "none";
    return [outline, style.boxShadow, style.borderColor, style.backgroundColor].join();
  };
  const focusable = "a[href], button, input, select, summary, textarea, [tabindex]:not([tabindex='-1'])";
  const all = [...document.querySelectorAll(focusable)];
  const shown = all.filter((element) => element.checkVisibility() && !element.disabled);
  const unseen = shown.filter((element) => {
    const before = look(element);
    element.focus({ focusVisible: true, preventScroll: true });
    const reached = document.activeElement === element;
    return reached && look(element) === before;
  });
  document.activeElement?.blur();
  return { looked: shown.length, unseen: unseen.map((element) => element.outerHTML.slice(0, 80)) };
})()

// Which targets are shown, in all charts at once.

/** Wires the buttons of the legend; calls `changed` when the shown targets have changed. */
const legend = (targets, changed) => {
  const shown = new Set(targets.map((_, number) => number));
  const bar = document.querySelector(".legend");
  const toggles = all("[data-target]", bar);
  const everything = bar.querySelector(".everything");
  const update = () => {
    for (const button of toggles) {
      button.setAttribute("aria-pressed", String(shown.has(Number(button.dataset.target))));
    }
    everything.setAttribute("aria-disabled", String(shown.size === targets.length));
    changed();
  };
  bar.addEventListener("click", ({ target: clicked }) => {
    const button = clicked.closest("button");
    if (!button) return;
    if (button.getAttribute("aria-disabled") === "true") return;
    const { target, only } = button.dataset;
    if (target !== undefined) {
      if (!shown.delete(Number(target))) shown.add(Number(target));
    } else {
      shown.clear();
      targets.forEach((_, number) => (only === undefined || Number(only) === number) && shown.add(number));
    }
    update();
  });
  // What did not run has nothing to toggle: it is spoken of for as long as something else is seen.
  const isAny = () => toggles.some(({ dataset }) => shown.has(Number(dataset.target)));
  return (number) => shown.has(number) && isAny();
};

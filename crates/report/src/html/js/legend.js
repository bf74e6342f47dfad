// Which targets are shown, in all charts at once.

/** Wires the buttons of the legend; `changed` is told when what is shown has changed. */
const legend = (targets, changed) => {
  const shown = new Set(targets.map((_, number) => number));
  const bar = document.querySelector(".legend");
  const update = () => {
    for (const button of all("[data-target]", bar)) {
      button.setAttribute("aria-pressed", String(shown.has(Number(button.dataset.target))));
    }
    bar.querySelector(".everything").disabled = shown.size === targets.length;
    changed();
  };
  bar.addEventListener("click", ({ target: clicked }) => {
    const button = clicked.closest("button");
    if (!button) return;
    const { target, only } = button.dataset;
    if (target !== undefined) {
      if (!shown.delete(Number(target))) shown.add(Number(target));
    } else {
      shown.clear();
      targets.forEach((_, number) => (only === undefined || Number(only) === number) && shown.add(number));
    }
    update();
  });
  bar.querySelector(".everything").disabled = true;
  return (number) => shown.has(number);
};

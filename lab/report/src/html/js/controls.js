// The switches of all charts at once: the operation, the point and the scale.

/** The number of rows that may stick to the top: more rows would hide the content under them. */
const STICKING = 96;

/**
 * Wires the row of switches. `changed` gets the name of the changed switch. Returns the choices, and `own`, by which a
 * panel states that its scale is its own.
 */
const controls = (data, changed) => {
  const bar = document.querySelector(".controls");
  const first = data.charts[0];
  const chosen = { operation: first.facets.find(({ name }) => name === "operation")?.value, point: 0, scale: "" };
  bar.addEventListener("change", ({ target }) => {
    const name = target.dataset.switch;
    chosen[name] = name === "point" ? Number(target.value) : target.value;
    changed(name);
  });
  // Of a tall row only the switches stick, which are its last line.
  const contents = document.querySelector(".contents");
  const switches = bar.querySelector(".switches");
  const stick = () => {
    const isTall = bar.offsetHeight > STICKING;
    bar.style.top = isTall ? `${contents.offsetHeight - bar.offsetHeight + switches.offsetHeight + 16}px` : "";
  };
  new ResizeObserver(stick).observe(bar);
  const own = () => {
    chosen.scale = null;
    for (const input of all('[data-switch="scale"]', bar)) input.checked = false;
  };
  // A browser that comes back to a page restores the earlier choices.
  for (const input of all("[data-switch]", bar)) {
    if (input.type === "radio") input.checked = input.value === String(chosen[input.dataset.switch]);
    else input.selectedIndex = 0;
  }
  return { chosen, own };
};

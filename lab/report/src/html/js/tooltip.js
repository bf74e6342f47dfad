// The text of a place in a chart: beside the pointer for readers who point, in words for readers who step by keys.

/** An element with attributes, texts and elements in it. */
const element = (name, attributes = {}, ...inner) => {
  const svg = ["svg", "use", "rect", "line", "path", "text", "g"].includes(name);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inner);
  return made;
};

/** The mark of a target as an image in the text; without a colour of its own in that of the text. */
const markOf = (target) =>
  element("svg", { class: target.colour === null ? "mark" : `mark s${target.colour}`, viewBox: "0 0 16 16", "aria-hidden": "true" },
    element("path", { d: target.mark, fill: "currentColor" }));

/**
 * A box beside the pointer. `entries` are `{target, name, text, note, near}`, the best first.
 */
const tooltipIn = (plot, readout) => {
  const box = element("div", { class: "tooltip", "aria-hidden": "true", hidden: "" });
  plot.append(box);
  const rows = (entries) =>
    entries.map((entry) =>
      element("tr", entry.near ? { class: "near" } : {},
        element("td", {}, ...(entry.target ? [markOf(entry.target), " "] : []), entry.name),
        element("td", {}, entry.text),
        element("td", { class: "note" }, entry.note ?? "")));
  return {
    /** Shows it at a place of the plot, and reads it out where `spoken`. */
    show(heading, entries, [left, top], footing, spoken) {
      box.replaceChildren(
        element("p", { class: "heading" }, heading),
        element("table", {}, ...rows(entries)),
        element("p", { class: "footing" }, footing));
      box.hidden = entries.length === 0;
      const [width, height] = [box.offsetWidth, box.offsetHeight];
      const right = left + 16 + width > plot.clientWidth ? left - width - 16 : left + 16;
      box.style.left = `${Math.max(0, Math.min(right, plot.clientWidth - width))}px`;
      box.style.top = `${Math.max(0, Math.min(top - height / 2, plot.clientHeight - height))}px`;
      if (spoken) {
        const texts = entries.map((entry) => `${entry.name} ${entry.text}${entry.note ? `, ${entry.note}` : ""}`);
        readout.textContent = `${heading}: ${texts.join("; ") || "no figure"}. ${footing}`;
      }
    },
    hide() {
      box.hidden = true;
    },
  };
};

// A strip for each target over time: lines over each other would hide their data.

/** A strip for each target, all with one scale of figures: how long each took is seen at its own axis of time. */
const drawStrips = (plot, chart, series, scales, tooltipFor) => {
  const ys = valuesOf(series);
  const strips = series.map((one) => {
    const box = element("div", { class: "strip-plot" });
    plot.append(element("p", { class: "strip-name" }, markOf(one.look), " ", one.name,
      ...(one.withheld === null ? [] : [element("small", {}, ` ${asideText(one)}`)])), box);
    return { box, picture: drawLines(box, chart, [one], scales, tooltipFor(box), { isStrip: true, ys }) };
  });
  let current = 0;
  const each = (act) => strips.forEach(({ picture }) => act(picture));
  return {
    step: (by, down) => {
      if (!strips.length) return;
      if (down) {
        strips[current].picture.leave();
        current = Math.max(0, Math.min(strips.length - 1, current + Math.sign(by)));
      }
      strips[current].picture.step(down ? 0 : by);
    },
    end: (last) => strips[current]?.picture.end(last),
    leave: () => each((picture) => picture.leave()),
    remove: () => {
      each((picture) => picture.remove());
      for (const gone of all(".strip-name, .strip-plot", plot)) gone.remove();
    },
  };
};

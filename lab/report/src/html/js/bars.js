// Charts of bars: a row a target, drawn in percent of the width, so that they need no second drawing.

/** The parts that a chart knows, each with its colour. */
const partsOf = (chart) => new Map(chart.series.map((series) => [series.name, series.colour]));

/** What stands beside a span: how far it goes, and its three figures. */
const spanText = (unit, { name, low, value, high }) => `${name}: ${[low, value, high].map(FIGURES[unit]).join(" – ")}`;

/** The text beside a bar: each part by its name where the chart has several, and the unknown parts. */
const rowText = (chart, { parts, several, absent }) => {
  const unit = chart.y.unit;
  if (chart.manner.has_spans && parts.length) return spanText(unit, parts[0]);
  const seen = parts.filter((part) => part.value > 0 || parts.every((other) => other.value === 0));
  const figures = seen.map((part) => {
    const figure = parts.length === 1 ? withInterval(unit, part.value, part.low, part.high) : FIGURES[unit](part.value);
    return several ? `${part.name} ${figure}` : figure;
  });
  const lacking = absent.map(({ at, reason }) => (at.length ? `${at.join(", ")}: ${reason}` : reason));
  return [figures.join(" + "), ...lacking].filter(Boolean).join("; ");
};

/** Whether each part of a bar has its own row. */
const hasRows = ({ manner }) => manner.has_spans || manner.has_pairs === true;

/** The parts of the bar of each target that is shown, in the order of the chart; of spans and of pairs, a row for each. */
const rowsOf = (chart, isShown) => {
  const several = partsOf(chart).size > 1;
  return chart.order.filter(isShown).flatMap((target) => {
    const parts = chart.series.flatMap((series) => {
      const at = series.x.indexOf(target);
      const value = at < 0 ? null : series.y[at];
      if (value === null) return [];
      return [{ name: series.name, value, low: series.low[at], high: series.high[at], colour: series.colour, withheld: series.withheld, unlike: series.unlike }];
    });
    const absent = chart.absent.filter((one) => one.target === target);
    const total = parts.reduce((sum, part) => sum + part.value, 0);
    const row = { target, name: chart.x.categories[target], parts, absent, total, several, first: true };
    if (!hasRows(chart) || !parts.length) return [row];
    return parts.map((part, index) => ({ ...row, parts: [part], total: part.value, first: index === 0 }));
  });
};

const barSvg = (row, look, axis, isLog, isSpan) => {
  const share = (value) => ((axis.to(value) - axis.range[0]) / (axis.range[1] - axis.range[0])) * 100;
  const percents = (value) => `${Math.max(0, Math.min(100, value)).toFixed(3)}%`;
  const svg = element("svg", { class: "bar", width: "100%", height: "22", "aria-hidden": "true" });
  for (const tick of axis.ticks) svg.append(element("line", { class: "grid", x1: percents(share(tick)), x2: percents(share(tick)), y1: 0, y2: 22 }));
  // On a logarithmic scale a bar begins nowhere; a mark shows where it ends.
  const endOfBar = (part, colour) =>
    element("svg", { x: percents(share(part.value)), y: 3, overflow: "visible", class: colour },
      element("path", { d: look.mark, transform: "translate(-8 0)", class: "point" }));
  const stretch = (part, colour, begun) => {
    const [from, to] = [share(begun), share(begun + part.value)];
    return element("rect", { class: `part ${colour}`, x: percents(from), width: percents(Math.max(to - from, 0.12)), y: 4, height: 14 });
  };
  const whisker = (part, colour) =>
    element("line", { class: `whisker ${colour}`, x1: percents(share(part.low)), x2: percents(share(part.high)), y1: 11, y2: 11 });
  let begun = 0;
  for (const part of row.parts) {
    const colour = `s${part.colour ?? look.colour}${part.withheld === null ? "" : " hollow"}`;
    if (isSpan) svg.append(whisker(part, `span ${colour}`));
    // Of nothing, nothing is drawn: its figure stands beside the bar.
    if (part.value > 0) svg.append(isLog ? endOfBar(part, colour) : stretch(part, colour, begun));
    begun += part.value;
    if (!isSpan && row.parts.length === 1 && part.low !== null && part.low !== undefined) svg.append(whisker(part, ""));
  }
  return svg;
};

/** The names of the parts, with their colours. */
const partNames = (chart) => {
  const parts = partsOf(chart);
  if (parts.size < 2 || chart.manner.has_spans) return [];
  const names = [...parts].map(([name, colour]) =>
    element("span", {}, element("svg", { class: `swatch s${colour}`, viewBox: "0 0 12 12", "aria-hidden": "true" }, element("rect", { width: 12, height: 12, fill: "currentColor" })), ` ${name} `));
  return [element("p", { class: "part-names" }, ...names)];
};

/** Draws bars into `plot`. Returns the functions that step along them and remove them. */
const drawBars = (plot, chart, looks, isShown, scales, tooltip) => {
  const rows = rowsOf(chart, isShown);
  const values = rows.flatMap((row) => [row.total, ...row.parts.flatMap((part) => [part.low ?? part.value, part.high ?? part.value])]);
  const isLog = scales.y === "log";
  const isSpan = chart.manner.has_spans;
  const isSplit = hasRows(chart);
  const axis = axisOf(chart.y, scales.y, values.filter((value) => value > 0 || !isLog), Math.max(160, plot.clientWidth - 330), { horizontal: true, fromZero: true });
  const share = (tick) => ((axis.to(tick) - axis.range[0]) / (axis.range[1] - axis.range[0])) * 100;
  const made = rows.map((row) => {
    const look = looks[row.target];
    const aside = row.parts.find((part) => part.withheld !== null);
    const withheld = aside && asideText(aside);
    const text = rowText(chart, row);
    return {
      row, text, withheld,
      line: element("div", { class: `bar-row${row.parts.length ? "" : " none"}${isSplit ? " span" : ""}${isSplit && row.first ? " first" : ""}`, "data-target": row.target },
        element("span", { class: "bar-name" }, ...(row.first ? [markOf(look), " ", row.name] : [])),
        row.parts.length ? barSvg(row, look, axis, isLog, isSpan) : element("span", { class: "why" }, text),
        row.parts.length ? element("span", { class: `bar-text${aside ? ` ${aside.unlike ? "unlike" : "withheld"}` : ""}` }, text) : ""),
    };
  });
  const ticks = element("svg", { class: "bar-ticks", width: "100%", height: "20", "aria-hidden": "true" });
  for (const tick of values.length ? axis.ticks : []) {
    const at = share(tick);
    const anchor = at < 4 ? "start" : at > 96 ? "end" : "middle";
    ticks.append(element("text", { x: `${at.toFixed(3)}%`, y: 14, "text-anchor": anchor }, axis.text(tick)));
  }
  const box = element("div", { class: "bars" }, ...partNames(chart), ...made.map(({ line }) => line),
    element("div", { class: "bar-row scale" }, element("span"), ticks));
  plot.append(box);
  let current = -1;
  const go = (index, spoken) => {
    current = Math.max(0, Math.min(made.length - 1, index));
    made.forEach(({ line }, at) => line.classList.toggle("near", at === current));
    const { row, text, withheld, line } = made[current];
    const note = withheld ?? "";
    const entry = { target: looks[row.target], name: row.name, text, note };
    const place = [line.offsetLeft + line.clientWidth / 2, line.offsetTop + line.clientHeight / 2];
    tooltip.show(chart.y.label, [entry], place, looks[row.target].rounds, spoken);
  };
  made.forEach(({ line }, index) => line.addEventListener("mouseenter", () => go(index, false)));
  const leave = () => {
    tooltip.hide();
    for (const { line } of made) line.classList.remove("near");
  };
  box.addEventListener("mouseleave", leave);
  return {
    step: (by) => made.length && go(current < 0 ? (by < 0 ? made.length - 1 : 0) : current + by, true),
    end: (last) => made.length && go(last ? made.length - 1 : 0, true),
    leave,
    remove: () => box.remove(),
  };
};

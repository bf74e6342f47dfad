// Charts of lines and curves, on uPlot. Places are worked out here, so uPlot sees plain numbers on both axes.

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';

/** From this width on, the names of lines stand beside them. */
const NAMED_FROM = 640;

/** The series on one common list of places: `null` breaks a line, `undefined` does not. */
const aligned = (series, x) => {
  const places = [...new Set(series.flatMap((one) => one.x))].sort((a, b) => a - b);
  const index = new Map(places.map((place, at) => [place, at]));
  const spread = (one, values, to) => {
    const row = new Array(places.length).fill(undefined);
    one.x.forEach((place, at) => (row[index.get(place)] = values[at] === null ? null : to(values[at])));
    return row;
  };
  return { places, at: places.map(x.to), spread };
};

/** All figures and bounds of these series. */
const valuesOf = (series) =>
  series.flatMap((one) => [...one.y, ...one.low, ...one.high]).filter((value) => value !== null && value !== undefined);

/** Where everything stands: the axes, the room for their texts and for the names of the lines. */
const layoutOf = (chart, series, scales, [width, height], { isStrip, ys }) => {
  const named = width >= NAMED_FROM && series.length > 0 && !isStrip;
  const right = named ? Math.max(...series.map((one) => widthOf(nameOf(one)))) + 34 : 14;
  const y = axisOf(chart.y, scales.y, ys, height - (isStrip ? 60 : 90), { fromZero: true });
  const left = Math.max(34, ...y.ticks.map((tick) => widthOf(y.text(tick)))) + 14;
  const isSwept = !["quantile", "seconds", "rate"].includes(chart.x.unit);
  const x = axisOf(chart.x, scales.x, series.flatMap((one) => one.x), width - left - right,
    { horizontal: true, own: isSwept && scales.x !== "categories", fromZero: !isSwept });
  return { x, y, left, right, isStrip, named };
};

/** What uPlot needs to know of a chart. */
const optionsOf = (chart, series, { x, y, left, right, isStrip, named }, width, height) => {
  const isCurve = chart.shape === "curves";
  const inks = colours();
  const colourOf = (one) => inks.series(one.look.colour);
  const axis = (side, ticks, size, label) => ({
    side, size, gap: 8, stroke: inks.soft, font: FONT, ticks: { show: false }, grid: { stroke: inks.line, width: 1 },
    splits: (_, __, low, high) => ticks.within(low, high).map(ticks.to),
    values: (_, places) => places.map((place) => ticks.text(ticks.from(place))),
    ...(label ? { label, labelSize: 18, labelFont: FONT } : {}),
  });
  const dashOf = (one) => (one.withheld === null ? one.look.dash.split(" ").filter(Boolean).map(Number) : [2, 4]);
  // uPlot asks with all of the data, and with less of it where the reader looks closer.
  const rangeOfX = (u, low, high) => {
    const at = u.data[0];
    return low === null || at.length < 2 || (low <= at[0] && high >= at.at(-1)) ? x.range : [low, high];
  };
  const paint = (u) => {
    for (const one of series) drawIntervals(u, one, isCurve, colourOf(one), y, x);
    for (const one of series) if (one.labels) drawPath(u, one, colourOf(one), dashOf(one), y, x);
    if (!isCurve) for (const one of series) drawMarks(u, one, colourOf(one), inks.ground, y, x);
    if (!isCurve) for (const one of series) drawLabels(u, one, inks, y, x);
    if (chart.chosen) drawChosen(u, chart.chosen, series, inks, y, x);
    if (named) drawNames(u, series, colourOf, inks, y, x);
  };
  return {
    width, height, padding: [isStrip ? 10 : 28, right, 0, 0], legend: { show: false },
    scales: { x: { time: false, range: rangeOfX }, y: { range: y.range } },
    axes: [axis(2, x, 30, isStrip ? null : chart.x.label), axis(3, y, left, null)],
    series: [{}, ...series.map((one) => ({
      stroke: colourOf(one), width: isCurve ? 1.75 : 2, points: { show: false }, spanGaps: false,
      // uPlot would join the marks from left to right.
      ...(one.labels ? { paths: () => null } : {}),
      alpha: one.withheld === null ? 1 : 0.75, dash: dashOf(one),
    }))],
    cursor: { points: { show: false }, y: false, drag: { x: isCurve, y: false } },
    hooks: { draw: [paint] },
  };
};

/**
 * Draws series into `box`, as large as the style makes it, and lets the reader point and step along them. `scales` are
 * the scales of the chart's axes, and `series` have the looks of their targets. For several strips with one scale, `ys`
 * are the figures of all strips. Returns the functions that step along the picture and remove it.
 */
const drawLines = (box, chart, series, scales, tooltip, { isStrip = false, ys = valuesOf(series) } = {}) => {
  if (!isStrip && box.clientWidth >= NAMED_FROM) box.style.minHeight = `max(${getComputedStyle(box).minHeight}, ${heightOfNames(chart.series)}px)`;
  const [width, height] = [box.clientWidth, box.clientHeight];
  const layout = layoutOf(chart, series, scales, [width, height], { isStrip, ys });
  const title = element("p", { class: "axis-name", "aria-hidden": "true" }, layout.isStrip ? "" : chart.y.label);
  const { places, at, spread } = aligned(series, layout.x);
  const rows = series.map((one) => spread(one, one.y, layout.y.to));
  const u = new uPlot(optionsOf(chart, series, layout, width, height), [at, ...rows], box);
  box.append(title);
  const stops = places.map((_, index) => index).filter((index) => rows.some((row) => Number.isFinite(row[index])));
  return {
    ...pointing(u, chart, series, layout.x, places, stops, tooltip),
    remove: () => {
      title.remove();
      u.destroy();
    },
  };
};

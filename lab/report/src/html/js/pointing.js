// Pointing at a chart of lines and stepping along it: both lead to one place at a time, which every line shows.

/** Where the reader is, in words. */
const placeText = (chart, x, value) => {
  if (chart.x.unit === "seconds") return `after ${FIGURES[chart.x.unit](value)}`;
  if (chart.x.unit === "quantile") return quantile(value);
  if (chart.x.unit === "rate") return FIGURES[chart.x.unit](value);
  return `${chart.x.label} ${x.text(value)}`;
};

/** What stands behind the figures. */
const footing = (chart, series) => {
  const rounds = [...new Set(series.map((one) => one.look.rounds).filter(Boolean))];
  const interval = series.some((one) => one.low.some((value) => value !== null)) ? "[95 % interval], " : "";
  return `${interval}${rounds.length === 1 ? rounds[0] : `${rounds.join(", ")}, by target`}`;
};

/** The mark of a series that is nearest to a place. */
const nearestOf = (one, wanted, x) => {
  const away = (index) => Math.abs(x.to(one.x[index]) - wanted);
  return one.x.reduce((best, _, index) => (away(index) < away(best) ? index : best), 0);
};

/** The figures of the lines at a place, the best first, and the figures that are no result last. */
const entriesAt = (chart, series, x, wanted) => {
  const tolerance = chart.shape === "curves" ? (x.range[1] - x.range[0]) / 50 : 1e-9;
  const entries = series.flatMap((one) => {
    const own = nearestOf(one, wanted, x);
    const value = one.y[own];
    if (value === null || value === undefined || Math.abs(x.to(one.x[own]) - wanted) > tolerance) return [];
    const text = withInterval(chart.y.unit, value, one.low[own], one.high[own]);
    const note = [one.labels && `${chart.labels} ${one.labels[own]}`, asideText(one)].filter(Boolean).join(", ");
    return [{ value, text, note, isResult: one.withheld === null, target: one.target === null ? null : one.look, name: one.name }];
  });
  const more = ["rate", "part"].includes(chart.y.unit) || chart.manner.better === "more";
  return entries.sort((a, b) => b.isResult - a.isResult || (more ? b.value - a.value : a.value - b.value));
};

/** Leads to one of `stops`, numbers of `places`. */
const pointing = (u, chart, series, x, places, stops, tooltip) => {
  const at = u.data[0];
  let current = -1;
  const go = (stop, spoken) => {
    current = Math.max(0, Math.min(stops.length - 1, stop));
    const index = stops[current];
    const left = u.valToPos(at[index], "x");
    if (spoken || chart.shape !== "curves") u.setCursor({ left, top: 10 }, false);
    const beside = [u.bbox.left / devicePixelRatio + left, u.bbox.top / devicePixelRatio + 60];
    tooltip.show(placeText(chart, x, places[index]), entriesAt(chart, series, x, at[index]), beside, footing(chart, series), spoken);
  };
  u.over.addEventListener("mousemove", ({ offsetX }) => {
    if (!stops.length) return;
    const wanted = u.posToVal(offsetX, "x");
    const away = (stop) => Math.abs(at[stops[stop]] - wanted);
    go(stops.reduce((best, _, stop) => (away(stop) < away(best) ? stop : best), 0), false);
  });
  u.over.addEventListener("mouseleave", () => tooltip.hide());
  return {
    step: (by) => stops.length && go(current < 0 ? (by < 0 ? stops.length - 1 : 0) : current + by, true),
    end: (last) => stops.length && go(last ? stops.length - 1 : 0, true),
    leave: () => {
      tooltip.hide();
      u.setCursor({ left: -10, top: -10 }, false);
    },
  };
};

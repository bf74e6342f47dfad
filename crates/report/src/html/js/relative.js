// Figures as a part or a multiple of the best, at each place.

/** The same chart in relation to the best of the series that are shown; what is no result is never the best. */
const relativeToBest = (chart, isShown) => {
  const more = chart.family === "rate";
  const best = new Map();
  for (const series of chart.series) {
    if (series.withheld !== null) continue;
    series.y.forEach((value, index) => {
      const target = series.target ?? series.x[index];
      if (value === null || !isShown(target)) return;
      const place = chart.shape === "bars" ? 0 : series.x[index];
      const known = best.get(place);
      if (known === undefined || (more ? value > known : value < known)) best.set(place, value);
    });
  }
  const over = (values, xs) =>
    values.map((value, index) => {
      const by = best.get(chart.shape === "bars" ? 0 : xs[index]);
      return value === null || by === undefined ? null : value / by;
    });
  const unit = more ? "part" : "ratio";
  const label = more ? "share of the best shown" : "multiple of the best shown";
  return {
    ...chart,
    y: { ...chart.y, unit, label },
    series: chart.series.map((series) => ({
      ...series,
      y: over(series.y, series.x),
      low: over(series.low, series.x),
      high: over(series.high, series.x),
    })),
  };
};

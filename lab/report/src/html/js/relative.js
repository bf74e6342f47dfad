// Figures as a part or a multiple of the best, at each place.

/** Why there is no ratio: `best` is the best series at a place, if there is a best. */
const noRatio = (best) => (best ? "no ratio where the best is 0" : "no result is shown for comparison");

/**
 * The same chart in relation to the best of the shown series; a figure that is no result is never the best. The bounds
 * of a figure are no bounds of its ratio to another figure. A ratio therefore has the interval that the run found for
 * the two figures, or no interval.
 */
const relativeToBest = (chart, isShown) => {
  const more = chart.manner.better === "more";
  const placeOf = (x) => (chart.shape === "bars" ? 0 : x);
  const targetOf = (series, index) => series.target ?? series.x[index];
  const best = new Map();
  for (const series of chart.series) {
    if (series.withheld !== null) continue;
    series.y.forEach((value, index) => {
      const [target, place] = [targetOf(series, index), placeOf(series.x[index])];
      if (value === null || !isShown(target)) return;
      const known = best.get(place);
      if (!known || (more ? value > known.value : value < known.value)) best.set(place, { value, target });
    });
  }
  const intervalOf = (target, place) => {
    const by = best.get(place)?.target;
    if (!chart.ratios) return [null, null];
    const { at, one, other, low, high } = chart.ratios;
    const find = (a, b) => at.findIndex((known, index) => known === place && one[index] === a && other[index] === b);
    const [index, turned] = [find(target, by), find(by, target)];
    if (index >= 0) return [low[index], high[index]];
    return turned < 0 ? [null, null] : [1 / high[turned], 1 / low[turned]];
  };
  const absent = [...chart.absent];
  const overBest = (series) => {
    const ratios = series.y.map((value, index) => {
      const [target, place] = [targetOf(series, index), placeOf(series.x[index])];
      if (value === null) return [null, null, null];
      const by = series.unlike ? null : best.get(place);
      if (by?.value) return [value / by.value, ...intervalOf(target, place)];
      const reason = series.unlike ? series.withheld : noRatio(by);
      if (!absent.some((one) => one.target === target && one.reason === reason)) {
        absent.push({ target, name: chart.x.categories[target] ?? series.name, at: [], reason });
      }
      return [null, null, null];
    });
    const [y, low, high] = [0, 1, 2].map((part) => ratios.map((ratio) => ratio[part]));
    const bounded = low.some((bound) => bound !== null);
    return { ...series, y, low: bounded ? low : [], high: bounded ? high : [] };
  };
  const unit = more ? "part" : "ratio";
  const label = more ? "share of the best shown" : "multiple of the best shown";
  const series = chart.series.map(overBest);
  return { ...chart, y: { ...chart.y, unit, label }, series, absent };
};

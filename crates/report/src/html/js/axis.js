// From figures to places on an axis, and the ticks beside it.

/** The steps of linear ticks: at most `most` of them over `span`. */
const stepOf = (span, most, binary) => {
  const raw = span / Math.max(1, most);
  if (binary) return 2 ** Math.ceil(Math.log2(raw));
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= raw * 0.999);
};

const multiples = (low, high, step) => {
  const ticks = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high * (1 + 1e-9); at++) ticks.push(at * step);
  return ticks;
};

/** Powers, and where there are few of them 2 and 5 times as much. */
const powers = (low, high, most, base) => {
  const log = (value) => Math.log(value) / Math.log(base);
  const [first, last] = [Math.ceil(log(low) - 1e-9), Math.floor(log(high) + 1e-9)];
  const stride = Math.max(1, Math.ceil((last - first + 1) / most));
  const ticks = [];
  for (let at = first; at <= last; at += stride) ticks.push(base ** at);
  if (base === 10 && last - first < 2 && most > 2) {
    const between = [];
    for (let at = first - 1; at <= last; at++) for (const factor of [1, 2, 5]) between.push(factor * 10 ** at);
    return between.filter((value) => value >= low * 0.999 && value <= high * 1.001);
  }
  return ticks;
};

/** How the values of a scale become places, and back. Quantiles of 1 stand at the end, which `values` tell. */
const projection = (scale, values) => {
  if (scale === "log") return { to: (value) => (value > 0 ? Math.log10(value) : null), from: (at) => 10 ** at };
  if (scale !== "tail") return { to: (value) => value, from: (at) => at };
  const tail = (value) => -Math.log10(1 - value);
  const last = Math.max(0.5, ...values.filter((value) => value < 1).map(tail)) + 0.35;
  return { to: (value) => (value >= 1 ? last : tail(value)), from: (at) => (at >= last ? 1 : 1 - 10 ** -at) };
};

/** Ticks that keep their distance: the first and last stay, and of the rest as many as fit. */
const apart = (ticks, places, room) => {
  const kept = [];
  const last = ticks.length - 1;
  ticks.forEach((tick, index) => {
    const free = !kept.length || places[index] - kept.at(-1).place >= room(tick);
    const ends = index !== last && places[last] - places[index] < room(tick);
    if ((free && !ends) || index === last) kept.push({ tick, place: places[index] });
  });
  return kept.map(({ tick }) => tick);
};

/**
 * An axis over `values` on `length` pixels: `to` and `from` between values and places, the `range` of places, and
 * `ticks` in values with their `text`.
 */
const axisOf = ({ unit, categories }, scale, values, length, options = {}) => {
  const { to, from } = projection(scale, values);
  const { horizontal = false, fromZero = false, own = false } = options;
  const known = values.filter((value) => value !== null && Number.isFinite(value) && to(value) !== null);
  let [low, high] = known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
  if (scale === "categories") [low, high] = [-0.5, Math.max(categories.length - 0.5, 0.5)];
  else if (scale === "tail") [low, high] = [0, 1];
  else if (scale === "linear" && fromZero) low = Math.min(0, low);
  let range = [to(low), to(high)];
  const span = range[1] - range[0];
  if (span === 0) range = [range[0] - (scale === "log" ? 0.3 : Math.abs(range[0]) || 1) / 2, range[1] + 0.5 * (scale === "log" ? 0.3 : Math.abs(range[1]) || 1)];
  else if (scale === "log" || (scale === "linear" && !fromZero)) range = [range[0] - span * 0.04, range[1] + span * 0.06];
  else if (scale === "linear") range = [range[0], range[1] + span * 0.06];
  const text = (value) => {
    if (scale === "categories") return categories[value] ?? "";
    if (unit === "quantile") return value >= 1 ? "max" : `${Number((value * 100).toPrecision(9))} %`;
    return own && unit === "bytes" ? size(value) : tickText(unit, value);
  };
  const most = Math.max(2, Math.floor(length / (horizontal ? 88 : 40)));
  const binary = unit === "bytes";
  let ticks;
  if (scale === "categories") ticks = categories.map((_, index) => index);
  else if (scale === "tail") ticks = [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 1];
  else if (own) ticks = [...new Set(known)].sort((a, b) => a - b);
  else if (scale === "log") ticks = powers(from(range[0]), from(range[1]), most, binary ? 2 : 10);
  else ticks = multiples(range[0], range[1], stepOf(range[1] - range[0], most, binary));
  ticks = ticks.filter((tick) => to(tick) >= range[0] - 1e-9 && to(tick) <= range[1] + 1e-9);
  if (horizontal && ticks.length > 1) {
    const places = ticks.map((tick) => ((to(tick) - range[0]) / (range[1] - range[0])) * length);
    ticks = apart(ticks, places, (tick) => text(tick).length * 7 + 14);
  }
  return { to, from, range, ticks, text };
};

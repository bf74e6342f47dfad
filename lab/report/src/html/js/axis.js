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

/** Quantiles for ticks: the usual quantiles, and in a close view the quantiles between them. */
const QUANTILES = [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 1];
const FINE_QUANTILES = [0, 0.25, 0.5, 0.75, ...[1, 2, 3, 4, 5, 6].flatMap((nines) => [1, 0.5, 0.2].map((part) => 1 - part * 10 ** -nines)), 1];

/** The places from the first to the last value, with some room around them. */
const rangeOf = (scale, values, to, categories, fromZero) => {
  if (scale === "categories") return [-0.5, Math.max(categories.length - 0.5, 0.5)];
  if (scale === "tail") return [to(0), to(1)];
  const places = values.map(to).filter((place) => place !== null && Number.isFinite(place));
  if (!places.length) return [0, 1];
  let [low, high] = [Math.min(...places), Math.max(...places)];
  const zero = scale === "linear" && fromZero;
  if (zero) low = Math.min(0, low);
  if (low === high) return scale === "log" ? [low - 0.15, high + 0.15] : [low - Math.abs(low || 1) / 2, high + Math.abs(high || 1) / 2];
  return [zero ? low : low - (high - low) * 0.04, high + (high - low) * 0.06];
};

/**
 * An axis over `values` on `length` pixels: `to` and `from` between values and places, its `range` in places, and
 * `ticks` and their `text` in values; `within` are the ticks of another range, where the reader looks closer.
 */
const axisOf = ({ unit, categories }, scale, values, length, { horizontal = false, fromZero = false, own = false } = {}) => {
  const known = values.filter((value) => value !== null && Number.isFinite(value));
  const { to, from } = projection(scale, known);
  const range = rangeOf(scale, known, to, categories, fromZero);
  const most = Math.max(2, Math.floor(length / (horizontal ? 88 : 40)));
  const binary = unit === "bytes";
  const text = (value) => {
    if (scale === "categories") return categories[value] ?? "";
    if (unit === "quantile" && (value <= 0 || value >= 1)) return value <= 0 ? "min" : "max";
    if (unit === "quantile") return `${Number((value * 100).toPrecision(9))} %`;
    return own && binary ? size(value) : tickText(unit, value);
  };
  const possible = (low, high, closer) => {
    if (scale === "categories") return categories.map((_, index) => index);
    if (scale === "tail") return closer ? FINE_QUANTILES : QUANTILES;
    if (own) return [...new Set(known)].sort((a, b) => a - b);
    if (scale === "log") return powers(from(low), from(high), most, binary ? 2 : 10);
    return multiples(low, high, stepOf(high - low, most, binary));
  };
  const within = (low, high) => {
    const closer = high - low < (range[1] - range[0]) * 0.999;
    const ticks = possible(low, high, closer).filter((tick) => to(tick) >= low - 1e-9 && to(tick) <= high + 1e-9);
    if (!horizontal || ticks.length < 2) return ticks;
    const places = ticks.map((tick) => ((to(tick) - low) / (high - low)) * length);
    return apart(ticks, places, (tick) => text(tick).length * 7 + 14);
  };
  return { to, from, range, ticks: within(...range), within, text };
};

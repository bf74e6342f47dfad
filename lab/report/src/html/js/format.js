// Figures as people read them, digit for digit as the reports of Larder write them (lab/report/src/figures.rs).

const TIMES = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const RATES = [[1e9, "G/s"], [1e6, "M/s"], [1e3, "k/s"], [1, "/s"]];
const SIZES = ["KiB", "MiB", "GiB", "TiB"];

/** Whether the decimals of a number from this one on are exactly a half. */
const isHalf = (digits, at) => digits[at] === "5" && /^0*$/.test(digits.slice(at + 1));

/** `value.toExponential(digits - 1)`, but a half goes to the even neighbour, as in Rust, not away from zero. */
const exponential = (value, digits) => {
  const [mantissa, exponent] = Math.abs(value).toExponential(60).split("e");
  const figures = mantissa.replace(".", "");
  const rounded = value.toExponential(digits - 1);
  if (!isHalf(figures, digits) || Number(figures[digits - 1]) % 2) return rounded;
  const kept = figures.slice(0, digits);
  return `${value < 0 ? "-" : ""}${kept[0]}${digits > 1 ? "." : ""}${kept.slice(1)}e${exponent}`;
};

/** `value.toFixed(decimals)`, with halves as in `exponential`. */
const fixed = (value, decimals) => {
  const text = value.toFixed(decimals);
  const [whole, part] = Math.abs(value).toFixed(Math.min(100, decimals + 40)).split(".");
  const digits = whole + part;
  const at = whole.length + decimals;
  if (!isHalf(digits, at) || Number(digits[at - 1]) % 2) return text;
  const kept = digits.slice(0, at);
  return `${value < 0 ? "-" : ""}${kept.slice(0, whole.length)}${decimals ? "." : ""}${kept.slice(whole.length)}`;
};

const rounded = (value, digits) => Number(exponential(value, digits));

const decimalsOf = (value, digits) => {
  if (value === 0 || !Number.isFinite(value)) return Math.max(0, digits - 1);
  return Math.max(0, digits - 1 - Number(exponential(value, digits).split("e")[1]));
};

const significant = (value, digits) => {
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return "?";
  return fixed(rounded(value, digits), decimalsOf(value, digits));
};

/** The largest unit that the rounded figure fills, else the smallest. */
const unitOf = (value, units) => {
  const size = rounded(value, 3);
  return units.find(([unit]) => size >= unit) ?? units.at(-1);
};

const rate = (value) => {
  const [size, unit] = unitOf(value, RATES);
  return `${significant(value / size, 3)} ${unit}`;
};

const nanoseconds = (value) => {
  const [size, unit] = unitOf(value, TIMES);
  if (size <= 1 && Number.isInteger(value)) return `${value} ns`;
  return `${significant(value / size, 3)} ${unit}`;
};

const seconds = (value) => {
  if (value < 59.95) return nanoseconds(value * 1e9);
  const whole = Math.round(value);
  const [minutes, hours] = [Math.floor(whole / 60), Math.floor(whole / 3600)];
  return hours < 1 ? `${minutes} min ${whole - minutes * 60} s` : `${hours} h ${minutes - hours * 60} min`;
};

const bytes = (value) => {
  if (value < 1024) return `${value} B`;
  let [scaled, unit] = [value / 1024, 0];
  while (scaled >= 1023.5 && unit + 1 < SIZES.length) [scaled, unit] = [scaled / 1024, unit + 1];
  return `${scaled >= 999.5 ? fixed(scaled, 0) : significant(scaled, 3)} ${SIZES[unit]}`;
};

/** A chosen size, not a measured size: at most one decimal. */
const size = (value) => {
  let [scaled, unit] = [value, 0];
  while (scaled >= 1023.5 && unit < SIZES.length) [scaled, unit] = [scaled / 1024, unit + 1];
  return `${fixed(scaled, 1).replace(/\.0$/, "")} ${["B", ...SIZES][unit]}`;
};

const percent = (part) => {
  const value = part * 100;
  if (part <= 0 || part >= 1 - 1e-12) return `${fixed(value, 0)} %`;
  if (value < 0.0001) return "<0.0001 %";
  if (value >= 99.9999) return ">99.9999 %";
  const digits = [3, 4, 5, 6].find((number) => rounded(value, number) < 100) ?? 7;
  const text = significant(value, digits);
  return `${text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text} %`;
};

const share = (value) => `${value >= 0.0995 ? fixed(value, 2) : significant(value, 2)}×`;

const ratio = (value) => `${significant(value, 3)}×`;

/** A quantile by its usual name: `p50`, `p99.9`, and at its ends the fastest and the slowest. */
const quantile = (value) => {
  if (value <= 0) return "fastest";
  if (value >= 1) return "slowest";
  return `p${Number((value * 100).toPrecision(9))}`;
};

/** How the numbers of an axis are written. */
const FIGURES = {
  number: (value) => String(Number(value.toPrecision(6))),
  rate,
  nanoseconds,
  seconds: (value) => (value === 0 ? "0 s" : seconds(value)),
  bytes,
  share: percent,
  quantile,
  ratio,
  part: share,
};

/** A figure with its interval: the bounds have the unit and the decimals of the figure. */
const withInterval = (unit, value, low, high) => {
  const text = FIGURES[unit](value);
  if (low === null || low === undefined || high === null || high === undefined) return text;
  const units = { rate: RATES, nanoseconds: TIMES }[unit] ?? [[1, ""]];
  const [scale] = unitOf(value, units);
  const whole = unit === "nanoseconds" && scale <= 1 && Number.isInteger(value);
  const digits = unit === "part" && value < 0.0995 ? 2 : 3;
  const decimals = whole ? 0 : unit === "part" && digits === 3 ? 2 : decimalsOf(value / scale, digits);
  return `${text} [${fixed(low / scale, decimals)}–${fixed(high / scale, decimals)}]`;
};

/** A figure at an axis, without needless zeros. */
const tickText = (unit, value) =>
  FIGURES[unit](value).replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");

/** Why figures stand outside the ranking; empty where they stand in it. */
const asideText = ({ withheld, unlike }) => (withheld === null ? "" : unlike ? withheld : `no result: ${withheld}`);

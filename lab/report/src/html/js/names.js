// The names of lines, beside their ends.

const NAME_GAP = 15;

/** The room above and below the lines. As in `charts.rs`. */
const ABOVE_AND_BELOW = 90;

/** A name as a picture has room for it. A character that turns the direction of a text would turn its neighbours. */
const shortened = (name) => {
  const text = [...name.replace(/[\u202a-\u202e\u2066-\u2069]/g, "")];
  return text.length > 20 ? [...text.slice(0, 11), "…", ...text.slice(-8)].join("") : text.join("");
};

/** The name beside a line. The names of targets are shortened together, so that they stay different. */
const nameOf = (one) => one.look.short ?? shortened(one.name);

/** The height in which the names of all lines have room below each other. */
const heightOfNames = (series) => NAME_GAP * new Set(series.map((one) => one.target ?? one.name)).size + ABOVE_AND_BELOW;

/** Where a line ends within the visible part: at its last mark, or where it leaves the picture. */
const endOf = (one, last, y, x) => {
  const places = one.x.map(x.to);
  const heights = one.y.map((value) => (value === null ? null : y.to(value)));
  const index = heights.findLastIndex((height, at) => height !== null && places[at] <= last);
  if (index < 0) return null;
  const next = heights[index + 1];
  if (next === undefined || next === null) return { one, x: places[index], y: heights[index] };
  const part = (last - places[index]) / (places[index + 1] - places[index]);
  return { one, x: last, y: heights[index] + (next - heights[index]) * part };
};

/** One end for each target, whose figures may be in several series: the rightmost. */
const endsOf = (series, last, y, x) => {
  const ends = new Map();
  for (const one of series) {
    const end = endOf(one, last, y, x);
    const key = one.target ?? one.name;
    const known = ends.get(key);
    if (end && (!known || end.x > known.x)) ends.set(key, end);
  }
  return [...ends.values()];
};

/** Moves names apart that would meet, and keeps them within `top` and `bottom`. */
const movedApart = (ends, top, bottom, gap) => {
  ends.sort((a, b) => a.top - b.top);
  let least = top;
  for (const end of ends) {
    end.place = Math.max(end.top, least);
    least = end.place + gap;
  }
  let most = bottom;
  for (const end of [...ends].reverse()) {
    end.place = Math.min(end.place, most);
    most = end.place - gap;
  }
};

/** Writes the name of each line at the right of the picture, or where the line ends before. */
const drawNames = (u, series, colourOf, inks, y, x) => {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio;
  const ends = endsOf(series, Math.min(u.scales.x.max, Math.max(...series.flatMap((one) => one.x.map(x.to)))), y, x);
  const rightmost = Math.max(...ends.map((end) => end.x));
  for (const end of ends) {
    end.left = u.valToPos(end.x, "x", true);
    end.top = u.valToPos(end.y, "y", true);
  }
  const atRight = ends.filter((end) => end.x === rightmost);
  movedApart(atRight, bbox.top, bbox.top + bbox.height, NAME_GAP * ratio);
  ctx.save();
  ctx.setLineDash([]);
  ctx.font = FONT.replace("12px", `${12 * ratio}px`);
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  const left = bbox.left + bbox.width + 14 * ratio;
  for (const { one, top, left: from, place } of ends) {
    ctx.fillStyle = one.withheld === null ? inks.ink : inks.soft;
    if (place === undefined) {
      ctx.fillText(nameOf(one), from + 9 * ratio, top);
      continue;
    }
    ctx.fillText(nameOf(one), left + 13 * ratio, place);
    drawMark(ctx, one, colourOf(one), inks.ground, left + 5 * ratio, place, 8 * ratio);
    ctx.strokeStyle = colourOf(one);
    ctx.globalAlpha = 0.55;
    ctx.lineWidth = ratio;
    ctx.beginPath();
    ctx.moveTo(from + 7 * ratio, top);
    ctx.lineTo(left - 7 * ratio, top);
    ctx.lineTo(left - 2 * ratio, place);
    ctx.stroke();
    ctx.globalAlpha = 1;
  }
  ctx.restore();
};

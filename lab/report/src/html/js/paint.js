// What lies on the canvas besides the lines: intervals and marks.

const MARK = 10;

/** The colours of the page as they are now. */
const colours = () => {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return { ink: of("--ink"), soft: of("--soft"), line: of("--line"), ground: of("--ground"), series: (number) => of(number === null ? "--soft" : `--series-${number}`) };
};

/** Draws with whole strokes, and not far beyond the picture. */
const clipped = (u, draw) => {
  u.ctx.save();
  u.ctx.setLineDash([]);
  u.ctx.beginPath();
  u.ctx.rect(u.bbox.left - 12 * devicePixelRatio, u.bbox.top - 8, u.bbox.width + 24 * devicePixelRatio, u.bbox.height + 16);
  u.ctx.clip();
  draw(u.ctx, devicePixelRatio);
  u.ctx.restore();
};

/** The interval at each place: a bar with ends, or where places are close a band. */
const drawIntervals = (u, one, isCurve, colour, y, x) => {
  if (!one.low.length) return;
  const place = (index) => u.valToPos(x.to(one.x[index]), "x", true);
  const height = (value) => u.valToPos(y.to(value), "y", true);
  clipped(u, (context, ratio) => {
    context.strokeStyle = context.fillStyle = colour;
    const known = one.x.map((_, index) => index).filter((index) => one.low[index] !== null && one.high[index] !== null && y.to(one.low[index]) !== null);
    if (isCurve) {
      context.globalAlpha = 0.16;
      context.beginPath();
      for (const index of known) context.lineTo(place(index), height(one.high[index]));
      for (const index of known.reverse()) context.lineTo(place(index), height(one.low[index]));
      context.fill();
      return;
    }
    context.lineWidth = 1.5 * ratio;
    context.beginPath();
    for (const index of known) {
      const [at, top, bottom, arm] = [place(index), height(one.high[index]), height(one.low[index]), 3.5 * ratio];
      context.moveTo(at, top);
      context.lineTo(at, bottom);
      for (const end of [top, bottom]) {
        context.moveTo(at - arm, end);
        context.lineTo(at + arm, end);
      }
    }
    context.stroke();
  });
};

/** The marks of a series. */
const drawMarks = (u, one, colour, ground, y, x) => {
  clipped(u, (context, ratio) => {
    one.y.forEach((value, index) => {
      if (value === null || y.to(value) === null) return;
      const [left, top] = [u.valToPos(x.to(one.x[index]), "x", true), u.valToPos(y.to(value), "y", true)];
      drawMark(context, one, colour, ground, left, top, MARK * ratio);
    });
  });
};

/** A line from mark to mark in the order of their texts, which need not be that of their places. */
const drawPath = (u, one, colour, dash, y, x) => {
  clipped(u, (context, ratio) => {
    context.strokeStyle = colour;
    context.lineWidth = 2 * ratio;
    context.globalAlpha = one.withheld === null ? 1 : 0.75;
    context.setLineDash(dash.map((length) => length * ratio));
    context.beginPath();
    one.y.forEach((value, index) => {
      if (value === null || y.to(value) === null) return;
      context.lineTo(u.valToPos(x.to(one.x[index]), "x", true), u.valToPos(y.to(value), "y", true));
    });
    context.stroke();
  });
};

/** The texts beside the marks of a series, above and to the right. */
const drawLabels = (u, one, inks, y, x) => {
  if (!one.labels) return;
  const { ctx } = u;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.font = FONT.replace("12px", `${11 * ratio}px`);
  [ctx.textAlign, ctx.textBaseline, ctx.lineJoin] = ["left", "alphabetic", "round"];
  [ctx.fillStyle, ctx.strokeStyle, ctx.lineWidth] = [inks.soft, inks.ground, 3 * ratio];
  one.labels.forEach((label, index) => {
    const height = one.y[index] === null ? null : y.to(one.y[index]);
    if (height === null) return;
    const [left, top] = [u.valToPos(x.to(one.x[index]), "x", true) + 7 * ratio, u.valToPos(height, "y", true) - 6 * ratio];
    ctx.strokeText(label, left, top);
    ctx.fillText(label, left, top);
  });
  ctx.restore();
};

/** A ring around the mark that an advice chose, with its text; nothing while its target is hidden. */
const drawChosen = (u, chosen, series, inks, y, x) => {
  if (!series.some((one) => one.target === chosen.target)) return;
  const { ctx } = u;
  const [ratio, radius] = [devicePixelRatio, 10];
  const [left, top] = [u.valToPos(x.to(chosen.x), "x", true), u.valToPos(y.to(chosen.y), "y", true)];
  ctx.save();
  ctx.setLineDash([]);
  [ctx.strokeStyle, ctx.lineWidth] = [inks.ink, 2 * ratio];
  ctx.beginPath();
  ctx.arc(left, top, radius * ratio, 0, 2 * Math.PI);
  ctx.stroke();
  ctx.font = FONT.replace("12px", `600 ${12 * ratio}px`);
  [ctx.textAlign, ctx.textBaseline, ctx.lineJoin] = ["left", "top", "round"];
  [ctx.fillStyle, ctx.strokeStyle, ctx.lineWidth] = [inks.ink, inks.ground, 4 * ratio];
  const place = [left + radius * ratio, top + radius * ratio];
  ctx.strokeText(chosen.text, ...place);
  ctx.fillText(chosen.text, ...place);
  ctx.restore();
};

/** The mark of a target, its middle at a place of the canvas; hollow where its figures are no result. */
const drawMark = (context, one, colour, ground, left, top, size) => {
  const path = new Path2D(one.look.mark);
  context.save();
  context.translate(left, top);
  context.scale(size / 16, size / 16);
  context.translate(-8, -8);
  context.lineWidth = one.withheld === null ? 2.5 : 3;
  context.strokeStyle = one.withheld === null ? ground : colour;
  context.stroke(path);
  context.fillStyle = one.withheld === null ? colour : ground;
  context.fill(path);
  context.restore();
};

let ruler = null;
const widthOf = (text) => {
  ruler ??= document.createElement("canvas").getContext("2d");
  ruler.font = FONT;
  return ruler.measureText(text).width;
};

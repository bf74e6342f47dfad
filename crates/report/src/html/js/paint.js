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

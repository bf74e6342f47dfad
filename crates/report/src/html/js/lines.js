// Charts of lines and curves, on uPlot. Places are worked out here, so uPlot sees plain numbers on both axes.

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
const MARK = 10;
const LINES_HEIGHT = 400;
const STRIP_HEIGHT = 132;

/** The colours of the page as they are now. */
const colours = () => {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return { ink: of("--ink"), soft: of("--soft"), line: of("--line"), ground: of("--ground"), series: (number) => of(`--series-${number}`) };
};

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

/** Draws within `context` in the colours of a series: faint where another is looked at. */
const inColours = (u, draw) => {
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
  inColours(u, (context, ratio) => {
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
  inColours(u, (context, ratio) => {
    one.y.forEach((value, index) => {
      if (value === null || y.to(value) === null) return;
      const [left, top] = [u.valToPos(x.to(one.x[index]), "x", true), u.valToPos(y.to(value), "y", true)];
      drawMark(context, one, colour, ground, left, top, MARK * ratio);
    });
  });
};

/** The name of each line at its right end, moved apart where they meet. */
const drawNames = (u, series, colourOf, inks, y, x) => {
  const ratio = devicePixelRatio;
  const gap = 15 * ratio;
  const rightmost = Math.max(...series.flatMap((one) => one.x.map(x.to)));
  const ends = series.flatMap((one) => {
    const last = one.y.findLastIndex((value) => value !== null && y.to(value) !== null);
    // Where a line ends early, its name would stand far from it.
    if (last < 0 || x.to(one.x[last]) < rightmost) return [];
    return [{ one, at: u.valToPos(y.to(one.y[last]), "y", true), from: u.valToPos(x.to(one.x[last]), "x", true) }];
  });
  ends.sort((a, b) => a.at - b.at);
  const [top, bottom] = [u.bbox.top, u.bbox.top + u.bbox.height];
  let least = top;
  for (const end of ends) {
    end.place = Math.max(end.at, least);
    least = end.place + gap;
  }
  let most = bottom;
  for (const end of [...ends].reverse()) {
    end.place = Math.min(end.place, most);
    most = end.place - gap;
  }
  const { ctx } = u;
  ctx.save();
  ctx.setLineDash([]);
  ctx.font = FONT.replace("12px", `${12 * ratio}px`);
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  const left = u.bbox.left + u.bbox.width + 14 * ratio;
  for (const one of series) {
    if (ends.some((end) => end.one === one)) continue;
    const last = one.y.findLastIndex((value) => value !== null && y.to(value) !== null);
    if (last < 0) continue;
    ctx.fillStyle = inks.soft;
    ctx.fillText(shortened(one.name), u.valToPos(x.to(one.x[last]), "x", true) + 9 * ratio, u.valToPos(y.to(one.y[last]), "y", true));
  }
  for (const { one, at, from, place } of ends) {
    ctx.strokeStyle = colourOf(one);
    ctx.globalAlpha = 0.55;
    ctx.lineWidth = ratio;
    ctx.beginPath();
    ctx.moveTo(from + 7 * ratio, at);
    ctx.lineTo(left - 7 * ratio, at);
    ctx.lineTo(left - 2 * ratio, place);
    ctx.stroke();
    ctx.globalAlpha = 1;
    ctx.fillStyle = one.withheld === null ? inks.ink : inks.soft;
    drawMark(ctx, one, colourOf(one), inks.ground, left + 5 * ratio, place, 8 * ratio);
    ctx.fillText(shortened(one.name), left + 13 * ratio, place);
  }
  ctx.restore();
};

/** A name as a picture has room for it. What turns the direction of a text would turn that of its neighbours. */
const shortened = (name) => {
  const text = [...name.replace(/[\u202a-\u202e\u2066-\u2069]/g, "")];
  return text.length > 20 ? [...text.slice(0, 11), "…", ...text.slice(-8)].join("") : text.join("");
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

const valuesOf = (series) => series.flatMap((one) => [...one.y, ...one.low, ...one.high]).filter((value) => value !== null && value !== undefined);

/**
 * Draws series into `plot` and lets the reader point and step along them. `scales` are those of the chart's axes,
 * `series` have the looks of their targets, and of several strips with one scale `ys` are the figures of them all.
 * Returns what steps and ends it.
 */
const drawLines = (plot, chart, series, scales, tooltip, height = LINES_HEIGHT, ys = valuesOf(series)) => {
  const isCurve = chart.shape === "curves";
  const inks = colours();
  const colourOf = (one) => inks.series(one.look.colour);
  const width = plot.clientWidth;
  const isStrip = height !== LINES_HEIGHT;
  const named = width >= 640 && series.length > 0 && !isStrip;
  const title = isStrip ? null : element("p", { class: "axis-name", "aria-hidden": "true" }, chart.y.label);
  if (title) plot.append(title);
  const names = named ? Math.max(...series.map((one) => widthOf(shortened(one.name)))) + 34 : 14;
  const y = axisOf(chart.y, scales.y, ys, height - (isStrip ? 60 : 90), { fromZero: true });
  const room = Math.max(34, ...y.ticks.map((tick) => widthOf(y.text(tick)))) + 14;
  const isSwept = !["percentiles", "timeline"].includes(chart.family);
  const xs = series.flatMap((one) => one.x);
  const x = axisOf(chart.x, scales.x, xs, width - room - names, { horizontal: true, own: isSwept && scales.x !== "categories", fromZero: !isSwept });
  const { places, at, spread } = aligned(series, x);
  const rows = series.map((one) => spread(one, one.y, y.to));
  const axis = (side, ticks, extra) => ({
    side, stroke: inks.soft, font: FONT, ticks: { show: false },
    grid: { stroke: inks.line, width: 1 },
    splits: () => ticks.ticks.map(ticks.to), values: () => ticks.ticks.map(ticks.text), ...extra,
  });
  const u = new uPlot({
    width, height, padding: [isStrip ? 10 : 28, names, 0, 0], legend: { show: false },
    scales: { x: { time: false, range: (_, low, high) => (low === null || at.length < 2 || (low <= at[0] && high >= at.at(-1)) ? x.range : [low, high]) }, y: { range: y.range } },
    axes: [axis(2, x, { size: 30, gap: 8, ...(isStrip ? {} : { label: chart.x.label, labelSize: 18, labelFont: FONT }) }), axis(3, y, { size: room, gap: 8 })],
    series: [{}, ...series.map((one) => ({
      stroke: colourOf(one), width: isCurve ? 1.75 : 2, points: { show: false }, spanGaps: false,
      alpha: one.withheld === null ? 1 : 0.75,
      dash: one.withheld === null ? (one.look.dash ? one.look.dash.split(" ").map(Number) : undefined) : [2, 4],
    }))],
    cursor: { points: { show: false }, y: false, drag: { x: isCurve, y: false } },
    hooks: { drawSeries: [], draw: [() => {
      for (const one of series) drawIntervals(u, one, isCurve, colourOf(one), y, x);
      if (!isCurve) for (const one of series) drawMarks(u, one, colourOf(one), inks.ground, y, x);
      if (named) drawNames(u, series, colourOf, inks, y, x);
    }] },
  }, [at, ...rows], plot);

  const place = (left) => {
    const wanted = u.posToVal(left, "x");
    let best = 0;
    for (let index = 1; index < at.length; index++) if (Math.abs(at[index] - wanted) < Math.abs(at[best] - wanted)) best = index;
    return best;
  };
  const nearest = (one, wanted) => {
    let best = 0;
    one.x.forEach((value, index) => {
      if (Math.abs(x.to(value) - wanted) < Math.abs(x.to(one.x[best]) - wanted)) best = index;
    });
    return best;
  };
  const tell = (index, spoken) => {
    if (!places.length) return;
    const left = u.valToPos(at[index], "x");
    const tolerance = isCurve ? (x.range[1] - x.range[0]) / 50 : 1e-9;
    const entries = series.flatMap((one) => {
      const own = nearest(one, at[index]);
      const value = one.y[own];
      if (value === null || value === undefined || Math.abs(x.to(one.x[own]) - at[index]) > tolerance) return [];
      const note = one.withheld === null ? "" : `no result: ${one.withheld}`;
      return [{ value, order: one.withheld === null ? 0 : 1, target: one.look, name: one.name, note, text: withInterval(chart.y.unit, value, one.low[own], one.high[own]) }];
    });
    const more = chart.y.unit === "rate" || chart.y.unit === "part";
    entries.sort((a, b) => a.order - b.order || (more ? b.value - a.value : a.value - b.value));
    tooltip.show(placeText(chart, x, places[index]), entries, [u.bbox.left / devicePixelRatio + left, u.bbox.top / devicePixelRatio + 60], footing(chart, series), spoken);
  };
  let current = -1;
  const go = (index, spoken) => {
    current = Math.max(0, Math.min(places.length - 1, index));
    u.setCursor({ left: u.valToPos(at[current], "x"), top: 10 }, false);
    tell(current, spoken);
  };
  u.over.addEventListener("mousemove", (event) => {
    if (!places.length) return;
    const index = place(event.offsetX);
    if (isCurve) tell((current = index), false);
    else go(index, false);
  });
  u.over.addEventListener("mouseleave", () => tooltip.hide());
  return {
    step: (by) => places.length && go(current < 0 ? (by < 0 ? places.length - 1 : 0) : current + by, true),
    end: (last) => places.length && go(last ? places.length - 1 : 0, true),
    leave: () => {
      tooltip.hide();
      u.setCursor({ left: -10, top: -10 }, false);
    },
    remove: () => {
      title?.remove();
      u.destroy();
    },
  };
};

/** A strip for each target, all with one scale of figures: how long each took is seen at its own axis of time. */
const drawStrips = (plot, chart, series, scales, tooltipFor) => {
  const ys = valuesOf(series);
  const strips = series.map((one) => {
    const box = element("div", { class: "strip-plot" });
    plot.append(element("p", { class: "strip-name" }, markOf(one.look), " ", one.name,
      ...(one.withheld === null ? [] : [element("small", {}, ` no result: ${one.withheld}`)])), box);
    return { box, picture: drawLines(box, chart, [one], scales, tooltipFor(box), STRIP_HEIGHT, ys) };
  });
  let current = 0;
  const each = (act) => strips.forEach(({ picture }) => act(picture));
  return {
    step: (by, down) => {
      if (!strips.length) return;
      if (down) {
        strips[current].picture.leave();
        current = Math.max(0, Math.min(strips.length - 1, current + Math.sign(by)));
      }
      strips[current].picture.step(down ? 0 : by);
    },
    end: (last) => strips[current]?.picture.end(last),
    leave: () => each((picture) => picture.leave()),
    remove: () => {
      each((picture) => picture.remove());
      for (const gone of all(".strip-name, .strip-plot", plot)) gone.remove();
    },
  };
};

/** Where the reader is, in words. */
const placeText = (chart, x, value) => {
  if (chart.family === "timeline") return `after ${FIGURES[chart.x.unit](value)}`;
  if (chart.family === "percentiles") return quantile(value);
  return `${chart.x.label} ${x.text(value)}`;
};

/** What stands behind the figures. */
const footing = (chart, series) => {
  const rounds = [...new Set(series.map((one) => one.look.rounds).filter(Boolean))];
  const interval = series.some((one) => one.low.some((value) => value !== null)) ? "[95 % interval], " : "";
  return `${interval}${rounds.length === 1 ? rounds[0] : `${rounds.join(", ")}, by target`}`;
};

// A family of charts: which of them is seen, and how.

const KEYS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 10, PageUp: -10 };

/** Fills in the table beside a curve. */
const fillBeside = (panel, chart, { targets, latencies }, isShown) => {
  const body = panel.querySelector(".beside tbody");
  if (!body) return;
  const facet = (name) => chart.facets.find((one) => one.name === name)?.value ?? "";
  const mine = latencies.filter((one) => one.operation === facet("operation") && one.point === facet("point") && isShown(one.target));
  body.replaceChildren(...mine.map((one) =>
    element("tr", one.withheld ? { class: "withheld" } : {},
      element("th", { scope: "row" }, markOf(targets[one.target]), " ", targets[one.target].name),
      ...one.figures.map((figure) => element("td", { class: "number" }, figure === null ? "–" : nanoseconds(figure))))));
};

/** The targets that are not in a picture of lines, and why. */
const fillAbsent = (panel, chart, { targets }, isShown) => {
  const lines = chart.shape === "bars" ? [] : chart.absent.filter((one) => isShown(one.target));
  panel.querySelector(".absent").replaceChildren(...lines.map((one) =>
    element("li", {}, markOf(targets[one.target]), " ", element("b", {}, one.name),
      one.at.length ? `, ${one.at.join(", ")}` : "",
      one.name.endsWith(":") && !one.at.length ? ` ${one.reason}` : `: ${one.reason}`)));
};

/**
 * The look of a line that is no target's, without a mark: of a model as for notes beside the matter, of another line in
 * its own colour.
 */
const modelLook = ({ name, colour, hue }, { dashes }) =>
  ({ name, colour: hue ?? null, mark: "", dash: hue === undefined ? dashes[colour] : "", rounds: "" });

/** Writes, in the place of a picture, why there is no picture. */
const drawNothing = (plot, why) => {
  const text = element("p", { class: "nothing" }, why);
  plot.append(text);
  const none = () => {};
  return { step: none, end: none, leave: none, remove: () => text.remove() };
};

/** Says which operation is seen where the chosen one has no such chart. */
const insteadText = (chart, chosen) => {
  const operation = chart.facets.find(({ name }) => name === "operation")?.value;
  return operation === undefined || operation === chosen.operation ? "" : `There is no such chart of ${chosen.operation}; this chart shows ${operation}. `;
};

/** Wires a panel. Returns the function that draws it again, after a choice for all charts where one is named. */
const panelOf = (panel, data, isShown, { chosen, own }) => {
  const charts = data.charts.filter((chart) => chart.family === panel.dataset.family);
  const choose = choosing(charts);
  const plot = panel.querySelector(".plot");
  const facets = Object.fromEntries(all(".choice [data-switch]", panel).map(({ dataset }) => dataset.switch)
    .flatMap((name) => charts[0].facets.filter((facet) => facet.name === name)).map(({ name, value }) => [name, value]));
  const view = { relative: false, x: null, y: null };
  let chart = charts[0];
  let picture = null;
  plot.replaceChildren();
  const figure = panel.querySelector("figure");
  const readout = panel.querySelector(".readout");
  const tooltip = tooltipIn(plot, readout);

  const drawPicture = (...what) => {
    const box = element("div", { class: "lines-plot" });
    plot.append(box);
    const lines = drawLines(box, ...what, tooltip);
    const remove = () => {
      lines.remove();
      box.remove();
    };
    return { ...lines, remove };
  };
  const scaleOf = (name) => {
    const axis = chart[name];
    return axis.scales.includes(view[name]) ? view[name] : axis.scale;
  };
  const inputs = (name) => all(`[data-switch="${name}"]`, panel);
  const mark = (name, value, possible) => {
    for (const input of inputs(name)) {
      if (input.type === "radio") input.checked = input.value === value;
      else input.value = value;
      if (possible && input.type === "radio") input.disabled = !possible.includes(input.value);
    }
  };
  const draw = () => {
    picture?.remove();
    tooltip.hide();
    const seen = view.relative ? relativeToBest(chart, isShown) : chart;
    panel.querySelector(".title").textContent = view.relative ? `${chart.title}, ${seen.y.label}` : chart.title;
    panel.querySelector(".reading").textContent = insteadText(chart, chosen) + chart.reading;
    plot.setAttribute("aria-label", `${chart.title}. Arrow keys read out its figures.`);
    const scales = { x: scaleOf("x"), y: scaleOf("y") };
    const shownTargets = data.targets.map((_, number) => number).filter(isShown);
    Object.assign(figure.dataset, { chart: chart.id, scale: scales.y, view: view.relative ? "relative" : "absolute", shown: shownTargets.join(" ") });
    for (const [name, value] of Object.entries(facets)) mark(name, value);
    for (const axis of ["x", "y"]) mark(`${axis} axis`, scales[axis], chart[axis].scales.length ? chart[axis].scales : [scales[axis]]);
    const isBars = chart.shape === "bars";
    const shown = isBars ? [] : seen.series
      .filter((one) => one.target === null || isShown(one.target))
      .map((one) => ({ ...one, look: data.targets[one.target] ?? modelLook(one, data) }));
    if (!shownTargets.length) {
      picture = drawNothing(plot, "Nothing is shown: every target is switched off.");
    } else if (isBars) {
      picture = drawBars(plot, seen, data.targets, isShown, scales, tooltip);
    } else if (!shown.length) {
      picture = drawNothing(plot, "Nothing is shown: none of these targets has a figure here.");
    } else {
      picture = chart.manner.has_strips
        ? drawStrips(plot, seen, shown, scales, (strip) => tooltipIn(strip, readout))
        : drawPicture(seen, shown, scales);
    }
    fillAbsent(panel, seen, data, isShown);
    fillBeside(panel, chart, data, isShown);
  };

  panel.addEventListener("change", ({ target }) => {
    const name = target.dataset.switch;
    if (name === "figures") view.relative = target.value === "relative";
    else if (name === "x axis") view.x = target.value;
    else if (name === "y axis") {
      view.y = target.value;
      own();
    } else {
      facets[name] = target.value;
      chart = choose(chosen, facets, name);
    }
    draw();
  });
  plot.tabIndex = 0;
  // As a group it would not be given the keys by programs that read the screen.
  plot.setAttribute("role", "application");
  plot.setAttribute("aria-roledescription", "chart");
  plot.addEventListener("keydown", (event) => {
    // With these held down, keys are the browser's: Alt and an arrow leave the page.
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key in KEYS) picture.step(KEYS[event.key], /Up|Down/.test(event.key) && event.key.startsWith("Arrow"));
    else if (event.key === "Home" || event.key === "End") picture.end(event.key === "End");
    else if (event.key === "Escape") picture.leave();
    else return;
    event.preventDefault();
  });
  plot.addEventListener("blur", () => picture.leave());
  let width = plot.clientWidth;
  new ResizeObserver(() => {
    if (plot.clientWidth === width) return;
    width = plot.clientWidth;
    draw();
  }).observe(plot);
  return (name) => {
    if (name === "scale") view.y = chosen.scale || null;
    else if (name) chart = choose(chosen, facets, name);
    draw();
  };
};

/** Draws all charts, and again where targets, choices or colours change. */
const charts = async () => {
  const data = await drawn();
  if (!data) return;
  const draws = [];
  const redraw = (name) => draws.forEach((draw) => draw(name));
  const isShown = legend(data.targets, () => redraw());
  const common = controls(data, redraw);
  for (const panel of all(".panel")) draws.push(panelOf(panel, data, isShown, common));
  redraw();
  root.dataset.drawn = "";
  document.addEventListener("recolour", () => redraw());
};

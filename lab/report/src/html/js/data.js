// What the page carries, as elements and compressed.

const root = document.documentElement;
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

/** The text behind base64 of gzip. */
const unpacked = async (base64) => {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
};

/**
 * The data of the charts; `null` where the page has no data. Each chart has the manner of its family. In the page,
 * strips are written as steps from place to place.
 */
const drawn = async () => {
  const holder = document.getElementById("drawn");
  if (!holder) return null;
  const data = JSON.parse(await unpacked(holder.value));
  for (const chart of data.charts) {
    chart.manner = data.families.find((family) => family.name === chart.family);
    if (!chart.manner.has_strips) continue;
    for (const series of chart.series) {
      let at = 0;
      series.x = series.x.map((step) => (at += step));
    }
  }
  return data;
};

/**
 * The chart of a family to which a choice leads. `chosen` holds the operation and the number of the point for all
 * charts. `facets` holds the choices of this family alone, of which `last` is the latest.
 */
const choosing = (charts) => {
  const valueOf = (chart, name) => chart.facets.find((facet) => facet.name === name)?.value;
  const fits = (chart, chosen, facets, last) => {
    const own = Object.keys(facets).filter((name) => valueOf(chart, name) === facets[name]);
    return 1000 * (valueOf(chart, "operation") === chosen.operation) + 100 * chart.points.includes(chosen.point)
      + 10 * own.includes(last) + own.length;
  };
  return (chosen, facets, last) =>
    charts.reduce((best, chart) => (fits(chart, chosen, facets, last) > fits(best, chosen, facets, last) ? chart : best), charts[0]);
};

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
 * What the charts are drawn from; `null` where the page has none. Each has the manner of its family. Of
 * strips the steps from place to place are written.
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

/** The charts of a family, and the one that a choice of facets leads to. */
const choosing = (charts) => {
  const valueOf = (chart, name) => chart.facets.find((facet) => facet.name === name)?.value;
  return (facets, last) => {
    const fits = (chart) => Object.keys(facets).filter((name) => valueOf(chart, name) === facets[name]).length;
    const possible = last ? charts.filter((chart) => valueOf(chart, last) === facets[last]) : charts;
    return possible.reduce((best, chart) => (fits(chart) > fits(best) ? chart : best), possible[0]);
  };
};

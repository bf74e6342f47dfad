// The rounds as CSV, with the columns of samples.csv.

/** A number without an exponent. */
const plain = (value) => {
  const text = String(value);
  if (!text.includes("e")) return text;
  const [mantissa, exponent] = text.split("e").map(Number);
  const figures = String(Math.abs(mantissa)).replace(".", "");
  const sign = mantissa < 0 ? "-" : "";
  return exponent < 0 ? `${sign}0.${"0".repeat(-exponent - 1)}${figures}` : `${sign}${figures.padEnd(exponent + 1, "0")}`;
};

const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** The values of a column for a round of a cell; the names are as in run.json. */
const columnOf = (run, head) => {
  const point = /^point_(.*)$/s.exec(head)?.[1];
  const latency = /^latency_(.*)_ns$/.exec(head)?.[1];
  const wire = /^wire_(.*)$/.exec(head)?.[1];
  const connections = /^(driven|idle|comers)_(.*)$/.exec(head);
  const nameOf = (url) => run.targets.find((target) => target.url === url)?.name ?? url;
  if (head === "target" || head === "operation") return (cell) => cell[head];
  if (head === "name") return (cell) => nameOf(cell.target);
  if (point !== undefined) return (cell) => cell.point[point];
  if (latency !== undefined) return (_, sample) => sample.latency_ns?.[latency];
  if (wire !== undefined) return (_, sample) => sample.wire?.[wire];
  if (connections) {
    const [, group, field] = connections;
    const [, whole, part] = /^(.*)_([^_]*)$/.exec(field) ?? [];
    return (_, sample) => sample[group]?.[field] ?? sample[group]?.[whole]?.[part];
  }
  if (head === "errors_by_kind") {
    return (_, sample) => Object.entries(sample.errors_by_kind).map(([kind, number]) => `${kind}=${number}`).join(" ");
  }
  return (_, sample) => sample[head];
};

const samplesCsv = (run, heads) => {
  const columns = heads.map((head) => columnOf(run, head));
  const text = (value) => (value === null || value === undefined ? "" : typeof value === "number" ? plain(value) : quoted(String(value)));
  const lines = run.cells.flatMap((cell) =>
    cell.samples.map((sample) => columns.map((column) => text(column(cell, sample))).join(",")));
  return [heads.map(quoted).join(","), ...lines, ""].join("\n");
};

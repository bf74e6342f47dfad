// The distance that the layout moved while the page loaded, as browsers score it, and each moved element as a line.
new Promise((resolve) => {
  let moved = 0;
  const lines = [];
  const place = (rect) => `${rect.y.toFixed(0)}+${rect.height.toFixed(0)}`;
  const add = (entries) => entries.forEach((entry) => {
    moved += entry.value;
    for (const { node, previousRect, currentRect } of entry.sources) {
      const name = node && node.nodeName + (node.id ? "#" + node.id : "") + (node.className ? "." + node.className : "");
      lines.push(`${entry.value.toFixed(4)} ${name} from ${place(previousRect)} to ${place(currentRect)}`);
    }
  });
  const observer = new PerformanceObserver((list) => add(list.getEntries()));
  observer.observe({ type: "layout-shift", buffered: true });
  setTimeout(() => {
    add(observer.takeRecords());
    resolve({ moved, lines });
  }, 100);
})

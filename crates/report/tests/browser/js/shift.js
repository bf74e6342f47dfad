// How far the layout moved while the page came together, as browsers score it.
new Promise((resolve) => {
  let moved = 0;
  const add = (entries) => entries.forEach((entry) => (moved += entry.value));
  const observer = new PerformanceObserver((list) => add(list.getEntries()));
  observer.observe({ type: "layout-shift", buffered: true });
  setTimeout(() => {
    add(observer.takeRecords());
    resolve(moved);
  }, 100);
})

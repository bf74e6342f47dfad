// Elements that make the page wider than its window: they stick out, and no element around them scrolls.
(() => {
  const root = document.documentElement;
  if (root.scrollWidth <= root.clientWidth) return [];
  const scrolls = (element) => {
    for (let around = element.parentElement; around !== document.body; around = around.parentElement) {
      if (getComputedStyle(around).overflowX !== "visible") return true;
    }
    return false;
  };
  const sticksOut = (element) => element.getBoundingClientRect().right > root.clientWidth + 0.5;
  const all = [...document.querySelectorAll("body *")];
  const found = all.filter((element) => sticksOut(element) && !scrolls(element)).slice(0, 5);
  const told = found.map((element) => `<${element.localName} class="${element.getAttribute("class") ?? ""}">`);
  return [`${root.scrollWidth} px wide in a window of ${root.clientWidth} px: ${told.join(" ")}`];
})()

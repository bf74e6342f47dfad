// What makes the page wider than its window: elements that stick out and lie in nothing that scrolls by itself.
(() => {
  const root = document.documentElement;
  if (root.scrollWidth <= root.clientWidth) return [];
  const scrolls = (element) => {
    for (let around = element.parentElement; around && around !== document.body; around = around.parentElement) {
      if (getComputedStyle(around).overflowX !== "visible") return true;
    }
    return false;
  };
  const sticksOut = (element) => element.getBoundingClientRect().right > root.clientWidth + 0.5;
  const found = [...document.body.querySelectorAll("*")].filter((element) => sticksOut(element) && !scrolls(element));
  const told = found.slice(0, 5).map((element) => `<${element.tagName.toLowerCase()} class="${element.getAttribute("class") ?? ""}">`);
  return [`${root.scrollWidth} px wide in a window of ${root.clientWidth} px: ${told.join(" ")}`];
})()

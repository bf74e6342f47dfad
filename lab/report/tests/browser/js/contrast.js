// Visible text with too little contrast to its background: below 4.5, or 3 for large letters (WCAG 2.2, 1.4.3).
(() => {
  const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  // Turns a colour in any notation into red, green, blue and alpha: the canvas reads them all.
  const rgba = (colour) => {
    if (!known.has(colour)) {
      pixel.clearRect(0, 0, 1, 1);
      pixel.fillStyle = colour;
      pixel.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
      known.set(colour, [r, g, b, a / 255]);
    }
    return known.get(colour);
  };
  const over = ([r, g, b, a], [x, y, z]) =>
    [[r, x], [g, y], [b, z]].map(([above, below]) => above * a + below * (1 - a)).concat(1);
  const paper = rgba(getComputedStyle(document.documentElement).colorScheme === "dark" ? "#121212" : "#fff");

  // The background of an element's content, and the combined opacity of the elements around it.
  const behind = (element) => {
    const layers = [];
    let opacity = 1;
    for (let at = element; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      opacity *= Number(style.opacity);
      layers.push(rgba(style.backgroundColor));
    }
    const ground = layers.reverse().reduce((below, layer) => over(layer, below), paper);
    return { ground, opacity };
  };
  const luminance = ([r, g, b]) => {
    const parts = [r, g, b].map((part) => part / 255);
    const linear = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const contrast = (a, b) => {
    const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (light + 0.05) / (dark + 0.05);
  };
  const shown = (element) =>
    element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) &&
    element.getBoundingClientRect().width > 1 &&
    !element.closest(":disabled");

  const defects = new Map();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    const text = texts.currentNode.data.trim();
    if (!text || ["SCRIPT", "STYLE", "NOSCRIPT"].includes(element.tagName) || !shown(element)) continue;
    const style = getComputedStyle(element);
    const { ground, opacity } = behind(element);
    const [r, g, b, a] = rgba(element instanceof SVGElement ? style.fill : style.color);
    const letters = over([r, g, b, a * opacity], ground);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = contrast(letters, ground);
    if (ratio < (large ? 3 : 4.5)) {
      const place = `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""}`;
      const defect = `${ratio.toFixed(2)} in ${place}`;
      if (!defects.has(defect)) defects.set(defect, text.slice(0, 30));
    }
  }
  return [...defects].map(([defect, text]) => `${defect}: ${text}`);
})()

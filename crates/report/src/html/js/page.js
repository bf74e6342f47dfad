// What the page does as a whole: themes, folded tables, downloads, print.

/** A button that turns the colours over. */
const themes = () => {
  const button = document.querySelector(".theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const label = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `${button.textContent} colours`);
    document.dispatchEvent(new Event("recolour"));
  };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("larder-theme", root.dataset.theme);
    } catch {
      // It lasts as long as the page, then.
    }
    label();
  });
  system.addEventListener("change", label);
  button.hidden = false;
  label();
};

/** Opens what lies around the place to which a link leads. */
const unfolding = () => {
  const unfold = () => {
    const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    let around = place;
    while ((around = around?.closest("details:not([open])"))) around.open = true;
    place?.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  if (location.hash) unfold();
  for (const button of all(".unfold > button")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") === "false";
      for (const details of all("details", button.parentElement)) details.open = open;
      button.setAttribute("aria-expanded", String(open));
      button.textContent = open ? "close all" : "open all";
    });
  }
};

/** On paper, all is open; afterwards as before. */
const printing = () => {
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = all("details:not([open])");
    for (const details of closed) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of closed) details.open = false;
  });
};

/** Makes plain files of the compressed links. */
const downloads = () => {
  for (const link of all("a[data-plain]")) {
    const name = link.dataset.plain;
    const packed = link.href.slice(link.href.indexOf(",") + 1);
    let file = null;
    link.textContent = name;
    link.download = name;
    link.addEventListener("click", async (event) => {
      if (file) return;
      event.preventDefault();
      file = URL.createObjectURL(new Blob([await unpacked(packed)]));
      link.href = file;
      link.click();
    });
  }
};

themes();
unfolding();
printing();
if (root.classList.contains("js")) {
  downloads();
  charts();
}

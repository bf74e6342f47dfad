// What the page does as a whole: folded tables, downloads, print.

/** The name of a place as an address has it, decoded where that can be. */
const decoded = (name) => {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
};

/** The cell of a row in the column of this head; the row itself where the table has no such column. */
const cellBelow = (row, head) => {
  const heads = row.cells ? all("thead tr:last-child th", row.closest("table")) : [];
  const index = heads.findIndex((one) => one.textContent === head);
  let seen = 0;
  return (index >= 0 && [...row.cells].slice(1).find((cell) => (seen += cell.colSpan) > index)) || row;
};

/** Opens the folded parts around the place to which a link leads, and shows the column of the link. */
const unfolding = () => {
  let head = null;
  addEventListener("click", ({ target: clicked }) => (head = clicked.closest("a")?.dataset.column ?? null));
  const unfold = () => {
    const place = document.getElementById(decoded(location.hash.slice(1)));
    let around = place;
    while ((around = around?.closest("details:not([open])"))) around.open = true;
    if (place) cellBelow(place, head).scrollIntoView({ inline: "nearest" });
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

/** On paper all parts are open, and the drawings are light and as wide as the paper; afterwards all is as before. */
const printing = () => {
  let closed = [];
  let theme;
  const turn = (begins) => {
    for (const details of closed) details.open = begins;
    root.classList.toggle("printing", begins);
    document.dispatchEvent(new Event("recolour"));
  };
  addEventListener("beforeprint", () => {
    closed = all("details:not([open])");
    theme = root.dataset.theme;
    root.dataset.theme = "light";
    turn(true);
  });
  addEventListener("afterprint", () => {
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
    turn(false);
  });
};

/** Makes plain files of the data in the page. */
const downloads = () => {
  const [json, csv] = ["run-json", "samples-csv"].map((id) => document.getElementById(id));
  const name = json.download.replace(/\.gz$/, "");
  const packed = json.href.slice(json.href.indexOf(",") + 1);
  const upgrade = (link, name, make) => {
    let made = false;
    link.textContent = link.download = name;
    link.addEventListener("click", async (event) => {
      if (made) return;
      event.preventDefault();
      link.href = URL.createObjectURL(new Blob([make(await unpacked(packed))]));
      made = true;
      link.click();
    });
  };
  upgrade(json, name, (text) => text);
  if (csv) upgrade(csv, "samples.csv", (text) => samplesCsv(JSON.parse(text), JSON.parse(csv.dataset.heads)));
};

themes();
unfolding();
printing();
if (root.classList.contains("js")) {
  downloads();
  charts();
}

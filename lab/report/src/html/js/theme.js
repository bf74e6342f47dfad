// The colours of the system, until the reader switches them.

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

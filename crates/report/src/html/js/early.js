// Before anything is painted: what the page may show, and in which colours.
(() => {
  const root = document.documentElement;
  if ("DecompressionStream" in window) {
    root.classList.add("js");
    // What stands there without a script stands there too where the script fails, for whatever reason.
    const failed = () => "drawn" in root.dataset || root.classList.remove("js");
    addEventListener("error", failed);
    addEventListener("unhandledrejection", failed);
  }
  try {
    const theme = localStorage.getItem("larder-theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    // A browser that keeps nothing shows the theme of the system.
  }
})();

// Before anything is painted: the parts that the page may show, and their colours.
(() => {
  const root = document.documentElement;
  if ("DecompressionStream" in window) {
    root.classList.add("js");
    // The content for a page without a script stays there, too, when the script fails for any reason.
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

//! The version of the program: short for scripts, and long for a report of a fault.

use std::sync::LazyLock;

/// The version alone, or with the commit: `0.2.0 (abcdef012345 2026-11-29)`.
pub(crate) static SHORT: LazyLock<String> = LazyLock::new(|| {
    let version = env!("CARGO_PKG_VERSION");
    option_env!("LARDER_COMMIT")
        .map_or_else(|| version.to_owned(), |commit| format!("{version} ({commit})"))
});

/// The version, and below it what this program was built with: engines, features and the target.
pub(crate) static LONG: LazyLock<String> = LazyLock::new(|| {
    let built = larder::ENGINES.natives().filter(|engine| engine.is_built());
    let engines: Vec<_> = built.map(|engine| engine.scheme).collect();
    let otel = if cfg!(feature = "otel") { "+otel" } else { "-otel" };
    format!(
        "{}\nengines: {}\nfeatures: {otel}\nbuilt for: {}",
        *SHORT,
        engines.join(" "),
        env!("LARDER_TARGET")
    )
});

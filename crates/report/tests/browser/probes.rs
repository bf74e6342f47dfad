//! Questions to a page, as expressions of its language.

/// Elements that make a page wider than its window.
pub(crate) const OVERFLOW: &str = include_str!("js/overflow.js");
/// Texts that stand out too little from what lies behind them.
pub(crate) const CONTRAST: &str = include_str!("js/contrast.js");
/// Texts that lie on each other, and short words that are broken in two.
pub(crate) const OVERLAP: &str = include_str!("js/overlap.js");
/// Controls whose focus cannot be seen, and how many were looked at.
pub(crate) const FOCUS: &str = include_str!("js/focus.js");
/// Lines of prose that are too long to be read with ease.
pub(crate) const LONG_LINES: &str = include_str!("js/long_lines.js");
/// Texts that somebody else's letters have turned over.
pub(crate) const GARBLED: &str = include_str!("js/garbled.js");
/// The score by which browsers tell how far a layout moved, and what moved.
pub(crate) const SHIFT: &str = include_str!("js/shift.js");

/// The result of [`SHIFT`].
#[derive(Debug, serde::Deserialize)]
pub(crate) struct Shift {
    /// The sum of all scores.
    pub(crate) moved: f64,
    /// Each element that moved.
    pub(crate) lines: Vec<String>,
}

/// A page with a lower score is stable: half of what <https://web.dev/articles/cls> calls good. A slow browser paints
/// before the script has run, and what the script adds then moves the rest a little.
pub(crate) const STABLE_SHIFT: f64 = 0.05;
/// How much of a picture has the colour of a target, and where: a function of a panel and a target.
pub(crate) const PAINT: &str = include_str!("js/paint.js");

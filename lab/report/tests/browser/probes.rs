//! Questions to a page, as JavaScript expressions.

/// Elements that make a page wider than its window.
pub(crate) const OVERFLOW: &str = include_str!("js/overflow.js");
/// Texts that stand out too little from their background.
pub(crate) const CONTRAST: &str = include_str!("js/contrast.js");
/// Texts that overlap, and short words that are broken in two.
pub(crate) const OVERLAP: &str = include_str!("js/overlap.js");
/// Controls without a visible focus, and the number of all controls.
pub(crate) const FOCUS: &str = include_str!("js/focus.js");
/// Lines of prose that are too long for easy reading.
pub(crate) const LONG_LINES: &str = include_str!("js/long_lines.js");
/// Texts whose direction foreign letters have reversed.
pub(crate) const GARBLED: &str = include_str!("js/garbled.js");
/// The score of browsers for the distance that a layout moved, and the moved elements.
pub(crate) const SHIFT: &str = include_str!("js/shift.js");

/// The result of [`SHIFT`].
#[derive(Debug, serde::Deserialize)]
pub(crate) struct Shift {
    /// The sum of all scores.
    pub(crate) moved: f64,
    /// Each element that moved.
    pub(crate) lines: Vec<String>,
}

/// A page with a lower score is stable: half of the score that <https://web.dev/articles/cls> calls good. A slow
/// browser paints before the script has run, and the parts that the script adds then move the rest a little.
pub(crate) const STABLE_SHIFT: f64 = 0.05;
/// The share of a picture in the colour of a target, and its place: a function of a panel and a target.
pub(crate) const PAINT: &str = include_str!("js/paint.js");

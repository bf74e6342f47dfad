//! What is asked of a page, as expressions of its language.

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
/// The score by which browsers tell how far a layout moved.
pub(crate) const SHIFT: &str = include_str!("js/shift.js");
/// Such a score nobody sees.
pub(crate) const UNSEEN_SHIFT: f64 = 0.01;
/// How much of a picture has the colour of a target, and where: a function of a panel and a target.
pub(crate) const PAINT: &str = include_str!("js/paint.js");

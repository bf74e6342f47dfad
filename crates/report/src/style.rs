//! The look of a report: its width, and whether it has colours.

use anstyle::{AnsiColor, Style as Look};

/// The abilities of the reader's terminal. The caller measures them, because a report asks nothing of its surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether to write ANSI colours.
    pub colour: bool,
    /// The width of a line, in characters.
    pub width: usize,
}

pub(crate) const PLAIN: Look = Look::new();
pub(crate) const STRONG: Look = Look::new().bold();
pub(crate) const FAINT: Look = Look::new().dimmed();
pub(crate) const BEST: Look = AnsiColor::Green.on_default().bold();
pub(crate) const PLACE: Look = AnsiColor::Cyan.on_default();
pub(crate) const BAD: Look = AnsiColor::Red.on_default();
pub(crate) const DOUBT: Look = AnsiColor::Yellow.on_default();

impl Style {
    /// The text in this look, if colours are on.
    pub(crate) fn paint(self, look: Look, text: &str) -> String {
        if self.colour && look != PLAIN && !text.trim().is_empty() {
            format!("{}{text}{}", look.render(), look.render_reset())
        } else {
            text.to_owned()
        }
    }
}

//! The look of a report: its width, and whether it has colours.

use anstyle::{AnsiColor, Style as Look};

/// The abilities of the reader's terminal. The caller measures them, because a report asks nothing of its surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether to write ANSI colours.
    pub colour: bool,
    /// The width of a line, in characters; [`Style::NO_EDGE`] where lines may be of any length.
    pub width: usize,
}

pub(crate) const PLAIN: Look = Look::new();
pub(crate) const STRONG: Look = Look::new().bold();
pub(crate) const FAINT: Look = Look::new().dimmed();
pub(crate) const BEST: Look = AnsiColor::Green.on_default().bold();
pub(crate) const PLACE: Look = AnsiColor::Cyan.on_default();
pub(crate) const BAD: Look = AnsiColor::Red.on_default();
pub(crate) const DOUBT: Look = AnsiColor::Yellow.on_default();

/// The width of texts where lines may be of any length.
const USUAL_WIDTH: usize = 120;

impl Style {
    /// The width of a file or a pipe. Whoever reads it can look at a wide table sideways, so that no column is left out.
    pub const NO_EDGE: usize = usize::MAX;

    /// The width at which texts are wrapped.
    pub(crate) fn text_width(self) -> usize {
        if self.width == Self::NO_EDGE { USUAL_WIDTH } else { self.width }
    }

    /// The text in this look, if colours are on.
    pub(crate) fn paint(self, look: Look, text: &str) -> String {
        if self.colour && look != PLAIN && !text.trim().is_empty() {
            format!("{}{text}{}", look.render(), look.render_reset())
        } else {
            text.to_owned()
        }
    }
}

//! The signs and colours that the page is drawn with.

use anstyle::{AnsiColor, Style};
use larder_segment::Queue;

use crate::terminal;

/// The abilities of the reader's terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageStyle {
    pub(super) width: usize,
    pub(super) colour: bool,
    /// Otherwise the page uses only ASCII.
    pub(super) unicode: bool,
}

/// The signs for the live share of a segment, from nothing to all.
const BLOCKS: &[char] = &['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: &[char] = &['.', ':', '-', '=', '+', '*', '#', '%', '@'];

impl PageStyle {
    /// The look of standard output now.
    pub(super) fn of_stdout() -> Self {
        let style = terminal::style();
        let unicode = style.colour && terminal::draws_unicode();
        Self { width: style.width, colour: style.colour, unicode }
    }

    /// The signs of a share, the least first.
    pub(super) fn ramp(self) -> &'static [char] {
        if self.unicode { BLOCKS } else { ASCII }
    }

    /// The sign of a share.
    pub(super) fn sign(self, part: u64, whole: u64) -> char {
        let ramp = self.ramp();
        let steps = ramp.len() - 1;
        let reached = (2 * part * steps as u64 + whole) / (2 * whole).max(1);
        ramp[usize::try_from(reached).map_or(steps, |step| step.min(steps))]
    }

    /// The sign of an empty segment.
    pub(super) fn free(self) -> char {
        if self.unicode { '·' } else { '_' }
    }

    /// The sign of a segment whose entries have all expired or were cleared.
    pub(super) fn stale(self) -> char {
        if self.unicode { '×' } else { 'x' }
    }

    /// The sign that the bars of a queue consist of.
    pub(super) fn bar(self, queue: Queue) -> &'static str {
        match (self.unicode, queue) {
            (true, Queue::Small) => "▒",
            (true, _) => "█",
            (false, Queue::Small) => "s",
            (false, _) => "m",
        }
    }

    /// A text of a queue in its colour.
    pub(super) fn of_queue(self, queue: Queue, text: &str) -> String {
        let style = match queue {
            Queue::Small => AnsiColor::Cyan.on_default(),
            Queue::Main => AnsiColor::Green.on_default(),
            Queue::Index => AnsiColor::Blue.on_default(),
            Queue::Free => Style::new().dimmed(),
            Queue::Unknown => AnsiColor::Red.on_default(),
        };
        self.paint(style, text)
    }

    /// A heading.
    pub(super) fn strong(self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    fn paint(self, style: Style, text: &str) -> String {
        if !self.colour || text.trim().is_empty() {
            return text.to_owned();
        }
        format!("{}{text}{}", style.render(), style.render_reset())
    }
}

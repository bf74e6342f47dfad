//! The abilities of a terminal, and lines made for it.

use std::io::{IsTerminal, stderr};

use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use larder_report::{ShortNames, steers};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::terminal::speaks_unicode;

/// The size of a terminal that does not report its size.
const USUAL: (usize, usize) = (80, 24);

/// The abilities of standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TerminalAbilities {
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) colour: bool,
    /// Otherwise the view uses only ASCII.
    pub(super) unicode: bool,
}

impl TerminalAbilities {
    /// The look of standard error now; `None` where it is not a terminal, or is a terminal that cannot redraw.
    pub(super) fn of_stderr() -> Option<Self> {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        if !stderr().is_terminal() || dumb {
            return None;
        }
        let colour = AutoStream::choice(&stderr()) != ColorChoice::Never;
        let unicode = speaks_unicode();
        Some(Self { columns: USUAL.0, rows: USUAL.1, colour, unicode }.resized())
    }

    /// The same look with the current size of the terminal.
    pub(super) fn resized(self) -> Self {
        let size = terminal_size::terminal_size_of(stderr());
        let size = size.filter(|(width, height)| width.0 > 0 && height.0 > 0);
        let (columns, rows) =
            size.map_or(USUAL, |(width, height)| (width.0.into(), height.0.into()));
        Self { columns, rows, ..self }
    }

    /// One of two texts.
    pub(super) fn either(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { unicode } else { ascii }
    }

    /// Shortens names in their middle, so that two which differ never look the same. All are within `limit` columns, if that can be.
    pub(super) fn shorten(self, names: &[&str], limit: usize) -> Vec<String> {
        let names: Vec<String> = names.iter().map(|name| self.clean(name)).collect();
        let within = |n_characters: usize| -> Vec<String> {
            let short = ShortNames::new(names.iter().map(String::as_str), n_characters);
            let gap = self.either("…", "~");
            let cut = |name: &String| match short.of(name) {
                short if short == name => short.to_owned(),
                short => short.replace('…', gap),
            };
            names.iter().map(cut).collect()
        };
        // Some characters take two columns.
        let fits = |names: &Vec<String>| names.iter().all(|name| name.width() <= limit);
        (1..=limit).rev().map(within).find(fits).unwrap_or_else(|| within(limit))
    }

    /// Makes a text harmless: control characters become spaces, and characters that the terminal cannot show become
    /// question marks.
    fn clean(self, text: &str) -> String {
        let shown = |c: char| match c {
            c if steers(c) => ' ',
            c if !self.unicode && !c.is_ascii() => '?',
            c => c,
        };
        text.chars().map(shown).collect()
    }
}

/// The longest beginning of a text within `limit` columns.
fn fitting(text: impl Iterator<Item = char>, limit: usize) -> String {
    let mut left = limit;
    text.take_while(|c| {
        let rest = left.checked_sub(c.width().unwrap_or(0));
        left = rest.unwrap_or(0);
        rest.is_some()
    })
    .collect()
}

/// A line of a view: pieces of text, each in its style.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line(Vec<(Style, String)>);

impl Line {
    pub(super) fn of(style: Style, text: impl Into<String>) -> Self {
        Self::default().then(style, text)
    }

    pub(super) fn then(mut self, style: Style, text: impl Into<String>) -> Self {
        self.0.push((style, text.into()));
        self
    }

    pub(super) fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.width()).sum()
    }

    /// The line as text for the terminal, cut to `columns`.
    pub(super) fn text(&self, look: TerminalAbilities, columns: usize) -> String {
        let whole = self.width() <= columns;
        let mut left = if whole { columns } else { columns.saturating_sub(1) };
        let mut line = String::new();
        for (style, text) in &self.0 {
            let text = look.clean(text);
            let part = fitting(text.chars(), left);
            if look.colour && !part.trim().is_empty() {
                line.extend([
                    style.render().to_string(),
                    part.clone(),
                    style.render_reset().to_string(),
                ]);
            } else {
                line.push_str(&part);
            }
            if part.len() < text.len() {
                break;
            }
            // A text may be wider than the sum of its characters' widths.
            left = left.saturating_sub(part.width());
        }
        if !whole {
            line.push_str(look.either("…", "~"));
        }
        line
    }
}

impl From<&str> for Line {
    fn from(text: &str) -> Self {
        Self::of(Style::new(), text)
    }
}

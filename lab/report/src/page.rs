//! A page of text for the terminal, written line by line.

use anstyle::Style as Look;

use crate::style::{PLAIN, Style};
use crate::text::{width, wrap};

/// A text with less width than this beside its label stands below the label.
const NARROWEST_BODY: usize = 32;

/// The text so far.
#[derive(Debug)]
pub(crate) struct Page {
    text: String,
    style: Style,
}

impl Page {
    pub(crate) fn new(style: Style) -> Self {
        Self { text: String::new(), style }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// A line without changes.
    pub(crate) fn raw(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    pub(crate) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// A wrapped text, `indent` characters from the left.
    pub(crate) fn paragraph(&mut self, indent: usize, look: Look, text: &str) {
        self.entry(indent, "", 0, PLAIN, look, text);
    }

    /// A label in its column of this width, and beside it a wrapped text; below the label, where there is no room.
    pub(crate) fn entry(
        &mut self,
        indent: usize,
        label: &str,
        label_width: usize,
        label_look: Look,
        look: Look,
        text: &str,
    ) {
        let gap = if label_width > 0 { 2 } else { 0 };
        let beside = indent + label_width.max(width(label)) + gap;
        let painted = self.style.paint(label_look, label);
        let mut lead = format!("{:indent$}{painted}", "");
        let mut hang = beside;
        if label_width > 0 && self.style.text_width() < beside + NARROWEST_BODY {
            if !label.is_empty() {
                self.raw(&lead);
            }
            hang = indent + 2;
            lead = " ".repeat(hang);
        } else {
            lead.push_str(&" ".repeat(beside - indent - width(label)));
        }
        for line in wrap(text, self.style.text_width().saturating_sub(hang)) {
            self.raw(&format!("{lead}{}", self.style.paint(look, &line)));
            lead = " ".repeat(hang);
        }
    }
}

//! Two runs beside each other, for people and programs.
//!
//! A table for each operation and measure: the old figure, the new figure, the change, and its certainty. A `~` means
//! that the two cannot be told apart. The shape is that of Go's benchstat, familiar to its readers.

mod csv;
mod document;

pub(crate) use document::caption;

use crate::document::Reader;
use crate::format::{Format, Formats};
use crate::html::is_page;
use crate::json::pretty;
use crate::model::Diff;
use crate::style::Style;

/// The formats that a difference has, in the order of the documentation.
const FORMATS: Formats<Diff> = Formats(&[
    (Format::TABLE, |diff, style| document::document(diff, Reader::Terminal).to_terminal(style)),
    (Format::MARKDOWN, |diff, _| document::document(diff, Reader::Markdown).to_markdown(2)),
    (Format::HTML, |diff, _| document::document(diff, Reader::Page).to_page()),
    (Format::JSON, |diff, _| pretty(diff)),
    (Format::CSV, |diff, _| csv::render(diff)),
]);

/// A difference in this format, with a line feed at its end; `None` where differences have no such format.
pub fn render_diff(diff: &Diff, format: Format, style: Style) -> Option<String> {
    FORMATS.render(diff, format, style)
}

/// Whether a text is the page of a difference.
pub fn is_diff_page(text: &str) -> bool {
    is_page(text, document::DATA)
}

/// The formats that a difference has.
pub fn diff_formats() -> impl Iterator<Item = Format> {
    FORMATS.all()
}

impl Diff {
    /// The differences in circumstances between the two runs, in one line; `None` where they are alike.
    pub fn told_mixed(&self) -> Option<String> {
        let differing = |field: &crate::Differing| {
            format!("{} ({} against {})", field.name, field.old, field.new)
        };
        let fields: Vec<String> = self.mixed.iter().map(differing).collect();
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        (!fields.is_empty()).then(|| crate::figures::list(&fields))
    }
}

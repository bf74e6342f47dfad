//! What a trace tells, for people and programs. Every format has the same facts, tables and sentences.

mod actions;
pub(crate) mod amounts;
mod assumed;
mod document;
mod facts;
mod sentences;
pub(crate) mod tables;

use crate::document::Reader;
use crate::format::{Format, Formats};
use crate::html::is_page;
use crate::json::pretty;
use crate::model::TraceInfo;
use crate::style::Style;

/// The formats, in the order of the documentation.
const FORMATS: Formats<TraceInfo> = Formats(&[
    (Format::TABLE, |info, style| document::document(info, Reader::Terminal).to_terminal(style)),
    (Format::MARKDOWN, |info, _| document::document(info, Reader::Markdown).to_markdown(2)),
    (Format::HTML, |info, _| document::document(info, Reader::Page).to_page()),
    (Format::JSON, |info, _| pretty(info)),
]);

/// What is known of a trace in this format, with a line feed at its end; `None` where it has no such format.
pub fn render_info(info: &TraceInfo, format: Format, style: Style) -> Option<String> {
    FORMATS.render(info, format, style)
}

/// The formats that what is known of a trace has.
pub fn info_formats() -> impl Iterator<Item = Format> {
    FORMATS.all()
}

/// Whether a text is a page of what a trace tells.
pub fn is_info_page(text: &str) -> bool {
    is_page(text, document::DATA)
}

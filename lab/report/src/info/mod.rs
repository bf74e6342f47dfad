//! What a trace tells, for people and programs. Every format has the same facts, tables and sentences.

mod actions;
pub(crate) mod amounts;
pub(crate) mod assumed;
pub(crate) mod facts;
mod markdown;
pub(crate) mod sentences;
mod table;
pub(crate) mod tables;

use crate::format::Format;
use crate::html;
use crate::json::pretty;
use crate::model::TraceInfo;
use crate::style::Style;

/// Renders what is known of a trace as text.
type Render = fn(&TraceInfo, Style) -> String;

/// The formats, in the order of the documentation.
const FORMATS: [(Format, Render); 4] = [
    (Format::TABLE, table::render),
    (Format::MARKDOWN, |info, _| markdown::render(info)),
    (Format::HTML, |info, _| html::info::render(info)),
    (Format::JSON, |info, _| pretty(info)),
];

/// What is known of a trace in this format, with a line feed at its end; `None` where it has no such format.
pub fn render_info(info: &TraceInfo, format: Format, style: Style) -> Option<String> {
    let (_, render) = FORMATS.iter().find(|(known, _)| *known == format)?;
    Some(render(info, style))
}

/// The formats that what is known of a trace has.
pub fn info_formats() -> impl Iterator<Item = Format> {
    FORMATS.iter().map(|(format, _)| *format)
}

//! A format of a report.

use std::fmt;

use crate::model::Run;
use crate::style::Style;

/// The form in which a run is shown.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    pub(crate) name: &'static str,
    pub(crate) render: fn(&Run, Style) -> String,
}

impl Format {
    /// The name, as in `--format`.
    pub fn as_str(self) -> &'static str {
        self.name
    }
}

/// Two formats are the same when their names are.
impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

/// Renders a report as text.
type Render<T> = fn(&T, Style) -> String;

/// The formats of a kind of report that has not all of them, in the order of the documentation, each with its renderer.
pub(crate) struct Formats<T: 'static>(pub(crate) &'static [(Format, Render<T>)]);

impl<T> Formats<T> {
    /// A report in this format, with a line feed at its end; `None` where its kind has no such format.
    pub(crate) fn render(&self, report: &T, format: Format, style: Style) -> Option<String> {
        let (_, render) = self.0.iter().find(|(known, _)| *known == format)?;
        Some(render(report, style))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = Format> + use<T> {
        self.0.iter().map(|(format, _)| *format)
    }
}

/// A run in this format, with a line feed at its end. `style` matters to the formats for the terminal only.
pub fn render(run: &Run, format: Format, style: Style) -> String {
    (format.render)(run, style)
}

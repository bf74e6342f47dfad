//! The formats of a report. A new one is a file, and its lines here.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::model::Run;
use crate::style::Style;
use crate::{csv, markdown, matrix, table};

/// How a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// For the terminal: figures, sentences, checks.
    #[default]
    Table,
    /// For the terminal: each target against each other, as Perl's `cmpthese` prints it.
    Matrix,
    /// For a pull request.
    Markdown,
    /// All data, for other programs: `run.json`.
    Json,
    /// A line for each cell, for other programs.
    Csv,
}

/// Every format and its name.
const FORMATS: [(Format, &str); 5] = [
    (Format::Table, "table"),
    (Format::Matrix, "matrix"),
    (Format::Markdown, "markdown"),
    (Format::Json, "json"),
    (Format::Csv, "csv"),
];

impl Format {
    /// All formats, in the order of the documentation.
    pub fn all() -> impl Iterator<Item = Self> {
        FORMATS.into_iter().map(|(format, _)| format)
    }

    /// The name, as `--format` takes it.
    pub fn as_str(self) -> &'static str {
        FORMATS.iter().find(|(format, _)| *format == self).map_or("", |(_, name)| *name)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Format {
    type Err = Error;

    /// Reads the name of a format; any other is [`Error::UnknownFormat`], which lists the known ones.
    fn from_str(name: &str) -> Result<Self, Error> {
        let found = FORMATS.iter().find(|(_, known)| *known == name).map(|(format, _)| *format);
        found.ok_or_else(|| Error::UnknownFormat {
            name: name.to_owned(),
            known: FORMATS.map(|(_, name)| name).join(", "),
        })
    }
}

/// A run in this format, with a line feed at its end. `style` matters to the formats for the terminal only.
pub fn render(run: &Run, format: Format, style: Style) -> String {
    match format {
        Format::Table => table::render(run, style),
        Format::Matrix => matrix::render(run, style),
        Format::Markdown => markdown::render(run),
        Format::Json => run.to_json(),
        Format::Csv => csv::render(run),
    }
}

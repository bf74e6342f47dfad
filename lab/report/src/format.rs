//! The formats of a report. A new one is a file with its `FORMAT`, and a line in [`FORMATS`].

use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::model::Run;
use crate::style::Style;
use crate::{csv, html, json, markdown, matrix, table};

/// Every format, in the order of the documentation.
const FORMATS: &[Format] =
    &[table::FORMAT, matrix::FORMAT, markdown::FORMAT, html::FORMAT, json::FORMAT, csv::FORMAT];

/// The form in which a run is shown.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    pub(crate) name: &'static str,
    pub(crate) render: fn(&Run, Style) -> String,
}

impl Format {
    /// For the terminal: figures, sentences, checks.
    pub const TABLE: Self = table::FORMAT;
    /// For the terminal: each target against each other, as Perl's `cmpthese` prints it.
    pub const MATRIX: Self = matrix::FORMAT;
    /// For a pull request.
    pub const MARKDOWN: Self = markdown::FORMAT;
    /// One page for a browser, without any network request, to view and to pass on.
    pub const HTML: Self = html::FORMAT;
    /// All data, for other programs: `run.json`.
    pub const JSON: Self = json::FORMAT;
    /// A line for each cell, for other programs.
    pub const CSV: Self = csv::FORMAT;

    /// All formats, in the order of the documentation.
    pub fn all() -> impl Iterator<Item = Self> {
        FORMATS.iter().copied()
    }

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

impl FromStr for Format {
    type Err = Error;

    /// Reads the name of a format; any other name is [`Error::UnknownFormat`], which lists the known ones.
    fn from_str(name: &str) -> Result<Self, Error> {
        Self::all().find(|format| format.name == name).ok_or_else(|| Error::UnknownFormat {
            name: name.to_owned(),
            known: Self::all().map(Self::as_str).collect::<Vec<_>>().join(", "),
        })
    }
}

/// A run in this format, with a line feed at its end. `style` matters to the formats for the terminal only.
pub fn render(run: &Run, format: Format, style: Style) -> String {
    (format.render)(run, style)
}

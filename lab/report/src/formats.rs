//! The formats of a report. A new one is a file with its `FORMAT`, and a line in [`FORMATS`].

use std::str::FromStr;

use crate::error::Error;
use crate::format::Format;
use crate::{csv, html, json, matrix, run};

/// Every format, in the order of the documentation.
const FORMATS: &[Format] =
    &[run::TABLE, matrix::FORMAT, run::MARKDOWN, html::FORMAT, json::FORMAT, csv::FORMAT];

impl Format {
    /// For the terminal: figures, sentences, checks.
    pub const TABLE: Self = run::TABLE;
    /// For the terminal: each target against each other, as Perl's `cmpthese` prints it.
    pub const MATRIX: Self = matrix::FORMAT;
    /// For a pull request.
    pub const MARKDOWN: Self = run::MARKDOWN;
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

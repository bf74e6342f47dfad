//! The format in which a trace is read, and the reason for it: a reader of figures has to be able to see a wrong guess.

use std::fmt;

use super::format::TraceFormat;
use super::sink::About;

/// The format in which a file is read, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recognised {
    /// The format.
    pub format: TraceFormat,
    /// What it was recognised by, such as `by its first line`.
    pub reason: &'static str,
    /// The columns that are read, and those that are not, where the format has columns with names.
    pub columns: Option<String>,
}

impl fmt::Display for Recognised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.format, self.reason)?;
        self.columns.as_ref().map_or(Ok(()), |columns| write!(f, ": {columns}"))?;
        f.write_str(")")
    }
}

/// What a trace is read as: each format of its files that differs from those before it, and what was taken for granted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Formats {
    files: Vec<Recognised>,
    notes: Vec<String>,
}

impl Formats {
    /// Adds the format of the next file.
    pub fn add(&mut self, file: &Recognised) {
        if !self.files.contains(file) {
            self.files.push(file.clone());
        }
    }

    /// Adds what the reader took for granted, such as the unit of bare times.
    pub fn add_notes(&mut self, about: &About) {
        self.notes.extend_from_slice(&about.notes);
    }

    /// Whether no file was read.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

impl fmt::Display for Formats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = self.files.iter().map(ToString::to_string);
        let told: Vec<_> = files.chain(self.notes.iter().cloned()).collect();
        f.write_str(&told.join("; "))
    }
}

//! A trace as it is typed.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::{Trace, TraceError, TraceFormat};

/// Where a trace is: `FILE`, or `FILE?format=NAME` where its format cannot be recognised. Nothing is read
/// before [`TraceSource::open`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceSource {
    /// The file.
    pub path: PathBuf,
    /// Its format; `None` to recognise it.
    pub format: Option<TraceFormat>,
}

impl TraceSource {
    /// Reads it: all of it, or its first `at_most` operations.
    pub fn open(&self, at_most: Option<usize>) -> Result<Trace, TraceError> {
        Trace::open(&self.path, self.format, at_most)
    }

    /// Whether its format is one that says how large values are, as far as its name tells.
    pub fn may_have_sizes(&self) -> bool {
        let by_name = || TraceFormat::detect(&self.path.to_string_lossy(), b"").ok();
        self.format.or_else(by_name).is_none_or(|format| format.has_sizes)
    }
}

impl FromStr for TraceSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (path, format) = match text.rsplit_once("?format=") {
            Some((path, format)) => (path, Some(format.parse()?)),
            None => (text, None),
        };
        if path.is_empty() {
            return Err("no file; write trace:FILE".into());
        }
        Ok(Self { path: path.into(), format })
    }
}

impl fmt::Display for TraceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        self.format.map_or(Ok(()), |format| write!(f, "?format={format}"))
    }
}

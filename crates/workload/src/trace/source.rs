//! A trace as typed.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::{Trace, TraceError, TraceFormat};

/// The path of a trace: `FILE`, or `FILE?format=NAME` where its format cannot be recognised. Only [`TraceSource::open`]
/// reads the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceSource {
    /// The file.
    pub path: PathBuf,
    /// Its format; `None` to recognise it.
    pub format: Option<TraceFormat>,
}

impl TraceSource {
    /// Reads the trace: all of it, or its first `at_most` operations.
    pub fn open(&self, at_most: Option<usize>) -> Result<Trace, TraceError> {
        Trace::open(&self.path, self.format, at_most)
    }

    /// The format in which a new file is written: the given one, or the one that its name tells, as in `web.csv`.
    ///
    /// # Errors
    ///
    /// A sentence, where there is no such format or it is only read.
    pub fn format_to_write(&self) -> Result<TraceFormat, String> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let format = self.format.map_or_else(|| TraceFormat::of_new_file(&name), Ok)?;
        format.writer().map(|_| format)
    }

    /// Whether the trace may have the sizes of values, judged by its format or its name.
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

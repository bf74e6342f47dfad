//! Built-in scenarios that are generated from an argument: `twitter:12`.
//!
//! The result is the text of a scenario, so that a user can print, read and change it like any other.

use std::path::Path;

use larder_workload::trace::TraceSource;

use crate::error::{Result, usage};

/// A built-in scenario that is generated from an argument.
#[derive(Debug)]
pub struct GeneratedScenario {
    /// The name before the colon.
    pub name: &'static str,
    /// The placeholder of the argument, such as `N`.
    pub argument: &'static str,
    /// Whether the argument is a file.
    pub(super) is_file: bool,
    /// Its subject, in one line.
    pub summary: &'static str,
    /// The meaning and the source of the argument, for a user who left it out.
    pub(super) needs: &'static str,
    /// An argument that works on every machine.
    pub example: &'static str,
    /// The text of the scenario, or the reason why the argument is wrong.
    pub(super) make: fn(&str) -> Result<String, String>,
}

impl GeneratedScenario {
    /// The text of the scenario. A relative file is looked up in `folder`.
    pub(super) fn text(&self, argument: Option<&str>, folder: &Path) -> Result<String> {
        let Self { name, argument: word, needs, .. } = self;
        let Some(argument) = argument.filter(|argument| !argument.is_empty()) else {
            return Err(usage(format!("scenario `{name}`: write {name}:{word}, {needs}")));
        };
        let argument = match folder.join(argument).to_str() {
            Some(file) if self.is_file && !is_built_in(argument) => file.to_owned(),
            _ => argument.to_owned(),
        };
        (self.make)(&argument)
            .map_err(|wrong| usage(format!("scenario `{name}:{argument}`: {wrong}")))
    }
}

/// Whether a trace is no file.
fn is_built_in(trace: &str) -> bool {
    trace.parse().is_ok_and(|trace: TraceSource| trace.is_built_in())
}

/// A text in TOML's notation.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.into()).to_string()
}

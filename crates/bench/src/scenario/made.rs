//! Built-in scenarios that are made of an argument: `twitter:12`.
//!
//! The product is the text of a scenario, so that it can be printed, read, and changed like any other.

use std::path::Path;

use super::{twitter, web};
use crate::error::{Result, usage};

/// A built-in scenario that is made of an argument.
#[derive(Debug)]
pub struct Made {
    /// The name before the colon.
    pub name: &'static str,
    /// The placeholder of the argument behind it: `N`.
    pub argument: &'static str,
    /// It is a file.
    pub(super) is_file: bool,
    /// Its subject, in one line.
    pub summary: &'static str,
    /// The meaning and the source of the argument, for a person who left it out.
    pub(super) needs: &'static str,
    /// An argument that there is on every machine.
    pub example: &'static str,
    /// The text of the scenario, or why there is none for this argument.
    pub(super) make: fn(&str) -> Result<String, String>,
}

/// Those that are made of an argument. A new one is a file and a line here.
pub const MADE: &[Made] = &[web::WEB, twitter::TWITTER];

impl Made {
    /// The one that is meant by a name with or without an argument; `None` where the name is another's.
    pub(super) fn find(name: &str) -> Option<(&'static Self, Option<&str>)> {
        let (name, argument) = match name.split_once(':') {
            Some((name, argument)) => (name, Some(argument)),
            None => (name, None),
        };
        Some((MADE.iter().find(|made| made.name == name)?, argument))
    }

    /// The text of the scenario. A relative file is looked up in `folder`.
    pub(super) fn text(&self, argument: Option<&str>, folder: &Path) -> Result<String> {
        let Self { name, argument: word, needs, .. } = self;
        let Some(argument) = argument.filter(|argument| !argument.is_empty()) else {
            return Err(usage(format!("scenario `{name}`: write {name}:{word}, {needs}")));
        };
        let argument = match folder.join(argument).to_str() {
            Some(file) if self.is_file => file.to_owned(),
            _ => argument.to_owned(),
        };
        (self.make)(&argument)
            .map_err(|wrong| usage(format!("scenario `{name}:{argument}`: {wrong}")))
    }
}

/// A text as TOML writes it.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.into()).to_string()
}

//! Options of `larder serve` beside the command line: a TOML file with their long names, and variables of the environment.
//! The command line goes before the environment, and that before the file.

use std::env;
use std::ffi::OsString;
use std::fs;

use clap::parser::ValueSource;
use clap::{Arg, Args as _, Command};
use toml::{Table, Value};

use super::Arguments;
use crate::exit::Usage;

/// The beginning of the names of variables: `LARDER_SERVE_MAX_ITEM_SIZE` is `--max-item-size`.
const PREFIX: &str = "LARDER_SERVE_";

/// The option that names the file.
const CONFIG: &str = "config";

/// The words of the command line, with those of the environment and of the file behind `serve`.
///
/// # Errors
///
/// A file that cannot be read, or an option that does not exist.
pub(crate) fn with_sources(mut words: Vec<OsString>) -> Result<Vec<OsString>, Usage> {
    let command = Arguments::augment_args(Command::new("serve"));
    // A command line that is wrong is told as such later.
    let Ok(matches) = command.clone().try_get_matches_from(&words[1..]) else { return Ok(words) };
    let is_given = |argument: &Arg| {
        matches.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine)
    };
    let variable = |name: &str| env::var(format!("{PREFIX}{}", upper(name))).ok();
    let path = matches.get_one::<String>(CONFIG).cloned().or_else(|| variable(CONFIG));
    let mut file = path.as_deref().map(read).transpose()?.unwrap_or_default();
    let mut found = Vec::new();
    let variables = |name: &&str| variable(name).is_some();
    // The store is named in one of several ways: whoever goes before names it alone.
    let is_named = command.get_arguments().any(|it| names_store(it) && is_given(it));
    let is_named_outside = is_named || STORE.iter().any(variables);
    for argument in command.get_arguments() {
        let Some(name) = argument.get_long().filter(|name| *name != CONFIG) else { continue };
        let in_file = file.remove(name);
        if is_given(argument) || is_named && names_store(argument) {
            continue;
        }
        let in_file = in_file.filter(|_| !(is_named_outside && names_store(argument)));
        let value = variable(name).map(Value::String).or(in_file);
        if let Some(value) = value {
            found.extend(word(name, argument.get_action().takes_values(), &value)?);
        }
    }
    if let (Some(path), Some(name)) = (path, file.keys().next()) {
        return Err(Usage(format!(
            "{path}: there is no option `{name}`; the names are those of `larder serve --help`"
        )));
    }
    words.splice(2..2, found);
    Ok(words)
}

/// The options that name the store, beside its URL.
const STORE: [&str; 3] = ["store", "memory-limit", "memory-file"];

fn names_store(argument: &Arg) -> bool {
    argument.get_id() == "url" || argument.get_long().is_some_and(|name| STORE.contains(&name))
}

fn upper(name: &str) -> String {
    name.replace('-', "_").to_uppercase()
}

fn read(path: &str) -> Result<Table, Usage> {
    let text = fs::read_to_string(path).map_err(|error| Usage(format!("{path}: {error}")))?;
    text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |at| text[..at.start].matches('\n').count() + 1);
        Usage(format!("{path}: line {line}: {}", error.message()))
    })
}

/// The word of the command line for an option; none for a flag that is off.
fn word(name: &str, takes_value: bool, value: &Value) -> Result<Option<OsString>, Usage> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    };
    let told = match value {
        Value::Array(parts) => {
            parts.iter().map(text).collect::<Option<Vec<_>>>().map(|parts| parts.join(","))
        }
        value => text(value),
    };
    let is_on = match (value, told.as_deref()) {
        (Value::Boolean(is_on), _) => Some(*is_on),
        (_, Some("1" | "true")) => Some(true),
        (_, Some("0" | "false" | "")) => Some(false),
        _ => None,
    };
    match (takes_value, told, is_on) {
        (true, Some(told), _) => Ok(Some(format!("--{name}={told}").into())),
        (false, _, Some(is_on)) => Ok(is_on.then(|| format!("--{name}").into())),
        (true, ..) => Err(Usage(format!("{name} = {value}: a text, a number or a list of them"))),
        (false, ..) => Err(Usage(format!("{name} = {value}: true or false"))),
    }
}

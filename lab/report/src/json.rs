//! `run.json` in and out, and its schema.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::format::Format;
use crate::model::{Index, Run, SCHEMA_VERSION, TraceInfo};

/// The fields that must be readable in any `run.json`, however new.
#[derive(Deserialize)]
struct Envelope {
    schema: u32,
    #[serde(default)]
    larder: String,
}

/// The format `json`.
pub(crate) const FORMAT: Format = Format { name: "json", render: |run, _| run.to_json() };

impl Run {
    /// Reads a `run.json`. Fields that this version does not know are ignored.
    ///
    /// # Errors
    ///
    /// [`Error::NotARun`] where the text is no `run.json`, [`Error::UnknownSchema`] where its version of the model is
    /// not [`SCHEMA_VERSION`].
    pub fn from_json(text: &str) -> Result<Self, Error> {
        of_this_schema(text, |source| Error::NotARun { source })
    }

    /// Writes `run.json`: indented, with a line feed at its end.
    pub fn to_json(&self) -> String {
        pretty(self)
    }
}

impl Index {
    /// Reads an `index.json`, without the runs, which are in their own folders.
    ///
    /// # Errors
    ///
    /// [`Error::NotAnIndex`] where the text is no `index.json`, otherwise as for [`Run::from_json`].
    pub fn from_json(text: &str) -> Result<Self, Error> {
        of_this_schema(text, |source| Error::NotAnIndex { source })
    }

    /// Writes `index.json`: indented, with a line feed at its end.
    pub fn to_json(&self) -> String {
        pretty(self)
    }
}

fn of_this_schema<T: DeserializeOwned>(
    text: &str,
    other: fn(serde_json::Error) -> Error,
) -> Result<T, Error> {
    let Envelope { schema, larder } = serde_json::from_str(text).map_err(other)?;
    if schema != SCHEMA_VERSION {
        return Err(Error::UnknownSchema { found: schema, larder });
    }
    serde_json::from_str(text).map_err(other)
}

/// The JSON schema of `run.json`, indented, with a line feed at its end.
pub fn schema() -> String {
    published(schemars::schema_for!(Run))
}

/// The JSON schema of `trace-info.json`, indented, with a line feed at its end.
pub fn info_schema() -> String {
    published(schemars::schema_for!(TraceInfo))
}

fn published(schema: schemars::Schema) -> String {
    pretty(&sorted(schema.into()))
}

/// The same value with the keys of every object sorted: whether the library sorts them depends on features of other
/// crates.
fn sorted(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Object(object) => {
            let mut fields: Vec<_> = object.into_iter().collect();
            fields.sort_by(|(one, _), (other, _)| one.cmp(other));
            fields.into_iter().map(|(name, value)| (name, sorted(value))).collect()
        }
        Value::Array(values) => values.into_iter().map(sorted).collect(),
        value => value,
    }
}

pub(crate) fn pretty(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(value);
    lists_on_one_line(&text.expect("the model has no keys but texts, and memory takes it"))
}

/// Joins the lines of each list without objects. A run has thousands of numbers, and a line each would make its file
/// half as long again. Texts contain no line feeds, so a line that ends with `[` begins a list.
fn lists_on_one_line(indented: &str) -> String {
    let mut text = String::with_capacity(indented.len());
    let mut lines = indented.lines();
    while let Some(line) = lines.next() {
        text.push_str(line);
        let mut open = usize::from(line.ends_with('['));
        let (mut rest, mut joined) = (lines.clone(), String::new());
        while let Some(item) = rest.next().filter(|item| open > 0 && !item.ends_with('{')) {
            let item = item.trim_start();
            let closes = item.starts_with(']');
            open = if closes { open - 1 } else { open + usize::from(item.ends_with('[')) };
            if !closes && !joined.is_empty() && !joined.ends_with('[') {
                joined.push(' ');
            }
            joined.push_str(item);
            if open == 0 {
                text.push_str(&joined);
                lines = rest;
                break;
            }
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::pretty;

    #[test]
    fn numbers_share_a_line_and_objects_do_not() {
        let value = json!({
            "a": [1, 2.5, null],
            "b": [[0.5, 7], [1.0, 9]],
            "c": [{ "d": [] , "e": ["[", "{", "x\n]"] }, { "f": [1] }],
            "g": {},
        });
        let text = pretty(&value);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        let expected = r#"{
  "a": [1, 2.5, null],
  "b": [[0.5, 7], [1.0, 9]],
  "c": [
    {
      "d": [],
      "e": ["[", "{", "x\n]"]
    },
    {
      "f": [1]
    }
  ],
  "g": {}
}
"#;
        assert_eq!(text, expected);
    }
}

//! `run.json` in and out, and its schema.

use serde::Deserialize;

use crate::error::Error;
use crate::format::Format;
use crate::model::{Run, SCHEMA_VERSION};

/// What must be readable of any `run.json`, however new.
#[derive(Deserialize)]
struct Envelope {
    schema: u32,
    #[serde(default)]
    larder: String,
}

/// The format `json`.
pub(crate) const FORMAT: Format = Format { name: "json", render: |run, _| run.to_json() };

impl Run {
    /// Reads a `run.json`. Fields that this version does not know are passed over.
    ///
    /// # Errors
    ///
    /// [`Error::NotARun`] where the text is no `run.json`, [`Error::UnknownSchema`] where its version of the model is
    /// another one than [`SCHEMA_VERSION`].
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let Envelope { schema, larder } = serde_json::from_str(text)?;
        if schema != SCHEMA_VERSION {
            return Err(Error::UnknownSchema { found: schema, larder });
        }
        Ok(serde_json::from_str(text)?)
    }

    /// Writes `run.json`: indented, with a line feed at its end.
    pub fn to_json(&self) -> String {
        pretty(self)
    }
}

/// The JSON schema of `run.json`, indented, with a line feed at its end.
pub fn schema() -> String {
    pretty(&schemars::schema_for!(Run))
}

fn pretty(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(value);
    text.expect("the model has no keys but texts, and memory takes it") + "\n"
}

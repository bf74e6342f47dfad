//! Errors of a report: only its input can be wrong.

use crate::model::SCHEMA_VERSION;

/// The reason why a run cannot be read, or not be shown as requested.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file was written by a Larder with another model.
    #[error("run.json has schema {found}, written by larder {larder}; this larder reads schema {SCHEMA_VERSION}: {}", other(*found))]
    UnknownSchema {
        /// The version of the model in the file.
        found: u32,
        /// The version of Larder that wrote it.
        larder: String,
    },
    /// The text is no `run.json`.
    #[error("not a run.json: {source}; give the file that `larder compare` wrote")]
    NotARun {
        /// The input that could not be read, and the line.
        source: serde_json::Error,
    },
    /// The text is no `index.json`.
    #[error("not an index.json: {source}; give a folder that `larder compare` made of a set")]
    NotAnIndex {
        /// The input that could not be read, and the line.
        source: serde_json::Error,
    },
    /// No report has this name.
    #[error("unknown format `{name}`; known: {known}")]
    UnknownFormat {
        /// The name as typed.
        name: String,
        /// The names of all formats, comma-separated.
        known: String,
    },
}

/// The Larder to use for a model that this Larder does not read. A version alone may not tell: builds with different
/// models may share it.
fn other(schema: u32) -> &'static str {
    if schema > SCHEMA_VERSION {
        "take a newer build of larder, or measure again with this one"
    } else {
        "take an older build of larder, or measure again with this one"
    }
}

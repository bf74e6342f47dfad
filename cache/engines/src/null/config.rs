//! Options of `null:`.

use schemars::{JsonSchema, Schema, schema_for};
use serde::Deserialize;

/// The engine has no options.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct NullConfig {}

pub(super) fn schema() -> Schema {
    schema_for!(NullConfig)
}

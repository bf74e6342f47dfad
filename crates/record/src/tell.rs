//! What an operator should know.

use std::sync::Arc;

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// All is as it should be.
    Info,
    /// An operator may want to mend something.
    Warning,
    /// Something failed.
    Error,
}

/// Takes what an operator should know: its weight, its name, and a sentence. It must not wait.
pub type Tell = Arc<dyn Fn(Weight, &str, &str) + Send + Sync>;

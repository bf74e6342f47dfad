//! Notices for the operator.

use std::sync::Arc;

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Normal operation.
    Info,
    /// Something that an operator may want to fix.
    Warning,
    /// Something failed.
    Error,
}

/// Takes a notice for the operator: its severity, its name, and a sentence. It must not block.
pub type Notify = Arc<dyn Fn(Severity, &str, &str) + Send + Sync>;

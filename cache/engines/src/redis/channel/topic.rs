//! The channel to which a subscription is.

/// The channel to which the server reports changed keys.
pub(super) const REPORT: &str = "__redis__:invalidate";

/// What a subscription is to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Topic {
    Named(String),
    Report,
}

impl Topic {
    /// The name by which the server knows it.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Named(name) => name,
            Self::Report => REPORT,
        }
    }
}

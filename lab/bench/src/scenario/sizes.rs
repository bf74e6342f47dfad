//! How messages about capacities name the options of the command that asked for them.

/// Where the capacities of a plan come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sizes {
    /// The user typed them: `--capacity`.
    #[default]
    Typed,
    /// An advice chose them.
    Advised {
        /// Whether `--memory` limits them; otherwise the trace does.
        is_limited: bool,
    },
}

/// The reason why a target takes no capacity, with its remedy in `compare` and in `advise`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unbounded {
    typed: &'static str,
    advised: &'static str,
}

impl Unbounded {
    pub(crate) const EXTERNAL: Self = Self {
        typed: "an external server has a fixed size: leave out --capacity, or give no address, so that larder starts a \
                server",
        advised: "an external server has a fixed size: give no address, so that larder starts a server",
    };
    pub(crate) const STACK: Self = Self {
        typed: "each tier of a stack has a size of its own: leave out --capacity, or give the tiers `size`",
        advised: "each tier of a stack has a size of its own: name the tiers as candidates",
    };
    pub(crate) const NO_OPTION: Self = Self {
        typed: "has no option that bounds its size: leave out --capacity",
        advised: "has no option that bounds its size: name another cache",
    };
    pub(crate) const DROPS_NOTHING: Self = Self {
        typed: "drops nothing to make room: leave out --capacity",
        advised: "drops nothing to make room: name another cache",
    };
}

impl Sizes {
    /// The reason in words.
    pub(crate) fn unbounded(self, reason: Unbounded) -> &'static str {
        match self {
            Self::Typed => reason.typed,
            Self::Advised { .. } => reason.advised,
        }
    }

    /// The reason why a target does not open with so small a capacity. A trace has its own keys.
    pub(crate) fn too_small(self, why: &str, is_trace: bool) -> String {
        match self {
            Self::Typed => {
                let more_keys = if is_trace { "" } else { ", or more --keys" };
                format!(
                    "cannot be as small as --capacity asks: {why}; take a larger capacity{more_keys}"
                )
            }
            Self::Advised { is_limited: true } => {
                format!("cannot be so small: {why}; allow more --memory")
            }
            Self::Advised { is_limited: false } => {
                format!("cannot be so small: {why}, and the trace needs less")
            }
        }
    }

    /// The refusal of a target whose URL sets the size too.
    pub(crate) fn twice(self, option: &str, name: &str) -> String {
        match self {
            Self::Typed => format!("--capacity with `{option}` of {name}: leave out one of them"),
            Self::Advised { .. } => {
                format!("`{option}` of {name}: advise tries sizes; leave it out")
            }
        }
    }
}

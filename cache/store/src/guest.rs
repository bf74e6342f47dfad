//! Guests in the catalog: the facts that a plan needs about a cache inside another language.

use crate::Engine;

/// A cache of another language, as the catalog lists it.
#[derive(Debug, Clone, Copy)]
pub struct Guest {
    /// The guest's description, as of every other engine.
    pub engine: Engine,
    /// The language of the guest: the part of its scheme before the `+`.
    pub language: &'static str,
    /// The scheme of the engine whose servers the guest's client uses; `None` for a guest without servers.
    pub servers: Option<&'static str>,
    /// The option that limits the guest's size; `None` where there is no such option, or its servers have it.
    pub size_option: Option<&'static str>,
    /// Whether the entries lie in the memory of the guest's program, also in files that the program maps.
    pub in_memory: bool,
}

impl Guest {
    /// The scheme of a tier of the guest's stack; `tier` may leave out the language.
    pub fn scheme_of(&self, tier: &str) -> String {
        let prefix = format!("{}+", self.language);
        format!("{prefix}{}", tier.strip_prefix(&prefix).unwrap_or(tier))
    }
}

//! Guests in the catalog: what a plan must know of a cache that lives inside another language.

use crate::Engine;

/// A cache of another language, as the catalog lists it.
#[derive(Debug, Clone, Copy)]
pub struct Guest {
    /// Its description, as of every other engine.
    pub engine: Engine,
    /// The language that it lives in: what stands before the `+` of its scheme.
    pub language: &'static str,
    /// The scheme of the engine whose servers its client speaks to; `None` where it has no servers.
    pub servers: Option<&'static str>,
    /// The option that bounds how much it holds; `None` where nothing does, or its servers have it.
    pub size_option: Option<&'static str>,
    /// Its entries lie in the memory of its program, be it in files that the program maps.
    pub in_memory: bool,
}

impl Guest {
    /// The scheme of a tier of its stack, which may leave out the language.
    pub fn scheme_of(&self, tier: &str) -> String {
        let prefix = format!("{}+", self.language);
        format!("{prefix}{}", tier.strip_prefix(&prefix).unwrap_or(tier))
    }
}

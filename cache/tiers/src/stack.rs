//! The sessions of all tiers, and the state that connects them: reads, writes and loads work on it.

use std::sync::Arc;

use larder_store::Capabilities;

use crate::buffers::Tags;
use crate::fill_token::FillToken;
use crate::rules::Rules;
use crate::tier::TierSession;
use crate::tokens::Tokens;
use crate::write_behind::WriteBehind;

/// A session of each tier, and the state that connects them.
pub(crate) struct Stack {
    /// The sessions, the nearest tier first.
    pub(crate) tiers: Vec<TierSession>,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) capabilities: Capabilities,
    pub(crate) rules: Rules,
    /// The expired value of an upper tier, for the case that the lowest tier fails.
    pub(crate) fallback: Vec<u8>,
    pub(crate) write_behind: Arc<WriteBehind>,
    pub(crate) tags: Tags,
}

impl Stack {
    /// The token to fill a key above, as of now. A queued set that comes after this moment makes it void.
    pub(crate) fn fill_token(&mut self, key: &[u8]) -> FillToken {
        let (_, above, tokens) = self.split();
        FillToken::of_reader(above, tokens, key)
    }

    /// The lowest tier, those above it, and the tokens.
    pub(crate) fn split(&mut self) -> (&mut TierSession, &mut [TierSession], &Tokens) {
        let (lowest, above) = self.tiers.split_last_mut().expect("a stack has at least two tiers");
        (lowest, above, &self.tokens)
    }
}

//! Fill tokens: the permission of a reader or writer of a key to store above the tier on which it works.
//!
//! If the nearest tier has tokens of its own ([`Capabilities::tokens`](larder_store::Capabilities::tokens)), they guard it:
//! whoever shares that tier changes them, in any process. The stack's own tokens guard all other tiers, for this process.

use larder_store::{Put, Result};

use crate::tier::{RemainingTtl, TierSession};
use crate::tokens::{Token, TokenGuard, Tokens};

/// The token under which a key is stored above: it is valid until another caller writes the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FillToken {
    /// For the tiers without tokens of their own, and for a lowest tier without leases; `None` where there is none of these.
    own: Option<Token>,
    /// For the nearest tier, if it has tokens; `None` also where it is void.
    nearest: Option<larder_store::Token>,
}

/// An entry as a tier has it, to fill the tiers above. A value with tags stands there with their versions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LowerEntry<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
    pub(crate) flags: u32,
    pub(crate) remaining: RemainingTtl,
}

impl FillToken {
    /// The token of a reader that has not asked below yet.
    pub(crate) fn of_reader(above: &mut [TierSession], tokens: &Tokens, key: &[u8]) -> Self {
        Self {
            own: needs_own(above, tokens).then(|| tokens.of(key)),
            nearest: ask_nearest(above, key, |leases| leases.token(key).map(Some)),
        }
    }

    /// The token of a writer that has not begun yet. All other tokens of this key become void.
    pub(crate) fn of_writer(above: &mut [TierSession], tokens: &Tokens, key: &[u8]) -> Self {
        Self {
            own: needs_own(above, tokens).then(|| tokens.begin(key)),
            nearest: ask_nearest(above, key, |leases| leases.renew(key, None)),
        }
    }

    /// Whether this is the same token, so that nobody has written the key between the two moments when they were taken.
    pub(crate) fn is_same(&self, other: Self) -> bool {
        *self == other && self.is_some()
    }

    /// Whether a tier gave a token.
    fn is_some(&self) -> bool {
        self.own.is_some() || self.nearest.is_some()
    }

    /// The token of a writer in place of a reader's, if there is one and it still holds. All other tokens of this key become void.
    pub(crate) fn confirm(
        self,
        above: &mut [TierSession],
        tokens: &Tokens,
        key: &[u8],
    ) -> Option<Self> {
        let own = match self.own {
            Some(own) => Some(tokens.begin_if(own)?),
            None => None,
        };
        let nearest = match self.nearest {
            Some(held) => Some(ask_nearest(above, key, |leases| leases.renew(key, Some(&held)))?),
            None => None,
        };
        let fill_token = Self { own, nearest };
        // Without any token nobody knows whether the key has been written.
        fill_token.is_some().then_some(fill_token)
    }

    /// Keeps other sessions of this process from a write of the key; `None` where one has begun. Only for a stack whose lowest
    /// tier has no leases.
    pub(crate) fn hold(self, tokens: &Tokens) -> Option<TokenGuard<'_>> {
        tokens.hold(self.own?)
    }

    /// Fills a tier with the answer of one below, unless the key has been written meanwhile. `false` where it has.
    pub(crate) fn fill(
        self,
        tier: &mut TierSession,
        tokens: &Tokens,
        LowerEntry { key, value, flags, remaining }: LowerEntry<'_>,
    ) -> bool {
        if tier.has_tokens() {
            tier.populate(key, value, flags, remaining, self.nearest.as_ref());
            return true;
        }
        let held = self.own.and_then(|own| tokens.hold(own));
        if held.is_some() {
            tier.populate(key, value, flags, remaining, None);
        }
        held.is_some()
    }

    /// Stores a value in a tier that all tiers below have stored. Another writer of this key may have done the same: then the
    /// key is dropped, because it is not known whose value won below.
    pub(crate) fn put(
        &mut self,
        tier: &mut TierSession,
        tokens: &Tokens,
        Put { key, value, options }: &Put<'_>,
        remaining: RemainingTtl,
    ) {
        if tier.has_tokens() {
            // What readers got below before this moment may be the older value.
            self.nearest = self.nearest.and_then(|held| {
                ask_nearest(std::slice::from_mut(tier), key, |leases| {
                    leases.renew(key, Some(&held))
                })
            });
            match &self.nearest {
                Some(token) => tier.put(key, value, options.flags, remaining, Some(token)),
                None => drop(tier.drop_key(key)),
            }
            return;
        }
        let held = self.own.as_mut().and_then(|own| {
            tokens.go_on(own);
            tokens.hold(*own)
        });
        match held {
            Some(_held) => tier.put(key, value, options.flags, remaining, None),
            None => drop(tier.drop_key(key)),
        }
    }

    /// Removes a key from a tier; `true` if it was there.
    pub(crate) fn drop_key(&mut self, tier: &mut TierSession, tokens: &Tokens, key: &[u8]) -> bool {
        // A delete makes the tier's own tokens void.
        if let Some(own) = self.own.as_mut().filter(|_| !tier.has_tokens()) {
            tokens.go_on(own);
        }
        tier.drop_key(key)
    }

    /// Removes a key from all tiers above, the lowest of them first; `true` if it was in any.
    pub(crate) fn drop_everywhere(
        mut self,
        above: &mut [TierSession],
        tokens: &Tokens,
        key: &[u8],
    ) -> bool {
        let mut drop_key = |tier| self.drop_key(tier, tokens, key);
        above.iter_mut().rev().fold(false, |was_there, tier| drop_key(tier) | was_there)
    }
}

/// Whether the stack's own tokens guard anything.
fn needs_own(above: &[TierSession], tokens: &Tokens) -> bool {
    tokens.guard_loads() || above.iter().any(|tier| !tier.has_tokens())
}

/// A token of the nearest tier, if it has tokens. If it does not answer, nothing is stored there.
fn ask_nearest(
    above: &mut [TierSession],
    key: &[u8],
    ask: impl FnOnce(&mut dyn larder_store::Leases) -> Result<Option<larder_store::Token>>,
) -> Option<larder_store::Token> {
    let nearest = above.first_mut().filter(|tier| tier.has_tokens() && tier.tier.takes(key))?;
    ask(nearest.session.leases()?).ok().flatten()
}

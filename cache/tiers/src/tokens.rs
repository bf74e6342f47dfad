//! Fill tokens: whether a key has been written since a reader took its token.
//!
//! A reader that misses in an upper tier asks below and fills in the answer. In between, a writer may replace or delete
//! the value, and drop the key above before the fill. The fill would then bring an old value back. So a reader takes
//! the key's token before it asks below, and fills only while the token holds. (So do the leases of Nishtala et al.,
//! "Scaling Memcache at Facebook", 2013, and the put tokens of `CacheLib`.)
//!
//! A writer invalidates the tokens of its key before it begins, and again between each tier and the tier above it. A
//! reader that asked the lower tier before that moment may have got the old value; a reader that asks after it gets the
//! new value. No token is invalidated during a fill under a token that holds. So a fill comes before the writer's own
//! step in the same tier, which overwrites or drops the value, or not at all.
//!
//! When several writers write one key at the same moment, each stores above only if no other has written since it
//! began. Otherwise it drops the key, because it does not know whose value won below.
//!
//! Keys share tokens by their hash. A key that shares its token with a key under write misses one fill.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, TryLockError};

/// The number of tokens, which take 128 KiB. With 64 threads that write through to a far server, one fill in a hundred
/// meets another key's write.
const N_STRIPES: usize = 1 << 13;

/// The tokens of a stack, which all of its sessions share.
#[derive(Debug)]
pub(crate) struct Tokens {
    stripes: Box<[Stripe]>,
    guards_loads: bool,
}

/// The state that the keys of one hash share.
#[derive(Debug, Default)]
struct Stripe {
    /// The number of times that writers have invalidated the stripe's tokens.
    count: AtomicU64,
    /// Held for reading by sessions that store above, so that the count does not move; held for writing to move the
    /// count.
    moves: RwLock<()>,
}

/// The state of a key's writes at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    stripe: usize,
    count: u64,
}

/// While this lives, the token holds.
pub(crate) type TokenGuard<'a> = RwLockReadGuard<'a, ()>;

impl Tokens {
    /// With `guards_loads` they also guard what is loaded into the lowest tier, because that has no leases.
    pub(crate) fn new(guards_loads: bool) -> Self {
        let stripes = (0..N_STRIPES).map(|_| Stripe::default()).collect();
        Self { stripes, guards_loads }
    }

    pub(crate) fn guard_loads(&self) -> bool {
        self.guards_loads
    }

    /// The token of a key, for a reader that has not asked below yet.
    pub(crate) fn of(&self, key: &[u8]) -> Token {
        let stripe = stripe_of(key);
        Token { stripe, count: self.stripes[stripe].count.load(Ordering::SeqCst) }
    }

    /// The token of a key, for a writer that has not begun yet. All other tokens of this key become void.
    pub(crate) fn begin(&self, key: &[u8]) -> Token {
        let stripe = stripe_of(key);
        Token { stripe, count: self.stripes[stripe].invalidate() }
    }

    /// The token of a writer in place of a reader's, if that still holds. All other tokens of this key become void.
    pub(crate) fn begin_if(&self, reader: Token) -> Option<Token> {
        let count = self.stripes[reader.stripe].invalidate();
        (count == reader.count + 1).then_some(Token { count, ..reader })
    }

    /// Makes all other tokens of the key void again, between one tier and the next. This token stays if no other
    /// session has written meanwhile.
    pub(crate) fn go_on(&self, token: &mut Token) {
        let count = self.stripes[token.stripe].invalidate();
        if count == token.count + 1 {
            token.count = count;
        }
    }

    /// Keeps a token from becoming void; `None` where the token is void, or is about to be.
    pub(crate) fn hold(&self, token: Token) -> Option<TokenGuard<'_>> {
        let stripe = &self.stripes[token.stripe];
        let held = match stripe.moves.try_read() {
            Ok(held) => held,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        (stripe.count.load(Ordering::SeqCst) == token.count).then_some(held)
    }

    /// Makes the tokens of all keys void.
    pub(crate) fn invalidate_all(&self) {
        for stripe in &self.stripes {
            stripe.invalidate();
        }
    }
}

impl Stripe {
    /// Moves the count, once no session stores above, and returns it.
    fn invalidate(&self) -> u64 {
        let _alone = self.moves.write().unwrap_or_else(PoisonError::into_inner);
        self.count.fetch_add(1, Ordering::SeqCst) + 1
    }
}

fn stripe_of(key: &[u8]) -> usize {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    usize::try_from(hasher.finish() % N_STRIPES as u64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_holds_until_the_key_is_written() {
        let tokens = Tokens::new(false);
        let reader = tokens.of(b"k");
        assert!(tokens.hold(reader).is_some());
        let mut writer = tokens.begin(b"k");
        assert!(tokens.hold(reader).is_none() && tokens.hold(writer).is_some());
        let during = tokens.of(b"k");
        tokens.go_on(&mut writer);
        assert!(tokens.hold(during).is_none() && tokens.hold(writer).is_some());
        assert!(tokens.begin_if(during).is_none(), "no writer begins under a void token");
        let reader = tokens.of(b"k");
        assert!(tokens.begin_if(reader).is_some_and(|writer| tokens.hold(writer).is_some()));
        let after = tokens.of(b"k");
        tokens.invalidate_all();
        assert!(tokens.hold(after).is_none());
    }

    #[test]
    fn of_two_writers_at_once_at_most_the_later_keeps_its_token() {
        let tokens = Tokens::new(false);
        let (mut one, mut two) = (tokens.begin(b"k"), tokens.begin(b"k"));
        assert!(tokens.hold(one).is_none());
        tokens.go_on(&mut one);
        tokens.go_on(&mut two);
        tokens.go_on(&mut one);
        assert!(tokens.hold(one).is_none() && tokens.hold(two).is_none());
    }

    #[test]
    fn a_writer_waits_while_a_token_is_held() {
        let tokens = Tokens::new(false);
        let token = tokens.of(b"k");
        let held = tokens.hold(token).unwrap();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| tokens.begin(b"k"));
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!writer.is_finished());
            drop(held);
            writer.join().unwrap();
        });
        assert!(tokens.hold(token).is_none());
    }
}

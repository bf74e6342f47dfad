//! Fill tokens: whether a key has been written since somebody looked.
//!
//! A reader that misses above asks below and fills in what it is answered. Between the two a writer may have replaced or
//! deleted the value and dropped the key above, where nothing was yet: the fill would bring back what has gone. So a reader
//! takes the key's token before it asks below, and fills only while the token holds (as leases do in Nishtala et al.,
//! "Scaling Memcache at Facebook", 2013, and the put tokens of `CacheLib`).
//!
//! A writer invalidates the tokens of its key before it begins, and again whenever one tier is done and the one above it
//! is to follow: a reader that asked the lower one before that moment may have been told the old value, one that asks
//! after it is told the new one. Nothing is invalidated while somebody fills under a token that holds. So a fill either
//! comes before what the writer then does in the same tier, which overwrites or drops it, or does not come at all.
//!
//! Of writers of one key at the same moment, each stores above only if nobody else has written since it began, and drops
//! the key otherwise: nobody knows whose value won below.
//!
//! Keys share tokens by their hash. One that shares with a key that is written at the very moment is not filled once.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, TryLockError};

/// How many tokens there are. With 64 threads that write through to a far server, one fill in a hundred meets another key's
/// write; they take 128 KiB.
const N_STRIPES: usize = 1 << 13;

/// The tokens of a stack, which all of its sessions share.
#[derive(Debug)]
pub(super) struct Tokens {
    stripes: Box<[Stripe]>,
}

/// The state that the keys of one hash share.
#[derive(Debug, Default)]
struct Stripe {
    /// How often a writer has invalidated its tokens.
    count: AtomicU64,
    /// Read by those who store above while the count must not move, written by those who move it.
    moves: RwLock<()>,
}

/// The knowledge of a key's writes at a moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    stripe: usize,
    count: u64,
}

/// While this lives, the token holds.
pub(super) type Held<'a> = RwLockReadGuard<'a, ()>;

impl Default for Tokens {
    fn default() -> Self {
        Self { stripes: (0..N_STRIPES).map(|_| Stripe::default()).collect() }
    }
}

impl Tokens {
    /// The token of a key, for a reader that has not asked below yet.
    pub(super) fn of(&self, key: &[u8]) -> Token {
        let stripe = stripe_of(key);
        Token { stripe, count: self.stripes[stripe].count.load(Ordering::SeqCst) }
    }

    /// The token of a key, for a writer that has not begun yet. All others of this key are void.
    pub(super) fn begin(&self, key: &[u8]) -> Token {
        let stripe = stripe_of(key);
        Token { stripe, count: self.stripes[stripe].invalidate() }
    }

    /// Makes all other tokens of the key void again, between one tier and the next. This one stays if nobody else has
    /// written meanwhile.
    pub(super) fn go_on(&self, token: &mut Token) {
        let count = self.stripes[token.stripe].invalidate();
        if count == token.count + 1 {
            token.count = count;
        }
    }

    /// Keeps a token from becoming void; `None` where it is, or is about to be.
    pub(super) fn hold(&self, token: Token) -> Option<Held<'_>> {
        let stripe = &self.stripes[token.stripe];
        let held = match stripe.moves.try_read() {
            Ok(held) => held,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        (stripe.count.load(Ordering::SeqCst) == token.count).then_some(held)
    }

    /// Makes the tokens of all keys void.
    pub(super) fn invalidate_all(&self) {
        for stripe in &self.stripes {
            stripe.invalidate();
        }
    }
}

impl Stripe {
    /// Moves the count, once nobody stores above, and returns it.
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
        let tokens = Tokens::default();
        let reader = tokens.of(b"k");
        assert!(tokens.hold(reader).is_some());
        let mut writer = tokens.begin(b"k");
        assert!(tokens.hold(reader).is_none() && tokens.hold(writer).is_some());
        let during = tokens.of(b"k");
        tokens.go_on(&mut writer);
        assert!(tokens.hold(during).is_none() && tokens.hold(writer).is_some());
        let after = tokens.of(b"k");
        tokens.invalidate_all();
        assert!(tokens.hold(after).is_none());
    }

    #[test]
    fn of_two_writers_at_once_the_later_one_to_begin_or_none_keeps_its_token() {
        let tokens = Tokens::default();
        let (mut one, mut two) = (tokens.begin(b"k"), tokens.begin(b"k"));
        assert!(tokens.hold(one).is_none());
        tokens.go_on(&mut one);
        tokens.go_on(&mut two);
        tokens.go_on(&mut one);
        assert!(tokens.hold(one).is_none() && tokens.hold(two).is_none());
    }

    #[test]
    fn nobody_writes_while_a_token_is_held() {
        let tokens = Tokens::default();
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

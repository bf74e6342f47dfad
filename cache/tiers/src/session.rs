//! One thread's handle: a session of each tier.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use larder_store::layer::{Call, CallKind, Keys, Outcome};
use larder_store::{
    Capabilities, Counted, DeleteDone, Delta, Initial, Leases, Meta, Put, Result, Session, SetDone,
    SetOptions, SetOutcome,
};

use crate::buffers::{Batch, Tags};
use crate::jitter::Jitter;
use crate::layer::spans::Spans;
use crate::loads::Loads;
use crate::lookup::Lookup;
use crate::rules::Rules;
use crate::stack::Stack;
use crate::tier::{Tier, TierSession};
use crate::tokens::Tokens;
use crate::write_behind::WriteBehind;
use crate::{SCHEME, read, write};

/// One thread's handle on a stack: a [`Session`] that can also name the tier that answered.
pub struct TiersSession {
    pub(crate) stack: Stack,
    pub(crate) batch: Batch,
    pub(crate) loads: Arc<Loads>,
    pub(crate) jitter: Jitter,
    /// `None` where no spans are asked for.
    pub(crate) spans: Option<Spans>,
}

impl TiersSession {
    pub(crate) fn open(
        tiers: &[Arc<Tier>],
        tokens: &Arc<Tokens>,
        capabilities: Capabilities,
        rules: Rules,
        loads: &Arc<Loads>,
        write_behind: &Arc<WriteBehind>,
        spans: Option<Spans>,
    ) -> Result<Self> {
        let tiers = tiers.iter().map(TierSession::open).collect::<Result<_>>()?;
        let fallback = Vec::new();
        let (tokens, write_behind) = (Arc::clone(tokens), Arc::clone(write_behind));
        let stack = Stack {
            tiers,
            tokens,
            capabilities,
            rules,
            fallback,
            write_behind,
            tags: Tags::default(),
        };
        let (loads, jitter) = (Arc::clone(loads), Jitter::default());
        Ok(Self { stack, batch: Batch::default(), loads, jitter, spans })
    }
}

impl TiersSession {
    /// Copies the value under `key` into `value`, as [`Session::get`] does, and returns the number of the tier that answered. An
    /// entry that is kept for the time of grace is an answer here, and is marked as stale.
    pub fn lookup(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Lookup> {
        let call = Call::repeatable(CallKind::Read, "lookup", Keys::One(key));
        self.traced(&call, |it| {
            let found = read::lookup(&mut it.stack, key, value);
            call.tell_bytes(value.len());
            found
        })
    }

    /// Carries a call out, with a span where the stack has spans.
    #[inline]
    pub(crate) fn traced<T: Outcome>(
        &mut self,
        call: &Call<'_>,
        run: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let active = self.spans.as_ref().and_then(|spans| spans.begin(call));
        let Some(active) = active else { return run(self) };
        let result = run(self);
        active.end(call, &result);
        result
    }
}

impl fmt::Debug for TiersSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.stack.tiers.iter().map(|tier| &tier.tier.name);
        f.debug_list().entries(names).finish()
    }
}

impl Session for TiersSession {
    fn engine(&self) -> &'static str {
        SCHEME
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        let call = Call::repeatable(CallKind::Read, "get", Keys::One(key));
        self.traced(&call, |it| {
            let found = read::get(&mut it.stack, key, value);
            call.tell_bytes(value.len());
            found
        })
    }

    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        let call = Call::repeatable(CallKind::ReadMany, "get_many", Keys::Many(keys));
        self.traced(&call, |it| {
            read::get_many(&mut it.stack, &mut it.batch, keys, &mut |i, value, meta| {
                call.answer();
                hit(i, value, meta);
            })
        })
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        let call = Call::set(key, value, options);
        self.traced(&call, |it| it.set_with_tags(key, value, options, &[]))
    }

    fn get_and_touch(
        &mut self,
        key: &[u8],
        ttl: Option<Duration>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        let call = Call::repeatable(CallKind::Touch, "get_and_touch", Keys::One(key));
        self.traced(&call, |it| {
            let found = write::get_and_touch(&mut it.stack, key, ttl, value);
            call.tell_bytes(value.len());
            found
        })
    }

    fn set_many(&mut self, entries: &[Put<'_>], done: &mut SetDone<'_>) -> Result<()> {
        let call = Call::set_many(entries);
        self.traced(&call, |it| {
            write::set_many_plain(&mut it.stack, entries, &mut |i, outcome| {
                call.answer_with(&outcome);
                done(i, outcome);
            })
        })
    }

    fn delete_many(&mut self, keys: &[&[u8]], done: &mut DeleteDone<'_>) -> Result<()> {
        let call = Call::repeatable(CallKind::Delete, "delete_many", Keys::Many(keys));
        self.traced(&call, |it| {
            write::delete_many(&mut it.stack, keys, &mut |i, outcome| {
                call.answer_with(&outcome);
                done(i, outcome);
            })
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        let call = Call::repeatable(CallKind::Delete, "delete", Keys::One(key));
        self.traced(&call, |it| write::delete(&mut it.stack, key))
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        let call = Call::repeatable(CallKind::Touch, "touch", Keys::One(key));
        self.traced(&call, |it| write::touch(&mut it.stack, key, ttl))
    }

    fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<Initial>,
    ) -> Result<Option<Counted>> {
        let call = Call::once(CallKind::Count, "incr", Keys::One(key));
        self.traced(&call, |it| write::incr(&mut it.stack, key, delta, absent))
    }

    fn leases(&mut self) -> Option<&mut dyn Leases> {
        if self.stack.capabilities.leases { Some(self) } else { None }
    }

    fn clear(&mut self) -> Result<()> {
        let call = Call::repeatable(CallKind::Clear, "clear", Keys::None);
        self.traced(&call, |it| write::clear(&mut it.stack))
    }

    fn settle(&mut self) -> Result<()> {
        self.stack.write_behind.settle_all()?;
        self.stack.tiers.iter_mut().try_for_each(|tier| tier.session.settle())
    }
}

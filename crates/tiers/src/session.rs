//! One thread's handle: a session of each tier.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use larder_store::{
    Capabilities, Counted, DeleteDone, Delta, Initial, Leases, Meta, Put, Result, Session, SetDone,
    SetOptions, SetOutcome,
};

use crate::batch::{self, Batch};
use crate::jitter::Jitter;
use crate::late::LateWrites;
use crate::load::Loads;
use crate::lookup::Lookup;
use crate::rules::Rules;
use crate::tags::Tags;
use crate::tier::{Tier, TierSession};
use crate::tokens::Tokens;
use crate::{SCHEME, read, tags, write};

/// A session of each tier, and the state that connects them.
pub(crate) struct Stack {
    /// The sessions, the nearest tier first.
    pub(crate) tiers: Vec<TierSession>,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) capabilities: Capabilities,
    pub(crate) rules: Rules,
    /// The value of an upper tier that is over, for the case that the lowest tier fails.
    pub(crate) aside: Vec<u8>,
    pub(crate) late: Arc<LateWrites>,
    pub(crate) tags: Tags,
}

/// One thread's handle on a stack: a [`Session`], which can also tell the tier that answered.
pub struct TiersSession {
    pub(crate) stack: Stack,
    pub(crate) batch: Batch,
    pub(crate) loads: Arc<Loads>,
    pub(crate) jitter: Jitter,
}

impl TiersSession {
    pub(crate) fn open(
        tiers: &[Arc<Tier>],
        tokens: &Arc<Tokens>,
        capabilities: Capabilities,
        rules: Rules,
        loads: &Arc<Loads>,
        late: &Arc<LateWrites>,
    ) -> Result<Self> {
        let tiers = tiers.iter().map(TierSession::open).collect::<Result<_>>()?;
        let aside = Vec::new();
        let (tokens, late) = (Arc::clone(tokens), Arc::clone(late));
        let stack =
            Stack { tiers, tokens, capabilities, rules, aside, late, tags: Tags::default() };
        let (loads, jitter) = (Arc::clone(loads), Jitter::default());
        Ok(Self { stack, batch: Batch::default(), loads, jitter })
    }
}

impl TiersSession {
    /// Copies the value under `key` into `value`, as [`Session::get`] does, and tells which tier answered. An entry that is
    /// kept for the time of grace is an answer here, and is told to be stale.
    pub fn lookup(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Lookup> {
        read::lookup(&mut self.stack, key, value)
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
        read::get(&mut self.stack, key, value)
    }

    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        batch::get_many(&mut self.stack, &mut self.batch, keys, hit)
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        self.set_stamped(key, value, options, &[])
    }

    fn get_and_touch(
        &mut self,
        key: &[u8],
        ttl: Option<Duration>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        write::get_and_touch(&mut self.stack, (key, ttl), value)
    }

    fn set_many(&mut self, entries: &[Put<'_>], done: &mut SetDone<'_>) -> Result<()> {
        if !self.stack.rules.tags {
            return write::set_many(&mut self.stack, entries, done);
        }
        let forms = tags::Forms::of(entries.iter().map(|put| put.value), &[]);
        let puts: Vec<_> =
            entries.iter().zip(forms.iter()).map(|(put, value)| Put { value, ..*put }).collect();
        write::set_many(&mut self.stack, &puts, &mut |i, outcome| {
            done(i, outcome.map_err(|error| forms.told(error)));
        })
    }

    fn delete_many(&mut self, keys: &[&[u8]], done: &mut DeleteDone<'_>) -> Result<()> {
        write::delete_many(&mut self.stack, keys, done)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        write::delete(&mut self.stack, key)
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        write::touch(&mut self.stack, key, ttl)
    }

    fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<Initial>,
    ) -> Result<Option<Counted>> {
        write::incr(&mut self.stack, key, delta, absent)
    }

    fn leases(&mut self) -> Option<&mut dyn Leases> {
        if self.stack.capabilities.leases { Some(self) } else { None }
    }

    fn clear(&mut self) -> Result<()> {
        write::clear(&mut self.stack)
    }

    fn settle(&mut self) -> Result<()> {
        self.stack.late.settle_all()?;
        self.stack.tiers.iter_mut().try_for_each(|tier| tier.session.settle())
    }
}

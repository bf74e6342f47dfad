//! A look-aside cache with a policy, step by step.
//!
//! A read that misses stores its entry at once, as an application does that fills its cache. Writes store, deletes
//! remove. An entry whose TTL is over is a miss when it is next read, and takes room until then.

use larder_report::MeasuredIn;

use crate::policy::Policy;
use crate::step::{Step, Use};

/// A cache in the middle of its steps.
#[derive(Debug)]
pub(crate) struct Cache<P> {
    policy: P,
    measure: MeasuredIn,
    /// By key, the time at which its entry expires; empty where no entry does.
    expiries: Vec<u32>,
    /// What was stored that was not there, in the unit of the capacity.
    pub(crate) inserted: u64,
}

impl<P: Policy> Cache<P> {
    /// An empty cache for keys below `n_keys`.
    pub(crate) fn new(capacity: u64, measure: MeasuredIn, n_keys: usize, expires: bool) -> Self {
        let expiries = vec![u32::MAX; if expires { n_keys } else { 0 }];
        Self { policy: P::new(capacity, n_keys), measure, expiries, inserted: 0 }
    }

    /// Makes a step. `Some` tells of a read whether it hit.
    #[inline]
    pub(crate) fn step(&mut self, step: &Step) -> Option<bool> {
        let is_there = self.policy.has(step.key);
        let is_expired = is_there
            && self.expiries.get(step.key as usize).is_some_and(|expiry| step.at >= *expiry);
        match step.usage {
            Use::Read | Use::Look if is_there && !is_expired => {
                self.policy.touch(step.key);
                return Some(true);
            }
            Use::Read | Use::Look => {
                if is_expired {
                    self.policy.remove(step.key);
                }
                if step.usage == Use::Read {
                    self.store(step, false);
                }
                return Some(false);
            }
            Use::Write => self.store(step, is_there),
            Use::Add if !is_there || is_expired => self.store(step, is_there),
            Use::Change if is_there && !is_expired => {
                self.policy.store(step.key, step.size_in(self.measure));
            }
            Use::Renew if is_there && !is_expired => self.expire(step),
            Use::Drop if is_there => self.policy.remove(step.key),
            Use::Add | Use::Change | Use::Renew | Use::Drop => {}
        }
        None
    }

    fn store(&mut self, step: &Step, was_there: bool) {
        let size = step.size_in(self.measure);
        self.policy.store(step.key, size);
        self.expire(step);
        if !was_there {
            self.inserted += u64::from(size);
        }
    }

    fn expire(&mut self, step: &Step) {
        if let Some(expiry) = self.expiries.get_mut(step.key as usize) {
            *expiry = step.expiry();
        }
    }
}

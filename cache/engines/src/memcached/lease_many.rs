//! Leases of many keys: each step is one request and one pass over the answers for each node, at all nodes at
//! once.
//!
//! A batch whose keys are absent, or fresh, takes one step. Stale entries take two more, as each of them does alone.

use std::time::Duration;

use larder_protocol::meta;
use larder_protocol::meta::delete::DeleteReply;
use larder_protocol::storage::{StorageMode, StorageRequest};
use larder_store::{Answer, DeleteDone, LeaseDone, Leased, Meta, Result, SetOutcome, Token};

use super::batch::{Encoding, Item, NodeAnswer, note};
use super::calls::{Leasing, encode_mark_again, no_room_for_a_lease, version_of_its_mark};
use super::leases::{Right, lease_of};
use super::outstanding::{NodePeer, SentRequest};
use super::reply::Reply;
use super::request::add_set;
use super::session::MemcachedSession;
use super::terms::Wire;
use crate::pipelined::{Link, report_all};

/// A stale entry, of which this client may get the lease.
#[derive(Debug)]
struct Stale {
    /// The place of its key.
    place: usize,
    value: Vec<u8>,
    meta: Meta,
    version: u64,
    /// The name of its lease.
    name: Vec<u8>,
}

impl MemcachedSession {
    /// As [`get_or_lease_many`](larder_store::Leases::get_or_lease_many), with the end of the leases as the server takes it.
    pub(super) fn values_or_leases(
        &mut self,
        keys: &[&[u8]],
        exptime: i64,
        early: Duration,
        done: &mut LeaseDone<'_>,
    ) -> Result<()> {
        let mut refusals: Vec<_> = keys.iter().map(|key| self.shared.check(key).err()).collect();
        let places = (0..keys.len()).filter(|i| refusals[*i].is_none()).collect::<Vec<_>>();
        let (mut stale, mut again) = (Vec::new(), Vec::new());
        let items: Vec<Item> = places.iter().map(|i| self.item(*i, keys[*i])).collect();
        let encoding = Encoding {
            value_len: |_| 0,
            request: |_, id| SentRequest::GetOrLease { id },
            encode: |link: &mut Link<NodePeer>, i: usize| {
                meta::get::encode_or_lease(link.output(), keys[i], exptime);
            },
        };
        let asked = self.call_each(&items, encoding, |i, came| {
            let (leasing, value) = match came {
                NodeAnswer::Answer(Answer::Hit { value, meta }) => {
                    (Ok(Leasing::Value(meta)), value)
                }
                NodeAnswer::Answer(Answer::Failed(refusal)) => (Err(refusal), &b""[..]),
                NodeAnswer::Reply(Reply::Lease(lease)) => (Leasing::of(lease), &b""[..]),
                _ => (Err(no_room_for_a_lease()), &b""[..]),
            };
            match leasing {
                Ok(Leasing::Value(meta)) if !meta.stale && !meta.ttl.ends_within(early) => {
                    done(i, value, Ok(Leased::Hit(meta)));
                }
                Ok(Leasing::Value(Meta { version: None, .. })) => again.push(i),
                Ok(Leasing::Value(meta)) => stale.push(Stale::of(i, keys[i], value, meta)),
                Ok(Leasing::Lease { version, is_won: true, .. }) => {
                    let token = Right::Absent { version }.token(keys[i]);
                    done(i, b"", Ok(Leased::Load { token, stale: None }));
                }
                Ok(Leasing::Lease { lasts: true, .. }) => again.push(i),
                Ok(Leasing::Lease { .. }) => done(i, b"", Ok(Leased::Wait { stale: None })),
                Err(refusal) => done(i, b"", Err(refusal)),
            }
        });
        let mut failed = asked.err();
        for (i, refusal) in refusals.iter_mut().enumerate() {
            if let Some(refusal) = refusal.take() {
                done(i, b"", Err(refusal));
            }
        }
        if let Err(error) = self.leases_of_stale(keys, &stale, exptime, &mut again, done) {
            note(&mut failed, error);
        }
        // Few keys: other clients have changed them meanwhile.
        let mut value = Vec::new();
        for i in again {
            let leased = self.value_or_lease(keys[i], &mut value, exptime, early);
            done(i, &value, leased);
        }
        failed.map_or(Ok(()), Err)
    }

    /// Gives the leases of stale entries, unless other clients have them. Keys whose entries were changed go to `again`.
    fn leases_of_stale(
        &mut self,
        keys: &[&[u8]],
        stale: &[Stale],
        exptime: i64,
        again: &mut Vec<usize>,
        done: &mut LeaseDone<'_>,
    ) -> Result<()> {
        if stale.is_empty() {
            return Ok(());
        }
        let key = |j: usize| keys[stale[j].place];
        let mut won: Vec<(usize, u64)> = Vec::new();
        let items: Vec<Item> = (0..stale.len()).map(|j| self.item(j, key(j))).collect();
        let encoding = Encoding {
            value_len: |_| 0,
            request: |_, _| SentRequest::Set { value_len: 0 },
            encode: |link: &mut Link<NodePeer>, j: usize| {
                let (key, mode) = (&*stale[j].name, StorageMode::Add);
                let request = StorageRequest { key, len: 0, flags: 0, exptime, mode };
                add_set(Wire::Meta, link, &request, b"");
            },
        };
        let added = self.call_each(&items, encoding, |j, came| {
            let Stale { place, value, meta, .. } = &stale[j];
            match came.stored() {
                Some(Ok(SetOutcome::Stored(Some(lease)))) => won.push((j, lease)),
                Some(Ok(_)) => done(*place, value, Ok(Leased::Wait { stale: Some(*meta) })),
                Some(Err(refusal)) => done(*place, b"", Err(refusal)),
                None => {}
            }
        });
        let mut failed = added.err();
        let mut lost = Vec::new();
        let items: Vec<Item> = (0..won.len()).map(|w| self.item(w, key(won[w].0))).collect();
        let encoding = Encoding {
            value_len: |_| 0,
            request: |_, id| SentRequest::MarkAndLook { id },
            encode: |link: &mut Link<NodePeer>, w: usize| {
                let j = won[w].0;
                encode_mark_again(link.output(), key(j), stale[j].version);
            },
        };
        let marked = self.call_each(&items, encoding, |w, came| {
            let (j, lease) = won[w];
            let Stale { place, value, meta, .. } = &stale[j];
            match came {
                NodeAnswer::Reply(Reply::Marked(marked, found)) => {
                    let Some(version) = version_of_its_mark(marked, found) else {
                        return lost.push((j, lease));
                    };
                    let token = Right::Stale { version, lease }.token(key(j));
                    done(*place, value, Ok(Leased::Load { token, stale: Some(*meta) }));
                }
                NodeAnswer::Answer(Answer::Failed(refusal)) => done(*place, b"", Err(refusal)),
                _ => {}
            }
        });
        if let Err(error) = marked {
            note(&mut failed, error);
        }
        for (j, lease) in lost {
            match self.end_lease(key(j), lease) {
                Ok(()) => again.push(stale[j].place),
                Err(error) => done(stale[j].place, b"", Err(error)),
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// As [`release_many`](larder_store::Leases::release_many).
    pub(super) fn release_all(
        &mut self,
        held: &[(&[u8], Token)],
        done: &mut DeleteDone<'_>,
    ) -> Result<()> {
        let mut outcomes: Vec<Option<Result<bool>>> = Vec::new();
        let mut rights = Vec::new();
        for (key, token) in held {
            let right = self.shared.check(key).map(|()| Right::of(token, key));
            rights.push(right.as_ref().ok().copied().flatten());
            outcomes.push(match right {
                Ok(Some(_)) => None,
                other => Some(other.map(|_| false)),
            });
        }
        let due = (0..held.len()).filter(|i| rights[*i].is_some());
        let items: Vec<Item> = due.map(|i| self.item(i, held[i].0)).collect();
        let encoding = Encoding {
            value_len: |_| 0,
            request: |i: usize, id| match rights[i] {
                Some(Right::Stale { .. }) => SentRequest::ChangeTwo { id },
                _ => SentRequest::Change { id },
            },
            encode: |link: &mut Link<NodePeer>, i: usize| {
                let (key, out) = (held[i].0, link.output());
                match rights[i] {
                    Some(Right::Absent { version }) => meta::delete::encode_if(out, key, version),
                    // The token is void before another caller can have the lease.
                    Some(Right::Stale { version, lease }) => {
                        meta::delete::encode_mark(out, key, version, None);
                        meta::delete::encode_if(out, &lease_of(key), lease);
                    }
                    None => {}
                }
            },
        };
        let released = self.call_each(&items, encoding, |i, came| {
            outcomes[i] = match came {
                NodeAnswer::Reply(Reply::Changed(reply)) => Some(Ok(reply == DeleteReply::Deleted)),
                NodeAnswer::Answer(Answer::Failed(refusal)) => Some(Err(refusal)),
                _ => None,
            };
        });
        report_all(outcomes, done);
        released
    }
}

impl Stale {
    fn of(place: usize, key: &[u8], value: &[u8], meta: Meta) -> Self {
        let (version, name) = (meta.version.unwrap_or_default(), lease_of(key));
        let meta = Meta { stale: true, ..meta };
        Self { place, value: value.to_vec(), meta, version, name }
    }
}

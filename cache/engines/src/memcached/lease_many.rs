//! Leases of many keys: each step is one request and one pass over the answers for each node, at all nodes at
//! once.
//!
//! A batch whose keys are absent, or fresh, takes one step. Stale entries take two more, as each of them does alone.

use std::time::Duration;

use larder_protocol::meta;
use larder_protocol::meta::delete::DeleteReply;
use larder_protocol::storage::{StorageMode, StorageRequest};
use larder_store::{DeleteDone, LeaseDone, Leased, Meta, Result, SetOutcome, Token};

use super::connection::Connection;
use super::leases::{Answer, Right, lease_of};
use super::many::{Part, REQUEST_LEN};
use super::session::{MemcachedSession, note};
use super::write_many::{AROUND_WRITE, REQUESTS, Window, refusal_or_failure, report_all};

/// The bound of requests whose answers may have values of any length.
pub(super) const READS: Window = Window { most: REQUESTS, max_len: REQUEST_LEN };

/// The bound of steps with two requests for each key.
const PAIRS: Window = Window { most: REQUESTS / 2, max_len: REQUEST_LEN };

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
        let asked = self.step(
            places.iter().map(|i| (*i, keys[*i])),
            READS,
            |i| keys[i].len() + AROUND_WRITE,
            |connection, i| {
                meta::get::encode_or_lease(&mut connection.request, keys[i], exptime);
                Ok(())
            },
            |connection, i, value| {
                value.clear();
                match refusal_or_failure(connection.receive_leased(value))? {
                    Ok(Answer::Value(meta)) if !meta.stale && !meta.ttl.ends_within(early) => {
                        done(i, value, Ok(Leased::Hit(meta)));
                    }
                    Ok(Answer::Value(Meta { version: None, .. })) => again.push(i),
                    Ok(Answer::Value(meta)) => stale.push(Stale::of(i, keys[i], value, meta)),
                    Ok(Answer::Lease { version, is_won: true, .. }) => {
                        let token = Right::Absent { version }.token(keys[i]);
                        done(i, b"", Ok(Leased::Load { token, stale: None }));
                    }
                    Ok(Answer::Lease { lasts: true, .. }) => again.push(i),
                    Ok(Answer::Lease { .. }) => done(i, b"", Ok(Leased::Wait { stale: None })),
                    Err(refusal) => done(i, b"", Err(refusal)),
                }
                Ok(())
            },
        );
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
        let len_of = |j: usize| key(j).len() + stale[j].name.len() + 2 * AROUND_WRITE;
        let mut won: Vec<(usize, u64)> = Vec::new();
        let added = self.step(
            (0..stale.len()).map(|j| (j, key(j))),
            READS,
            len_of,
            |connection, j| {
                let (key, mode) = (&*stale[j].name, StorageMode::Add);
                connection.add_set(&StorageRequest { key, len: 0, flags: 0, exptime, mode }, b"")
            },
            |connection, j, _| {
                let Stale { place, value, meta, .. } = &stale[j];
                match refusal_or_failure(connection.receive_set(0))? {
                    Ok(SetOutcome::Stored(Some(lease))) => won.push((j, lease)),
                    Ok(_) => done(*place, value, Ok(Leased::Wait { stale: Some(*meta) })),
                    Err(refusal) => done(*place, b"", Err(refusal)),
                }
                Ok(())
            },
        );
        let mut failed = added.err();
        let mut lost = Vec::new();
        let marked = self.step(
            (0..won.len()).map(|w| (w, key(won[w].0))),
            PAIRS,
            |w| len_of(won[w].0),
            |connection, w| {
                let j = won[w].0;
                connection.encode_mark_again(key(j), stale[j].version);
                Ok(())
            },
            |connection, w, _| {
                let (j, lease) = won[w];
                let Stale { place, value, meta, .. } = &stale[j];
                match connection.receive_marked_again()? {
                    Ok(Some(version)) => {
                        let token = Right::Stale { version, lease }.token(key(j));
                        done(*place, value, Ok(Leased::Load { token, stale: Some(*meta) }));
                    }
                    Ok(None) => lost.push((j, lease)),
                    Err(refusal) => done(*place, b"", Err(refusal)),
                }
                Ok(())
            },
        );
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
        let due: Vec<_> = (0..held.len()).filter(|i| rights[*i].is_some()).collect();
        let released = self.step(
            due.iter().map(|i| (*i, held[*i].0)),
            PAIRS,
            |i| 2 * (held[i].0.len() + AROUND_WRITE),
            |connection, i| {
                let (key, request) = (held[i].0, &mut connection.request);
                match rights[i] {
                    Some(Right::Absent { version }) => {
                        meta::delete::encode_if(request, key, version);
                    }
                    // The token is void before another caller can have the lease.
                    Some(Right::Stale { version, lease }) => {
                        meta::delete::encode_mark(request, key, version, None);
                        meta::delete::encode_if(request, &lease_of(key), lease);
                    }
                    None => {}
                }
                Ok(())
            },
            |connection, i, _| {
                let first = refusal_or_failure(connection.receive(meta::delete::parse_if_reply))?;
                let second = match rights[i] {
                    Some(Right::Stale { .. }) => {
                        refusal_or_failure(connection.receive(meta::delete::parse_if_reply))?
                            .map(drop)
                    }
                    _ => Ok(()),
                };
                let was_its = first.map(|reply| reply == DeleteReply::Deleted);
                outcomes[i] = Some(second.and(was_its));
                Ok(())
            },
        );
        report_all(outcomes, done);
        released
    }

    /// Sends a request for each item, in the order of the items, to the node of its key, and reads each answer: `add` adds the
    /// request, of at most `len_of` bytes, and `receive` reads the answer, with a buffer for a value. Items of a node that
    /// fails have no answer, and the error is that of one such node.
    pub(super) fn step<'k>(
        &mut self,
        items: impl Iterator<Item = (usize, &'k [u8])>,
        window: Window,
        len_of: impl Fn(usize) -> usize,
        add: impl Fn(&mut Connection, usize) -> Result<()>,
        mut receive: impl FnMut(&mut Connection, usize, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        self.parts.iter_mut().for_each(Part::clear);
        for (item, key) in items {
            self.parts[self.shared.node_of(key)].push(item);
        }
        self.ask_and_answer(
            |connection, part| connection.send_each(part, window, &len_of, &add),
            |connection, part, value| {
                part.answered().iter().try_for_each(|item| receive(connection, *item, value))
            },
        )
    }
}

impl Stale {
    fn of(place: usize, key: &[u8], value: &[u8], meta: Meta) -> Self {
        let (version, name) = (meta.version.unwrap_or_default(), lease_of(key));
        let meta = Meta { stale: true, ..meta };
        Self { place, value: value.to_vec(), meta, version, name }
    }
}

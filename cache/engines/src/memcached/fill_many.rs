//! Fills of many keys: one request and one pass over the answers for each node.
//!
//! Fills of absent keys take one step. Those of stale entries take two more, as each of them does alone: a look at their leases
//! before, and the ends of these after.

use larder_protocol::meta;
use larder_protocol::storage::{StorageMode, StorageRequest};
use larder_store::{Answer, Fill, Leases, Result, SetDone, SetOutcome, check_fill};

use super::SCHEME;
use super::batch::{Encoding, Item, NodeAnswer, note};
use super::leases::{AROUND_VALUE, Right, lease_of};
use super::limits::LONGEST_SENT;
use super::outstanding::{NodePeer, SentRequest};
use super::reply::Reply;
use super::request::add_set;
use super::session::MemcachedSession;
use super::terms::Wire;
use crate::pipelined::{Link, report_all};

/// A batch of writes: for each, the outcome once it is known.
type Outcomes = [Option<Result<SetOutcome>>];

/// The fills of a batch.
#[derive(Debug, Default)]
struct Plan<'a> {
    /// Those that may be sent; the outcomes of the others are known.
    fills: Vec<Option<Planned<'a>>>,
    outcomes: Vec<Option<Result<SetOutcome>>>,
    checks: Vec<Check>,
}

/// A fill that may be sent.
#[derive(Debug)]
struct Planned<'a> {
    header: StorageRequest<'a>,
    /// The lease of a stale entry.
    lease: Option<u64>,
}

/// A version that must be there: that of the lease of a stale entry, or that of a key whose value may be too large.
#[derive(Debug)]
struct Check {
    /// The place of the fill.
    place: usize,
    key: Vec<u8>,
    version: u64,
}

impl MemcachedSession {
    /// As [`Leases::fill_many`].
    pub(super) fn fill_all(&mut self, fills: &[Fill<'_>], done: &mut SetDone<'_>) -> Result<()> {
        if fills.iter().any(|fill| fill.put.value.len() > LONGEST_SENT) {
            for (i, Fill { put, token }) in fills.iter().enumerate() {
                done(i, self.fill(put.key, put.value, &put.options, token));
            }
            return Ok(());
        }
        let Plan { fills: mut planned, mut outcomes, checks } = self.plan(fills);
        let mut failed = self.check_versions(fills, &checks, &mut planned, &mut outcomes).err();
        let due = (0..fills.len()).filter(|i| planned[*i].is_some());
        let items: Vec<Item> = due.map(|i| self.item(i, fills[i].put.key)).collect();
        let encoding = Encoding {
            value_len: |i: usize| fills[i].put.value.len(),
            request: |i: usize, _| SentRequest::Set { value_len: fills[i].put.value.len() },
            encode: |link: &mut Link<NodePeer>, i: usize| {
                if let Some(Planned { header, .. }) = &planned[i] {
                    add_set(Wire::Meta, link, header, fills[i].put.value);
                }
            },
        };
        let filled = self.call_each(&items, encoding, |i, came| {
            outcomes[i] = came.stored().map(|outcome| {
                outcome.map(|outcome| match outcome {
                    SetOutcome::Stored(version) => SetOutcome::Stored(version),
                    _ => SetOutcome::NotStored,
                })
            });
        });
        if let Err(error) = filled {
            note(&mut failed, error);
        }
        if let Err(error) = self.end_leases(fills, &planned, &mut outcomes) {
            note(&mut failed, error);
        }
        report_all(outcomes, done);
        failed.map_or(Ok(()), Err)
    }

    fn plan<'a>(&self, fills: &'a [Fill<'a>]) -> Plan<'a> {
        let mut plan = Plan::default();
        let limit = self.shared.max_value_len().unwrap_or(LONGEST_SENT);
        for (place, Fill { put, token }) in fills.iter().enumerate() {
            let request = check_fill(SCHEME, &put.options)
                .and_then(|()| self.shared.storage_request(put))
                .map(|header| Some((header, Right::of(token, put.key)?)));
            let (header, right) = match request {
                Ok(Some(found)) => found,
                other => {
                    plan.outcomes.push(Some(other.map(|_| SetOutcome::NotStored)));
                    plan.fills.push(None);
                    continue;
                }
            };
            let (version, lease) = right.versions();
            if let Some(version) = lease {
                plan.checks.push(Check { place, key: lease_of(put.key), version });
            }
            // A server that refuses a value as too large removes the entry, whatever its version.
            if put.value.len() > limit.saturating_sub(AROUND_VALUE) {
                plan.checks.push(Check { place, key: put.key.to_vec(), version });
            }
            let header = StorageRequest { mode: StorageMode::Cas(version), ..header };
            plan.outcomes.push(None);
            plan.fills.push(Some(Planned { header, lease }));
        }
        plan
    }

    /// Takes the fills off the plan whose keys have not the versions that they must have.
    fn check_versions(
        &mut self,
        fills: &[Fill<'_>],
        checks: &[Check],
        planned: &mut [Option<Planned<'_>>],
        outcomes: &mut Outcomes,
    ) -> Result<()> {
        let mut is_there = vec![false; checks.len()];
        let of_check = |(c, check): (usize, &Check)| self.item(c, fills[check.place].put.key);
        let items: Vec<Item> = checks.iter().enumerate().map(of_check).collect();
        let encoding = Encoding {
            value_len: |_| 0,
            request: |_, id| SentRequest::Look { id },
            encode: |link: &mut Link<NodePeer>, c: usize| {
                meta::get::encode_look(link.output(), &checks[c].key);
            },
        };
        let looked = self.call_each(&items, encoding, |c, came| {
            let Check { place: i, version, .. } = checks[c];
            match came {
                NodeAnswer::Reply(Reply::Looked(Some(found)))
                    if found.facts.meta.version == Some(version) =>
                {
                    is_there[c] = true;
                }
                NodeAnswer::Answer(Answer::Failed(refusal)) => outcomes[i] = Some(Err(refusal)),
                _ => outcomes[i] = Some(Ok(SetOutcome::NotStored)),
            }
        });
        for (check, _) in checks.iter().zip(is_there).filter(|(_, is_there)| !is_there) {
            planned[check.place] = None;
        }
        looked
    }

    /// Ends the leases of the stale entries that were filled, unless they are others by now.
    fn end_leases(
        &mut self,
        fills: &[Fill<'_>],
        planned: &[Option<Planned<'_>>],
        outcomes: &mut Outcomes,
    ) -> Result<()> {
        let of_filled = |i: usize| {
            let lease = planned[i].as_ref()?.lease?;
            let is_stored = matches!(&outcomes[i], Some(Ok(outcome)) if outcome.is_stored());
            is_stored.then(|| (i, lease_of(fills[i].put.key), lease))
        };
        let over: Vec<_> = (0..fills.len()).filter_map(of_filled).collect();
        let of_lease =
            |(o, (i, ..)): (usize, &(usize, Vec<u8>, u64))| self.item(o, fills[*i].put.key);
        let items: Vec<Item> = over.iter().enumerate().map(of_lease).collect();
        let encoding = Encoding {
            value_len: |_| 0,
            request: |_, id| SentRequest::Change { id },
            encode: |link: &mut Link<NodePeer>, o: usize| {
                meta::delete::encode_if(link.output(), &over[o].1, over[o].2);
            },
        };
        self.call_each(&items, encoding, |o, came| {
            if let NodeAnswer::Answer(Answer::Failed(refusal)) = came {
                outcomes[over[o].0] = Some(Err(refusal));
            }
        })
    }
}

//! Random operations against a map. An entry may vanish where the store evicts, a wrong or old value never comes back,
//! and a tag finds the entries stored with it.

use std::collections::{BTreeMap, HashMap};

use larder_store::{
    Capabilities, Counted, Delta, Meta, Put, Session, SetMode, SetOptions, SetOutcome,
};
use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{ensure, ensure_eq, mode, same};
use super::fixture::Fixture;
use super::groups::{by_prefix, by_tag, groups};
use crate::Random;

pub(super) const CASES: &[Case] = &[case!(random_operations_agree_with_a_map)];

const STEPS: usize = 2000;
const KEYS: usize = 40;
const TAGS: usize = 4;

fn random_operations_agree_with_a_map(fixture: &Fixture) -> Result<(), Failed> {
    let capabilities = fixture.capabilities()?;
    let mut model = Model {
        session: fixture.session()?,
        keys: (0..KEYS).map(|i| fixture.key(i)).collect(),
        tags: (0..TAGS).map(|i| fixture.key(format_args!("tag {i}"))).collect(),
        entries: HashMap::new(),
        capabilities,
        random: Random::new(20_260_101),
    };
    for step in 0..STEPS {
        model.step(step).map_err(|failed| {
            format!("at step {step}: {}", failed.message().unwrap_or("a failure"))
        })?;
    }
    Ok(())
}

/// The entry that the store must have under a key, with its tag.
struct Entry {
    value: Vec<u8>,
    tag: Option<usize>,
}

struct Model {
    session: Box<dyn Session>,
    keys: Vec<Vec<u8>>,
    tags: Vec<Vec<u8>>,
    entries: HashMap<usize, Entry>,
    capabilities: Capabilities,
    random: Random,
}

impl Model {
    fn step(&mut self, step: usize) -> Result<(), Failed> {
        let i = self.random.below(KEYS);
        let can = self.capabilities;
        match self.random.below(20) {
            0..=3 => self.set(i, step),
            4 => self.set_many(step),
            5 => self.delete(i),
            6 | 7 if can.add => self.add_or_replace(i, step),
            8 if can.append => self.append(i, step),
            9 if can.incr => self.incr(i),
            10 if can.touch => self.touch(i),
            11 => self.get_many(),
            12..=14 if can.groups => self.group(i, step),
            _ => self.get(i),
        }
    }

    /// A value that names its key; some values are numbers, for `incr`.
    fn value(&mut self, i: usize, step: usize) -> Vec<u8> {
        if self.random.below(4) == 0 {
            // Below 2^63: memcached 1.6.18 searches a larger number for a minus sign beyond its end.
            return (self.random.next_u64() >> 1).to_string().into_bytes();
        }
        let mut value = format!("key {i} at step {step}: ").into_bytes();
        let tail = [0, 10, 300, 5000, 70_000][self.random.below(5)];
        value.extend_from_slice(&self.random.bytes(tail));
        value
    }

    /// The store has no entry where the model has one: only eviction explains that.
    fn vanished(&mut self, i: usize) -> Result<(), Failed> {
        let known = self.entries.remove(&i).is_some();
        ensure!(
            !known || self.capabilities.evicts,
            "key {i} is gone, and the store evicts nothing"
        );
        Ok(())
    }

    fn known(&self, i: usize, operation: &str) -> Result<(), Failed> {
        ensure!(self.entries.contains_key(&i), "{operation} finds key {i}, which is not there");
        Ok(())
    }

    fn get(&mut self, i: usize) -> Result<(), Failed> {
        let mut found = Vec::new();
        if self.session.get(&self.keys[i], &mut found)?.is_none() {
            return self.vanished(i);
        }
        self.known(i, "get")?;
        same(&self.keys[i], &found, &self.entries[&i].value)
    }

    fn get_many(&mut self) -> Result<(), Failed> {
        let batch: Vec<usize> = (0..8).map(|_| self.random.below(KEYS)).collect();
        let keys: Vec<&[u8]> = batch.iter().map(|i| self.keys[*i].as_slice()).collect();
        let mut hits = Vec::new();
        self.session.get_many(&keys, &mut |at, value, _| hits.push((at, value.to_vec())))?;
        for (at, value) in &hits {
            self.known(batch[*at], "get_many")?;
            same(&self.keys[batch[*at]], value, &self.entries[&batch[*at]].value)?;
        }
        for (at, i) in batch.iter().enumerate() {
            if !hits.iter().any(|(hit, _)| *hit == at) {
                self.vanished(*i)?;
            }
        }
        Ok(())
    }

    fn set(&mut self, i: usize, step: usize) -> Result<(), Failed> {
        let value = self.value(i, step);
        let outcome = self.session.set(&self.keys[i], &value, &mode(SetMode::Set))?;
        ensure!(outcome.is_stored(), "set of key {i} stores nothing");
        self.entries.insert(i, Entry { value, tag: None });
        Ok(())
    }

    /// Some keys come twice, and have the later value then.
    fn set_many(&mut self, step: usize) -> Result<(), Failed> {
        let batch: Vec<_> = (0..8).map(|_| self.random.below(KEYS)).collect();
        let batch: Vec<_> = batch.into_iter().map(|i| (i, self.value(i, step))).collect();
        let options = SetOptions::default();
        let keys = &self.keys;
        let puts: Vec<_> =
            batch.iter().map(|(i, value)| Put { key: &keys[*i], value, options }).collect();
        let mut n_stored = 0;
        self.session.set_many(&puts, &mut |_, outcome| {
            n_stored += usize::from(outcome.is_ok_and(SetOutcome::is_stored));
        })?;
        ensure_eq!(n_stored, batch.len(), "the stored entries of a batch");
        for (i, value) in batch {
            self.entries.insert(i, Entry { value, tag: None });
        }
        Ok(())
    }

    /// An operation on tags. All other operations on an entry also keep or remove its tag.
    fn group(&mut self, i: usize, step: usize) -> Result<(), Failed> {
        let tag = self.random.below(TAGS);
        match self.random.below(10) {
            0..=4 => self.set_tagged(i, step, tag),
            5 | 6 => self.get_tag(tag),
            7 | 8 => self.get_prefix(i),
            _ => self.delete_tag(tag),
        }
    }

    fn set_tagged(&mut self, i: usize, step: usize, tag: usize) -> Result<(), Failed> {
        let value = self.value(i, step);
        let (key, name) = (&self.keys[i], &self.tags[tag]);
        let outcome =
            groups(&mut *self.session)?.set_tagged(key, &value, &mode(SetMode::Set), name)?;
        ensure!(outcome.is_stored(), "tagged set of key {i} stores nothing");
        self.entries.insert(i, Entry { value, tag: Some(tag) });
        Ok(())
    }

    fn get_tag(&mut self, tag: usize) -> Result<(), Failed> {
        let found = by_tag(&mut *self.session, &self.tags[tag])?;
        self.are_those(&found, |_, entry| entry.tag == Some(tag))
    }

    /// A key is a prefix of itself, and of other keys where it ends in a digit.
    fn get_prefix(&mut self, i: usize) -> Result<(), Failed> {
        let prefix = self.keys[i].clone();
        let found = by_prefix(&mut *self.session, &prefix)?;
        self.are_those(&found, |key, _| key.starts_with(&prefix))
    }

    fn delete_tag(&mut self, tag: usize) -> Result<(), Failed> {
        let n_before = self.entries.len();
        self.entries.retain(|_, entry| entry.tag != Some(tag));
        let known = (n_before - self.entries.len()) as u64;
        let removed = groups(&mut *self.session)?.delete_tag(&self.tags[tag])?;
        let may_be_fewer = self.capabilities.evicts && removed < known;
        ensure!(removed == known || may_be_fewer, "{removed} removed by a tag of {known}");
        Ok(())
    }

    /// The found entries are the model's entries, except evicted entries.
    fn are_those(
        &mut self,
        found: &BTreeMap<Vec<u8>, (Vec<u8>, Meta)>,
        is_wanted: impl Fn(&[u8], &Entry) -> bool,
    ) -> Result<(), Failed> {
        let mut n_right = 0;
        for i in 0..KEYS {
            let wanted = self.entries.get(&i).filter(|entry| is_wanted(&self.keys[i], entry));
            match (found.get(&self.keys[i]), wanted) {
                (Some((value, _)), Some(entry)) => {
                    same(&self.keys[i], value, &entry.value)?;
                    n_right += 1;
                }
                (None, Some(_)) => self.vanished(i)?,
                (_, None) => {}
            }
        }
        ensure_eq!(found.len(), n_right, "the entries that were found");
        Ok(())
    }

    fn add_or_replace(&mut self, i: usize, step: usize) -> Result<(), Failed> {
        let value = self.value(i, step);
        let add = self.random.below(2) == 0;
        let condition = if add { SetMode::Add } else { SetMode::Replace };
        let outcome = self.session.set(&self.keys[i], &value, &mode(condition))?;
        let was_there =
            match (condition, outcome) {
                (SetMode::Add, SetOutcome::NotStored)
                | (SetMode::Replace, SetOutcome::Stored(_)) => true,
                (SetMode::Add, SetOutcome::Stored(_))
                | (SetMode::Replace, SetOutcome::NotStored) => false,
                other => return Err(format!("key {i}: {other:?}").into()),
            };
        if was_there {
            self.known(i, "add or replace")?;
        } else {
            self.vanished(i)?;
        }
        if outcome.is_stored() {
            self.entries.insert(i, Entry { value, tag: None });
        }
        Ok(())
    }

    fn append(&mut self, i: usize, step: usize) -> Result<(), Failed> {
        // No tail begins with a space: servers read only the digits before a space as the number.
        let tail = format!("+step {step}").into_bytes();
        let front = self.random.below(2) == 0;
        let join = if front { SetMode::Prepend } else { SetMode::Append };
        match self.session.set(&self.keys[i], &tail, &mode(join))? {
            SetOutcome::NotStored => self.vanished(i),
            SetOutcome::Stored(_) => {
                self.known(i, "append")?;
                let Some(Entry { value, .. }) = self.entries.get_mut(&i) else { return Ok(()) };
                let at = if front { 0 } else { value.len() };
                value.splice(at..at, tail);
                Ok(())
            }
            other => Err(format!("{join:?} of key {i}: {other:?}").into()),
        }
    }

    fn incr(&mut self, i: usize) -> Result<(), Failed> {
        let by = self.random.below(1000) as u64;
        let delta = if self.random.below(2) == 0 { Delta::Up(by) } else { Delta::Down(by) };
        let number = |entry: &Entry| std::str::from_utf8(&entry.value).ok()?.parse::<u64>().ok();
        let before = self.entries.get(&i).map(number);
        match (self.session.incr(&self.keys[i], delta, None), before) {
            (Ok(None), _) => self.vanished(i),
            (Ok(Some(Counted { number: sum, .. })), Some(Some(before))) => {
                ensure_eq!(sum, delta.applied_to(before), "incr of key {i}");
                if let Some(entry) = self.entries.get_mut(&i) {
                    entry.value = sum.to_string().into_bytes();
                }
                Ok(())
            }
            (Err(larder_store::Error::NotANumber { .. }), Some(None)) => Ok(()),
            (outcome, _) => Err(format!("incr of key {i}: {outcome:?}").into()),
        }
    }

    fn touch(&mut self, i: usize) -> Result<(), Failed> {
        if self.session.touch(&self.keys[i], None)? {
            self.known(i, "touch")
        } else {
            self.vanished(i)
        }
    }

    fn delete(&mut self, i: usize) -> Result<(), Failed> {
        if self.session.delete(&self.keys[i])? {
            self.known(i, "delete")?;
            self.entries.remove(&i);
            Ok(())
        } else {
            self.vanished(i)
        }
    }
}

//! Random operations against a map: an entry may vanish where the store evicts, a wrong or old value never
//! comes back.

use std::collections::HashMap;

use larder_store::{Capabilities, Session, SetMode, SetOutcome};
use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{ensure, ensure_eq, mode, same};
use super::fixture::Fixture;
use crate::Random;

pub(super) const CASES: &[Case] = &[case!(random_operations_agree_with_a_map)];

const STEPS: usize = 2000;
const KEYS: usize = 40;

fn random_operations_agree_with_a_map(fixture: &Fixture) -> Result<(), Failed> {
    let capabilities = fixture.capabilities()?;
    let mut model = Model {
        session: fixture.session()?,
        keys: (0..KEYS).map(|i| fixture.key(i)).collect(),
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

struct Model {
    session: Box<dyn Session>,
    keys: Vec<Vec<u8>>,
    entries: HashMap<usize, Vec<u8>>,
    capabilities: Capabilities,
    random: Random,
}

impl Model {
    fn step(&mut self, step: usize) -> Result<(), Failed> {
        let i = self.random.below(KEYS);
        let can = self.capabilities;
        match self.random.below(20) {
            0..=4 => self.set(i, step),
            5 => self.delete(i),
            6 | 7 if can.add => self.add_or_replace(i, step),
            8 if can.append => self.append(i, step),
            9 if can.incr => self.incr(i),
            10 if can.touch => self.touch(i),
            11 => self.get_many(),
            _ => self.get(i),
        }
    }

    /// A value that says whose it is; some are numbers, for `incr`.
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

    /// The store has no entry where the model has one: only making room explains that.
    fn vanished(&mut self, i: usize) -> Result<(), Failed> {
        let known = self.entries.remove(&i).is_some();
        ensure!(!known || self.capabilities.evicts, "key {i} is gone, and the store evicts none");
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
        same(&self.keys[i], &found, &self.entries[&i])
    }

    fn get_many(&mut self) -> Result<(), Failed> {
        let batch: Vec<usize> = (0..8).map(|_| self.random.below(KEYS)).collect();
        let keys: Vec<&[u8]> = batch.iter().map(|i| self.keys[*i].as_slice()).collect();
        let mut hits = Vec::new();
        self.session.get_many(&keys, &mut |at, value, _| hits.push((at, value.to_vec())))?;
        for (at, value) in &hits {
            self.known(batch[*at], "get_many")?;
            same(&self.keys[batch[*at]], value, &self.entries[&batch[*at]])?;
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
        ensure_eq!(outcome, SetOutcome::Stored, "set of key {i}");
        self.entries.insert(i, value);
        Ok(())
    }

    fn add_or_replace(&mut self, i: usize, step: usize) -> Result<(), Failed> {
        let value = self.value(i, step);
        let add = self.random.below(2) == 0;
        let condition = if add { SetMode::Add } else { SetMode::Replace };
        let outcome = self.session.set(&self.keys[i], &value, &mode(condition))?;
        let was_there = match (condition, outcome) {
            (SetMode::Add, SetOutcome::NotStored) | (SetMode::Replace, SetOutcome::Stored) => true,
            (SetMode::Add, SetOutcome::Stored) | (SetMode::Replace, SetOutcome::NotStored) => false,
            other => return Err(format!("key {i}: {other:?}").into()),
        };
        if was_there {
            self.known(i, "add or replace")?;
        } else {
            self.vanished(i)?;
        }
        if outcome == SetOutcome::Stored {
            self.entries.insert(i, value);
        }
        Ok(())
    }

    fn append(&mut self, i: usize, step: usize) -> Result<(), Failed> {
        // Nothing that begins with a space: behind one, servers take what is before it for the number.
        let tail = format!("+step {step}").into_bytes();
        let front = self.random.below(2) == 0;
        let join = if front { SetMode::Prepend } else { SetMode::Append };
        match self.session.set(&self.keys[i], &tail, &mode(join))? {
            SetOutcome::NotStored => self.vanished(i),
            SetOutcome::Stored => {
                self.known(i, "append")?;
                let value = self.entries.entry(i).or_default();
                let at = if front { 0 } else { value.len() };
                value.splice(at..at, tail);
                Ok(())
            }
            other => Err(format!("{join:?} of key {i}: {other:?}").into()),
        }
    }

    fn incr(&mut self, i: usize) -> Result<(), Failed> {
        let delta = i64::try_from(self.random.below(1000))?;
        let number = |value: &Vec<u8>| std::str::from_utf8(value).ok()?.parse::<u64>().ok();
        let before = self.entries.get(&i).map(number);
        match (self.session.incr(&self.keys[i], delta), before) {
            (Ok(None), _) => self.vanished(i),
            (Ok(Some(sum)), Some(Some(before))) => {
                ensure_eq!(sum, before.wrapping_add(delta.unsigned_abs()), "incr of key {i}");
                self.entries.insert(i, sum.to_string().into_bytes());
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

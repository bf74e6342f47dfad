//! Keys whose values are numbers, to which all workers add.
//!
//! Only one worker begins a counter, with more than the largest sum that any worker has got. So a sum never goes back,
//! whatever was evicted or cleared. If two workers get the same sum, an addition is lost.

use larder_segment::{Condition, Delta, Failed, Outcome, Set, Sum};

use crate::ledger::Tally;
use crate::values::name;
use crate::work::Worker;
use crate::{KEYS, WORKERS};

/// More than all workers together may be about to add.
const AHEAD: u64 = 2 * WORKERS as u64;

impl Worker {
    pub(crate) fn change_counter(&mut self, counter: usize) -> Result<(), Failed> {
        let key = name(KEYS + counter);
        let is_own = counter % WORKERS == self.number;
        match self.any() % 32 {
            0 if is_own => self.delete_counter(counter),
            0..16 => {
                let least = self.told(counter);
                self.ledger.begin_to_add(counter, self.number, 1);
                match self.add_one(&key)? {
                    Sum::Is { number, .. } => self.added(counter, number, least),
                    Sum::NotFound if is_own => return self.begin_counter(counter),
                    Sum::NotFound => {}
                    Sum::NotANumber => self.wrong(&format!("counter {counter} is no number")),
                }
                Ok(())
            }
            16..24 => self.add_by_version(counter),
            _ => {
                self.read_counter(counter);
                Ok(())
            }
        }
    }

    /// Adds one, in place or by a change of the value.
    fn add_one(&mut self, key: &[u8]) -> Result<Sum, Failed> {
        if !self.any().is_multiple_of(4) {
            return self.session.incr(key, Delta::Up(1), None);
        }
        let sum = std::cell::Cell::new(0);
        let add_one = |old: &[u8], new: &mut Vec<u8>| {
            sum.set(number(old).map_or(0, |sum| sum + 1));
            new.extend_from_slice(sum.get().to_string().as_bytes());
            sum.get() > 0
        };
        Ok(match self.session.revise(key, &add_one)? {
            Outcome::Stored(version) => Sum::Is { number: sum.get(), version },
            Outcome::NotFound => Sum::NotFound,
            _ => Sum::NotANumber,
        })
    }

    /// The largest sum that any worker has got.
    fn told(&self, counter: usize) -> u64 {
        self.ledger.sums(counter).into_iter().max().unwrap_or(0)
    }

    /// Reads a counter; returns its version and sum.
    pub(crate) fn read_counter(&mut self, counter: usize) -> Option<(u64, u64)> {
        let least = self.told(counter);
        let entry = self.session.get(&name(KEYS + counter), &mut self.value)?;
        self.ledger.add(self.number, Tally::Hits);
        let Some(sum) = number(&self.value) else {
            self.wrong(&format!("counter {counter} is no number: {:?}", self.value));
            return None;
        };
        self.is_possible(counter, sum, least);
        Some((entry.version, sum))
    }

    /// Checks that a sum is possible.
    fn is_possible(&self, counter: usize, sum: u64, least: u64) {
        let most = self.ledger.begun_to_add(counter) + WORKERS as u64;
        if sum < least {
            self.ledger.add(self.number, Tally::Old);
        }
        if sum > most {
            self.wrong(&format!("counter {counter} is {sum}, of {least} to {most}"));
        }
    }

    /// Notes an addition that gave this sum; before it the sum was at least `least`.
    fn added(&self, counter: usize, sum: u64, least: u64) {
        self.ledger.added(counter, self.number, sum);
        self.is_possible(counter, sum, least + 1);
        if self.ledger.sums(counter).iter().filter(|other| **other == sum).count() > 1 {
            self.wrong(&format!("counter {counter} is {sum} for two"));
        }
    }

    fn add_by_version(&mut self, counter: usize) -> Result<(), Failed> {
        let Some((version, sum)) = self.read_counter(counter) else { return Ok(()) };
        let least = self.told(counter);
        self.ledger.begin_to_add(counter, self.number, 1);
        let set = Set { condition: Condition::Version(version), ..Set::default() };
        let more = (sum + 1).to_string();
        let outcome = self.session.set(&name(KEYS + counter), more.as_bytes(), &set)?;
        if matches!(outcome, Outcome::Stored(_)) {
            self.added(counter, sum + 1, least);
        }
        Ok(())
    }

    fn begin_counter(&mut self, counter: usize) -> Result<(), Failed> {
        self.ledger.begin_to_add(counter, self.number, AHEAD);
        let first = self.ledger.begun_to_add(counter);
        let set = Set { condition: Condition::Absent, ..Set::default() };
        let outcome =
            self.session.set(&name(KEYS + counter), first.to_string().as_bytes(), &set)?;
        if matches!(outcome, Outcome::Stored(_)) {
            self.ledger.added(counter, self.number, first);
        }
        Ok(())
    }

    /// After this no worker may find the counter, with any sum.
    fn delete_counter(&mut self, counter: usize) -> Result<(), Failed> {
        self.session.delete(&name(KEYS + counter))?;
        let most = self.ledger.begun_to_add(counter) + WORKERS as u64;
        self.ledger.added(counter, self.number, most);
        Ok(())
    }
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

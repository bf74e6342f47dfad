//! The check of the answers of one connection, as their bytes arrive.
//!
//! A value may arrive in pieces. Its header and its ends are checked as soon as each is whole, and the bytes
//! between are only counted. So no value is gathered in a buffer of its own.

use crate::Result;
use crate::traffic::{COMPARED, END, LINE_END, STORED, Traffic, expect, line};

/// The requests of a connection that are not answered, and the check of their answers.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    asked: Vec<Expected>,
    /// The number of whole answers.
    n_answered: usize,
    stage: Stage,
    /// Keys without a value, since the connection began.
    pub(crate) n_misses: usize,
}

/// A request without its whole answer.
#[derive(Debug, Clone, Copy)]
enum Expected {
    Set,
    /// The keys whose values have not arrived, and the sum of their numbers: a server may answer in another order.
    Get {
        n_keys: usize,
        sum: u64,
    },
}

/// The place in an answer.
#[derive(Debug, Default, Clone, Copy)]
enum Stage {
    /// Before a header or a last line.
    #[default]
    Line,
    /// Within a value: this many bytes come before its last bytes.
    Middle { key: u32, left: usize },
    /// Before the last bytes of a value.
    Last { key: u32 },
}

impl Answers {
    /// Forgets the answered requests, before others are asked.
    pub(crate) fn begin(&mut self) {
        self.asked.clear();
        self.n_answered = 0;
    }

    pub(crate) fn ask_set(&mut self) {
        self.asked.push(Expected::Set);
    }

    pub(crate) fn ask_get(&mut self, n_keys: usize, sum: u64) {
        self.asked.push(Expected::Get { n_keys, sum });
    }

    /// Whether every request has its whole answer.
    pub(crate) fn are_whole(&self) -> bool {
        self.n_answered == self.asked.len()
    }

    /// Checks bytes that have arrived, and returns how many of them need not be shown again.
    ///
    /// # Errors
    ///
    /// An answer is wrong.
    #[inline]
    pub(crate) fn check(&mut self, traffic: &Traffic, bytes: &[u8]) -> Result<usize> {
        let mut done = 0;
        while !self.are_whole() {
            let Some(len) = self.step(traffic, &bytes[done..])? else { return Ok(done) };
            done += len;
        }
        if done < bytes.len() {
            return Err(format!("{} bytes came without a request", bytes.len() - done).into());
        }
        Ok(done)
    }

    /// Checks the next part of an answer. `None` says that more of it must arrive first.
    #[inline]
    fn step(&mut self, traffic: &Traffic, bytes: &[u8]) -> Result<Option<usize>> {
        let (head, tail) = ends(traffic.value_bytes);
        match (self.stage, &mut self.asked[self.n_answered]) {
            (Stage::Line, Expected::Set) => {
                let whole = line(STORED, bytes)?;
                self.n_answered += usize::from(whole.is_some());
                Ok(whole)
            }
            (Stage::Line, Expected::Get { n_keys, sum }) => {
                if bytes.first() == Some(&END[0]) {
                    let whole = line(END, bytes)?;
                    if *n_keys == 0 && *sum != 0 {
                        return Err(
                            "an answer has the value of a key that was not asked for".into()
                        );
                    }
                    if whole.is_some() {
                        self.n_misses += *n_keys;
                        self.n_answered += 1;
                    }
                    return Ok(whole);
                }
                let (header, len) = (traffic.header_len(), traffic.value_bytes);
                if bytes.len() < header + head {
                    return Ok(None);
                }
                let key = traffic.key_of_header(bytes)?;
                *n_keys = n_keys.checked_sub(1).ok_or("an answer has too many values")?;
                *sum = sum.wrapping_sub(key.into());
                let value = traffic.value(key);
                expect(&value[..head], &bytes[header..])?;
                if bytes.len() < header + len + LINE_END.len() {
                    self.stage = Stage::Middle { key, left: len - head - tail };
                    return Ok(Some(header + head));
                }
                expect(&value[len - tail..], &bytes[header + len - tail..])?;
                expect(LINE_END, &bytes[header + len..])?;
                Ok(Some(header + len + LINE_END.len()))
            }
            (Stage::Middle { key, left: 0 }, _) => {
                self.stage = Stage::Last { key };
                Ok(Some(0))
            }
            (Stage::Middle { .. }, _) if bytes.is_empty() => Ok(None),
            (Stage::Middle { key, left }, _) => {
                let arrived = left.min(bytes.len());
                self.stage = Stage::Middle { key, left: left - arrived };
                Ok(Some(arrived))
            }
            (Stage::Last { key }, _) => {
                if bytes.len() < tail + LINE_END.len() {
                    return Ok(None);
                }
                let value = traffic.value(key);
                expect(&value[value.len() - tail..], bytes)?;
                expect(LINE_END, &bytes[tail..])?;
                self.stage = Stage::Line;
                Ok(Some(tail + LINE_END.len()))
            }
        }
    }
}

/// The bytes at the beginning and at the end of a value that are compared.
fn ends(value_bytes: usize) -> (usize, usize) {
    let head = value_bytes.min(COMPARED);
    (head, (value_bytes - head).min(COMPARED))
}

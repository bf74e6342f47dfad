//! A session with a layer around it: the one place that forwards calls.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use super::codec::decoded;
use super::{Around, Call, CallKind, Codec, Keys};
use crate::{
    Counted, DeleteDone, DeleteOutcome, Delta, Error, Facts, Groups, Initial, Leases, Meta,
    Pipeline, Put, Result, Session, SetDone, SetMode, SetOptions, SetOutcome,
};

/// Buffers beyond this size are given back after each call, so that one large value does not stay in every session.
const KEPT_BYTES: usize = 1 << 20;

/// A session with a layer around it.
pub struct LayeredSession<A, C> {
    pub(super) around: A,
    pub(super) codec: C,
    pub(super) engine: &'static str,
    /// Whether the session inside has groups, leases and a pipeline.
    parts: [bool; 3],
    /// The stored form of a value.
    pub(super) stored: Vec<u8>,
    /// A decoded value of a call for many.
    pub(super) value: Vec<u8>,
}

impl<A, C> fmt::Debug for LayeredSession<A, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LayeredSession").field("engine", &self.engine).finish_non_exhaustive()
    }
}

impl<A: Around, C: Codec> LayeredSession<A, C> {
    pub(super) fn new(around: A, codec: C, engine: &'static str, parts: [bool; 3]) -> Self {
        Self { around, codec, engine, parts, stored: Vec::new(), value: Vec::new() }
    }

    pub(super) fn unsupported(&self, operation: &'static str) -> Error {
        Error::Unsupported { engine: self.engine, operation }
    }

    /// Refuses a change that the store cannot make to an encoded value.
    fn refuse_change(&self, options: &SetOptions) -> Result<()> {
        match options.mode {
            SetMode::Append => Err(self.unsupported("append")),
            SetMode::Prepend => Err(self.unsupported("prepend")),
            _ => Ok(()),
        }
    }

    /// Encodes a value, and stores its stored form by `store`.
    pub(super) fn encoded<T>(
        &mut self,
        value: &[u8],
        options: &SetOptions,
        store: impl FnOnce(&mut A, &[u8]) -> Result<T>,
    ) -> Result<T> {
        self.refuse_change(options)?;
        self.stored.clear();
        self.codec.encode(value, &mut self.stored)?;
        let outcome = store(&mut self.around, &self.stored);
        self.give_back();
        outcome.map_err(|error| self.codec.in_terms_of_value(error, value.len()))
    }

    /// Reads a stored form by `read`, and writes its value behind the bytes in `out`.
    pub(super) fn decoded(
        &mut self,
        out: &mut Vec<u8>,
        read: impl FnOnce(&mut A, &mut Vec<u8>) -> Result<Option<Meta>>,
    ) -> Result<Option<Meta>> {
        let found = read(&mut self.around, &mut self.stored)?;
        let found = decoded(&mut self.codec, &self.stored, found, out);
        self.give_back();
        found
    }

    pub(super) fn give_back(&mut self) {
        for room in [&mut self.stored, &mut self.value] {
            if room.capacity() > KEPT_BYTES {
                *room = Vec::new();
            }
        }
    }

    /// Encodes values one behind the other, and returns where each lies.
    pub(super) fn encode_all<'v>(
        &mut self,
        values: impl Iterator<Item = &'v [u8]>,
    ) -> Result<Vec<Range<usize>>> {
        self.stored.clear();
        let place = |value| {
            let start = self.stored.len();
            self.codec.encode(value, &mut self.stored)?;
            Ok(start..self.stored.len())
        };
        values.map(place).collect()
    }

    fn set_many_encoded(&mut self, entries: &[Put<'_>], done: &mut SetDone<'_>) -> Result<()> {
        if entries.iter().any(|entry| self.refuse_change(&entry.options).is_err()) {
            for (i, Put { key, value, options }) in entries.iter().enumerate() {
                done(i, Session::set(self, key, value, options));
            }
            return Ok(());
        }
        let places = self.encode_all(entries.iter().map(|entry| entry.value))?;
        let Self { around, codec, stored, .. } = self;
        let puts = entries.iter().zip(places);
        let puts: Vec<_> =
            puts.map(|(entry, place)| Put { value: &stored[place], ..*entry }).collect();
        let call = Call::set_many(entries);
        let outcome = around.call(&call, |session| {
            session.set_many(&puts, &mut |i, outcome| {
                if A::WATCHES_ENTRIES {
                    call.answer_with(&outcome);
                }
                done(
                    i,
                    outcome.map_err(|error| codec.in_terms_of_value(error, entries[i].value.len())),
                );
            })
        });
        self.give_back();
        outcome
    }

    fn get_many_decoded(
        &mut self,
        keys: &[&[u8]],
        hit: &mut dyn FnMut(usize, &[u8], Meta),
    ) -> Result<()> {
        let call = Call::repeatable(CallKind::ReadMany, "get_many", Keys::Many(keys));
        let mut damage = None;
        let Self { around, codec, value, .. } = self;
        let asked = around.call(&call, |session| {
            session.get_many(keys, &mut |i, stored, meta| {
                call.answer();
                value.clear();
                match decoded(codec, stored, Some(meta), value) {
                    Ok(Some(meta)) => hit(i, value, meta),
                    Ok(None) => {}
                    Err(error) => damage = Some(error),
                }
            })
        });
        self.give_back();
        asked?;
        damage.map_or(Ok(()), Err)
    }
}

impl<A: Around, C: Codec> Session for LayeredSession<A, C> {
    fn engine(&self) -> &'static str {
        self.engine
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        let call = Call::repeatable(CallKind::Read, "get", Keys::One(key));
        if C::IS_PLAIN {
            return self.around.call(&call, |session| {
                let found = session.get(key, value);
                call.tell_bytes(value.len());
                found
            });
        }
        value.clear();
        self.decoded(value, |around, room| around.call(&call, |session| session.get(key, room)))
    }

    fn get_onto(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<Option<Meta>> {
        let call = Call::repeatable(CallKind::Read, "get", Keys::One(key));
        if C::IS_PLAIN {
            let before = out.len();
            return self.around.call(&call, |session| {
                let found = session.get_onto(key, out);
                call.tell_bytes(out.len() - before);
                found
            });
        }
        self.decoded(out, |around, room| around.call(&call, |session| session.get(key, room)))
    }

    fn look(&mut self, key: &[u8]) -> Result<Option<Facts>> {
        let call = Call::repeatable(CallKind::Read, "look", Keys::One(key));
        if C::IS_PLAIN {
            return self.around.call(&call, |session| session.look(key));
        }
        // The length of the value stands in its stored form.
        let Self { around, codec, stored, .. } = self;
        let Some(meta) = around.call(&call, |session| session.get(key, stored))? else {
            return Ok(None);
        };
        let len = codec.decoded_len(stored);
        self.give_back();
        Ok(len?.map(|len| Facts::of(meta, len)))
    }

    fn get_and_touch(
        &mut self,
        key: &[u8],
        ttl: Option<Duration>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        let call = Call::repeatable(CallKind::Touch, "get_and_touch", Keys::One(key));
        if C::IS_PLAIN {
            return self.around.call(&call, |session| {
                let found = session.get_and_touch(key, ttl, value);
                call.tell_bytes(value.len());
                found
            });
        }
        value.clear();
        self.decoded(value, |around, room| {
            around.call(&call, |session| session.get_and_touch(key, ttl, room))
        })
    }

    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        if !C::IS_PLAIN {
            return self.get_many_decoded(keys, hit);
        }
        let call = Call::repeatable(CallKind::ReadMany, "get_many", Keys::Many(keys));
        self.around.call(&call, |session| {
            if !A::WATCHES_ENTRIES {
                return session.get_many(keys, hit);
            }
            session.get_many(keys, &mut |i, value, meta| {
                call.answer();
                hit(i, value, meta);
            })
        })
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        let call = Call::set(key, value, options);
        if C::IS_PLAIN {
            return self.around.call(&call, |session| session.set(key, value, options));
        }
        self.encoded(value, options, |around, stored| {
            around.call(&call, |session| session.set(key, stored, options))
        })
    }

    fn set_many(&mut self, entries: &[Put<'_>], done: &mut SetDone<'_>) -> Result<()> {
        if !C::IS_PLAIN {
            return self.set_many_encoded(entries, done);
        }
        if !A::WATCHES_ENTRIES {
            let call = Call::once(CallKind::SetMany, "set_many", Keys::Entries(entries));
            return self.around.call(&call, |session| session.set_many(entries, done));
        }
        let call = Call::set_many(entries);
        self.around.call(&call, |session| {
            session.set_many(entries, &mut |i, outcome| {
                call.answer_with(&outcome);
                done(i, outcome);
            })
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        let call = Call::repeatable(CallKind::Delete, "delete", Keys::One(key));
        self.around.call(&call, |session| session.delete(key))
    }

    fn delete_many(&mut self, keys: &[&[u8]], done: &mut DeleteDone<'_>) -> Result<()> {
        let call = Call::repeatable(CallKind::Delete, "delete_many", Keys::Many(keys));
        self.around.call(&call, |session| {
            if !A::WATCHES_ENTRIES {
                return session.delete_many(keys, done);
            }
            session.delete_many(keys, &mut |i, outcome| {
                call.answer_with(&outcome);
                done(i, outcome);
            })
        })
    }

    fn delete_if(&mut self, key: &[u8], version: u64) -> Result<DeleteOutcome> {
        let call = Call::once(CallKind::Delete, "delete_if", Keys::One(key));
        self.around.call(&call, |session| session.delete_if(key, version))
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        let call = Call::repeatable(CallKind::Touch, "touch", Keys::One(key));
        self.around.call(&call, |session| session.touch(key, ttl))
    }

    fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<Initial>,
    ) -> Result<Option<Counted>> {
        if !C::IS_PLAIN {
            return Err(self.unsupported("incr"));
        }
        let call = Call::once(CallKind::Count, "incr", Keys::One(key));
        self.around.call(&call, |session| session.incr(key, delta, absent))
    }

    fn clear(&mut self) -> Result<()> {
        let call = Call::repeatable(CallKind::Clear, "clear", Keys::None);
        self.around.call(&call, |session| session.clear())
    }

    fn settle(&mut self) -> Result<()> {
        let call = Call::once(CallKind::Local, "settle", Keys::None);
        self.around.call(&call, |session| session.settle())
    }

    fn set_patience(&mut self, patience: Duration) -> Result<()> {
        let call = Call::once(CallKind::Local, "set_patience", Keys::None);
        self.around.call(&call, |session| session.set_patience(patience))
    }

    fn set_read_timeout(&mut self, longest: Option<Duration>) -> Result<()> {
        let call = Call::once(CallKind::Local, "set_read_timeout", Keys::None);
        self.around.call(&call, |session| session.set_read_timeout(longest))
    }

    fn groups(&mut self) -> Option<&mut dyn Groups> {
        if self.parts[0] { Some(self) } else { None }
    }

    fn leases(&mut self) -> Option<&mut dyn Leases> {
        if self.parts[1] { Some(self) } else { None }
    }

    fn pipeline(&mut self) -> Option<&mut dyn Pipeline> {
        if A::PIPELINES && C::IS_PLAIN && self.parts[2] { Some(self) } else { None }
    }
}

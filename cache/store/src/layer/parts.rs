//! The optional parts of a session with a layer around it: groups, leases, and requests that are sent without waiting.

use std::time::Duration;

use super::codec::decoded;
use super::{Around, Call, CallKind, Codec, Keys, LayeredSession, Outcome};
use crate::{
    Answered, DeleteDone, Delta, End, Error, Fill, FoundEntry, Groups, Initial, LeaseDone, Leased,
    Leases, Meta, Pipeline, Put, Result, Session, SetDone, SetOptions, SetOutcome, Token, Watch,
};

impl<A: Around, C: Codec> LayeredSession<A, C> {
    /// Finds entries by `find`, and passes them on decoded.
    fn find(
        &mut self,
        found: &mut FoundEntry<'_>,
        operation: &'static str,
        mut find: impl FnMut(&mut dyn Groups, &mut FoundEntry<'_>) -> Result<()>,
    ) -> Result<()> {
        let call = Call::repeatable(CallKind::ReadMany, operation, Keys::None);
        let Self { around, codec, value, engine, .. } = self;
        if C::IS_PLAIN && !A::WATCHES_ENTRIES {
            return around.call(&call, |session| find(groups(session, engine)?, found));
        }
        let mut damage = None;
        let mut pass = |key: &[u8], stored: &[u8], meta: Meta| {
            call.answer();
            if C::IS_PLAIN {
                return found(key, stored, meta);
            }
            value.clear();
            match decoded(codec, stored, Some(meta), value) {
                Ok(Some(meta)) => found(key, value, meta),
                Ok(None) => {}
                Err(error) => damage = Some(error),
            }
        };
        let asked = around.call(&call, |session| find(groups(session, engine)?, &mut pass));
        self.give_back();
        asked?;
        damage.map_or(Ok(()), Err)
    }

    /// Asks for a value or a lease, where the values are encoded. The value of an unknown form is removed: it could never
    /// be replaced under a lease otherwise.
    fn lease_decoded(
        &mut self,
        key: &[u8],
        value: &mut Vec<u8>,
        time: Duration,
        early: Duration,
    ) -> Result<Leased> {
        let call = Call::once(CallKind::Lease, "get_or_lease", Keys::One(key));
        value.clear();
        for _ in 0..2 {
            let Self { around, codec, stored, engine, .. } = self;
            let leased = around.call(&call, |session| {
                leases(session, engine)?.get_or_lease_early(key, stored, time, early)
            })?;
            match leased {
                Leased::Hit(meta) => match decoded(codec, stored, Some(meta), value)? {
                    Some(meta) => return Ok(Leased::Hit(meta)),
                    None => drop(Session::delete(self, key)?),
                },
                Leased::Load { token, stale } => {
                    let stale = decoded(codec, stored, stale, value).unwrap_or_default();
                    return Ok(Leased::Load { token, stale });
                }
                Leased::Wait { stale } => {
                    let stale = decoded(codec, stored, stale, value).unwrap_or_default();
                    return Ok(Leased::Wait { stale });
                }
            }
        }
        let what = "the value under this key has an unknown form, also after its removal".into();
        Err(Error::Corrupted { engine: self.engine, what })
    }

    /// Asks for many values or leases, where the values are encoded. A value of an unknown form is asked for once more by
    /// itself.
    fn lease_many_decoded(
        &mut self,
        keys: &[&[u8]],
        time: Duration,
        early: Duration,
        done: &mut LeaseDone<'_>,
    ) -> Result<()> {
        let call = Call::once(CallKind::Lease, "get_or_lease_many", Keys::Many(keys));
        let mut unknown = Vec::new();
        let Self { around, codec, value, engine, .. } = self;
        let asked = around.call(&call, |session| {
            let leases = leases(session, engine)?;
            leases.get_or_lease_many(keys, time, early, &mut |i, stored, leased| {
                call.answer_with(&leased);
                value.clear();
                let mut shown = |stale| decoded(codec, stored, stale, value).unwrap_or_default();
                let leased = match leased {
                    Ok(Leased::Hit(meta)) => match decoded(codec, stored, Some(meta), value) {
                        Ok(Some(meta)) => Ok(Leased::Hit(meta)),
                        Ok(None) => return unknown.push(i),
                        Err(error) => Err(error),
                    },
                    Ok(Leased::Load { token, stale }) => {
                        Ok(Leased::Load { token, stale: shown(stale) })
                    }
                    Ok(Leased::Wait { stale }) => Ok(Leased::Wait { stale: shown(stale) }),
                    Err(error) => Err(error),
                };
                done(i, value, leased);
            })
        });
        for i in unknown {
            let mut value = Vec::new();
            let leased = self.lease_decoded(keys[i], &mut value, time, early);
            done(i, &value, leased);
        }
        self.give_back();
        asked
    }

    fn fill_many_encoded(&mut self, fills: &[Fill<'_>], done: &mut SetDone<'_>) -> Result<()> {
        if fills.iter().any(|fill| crate::check_fill(self.engine, &fill.put.options).is_err()) {
            for (i, Fill { put, token }) in fills.iter().enumerate() {
                done(i, Leases::fill(self, put.key, put.value, &put.options, token));
            }
            return Ok(());
        }
        let places = self.encode_all(fills.iter().map(|fill| fill.put.value))?;
        let call = Call::once(CallKind::Lease, "fill_many", Keys::Fills(fills));
        let Self { around, codec, stored, engine, .. } = self;
        let encoded = fills.iter().zip(places).map(|(fill, place)| {
            let put = Put { value: &stored[place], ..fill.put };
            Fill { put, ..*fill }
        });
        let encoded: Vec<_> = encoded.collect();
        let outcome = around.call(&call, |session| {
            leases(session, engine)?.fill_many(&encoded, &mut |i, outcome| {
                call.answer_with(&outcome);
                done(
                    i,
                    outcome
                        .map_err(|error| codec.in_terms_of_value(error, fills[i].put.value.len())),
                );
            })
        });
        self.give_back();
        outcome
    }

    /// A call of the session's pipeline.
    #[inline]
    fn pipe<T: Outcome>(
        &mut self,
        mut run: impl FnMut(&mut dyn Pipeline) -> Result<T>,
    ) -> Result<T> {
        let engine = self.engine;
        let call = Call::once(CallKind::Local, "pipeline", Keys::None);
        self.around.call(&call, |session| match session.pipeline() {
            Some(pipeline) => run(pipeline),
            None => Err(Error::Unsupported { engine, operation: "pipeline" }),
        })
    }

    fn lease<T: Outcome>(
        &mut self,
        operation: &'static str,
        key: &[u8],
        mut run: impl FnMut(&mut dyn Leases) -> Result<T>,
    ) -> Result<T> {
        let call = Call::once(CallKind::Lease, operation, Keys::One(key));
        self.lease_with(&call, |leases| run(leases))
    }

    /// A call of the session's leases, which notes its answers in `call`.
    fn lease_with<T: Outcome>(
        &mut self,
        call: &Call<'_>,
        mut run: impl FnMut(&mut dyn Leases) -> Result<T>,
    ) -> Result<T> {
        let engine = self.engine;
        self.around.call(call, |session| run(leases(session, engine)?))
    }
}

fn groups<'s>(session: &'s mut dyn Session, engine: &'static str) -> Result<&'s mut dyn Groups> {
    session.groups().ok_or(Error::Unsupported { engine, operation: "groups" })
}

fn leases<'s>(session: &'s mut dyn Session, engine: &'static str) -> Result<&'s mut dyn Leases> {
    session.leases().ok_or(Error::Unsupported { engine, operation: "leases" })
}

impl<A: Around, C: Codec> Groups for LayeredSession<A, C> {
    fn get_prefix(&mut self, prefix: &[u8], found: &mut FoundEntry<'_>) -> Result<()> {
        self.find(found, "get_prefix", |groups, found| groups.get_prefix(prefix, found))
    }

    fn get_tag(&mut self, tag: &[u8], found: &mut FoundEntry<'_>) -> Result<()> {
        self.find(found, "get_tag", |groups, found| groups.get_tag(tag, found))
    }

    fn set_tagged(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        tag: &[u8],
    ) -> Result<SetOutcome> {
        let (call, engine) = (Call::set(key, value, options), self.engine);
        let set = |around: &mut A, value: &[u8]| {
            around.call(&call, |session| {
                groups(session, engine)?.set_tagged(key, value, options, tag)
            })
        };
        if C::IS_PLAIN { set(&mut self.around, value) } else { self.encoded(value, options, set) }
    }

    fn delete_tag(&mut self, tag: &[u8]) -> Result<u64> {
        let call = Call::once(CallKind::Delete, "delete_tag", Keys::None);
        let engine = self.engine;
        self.around.call(&call, |session| groups(session, engine)?.delete_tag(tag))
    }
}

impl<A: Around, C: Codec> Leases for LayeredSession<A, C> {
    fn get_or_lease_early(
        &mut self,
        key: &[u8],
        value: &mut Vec<u8>,
        time: Duration,
        early: Duration,
    ) -> Result<Leased> {
        if C::IS_PLAIN {
            let (call, engine) =
                (Call::once(CallKind::Lease, "get_or_lease", Keys::One(key)), self.engine);
            return self.around.call(&call, |session| {
                let leased = leases(session, engine)?.get_or_lease_early(key, value, time, early);
                call.tell_bytes(value.len());
                leased
            });
        }
        self.lease_decoded(key, value, time, early)
    }

    fn get_or_lease_many(
        &mut self,
        keys: &[&[u8]],
        time: Duration,
        early: Duration,
        done: &mut LeaseDone<'_>,
    ) -> Result<()> {
        if !C::IS_PLAIN {
            return self.lease_many_decoded(keys, time, early, done);
        }
        let call = Call::once(CallKind::Lease, "get_or_lease_many", Keys::Many(keys));
        self.lease_with(&call, |leases| {
            leases.get_or_lease_many(keys, time, early, &mut |i, value, leased| {
                call.answer_with(&leased);
                done(i, value, leased);
            })
        })
    }

    fn fill_many(&mut self, fills: &[Fill<'_>], done: &mut SetDone<'_>) -> Result<()> {
        if !C::IS_PLAIN {
            return self.fill_many_encoded(fills, done);
        }
        let call = Call::once(CallKind::Lease, "fill_many", Keys::Fills(fills));
        self.lease_with(&call, |leases| {
            leases.fill_many(fills, &mut |i, outcome| {
                call.answer_with(&outcome);
                done(i, outcome);
            })
        })
    }

    fn release_many(&mut self, held: &[(&[u8], Token)], done: &mut DeleteDone<'_>) -> Result<()> {
        let call = Call::once(CallKind::Lease, "release_many", Keys::Held(held));
        self.lease_with(&call, |leases| {
            leases.release_many(held, &mut |i, outcome| {
                call.answer_with(&outcome);
                done(i, outcome);
            })
        })
    }

    fn fill(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        token: &Token,
    ) -> Result<SetOutcome> {
        if C::IS_PLAIN {
            let (call, engine) = (Call::once(CallKind::Lease, "fill", Keys::One(key)), self.engine);
            call.tell_bytes(value.len());
            return self
                .around
                .call(&call, |session| leases(session, engine)?.fill(key, value, options, token));
        }
        let engine = self.engine;
        crate::check_fill(engine, options)?;
        self.encoded(value, options, |around, stored| {
            let call = Call::once(CallKind::Lease, "fill", Keys::One(key));
            around.call(&call, |session| leases(session, engine)?.fill(key, stored, options, token))
        })
    }

    fn release(&mut self, key: &[u8], token: &Token) -> Result<bool> {
        self.lease("release", key, |leases| leases.release(key, token))
    }

    fn expire(&mut self, key: &[u8], keep: Option<Duration>) -> Result<bool> {
        self.lease("expire", key, |leases| leases.expire(key, keep))
    }

    /// The values are encoded again. Another form of the same value, as of another version of the codec, is another value.
    fn end_values(&mut self, ends: &[End<'_>], done: &mut DeleteDone<'_>) -> Result<()> {
        let call = Call::once(CallKind::Lease, "end_values", Keys::Ends(ends));
        if C::IS_PLAIN {
            return self.lease_with(&call, |leases| {
                leases.end_values(ends, &mut |i, ended| {
                    call.answer_with(&ended);
                    done(i, ended);
                })
            });
        }
        let places = self.encode_all(ends.iter().map(|end| end.value))?;
        let Self { around, codec, stored, engine, .. } = self;
        let encoded = ends.iter().zip(places);
        let encoded: Vec<_> =
            encoded.map(|(end, place)| End { value: &stored[place], ..*end }).collect();
        let outcome = around.call(&call, |session| {
            leases(session, engine)?.end_values(&encoded, &mut |i, ended| {
                call.answer_with(&ended);
                done(i, ended.map_err(|error| codec.in_terms_of_value(error, ends[i].value.len())));
            })
        });
        self.give_back();
        outcome
    }

    fn token(&mut self, key: &[u8]) -> Result<Token> {
        self.lease("token", key, |leases| leases.token(key))
    }

    fn renew(&mut self, key: &[u8], held: Option<&Token>) -> Result<Option<Token>> {
        self.lease("renew", key, |leases| leases.renew(key, held))
    }
}

/// A caller that is refused has no requests that are outstanding, and no answers.
impl<A: Around, C: Codec> Pipeline for LayeredSession<A, C> {
    fn watch_with(&mut self, watch: Box<dyn Watch>) -> Result<()> {
        let mut watch = Some(watch);
        self.pipe(|pipeline| watch.take().map_or(Ok(()), |watch| pipeline.watch_with(watch)))
    }

    fn connect(&mut self) -> Result<()> {
        self.pipe(|pipeline| pipeline.connect())
    }

    fn get(&mut self, id: usize, key: &[u8]) -> Result<()> {
        self.pipe(|pipeline| pipeline.get(id, key))
    }

    fn get_many(&mut self, id: usize, keys: &[&[u8]]) -> Result<()> {
        self.pipe(|pipeline| pipeline.get_many(id, keys))
    }

    fn set(&mut self, id: usize, key: &[u8], value: &[u8], options: &SetOptions) -> Result<()> {
        self.pipe(|pipeline| pipeline.set(id, key, value, options))
    }

    fn set_many(&mut self, id: usize, entries: &[Put<'_>]) -> Result<()> {
        self.pipe(|pipeline| pipeline.set_many(id, entries))
    }

    fn delete(&mut self, id: usize, key: &[u8]) -> Result<()> {
        self.pipe(|pipeline| pipeline.delete(id, key))
    }

    fn touch(&mut self, id: usize, key: &[u8], ttl: Option<Duration>) -> Result<()> {
        self.pipe(|pipeline| pipeline.touch(id, key, ttl))
    }

    fn incr(&mut self, id: usize, key: &[u8], delta: Delta, absent: Option<Initial>) -> Result<()> {
        self.pipe(|pipeline| pipeline.incr(id, key, delta, absent))
    }

    fn flush(&mut self) {
        let _ = self.pipe(|pipeline| {
            pipeline.flush();
            Ok(())
        });
    }

    fn unsent_bytes(&mut self) -> usize {
        self.pipe(|pipeline| Ok(pipeline.unsent_bytes())).unwrap_or_default()
    }

    fn n_outstanding(&mut self) -> usize {
        self.pipe(|pipeline| Ok(pipeline.n_outstanding())).unwrap_or_default()
    }

    fn is_ready(&mut self) -> bool {
        self.pipe(|pipeline| Ok(pipeline.is_ready())).unwrap_or_default()
    }

    fn receive(&mut self, link: usize, room: &mut [u8], answered: &mut Answered<'_>) {
        let _ = self.pipe(|pipeline| {
            pipeline.receive(link, room, answered);
            Ok(())
        });
    }

    fn wait(&mut self, room: &mut [u8], answered: &mut Answered<'_>) {
        let _ = self.pipe(|pipeline| {
            pipeline.wait(room, answered);
            Ok(())
        });
    }

    fn expire(&mut self, answered: &mut Answered<'_>) {
        let _ = self.pipe(|pipeline| {
            pipeline.expire(answered);
            Ok(())
        });
    }
}

//! The spans of reads that load: of the read, and of its loader as a child.

use std::cell::Cell;
use std::thread;

use larder_store::layer::Keys;
use opentelemetry::KeyValue;

use super::callbacks::Answered;
use super::{Answer, Loaded, Origin};
use crate::layer::spans::{Active, number};
use crate::session::TiersSession;

impl TiersSession {
    /// Begins the span of a read that may load; `None` where there is none.
    pub(super) fn begin_span(&self, keys: Keys<'_>) -> Option<Active> {
        let operation = match keys {
            Keys::One(_) => "get_or_load",
            _ => "get_or_load_many",
        };
        self.spans.as_ref()?.begin_as("cache.get_or_load", operation, keys)
    }

    /// Begins the span of a loader.
    pub(super) fn begin_loader_span(&self, keys: Keys<'_>) -> Option<Active> {
        self.spans.as_ref()?.begin_loader(keys)
    }
}

/// Ends the span of a read of one key.
pub(super) fn end<E>(
    span: Active,
    answer: &Result<Option<Answer>, E>,
    has_waited: bool,
    value: &[u8],
) {
    let found = answer.as_ref().ok().copied().flatten();
    span.tell(|| {
        let origin = match found.map(|answer| answer.origin) {
            Some(Origin::Tier(level)) => format!("L{level}"),
            Some(Origin::Loader) => "loader".to_owned(),
            None => "none".to_owned(),
        };
        let is_hit = found.is_some_and(|answer| answer.origin != Origin::Loader);
        let mut attributes = vec![
            KeyValue::new("larder.origin", origin),
            KeyValue::new("larder.waited", has_waited),
            KeyValue::new("cache.hit", is_hit),
        ];
        if found.is_some_and(|answer| answer.stale) {
            attributes.push(KeyValue::new("larder.stale", true));
        }
        if found.is_some() {
            attributes.push(KeyValue::new("cache.item_size", number(value.len())));
        }
        attributes
    });
    finish(span, answer.is_err());
}

/// Ends the span of a loader of one value.
pub(super) fn end_loader<E>(span: Active, made: &thread::Result<Result<Loaded, E>>, loaded: &[u8]) {
    if matches!(made, Ok(Ok(made)) if *made != Loaded::Absent) {
        span.tell(|| vec![KeyValue::new("cache.item_size", number(loaded.len()))]);
    }
    finish(span, !matches!(made, Ok(Ok(_))));
}

/// Ends the span of a loader of many values, with the number of values that it gave.
pub(super) fn end_loader_of_many<E>(
    span: Active,
    made: &thread::Result<Result<(), E>>,
    n_given: usize,
) {
    span.tell(|| vec![KeyValue::new("larder.loaded", number(n_given))]);
    finish(span, !matches!(made, Ok(Ok(()))));
}

/// Ends a span. The error of a loader is of a type that is unknown here.
fn finish(span: Active, has_failed: bool) {
    if has_failed {
        span.fail("_OTHER");
    }
    span.finish();
}

/// The answers of a read of many keys.
#[derive(Debug, Default)]
pub(super) struct Answers {
    of_tiers: Cell<usize>,
    loaded: Cell<usize>,
    stale: Cell<usize>,
}

impl Answers {
    /// Passes answers on, and counts them.
    pub(super) fn count<'a>(
        &'a self,
        hit: &'a mut Answered<'_>,
    ) -> impl FnMut(usize, &[u8], Answer) {
        move |i, value, answer: Answer| {
            let count = if answer.origin == Origin::Loader { &self.loaded } else { &self.of_tiers };
            count.set(count.get() + 1);
            self.stale.set(self.stale.get() + usize::from(answer.stale));
            hit(i, value, answer);
        }
    }

    /// Ends the span of the read.
    pub(super) fn end<E>(
        &self,
        span: Active,
        result: &Result<(), E>,
        n_keys: usize,
        has_waited: bool,
    ) {
        let [hits, loaded, stale] = [&self.of_tiers, &self.loaded, &self.stale].map(Cell::get);
        span.tell(|| {
            vec![
                KeyValue::new("larder.hits", number(hits)),
                KeyValue::new("larder.loaded", number(loaded)),
                KeyValue::new("larder.waited", has_waited),
                KeyValue::new("larder.stale", stale > 0),
                KeyValue::new("cache.hit", hits >= n_keys),
            ]
        });
        finish(span, result.is_err());
    }
}

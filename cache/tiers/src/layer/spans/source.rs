//! One span: its name, its parent, and its attributes.

use std::sync::Arc;

use larder_store::layer::{Call, CallKind, Keys, Outcome};
use larder_store::{Ownership, Result, StoreInfo};
use opentelemetry::global::{BoxedTracer, tracer};
use opentelemetry::trace::{SpanBuilder, SpanKind, Status, TraceContextExt, Tracer as _};
use opentelemetry::{Array, Context, ContextGuard, KeyValue, StringValue, Value};

use super::Settings;

/// The name under which the spans' library is known to a tracer provider.
const LIBRARY: &str = "larder";

/// The most keys of a batch that a span tells.
const MOST_KEYS: usize = 16;

/// What the spans of one store have in common.
#[derive(Debug, Clone)]
pub(super) struct Source {
    settings: Settings,
    /// The attributes of each span.
    attributes: Arc<[KeyValue]>,
    kind: SpanKind,
    /// The store is a tier: the calls that no call on the stack caused, as queued writes, have no span.
    is_tier: bool,
}

impl Source {
    /// The source of the spans of a store.
    pub(super) fn of(info: &StoreInfo, settings: Settings) -> Self {
        let mut attributes = vec![KeyValue::new("db.system.name", info.scheme)];
        if let [address] = &info.addresses[..] {
            attributes.extend(peer(address));
        }
        let is_local = info.ownership == Ownership::Embedded;
        let kind = if is_local { SpanKind::Internal } else { SpanKind::Client };
        Self { settings, attributes: attributes.into(), kind, is_tier: false }
    }

    /// The source of the spans of a stack's own calls.
    pub(super) fn of_stack(scheme: &'static str, settings: Settings) -> Self {
        let info = StoreInfo { scheme, ..StoreInfo::default() };
        Self { kind: SpanKind::Internal, ..Self::of(&info, settings) }
    }

    /// The same for a tier; 1 is the nearest.
    pub(super) fn of_tier(self, level: usize) -> Self {
        let tier = KeyValue::new("larder.tier", i64::try_from(level).unwrap_or(i64::MAX));
        let attributes = self.attributes.iter().cloned().chain([tier]).collect();
        Self { attributes, is_tier: true, ..self }
    }

    pub(super) fn settings(&self) -> Settings {
        self.settings
    }

    /// The spans of a session, by the tracer provider of now.
    pub(super) fn spans(&self) -> Spans {
        Spans { source: self.clone(), tracer: tracer(LIBRARY) }
    }
}

/// The address of the only server: of a pool nobody knows here which server answers.
fn peer(address: &str) -> Vec<KeyValue> {
    let peer = |host: &str| KeyValue::new("network.peer.address", host.to_owned());
    let parts = address.rsplit_once(':');
    let parts = parts.and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
    // The path of a socket has no port.
    let Some((host, port)) = parts else { return vec![peer(address)] };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    vec![peer(host), KeyValue::new("network.peer.port", i64::from(port))]
}

/// Makes the spans of one session.
#[derive(Debug)]
pub(crate) struct Spans {
    source: Source,
    tracer: BoxedTracer,
}

impl Spans {
    /// Begins the span of a call; `None` where there is none.
    #[inline]
    pub(crate) fn begin(&self, call: &Call<'_>) -> Option<Active> {
        self.begin_as(name(call)?, call.operation, call.keys)
    }

    /// Begins a span of this name for an operation of the store.
    pub(crate) fn begin_as(
        &self,
        name: &'static str,
        operation: &'static str,
        keys: Keys<'_>,
    ) -> Option<Active> {
        let active = self.begin_named(name)?;
        active.tell(|| {
            let operation = KeyValue::new("db.operation.name", operation);
            let own = self.source.attributes.iter().cloned();
            own.chain([operation]).chain(self.of_keys(keys)).collect()
        });
        Some(active)
    }

    /// Begins the span of a loader, which is no operation of the store.
    pub(crate) fn begin_loader(&self, keys: Keys<'_>) -> Option<Active> {
        let active = self.begin_named("cache.load")?;
        active.tell(|| self.of_keys(keys));
        Some(active)
    }

    /// Begins a span, which the spans of this thread until its end are children of.
    fn begin_named(&self, name: &'static str) -> Option<Active> {
        if self.source.is_tier && !Context::map_current(TraceContextExt::has_active_span) {
            return None;
        }
        let builder = SpanBuilder::from_name(name).with_kind(self.source.kind.clone());
        let span = self.tracer.build(builder);
        let context = Context::current_with_span(span);
        // Without a provider there is nothing to tell, nor for a tier to be a child of.
        if !context.span().span_context().is_valid() {
            return None;
        }
        Some(Active { guard: context.clone().attach(), context })
    }

    fn of_keys(&self, keys: Keys<'_>) -> Vec<KeyValue> {
        let mut attributes = Vec::new();
        if let Some(n) = keys.n_of_many() {
            attributes.push(KeyValue::new("db.operation.batch.size", number(n)));
        }
        if self.source.settings == Settings::Keys {
            let text = |key: &[u8]| StringValue::from(key.escape_ascii().to_string());
            let keys: Vec<_> = keys.iter().take(MOST_KEYS).map(text).collect();
            attributes.push(KeyValue::new("cache.key", Value::Array(Array::String(keys))));
        }
        attributes
    }
}

/// The name of the span of a call; `None` for a call without a span. `token` and `renew` have none: they neither read nor change
/// an entry, and a stack makes them for each read.
fn name(call: &Call<'_>) -> Option<&'static str> {
    Some(match (call.kind, call.operation) {
        (_, "token" | "renew") | (CallKind::Local, _) => return None,
        (CallKind::Read | CallKind::ReadMany, _)
        | (_, "get_and_touch" | "get_or_lease" | "get_or_lease_many") => "cache.get",
        (CallKind::Set | CallKind::SetIf | CallKind::SetMany, _) | (_, "fill" | "fill_many") => {
            "cache.put"
        }
        (CallKind::Delete, _) | (_, "expire" | "end_values") => "cache.remove",
        (CallKind::Touch, _) => "cache.touch",
        (CallKind::Count, _) => "cache.increment",
        (CallKind::Lease, _) => "cache.release",
        (CallKind::Clear, _) => "cache.flush",
    })
}

/// A span that has begun. It ends when it is dropped, also where the call panics.
pub(crate) struct Active {
    context: Context,
    guard: ContextGuard,
}

impl Active {
    /// Adds attributes, which are only made for a span that is sampled.
    pub(crate) fn tell(&self, attributes: impl FnOnce() -> Vec<KeyValue>) {
        let span = self.context.span();
        if span.is_recording() {
            span.set_attributes(attributes());
        }
    }

    /// Adds the kind of an error.
    pub(crate) fn fail(&self, kind: &'static str) {
        let span = self.context.span();
        span.set_attribute(KeyValue::new("error.type", kind));
        // The text of an error may have a key, so it is left out.
        span.set_status(Status::error(kind));
    }

    /// Tells the result of a call, and ends the span.
    pub(crate) fn end<T: Outcome>(self, call: &Call<'_>, result: &Result<T>) {
        let error = result.as_ref().err().map_or_else(|| call.entry_error(), |e| Some(e.kind()));
        if let Some(kind) = error {
            self.fail(kind);
        }
        self.tell(|| attributes(call, result));
        self.finish();
    }

    /// Ends the span.
    pub(crate) fn finish(self) {
        drop(self.guard);
        self.context.span().end();
    }
}

/// The attributes of a call's result.
fn attributes<T: Outcome>(call: &Call<'_>, result: &Result<T>) -> Vec<KeyValue> {
    let mut attributes = Vec::new();
    let is_hit = result.as_ref().ok().and_then(Outcome::is_hit);
    if let Some(is_hit) = is_hit {
        attributes.push(KeyValue::new("cache.hit", is_hit));
    }
    if result.as_ref().is_ok_and(Outcome::is_stale) {
        attributes.push(KeyValue::new("larder.stale", true));
    }
    if let Some(is_done) = result.as_ref().ok().and_then(Outcome::is_done) {
        attributes.push(KeyValue::new("larder.done", is_done));
    }
    if call.kind == CallKind::ReadMany || call.operation == "get_or_lease_many" {
        attributes.extend(hits(call.n_hits(), call.keys));
    }
    // A miss has no value.
    if let Some(len) = call.value_bytes().filter(|_| is_hit != Some(false)) {
        attributes.push(KeyValue::new("cache.item_size", number(len)));
    }
    attributes
}

/// The hits of a batch. It is a hit where all keys are.
fn hits(n_hits: usize, keys: Keys<'_>) -> Vec<KeyValue> {
    let mut attributes = vec![KeyValue::new("larder.hits", number(n_hits))];
    if let Some(n) = keys.n_of_many() {
        attributes.push(KeyValue::new("cache.hit", n_hits >= n));
    }
    attributes
}

pub(crate) fn number(n: usize) -> Value {
    Value::I64(i64::try_from(n).unwrap_or(i64::MAX))
}

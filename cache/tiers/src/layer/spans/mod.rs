//! Spans: what each call asked, what the answer was, and how long it took, in the traces of OpenTelemetry.
//!
//! The spans go to the program's tracer provider (`opentelemetry::global`), which samples and exports them. A session takes
//! its tracer when it is opened, so the program sets its provider before. Without a provider no span is made.
//!
//! There is no convention of OpenTelemetry for caches. Names and attributes are those that Sentry's cache spans have
//! (`cache.get`, `cache.hit`, `cache.item_size`), and those of OpenTelemetry's database clients (`db.system.name`,
//! `error.type`). Attributes that neither has begin with `larder.`.

mod source;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use larder_store::layer::{Around, Call, Layer, Layered, Open, Outcome, PlainValues, Wrap};
use larder_store::{Capabilities, Result, Session, Store, StoreInfo, StoreLayer};
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};

use crate::SCHEME;
use source::Source;
pub(crate) use source::{Active, Spans, number};

/// The layer as the catalog lists it.
pub const LAYER: StoreLayer =
    StoreLayer { option: "spans", schema: || schema_for!(Settings), read };

/// `spans=on` makes a span of OpenTelemetry of each call. It tells hit, miss or stale, the kind of an error, the number of keys
/// and the size of the value. `spans=keys` tells the keys too, which may be personal. `larder serve --traces` exports the spans;
/// a program in Rust sets a tracer provider before it opens sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Settings {
    /// No spans.
    #[default]
    Off,
    /// Spans without keys.
    On,
    /// Spans with keys.
    Keys,
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Off => "off",
            Self::On => "on",
            Self::Keys => "keys",
        })
    }
}

impl FromStr for Settings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            "on" => Ok(Self::On),
            "keys" => Ok(Self::Keys),
            _ => Err(format!("`{text}` is not on, keys or off; write spans=on")),
        }
    }
}

fn read(text: &str) -> Result<Option<Wrap>, String> {
    let settings: Settings = text.parse()?;
    let wrap = || Wrap::new(move |store| layer(store, settings));
    Ok((settings != Settings::Off).then(wrap))
}

/// The store with spans of its calls. A stack of tiers makes its spans itself: [`Config::spans`](crate::Config::spans).
pub fn layer(store: Arc<dyn Store>, settings: Settings) -> Arc<dyn Store> {
    around(store, settings, |source| source)
}

/// A tier of a stack with spans of its calls, which are children of the stack's.
pub(crate) fn of_tier(store: Arc<dyn Store>, settings: Settings, level: usize) -> Arc<dyn Store> {
    around(store, settings, |source| source.of_tier(level))
}

/// The spans of a stack's own session; `None` where the settings are off.
pub(crate) fn of_stack(settings: Settings) -> Option<Spans> {
    (settings != Settings::Off).then(|| Source::of_stack(SCHEME, settings).spans())
}

fn around(
    store: Arc<dyn Store>,
    settings: Settings,
    adapted: impl FnOnce(Source) -> Source,
) -> Arc<dyn Store> {
    if settings == Settings::Off {
        return store;
    }
    let info = store.info();
    let source = adapted(Source::of(&info, settings));
    Arc::new(Layered(SpansLayer { engine: info.scheme, store, source }))
}

#[derive(Debug)]
struct SpansLayer {
    store: Arc<dyn Store>,
    engine: &'static str,
    source: Source,
}

impl Layer for SpansLayer {
    type Around = SpansSession;
    type Codec = PlainValues;

    fn store(&self) -> Result<&dyn Store> {
        Ok(&*self.store)
    }

    fn engine(&self) -> &'static str {
        self.engine
    }

    /// A forked child may find a lock of the exporter taken for ever, and has no thread that exports.
    fn capabilities(&self) -> Capabilities {
        Capabilities { pipeline: false, forks: false, ..self.store.capabilities() }
    }

    fn session(&self, open: &mut Open<'_>) -> Result<(SpansSession, PlainValues)> {
        Ok((SpansSession { session: open()?, spans: self.source.spans() }, PlainValues))
    }

    fn within(&self, namespace: Arc<dyn Store>) -> Self {
        Self { store: namespace, engine: self.engine, source: self.source.clone() }
    }

    fn describe(&self, info: &mut StoreInfo) {
        info.settings.insert("spans".into(), self.source.settings().to_string());
    }
}

struct SpansSession {
    session: Box<dyn Session>,
    spans: Spans,
}

impl Around for SpansSession {
    const WATCHES_ENTRIES: bool = true;

    #[inline]
    fn call<T: Outcome>(
        &mut self,
        call: &Call<'_>,
        mut run: impl FnMut(&mut dyn Session) -> Result<T>,
    ) -> Result<T> {
        let Some(active) = self.spans.begin(call) else { return run(&mut *self.session) };
        let result = run(&mut *self.session);
        active.end(call, &result);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_settings_are_on_keys_and_off() {
        for settings in [Settings::Off, Settings::On, Settings::Keys] {
            assert_eq!(settings.to_string().parse(), Ok(settings));
            assert_eq!(serde_name(settings), settings.to_string());
        }
        assert!(read("off").unwrap().is_none());
        let error = read("yes").unwrap_err();
        assert_eq!(error, "`yes` is not on, keys or off; write spans=on");
    }

    fn serde_name(settings: Settings) -> String {
        format!("{settings:?}").to_lowercase()
    }
}

//! Compression: values from a size on are stored compressed. `form.rs` has the stored form.
//!
//! All who read the store must have the layer too, with any settings. A value of another form is a miss, and is counted.

mod form;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use larder_store::layer::{Codec, Layer, Layered, Open, Through, Wrap};
use larder_store::{ByteSize, Capabilities, Counter, Error, Result, Store, StoreInfo, StoreLayer};
use schemars::{JsonSchema, schema_for};

use super::parts::{number, split};
use form::{Form, HEADER_LEN, Packer, write_raw};

const EXAMPLE: &str = "compress=zstd:1k or compress=lz4:4k,limit:64m";

/// The layer as the catalog lists it.
pub const LAYER: StoreLayer =
    StoreLayer { option: "compress", schema: || schema_for!(Settings), read };

/// Stores values of a size and more compressed: `compress=zstd:1k`, or `compress=lz4:1k`, which is faster and saves less.
/// Smaller values, and those that would not become shorter, are stored as they are, behind one byte. zstd has a
/// `level:3` from 1 to 19. Values beyond `limit:64m` are not compressed, and a stored value that claims to be larger is
/// an error. All who read the store need the option, with any value but `off`; without it they read the stored bytes.
/// Entries that were stored without it are misses. Such a store has no `append`, `prepend` and `incr`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
pub struct Settings {
    /// The compression.
    pub format: Format,
    /// The smallest value that is compressed, in bytes.
    pub over: u64,
    /// The level of zstd.
    pub level: i32,
    /// The largest value that is compressed, in bytes. A larger one is not decompressed either, so that a few stored bytes
    /// cannot take all memory.
    pub limit: u64,
}

/// A compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
pub enum Format {
    /// Zstandard, which saves more.
    Zstd,
    /// LZ4, which is faster.
    Lz4,
}

impl Default for Settings {
    fn default() -> Self {
        Self { format: Format::Zstd, over: 1 << 10, level: 3, limit: 64 << 20 }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Zstd => "zstd",
            Self::Lz4 => "lz4",
        })
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (over, limit) = (ByteSize(self.over).typed(), ByteSize(self.limit).typed());
        write!(f, "{}:{over},limit:{limit}", self.format)?;
        match self.format {
            Format::Zstd => write!(f, ",level:{}", self.level),
            Format::Lz4 => Ok(()),
        }
    }
}

impl FromStr for Settings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (head, pairs) = split(text, &["level", "limit"], EXAMPLE)?;
        let (format, over) = head.split_once(':').map_or((head, None), |(f, over)| (f, Some(over)));
        let format = match format {
            "zstd" => Format::Zstd,
            "lz4" => Format::Lz4,
            _ => return Err(format!("`{format}` is not zstd or lz4; write {EXAMPLE}")),
        };
        let mut settings = Self { format, ..Self::default() };
        if let Some(over) = over {
            settings.over = over.parse::<ByteSize>()?.0;
        }
        for (name, value) in pairs {
            match name {
                "level" if settings.format == Format::Lz4 => {
                    return Err(format!("lz4 has no level, which is `{value}` here; leave it out"));
                }
                "level" => {
                    let level = number("a level", value, 1, 19);
                    let level = level.map_err(|problem| format!("{problem}; write level:3"))?;
                    settings.level = level.cast_signed();
                }
                _ => settings.limit = value.parse::<ByteSize>()?.0,
            }
        }
        if !(1..1 << 32).contains(&settings.limit) {
            let limit = ByteSize(settings.limit);
            return Err(format!(
                "a limit of {limit} is not from 1 byte to below 4 GiB; write limit:64m"
            ));
        }
        Ok(settings)
    }
}

fn read(text: &str) -> Result<Option<Wrap>, String> {
    if text == "off" {
        return Ok(None);
    }
    let settings: Settings = text.parse()?;
    Ok(Some(Wrap::new(move |store| layer(store, &settings))))
}

/// The store with its values compressed.
pub fn layer(store: Arc<dyn Store>, settings: &Settings) -> Arc<dyn Store> {
    let shared = Shared {
        engine: store.info().scheme,
        settings: *settings,
        max_len: store.capabilities().max_value_len,
        counts: Counts::default(),
    };
    Arc::new(Layered(CompressLayer { store, shared: Arc::new(shared) }))
}

/// What all sessions of a store share. There is no lock in it, so a forked child may go on with it.
#[derive(Debug)]
struct Shared {
    engine: &'static str,
    settings: Settings,
    /// The longest stored form.
    max_len: Option<usize>,
    counts: Counts,
}

/// Events beside which a step on shared memory costs little.
#[derive(Debug, Default)]
struct Counts {
    /// Values that were stored compressed, and their bytes before and after.
    packed: AtomicU64,
    before: AtomicU64,
    after: AtomicU64,
    /// Values of the size that did not become shorter.
    incompressible: AtomicU64,
    /// Stored values of an unknown format.
    unknown: AtomicU64,
}

fn count(counter: &AtomicU64, n: usize) {
    counter.fetch_add(n as u64, Ordering::Relaxed);
}

#[derive(Debug)]
struct CompressLayer {
    store: Arc<dyn Store>,
    shared: Arc<Shared>,
}

impl Layer for CompressLayer {
    type Around = Through;
    type Codec = Compression;

    fn store(&self) -> Result<&dyn Store> {
        Ok(&*self.store)
    }

    fn engine(&self) -> &'static str {
        self.shared.engine
    }

    fn capabilities(&self) -> Capabilities {
        let inner = self.store.capabilities();
        let max_value_len = inner.max_value_len.map(|len| len.saturating_sub(HEADER_LEN));
        Capabilities { append: false, incr: false, pipeline: false, max_value_len, ..inner }
    }

    fn session(&self, open: &mut Open<'_>) -> Result<(Through, Compression)> {
        let shared = Arc::clone(&self.shared);
        Ok((Through(open()?), Compression { shared, packer: Packer::default() }))
    }

    fn within(&self, namespace: Arc<dyn Store>) -> Self {
        Self { store: namespace, shared: Arc::clone(&self.shared) }
    }

    fn describe(&self, info: &mut StoreInfo) {
        info.settings.insert("compress".into(), self.shared.settings.to_string());
    }

    fn counters(&self) -> Vec<Counter> {
        let Counts { packed, before, after, incompressible, unknown } = &self.shared.counts;
        [
            ("compress_values", packed),
            ("compress_bytes_before", before),
            ("compress_bytes_after", after),
            ("compress_incompressible", incompressible),
            ("compress_unknown_format", unknown),
        ]
        .map(|(name, value)| Counter { name, value: value.load(Ordering::Relaxed) })
        .to_vec()
    }
}

/// The hook for the values of one session.
struct Compression {
    shared: Arc<Shared>,
    packer: Packer,
}

impl Compression {
    fn corrupted(&self, what: String) -> Error {
        Error::Corrupted { engine: self.shared.engine, what }
    }

    /// Whether a value is to be compressed. A value that the store refuses as it is stays too large, however short its
    /// compressed form: a limit that depends on the contents is no limit.
    fn packs(&self, len: usize) -> bool {
        let Settings { over, limit, .. } = self.shared.settings;
        let fits = self.shared.max_len.is_none_or(|max| len + HEADER_LEN <= max);
        fits && (over..=limit).contains(&(len as u64))
    }

    /// The form of a stored value, without claims beyond the limit; `None` where the format is unknown.
    fn form<'s>(&self, stored: &'s [u8]) -> Result<Option<Form<'s>>> {
        let form = Form::of(stored).map_err(|damage| self.corrupted(damage))?;
        let limit = self.shared.settings.limit;
        match form {
            None => count(&self.shared.counts.unknown, 1),
            Some(Form::Packed { len, .. }) if len as u64 > limit => {
                let (len, limit) = (ByteSize(len as u64), ByteSize(limit));
                let what = format!(
                    "a compressed value claims {len} > limit {limit}; if that is right, raise compress=…,limit:"
                );
                return Err(self.corrupted(what));
            }
            Some(_) => {}
        }
        Ok(form)
    }
}

impl Codec for Compression {
    fn encode(&mut self, value: &[u8], out: &mut Vec<u8>) -> Result<()> {
        if !self.packs(value.len()) {
            write_raw(value, out);
            return Ok(());
        }
        let Settings { format, level, .. } = self.shared.settings;
        let start = out.len();
        let counts = &self.shared.counts;
        if self.packer.pack(format, level, value, out) {
            count(&counts.packed, 1);
            count(&counts.before, value.len());
            count(&counts.after, out.len() - start);
        } else {
            count(&counts.incompressible, 1);
            write_raw(value, out);
        }
        Ok(())
    }

    fn decode(&mut self, stored: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        match self.form(stored)? {
            None => Ok(false),
            Some(Form::Raw(raw)) => {
                value.extend_from_slice(raw);
                Ok(true)
            }
            Some(Form::Packed { format, len, sum, packed }) => {
                let unpacked = self.packer.unpack(format, len, sum, packed, value);
                unpacked.map_err(|damage| self.corrupted(damage))?;
                Ok(true)
            }
        }
    }

    fn decoded_len(&mut self, stored: &[u8]) -> Result<Option<usize>> {
        Ok(self.form(stored)?.map(|form| match form {
            Form::Raw(raw) => raw.len(),
            Form::Packed { len, .. } => len,
        }))
    }

    fn in_terms_of_value(&self, error: Error, value_len: usize) -> Error {
        match error {
            Error::ValueTooLarge { engine, limit, .. } => Error::ValueTooLarge {
                engine,
                len: value_len,
                limit: limit.saturating_sub(HEADER_LEN),
            },
            error => error,
        }
    }
}

#[cfg(test)]
mod tests;

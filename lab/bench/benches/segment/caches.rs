//! The shared interface of the caches here, and our own cache.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use larder_engines::ENGINES;
use larder_segment::{Options, Set};
use larder_store::{Session, SetOptions, Store, StoreUrl};

use crate::Result;
use crate::contender::Contender;
use crate::keys::{KEY_LEN, Key, key, write_value};

/// The interface that values are read through.
pub(crate) trait Cache {
    /// Copies the value under a key to `value`; `false` where there is no value. Only floors look at the number.
    fn get(&mut self, key: &Key, number: usize, value: &mut Vec<u8>) -> bool;
}

/// The interface that values are stored through.
pub(crate) trait Sets {
    /// Stores a copy of the value.
    fn set(&mut self, key: &Key, value: &[u8]);

    /// Does deferred work before the cache is read.
    fn settle(&mut self) {}
}

/// Stores the first `n` values of this length, and reads them back.
pub(crate) fn filled<C: Cache + Sets>(mut cache: C, n: usize, len: usize) -> Result<C> {
    let mut expected = vec![0; len];
    for number in 0..n {
        write_value(number, &mut expected);
        cache.set(&key(number), &expected);
    }
    cache.settle();
    let mut value = Vec::new();
    for number in 0..n {
        write_value(number, &mut expected);
        if !cache.get(&key(number), number, &mut value) || value != expected {
            return Err(format!("key {number} is not there as it was stored").into());
        }
    }
    Ok(cache)
}

/// A reader that takes the keys of a block one by one.
pub(crate) fn reader<'a>(
    name: impl Into<String>,
    mut cache: impl Cache + 'a,
    len: usize,
) -> Contender<'a> {
    let mut value = Vec::new();
    Contender::new(name, move |block| {
        for (key, &number) in block.keys.iter().zip(&block.numbers) {
            let is_hit = cache.get(black_box(key), number, &mut value);
            assert!(is_hit && black_box(&value).len() == len, "key {number} is not there");
        }
    })
}

/// A writer that stores a value under each key of a block.
pub(crate) fn writer<'a>(
    name: impl Into<String>,
    mut cache: impl Sets + 'a,
    len: usize,
) -> Contender<'a> {
    let value = vec![b'v'; len];
    Contender::new(name, move |block| {
        for key in &block.keys {
            cache.set(black_box(key), black_box(&value));
        }
    })
}

/// A region of this many bytes for values of this length.
pub(crate) fn options(size: usize, len: usize) -> Options {
    Options { item: KEY_LEN + len, ..Options::of_size(size) }
}

/// The segment cache by its own API.
pub(crate) struct Own(pub(crate) larder_segment::Session);

impl Cache for Own {
    #[inline]
    fn get(&mut self, key: &Key, _: usize, value: &mut Vec<u8>) -> bool {
        self.0.get(key, value).is_some()
    }
}

impl Sets for Own {
    #[inline]
    fn set(&mut self, key: &Key, value: &[u8]) {
        self.0.set(key, value, &Set::default()).expect("a value that fits is stored");
    }
}

/// An engine through the interface that all callers use.
pub(crate) struct Through {
    session: Box<dyn Session>,
    _store: Arc<dyn Store>,
}

impl Through {
    /// The engine `mmap:` on a file of this size.
    pub(crate) fn mmap(file: &Path, size: usize, len: usize) -> Result<Self> {
        Self::open(&format!("mmap:{}?size={size}&item_size={}", file.display(), KEY_LEN + len))
    }

    /// The engine `memory:`.
    pub(crate) fn memory(size: usize, len: usize) -> Result<Self> {
        Self::open(&format!("memory:?size={size}&item_size={}", KEY_LEN + len))
    }

    pub(crate) fn open(url: &str) -> Result<Self> {
        let store = ENGINES.open(&StoreUrl::parse(url)?)?;
        Ok(Self { session: store.session()?, _store: store })
    }

    pub(crate) fn session(&mut self) -> &mut dyn Session {
        &mut *self.session
    }
}

impl Cache for Through {
    #[inline]
    fn get(&mut self, key: &Key, _: usize, value: &mut Vec<u8>) -> bool {
        matches!(self.session.get(key, value), Ok(Some(_)))
    }
}

impl Sets for Through {
    #[inline]
    fn set(&mut self, key: &Key, value: &[u8]) {
        let set = self.session.set(key, value, &SetOptions::default());
        set.expect("a value that fits is stored");
    }
}

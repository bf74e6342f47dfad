//! The options of a region.

use std::path::Path;
use std::time::Duration;

use larder_segment::{LONGEST_NAMESPACE, Options, Refused};
use larder_store::{ByteSize, Error, Result, Span, StoreUrl};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The options of a region, and of the namespace and the writes of its sessions.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SegmentConfig {
    /// Bytes of the whole region: entries, their index and all bookkeeping. A region never grows. At least 1 MiB.
    pub(crate) size: ByteSize,
    /// The usual bytes of an entry, key and value together. The index begins with slots for as many entries of
    /// this size as fit. If entries are smaller, it grows; if they are larger, it takes more than it needs.
    pub(crate) item_size: ByteSize,
    /// The longest key: up to 64 KiB, and up to a 64th of `size`.
    pub(crate) max_key: ByteSize,
    /// The largest value, up to a quarter of `size`. Without it: a quarter of `size`.
    pub(crate) max_value: Option<ByteSize>,
    /// The namespace of the keys, a name of up to 48 bytes. A clear removes the entries of this namespace only; stores
    /// with other names have keys of their own. Without it: the keys have no namespace, and a clear empties the whole
    /// region.
    pub(crate) namespace: Option<String>,
    /// The most namespaces of a new region, up to one for each KiB and 65535. Without it: one for each 64 KiB of `size`,
    /// from 64 to 4096.
    pub(crate) namespaces: Option<u16>,
    /// The longest wait of a write for a lock whose holder was stopped or gets no processor. The system may stop a
    /// process with a quota of processor time for a tenth of a second.
    pub(crate) timeout: Span,
}

impl Default for SegmentConfig {
    fn default() -> Self {
        Self {
            size: ByteSize(64 << 20),
            item_size: ByteSize(112),
            max_key: ByteSize(250),
            max_value: None,
            namespace: None,
            namespaces: None,
            timeout: Span(Duration::from_millis(250)),
        }
    }
}

impl SegmentConfig {
    /// Reads the options of a URL. Refuses a wrong namespace before a region is made.
    pub(crate) fn read(engine: &'static str, url: &StoreUrl) -> Result<Self> {
        let config: Self = url.options(engine)?;
        config.namespace.as_deref().map_or(Ok(()), |name| check_namespace(engine, name))?;
        Ok(config)
    }

    /// The options as the library takes them.
    pub(crate) fn options(&self) -> Options {
        let bytes = |ByteSize(bytes)| usize::try_from(bytes).unwrap_or(usize::MAX / 4);
        Options {
            size: bytes(self.size),
            item: bytes(self.item_size),
            max_key: bytes(self.max_key),
            max_value: self.max_value.map(bytes),
            namespaces: self.namespaces.map(usize::from),
        }
    }
}

/// Refuses a name that no namespace can have.
pub(crate) fn check_namespace(engine: &'static str, name: &str) -> Result<()> {
    let len = name.len();
    if (1..=LONGEST_NAMESPACE).contains(&len) {
        return Ok(());
    }
    Err(refused(engine, None, Refused::Namespace { len, most: LONGEST_NAMESPACE }))
}

/// The error of an engine whose region was not opened.
pub(crate) fn refused(engine: &'static str, file: Option<&Path>, what: Refused) -> Error {
    match what {
        Refused::Io { source, .. } if source.raw_os_error() == Some(libc::ENOSPC) => {
            Error::Full { engine, what: "no room for a file of this `size`".to_owned() }
        }
        Refused::TooSmall { size, least } => {
            let (size, least) = (ByteSize(size as u64), ByteSize(least as u64));
            Error::SizeTooSmall { engine, option: "size", size, least }
        }
        Refused::Namespace { .. } | Refused::Namespaces { .. } => {
            Error::InvalidOptions { engine, reason: format!("option `namespace`: {what}") }
        }
        Refused::TooManyNamespaces { .. } => {
            Error::InvalidOptions { engine, reason: format!("option `namespaces`: {what}") }
        }
        Refused::Limit { .. } => Error::InvalidOptions { engine, reason: what.to_string() },
        Refused::Busy => Error::Busy { engine, what: what.to_string() },
        // The error names the file itself.
        Refused::Io { .. } => Error::Unavailable { engine, what: what.to_string(), source: None },
        other => {
            let file = file.map_or_else(String::new, |file| format!("{}: ", file.display()));
            Error::Unavailable { engine, what: format!("{file}{other}"), source: None }
        }
    }
}

#[cfg(test)]
#[cfg(all(feature = "memory", feature = "mmap"))]
mod tests {
    use larder_host::scratch::ScratchDir;
    use larder_store::StoreUrl;

    use crate::ENGINES;

    fn error(url: &str) -> String {
        let url = StoreUrl::parse(url).unwrap();
        ENGINES.open(&url).err().map_or_else(|| "it opened".to_owned(), |error| error.to_string())
    }

    #[test]
    fn a_wrong_option_is_refused_by_its_name_and_no_file_is_made() {
        let folder = ScratchDir::create_in("regions", &std::env::temp_dir()).unwrap();
        let at = |options: &str| format!("mmap:{}/cache?{options}", folder.path().display());
        let name = "n".repeat(49);
        for (url, why) in [
            (at("size=1048575"), "option `size`: 1048575 < 1048576 bytes, the smallest"),
            (at("namespace="), "option `namespace`: a namespace of 0 bytes: its name has 1 to 48"),
            (at(&format!("namespace={name}")), "a namespace of 49 bytes"),
            (
                at("size=1m&namespaces=1025"),
                "option `namespaces`: room for 1025 namespaces: a region",
            ),
            (at("size=1m&max_value=1m"), "values of 1048576 bytes: at most 262144"),
            ("mmap://tmp/cache".into(), "files have a path and no host; write `mmap:/tmp/cache`"),
            ("memory:/tmp/cache".into(), "it is in memory and nowhere else"),
        ] {
            assert!(error(&url).contains(why), "{url}: {}", error(&url));
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_is_no_region_is_named() {
        let folder = ScratchDir::create_in("regions", &std::env::temp_dir()).unwrap();
        let file = folder.path().join("notes");
        std::fs::write(&file, "of somebody").unwrap();
        let error = error(&format!("mmap:{}", file.display()));
        assert!(error.contains("notes: the file is not a segment cache"), "{error}");
        assert_eq!(std::fs::read(&file).unwrap(), b"of somebody");
    }
}

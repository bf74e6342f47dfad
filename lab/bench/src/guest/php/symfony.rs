//! Symfony's cache: an adapter decides where its entries are, so each adapter has abilities of its own.

use larder_store::{ByteSize, Durability, Engine, Error, Medium, Mount, Recipe, Result, StoreUrl};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{LEAST_SHARED, MEMORY, PHP, engine, needs, too_little_shared};
use crate::guest::interpreter::schema_of;
use crate::guest::options::{bytes, options_of};
use crate::guest::{Abilities, Cache, Keeps};

/// The component and the interface by which it is called.
const PACKAGES: &[Recipe] =
    &[needs("php-symfony-cache"), needs("php-psr-simple-cache"), needs("php-apcu")];

/// The settings of PHP for the memory of APCu, which is the first two adapters' own or nearest.
pub(super) const OF_APCU: [&str; 2] = ["shm_size", "entries_hint"];

/// The adapter `apcu`, which the catalog lists.
pub(super) const SYMFONY: Cache = Cache {
    engine: Engine {
        summary: "PHP: Symfony's cache component with its adapter of APCu, of files, or a chain of both",
        example: "php+symfony:?adapter=chain&shm_size=4m",
        capacity_option: Some("shm_size"),
        connections_option: None,
        options: schema_of::<Symfony>,
        ..engine("php+symfony", PACKAGES)
    },
    language: &PHP,
    name: "symfony",
    keeps: Keeps::Memory { shared: true },
    can: Abilities { bound: Some("shm_size"), ..MEMORY },
    options: symfony,
};

/// The other adapters, by the value of `adapter`. Neither drops an entry to make room.
const OTHERS: &[(&str, Cache)] =
    &[("file", in_files(Keeps::Files)), ("chain", in_files(Keeps::FilesAndMemory))];

const fn in_files(keeps: Keeps) -> Cache {
    Cache {
        engine: Engine { medium: Medium::Files, capacity_option: None, ..SYMFONY.engine },
        keeps,
        can: Abilities {
            batch: false,
            evicts: false,
            durability: Durability::OsCache,
            bound: None,
            ..MEMORY
        },
        ..SYMFONY
    }
}

/// The cache with the adapter that a URL names.
pub(super) fn with_adapter(cache: &'static Cache, url: &StoreUrl) -> &'static Cache {
    let named = url.option("adapter").filter(|_| cache.name == SYMFONY.name);
    OTHERS.iter().find(|(name, _)| Some(*name) == named).map_or(cache, |(_, other)| other)
}

/// Options of `php+symfony:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Symfony {
    /// `apcu`: memory that forked processes share. `file`: a file for each key, never dropped to make room. `chain`:
    /// APCu before files; a hit in the files is stored in APCu.
    adapter: Adapter,
    /// Size of APCu's memory, at least 1m. In a comparison it fits all keys and values by default; PHP's default is 32m.
    /// The adapter `file` has no bound.
    #[serde(serialize_with = "bytes")]
    shm_size: Option<ByteSize>,
    /// The number of entries that APCu's table is made for. Without it: 4096, PHP's own default.
    entries_hint: Option<u32>,
    /// A file system in memory, mounted for the files on a new folder in their path: `tmpfs:1g`, `tmpfs` or `ramfs`.
    #[serde(skip_serializing)]
    mount: Option<Mount>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Adapter {
    #[default]
    Apcu,
    File,
    Chain,
}

/// Refuses the options of an adapter that the URL does not name, but for `shm_size`, which a comparison sets for all.
fn symfony(engine: &'static str, url: &StoreUrl) -> Result<Value> {
    let Symfony { adapter, shm_size, entries_hint, mount } = url.options(engine)?;
    let reason = match (adapter, shm_size) {
        (Adapter::Apcu, _) if mount.is_some() || !url.path().is_empty() => {
            "the adapter `apcu` has no files; leave out the path and `mount`, or write adapter=file"
                .to_owned()
        }
        (Adapter::File, _) if entries_hint.is_some() => {
            "option `entries_hint`: the adapter `file` has no table; leave it out, or write adapter=chain"
                .to_owned()
        }
        (_, Some(ByteSize(size))) if size < LEAST_SHARED => too_little_shared(size),
        _ => return options_of::<Symfony>(engine, url),
    };
    Err(Error::InvalidOptions { engine, reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_adapter_keeps_its_entries_in_its_place_and_refuses_the_options_of_others() {
        let of = |url: &str| {
            let url = StoreUrl::parse(url).unwrap();
            let cache = with_adapter(&SYMFONY, &url);
            let told = (cache.options)("php+symfony", &url).map_err(|error| error.to_string());
            (cache.keeps, cache.can.evicts, told)
        };
        let (keeps, evicts, told) = of("php+symfony:?shm_size=4m");
        assert_eq!((keeps, evicts), (Keeps::Memory { shared: true }, true));
        assert_eq!(told.unwrap()["adapter"], "apcu");
        let (keeps, evicts, told) = of("php+symfony:/tmp?adapter=file&mount=ramfs");
        assert_eq!((keeps, evicts), (Keeps::Files, false));
        assert_eq!(told.unwrap().get("mount"), None);
        assert_eq!(of("php+symfony:?adapter=chain").0, Keeps::FilesAndMemory);
        for (url, words) in [
            ("php+symfony:/tmp", "the adapter `apcu` has no files"),
            ("php+symfony:?adapter=file&entries_hint=9", "the adapter `file` has no table"),
            ("php+symfony:?adapter=chain&shm_size=64k", "64 KiB is less than APCu's least, 1m"),
            ("php+symfony:?adapter=redis", "not one of apcu, file, chain"),
        ] {
            let said = of(url).2.unwrap_err();
            assert!(said.contains(words), "{url}: {said}");
        }
    }
}

//! Larder's own library in the guests of other languages: the file that their programs load, and the guest that each has.
//!
//! The guest `LANGUAGE+larder` keeps an `mmap:` in its folder, and calls it by Larder's package for that language. The sources
//! of a package that needs no compiler lie beside the guest's program, in `package`.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use larder_host::managed;
use larder_store::{ByteSize, Durability, Medium, Mount, Reach, Recipe, Result, Role, Source};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::interpreter::schema_of;
use super::options::{self, bytes, options_of};
use super::{Abilities, Cache, Keeps, Language};

/// The environment variable with the path of the library, for one that lies elsewhere.
const NAMED: &str = "LARDER_LIBRARY";

/// The package for Python, which has the library within it.
pub(super) const FOR_PYTHON: Recipe = brought("python/larder/__init__.py");

/// The package for Ruby, whose compiled part loads the library beside it.
pub(super) const FOR_RUBY: Recipe = brought("ruby/larder.rb");

/// The library for packages that load it.
pub(super) const FOR_C: Recipe = brought("lib/liblarder.so.0.2");

/// A file that the set-up compiles.
const fn brought(file: &'static str) -> Recipe {
    Recipe { source: Source::Setup("library"), ..Recipe::new(Role::Library, file, "") }
}

/// The library of a guest, from the variable or from the set-up; `None` for a guest that needs none. The variable names the
/// library itself. So a compiled package is always the one of the set-up.
pub(super) fn of(cache: &Cache) -> Result<Option<PathBuf>> {
    let needed = cache.engine.recipes.iter().find(|recipe| recipe.role == Role::Library);
    let Some(needed) = needed else { return Ok(None) };
    let named = env::var_os(NAMED).filter(|named| !named.is_empty() && *needed == FOR_C);
    let named = named.map(PathBuf::from);
    named.map_or_else(|| managed::find(cache.engine.scheme, needed), Ok).map(Some)
}

/// The guest of a language by Larder's own package.
pub(super) const fn cache(
    language: &'static Language,
    scheme: &'static str,
    summary: &'static str,
    example: &'static str,
    recipes: &'static [Recipe],
) -> Cache {
    Cache {
        engine: larder_store::Engine {
            summary,
            example,
            options: schema_of::<Larder>,
            ..options::engine(scheme, Medium::Files, recipes)
        },
        language,
        name: "larder",
        keeps: Keeps::Files,
        can: Abilities {
            ttl: true,
            ttl_resolution: Duration::from_millis(1),
            touch: true,
            batch: true,
            evicts: true,
            reach: Reach::Host,
            durability: Durability::Volatile,
            bound: None,
            size: Some("size"),
            takes: &[],
        },
        options: options_of::<Larder>,
    }
}

/// Options of a guest by Larder's package: those of `mmap:` that change what it holds.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Larder {
    /// Bytes of the whole region, as of `mmap:`. In a comparison it has room for all keys and values, unless it is given.
    #[serde(serialize_with = "bytes")]
    size: Option<ByteSize>,
    /// The usual bytes of an entry, as of `mmap:`. Without it: the default of `mmap:`.
    #[serde(serialize_with = "bytes")]
    item_size: Option<ByteSize>,
    /// A file system in memory, mounted for the cache on a new folder in its path: `tmpfs:1g`, `tmpfs` or `ramfs`.
    #[serde(skip_serializing)]
    mount: Option<Mount>,
}

//! `mmap:`: a segment cache in a file that any number of processes map. A process that is killed cannot break it. A
//! tmpfs such as `/dev/shm` is the best place; a disk's system writes the file back at times of its own choice. A forked
//! child works on in the same file.

use std::path::Path;
use std::sync::Arc;

use larder_host::place::Place;

use larder_host::scratch::ScratchDir;
use larder_host::{cgroup, disk};
use larder_segment::Cache;
use larder_store::{ByteSize, Catalog, Engine, Error, Medium, Result, Store, StoreUrl};

use crate::segment::{SegmentConfig, SegmentStore, refused};

/// The scheme, and the name in messages.
const SCHEME: &str = "mmap";

/// The folder of a file whose place the URL does not name. It is in memory, where users would place the file.
const SHARED_MEMORY: &str = "/dev/shm";

/// The engine `mmap:`.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &[],
    summary: "Larder's segment cache, in a file that the processes of a host share",
    example: "mmap:/dev/shm/cache?size=256m",
    medium: Medium::Files,
    capacity_option: Some("size"),
    connections_option: None,
    recipes: &[],
    options: || schemars::schema_for!(SegmentConfig),
    open,
};

fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let config = SegmentConfig::read(SCHEME, url)?;
    let is_anywhere = url.path().is_empty() && url.hosts().is_empty();
    let place = if is_anywhere && Path::new(SHARED_MEMORY).is_dir() {
        Place::Own(ScratchDir::create_in(SCHEME, Path::new(SHARED_MEMORY))?)
    } else {
        Place::of(SCHEME, url)?
    };
    let file = match &place {
        Place::Given(path) => path.clone(),
        Place::Own(_) | Place::Mounted(_) => place.path().join("cache"),
    };
    has_room_in_memory(&file, config.size)?;
    let cache =
        Cache::open(&file, &config.options()).map_err(|what| refused(SCHEME, Some(&file), what))?;
    Ok(Arc::new(SegmentStore::new(SCHEME, url.to_string(), cache, config, Some((file, place)))))
}

/// Refuses a new file in memory that is larger than this process may still take. Otherwise the kernel would end this
/// process, or another of its group, while the file is made.
fn has_room_in_memory(file: &Path, size: ByteSize) -> Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let system = || disk::file_system(folder.unwrap_or(Path::new(".")));
    match cgroup::free_bytes().map(ByteSize) {
        Some(free) if size > free && !file.exists() && system().is_ok_and(|it| it.is_memory()) => {
            let what = format!("`size` {size} > {free}, the rest of this process's memory limit");
            Err(Error::Full { engine: SCHEME, what })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use larder_store::SetOptions;

    use super::*;
    use crate::ENGINES;

    #[test]
    fn a_clear_of_a_namespace_leaves_the_other_namespaces_of_the_file() {
        let folder = ScratchDir::create(SCHEME).unwrap();
        let path = folder.path().join("cache");
        let open = |query: &str| {
            let url = format!("mmap:{}?{query}", path.display());
            ENGINES.open(&StoreUrl::parse(&url).unwrap())
        };
        let stores = ["size=1m", "namespace=one", "namespace=other"].map(|of| open(of).unwrap());
        let mut sessions = stores.each_ref().map(|store| store.session().unwrap());
        let mut fill = |value: &[u8]| {
            for session in &mut sessions {
                session.set(b"key", value, &SetOptions::default()).unwrap();
            }
        };
        fill(b"before");
        let there = |store: &Arc<dyn Store>| {
            store.session().unwrap().get(b"key", &mut Vec::new()).unwrap().is_some()
        };
        stores[1].session().unwrap().clear().unwrap();
        assert_eq!(stores.each_ref().map(there), [true, false, true]);
        fill(b"after");
        stores[0].session().unwrap().clear().unwrap();
        assert_eq!(stores.each_ref().map(there), [false, false, false]);
        assert_eq!(stores[1].info().settings["namespace"], "one");

        let refused = open(&format!("namespace={}", "n".repeat(49))).unwrap_err().to_string();
        let wanted = "option `namespace`: a namespace of 49 bytes: its name has 1 to 48";
        assert!(refused.contains(wanted), "{refused}");
    }
}

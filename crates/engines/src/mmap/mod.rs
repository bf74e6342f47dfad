//! `mmap:`: a segment cache in a file that any number of processes have mapped, and that none of them can break by being
//! killed. Best on a tmpfs such as `/dev/shm`; on a disk it is written back whenever the system likes.

use std::path::Path;
use std::sync::Arc;

use larder_host::scratch::{Place, ScratchDir};
use larder_segment::Cache;
use larder_store::{Catalog, Engine, Medium, Result, Store, StoreUrl};

use crate::segment::{SegmentConfig, SegmentStore, refused};

/// The scheme, and the name in messages.
const SCHEME: &str = "mmap";

/// Where a file lies whose place the URL does not name: in memory, as its users would have it.
const SHARED_MEMORY: &str = "/dev/shm";

/// The engine `mmap:`.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &[],
    summary: "Larder's segment cache, in a file that the processes of a host share",
    example: "mmap:/dev/shm/cache?size=256m",
    medium: Medium::Files,
    capacity_option: Some("size"),
    recipes: &[],
    options: || schemars::schema_for!(SegmentConfig),
    open,
};

fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let config: SegmentConfig = url.options(SCHEME)?;
    let place = if url.path().is_empty() && Path::new(SHARED_MEMORY).is_dir() {
        Place::Own(ScratchDir::create_in(SCHEME, Path::new(SHARED_MEMORY))?)
    } else {
        Place::of(SCHEME, url)?
    };
    let file = match &place {
        Place::Given(path) => path.clone(),
        Place::Own(_) | Place::Mounted(_) => place.path().join("cache"),
    };
    let cache = Cache::open(&file, &config.options()).map_err(|what| refused(SCHEME, what))?;
    Ok(Arc::new(SegmentStore::new(SCHEME, url.to_string(), (cache, config), Some((file, place)))?))
}

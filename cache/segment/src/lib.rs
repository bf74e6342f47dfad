//! A cache in a region of bytes: in private memory, or in a file that any number of processes have mapped.
//!
//! Reads take no lock. A writer locks one partition of the region. It may be killed at any instruction, and all other processes
//! can go on from the state that it leaves: **every state that can be reached by stopping any process at any instruction is
//! valid**. `docs/segment-format.md` has the layout and the argument.
//!
//! **Trust.** A file of another user (except root) is refused, and so is a file that others may write. A user who may write a
//! region can read and change all of its entries, and keep writers waiting. No user can make another process follow a pointer or
//! reach outside of the region. Making the file shorter ends the processes that have it mapped (SIGBUS); [`Cache::shared`] is
//! sealed against that.
//!
//! ```
//! # use larder_segment::{Cache, Options, Set};
//! let cache = Cache::private(&Options::of_size(1 << 20))?;
//! let mut session = cache.session();
//! session.set(b"key", b"value", &Set::default())?;
//! let mut value = Vec::new();
//! assert!(session.get(b"key", &mut value).is_some());
//! assert_eq!(value, b"value");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(not(target_pointer_width = "64"))]
compile_error!("a region is for machines whose addresses have 64 bits");

mod api;
mod cache;
mod change;
mod changes;
mod chunk_eviction;
mod chunk_places;
mod chunked;
mod chunks;
mod clearing;
mod clock;
mod empty;
mod epoch;
mod error;
mod facts;
mod file;
mod fork;
mod free_space;
mod futex;
mod ghost;
mod grow;
mod grown;
mod holder;
mod in_place;
mod index;
mod kind;
mod layout;
mod lease;
mod lease_table;
mod lock;
mod locked;
mod maintain;
mod mapping;
mod memory;
mod namespace;
mod number;
mod open_file;
mod opening;
mod options;
mod owner;
mod pages;
mod partition;
mod patience;
mod put;
mod record;
mod segment_state;
mod session;
mod slot;
mod space;
mod stats;
mod store;
mod superblock;
mod survey;
mod tally;
mod touch;
mod upkeep;
mod work;

pub use api::{Condition, Entry, Leased, Outcome, Removal, Set, Token};
pub use cache::Cache;
pub use change::Revise;
pub use error::{Failed, Refused};
pub use facts::{Cursor, Facts};
pub use layout::{LEAST_SIZE, LONGEST_NAMESPACE, MOST_NAMESPACES};
pub use namespace::Namespace;
pub use number::Delta;
pub use options::Options;
pub use session::Session;
pub use stats::Stats;
pub use survey::{End, NamespaceSurvey, PartitionSurvey, Queue, SegmentSurvey, Survey};
pub use touch::{Initial, Sum};

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
mod chunks;
mod clock;
mod cut;
mod empty;
mod epoch;
mod error;
mod facts;
mod file;
mod fork;
mod futex;
mod ghost;
mod grow;
mod holder;
mod in_place;
mod index;
mod layout;
mod lease;
mod lock;
mod locked;
mod memory;
mod namespace;
mod notes;
mod number;
mod opening;
mod owner;
mod pages;
mod partition;
mod patience;
mod put;
mod record;
mod room;
mod session;
mod slot;
mod stats;
mod store;
mod superblock;
mod survey;
mod tally;
mod touch;
mod upkeep;
mod whole;

pub use api::{Condition, Entry, Leased, Outcome, Removal, Set, Token};
pub use cache::{Cache, Options};
pub use change::Revise;
pub use error::{Failed, Refused};
pub use facts::{Cursor, Facts};
pub use layout::LEAST_SIZE;
pub use namespace::{LONGEST_NAMESPACE, MOST_NAMESPACES, Namespace};
pub use number::Delta;
pub use session::Session;
pub use stats::Stats;
pub use survey::{End, NamespaceSurvey, PartitionSurvey, Queue, SegmentSurvey, Survey};
pub use touch::{Initial, Sum};

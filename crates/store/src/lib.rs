//! The vocabulary of Larder: what a cache is, without any cache.
//!
//! An [`Engine`] is a kind of cache, named by the scheme of its URL. [`Catalog::open`] turns a
//! [`StoreUrl`] into a [`Store`], which threads share; [`Store::session`] gives each thread its own
//! [`Session`], and all work goes through sessions. What an engine can do it declares in
//! [`Capabilities`]; callers read them and never ask for an engine by name.
//!
//! Nothing here does input or output, and nothing here measures. The engines live in
//! `larder-engines`, the measured loop in `larder-bench`.

mod capabilities;
mod catalog;
mod clock;
mod error;
mod groups;
mod guest;
mod info;
mod mount;
mod options;
mod session;
mod stats;
mod units;
mod url;
mod via;

pub use capabilities::{Capabilities, Reach};
pub use catalog::{Catalog, Engine, Medium, OptionDoc, Recipe, Role, Source, option_docs};
pub use clock::Clock;
pub use error::{Error, Result};
pub use groups::{FoundEntry, Groups, MAX_TAG_LEN, check_tag};
pub use guest::Guest;
pub use info::{Durability, FileSystem, Ownership, StoreInfo};
pub use mount::Mount;
pub use session::{Meta, Remaining, Session, SetMode, SetOptions, SetOutcome, Store};
pub use stats::{Counter, Stats, TierStats};
pub use units::{ByteSize, Span};
pub use url::StoreUrl;
pub use via::Via;

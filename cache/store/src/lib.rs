//! The vocabulary of Larder: the interface of a cache, without any cache.
//!
//! An [`Engine`] is a kind of cache, named by the scheme of its URL. [`Catalog::open`] turns a [`StoreUrl`] into a
//! [`Store`], which threads share; [`Store::session`] gives each thread its own [`Session`], and all work goes through
//! sessions. An engine declares its abilities in [`Capabilities`]; callers read them and never ask for an engine by
//! name.
//!
//! This crate does no input or output, and measures nothing. The engines live in `larder-engines`, the measured loop in
//! `larder-bench`.

mod capabilities;
mod catalog;
mod channel;
mod clock;
pub mod counters;
mod entry;
mod error;
mod fork;
mod gate;
mod groups;
mod guarded;
mod guest;
mod info;
pub mod layer;
mod lease;
mod mount;
mod number;
mod operation;
mod options;
mod pipeline;
mod plural;
mod session;
mod stats;
mod trouble;
mod units;
mod url;
mod via;

pub use capabilities::{Capabilities, Reach, Waits};
pub use catalog::{Catalog, Engine, Medium, OptionDoc, Recipe, Role, Source, option_docs};
pub use channel::{Change, Channel, ChannelKind, Event, Id, Message, Origin, Subscription};
pub use clock::Clock;
pub use entry::{DeleteOutcome, Facts, Meta, Put, Remaining, SetMode, SetOptions, SetOutcome};
pub use error::{Error, Result};
pub use fork::{PerProcess, Process, at_least_once};
pub use gate::{CallEnd, Gate, Pass, Permits};
pub use groups::{FoundEntry, Groups, MAX_TAG_LEN, check_tag};
pub use guest::Guest;
pub use info::{Durability, FileSystem, Ownership, StoreInfo};
pub use layer::StoreLayer;
pub use lease::{End, Fill, LeaseDone, Leased, Leases, Token, check_fill};
pub use mount::Mount;
pub use number::{Counted, Delta, Initial};
pub use operation::Operation;
pub use pipeline::{Answer, Answered, Pipeline, Watch};
pub use plural::{agreeing, count, noun_after};
pub use session::{DeleteDone, Session, SetDone, Store};
pub use stats::{Counter, Stats, TierStats};
pub use trouble::{hear_of_troubles, tell_of_trouble};
pub use units::{ByteSize, Span};
pub use url::StoreUrl;
pub use via::Via;

//! `mongodb:` — MongoDB, alone or as a replica set, through its official driver.
//!
//! An entry is a document in a collection of our own. Its key is the `_id`, so a lookup needs only the index that every
//! collection has. A set is one update with `upsert`. An operation with a condition (`add`, `replace`, `cas`, `touch`)
//! puts the condition into the filter of that update. An operation on the old value (`append`, `incr`) reads it, and
//! writes back under the version that it has read. Many keys are one `find` with `$in`.
//!
//! The driver is asynchronous. Its blocking interface runs it on a pool of threads of its own, so each operation wakes
//! another thread twice. Here each session drives it on its own thread instead. A `ping` then takes 10 to 15
//! microseconds; through the pool it took 18 to 45 (2 cores, the stand-in on loopback). The driver never repeats an
//! operation unseen by the caller, unless the URL asks for that: a figure would then include the driver's sleep.
//!
//! The driver has no unacknowledged writes. With `w=0` a plain `set` goes over a connection of its own, in messages
//! that ask for no answer; see [`unacknowledged`].

mod address;
mod batch;
mod config;
mod document;
mod errors;
mod groups;
mod introspection;
mod link;
mod managed;
mod session;
mod store;
mod unacknowledged;

use larder_store::{Engine, Medium, Recipe, Role, Source};

/// The scheme, and the name in messages.
const SCHEME: &str = "mongodb";

/// The server that is started when the URL names no server, if it is installed.
const MONGOD: Recipe = Recipe {
    role: Role::Server,
    server: "mongod",
    program: "mongod",
    folders: &[],
    source: Source::Page("https://www.mongodb.com/docs/manual/administration/install-on-linux"),
};

/// The server that is started where mongod is not installed.
const STAND_IN: Recipe = Recipe {
    role: Role::Server,
    server: "stand-in",
    program: "mongo-java-server.jar",
    folders: &[],
    source: Source::Setup("mongodb"),
};

/// The interpreter of the stand-in.
const JAVA: Recipe = Recipe::server("java", "default-jre-headless");

/// The engine as the catalog lists it.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &["mongodb+srv"],
    summary: "MongoDB, alone or a replica set; with no host, a server is started, or a stand-in that says nothing of \
              its speed",
    example: "mongodb://user:password@h1:27017/cache?w=majority&journal=on",
    medium: Medium::Files,
    capacity_option: None,
    connections_option: None,
    recipes: &[MONGOD, STAND_IN],
    options: config::schema,
    open: store::open,
};

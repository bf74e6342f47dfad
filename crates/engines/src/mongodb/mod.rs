//! `mongodb:` — MongoDB, alone or as a replica set, through its official driver.
//!
//! An entry is a document in a collection of our own: its key is the `_id`, so that the index that every collection has is
//! the only one that a lookup needs. A set is one update with `upsert`; what takes a condition (`add`, `replace`, `cas`,
//! `touch`) puts it into the filter of that update, and what needs the old value (`append`, `incr`) reads it and writes
//! back under the version that it has read. Many keys are one `find` with `$in`.
//!
//! The driver is asynchronous. Its blocking face runs it on a pool of threads of its own, so that each operation wakes
//! another thread twice; here each session drives it on its own thread instead, which takes 10 to 15 microseconds for a
//! `ping` where the pool took 18 to 45 (2 cores, the stand-in on loopback). Operations are never tried again behind the
//! caller's back, unless the URL asks for that: a figure would then say how long the driver slept.
//!
//! The driver knows no write that nobody waits for. With `w=0` a plain `set` goes over a connection of its own, whose
//! messages say that no answer is wanted; see [`unacknowledged`].

mod address;
mod config;
mod document;
mod groups;
mod link;
mod managed;
mod refusal;
mod session;
mod store;
mod survey;
mod unacknowledged;

use larder_store::{Engine, Medium, Recipe, Role, Source};

/// The scheme, and the name in messages.
const SCHEME: &str = "mongodb";

/// The server that is started when the URL names none, and it is there.
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
    recipes: &[MONGOD, STAND_IN],
    options: config::schema,
    open: store::open,
};

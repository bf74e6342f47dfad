//! The introspection of a server: its kind, the place of its entries, and the collection that holds them.

use larder_store::{Durability, Error, Result};
use mongodb::bson::{Document, doc};
use mongodb::error::ErrorKind;

use super::document::{EXPIRES, TAG};
use super::link::Link;
use super::{SCHEME, errors};
use crate::network::runs_one_of;

/// The largest document where a server does not tell.
const LARGEST_DOCUMENT: usize = 16 << 20;

/// Programs that may stand behind a process id which a server tells.
const PROGRAMS: [&str; 4] = ["mongod", "mongos", "ferretdb", "java"];

/// The name of the stand-in.
pub(super) const STAND_IN: &str = "mongo-java-server";

/// The introspection of a server when the store was opened.
#[derive(Debug)]
pub(super) struct Introspection {
    /// The program that speaks MongoDB's protocol.
    pub(super) kind: ServerKind,
    /// Its version, with its name where that is not MongoDB.
    pub(super) version: Option<String>,
    /// Its storage engine, where it tells.
    pub(super) storage_engine: Option<String>,
    /// The replica set that it belongs to.
    pub(super) set_name: Option<String>,
    /// Whether it takes writes.
    pub(super) is_writable: bool,
    /// Its process id, when it runs on this machine.
    pub(super) pid: Option<u32>,
    /// The largest document that it takes, in bytes.
    pub(super) largest_document: usize,
}

/// The program that speaks MongoDB's protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerKind {
    Mongodb,
    FerretDb,
    /// One that is for tests.
    StandIn,
}

impl Introspection {
    /// Asks a server for everything. Fails only when the server does not answer, or refuses the connection's user.
    pub(super) fn of(link: &Link, is_local: bool) -> Result<Self> {
        let hello = ask(link, doc! { "isMaster": 1 })?.unwrap_or_default();
        let build = ask(link, doc! { "buildInfo": 1 })?.unwrap_or_default();
        let status = ask(link, doc! { "serverStatus": 1 })?.unwrap_or_default();
        let pid = number(&status, "pid").and_then(|pid| u32::try_from(pid).ok());
        let (kind, version) = named(&build, &status);
        let largest_document = number(&hello, "maxBsonObjectSize")
            .and_then(|len| usize::try_from(len).ok())
            .unwrap_or(LARGEST_DOCUMENT);
        let storage_engine = status.get_document("storageEngine").ok();
        Ok(Self {
            kind,
            version,
            storage_engine: storage_engine
                .and_then(|engine| engine.get_str("name").ok())
                .map(String::from),
            set_name: hello.get_str("setName").ok().map(String::from),
            is_writable: ["isWritablePrimary", "ismaster"]
                .into_iter()
                .any(|name| hello.get_bool(name).is_ok_and(|is_primary| is_primary)),
            pid: pid.filter(|pid| is_local && runs_one_of(*pid, &PROGRAMS)),
            largest_document,
        })
    }

    /// The durability of an acknowledged write there.
    pub(super) fn durability(&self, journal: Option<bool>) -> Durability {
        match (self.kind, self.storage_engine.as_deref(), journal) {
            (ServerKind::StandIn, _, _) | (_, Some("inMemory" | "ephemeralForTest"), _) => {
                Durability::Volatile
            }
            // Its storage engine has settings of its own, which it does not tell.
            (ServerKind::FerretDb, _, _) => Durability::OsCache,
            (ServerKind::Mongodb, _, Some(true)) => Durability::FsyncEach,
            // The journal is synced ten times a second, and a majority waits for it by itself.
            (ServerKind::Mongodb, _, _) => Durability::FsyncBatch,
        }
    }
}

impl Introspection {
    /// Refuses a server to which unacknowledged writes cannot go. They are sent to the named host only. A host that may
    /// not take them, now or after the next election, drops them silently.
    pub(super) fn check_unacknowledged(&self, peer: &str) -> Result<()> {
        let what = match &self.set_name {
            Some(set) => format!("{peer} is a member of the replica set `{set}`"),
            None if !self.is_writable => format!("{peer} takes no writes"),
            None => return Ok(()),
        };
        let reason = format!(
            "option `w`: {what}, and unacknowledged writes go to a server outside a replica set; write w=1"
        );
        Err(Error::InvalidOptions { engine: SCHEME, reason })
    }
}

/// The kind of a server, and its version.
fn named(build: &Document, status: &Document) -> (ServerKind, Option<String>) {
    let version = build.get_str("version").ok();
    let ferret = build.get_str("ferretdbVersion").ok();
    let ferret = ferret.or_else(|| build.get_document("ferretdb").ok()?.get_str("version").ok());
    if let Some(ferret) = ferret {
        return (
            ServerKind::FerretDb,
            Some(format!("FerretDB {}", ferret.trim_start_matches('v'))),
        );
    }
    match status.get_str("process") {
        Ok("java") => (ServerKind::StandIn, Some(STAND_IN.into())),
        _ => (ServerKind::Mongodb, version.map(String::from)),
    }
}

/// A number that a server gives in any of its types.
pub(super) fn number(document: &Document, name: &str) -> Option<i64> {
    let value = document.get(name)?;
    #[expect(clippy::cast_possible_truncation, reason = "a count that a server gives as a double")]
    value
        .as_i64()
        .or_else(|| value.as_i32().map(i64::from))
        .or_else(|| value.as_f64().map(|it| it as i64))
}

/// The answer of a server to a command; `None` where it does not have it, or not for this user.
pub(super) fn ask(link: &Link, command: Document) -> Result<Option<Document>> {
    match link.attempt(async { link.admin().run_command(command).await })? {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if is_forbidden(&error) => Ok(None),
        Err(error) => Err(link.failed(&error)),
    }
}

/// Whether a server answered that it does not have a command, or that this authenticated user may not run it.
fn is_forbidden(error: &mongodb::error::Error) -> bool {
    const UNAUTHORIZED: i32 = 13;
    match &*error.kind {
        ErrorKind::Command(error) => {
            error.code != UNAUTHORIZED || !error.message.contains("requires authentication")
        }
        _ => false,
    }
}

/// Whether the server removes expired entries, and finds tags by an index: `on`, or the reason why not.
pub(super) type Indexes = [(&'static str, String); 2];

/// The index by which a server removes expired entries, and the index by which it finds tags. Larder has made every
/// collection that has either.
const EXPIRES_INDEX: &str = "larder_expires";
const TAG_INDEX: &str = "larder_tag";

/// Makes the collection where it is missing, and its indexes where the collection is ours. On an external server an
/// existing collection belongs to its users. The index that removes expired entries would remove each of their
/// documents that has such a field.
pub(super) fn prepare(link: &Link, is_managed: bool) -> Result<Indexes> {
    match look(link, is_managed)? {
        CollectionOwner::Ours => index(link),
        CollectionOwner::Empty => {
            let reason = "none: larder did not make the collection";
            Ok([("ttl_index", reason.into()), ("tag_index", reason.into())])
        }
        CollectionOwner::Theirs => {
            let reason = format!(
                "option `collection`: `{}.{}` holds documents that larder did not make; name another by `collection=`",
                link.database().name(),
                link.collection().name()
            );
            Err(Error::InvalidOptions { engine: SCHEME, reason })
        }
    }
}

/// The owner of a collection.
enum CollectionOwner {
    /// Made by larder, now or earlier.
    Ours,
    /// Made by another program, and empty.
    Empty,
    /// Made by another program, which keeps documents in it.
    Theirs,
}

/// Looks whose the collection is, and makes it where it is missing.
fn look(link: &Link, is_managed: bool) -> Result<CollectionOwner> {
    let (database, collection) = (link.database(), link.collection());
    let name = collection.name();
    let names = link
        .attempt(async { database.list_collection_names().filter(doc! { "name": name }).await })?;
    let may_be_there = match names {
        Ok(names) => names.iter().any(|there| there == name),
        Err(error) if is_forbidden(&error) => true,
        Err(error) => return Err(link.failed(&error)),
    };
    if !may_be_there {
        match link.attempt(async { database.create_collection(name).await })? {
            Ok(()) => return Ok(CollectionOwner::Ours),
            Err(error) if errors::is_there(&error) => {}
            Err(error) => return Err(link.failed(&error)),
        }
    }
    if is_managed {
        return Ok(CollectionOwner::Ours);
    }
    match link.attempt(async { collection.list_index_names().await })? {
        Ok(names) if names.iter().any(|name| [EXPIRES_INDEX, TAG_INDEX].contains(&&**name)) => {
            return Ok(CollectionOwner::Ours);
        }
        // The user may not list collections, and this one does not exist: it is created with its indexes.
        Err(error) if errors::is_missing(&error) => return Ok(CollectionOwner::Ours),
        Ok(_) => {}
        // A user that may not see the indexes cannot know.
        Err(error) if is_forbidden(&error) => {}
        Err(error) => return Err(link.failed(&error)),
    }
    let mut standing = CollectionOwner::Empty;
    link.find(doc! {}, Some(1), &mut |_| {
        standing = CollectionOwner::Theirs;
        Ok(())
    })?;
    Ok(standing)
}

/// Makes the indexes of a collection that is ours.
fn index(link: &Link) -> Result<Indexes> {
    let expired = doc! { "key": { EXPIRES: 1 }, "name": EXPIRES_INDEX, "expireAfterSeconds": 0 };
    let tagged = doc! { "key": { TAG: 1 }, "name": TAG_INDEX, "sparse": true };
    let make = |index: Document| -> Result<String> {
        let command = doc! { "createIndexes": link.collection().name(), "indexes": [index] };
        match link.attempt(async { link.database().run_command(command).await })? {
            Ok(_) => Ok("on".into()),
            Err(error) if is_forbidden(&error) => Ok(format!("none: {}", errors::message(&error))),
            Err(error) => Err(link.failed(&error)),
        }
    };
    Ok([("ttl_index", make(expired)?), ("tag_index", make(tagged)?)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn introspection(kind: ServerKind, storage_engine: Option<&str>) -> Introspection {
        let storage_engine = storage_engine.map(String::from);
        let (version, set_name, pid) = (None, None, None);
        let (is_writable, largest_document) = (true, 1);
        Introspection {
            kind,
            version,
            storage_engine,
            set_name,
            is_writable,
            pid,
            largest_document,
        }
    }

    #[test]
    fn unacknowledged_writes_need_a_server_that_stands_alone() {
        let alone = introspection(ServerKind::Mongodb, None);
        alone.check_unacknowledged("h1:1").unwrap();
        let secondary =
            Introspection { is_writable: false, ..introspection(ServerKind::Mongodb, None) };
        let member = Introspection {
            set_name: Some("rs0".into()),
            ..introspection(ServerKind::Mongodb, None)
        };
        for (introspection, what) in [
            (secondary, "h1:1 takes no writes"),
            (member, "h1:1 is a member of the replica set `rs0`"),
        ] {
            let message = introspection.check_unacknowledged("h1:1").unwrap_err().to_string();
            assert!(message.contains(what) && message.ends_with("; write w=1"), "{message}");
        }
    }

    #[test]
    fn durability_follows_from_the_journal() {
        for (kind, storage_engine, journal, durability) in [
            (ServerKind::Mongodb, Some("wiredTiger"), None, Durability::FsyncBatch),
            (ServerKind::Mongodb, Some("wiredTiger"), Some(true), Durability::FsyncEach),
            (ServerKind::Mongodb, Some("inMemory"), Some(true), Durability::Volatile),
            (ServerKind::Mongodb, None, Some(false), Durability::FsyncBatch),
            (ServerKind::StandIn, None, Some(true), Durability::Volatile),
            (ServerKind::FerretDb, None, Some(true), Durability::OsCache),
        ] {
            assert_eq!(
                introspection(kind, storage_engine).durability(journal),
                durability,
                "{kind:?}"
            );
        }
    }

    #[test]
    fn a_server_that_speaks_for_mongodb_is_called_by_its_name() {
        let mongodb = doc! { "version": "7.0.14" };
        for (build, status, kind, version) in [
            (mongodb.clone(), doc! { "process": "mongod" }, ServerKind::Mongodb, "7.0.14"),
            (mongodb.clone(), doc! {}, ServerKind::Mongodb, "7.0.14"),
            (mongodb, doc! { "process": "java" }, ServerKind::StandIn, "mongo-java-server"),
            (
                doc! { "version": "7.0.42", "ferretdbVersion": "v1.24.0" },
                doc! { "process": "ferretdb" },
                ServerKind::FerretDb,
                "FerretDB 1.24.0",
            ),
            (
                doc! { "version": "7.0.77", "ferretdb": { "version": "v2.1.0" } },
                doc! {},
                ServerKind::FerretDb,
                "FerretDB 2.1.0",
            ),
        ] {
            assert_eq!(named(&build, &status), (kind, Some(version.into())));
        }
    }
}

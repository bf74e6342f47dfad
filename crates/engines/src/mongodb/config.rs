//! Options of `mongodb:`: ours, and those of the driver under the names that MongoDB gives them.

use std::time::Duration;

use larder_store::{ByteSize, Error, Result, Span, StoreUrl, Via};
use schemars::{JsonSchema, Schema, schema_for};
use serde::Deserialize;

use super::SCHEME;

/// The collection of entries, and the database where the URL names none.
pub(super) const DEFAULT_NAME: &str = "larder";

/// The smallest cache that `mongod` starts with.
const LEAST_CACHE: ByteSize = ByteSize(256 << 20);

/// Options that say how a server is started, and so mean nothing for one that runs already.
const FOR_MANAGED: [&str; 3] = ["memory", "server", "sync_delay"];

/// Options that the driver takes as they are, and that mean something only for servers that the URL names.
const OF_DRIVER: [&str; 23] = [
    "appName",
    "authMechanism",
    "authMechanismProperties",
    "authSource",
    "connectTimeoutMS",
    "directConnection",
    "heartbeatFrequencyMS",
    "loadBalanced",
    "localThresholdMS",
    "maxStalenessSeconds",
    "readConcernLevel",
    "readPreference",
    "readPreferenceTags",
    "replicaSet",
    "retryReads",
    "retryWrites",
    "serverSelectionTimeoutMS",
    "srvMaxHosts",
    "srvServiceName",
    "tlsAllowInvalidCertificates",
    "tlsCAFile",
    "tlsCertificateKeyFile",
    "tlsInsecure",
];

/// How a server is started, where none is named, and how it is spoken to.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(non_snake_case, reason = "MongoDB's own names of options")]
pub(super) struct MongodbConfig {
    /// How many servers must have a write before it is acknowledged: `0`, for which nobody waits (plain sets only), `1`,
    /// a number, `majority`, or a tag of a replica set.
    pub(super) w: Option<String>,
    /// Whether a write is in the journal on the disk before it is acknowledged.
    pub(super) journal: Option<bool>,
    /// How long a write may wait for other servers, in milliseconds.
    pub(super) wtimeoutMS: Option<u64>,
    /// The collection that holds the entries. It is made where it is missing and stays when it is empty, for other stores
    /// may have it open; one with documents that larder did not make is refused.
    pub(super) collection: String,
    /// How long an operation may take before it fails. Half of it is for finding a server that can be asked.
    pub(super) timeout: Span,
    /// The link between the client and its one server: `delay:2ms` is a relay by which every round trip takes so much
    /// longer, as if the server were so far away; with `delay:2ms,rate:20m` answers also come at no more
    /// than so many bytes a second on a connection. The driver then looks for no other server.
    pub(super) via: Option<Via>,
    /// Which server is started: `mongod`, or `stand-in`, a mongo-java-server, which says nothing of MongoDB's speed.
    /// Without it, `mongod` where it is installed.
    pub(super) server: Option<Program>,
    /// Memory of a server that is started: of `mongod` its cache, at least 256m; of the stand-in its heap.
    pub(super) memory: Option<ByteSize>,
    /// How often a started `mongod` writes what it has in memory to its files; `0` is never, as its `--syncdelay` has it. Its own
    /// default is 60s. The stand-in has no files, and so takes `0` only.
    pub(super) sync_delay: Option<Span>,
    /// Encrypt the connections. A server that is started gets a certificate of its own.
    pub(super) tls: Option<bool>,
    /// The same as `tls`.
    pub(super) ssl: Option<bool>,
    /// File with the certificates, in PEM, of the authorities to trust instead of Mozilla's.
    pub(super) tlsCAFile: Option<String>,
    /// File with the certificate and the key, in PEM, by which the client is known.
    pub(super) tlsCertificateKeyFile: Option<String>,
    /// Take any certificate. A host in between can then read and change everything.
    pub(super) tlsInsecure: Option<bool>,
    /// The same as `tlsInsecure`.
    pub(super) tlsAllowInvalidCertificates: Option<bool>,
    /// The database that knows the user.
    pub(super) authSource: Option<String>,
    /// How the user is known: `SCRAM-SHA-256`, `MONGODB-X509` …
    pub(super) authMechanism: Option<String>,
    /// The further properties of the authentication mechanism.
    pub(super) authMechanismProperties: Option<String>,
    /// The name of the replica set.
    pub(super) replicaSet: Option<String>,
    /// Speak with the one host only, whatever set it belongs to.
    pub(super) directConnection: Option<bool>,
    /// The host is a load balancer.
    pub(super) loadBalanced: Option<bool>,
    /// Which members are read: `primary`, `primaryPreferred`, `secondary`, `secondaryPreferred`, `nearest`. Others than the
    /// primary may not know what was just written.
    pub(super) readPreference: Option<String>,
    /// Which members are read, by their tags.
    pub(super) readPreferenceTags: Option<String>,
    /// How far behind a member may be that is read.
    pub(super) maxStalenessSeconds: Option<u64>,
    /// The read concern: `local`, `available`, `majority`, `linearizable`, `snapshot`.
    pub(super) readConcernLevel: Option<String>,
    /// Have the driver try a read once more when a connection breaks.
    pub(super) retryReads: Option<bool>,
    /// Have the driver try a write once more when a connection breaks.
    pub(super) retryWrites: Option<bool>,
    /// How much slower than the nearest a member may be that is read, in milliseconds.
    pub(super) localThresholdMS: Option<u64>,
    /// How long a connection may take to be made, in milliseconds. Without it, half of `timeout`.
    pub(super) connectTimeoutMS: Option<u64>,
    /// How long a server that can be asked is looked for, in milliseconds. Without it, half of `timeout`.
    pub(super) serverSelectionTimeoutMS: Option<u64>,
    /// How often the driver looks whether a server is there, in milliseconds.
    pub(super) heartbeatFrequencyMS: Option<u64>,
    /// How many hosts of a `mongodb+srv://` are taken.
    pub(super) srvMaxHosts: Option<u32>,
    /// The service that a `mongodb+srv://` is looked up as.
    pub(super) srvServiceName: Option<String>,
    /// The name that the server's log shows.
    pub(super) appName: Option<String>,
}

/// Which server is started, as the URL names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Program {
    Mongod,
    StandIn,
}

impl Default for MongodbConfig {
    /// The default of MongoDB; the timeout of the other servers.
    fn default() -> Self {
        Self {
            w: None,
            journal: None,
            wtimeoutMS: None,
            collection: DEFAULT_NAME.into(),
            timeout: Span(Duration::from_secs(5)),
            via: None,
            server: None,
            memory: None,
            sync_delay: None,
            tls: None,
            ssl: None,
            tlsCAFile: None,
            tlsCertificateKeyFile: None,
            tlsInsecure: None,
            tlsAllowInvalidCertificates: None,
            authSource: None,
            authMechanism: None,
            authMechanismProperties: None,
            replicaSet: None,
            directConnection: None,
            loadBalanced: None,
            readPreference: None,
            readPreferenceTags: None,
            maxStalenessSeconds: None,
            readConcernLevel: None,
            retryReads: None,
            retryWrites: None,
            localThresholdMS: None,
            connectTimeoutMS: None,
            serverSelectionTimeoutMS: None,
            heartbeatFrequencyMS: None,
            srvMaxHosts: None,
            srvServiceName: None,
            appName: None,
        }
    }
}

pub(super) fn schema() -> Schema {
    schema_for!(MongodbConfig)
}

/// The options of a URL that go to the driver as they are.
pub(super) fn driver_options(url: &StoreUrl) -> impl Iterator<Item = (&'static str, &str)> {
    OF_DRIVER.into_iter().filter_map(|name| Some((name, url.option(name)?)))
}

impl MongodbConfig {
    /// The options of a URL, checked against each other and against whether it names a server.
    pub(super) fn from_url(url: &StoreUrl) -> Result<Self> {
        let invalid = |reason: String| Err(Error::InvalidOptions { engine: SCHEME, reason });
        let config: Self = url.options(SCHEME)?;
        let names_servers = !url.hosts().is_empty();
        let given =
            |names: &[&'static str]| names.iter().copied().find(|name| url.option(name).is_some());
        match (given(&FOR_MANAGED), given(&OF_DRIVER)) {
            (Some(name), _) if names_servers => {
                return invalid(format!(
                    "option `{name}` is for a server that larder starts; leave out the host, or the option"
                ));
            }
            (_, Some(name)) if !names_servers => {
                return invalid(format!(
                    "option `{name}` is for servers that the URL names; name a host, or leave out the option"
                ));
            }
            _ => {}
        }
        if matches!((config.tls, config.ssl), (Some(tls), Some(ssl)) if tls != ssl) {
            return invalid("options `tls` and `ssl` are one and say both on and off".into());
        }
        if config.timeout.0.is_zero() {
            return invalid("option `timeout`: 0s is no time to answer; write 5s".into());
        }
        if !config.waits() {
            config.check_unacknowledged(url)?;
        }
        if config.via.is_some() {
            config.check_via(url)?;
        }
        let collection = &config.collection;
        if collection.is_empty()
            || collection.contains(['$', '\0'])
            || collection.starts_with("system.")
        {
            return invalid(format!(
                "option `collection`: `{collection}` is no name of a collection"
            ));
        }
        Ok(config)
    }

    /// Refuses less memory than a server can be started with.
    pub(super) fn check_memory(&self, program: Program) -> Result<()> {
        match self.memory {
            Some(memory) if program == Program::Mongod && memory < LEAST_CACHE => {
                Err(Error::InvalidOptions {
                    engine: SCHEME,
                    reason: format!(
                        "option `memory`: {memory} is less than the cache of mongod takes, {LEAST_CACHE}; write \
                         memory=256m"
                    ),
                })
            }
            _ => Ok(()),
        }
    }

    /// Refuses to have a server write its files that has none.
    pub(super) fn check_sync_delay(&self, program: Program) -> Result<()> {
        match self.sync_delay {
            Some(delay) if program == Program::StandIn && !delay.0.is_zero() => {
                Err(Error::InvalidOptions {
                    engine: SCHEME,
                    reason: format!(
                        "option `sync_delay`: {delay} is not supported by the stand-in, which has no files and never writes any; \
                         write sync_delay=0, or install mongod"
                    ),
                })
            }
            _ => Ok(()),
        }
    }

    /// Whether somebody waits for the answer to a plain set.
    pub(super) fn waits(&self) -> bool {
        self.w.as_deref() != Some("0")
    }

    /// Whether connections are encrypted.
    pub(super) fn is_encrypted(&self, url: &StoreUrl) -> bool {
        let is_said = self.tls.or(self.ssl);
        is_said.unwrap_or_else(|| {
            let names_more =
                |name: &&'static str| name.starts_with("tls") && url.option(name).is_some();
            url.scheme() == "mongodb+srv" || OF_DRIVER.iter().any(names_more)
        })
    }

    /// Whether any certificate is taken.
    fn is_insecure(&self) -> bool {
        [self.tlsInsecure, self.tlsAllowInvalidCertificates].contains(&Some(true))
    }

    fn check_unacknowledged(&self, url: &StoreUrl) -> Result<()> {
        let invalid = |reason: &str| {
            let reason = format!("option `w`: {reason}");
            Err(Error::InvalidOptions { engine: SCHEME, reason })
        };
        if self.journal == Some(true) {
            return invalid(
                "nobody waits for the journal with w=0; write w=1, or leave out `journal`",
            );
        }
        if url.user().is_some() || self.authMechanism.is_some() || self.is_encrypted(url) {
            return invalid(
                "the driver has no writes that nobody waits for, and larder sends them without a user and without TLS; \
                 write w=1",
            );
        }
        if url.hosts().len() > 1 || url.scheme() == "mongodb+srv" || self.replicaSet.is_some() {
            return invalid(
                "writes that nobody waits for go to one server; name one host, or write w=1",
            );
        }
        Ok(())
    }

    fn check_via(&self, url: &StoreUrl) -> Result<()> {
        let invalid = |reason: &str| {
            let reason = format!("option `via`: {reason}");
            Err(Error::InvalidOptions { engine: SCHEME, reason })
        };
        if url.hosts().len() > 1
            || url.scheme() == "mongodb+srv"
            || self.directConnection == Some(false)
        {
            return invalid(
                "a relay stands before one server, and the driver looks for no other; name one host",
            );
        }
        if !url.hosts().is_empty() && self.is_encrypted(url) && !self.is_insecure() {
            return invalid(
                "a certificate is for the name of its server, and a relay has another; write tlsInsecure=on, or leave out \
                 `via`",
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Result<MongodbConfig> {
        MongodbConfig::from_url(&StoreUrl::parse(url).unwrap())
    }

    #[test]
    fn every_option_of_the_driver_is_one_of_ours() {
        let documented = schema();
        let names = documented.get("properties").unwrap().as_object().unwrap();
        assert!(OF_DRIVER.iter().chain(&FOR_MANAGED).all(|name| names.contains_key(*name)));
    }

    #[test]
    fn options_are_written_as_mongodb_writes_them() {
        let config =
            read("mongodb://h1/x?w=majority&journal=true&tls=true&tlsCAFile=/x.pem").unwrap();
        assert_eq!((config.w.as_deref(), config.journal), (Some("majority"), Some(true)));
        let is_encrypted =
            |url: &str| read(url).unwrap().is_encrypted(&StoreUrl::parse(url).unwrap());
        for url in [
            "mongodb+srv://h1",
            "mongodb://h1?tlsCAFile=/x",
            "mongodb://h1?ssl=on",
            "mongodb:?tls=on",
        ] {
            assert!(is_encrypted(url), "{url}");
        }
        assert!(!is_encrypted("mongodb://h1") && !is_encrypted("mongodb+srv://h1?tls=off"));
    }

    #[test]
    fn mongod_wants_a_cache_that_is_large_enough() {
        let small = read("mongodb:?memory=100m").unwrap();
        let message = small.check_memory(Program::Mongod).unwrap_err().to_string();
        let expected = "option `memory`: 100 MiB is less than the cache of mongod takes, 256 MiB";
        assert!(message.contains(expected), "{message}");
        small.check_memory(Program::StandIn).unwrap();
        read("mongodb:?memory=256m").unwrap().check_memory(Program::Mongod).unwrap();
    }

    #[test]
    fn the_stand_in_takes_no_delay_but_never() {
        let often = read("mongodb:?sync_delay=10s").unwrap();
        often.check_sync_delay(Program::Mongod).unwrap();
        let message = often.check_sync_delay(Program::StandIn).unwrap_err().to_string();
        let expected = "option `sync_delay`: 10s is not supported by the stand-in";
        assert!(message.contains(expected), "{message}");
        let never = read("mongodb:?sync_delay=0").unwrap();
        never.check_sync_delay(Program::StandIn).unwrap();
        never.check_sync_delay(Program::Mongod).unwrap();
    }

    #[test]
    fn what_makes_no_sense_says_what_would() {
        for (url, needle) in [
            ("mongodb://h1?memory=1g", "option `memory` is for a server that larder starts"),
            ("mongodb://h1?sync_delay=0", "option `sync_delay` is for a server that larder starts"),
            ("mongodb:?replicaSet=rs", "option `replicaSet` is for servers that the URL names"),
            ("mongodb://h1?tls=on&ssl=off", "are one and say both"),
            ("mongodb:?timeout=0", "write 5s"),
            ("mongodb:?w=0&journal=on", "nobody waits for the journal"),
            ("mongodb:?w=0&tls=on", "without a user and without TLS"),
            ("mongodb://me:pw@h1?w=0", "without a user and without TLS"),
            ("mongodb://h1,h2?w=0", "go to one server"),
            ("mongodb://h1,h2?via=delay:2ms", "a relay stands before one server"),
            ("mongodb://h1?tls=on&via=delay:2ms", "write tlsInsecure=on"),
            ("mongodb:?collection=system.x", "`system.x` is no name of a collection"),
            ("mongodb:?server=ferretdb", "not one of mongod, stand-in"),
            (
                "mongodb:?replicaset=rs",
                "unknown option `replicaset`; known: w, journal, wtimeoutMS",
            ),
        ] {
            let error = read(url).unwrap_err().to_string();
            assert!(error.contains(needle), "{url}: {error}");
        }
    }
}

//! Options of `mongodb:`: larder's own, and the driver's under the names that MongoDB gives them.

use std::time::Duration;

use larder_store::{ByteSize, Error, Result, Span, StoreUrl, Via};
use schemars::{JsonSchema, Schema, schema_for};
use serde::Deserialize;

use super::SCHEME;

/// The collection of entries, and the database where the URL names no database.
pub(super) const DEFAULT_NAME: &str = "larder";

/// The smallest cache with which `mongod` starts.
const LEAST_CACHE: ByteSize = ByteSize(256 << 20);

/// Options of the start of a server, which mean nothing for a server that runs already.
const FOR_MANAGED: [&str; 3] = ["memory", "server", "sync_delay"];

/// Options that the driver takes unchanged. They mean nothing for a server that larder starts.
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

/// The start of the server, where the URL names no server, and the connections to servers.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(non_snake_case, reason = "MongoDB's own names of options")]
pub(super) struct MongodbConfig {
    /// The number of servers that must have a write before it is acknowledged: `1`, another number, `majority`, or a
    /// tag of a replica set. With `0` the client does not wait for an answer (plain sets only).
    pub(super) w: Option<String>,
    /// Whether a write is in the journal on the disk before it is acknowledged.
    pub(super) journal: Option<bool>,
    /// The longest wait of a write for other servers, in milliseconds.
    pub(super) wtimeoutMS: Option<u64>,
    /// The collection of the entries. A missing collection is made. An empty one stays, because other stores may have
    /// it open. A collection with documents that larder did not make is refused.
    pub(super) collection: String,
    /// The longest time of an operation before it fails. Half of the time is for finding a usable server.
    pub(super) timeout: Span,
    /// The link between the client and its one server. With `delay:2ms` a relay makes every round trip 2 ms longer, as
    /// if the server were that far away. With `delay:2ms,rate:20m` answers also come at no more than 20 MiB a second on
    /// a connection. The driver then looks for no other server.
    pub(super) via: Option<Via>,
    /// The server that is started: `mongod`, or `stand-in`, a mongo-java-server, whose speed says nothing of
    /// MongoDB's. Without it: `mongod` where it is installed.
    pub(super) server: Option<MongodbProgram>,
    /// Memory of a server that is started: the cache of `mongod`, at least 256m, or the heap of the stand-in.
    pub(super) memory: Option<ByteSize>,
    /// The interval at which a `mongod` that is started writes its data from memory to its files, as its
    /// `--syncdelay`; `0` is never. Without it: 60s, the default of `mongod`. The stand-in has no files, and takes
    /// `0` only.
    pub(super) sync_delay: Option<Span>,
    /// Encrypt the connections. A server that is started gets a certificate of its own.
    pub(super) tls: Option<bool>,
    /// The same as `tls`.
    pub(super) ssl: Option<bool>,
    /// File with the certificates, in PEM, of the authorities to trust instead of Mozilla's.
    pub(super) tlsCAFile: Option<String>,
    /// File with the certificate and the key, in PEM, by which the server knows the client.
    pub(super) tlsCertificateKeyFile: Option<String>,
    /// Take any certificate. A host in between can then read and change everything.
    pub(super) tlsInsecure: Option<bool>,
    /// The same as `tlsInsecure`.
    pub(super) tlsAllowInvalidCertificates: Option<bool>,
    /// The database that has the user's name and password.
    pub(super) authSource: Option<String>,
    /// The way in which the server checks the user: `SCRAM-SHA-256`, `MONGODB-X509` …
    pub(super) authMechanism: Option<String>,
    /// Further properties of the authentication mechanism.
    pub(super) authMechanismProperties: Option<String>,
    /// The name of the replica set.
    pub(super) replicaSet: Option<String>,
    /// Speak with this host only, whatever set it belongs to.
    pub(super) directConnection: Option<bool>,
    /// The host is a load balancer.
    pub(super) loadBalanced: Option<bool>,
    /// The members that are read: `primary`, `primaryPreferred`, `secondary`, `secondaryPreferred`, `nearest`.
    /// Members other than the primary may not have the latest writes.
    pub(super) readPreference: Option<String>,
    /// The tags of the members that are read.
    pub(super) readPreferenceTags: Option<String>,
    /// The largest lag behind the primary of a member that is read, in seconds.
    pub(super) maxStalenessSeconds: Option<u64>,
    /// The read concern: `local`, `available`, `majority`, `linearizable`, `snapshot`.
    pub(super) readConcernLevel: Option<String>,
    /// Have the driver repeat a read once after a broken connection.
    pub(super) retryReads: Option<bool>,
    /// Have the driver repeat a write once after a broken connection.
    pub(super) retryWrites: Option<bool>,
    /// The largest extra latency of a member that is read, beyond the nearest member, in milliseconds.
    pub(super) localThresholdMS: Option<u64>,
    /// The longest time of a new connection, in milliseconds. Without it: half of `timeout`.
    pub(super) connectTimeoutMS: Option<u64>,
    /// The longest search of the driver for a usable server, in milliseconds. Without it: half of `timeout`.
    pub(super) serverSelectionTimeoutMS: Option<u64>,
    /// The interval at which the driver checks each server, in milliseconds.
    pub(super) heartbeatFrequencyMS: Option<u64>,
    /// The largest number of hosts that are taken from a `mongodb+srv://` address.
    pub(super) srvMaxHosts: Option<u32>,
    /// The name of the service in the look-up of a `mongodb+srv://` address.
    pub(super) srvServiceName: Option<String>,
    /// The name that the server's log shows.
    pub(super) appName: Option<String>,
}

/// The server that is started, as the URL names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum MongodbProgram {
    Mongod,
    StandIn,
}

impl Default for MongodbConfig {
    /// MongoDB's own defaults, and the timeout of the other servers.
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

/// The options of a URL that go to the driver unchanged.
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
            return invalid(
                "options `tls` and `ssl` are the same and contradict each other; leave out one"
                    .into(),
            );
        }
        if config.timeout.0.is_zero() {
            return invalid("option `timeout`: 0s leaves no time to answer; write 5s".into());
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
                "option `collection`: `{collection}` is not the name of a collection"
            ));
        }
        Ok(config)
    }

    /// Refuses less memory than the server needs to start.
    pub(super) fn check_memory(&self, program: MongodbProgram) -> Result<()> {
        match self.memory {
            Some(memory) if program == MongodbProgram::Mongod && memory < LEAST_CACHE => {
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

    /// Refuses a delay for the stand-in, which has no files to write.
    pub(super) fn check_sync_delay(&self, program: MongodbProgram) -> Result<()> {
        match self.sync_delay {
            Some(delay) if program == MongodbProgram::StandIn && !delay.0.is_zero() => {
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

    /// Whether the client waits for the answer to a plain set.
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

    /// Whether the client accepts any certificate.
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
                "a write with w=0 waits for no journal; write w=1, or leave out `journal`",
            );
        }
        if url.user().is_some() || self.authMechanism.is_some() || self.is_encrypted(url) {
            return invalid(
                "the driver has no unacknowledged writes, and larder sends them without a user and without TLS; \
                 write w=1",
            );
        }
        if url.hosts().len() > 1 || url.scheme() == "mongodb+srv" || self.replicaSet.is_some() {
            return invalid("unacknowledged writes go to one server; name one host, or write w=1");
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
                "a certificate is for the name of its server, and a relay has another name; write tlsInsecure=on, or \
                 leave out `via`",
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
        let message = small.check_memory(MongodbProgram::Mongod).unwrap_err().to_string();
        let expected = "option `memory`: 100 MiB is less than the cache of mongod takes, 256 MiB";
        assert!(message.contains(expected), "{message}");
        small.check_memory(MongodbProgram::StandIn).unwrap();
        read("mongodb:?memory=256m").unwrap().check_memory(MongodbProgram::Mongod).unwrap();
    }

    #[test]
    fn the_stand_in_takes_no_delay_but_never() {
        let often = read("mongodb:?sync_delay=10s").unwrap();
        often.check_sync_delay(MongodbProgram::Mongod).unwrap();
        let message = often.check_sync_delay(MongodbProgram::StandIn).unwrap_err().to_string();
        let expected = "option `sync_delay`: 10s is not supported by the stand-in";
        assert!(message.contains(expected), "{message}");
        let never = read("mongodb:?sync_delay=0").unwrap();
        never.check_sync_delay(MongodbProgram::StandIn).unwrap();
        never.check_sync_delay(MongodbProgram::Mongod).unwrap();
    }

    #[test]
    fn what_makes_no_sense_says_what_would() {
        for (url, needle) in [
            ("mongodb://h1?memory=1g", "option `memory` is for a server that larder starts"),
            ("mongodb://h1?sync_delay=0", "option `sync_delay` is for a server that larder starts"),
            ("mongodb:?replicaSet=rs", "option `replicaSet` is for servers that the URL names"),
            ("mongodb://h1?tls=on&ssl=off", "contradict each other"),
            ("mongodb:?timeout=0", "write 5s"),
            ("mongodb:?w=0&journal=on", "waits for no journal"),
            ("mongodb:?w=0&tls=on", "without a user and without TLS"),
            ("mongodb://me:pw@h1?w=0", "without a user and without TLS"),
            ("mongodb://h1,h2?w=0", "go to one server"),
            ("mongodb://h1,h2?via=delay:2ms", "a relay stands before one server"),
            ("mongodb://h1?tls=on&via=delay:2ms", "write tlsInsecure=on"),
            ("mongodb:?collection=system.x", "`system.x` is not the name of a collection"),
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

//! Probes of a tier that does not answer: the processes of a host make them in turn.
//!
//! Each process has breakers of its own. Where all of them share the nearest tier, an entry there stands for the right to
//! probe a server, and `add` lets one process have it. Its TTL is the time between two probes. So a dead server gets as many
//! probes from a host as from one process.

use std::sync::Arc;
use std::time::Duration;

use larder_store::{Permits, Reach, SetMode, SetOptions, SetOutcome, Store};
use rapidhash::v3::rapidhash_v3;

/// The beginning of the keys of such entries, which no entry of the stack should have.
const PREFIX: &str = "~larder-probe-";

/// The rights to probe, as entries of the nearest tier.
#[derive(Debug)]
struct Probes {
    near: Arc<dyn Store>,
}

impl Permits for Probes {
    /// Where the nearest tier cannot tell, this process probes: too many probes do less harm than no probe.
    fn may_probe(&self, server: &str, every: Duration) -> bool {
        // A name may have a password in it, which belongs into no file.
        let key = format!("{PREFIX}{:016x}", rapidhash_v3(server.as_bytes()));
        let options = SetOptions { mode: SetMode::Add, ttl: Some(every), ..SetOptions::default() };
        let session = self.near.session();
        let added = session.and_then(|mut session| session.set(key.as_bytes(), b"", &options));
        !matches!(added, Ok(SetOutcome::NotStored))
    }
}

/// Lets the breakers of the tiers below share their probes, where processes share the nearest tier.
pub(crate) fn share(stores: &[(String, Arc<dyn Store>)]) {
    let Some(((_, near), below)) = stores.split_first() else { return };
    let able = near.capabilities();
    if able.reach == Reach::Host && able.tokens && able.add && able.ttl {
        let permits: Arc<dyn Permits> = Arc::new(Probes { near: Arc::clone(near) });
        for (_, store) in below {
            store.share_probes(&permits);
        }
    }
}

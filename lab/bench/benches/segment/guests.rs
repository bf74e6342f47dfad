//! Caches of other languages, which the programs of `guests/` measure, each beside the cache of its language that keeps
//! nothing.

use std::sync::atomic::AtomicBool;

use larder_bench::{Permissions, Plan, Scenario, Silent, compare, guest};
use larder_engines::ENGINES;
use larder_store::Catalog;
use larder_workload::WorkloadSpec;

use crate::keys::KEY_LEN;
use crate::report;
use crate::{Result, Scale};

const CATALOG: Catalog = ENGINES.with_guests(guest::GUESTS);

/// Each cache by its name, its URL, and the URL of its floor.
const GUESTS: [[&str; 3]; 2] = [
    ["Cache::FastMmap, in Perl", "perl+fastmmap:", "perl+null:"],
    ["APCu, in PHP", "php+apcu:", "php+null:"],
];

/// The gets of the guests, round by round.
pub(crate) struct Guests {
    plan: Plan,
    found: Vec<Guest>,
}

/// The figures of one guest.
#[derive(Debug, Default)]
pub(crate) struct Guest {
    /// Nanoseconds of a processor for a get, of the cache and of its floor.
    whole: Vec<f64>,
    floor: Vec<f64>,
    /// The time of the cache without the floor of the same round.
    pub(crate) bare: Vec<f64>,
    /// The reason why there are no figures.
    missing: Option<String>,
}

impl Guests {
    /// Random gets of this many keys with values of this length.
    pub(crate) fn of(keys: usize, len: usize, scale: Scale) -> Result<Self> {
        let workload = WorkloadSpec {
            keys: Some(keys.to_string().parse()?),
            key_size: Some(KEY_LEN.to_string().parse()?),
            data_size: Some(len.to_string().parse()?),
            operations: Some("get".parse()?),
            requests: Some(scale.of(100_000, 1000).to_string().parse()?),
            rounds: Some("1".parse()?),
            ..WorkloadSpec::default()
        };
        let targets = GUESTS.iter().flat_map(|[_, url, floor]| [*url, *floor]);
        let targets = targets.map(str::to_owned).collect();
        let name = "guests".into();
        let scenario = Scenario { name, targets, workload, ..Scenario::default() };
        let plan = Plan::new(&scenario, true, &CATALOG)?;
        Ok(Self { plan, found: GUESTS.iter().map(|_| Guest::default()).collect() })
    }

    /// Measures all guests once.
    pub(crate) fn round(&mut self) -> Result<()> {
        let stop = AtomicBool::new(false);
        let permissions = Permissions::default();
        let outcome = compare(&self.plan, &CATALOG, Vec::new(), permissions, &Silent, &stop)?;
        for (guest, [_, url, floor]) in self.found.iter_mut().zip(GUESTS) {
            let [whole, floor] = [url, floor].map(|url| {
                let cell = outcome.run.cells.iter().find(|cell| cell.target == url);
                let cell = cell.ok_or_else(|| "it was not measured".to_owned())?;
                match cell.samples.first() {
                    Some(sample) if sample.complete && sample.counts.ops == sample.counts.hits =>
                    {
                        #[expect(clippy::cast_precision_loss, reason = "some ten thousands")]
                        Ok(sample.client_cpu_s.unwrap_or(sample.wall_s) * 1e9
                            / sample.counts.ops as f64)
                    }
                    _ => Err(cell.reason.clone().unwrap_or_else(|| "not every get hit".into())),
                }
            });
            match (whole, floor) {
                (Ok(whole), Ok(floor)) => {
                    guest.whole.push(whole);
                    guest.floor.push(floor);
                    guest.bare.push(whole - floor);
                }
                (Err(why), _) | (_, Err(why)) => guest.missing = Some(why),
            }
        }
        Ok(())
    }

    /// The figures of the guest with this URL.
    pub(crate) fn of_url(&self, url: &str) -> &[f64] {
        let mut guests = GUESTS.iter().zip(&self.found);
        guests.find(|([_, of, _], _)| *of == url).map_or(&[], |(_, guest)| &guest.bare)
    }

    /// Prints the figures of all guests.
    pub(crate) fn print(&self) {
        for ([name, url, floor], guest) in GUESTS.iter().zip(&self.found) {
            if let Some(why) = &guest.missing {
                report::missing(name, why);
                continue;
            }
            report::figures(&format!("{name}: {url}"), &guest.whole);
            report::figures(&format!("  its floor: {floor}"), &guest.floor);
            report::figures("  without its floor", &guest.bare);
        }
    }
}

//! A part of a scenario resolved: the points of its own sweep.

use std::collections::BTreeMap;

use larder_report::{ArticleForm, PART, PointValue};

use super::describe::describe;
use super::point::{Coordinates, PlannedPoint, plan_point};
use super::source::Source;
use super::{DEFAULT_KEY_SIZE, keys_fit};
use crate::error::Result;
use crate::scenario::Scenario;
use larder_workload::{Capacity, Count, SizeSpec, Sweep, WorkloadSpec};

/// What all parts of a scenario have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Common<'a> {
    /// The beginning of every key.
    pub(super) prefix: &'a str,
    /// Whether a target is a guest.
    pub(super) has_guest: bool,
    /// The greatest hit ratio of all caches on the trace, where it is known already.
    pub(super) hit_limit: Option<f64>,
    pub(super) seed: u64,
}

/// One workload of a scenario.
#[derive(Debug)]
pub(super) struct PlannedPart {
    /// The name of the part; `None` where the scenario has only one.
    name: Option<String>,
    pub(super) points: Vec<PlannedPoint>,
    pub(super) notes: Vec<String>,
    words: BTreeMap<String, String>,
}

impl PlannedPart {
    pub(super) fn new(
        name: Option<&str>,
        spec: &WorkloadSpec,
        common: &Common<'_>,
    ) -> Result<Self> {
        let mut notes = Vec::new();
        let source = Source::open(spec, common, &mut notes)?;
        source.keys.iter().try_for_each(|keys| keys_fit(keys.0))?;
        let key_sizes = spec.key_size.clone();
        let key_sizes = key_sizes.unwrap_or_else(|| SizeSpec::fixed(DEFAULT_KEY_SIZE).into());
        let threads = spec.threads.clone().unwrap_or_else(|| Sweep::from(Count(1)));
        // Without a rate, the loop is closed.
        let (rates, capacities) = (each(spec.rates().as_ref()), capacities(spec));
        let (connections, pipelines) =
            (each(spec.connections.as_ref()), each(spec.pipeline.as_ref()));
        let loads = connections.iter().flat_map(|connections| {
            pipelines.iter().map(move |pipeline| (*connections, *pipeline))
        });
        let asked: Vec<_> = loads
            .flat_map(|load| rates.iter().map(move |rate| (load, *rate)))
            .flat_map(|(load, rate)| capacities.iter().map(move |capacity| (load, rate, *capacity)))
            .collect();
        let mut points = Vec::new();
        for data_size in source.sizes.iter() {
            for key_size in key_sizes.iter() {
                for keys in source.keys.iter() {
                    for threads in threads.iter() {
                        let (keys, threads) = (keys.0, threads.0);
                        for ((connections, pipeline), rate, capacity) in &asked {
                            let at = Coordinates {
                                data_size,
                                key_size,
                                keys,
                                threads,
                                connections: *connections,
                                pipeline: *pipeline,
                                rate: *rate,
                                capacity: *capacity,
                            };
                            points.push(plan_point(
                                spec,
                                &source,
                                &at,
                                common.prefix,
                                common.seed,
                            )?);
                        }
                    }
                }
            }
        }
        let fewer = |point: &PlannedPoint| {
            let asked = point.point.get("threads");
            asked != Some(&PointValue::Number(point.threads.into()))
        };
        if points.iter().any(fewer) {
            notes.push(
                "where connections are fewer than threads, each connection has a thread, and the other threads do nothing"
                    .into(),
            );
        }
        if let Some(name) = name {
            for planned in &mut points {
                planned.point.insert(PART.into(), PointValue::Text(name.into()));
            }
        }
        let words = describe(spec, &source, &key_sizes, &threads);
        Ok(Self { name: name.map(str::to_owned), points, notes, words })
    }

    /// Leaves these targets out at every point of the part.
    pub(super) fn leave_out(&mut self, targets: &[String]) {
        for point in &mut self.points {
            point.left_out = targets.to_vec();
        }
    }

    /// The workload of all parts in words. A text that differs between parts names its part: `read-heavy: fill`.
    pub(super) fn words(parts: &[Self], scenario: &Scenario) -> BTreeMap<String, String> {
        let mut words: BTreeMap<String, String> = BTreeMap::new();
        for option in parts.iter().flat_map(|part| part.words.keys()) {
            let alike = |part: &Self| part.words.get(option) == parts[0].words.get(option);
            let text = match parts[0].words.get(option) {
                Some(text) if parts.iter().all(alike) => text.clone(),
                _ => {
                    parts.iter().filter_map(|part| part.own(option)).collect::<Vec<_>>().join("; ")
                }
            };
            words.insert(option.clone(), text);
        }
        if scenario.form == ArticleForm::Published {
            words.insert("as".into(), scenario.form.to_string());
        }
        words
    }

    fn own(&self, option: &str) -> Option<String> {
        let text = self.words.get(option)?;
        Some(match &self.name {
            Some(name) => format!("{name}: {text}"),
            None => text.clone(),
        })
    }
}

/// The capacities to sweep; `None` is room for everything.
fn capacities(spec: &WorkloadSpec) -> Vec<Option<Capacity>> {
    match &spec.capacity {
        Some(sweep) => sweep.iter().copied().map(Some).collect(),
        None => vec![None],
    }
}

/// The numbers to sweep; a single `None` where the option is not given.
fn each(sweep: Option<&Sweep<Count>>) -> Vec<Option<u32>> {
    match sweep {
        Some(sweep) => sweep.iter().map(|number| Some(number.0)).collect(),
        None => vec![None],
    }
}

//! `index.json`: several runs under one name.

use serde::{Deserialize, Serialize};

use super::{Run, SCHEMA_VERSION};

/// Runs that belong together, each in its folder. The names of the fields are published, like those of a [`Run`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Index {
    /// The version of this model, which is also that of the runs.
    pub schema: u32,
    /// The version of Larder that wrote it.
    pub larder: String,
    /// The name of the set.
    pub name: String,
    /// Its subject, in one line; empty if the set has no summary.
    #[serde(default)]
    pub summary: String,
    /// An entry for each scenario, in the order in which they ran.
    pub scenarios: Vec<Entry>,
}

/// A scenario of a set.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    /// The name of the scenario.
    pub name: String,
    /// The folder of its `run.json` and its reports, relative to the index, with `/` between the names.
    pub folder: String,
    /// The reason why it has no run, or why the run could not be kept.
    pub reason: Option<String>,
    /// The run: read from its folder, or measured and not kept. It is not in the file.
    #[serde(skip)]
    pub run: Option<Run>,
}

impl Index {
    /// A set without any run yet: names of scenarios, each with a folder of its name.
    pub fn of_scenarios<'a>(
        name: &str,
        summary: &str,
        scenarios: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let entry = |name: &str| Entry {
            name: name.to_owned(),
            folder: name.to_owned(),
            reason: Some("not run: the set was ended before".to_owned()),
            run: None,
        };
        Self {
            schema: SCHEMA_VERSION,
            larder: env!("CARGO_PKG_VERSION").to_owned(),
            name: name.to_owned(),
            summary: summary.to_owned(),
            scenarios: scenarios.into_iter().map(entry).collect(),
        }
    }

    /// Adds a run in this folder, under a name that no other has.
    pub fn push(&mut self, folder: &str, run: Run) {
        let name = self.free_name(&run.scenario);
        let folder = folder.to_owned();
        self.scenarios.push(Entry { name, folder, reason: None, run: Some(run) });
    }

    /// Adds a scenario without a run, and the reason.
    pub fn push_missing(&mut self, name: &str, folder: &str, reason: Option<String>) {
        let (name, folder) = (self.free_name(name), folder.to_owned());
        self.scenarios.push(Entry { name, folder, reason, run: None });
    }

    /// The name, or the first variant of it that is free.
    fn free_name(&self, name: &str) -> String {
        let others = (2..).map(|number: usize| format!("{name}-{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(others);
        let is_free = |name: &String| self.scenarios.iter().all(|entry| entry.name != *name);
        names.find(is_free).unwrap_or_default()
    }

    /// The runs of the set.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.scenarios.iter().filter_map(|entry| entry.run.as_ref())
    }
}

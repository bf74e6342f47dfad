//! The forms of a scenario: its parts, as published or corrected, short or at full length.
//!
//! A file begins with the short, corrected form. `[published]` and `[full]` hold only the differences from it, and
//! `[published.full]` the differences of the published form at full length.

use larder_report::ArticleForm;
use larder_store::StoreUrl;
use serde::Deserialize;

use super::Scenario;
use crate::error::{Result, usage};
use larder_analysis::check::is_known;
use larder_workload::WorkloadSpec;

/// A workload under a name, one of several in a run.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The name in tables and charts.
    pub name: String,
    /// The names of the targets that the part is measured on; all targets, if it names no target. In a form without
    /// `targets` of its own, a part takes those of the part that it replaces.
    #[serde(default)]
    pub targets: Vec<String>,
    /// The settings that differ from the scenario's workload.
    #[serde(default)]
    pub workload: WorkloadSpec,
}

/// The differences of another form of a scenario.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    /// The targets that replace all others.
    pub targets: Option<Vec<String>>,
    /// The fields of the workload that differ.
    #[serde(default)]
    pub workload: WorkloadSpec,
    /// The parts that replace all others.
    #[serde(default, rename = "part")]
    pub parts: Vec<Part>,
    /// The work of the article that this form leaves out or does in another way; empty if there is no such work.
    pub cut: Option<String>,
    /// The checks that the published form sets off: those that follow from the plan, and others that this form causes.
    pub checks: Option<Vec<String>>,
    /// The further differences at full length.
    pub full: Option<Box<Self>>,
}

impl Scenario {
    /// The scenario in one of its forms, without its other forms.
    pub fn resolve(mut self, form: ArticleForm, full: bool) -> Result<Self> {
        let (published, mut longer) = (self.published.take(), self.full.take());
        if form == ArticleForm::Published {
            let Some(mut published) = published else {
                let name = &self.name;
                return Err(usage(format!(
                    "--as published: scenario `{name}` has no [published]; leave --as out"
                )));
            };
            longer = published.full.take().map(|full| *full);
            self.apply(published);
        }
        if full {
            let Some(longer) = longer else {
                let (name, of) = (&self.name, form.as_str());
                return Err(usage(format!(
                    "--full: scenario `{name}` as {of} has no longer form; leave --full out"
                )));
            };
            self.apply(longer);
        }
        self.form = form;
        Ok(self)
    }

    /// The scenario with these fields in the workload of every part. Records the options that change the workload.
    #[must_use]
    pub fn with_workload(mut self, workload: &WorkloadSpec) -> Self {
        let changes: Vec<String> = self
            .workloads()
            .iter()
            .flat_map(|(_, own)| workload.changes(own))
            .map(|option| format!("--{option}"))
            .collect();
        for option in changes {
            if !self.changed.contains(&option) {
                self.changed.push(option);
            }
        }
        // The text of `cut` gives figures of the form's own workload, which no longer holds.
        if workload.keys.is_some() || workload.requests.is_some() || workload.duration.is_some() {
            self.cut = None;
        }
        for part in &mut self.parts {
            part.workload = workload.clone().or(std::mem::take(&mut part.workload));
        }
        self.workload = workload.clone().or(self.workload);
        self
    }

    /// Gives the scenario all memory of the machine, and records the reason why memory could not be limited.
    pub(crate) fn leave_out_memory(&mut self, reason: &str) {
        let workloads = self.parts.iter_mut().map(|part| &mut part.workload);
        for workload in workloads.chain([&mut self.workload]) {
            workload.memory = None;
        }
        let left_out = format!("with all memory of this machine ({reason})");
        let cut = self.cut.take().map(|cut| format!("{cut}; {left_out}"));
        self.cut = cut.or(Some(left_out));
    }

    /// The workloads of the scenario's parts, each with its name where there are several.
    pub(crate) fn workloads(&self) -> Vec<(Option<&str>, WorkloadSpec)> {
        let of = |part: &Part| part.workload.clone().or(self.workload.clone());
        match &self.parts[..] {
            [] => vec![(None, self.workload.clone())],
            [part] => vec![(None, of(part))],
            parts => parts.iter().map(|part| (Some(part.name.as_str()), of(part))).collect(),
        }
    }

    /// Of these targets, those that a part of this name does not measure.
    pub(crate) fn left_out<'a>(
        &self,
        part: Option<&str>,
        targets: impl Iterator<Item = &'a String>,
    ) -> Vec<String> {
        let mut named = self.parts.iter().filter(|own| part.is_none_or(|part| part == own.name));
        let Some(Part { targets: named, .. }) = named.find(|own| !own.targets.is_empty()) else {
            return Vec::new();
        };
        targets.filter(|name| !named.contains(name)).cloned().collect()
    }

    fn apply(&mut self, form: Form) {
        if !form.parts.is_empty() {
            let own = std::mem::replace(&mut self.parts, form.parts);
            // With other targets in the form, those names could mean other targets, or no target.
            if form.targets.is_none() {
                keep_targets(&mut self.parts, own);
            }
        }
        if let Some(targets) = form.targets {
            self.targets = targets;
        }
        if let Some(cut) = form.cut {
            self.cut = Some(cut).filter(|cut| !cut.is_empty());
        }
        if form.checks.is_some() {
            self.checks = form.checks;
        }
        self.workload = form.workload.or(std::mem::take(&mut self.workload));
    }

    /// Refuses contradictions between fields, which parsing cannot find.
    pub(super) fn check_forms(&self) -> Result<()> {
        let published = self.published.iter();
        let forms = published.chain(self.published.iter().filter_map(|form| form.full.as_deref()));
        let forms: Vec<&Form> = forms.chain(&self.full).collect();
        if let Some(full) = &self.full
            && full.full.is_some()
        {
            return Err(usage(format!("scenario `{}`: [full] has no [full.full]", self.name)));
        }
        if self.full.as_ref().is_some_and(|full| full.checks.is_some()) {
            let name = &self.name;
            return Err(usage(format!(
                "scenario `{name}`: [full] has `checks`, which belong to published mistakes; set them in [published]"
            )));
        }
        forms
            .iter()
            .filter_map(|form| form.checks.as_ref())
            .try_for_each(|ids| self.check_ids(ids))?;
        for targets in forms.iter().filter_map(|form| form.targets.as_ref()) {
            if targets.is_empty() {
                let name = &self.name;
                return Err(usage(format!("scenario `{name}` has a form without targets")));
            }
        }
        let targets = forms.iter().filter_map(|form| form.targets.as_deref());
        let targets = targets.chain([self.targets.as_slice()]).flatten();
        let names: Vec<String> = targets.filter_map(|url| name_of(url)).collect();
        self.check_parts(&self.parts, &names)?;
        forms.into_iter().try_for_each(|form| self.check_parts(&form.parts, &names))
    }

    /// Refuses unknown checks, and a check that is listed twice.
    fn check_ids(&self, ids: &[String]) -> Result<()> {
        if self.article.is_none() {
            return Err(usage(format!(
                "scenario `{}`: `checks` need an [article], which the scenario lacks",
                self.name
            )));
        }
        let refused =
            |what: String| Err(usage(format!("scenario `{}`: `checks`: {what}", self.name)));
        for (i, id) in ids.iter().enumerate() {
            if !is_known(id.strip_suffix('?').unwrap_or(id)) {
                return refused(format!("no check `{id}`; docs/checks.md lists them"));
            }
            if ids[..i].contains(id) {
                return refused(format!("`{id}` stands twice; leave one out"));
            }
        }
        Ok(())
    }

    fn check_parts(&self, parts: &[Part], known: &[String]) -> Result<()> {
        let scenario = &self.name;
        for (i, Part { name, targets, workload }) in parts.iter().enumerate() {
            let letters = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if name.is_empty() || !name.chars().all(letters) {
                return Err(usage(format!(
                    "scenario `{scenario}`: part name `{name}`: only letters, digits, - and _"
                )));
            }
            if parts[..i].iter().any(|other| other.name == *name) {
                return Err(usage(format!("scenario `{scenario}`: part `{name}` stands twice")));
            }
            if let Some(target) = targets.iter().find(|target| !known.contains(target)) {
                return Err(usage(format!(
                    "scenario `{scenario}`: part `{name}` is measured on `{target}`, and no target is called so; \
                     give a target this `name=`"
                )));
            }
            let of_the_run = [
                ("rounds", workload.rounds.is_some()),
                ("until", workload.until.is_some()),
                ("max-time", workload.max_time.is_some()),
                ("seed", workload.seed.is_some()),
                ("warmup", workload.warmup.is_some()),
                ("memory", workload.memory.is_some()),
            ];
            if let Some((field, _)) = of_the_run.into_iter().find(|(_, is_set)| *is_set) {
                return Err(usage(format!(
                    "scenario `{scenario}`: part `{name}` has `{field}`, which holds for the whole run; \
                     set it in [workload]"
                )));
            }
        }
        Ok(())
    }
}

/// Gives each part without targets the targets of the earlier part with its name.
fn keep_targets(parts: &mut [Part], before: Vec<Part>) {
    for Part { name, targets, .. } in before {
        let same = parts.iter_mut().find(|part| part.name == name && part.targets.is_empty());
        if let Some(part) = same {
            part.targets = targets;
        }
    }
}

/// The name of the target of a URL; `None` where the text is no URL.
pub(super) fn name_of(url: &str) -> Option<String> {
    let url = StoreUrl::parse(url).ok()?;
    Some(url.name().map_or_else(|| url.to_string(), str::to_owned))
}

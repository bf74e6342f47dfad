//! The forms of a scenario: its parts, as published or corrected, short or at full length.
//!
//! A file begins with the short, corrected form. `[published]` and `[full]` name only what is different there, and
//! `[published.full]` what is different where both are asked for.

use larder_report::ArticleForm;
use larder_store::StoreUrl;
use serde::Deserialize;

use super::Scenario;
use crate::error::{Result, usage};
use larder_analysis::check::is_known;
use larder_workload::WorkloadSpec;

/// A workload under a name, beside others of the same run.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// How tables and charts call it.
    pub name: String,
    /// The names of the targets that it is measured on; all, where it names none. In a form without `targets` of its own,
    /// those of the part that it takes the place of.
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
    /// Other targets, all of them.
    pub targets: Option<Vec<String>>,
    /// Fields of the workload.
    #[serde(default)]
    pub workload: WorkloadSpec,
    /// Other parts, all of them.
    #[serde(default, rename = "part")]
    pub parts: Vec<Part>,
    /// The work of the article that it leaves out; nothing where it is empty.
    pub cut: Option<String>,
    /// As published, the checks that it makes fire: all whose finding follows from the plan, and of the others those that it
    /// is the reason for.
    pub checks: Option<Vec<String>>,
    /// The further differences at full length.
    pub full: Option<Box<Self>>,
}

impl Scenario {
    /// The scenario in one of its forms, without the others.
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

    /// The scenario with these fields of its workload, in every part. Remembers which of them make another workload of it.
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
        // The figures in a form's omissions belong to that form, and these are others.
        if workload.keys.is_some() || workload.requests.is_some() || workload.duration.is_some() {
            self.cut = None;
        }
        for part in &mut self.parts {
            part.workload = workload.clone().or(std::mem::take(&mut part.workload));
        }
        self.workload = workload.clone().or(self.workload);
        self
    }

    /// The scenario with all memory of the machine, which could not be limited for this reason.
    pub(crate) fn leave_out_memory(&mut self, reason: &str) {
        let workloads = self.parts.iter_mut().map(|part| &mut part.workload);
        for workload in workloads.chain([&mut self.workload]) {
            workload.memory = None;
        }
        let left_out = format!("with all memory of this machine ({reason})");
        let cut = self.cut.take().map(|cut| format!("{cut}; {left_out}"));
        self.cut = cut.or(Some(left_out));
    }

    /// The workloads of its parts, each with its name where there is more than one.
    pub(crate) fn workloads(&self) -> Vec<(Option<&str>, WorkloadSpec)> {
        let of = |part: &Part| part.workload.clone().or(self.workload.clone());
        match &self.parts[..] {
            [] => vec![(None, self.workload.clone())],
            [part] => vec![(None, of(part))],
            parts => parts.iter().map(|part| (Some(part.name.as_str()), of(part))).collect(),
        }
    }

    /// The targets that are left out where a part of this name is measured, of those with these names.
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
            // Among other targets those names would be others, or nobody's.
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

    /// Makes sure of what the file's fields cannot say by themselves.
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
                "scenario `{name}`: [full] has `checks`, which are those of its mistakes; set them in [published]"
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

    /// Refuses checks that there are none of, and one that is named twice.
    fn check_ids(&self, ids: &[String]) -> Result<()> {
        if self.article.is_none() {
            return Err(usage(format!(
                "scenario `{}`: `checks` are shown beside an [article], and there is none",
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
                     give one `name=`"
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

/// Has parts that name no targets measured on those of the part that had their name before.
fn keep_targets(parts: &mut [Part], before: Vec<Part>) {
    for Part { name, targets, .. } in before {
        let same = parts.iter_mut().find(|part| part.name == name && part.targets.is_empty());
        if let Some(part) = same {
            part.targets = targets;
        }
    }
}

/// The name of the target that a URL stands for; `None` where it is none.
pub(super) fn name_of(url: &str) -> Option<String> {
    let url = StoreUrl::parse(url).ok()?;
    Some(url.name().map_or_else(|| url.to_string(), str::to_owned))
}

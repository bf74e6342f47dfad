//! Sets: scenarios that are run one after the other, under one name.

use std::path::{Path, PathBuf};

use larder_report::ArticleForm;
use serde::Deserialize;

use super::{Named, Scenario, check_name, read};
use crate::error::{Result, usage};

/// Scenarios that belong together, as a file lists them. Each is a comparison of its own: a set has neither targets nor
/// a workload.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// The name; without one in the file, the file's stem.
    #[serde(default)]
    pub name: String,
    /// Its subject, in one line.
    #[serde(default)]
    pub summary: String,
    /// Names of built-in scenarios, or files; relative files are looked up in the folder of the set's file.
    pub scenarios: Vec<String>,
    /// The forms of each scenario where the user names no form; without them in the file, the corrected form.
    #[serde(default)]
    pub forms: Vec<ArticleForm>,
    /// The folder of the set's file.
    #[serde(skip)]
    folder: PathBuf,
}

/// The sets inside the binary: name and text. A new one is a file and a line here.
pub const BUILT_IN_SETS: &[(&str, &str)] =
    &[("all-articles", include_str!("../../../../scenarios/all-articles.toml"))];

impl Set {
    pub(super) fn parse(name: &str, text: &str, folder: &Path) -> Result<Self> {
        let mut set: Self = read("set", name, text)?;
        check_name("set", &mut set.name, name)?;
        folder.clone_into(&mut set.folder);
        if set.scenarios.is_empty() {
            return Err(usage(format!("set `{name}` has no scenarios")));
        }
        if let Some(twice) =
            (1..set.forms.len()).find(|at| set.forms[..*at].contains(&set.forms[*at]))
        {
            let form = set.forms[twice];
            return Err(usage(format!("set `{name}`: form `{form}` stands twice; leave one out")));
        }
        Ok(set)
    }

    /// The scenarios of the set. Two of the same name are refused.
    pub fn members(&self) -> Result<Vec<Scenario>> {
        let mut members: Vec<Scenario> = Vec::with_capacity(self.scenarios.len());
        for name in &self.scenarios {
            let scenario = match Named::find_from(&self.folder, name)? {
                Named::Scenario(scenario) => *scenario,
                Named::Set(_) => {
                    let set = &self.name;
                    let wrong =
                        format!("set `{set}`: `{name}` is a set itself; list its scenarios");
                    return Err(usage(wrong));
                }
            };
            if members.iter().any(|other| other.name == scenario.name) {
                let (set, name) = (&self.name, &scenario.name);
                return Err(usage(format!(
                    "set `{set}`: two scenarios are called `{name}`, and each has a folder of its name; give one of \
                     them another `name`"
                )));
            }
            members.push(scenario);
        }
        Ok(members)
    }
}

/// A scenario of a set in one of its forms.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The name in the set, and of the folder.
    pub name: String,
    /// The scenario, resolved.
    pub scenario: Scenario,
}

impl Set {
    /// The comparisons of the set: each scenario in the form that was asked for, or else in all forms of the set that
    /// it has. In a second form, the form's name follows the scenario's.
    pub fn runs(&self, form: Option<ArticleForm>, full: bool) -> Result<Vec<Member>> {
        let forms = match (form, &self.forms[..]) {
            (Some(form), _) => vec![form],
            (None, []) => vec![ArticleForm::default()],
            (None, forms) => forms.to_vec(),
        };
        let mut runs: Vec<Member> = Vec::new();
        for scenario in self.members()? {
            let mut own = forms.clone();
            if forms.len() > 1 && scenario.published.is_none() {
                own.retain(|form| *form == ArticleForm::Corrected);
            }
            for (at, form) in own.into_iter().enumerate() {
                let name = match at {
                    0 => scenario.name.clone(),
                    _ => format!("{}-{form}", scenario.name),
                };
                if runs.iter().any(|other| other.name == name) {
                    let set = &self.name;
                    return Err(usage(format!(
                        "set `{set}`: two of its runs are called `{name}`, and each has a folder of its name; give \
                         one of them another `name`"
                    )));
                }
                runs.push(Member { name, scenario: scenario.clone().resolve(form, full)? });
            }
        }
        Ok(runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::BUILT_IN;

    fn set(text: &str) -> Result<Set> {
        Set::parse("mine", text, Path::new(""))
    }

    #[test]
    fn every_built_in_set_has_scenarios_in_every_form() {
        for (name, _) in BUILT_IN_SETS {
            let Named::Set(set) = Named::find(name).unwrap() else { panic!("{name} is no set") };
            assert_eq!(set.name, *name);
            assert_eq!(set.members().unwrap().len(), set.scenarios.len());
        }
    }

    #[test]
    fn every_article_is_among_all_articles() {
        let Named::Set(set) = Named::find("all-articles").unwrap() else { panic!("no set") };
        let of_article = |name: &str| Scenario::find(name).unwrap().article.is_some();
        let articles = BUILT_IN.iter().filter(|(name, _)| of_article(name));
        let mut articles: Vec<_> = articles.map(|(name, _)| *name).collect();
        articles.sort_unstable();
        assert_eq!(set.scenarios, articles);
    }

    #[test]
    fn all_articles_ask_every_conclusion_in_a_form_that_can() {
        let Named::Set(set) = Named::find("all-articles").unwrap() else { panic!("no set") };
        let runs = set.runs(None, false).unwrap();
        let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
        assert_eq!(names[..3], ["a000", "a000-published", "a001"]);
        for scenario in set.members().unwrap() {
            for claim in scenario.article.unwrap().claims {
                let asked = |form| claim.form.is_none_or(|only| only == form);
                let mut own = runs.iter().filter(|run| run.scenario.name == scenario.name);
                assert!(
                    own.any(|run| asked(run.scenario.form)),
                    "{}: {}",
                    scenario.name,
                    claim.says
                );
            }
        }
        let published = set.runs(Some(ArticleForm::Published), true).unwrap();
        assert_eq!(published.len(), set.scenarios.len());
        assert!(published.iter().all(|run| run.name == run.scenario.name));
    }

    #[test]
    fn what_is_wrong_with_a_set_is_one_line() {
        for (text, needle) in [
            ("scenarios = []", "set `mine` has no scenarios"),
            ("scenarios = ['quick']\ntargets = ['moka:']", "line 2: unknown field `targets`"),
            ("name = 'a b'\nscenarios = ['quick']", "set name `a b`: only letters"),
            ("scenarios = ['quick']\nforms = ['publshed']", "unknown variant `publshed`"),
            (
                "scenarios = ['a002']\nforms = ['published', 'published']",
                "form `published` stands twice",
            ),
            ("scenarios = ['quick', 'quik']", "no scenario `quik`; built in: quick"),
            ("scenarios = ['quick', 'quick']", "two scenarios are called `quick`"),
            ("scenarios = ['all-articles']", "`all-articles` is a set itself"),
        ] {
            let error = set(text).and_then(|set| set.members()).unwrap_err().to_string();
            assert!(error.contains(needle) && !error.contains('\n'), "{needle}: {error}");
        }
        let error = Scenario::find("all-articles").unwrap_err().to_string();
        assert!(error.contains("`all-articles` is a set of scenarios"), "{error}");
    }
}

//! Scenarios: comparisons with a name, as TOML files, built in or the user's own; and sets of scenarios.

mod article;
mod form;
mod generated;
mod hit_ratio;
mod named;
mod point_reference;
mod set;
mod sizes;
mod twitter;
mod web;

use larder_report::ArticleForm;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::{Result, usage};
use larder_workload::WorkloadSpec;

pub use article::{ArticleSpec, ClaimSpec, FigureSpec};
pub use form::{Form, Part};
pub use generated::GeneratedScenario;
pub use named::{GENERATED, Named};
pub use point_reference::PointReference;
pub(crate) use point_reference::size_coordinate;
pub use set::{BUILT_IN_SETS, Member, Set};
pub use sizes::Sizes;
pub(crate) use sizes::Unbounded;

/// A comparison, as described in a file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The name; without one in the file, the file's stem.
    #[serde(default)]
    pub name: String,
    /// Its subject, in one line.
    #[serde(default)]
    pub summary: String,
    /// URLs of the targets. A target that cannot run here has a reason in the result, and the comparison goes on.
    pub targets: Vec<String>,
    /// The work for each target, under the names of the flags.
    #[serde(default)]
    pub workload: WorkloadSpec,
    /// Workloads that are measured one after the other, each under its name. Empty for the workload above alone.
    #[serde(default, rename = "part")]
    pub parts: Vec<Part>,
    /// The work of the article that the scenario leaves out or does in another way, in half-sentences for the report.
    pub cut: Option<String>,
    /// The differences of the published form, mistakes included.
    pub published: Option<Form>,
    /// The differences at full length.
    pub full: Option<Form>,
    /// The article that it repeats.
    pub article: Option<ArticleSpec>,
    /// The checks that the resolved form sets off, where the file lists them. Set by [`Scenario::resolve`].
    #[serde(skip)]
    pub checks: Option<Vec<String>>,
    /// The form of the run. Set by [`Scenario::resolve`].
    #[serde(skip)]
    pub form: ArticleForm,
    /// Where its capacities come from. Set by the command.
    #[serde(skip)]
    pub sizes: Sizes,
    /// The greatest hit ratio that any cache can have on its trace, where that is known already: computing it takes as long as
    /// reading the trace. Set by the command.
    #[serde(skip)]
    pub hit_limit: Option<f64>,
    /// The options that change the workload. Set by [`Scenario::with_workload`].
    #[serde(skip)]
    pub changed: Vec<String>,
}

/// The scenarios inside the binary: name and text. A new one is a file and a line here.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("quick", include_str!("../../../../scenarios/quick.toml")),
    ("page", include_str!("../../../../scenarios/page.toml")),
    ("a000", include_str!("../../../../scenarios/a000.toml")),
    ("a001", include_str!("../../../../scenarios/a001.toml")),
    ("a002", include_str!("../../../../scenarios/a002.toml")),
    ("a003", include_str!("../../../../scenarios/a003.toml")),
    ("a004", include_str!("../../../../scenarios/a004.toml")),
    ("kvcache", include_str!("../../../../scenarios/kvcache.toml")),
    ("hit-ratio", include_str!("../../../../scenarios/hit-ratio.toml")),
    ("session", include_str!("../../../../scenarios/session.toml")),
    ("stampede", include_str!("../../../../scenarios/stampede.toml")),
    ("languages", include_str!("../../../../scenarios/languages.toml")),
    ("servers", include_str!("../../../../scenarios/servers.toml")),
    ("go", include_str!("../../../../scenarios/go.toml")),
    ("node", include_str!("../../../../scenarios/node.toml")),
    ("php", include_str!("../../../../scenarios/php.toml")),
    ("ruby", include_str!("../../../../scenarios/ruby.toml")),
    ("java", include_str!("../../../../scenarios/java.toml")),
    ("python", include_str!("../../../../scenarios/python.toml")),
];

impl Scenario {
    /// The scenario with a name, or in a file.
    pub fn find(name: &str) -> Result<Self> {
        match Named::find(name)? {
            Named::Scenario(scenario) => Ok(*scenario),
            Named::Set(set) => Err(usage(format!(
                "`{name}` is a set of scenarios; name one scenario of it: {}",
                set.scenarios.join(", ")
            ))),
        }
    }

    fn parse(name: &str, text: &str) -> Result<Self> {
        let mut scenario: Self = read("scenario", name, text)?;
        check_name("scenario", &mut scenario.name, name)?;
        if scenario.targets.is_empty() {
            return Err(usage(format!("scenario `{name}` has no targets")));
        }
        scenario.check_forms()?;
        if let Some(article) = &scenario.article {
            article.check(&scenario)?;
        }
        Ok(scenario)
    }
}

/// Reads the content of a file, or fails with the line of the mistake. `what` names the expected content.
fn read<T: DeserializeOwned>(what: &str, name: &str, text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        let message = error.message().replace('\n', " ");
        usage(format!("{what} `{name}`, line {line}: {message}"))
    })
}

/// Names a scenario or set without a name of its own after its file, and refuses names that cannot be a folder.
fn check_name(what: &str, own: &mut String, of_file: &str) -> Result<()> {
    if own.is_empty() {
        of_file.clone_into(own);
    }
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if own.chars().all(letters) {
        return Ok(());
    }
    Err(usage(format!(
        "{what} name `{own}`: only letters, digits, - and _, because it names a folder"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_workload::Count;

    #[test]
    fn every_built_in_scenario_reads() {
        for (name, _) in BUILT_IN {
            let scenario = Scenario::find(name).unwrap();
            assert_eq!(scenario.name, *name);
            scenario.resolve(ArticleForm::Corrected, false).unwrap();
        }
    }

    #[test]
    fn articles_have_forms_with_all_figures_and_each_conclusion_is_about_one_of_them() {
        for name in ["a000", "a001", "a002", "a003", "a004"] {
            let scenario = Scenario::find(name).unwrap();
            for full in [false, true] {
                let mut told = std::collections::BTreeSet::new();
                let all = scenario.article.as_ref().unwrap().claims.len();
                for form in [ArticleForm::Corrected, ArticleForm::Published] {
                    // Each form is checked alone, without entries of the other forms.
                    let mut alone = scenario.clone().resolve(form, full).unwrap();
                    assert_eq!(alone.checks.is_some(), form == ArticleForm::Published);
                    let mut article = alone.article.take().unwrap();
                    assert!(article.differs.is_some(), "{name} names its approximations");
                    article.figures.retain(|own| own.form.is_none_or(|own| own == form));
                    ArticleSpec { claims: Vec::new(), ..article.clone() }.check(&alone).unwrap();
                    for (at, claim) in article.claims.iter().enumerate() {
                        assert!(claim.derived || claim.line.is_some(), "{name}: {}", claim.says);
                        let one = ArticleSpec { claims: vec![claim.clone()], ..article.clone() };
                        if one.check(&alone).is_ok() {
                            told.insert(at);
                        }
                    }
                    let rounds = |scenario: &Scenario| scenario.workload.rounds.unwrap().0;
                    assert!(!full || rounds(&alone) >= rounds(&scenario), "{name} {form}");
                }
                assert_eq!(told.len(), all, "{name}, full: {full}: {told:?}");
            }
        }
    }

    #[test]
    fn a_store_in_the_process_is_not_held_against_a_server_behind_a_socket() {
        let a004 = Scenario::find("a004").unwrap();
        let mut judged = 0;
        for form in [ArticleForm::Corrected, ArticleForm::Published] {
            let of = a004.clone().resolve(form, false).unwrap();
            let behind_a_socket = |name: &String| {
                let named = |url: &&String| form::name_of(url).as_ref() == Some(name);
                of.targets.iter().find(named).map(|url| url.starts_with("memcached:"))
            };
            for claim in &of.article.as_ref().unwrap().claims {
                let Some(one) = behind_a_socket(&claim.a) else { continue };
                let others: Vec<bool> = claim.b.iter().filter_map(behind_a_socket).collect();
                let is_mixed = others.iter().any(|other| *other != one);
                assert_eq!(claim.waits.is_some(), is_mixed, "{}", claim.says);
                judged += 1;
            }
        }
        assert!(judged > 0);
    }

    #[test]
    fn fields_are_spelt_as_flags_and_take_numbers_and_lists() {
        let text = r#"
            summary = "x"
            targets = ["moka:"]
            [workload]
            keys = 500
            data-size = ["1k", "4k"]
            threads = [1, 2]
            compressibility = 0.5
            keys-from = "zipf:0.99"
            pin = true
        "#;
        let scenario = Scenario::parse("mine", text).unwrap();
        assert_eq!(scenario.name, "mine");
        assert_eq!(scenario.workload.keys, Some(Count(500).into()));
        assert_eq!(scenario.workload.threads.unwrap().to_string(), "1,2");
        assert_eq!(scenario.workload.pin, Some(true));
    }

    #[test]
    fn a_wrong_article_gets_one_line_that_says_where() {
        let figure = "[[article.figure]]\ntarget = 'memory'\nmeasure = 'wall'\npublished = 5\n";
        let claim = "[[article.claim]]\nsays = 'x'\nkind = 'faster'\na = 'memory'\nb = ['files']\n";
        let read = |lines: &str| {
            let head = "targets = ['moka:?name=memory', 'file:?name=files']\n\
                        [article]\nid = 'A9'\ntitle = 'x'\nmachine = 'x'\niterations = 10\n";
            Scenario::parse("mine", &format!("{head}{figure}{claim}{lines}"))
        };
        read("").unwrap();
        let swap = |of: &str, from: &str, to: &str| of.replace(from, to);
        for (lines, needle) in [
            (
                swap(figure, "memory", "memry"),
                "figure 2 of article A9: no target is called `memry`",
            ),
            (format!("{figure}part = 'reads'"), "no part is called `reads`"),
            (
                format!("{figure}operation = 'set+gte'"),
                "no operation `gte`; there are set, set_many, get,",
            ),
            (format!("{figure}iterations = 0"), "give their number with `iterations`"),
            (swap(figure, "5", "-5"), "published = -5"),
            (swap(claim, "files", "fils"), "claim 2 of article A9: no target is called `fils`"),
            (swap(claim, "'files'", ""), "name targets in `b`"),
            (swap(claim, "files", "memory"), "`memory` is `a` and in `b`"),
            (format!("{claim}checks = ['NEVER-HIT']"), "no check `NEVER-HIT`"),
            (format!("{claim}factor = 0.5"), "factor = 0.5: give 1 or more"),
            (swap(claim, "faster", "never_hits"), "leave out `b`, `factor`, `at`"),
            (swap(claim, "faster", "drops"), "leave out `b`, `factor` and `b_at`"),
            (
                swap(&swap(claim, "faster", "refuses"), "b = ['files']", "operation = 'get'"),
                "give `operation = 'set'`",
            ),
            (swap(claim, "faster", "near") + "by = 'cpu'", "`by = 'cpu'` belongs to `faster`"),
            (
                swap(claim, "faster", "sum") + "by = 'latency'",
                "`by` belongs to `faster` and `near`",
            ),
            (format!("{figure}at = {{ threads = 4 }}"), "no form measures threads = 4 there"),
            (
                format!("{figure}at = {{ data-size = '2k' }}"),
                "no form measures data-size = 2k there",
            ),
            (format!("{figure}at = {{ keys = 20000 }}"), "no form measures keys = 20000 there"),
            (
                format!("{figure}part = 'a'\n[[part]]\nname = 'a'\ntargets = ['files']"),
                "part `a` is not measured on `memory`",
            ),
            (format!("{figure}[workload]\nkeys = [1, 2]"), "keys is swept there: name it in `at`"),
            (
                format!("{figure}[workload]\nthreads = [1, 2]"),
                "figure 1 of article A9: threads is swept there: name it in `at`",
            ),
            (
                format!(
                    "{claim}at = [{{ threads = 1 }}]\n[[part]]\nname = 'a'\n[full.workload]\ndata-size = ['1k', '2k']"
                ),
                "figure 1 of article A9: data-size is swept there",
            ),
            (swap(claim, "faster", "near") + "by = 'max'", "name it with `operation`"),
            (format!("{claim}by = 'p99'\noperation = 'set+get'"), "name it with `operation`"),
            (format!("{figure}peak = true"), "`peak` is the best rate of a sweep"),
            (format!("{figure}published_to = 4"), "published_to = 4: give the upper end"),
            (format!("{claim}b_at = [{{ threads = 1 }}]"), "give that of `a` with `at`"),
            (
                format!("{claim}at = [{{ threads = 1 }}]\nb_at = [{{ threads = 1 }}]"),
                "`b_at` has threads = 1, a point of `a`",
            ),
            (format!("{figure}[[part]]\nname = 'a'\n[[part]]\nname = 'b'"), "name one with `part`"),
            (
                format!("{figure}[published]\nchecks = ['ONE-KEYS']"),
                "`checks`: no check `ONE-KEYS`; docs/checks.md lists them",
            ),
            (
                format!("{figure}[published.full]\nchecks = ['ONE-KEY', 'ONE-KEY']"),
                "`checks`: `ONE-KEY` stands twice",
            ),
        ] {
            let error = read(&lines).unwrap_err().to_string();
            assert!(error.contains(needle) && !error.contains('\n'), "{needle}: {error}");
        }
    }

    #[test]
    fn a_wrong_file_gets_one_line_that_says_where() {
        for (text, needle) in [
            ("summary = 'x'\ntargets = []", "has no targets"),
            (
                "summary = 'x'\ntargets = ['moka:']\n[workload]\nkeyz = 1",
                "line 4: unknown field `keyz`",
            ),
            (
                "summary = 'x'\ntargets = ['moka:']\n[workload]\nkeys = 'few'",
                "`few` is not a number",
            ),
            (
                "targets = ['moka:']\n[full]\nchecks = ['ONE-KEY']",
                "[full] has `checks`, which belong to published mistakes",
            ),
            (
                "targets = ['moka:']\n[published]\nchecks = ['ONE-KEY']",
                "`checks` need an [article], which the scenario lacks",
            ),
            ("name = '../x'\nsummary = 'x'\ntargets = ['moka:']", "only letters"),
            ("targets = [", "line 1"),
        ] {
            let error = Scenario::parse("mine", text).unwrap_err().to_string();
            assert!(error.contains(needle) && !error.contains('\n'), "{error}");
        }
        let error = Scenario::find("quik").unwrap_err().to_string();
        assert!(error.contains("no scenario `quik`; built in: quick, page, a000"), "{error}");
    }
}

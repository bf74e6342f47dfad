//! Made-up sets of runs, for indexes.

use larder_report::{ArticleForm, Entry, Index, Run};

use super::article::article;
use super::runs::{all_unavailable, hostile, interrupted, one_point};

/// An article in both forms, and scenarios without conclusions, without a run, and with an interrupted run.
pub(crate) fn set() -> Index {
    let mut corrected = article();
    corrected.scenario = "a999".into();
    corrected.summary =
        Some("A999: three caches, each read twice as often as it is written".into());
    corrected.checks.clear();
    if let Some(article) = &mut corrected.article {
        article.form = ArticleForm::Corrected;
        article.cut = None;
        article.checks = None;
    }
    let named = |name: &str, mut run: Run| {
        run.scenario = name.into();
        run
    };
    let runs = [
        corrected,
        named("a998", article()),
        named("at-one-point", one_point()),
        named("stopped", interrupted()),
        named("nothing", all_unavailable()),
    ];
    let mut index = Index::of_scenarios("made-up", "all that there is, one after the other", []);
    "0.1.0".clone_into(&mut index.larder);
    for run in runs {
        index.push(&run.scenario.clone(), run);
    }
    index.scenarios.push(Entry {
        name: "lost".into(),
        folder: "lost".into(),
        reason: Some("trace web12.csv: No such file or directory (os error 2)".into()),
        run: None,
    });
    index
}

/// Names and reasons that do harm in an index that does not treat them as text, and two runs of one name.
pub(crate) fn hostile_set() -> Index {
    let run = hostile();
    let script = run.scenario.clone();
    let mut index = Index::of_scenarios(&script, &script, []);
    index.push("a folder#with?signs%", run.clone());
    index.push(&script, run);
    index.scenarios.push(Entry {
        name: "bad".into(),
        folder: script.clone(),
        reason: Some(script),
        run: None,
    });
    index
}

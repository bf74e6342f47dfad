//! The index of a set: it sums up its runs, links to their reports, and is as safe as they are.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use larder_report::{
    ArticleForm, Claim, ClaimVerdict, Entry, Format, Index, index_formats, render_index,
};

use super::html::{attributes, text_of};
use super::made_up::article::article;
use super::made_up::sets::{hostile_set, set};
use super::small::{PLAIN, assert_lines, gets};

fn render(index: &Index, format: Format) -> String {
    render_index(index, format, PLAIN).expect("a set has this format")
}

#[test]
fn an_index_as_it_is() {
    assert_snapshot!("index_table", render(&set(), Format::TABLE));
    assert_snapshot!("index_markdown", render(&set(), Format::MARKDOWN));
    let page = render(&set(), Format::HTML);
    let (before, picture) = page.split_once("<svg xmlns").expect("a chart");
    assert!(picture.contains("</svg>"));
    assert_lines(
        &text_of(before),
        &[
            "<h1>Comparisons of caches: made-up</h1>",
            "<p class=\"summary\">All that there is, one after the other</p>",
            "<p class=\"alarm\" role=\"note\">This set was interrupted before its end.</p>",
            "<dd><strong>6</strong><span>5 ran</span></dd></div>",
            "<dd><strong>3</strong><span>of 9 conclusions</span></dd></div>",
            "<dd><strong>3</strong><span>1 turned round</span></dd></div>",
            "<dd><strong>3</strong></dd></div>",
            "<dd><strong>1</strong><span>0 warnings</span></dd></div>",
            "<dd><strong>42.9 s</strong></dd></div></dl></header>",
            "<h2>The answer</h2>",
            "<h2>The conclusions</h2>",
            "<h3>What holds here</h3>",
            "<h3>What does not hold here</h3>",
            "<h3>What cannot be told from these runs</h3>",
        ],
    );
}

#[test]
fn an_index_survives_writing_and_reading_but_for_its_runs() {
    let written = render(&set(), Format::JSON);
    let read = Index::from_json(&written).unwrap();
    assert_eq!(read.to_json(), written);
    assert!(read.runs().next().is_none());
    let reason = |entry: &Entry| entry.reason.is_some();
    assert_eq!(read.scenarios.iter().filter(|entry| reason(entry)).count(), 1);
    let error = Index::from_json("[]").unwrap_err().to_string();
    assert!(error.starts_with("not an index.json: ") && !error.contains('\n'), "{error}");
}

#[test]
fn a_set_has_some_formats_and_no_others() {
    let known: Vec<&str> = index_formats().map(Format::as_str).collect();
    assert_eq!(known, ["table", "markdown", "html", "json"]);
    for format in Format::all() {
        let rendered = render_index(&set(), format, PLAIN);
        assert_eq!(rendered.is_some(), known.contains(&format.as_str()), "{format}");
    }
}

/// The index of a single run with these verdicts.
fn said(verdicts: &[ClaimVerdict]) -> String {
    let mut run = article();
    let article = run.article.as_mut().expect("it repeats one");
    let claim = article.claims[0].clone();
    let claims = verdicts.iter().map(|verdict| Claim { verdict: *verdict, ..claim.clone() });
    article.claims = claims.collect();
    let mut index = Index::of_scenarios("one", "", []);
    index.push("one", run);
    let text = render(&index, Format::MARKDOWN);
    text.lines().find(|line| line.starts_with("Of the ")).unwrap_or_default().to_owned()
}

#[test]
fn conclusions_are_counted_by_their_verdict() {
    use ClaimVerdict::{CannotBeTold, DoesNotHold, Holds, TurnsRound};
    assert_eq!(
        said(&[Holds, Holds, TurnsRound, DoesNotHold, CannotBeTold]),
        "Of the 5 conclusions of 1 article, repeated as they were published with their mistakes, 2 hold here, 2 do not \
         (1 of them turned round), and 1 cannot be told from these runs."
    );
    assert!(said(&[Holds]).contains("1 conclusion of 1 article"));
    assert!(said(&[Holds]).contains("1 holds here, 0 do not, and 0 cannot be told"));
    assert_eq!(said(&[]), "");
}

#[test]
fn what_both_forms_ask_counts_once_and_where_it_can_be_told() {
    use ClaimVerdict::{CannotBeTold, DoesNotHold, Holds, TurnsRound};
    let in_form = |form, verdicts: [ClaimVerdict; 4]| {
        let mut run = article();
        let article = run.article.as_mut().expect("it repeats one");
        article.form = form;
        let claim = Claim { derived: false, statement: None, ..article.claims[0].clone() };
        let numbered = (1..).zip(verdicts);
        let claims = numbered.map(|(n, verdict)| Claim {
            says: format!("It is {n}."),
            verdict,
            ..claim.clone()
        });
        article.claims = claims.collect();
        run
    };
    let mut index = Index::of_scenarios("both", "", []);
    let corrected = [Holds, TurnsRound, CannotBeTold, CannotBeTold];
    index.push("a", in_form(ArticleForm::Corrected, corrected));
    index.push("b", in_form(ArticleForm::Published, [DoesNotHold, Holds, Holds, CannotBeTold]));
    let text = render(&index, Format::MARKDOWN);
    for said in [
        "Of the 4 conclusions of 1 article, each in the form that can test it, 2 hold here, 1 does not (1 of them \
         turned round), and 1 cannot be told from these runs.",
        "1 conclusion that does not hold here holds as published, by a mistake.",
        "It is 1. (with the mistakes corrected; as published: does not hold)",
        "It is 2. (with the mistakes corrected; as published: holds)",
        "It is 3. (as published)",
        "## What holds here",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert_eq!(text.matches("It is 4.").count(), 1, "{text}");
}

#[test]
fn a_statement_of_several_conclusions_counts_once_and_derived_ones_apart() {
    use ClaimVerdict::{CannotBeTold, DoesNotHold, Holds, TurnsRound};
    let mut run = article();
    let article = run.article.as_mut().expect("it repeats one");
    let claim = article.claims[0].clone();
    let part = |statement: &str, verdict| Claim {
        statement: Some(statement.to_owned()),
        verdict,
        ..claim.clone()
    };
    article.claims = vec![
        part("in part", Holds),
        part("in part", TurnsRound),
        part("open", CannotBeTold),
        part("open", Holds),
        part("round", TurnsRound),
        part("round", TurnsRound),
        part("both", Holds),
        part("both", Holds),
        Claim { derived: true, verdict: Holds, ..claim.clone() },
    ];
    assert_eq!(article.statements(false), [DoesNotHold, CannotBeTold, TurnsRound, Holds]);
    assert_eq!(article.statements(true), [Holds]);
    let text = larder_report::render(&run, Format::MARKDOWN, PLAIN);
    let heading = "Conclusions: of 4, 1 holds here, 1 turns round, 1 does not hold, 1 cannot be told; of 1 that is \
                   derived, 1 holds here";
    assert!(text.contains(heading), "{text}");
    assert!(text.contains(" (derived, not the author's)"), "{text}");
}

#[test]
fn every_link_leads_into_the_page_or_into_a_report_and_no_anchor_comes_twice() {
    let index = set();
    let page = render(&index, Format::HTML);
    let anchors = attributes(&page, "id");
    let known: BTreeSet<&str> = anchors.iter().copied().collect();
    assert_eq!(known.len(), anchors.len(), "an anchor comes twice: {anchors:?}");
    let reports: Vec<String> = index
        .scenarios
        .iter()
        .filter(|entry| entry.run.is_some())
        .map(|entry| format!("{}/report.html", entry.folder))
        .collect();
    let links = attributes(&page, "href");
    for report in &reports {
        assert!(links.contains(&report.as_str()), "no way into {report}");
    }
    for link in links {
        let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
        if file.is_empty() {
            assert!(known.contains(anchor), "{link}");
        } else {
            assert!(reports.iter().any(|report| report == file), "{link}");
        }
    }
    // A check links to its findings, where the report has them.
    let linked = "a998/report.html#check-error-NEVER-HITS";
    assert!(page.contains(linked));
    let run = index.scenarios[1].run.as_ref().unwrap();
    assert!(super::html::page(run).contains("id=\"check-error-NEVER-HITS\""));
}

#[test]
fn the_page_carries_all_it_needs_and_takes_texts_for_texts() {
    let page = render(&hostile_set(), Format::HTML);
    super::html::assert_closed(&page);
    let plain = {
        let mut index = Index::of_scenarios("plain", "", []);
        index.push("a", gets(&[("a", 2e6)]));
        render(&index, Format::HTML)
    };
    for tag in ["<script", "</script", "<img", "<style"] {
        assert_eq!(page.matches(tag).count(), plain.matches(tag).count(), "{tag}");
    }
    assert!(attributes(&page, "href").contains(&"a%20folder%23with%3Fsigns%25/report.html"));
}

#[test]
fn runs_of_several_machines_each_say_on_which() {
    let mut index = set();
    let other = "a processor of another kind";
    index.scenarios[1].run.as_mut().unwrap().environment.cpu = Some(other.into());
    for format in [Format::HTML, Format::MARKDOWN] {
        let text = render(&index, format);
        assert_eq!(text.matches(other).count(), 1, "{format}");
        let first = index.scenarios[0].run.as_ref().unwrap().environment.cpu.clone().unwrap();
        assert_eq!(text.matches(&first).count(), 4, "{format}");
    }
}

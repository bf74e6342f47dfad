//! The report as Markdown, for a pull request: every column, the sentences, the checks, the machine folded.

use std::fmt::Write;

use crate::article::{self, Clocks, JudgedClaim, Matrix};
use crate::columns::{ANSWERED_MEANS, BAR, COLUMNS, Column, TIED};
use crate::connections::{CONNECTIONS, ConnectionPlace, columns, connections, meaning};
use crate::figures::{bytes, list, rate};
use crate::findings::{findings, tally};
use crate::format::Format;
use crate::header::{CUSTOM, command, header, warning};
use crate::hit_ratio::{HIT_RATIOS, HitTable, NO_RATIO, READING, hit_tables, ratio, reasons};
use crate::limits::{NOT_SHOWN, not_shown};
use crate::model::{Article, Run, Target};
use crate::percentiles::{Percentiles, heads, percentiles};
use crate::points::label;
use crate::ranking::{Group, Row, Standing, groups};
use crate::searches::{SEARCHES, SearchLine, search_lines};
use crate::sentences::{FIGURES_SAY, sentences};
use crate::shown_percentiles::{WITHHELD, WITHHELD_MEANS, withholds};
use crate::text::clean;
use crate::tiers::{TIERS, TierLine, tier_lines};

/// The format `markdown`.
pub(crate) const FORMAT: Format = Format { name: "markdown", render: |run, _| render(run) };

/// The whole report. Lines are not wrapped, because Markdown viewers wrap them.
fn render(run: &Run) -> String {
    let mut lines = vec![format!("## {}", escaped(&title(run)))];
    if let Some(warning) = warning(run) {
        lines.push(format!("> **{warning}**"));
    }
    let groups = groups(run);
    let swept = run.swept();
    for group in &groups {
        let place = label(group.point, &swept);
        let place = if place.is_empty() { place } else { format!(", {}", escaped(&place)) };
        let keys = if group.operation.is_of_many_keys() { " (counted in keys)" } else { "" };
        lines.push(format!("### {}{place}{keys}", escaped(group.operation.as_str())));
        lines.push(table(group, &swept));
    }
    lines.extend(run.article.iter().map(|article| published(run, article)));
    if groups.iter().flat_map(|group| &group.rows).any(|row| !row.ties.is_empty()) {
        lines.push("Targets that share a letter under *tie* cannot be told apart.".to_owned());
    }
    let rows = || groups.iter().flat_map(|group| &group.rows);
    if rows().any(|row| row.ties_best) {
        lines.push(format!("`{TIED}`: cannot be told apart from the fastest."));
    }
    if rows().any(|row| withholds(row.cell)) {
        lines.push(format!("`{WITHHELD}`: {WITHHELD_MEANS}."));
    }
    if rows().any(|row| row.misses && row.rate().is_some()) {
        lines.push(format!("{ANSWERED_MEANS}."));
    }
    let hits = hit_tables(run);
    if !hits.is_empty() {
        lines.push(format!("### {HIT_RATIOS}"));
        lines.extend(hits.iter().map(hit_ratios));
        lines.push(READING.to_owned());
    }
    if let Some(places) = connections(run) {
        lines.push(format!("### {CONNECTIONS}"));
        lines.push(of_connections(&places));
        lines.push(escaped(&meaning(&columns(&places))));
    }
    let searches = search_lines(run);
    if !searches.is_empty() {
        lines.push(format!("### {SEARCHES}"));
        let item = |line: &SearchLine| {
            format!("- **{}**: {}", escaped(&line.subject), escaped(&line.text))
        };
        lines.push(searches.iter().map(item).collect::<Vec<_>>().join("\n"));
    }
    let tiers = tier_lines(run);
    if !tiers.is_empty() {
        lines.push(format!("### {TIERS}"));
        let item =
            |line: &TierLine| format!("- **{}**: {}", escaped(&line.subject), escaped(&line.text));
        lines.push(tiers.iter().map(item).collect::<Vec<_>>().join("\n"));
    }
    lines.push(format!("### {FIGURES_SAY}"));
    lines.push(
        sentences(run)
            .iter()
            .map(|said| format!("- **{}**: {}", escaped(&said.subject), escaped(&said.text)))
            .collect::<Vec<_>>()
            .join("\n"),
    );
    lines.push(format!("### Checks: {}", tally(run)));
    lines.extend(checks(run));
    lines.push(format!("### {NOT_SHOWN}"));
    lines.push(escaped(&not_shown(run).join(" ")));
    lines.push(details(run));
    lines.join("\n\n") + "\n"
}

/// The part about an article: its figures, its matrices, its percentiles, its conclusions.
fn published(run: &Run, article: &Article) -> String {
    let mut lines = vec![format!("### {}", escaped(&article::heading(article)))];
    let facts = article::facts(article);
    let facts = facts.iter().map(|(label, text)| format!("- {label}: {}", escaped(text)));
    lines.push(facts.collect::<Vec<_>>().join("\n"));
    for block in article::blocks(article) {
        let mut text =
            format!("| {} | {} | remark |\n", escaped(&block.caption), article::HEADS.join(" | "));
        text.push_str("| --- | ---: | ---: | ---: | --- |");
        for row in &block.rows {
            let name = format!("{}{}", if row.doubtful { "✗ " } else { "" }, escaped(&row.target));
            let figures = [&row.published, &row.here(), &row.ratio].map(|text| escaped(text));
            let remark = escaped(row.remark.as_deref().unwrap_or_default());
            text.push('\n');
            text.push_str(&pipes(&[&[name], &figures[..], &[remark]].concat()));
        }
        lines.push(text);
    }
    let clocks = article::matrices(article);
    lines.extend(clocks.iter().flat_map(matrices));
    if !clocks.is_empty() {
        lines.push(article::WAITING.to_owned());
    }
    lines.extend(percentiles(run).iter().map(up_to_percentiles));
    let said = article::judged_claims(article);
    if !said.is_empty() {
        lines.push(format!("**{}**", article::conclusions(article)));
        lines.push(said.iter().map(conclusion).collect::<Vec<_>>().join("\n"));
    }
    lines.join("\n\n")
}

fn hit_ratios(table: &HitTable) -> String {
    let heads = std::iter::once(escaped(&table.place));
    let heads = heads.chain(table.columns.iter().map(|capacity| escaped(capacity)));
    let mut text = pipes(&heads.collect::<Vec<_>>());
    let _ = write!(text, "\n| --- |{}", " ---: |".repeat(table.columns.len()));
    for row in &table.rows {
        let name = match row.target {
            Some(_) => escaped(&row.name),
            None => format!("*{}*", escaped(&row.name)),
        };
        let figures = row.figures.iter().map(|figure| match figure {
            Ok(figure) => ratio(*figure),
            Err(_) => NO_RATIO.to_owned(),
        });
        text.push('\n');
        text.push_str(&pipes(&std::iter::once(name).chain(figures).collect::<Vec<_>>()));
    }
    let reasons = reasons(table);
    if !reasons.is_empty() {
        text.push('\n');
    }
    for reason in reasons {
        let _ = write!(text, "\n- {}", escaped(&reason));
    }
    text
}

/// A row for each target at each place.
fn of_connections(places: &[ConnectionPlace<'_>]) -> String {
    let columns = columns(places);
    let heads = ["at".to_owned(), "target".to_owned()].into_iter();
    let heads = heads.chain(columns.iter().map(|column| column.name()));
    let mut text = pipes(&heads.collect::<Vec<_>>());
    let _ = write!(text, "\n| --- | --- |{}", " ---: |".repeat(columns.len()));
    for place in places {
        for row in &place.rows {
            let names = [escaped(&place.label), escaped(row.name)].into_iter();
            let figures = columns.iter().map(|column| escaped(&column.text(row)));
            text.push('\n');
            text.push_str(&pipes(&names.chain(figures).collect::<Vec<_>>()));
        }
    }
    text
}

fn up_to_percentiles(table: &Percentiles) -> String {
    let caption = escaped(&table.caption);
    let all = [caption].into_iter().chain(heads().map(str::to_owned)).chain(["remark".to_owned()]);
    let mut text = pipes(&all.collect::<Vec<_>>());
    let _ = write!(text, "\n| --- |{} --- |", " ---: |".repeat(heads().count()));
    for row in &table.rows {
        let name = format!("{}{}", if row.doubtful { "✗ " } else { "" }, escaped(&row.target));
        let remark = escaped(row.remark.as_deref().unwrap_or_default());
        let figures = row.figures().map(escaped);
        text.push('\n');
        text.push_str(&pipes(
            &std::iter::once(name).chain(figures).chain([remark]).collect::<Vec<_>>(),
        ));
    }
    text
}

fn matrices(clocks: &Clocks<'_>) -> Vec<String> {
    clocks.matrices.iter().map(|of| matrix(&clocks.place, of)).collect()
}

fn matrix(place: &str, matrix: &Matrix<'_>) -> String {
    let caption = format!("{place}, {}", matrix.caption);
    let names = || matrix.rated.iter().map(|rated| escaped(rated.name));
    let heads = [escaped(&caption), "rate".to_owned()].into_iter().chain(names());
    let mut text = pipes(&heads.collect::<Vec<_>>());
    let _ = write!(text, "\n| --- |{}", " ---: |".repeat(matrix.rated.len() + 1));
    for ((name, rated), texts) in names().zip(&matrix.rated).zip(matrix.texts()) {
        text.push('\n');
        text.push_str(&pipes(&[vec![name, rate(rated.rate)], texts].concat()));
    }
    text
}

fn conclusion(said: &JudgedClaim<'_>) -> String {
    let mut text = format!("- **{}**: {}", said.verdict, escaped(&said.says()));
    for evidence in &said.evidence {
        let _ = write!(text, "\n  - {}", escaped(evidence));
    }
    let checks = said.checks();
    if !checks.is_empty() {
        let _ = write!(text, "\n  - {}", escaped(&checks.join("; ")));
    }
    text
}

fn title(run: &Run) -> String {
    if run.scenario != CUSTOM {
        return format!("Comparison of caches: {}", run.scenario);
    }
    let names: Vec<&str> = run.targets.iter().map(|target| target.name.as_str()).collect();
    format!("Comparison of {}", list(&names))
}

fn table(group: &Group<'_>, swept: &[&str]) -> String {
    let says_something = |column: &&Column| {
        column.name != BAR
            && group.rows.iter().any(|row| row.rate().is_some() && (column.text)(row).is_some())
    };
    let columns: Vec<&Column> = COLUMNS.iter().filter(says_something).collect();
    let remarks = group.shown(swept).any(|row| remark(row).is_some());

    let mut heads = vec!["target".to_owned()];
    heads.extend(columns.iter().map(|column| column.name.to_owned()));
    let mut rules = vec!["---"];
    rules.extend(columns.iter().map(|column| if column.words { "---" } else { "---:" }));
    if remarks {
        heads.push("remark".to_owned());
        rules.push("---");
    }
    let mut text = format!("{}\n| {} |", pipes(&heads), rules.join(" | "));
    for row in group.shown(swept) {
        let mut cells =
            vec![format!("{}{}", if row.is_withheld() { "✗ " } else { "" }, escaped(row.name))];
        cells.extend(columns.iter().map(|column| match (column.text)(row) {
            Some(text) if row.rate().is_some() => escaped(&text),
            None if row.rate().is_some() => column.otherwise.to_owned(),
            _ => String::new(),
        }));
        if remarks {
            cells.push(remark(row).unwrap_or_default());
        }
        text.push('\n');
        text.push_str(&pipes(&cells));
    }
    text
}

pub(crate) fn pipes(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

/// The reason why a row has no figures, or none that count.
fn remark(row: &Row<'_>) -> Option<String> {
    match &row.standing {
        Standing::Ranked { .. } => None,
        Standing::Unlike { reason, .. } => Some(escaped(reason)),
        Standing::Withheld(_) => row.withheld().map(|why| format!("no result: {}", escaped(&why))),
        Standing::Empty(reason) => Some(escaped(reason)),
    }
}

fn checks(run: &Run) -> Option<String> {
    let mut text = String::new();
    for finding in findings(run) {
        let severity = finding.severity.as_str();
        for line in &finding.lines {
            let _ = writeln!(text, "- {severity} **{}** {}", finding.id, escaped(line));
        }
        for advice in &finding.advice {
            let _ = writeln!(text, "  - {}", escaped(advice));
        }
    }
    (!text.is_empty()).then(|| text.trim_end().to_owned())
}

/// The reference part: the command, the machine, the targets with their versions and limits.
fn details(run: &Run) -> String {
    let mut text = "<details><summary>Environment and targets</summary>\n\n".to_owned();
    if run.scenario != CUSTOM {
        let _ = writeln!(text, "- command: {}", escaped(&command(run)));
    }
    for (label, line) in header(run) {
        let _ = writeln!(text, "- {label}: {}", escaped(&line));
    }
    text.push_str(
        "\n| target | URL | engine | version | durability | reach | ownership | keys up to | values up to |\n",
    );
    text.push_str("|---|---|---|---|---|---|---|---:|---:|\n");
    for target in &run.targets {
        let _ = writeln!(text, "{}", pipes(&target_cells(target)));
    }
    text + "\n</details>"
}

fn target_cells(target: &Target) -> Vec<String> {
    let optional = |text: &Option<String>| escaped(text.as_deref().unwrap_or_default());
    vec![
        escaped(&target.name),
        escaped(&target.url),
        escaped(&target.engine),
        optional(&target.version),
        optional(&target.durability),
        optional(&target.reach),
        optional(&target.ownership),
        limit(target.limits.max_key_len, target.limits.probed_key_len),
        limit(target.limits.max_value_len, target.limits.probed_value_len),
    ]
}

/// The largest stored size, or the largest probed size without a limit.
fn limit(max: Option<u64>, probed: u64) -> String {
    match (max, probed) {
        (Some(max), _) => bytes(max),
        (None, 0) => String::new(),
        (None, probed) => format!("{} and more", bytes(probed)),
    }
}

/// Text that Markdown shows unchanged. Underscores within words and lone brackets have no meaning there, and stay.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    let text = clean(text);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let before_space = characters.peek().is_none_or(|next| next.is_whitespace());
        let special = match character {
            '<' => !before_space,
            other => matches!(other, '\\' | '|' | '*' | '`'),
        };
        if special {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

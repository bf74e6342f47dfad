//! Connections in each format: their answers, idle ones and those that come and go, and throughput against latency.

use insta::assert_snapshot;
use larder_report::{
    Format, Ground, PointValue, Run, Style, charts, is_chart_id, render, samples_csv, svg,
};

use crate::made_up::connections::connections;
use crate::small::{PLAIN, gets};

/// The text between two marks.
fn section<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).unwrap_or_else(|| panic!("no `{from}` in {text}"));
    let length = text[start..].find(to).unwrap_or_else(|| panic!("no `{to}` in {text}"));
    text[start..start + length].trim_end()
}

#[test]
fn each_format_has_the_answers_of_the_connections() {
    let run = connections();
    for (name, width) in [("narrow", 80), ("wide", 160)] {
        let table = render(&run, Format::TABLE, Style { width, ..PLAIN });
        assert_snapshot!(
            format!("connections_table_{name}"),
            section(&table, "\nConnections\n", "\nWhat the figures say")
        );
    }
    let markdown = render(&run, Format::MARKDOWN, PLAIN);
    assert_snapshot!(
        "connections_markdown",
        section(&markdown, "### Connections", "### What the figures")
    );
    let page = render(&run, Format::HTML, PLAIN);
    let table = section(&page, "<h3 id=\"connections\">", "<ul class=\"legend-of-tables\">");
    assert_snapshot!("connections_html", table.replace("<tr>", "\n<tr>"));
}

#[test]
fn the_csv_has_every_figure_of_the_connections() {
    let run = connections();
    let read = |text: &str, column: &str| -> Vec<String> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let at = reader.headers().unwrap().iter().position(|head| head == column).unwrap();
        reader.records().map(|record| record.unwrap()[at].to_owned()).collect()
    };
    let cells = render(&run, Format::CSV, PLAIN);
    let known = |column: &str| {
        let mut all = read(&cells, column);
        all.retain(|text| !text.is_empty());
        all
    };
    assert_eq!(known("driven_connections").len(), 16, "two servers, two operations, four points");
    assert_eq!(known("driven_starved").iter().filter(|text| *text == "6").count(), 2);
    assert_eq!(known("idle_server_bytes_per_connection"), ["2310.4"]);
    assert_eq!(known("comers_connect_ns_p99"), ["192000", "192000"]);
    assert_eq!(read(&cells, "lost").iter().filter(|text| *text == "6").count(), 2);
    assert!(samples_csv(&run).lines().next().unwrap().contains(",driven_outstanding_mean,"));
}

#[test]
fn throughput_against_latency_has_a_mark_for_each_number_of_connections() {
    let all = charts(&connections());
    for percentile in ["p99", "p50"] {
        let id = format!("throughput-get-{percentile}");
        let chart = all.iter().find(|chart| chart.id == id).expect("a chart");
        assert!(is_chart_id(&chart.id));
        assert_eq!(chart.labels, "connections");
        let [memcached, redis] = &chart.series[..] else { panic!("{:#?}", chart.series) };
        assert_eq!(memcached.labels, ["1", "10", "50", "200"]);
        assert_eq!((redis.labels.len(), redis.x.len()), (4, 4));
        assert!(chart.absent[0].reason.starts_with("waits for the answer"), "{:?}", chart.absent);
        let picture = svg(chart, Ground::White);
        assert!(picture.contains(">200</text>") && picture.contains(percentile), "{picture}");
    }
    // With one number there is nothing to draw a line through.
    let mut run = connections();
    run.cells.retain(|cell| cell.point["connections"] == PointValue::Number(10));
    assert!(charts(&run).iter().all(|chart| !chart.id.starts_with("throughput")));
}

#[test]
fn a_pipeline_is_drawn_where_connections_are_not_swept() {
    let mut run = connections();
    for cell in &mut run.cells {
        let connections = cell.point.remove("connections").unwrap();
        cell.point.insert("pipeline".into(), connections);
    }
    let all = charts(&run);
    let chart = all.iter().find(|chart| chart.id == "throughput-set-p99").expect("a chart");
    assert_eq!(chart.labels, "pipeline");
    assert!(chart.reading.contains("one length of the pipeline"), "{}", chart.reading);
}

#[test]
fn a_run_with_a_connection_a_thread_says_nothing_of_connections() {
    let run: Run = gets(&[("moka:", 2e6)]);
    for format in [Format::TABLE, Format::MARKDOWN, Format::HTML] {
        let text = render(&run, format, PLAIN);
        let heading =
            if format == Format::HTML { "<h3 id=\"connections\">" } else { "Connections\n" };
        assert!(!text.contains(heading), "{format}: {text}");
    }
}

//! Connections in each format: their answers, idle ones and those that come and go, and throughput against latency.

use larder_report::{
    Format, Ground, PointValue, Run, Style, charts, is_chart_id, render, samples_csv, svg,
};

use crate::made_up::connections::connections;
use crate::small::{PLAIN, assert_lines, gets, section};

#[test]
fn each_format_has_the_answers_of_the_connections() {
    let run = connections();
    let narrow: &[&str] = &[
        "redis:          344 /s  2.75 k/s        6     6    86.1 %",
        "get, connections 200",
        "memcached:    3.05 k/s  3.38 k/s        0     0    86.1 %  2.26 KiB        2",
        "redis:          369 /s  2.95 k/s        6     6    86.1 %         –        2",
        "no room in 80 characters for answered/s most, outstanding mean, outstanding",
    ];
    let wide: &[&str] = &[
        "get, connections 200",
        "memcached:    3.05 k/s  3.38 k/s  3.72 k/s        0          196   200     0    86.1 %        0.88  2.26 KiB  99.8 /s        2  48.0 µs        388 µs",
        "redis:          369 /s  2.95 k/s  3.25 k/s        6          196   200     6    86.1 %        0.88         –  99.8 /s        2  48.0 µs        388 µs",
    ];
    for (width, lines) in [(80, narrow), (160, wide)] {
        let table = render(&run, Format::TABLE, Style { width, ..PLAIN });
        assert_lines(section(&table, "\nConnections\n", "\nWhat the figures say"), lines);
    }
    let markdown = render(&run, Format::MARKDOWN, PLAIN);
    let table = section(&markdown, "### Connections", "### What the figures");
    assert_lines(
        table,
        &[
            "| get, connections 200 | memcached: | 3.05 k/s | 3.38 k/s | 3.72 k/s | 0 | 196 | 200 | 0 | 86.1 % | 0.88 | 2.26 KiB | 99.8 /s | 2 | 48.0 µs | 388 µs |",
            "| get, connections 200 | redis: | 369 /s | 2.95 k/s | 3.25 k/s | 6 | 196 | 200 | 6 | 86.1 % | 0.88 | – | 99.8 /s | 2 | 48.0 µs | 388 µs |",
        ],
    );
    let page = render(&run, Format::HTML, PLAIN);
    let table = section(&page, "<h3 id=\"connections\">", "<ul class=\"legend-of-tables\">");
    assert_lines(
        &table.replace("<tr>", "\n<tr>"),
        &[
            "<tr><th scope=\"rowgroup\" colspan=\"15\">get, connections 200</th></tr>",
            "<tr><th scope=\"row\"><svg class=\"mark s1\" aria-hidden=\"true\"><use href=\"#mark-square\"></use></svg> redis:</th><td class=\"number\">369 /s</td><td class=\"number\">2.95 k/s</td><td class=\"number\">3.25 k/s</td><td class=\"number\">6</td><td class=\"number\">196</td><td class=\"number\">200</td><td class=\"number\">6</td><td class=\"number\">86.1 %</td><td class=\"number\">0.88</td><td class=\"number\">–</td><td class=\"number\">99.8 /s</td><td class=\"number\">2</td><td class=\"number\">48.0 µs</td><td class=\"number\">388 µs</td></tr></tbody></table></div><p class=\"key\">Answered: requests a second that a connection got answered: the least, the median and the most of all. Starved: connections with less than a third of the median's answers, in the median round. Outstanding: requests that were sent and had no answer yet, of all connections together. Lost: requests whose answer never came. Thread: the time for which the client's busiest thread had a processor; near 100 % it is the limit. Idle: the server's memory for each idle connection; – where it did not grow, or is not known. Connect and first answer: from the instant at which a connection was due until it was there, and until its read was answered.</p>",
        ],
    );
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

use std::time::Duration;

use super::*;

/// A sample this many seconds after `begin`.
pub(crate) fn sample(begin: Instant, second: u64, counters: &[(&str, &str)]) -> Sample {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Sample {
        at: begin + Duration::from_secs(second),
        counters: counters.iter().map(owned).collect(),
    }
}

fn figures(earlier: &[(&str, &str)], later: &[(&str, &str)]) -> Figures {
    let begin = Instant::now();
    Figures::of(Some(&sample(begin, 0, earlier)), &sample(begin, 2, later))
}

#[test]
fn rates_are_growth_in_a_second() {
    let earlier = [
        ("pid", "7"),
        ("uptime", "5"),
        ("rusage_user", "1.500000"),
        ("rusage_system", "0.500000"),
        ("cmd_get", "100"),
        ("cmd_set", "10"),
        ("cmd_meta", "1"),
        ("get_hits", "70"),
        ("get_misses", "30"),
        ("delete_hits", "0"),
        ("touch_misses", "4"),
        ("evictions", "0"),
    ];
    let later = [
        ("pid", "7"),
        ("uptime", "7"),
        ("rusage_user", "2.500000"),
        ("rusage_system", "1.000000"),
        ("cmd_get", "300"),
        ("cmd_set", "20"),
        ("cmd_meta", "501"),
        ("get_hits", "220"),
        ("get_misses", "80"),
        ("delete_hits", "6"),
        ("touch_misses", "8"),
        ("evictions", "1"),
        ("curr_items", "9"),
        ("bytes", "50"),
        ("limit_maxbytes", "200"),
        ("larder_latency_p99_us", "85"),
    ];
    let it = figures(&earlier, &later);
    assert_eq!((it.gets, it.sets, it.others), (Some(100.0), Some(5.0), Some(5.0)));
    assert_eq!((it.requests(), it.hit_rate()), (Some(110.0), Some(0.75)));
    assert_eq!((it.cpu, it.evictions), (Some(0.75), Some(0.5)));
    assert_eq!((it.up_s, it.items, it.fill()), (Some(7.0), Some(9.0), Some(0.25)));
    assert_eq!((it.p99_us, it.read_bytes), (Some(85.0), None));
}

#[test]
fn one_sample_has_levels_and_no_rates() {
    let later = sample(Instant::now(), 0, &[("cmd_get", "9"), ("curr_items", "3")]);
    let it = Figures::of(None, &later);
    assert_eq!((it.gets, it.requests(), it.items), (None, None, Some(3.0)));
}

#[test]
fn counters_that_begin_anew_give_no_rates() {
    let earlier = [("pid", "7"), ("uptime", "50"), ("cmd_get", "100"), ("bytes_read", "9")];
    let restarted = [("pid", "8"), ("uptime", "90"), ("cmd_get", "500"), ("bytes_read", "99")];
    let younger = [("pid", "7"), ("uptime", "1"), ("cmd_get", "500"), ("bytes_read", "99")];
    // Another counter has passed its old value again.
    let reset = [("pid", "7"), ("uptime", "51"), ("cmd_get", "500"), ("bytes_read", "3")];
    for later in [restarted, younger, reset] {
        let it = figures(&earlier, &later);
        assert_eq!((it.requests(), it.read_bytes), (None, None), "{later:?}");
        assert!(it.up_s.is_some());
        let begin = Instant::now();
        assert!(growths(&sample(begin, 0, &earlier), &sample(begin, 2, &later)).is_empty());
    }
}

#[test]
fn two_samples_at_one_moment_give_no_rates() {
    let at = Instant::now();
    let [earlier, later] = ["1", "2"].map(|value| sample(at, 0, &[("cmd_get", value)]));
    assert_eq!(Figures::of(Some(&earlier), &later).gets, None);
}

#[test]
fn no_reads_have_no_hit_rate_and_no_limit_has_no_fill() {
    let counters = [("get_hits", "5"), ("get_misses", "5"), ("bytes", "5")];
    let mut later = counters.to_vec();
    later.push(("limit_maxbytes", "0"));
    let it = figures(&counters, &later);
    assert_eq!((it.hits, it.hit_rate(), it.fill()), (Some(0.0), None, None));
}

#[test]
fn a_total_weighs_hits_by_their_number_and_skips_the_unknown() {
    let one = Figures { hits: Some(90.0), misses: Some(10.0), gets: Some(100.0), ..<_>::default() };
    let two = Figures { hits: Some(0.0), misses: Some(900.0), gets: Some(900.0), ..<_>::default() };
    let all = [one, two, Figures::default()];
    let it = Figures::total(&all);
    assert_eq!((it.gets, it.hit_rate(), it.sets), (Some(1000.0), Some(0.09), None));
    assert_eq!(Figures::total(&[]), Figures::default());
}

#[test]
fn a_total_has_a_limit_where_each_server_has_one() {
    let of = |bytes, limit_bytes| Figures { bytes, limit_bytes, ..Figures::default() };
    let (one, two) = (of(Some(5.0), Some(10.0)), of(Some(9.0), Some(10.0)));
    assert_eq!(Figures::total(&[one, two, of(None, None)]).fill(), Some(0.7));
    assert_eq!(Figures::total(&[one, of(Some(9.0), None)]).fill(), None);
}

#[test]
fn a_version_has_larders_own_behind_it() {
    let at = Instant::now();
    let of = |counters| sample(at, 0, counters).version();
    assert_eq!(of(&[("version", "1.6.18")]), "1.6.18");
    assert_eq!(of(&[("version", "1.6.39"), ("larder_version", "0.1.0")]), "1.6.39-larder-0.1.0");
}

#[test]
fn words_are_no_numbers() {
    let sample =
        sample(Instant::now(), 0, &[("a", "inf"), ("b", "1.6.18"), ("c", ""), ("d", "-2")]);
    assert_eq!(
        ["a", "b", "c", "d"].map(|name| sample.number(name)),
        [None, None, None, Some(-2.0)]
    );
}

#[test]
fn growths_have_a_sign_and_leave_clocks_and_latencies_out() {
    let begin = Instant::now();
    let latency = "larder_latency_p99_us";
    let earlier = [("time", "1"), ("curr_items", "9"), ("threads", "4"), (latency, "1")];
    let later = [("time", "3"), ("curr_items", "5"), ("threads", "4"), (latency, "2")];
    let it = growths(&sample(begin, 0, &earlier), &sample(begin, 2, &later));
    let it: Vec<_> = it.iter().map(|it| (it.name.as_str(), it.rate)).collect();
    assert_eq!(it, [("curr_items", -2.0), ("threads", 0.0)]);
}

//! The contract against the stores that break it: each fault must be found, and an honest store must pass.

use larder_store::{SetOptions, StoreUrl};

use super::ENGINES;
use crate::{Outcome, judge};

/// The first promise of every store.
const PLAIN: &str = "set_then_get_returns_the_value";
/// The case of many operations, which most faults break.
const RANDOM: &str = "random_operations_agree_with_a_map";

/// The cases that fail, among these or, without names, among all.
fn failures(url: &str, cases: &[&str]) -> Vec<&'static str> {
    let reports = judge(&ENGINES, url, cases);
    assert!(reports.iter().any(|report| report.outcome == Outcome::Ok), "{reports:?}");
    let failed = reports.iter().filter(|report| matches!(report.outcome, Outcome::Failed(_)));
    failed.map(|report| report.case).collect()
}

#[test]
fn an_honest_store_passes_every_case() {
    for report in judge(&ENGINES, "map:", &[]) {
        assert!(!matches!(report.outcome, Outcome::Failed(_)), "{report:?}");
    }
}

#[test]
fn slow_stores_are_not_wrong() {
    assert_eq!(failures("faulty:?fault=sleep&micros=1", &[]), [""; 0]);
    assert_eq!(failures("faulty:?fault=spin&micros=1", &[]), [""; 0]);
}

#[test]
fn the_contract_finds_each_fault() {
    let faulty = [
        "faulty:?fault=drop",
        "faulty:?fault=truncate",
        "faulty:?fault=flip-bit",
        "faulty:?fault=swap-values",
        "faulty:?fault=keep-old-value",
        "faulty:?fault=keep-deleted",
        "faulty:?fault=fail",
        "faulty:?fault=miss",
    ];
    std::thread::scope(|scope| {
        for (url, judged) in faulty.map(|url| (url, scope.spawn(move || failures(url, &[])))) {
            let failed = judged.join().unwrap();
            assert!(failed.contains(&RANDOM), "{url}: {failed:?}");
            assert!(failed.len() > 1, "{url}: {failed:?}");
        }
    });
}

#[test]
fn the_contract_finds_a_ttl_that_is_not_kept() {
    let cases = ["an_entry_is_there_until_its_ttl_has_passed_and_then_is_gone", PLAIN];
    for url in ["faulty:?fault=keep-expired", "faulty:?fault=short-ttl"] {
        assert_eq!(failures(url, &cases), [cases[0]], "{url}");
    }
}

#[test]
fn the_contract_finds_each_fault_of_one_operation_and_no_other() {
    let faulty = [
        ("faulty:?fault=old-version", "a_set_tells_the_version_that_it_made"),
        ("faulty:?fault=add-to-initial", "incr_of_an_absent_key_stores_the_initial_number"),
        ("faulty:?fault=count-twice", "incr_loses_no_count_of_many_threads"),
        (
            "faulty:?fault=lose-count",
            "pipelined_counts_are_carried_out_in_order_among_other_requests",
        ),
        ("faulty:?fault=ignore-version", "delete_if_removes_the_entry_with_its_version_alone"),
        ("faulty:?fault=reverse-outcomes", "set_many_stores_each_entry_and_tells_so_in_order"),
        ("faulty:?fault=keep-ttl", "get_and_touch_reads_the_value_and_renews_its_ttl"),
        ("faulty:?fault=lease-to-all", "of_many_who_miss_at_once_one_is_told_to_load"),
        ("faulty:?fault=lease-to-all", "of_many_who_find_a_stale_value_one_is_told_to_load"),
        ("faulty:?fault=ignore-token", "a_change_of_the_key_makes_its_token_void"),
        ("faulty:?fault=ignore-token", "expire_makes_older_tokens_void"),
        ("faulty:?fault=ignore-expire", "an_expired_entry_is_stale_for_every_read"),
        ("faulty:?fault=lease-late", "one_caller_loads_an_entry_that_ends_soon"),
        ("faulty:?fault=keep-lease", "a_lease_ends_with_its_time_and_another_caller_loads"),
        ("faulty:?fault=swap-tokens", "a_batch_of_fills_stores_each_value_whose_token_holds"),
        (
            "faulty:?fault=ignore-batch-tokens",
            "a_batch_of_fills_stores_each_value_whose_token_holds",
        ),
        ("faulty:?fault=ignore-batch-tokens", "a_batch_of_releases_lets_the_next_callers_load"),
    ];
    std::thread::scope(|scope| {
        for (url, case) in faulty {
            scope.spawn(move || assert_eq!(failures(url, &[case, PLAIN]), [case], "{url}"));
        }
    });
}

#[test]
fn the_contract_finds_each_fault_of_groups_and_no_other() {
    let faulty = [
        ("faulty:?fault=keep-tag", "a_plain_set_takes_the_tag_away"),
        // The fault leaves out every tenth tag, which a case of few entries may miss.
        ("faulty:?fault=lose-tag", "a_group_of_a_thousand_is_found_and_removed_whole"),
        ("faulty:?fault=misplace-entry", "a_prefix_finds_exactly_the_keys_that_begin_with_it"),
        ("faulty:?fault=short-prefix", "a_prefix_finds_exactly_the_keys_that_begin_with_it"),
    ];
    let of_tags = "delete_tag_removes_and_counts_its_own_entries";
    for (url, case) in faulty {
        let failed = failures(url, &[case, of_tags, RANDOM, PLAIN]);
        assert!(failed.contains(&case) && failed.contains(&RANDOM), "{url}: {failed:?}");
        assert!(failed.contains(&of_tags) || url == "faulty:?fault=keep-tag", "{url}: {failed:?}");
        assert!(!failed.contains(&PLAIN), "{url}: {failed:?}");
    }
}

#[test]
fn the_contract_finds_each_fault_of_a_pipeline_and_no_other() {
    let faulty = [
        ("faulty:?fault=reorder", "many_changes_of_a_few_keys_are_read_as_they_were_sent"),
        ("faulty:?fault=swap-answers", "a_thousand_mixed_requests_have_one_last_answer_each"),
        ("faulty:?fault=lose-answer", "a_thousand_mixed_requests_have_one_last_answer_each"),
        ("faulty:?fault=repeat-answer", "a_thousand_mixed_requests_have_one_last_answer_each"),
        ("faulty:?fault=stop-at-error", "a_pipelined_key_that_is_too_long_fails_alone"),
    ];
    for (url, case) in faulty {
        assert_eq!(failures(url, &[case, RANDOM, PLAIN]), [case], "{url}");
    }
}

#[test]
fn a_case_beyond_an_engines_abilities_is_ignored_with_its_reason() {
    let beyond = [
        "a_value_beyond_the_limit_is_an_error_that_names_it",
        "a_store_of_nothing_answers_every_operation_of_a_plan",
    ];
    let reports = judge(&ENGINES, "map:", &beyond);
    let of = |case: &str| reports.iter().find(|report| report.case == case).cloned();
    let limit = of(beyond[0]).unwrap();
    assert_eq!(limit.outcome, Outcome::Ignored("no value limit below 256 MiB".into()));
    let nothing = of(beyond[1]).unwrap();
    assert_eq!(nothing.outcome, Outcome::Ignored("keeps entries".into()));
}

#[test]
fn a_fault_comes_as_often_as_its_options_say() {
    let open = |url: &str| ENGINES.open(&StoreUrl::parse(url).unwrap());
    let mut session = open("faulty:?fault=drop&every=3").unwrap().session().unwrap();
    let mut found = 0;
    for i in 0..30_u8 {
        session.set(&[i], b"value", &SetOptions::default()).unwrap();
        found += usize::from(session.get(&[i], &mut Vec::new()).unwrap().is_some());
    }
    assert_eq!(found, 20);
    let error = |url: &str| open(url).unwrap_err().to_string();
    assert_eq!(
        error("faulty:?fault=drop&every=0"),
        "faulty: option `every`: `0` is not a whole number from 1"
    );
    assert_eq!(
        error("faulty:?fault=miss&every=2"),
        "faulty: option `every`: the fault `miss` does not take it"
    );
    let unknown = error("faulty:?fault=drops");
    assert!(
        unknown.starts_with("faulty: option `fault`: `drops` is not one of drop, truncate, "),
        "{unknown}"
    );
}

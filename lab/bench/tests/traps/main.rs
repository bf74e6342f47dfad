//! Servers that misbehave, each compared with a sound server: the first attempts of a hostile user.
//!
//! Each test is one server (`larder_testkit::traps`) under the default plan and two others, and some under one more
//! that brings the fault to light. The test states the expected findings, plan by plan. Every run must also spare the
//! sound server. No finding is against it, it is ranked wherever it was measured, and no invalid figure is compared
//! with it.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod expected;
#[path = "../support/mod.rs"]
mod support;

use std::process::ExitCode;

use larder_report::Operation::{self, Delete, Get, GetMany, GetOrSet, Set, Touch};
use larder_testkit::{nightly, trial};
use libtest_mimic::Arguments;

use Expected::{Failing, Found, Lost, Nothing};
use expected::{Expected, judge};

/// Each key is set once and read once: Larder's default.
const DEFAULT: &str = "keys = 100";
/// Keys are overwritten, deleted and read in turn.
const MIXED: &str = "keys = 100\nratio = '1:3:1'\nrequests = 600";
/// All keys are set, then all are deleted, then all are read.
const PHASES: &str = "keys = 100\noperations = 'set,delete,get'";
/// Each request reads several keys.
const MANY: &str = "keys = 100\nmultiget = 10";
/// Keys that miss are stored.
const FILL: &str = "keys = 100\non-miss = 'fill'\nrequests = 600";
/// Entries expire, though not while they are read.
const MORTAL: &str = "keys = 100\nttl = '1h'";
/// The same, and a touch renews the TTL of each entry.
const TOUCHED: &str = "keys = 100\nttl = '1h'\noperations = 'set,touch,get'";

/// Entries expire while they are still read.
const ENDING: &str = "keys = 100\nttl = '1s'\nduration = '3s'";

/// The operations of [`DEFAULT`].
const BOTH: &[Operation] = &[Set, Get];
/// The operations of [`MIXED`] and of [`PHASES`].
const ALL: &[Operation] = &[Set, Get, Delete];

const TRIALS: &[(&str, fn())] = &[
    ("a_sound_server_is_found_sound", a_sound_server_is_found_sound),
    (
        "a_server_that_ignores_deletes_is_stale_and_not_emptied",
        a_server_that_ignores_deletes_is_stale_and_not_emptied,
    ),
    (
        "a_server_that_carries_out_every_second_delete_is_found_out_too",
        a_server_that_carries_out_every_second_delete_is_found_out_too,
    ),
    ("a_server_that_keeps_the_first_value_is_stale", a_server_that_keeps_the_first_value_is_stale),
    (
        "a_server_that_refuses_to_overwrite_has_its_errors_told",
        a_server_that_refuses_to_overwrite_has_its_errors_told,
    ),
    (
        "a_server_that_falls_silent_at_the_first_overwrite_is_lost",
        a_server_that_falls_silent_at_the_first_overwrite_is_lost,
    ),
    (
        "a_server_that_keeps_the_first_ttl_of_a_key_fails_the_trial_of_ttls",
        a_server_that_keeps_the_first_ttl_of_a_key_fails_the_trial_of_ttls,
    ),
    (
        "a_server_that_fails_touches_and_ignores_ttls_fails_their_trial",
        a_server_that_fails_touches_and_ignores_ttls_fails_their_trial,
    ),
    (
        "a_server_that_forgets_some_sets_drops_silently",
        a_server_that_forgets_some_sets_drops_silently,
    ),
    (
        "a_server_that_reports_forgotten_sets_as_evictions_is_stopped_as_an_evicting_server",
        a_server_that_reports_forgotten_sets_as_evictions_is_stopped_as_an_evicting_server,
    ),
    (
        "a_server_that_acknowledges_before_it_has_read_the_value_drops_silently",
        a_server_that_acknowledges_before_it_has_read_the_value_drops_silently,
    ),
    ("a_server_that_stores_nothing_never_hits", a_server_that_stores_nothing_never_hits),
    (
        "a_server_that_is_right_until_it_is_full_drops_silently",
        a_server_that_is_right_until_it_is_full_drops_silently,
    ),
    ("a_server_that_restarts_drops_silently", a_server_that_restarts_drops_silently),
    (
        "a_server_that_misses_entries_it_has_drops_silently",
        a_server_that_misses_entries_it_has_drops_silently,
    ),
    (
        "a_server_that_leaves_keys_out_of_a_request_for_several_hits_less_than_planned",
        a_server_that_leaves_keys_out_of_a_request_for_several_hits_less_than_planned,
    ),
    ("a_server_that_flips_bits_damages_values", a_server_that_flips_bits_damages_values),
    ("a_server_that_appends_to_values_damages_them", a_server_that_appends_to_values_damages_them),
    ("a_server_that_cuts_values_truncates", a_server_that_cuts_values_truncates),
    (
        "a_server_that_swaps_values_answers_for_another_key",
        a_server_that_swaps_values_answers_for_another_key,
    ),
    (
        "a_server_that_takes_the_keys_of_several_namespaces_for_one_answers_for_another_key",
        a_server_that_takes_the_keys_of_several_namespaces_for_one_answers_for_another_key,
    ),
    (
        "a_server_that_lags_behind_its_updates_is_stale",
        a_server_that_lags_behind_its_updates_is_stale,
    ),
    ("a_server_that_carries_sets_out_late_is_stale", a_server_that_carries_sets_out_late_is_stale),
    (
        "a_server_that_has_deleted_entries_back_is_stale_and_not_emptied",
        a_server_that_has_deleted_entries_back_is_stale_and_not_emptied,
    ),
    (
        "a_server_that_has_deleted_entries_back_later_is_not_emptied",
        a_server_that_has_deleted_entries_back_later_is_not_emptied,
    ),
    (
        "a_server_that_misses_some_entries_just_set_hits_less_than_it_must",
        a_server_that_misses_some_entries_just_set_hits_less_than_it_must,
    ),
    (
        "a_server_whose_reads_renew_a_ttl_fails_the_trial_of_ttls",
        a_server_whose_reads_renew_a_ttl_fails_the_trial_of_ttls,
    ),
    (
        "a_server_that_forgets_ttls_while_it_holds_much_is_found_out_by_later_reads",
        a_server_that_forgets_ttls_while_it_holds_much_is_found_out_by_later_reads,
    ),
    (
        "a_server_that_denies_keys_that_are_touched_hits_less_than_it_must",
        a_server_that_denies_keys_that_are_touched_hits_less_than_it_must,
    ),
    (
        "a_server_that_denies_keys_that_are_deleted_hits_less_than_it_must",
        a_server_that_denies_keys_that_are_deleted_hits_less_than_it_must,
    ),
    ("a_server_that_ignores_ttls_fails_their_trial", a_server_that_ignores_ttls_fails_their_trial),
    (
        "a_server_whose_clock_runs_twice_as_fast_fails_the_trial_of_ttls",
        a_server_whose_clock_runs_twice_as_fast_fails_the_trial_of_ttls,
    ),
    (
        "a_server_that_ignores_touches_fails_the_trial_of_ttls",
        a_server_that_ignores_touches_fails_the_trial_of_ttls,
    ),
    (
        "a_server_that_ignores_a_flush_is_never_asked_for_one",
        a_server_that_ignores_a_flush_is_never_asked_for_one,
    ),
    ("a_server_that_stalls_has_its_stalls_told", a_server_that_stalls_has_its_stalls_told),
    (
        "a_server_that_closes_connections_has_its_errors_told",
        a_server_that_closes_connections_has_its_errors_told,
    ),
    ("a_server_that_falls_silent_is_lost", a_server_that_falls_silent_is_lost),
    (
        "a_server_that_answers_garbage_has_its_errors_told",
        a_server_that_answers_garbage_has_its_errors_told,
    ),
    (
        "a_server_that_names_another_key_has_its_errors_told",
        a_server_that_names_another_key_has_its_errors_told,
    ),
    (
        "a_proxy_that_answers_from_another_connection_has_its_errors_told",
        a_proxy_that_answers_from_another_connection_has_its_errors_told,
    ),
    (
        "a_server_that_ends_answers_twice_has_its_errors_told",
        a_server_that_ends_answers_twice_has_its_errors_told,
    ),
    ("a_server_that_changes_flags_damages_values", a_server_that_changes_flags_damages_values),
    (
        "a_server_whose_replicas_still_have_deleted_entries_is_stale",
        a_server_whose_replicas_still_have_deleted_entries_is_stale,
    ),
    (
        "a_server_that_carries_sets_out_a_little_later_is_stale_without_a_mix_too",
        a_server_that_carries_sets_out_a_little_later_is_stale_without_a_mix_too,
    ),
    (
        "a_server_with_a_shard_that_keeps_nothing_drops_in_silence",
        a_server_with_a_shard_that_keeps_nothing_drops_in_silence,
    ),
    (
        "a_server_that_keeps_large_values_for_ever_fails_the_trial_of_ttls",
        a_server_that_keeps_large_values_for_ever_fails_the_trial_of_ttls,
    ),
    (
        "a_server_that_keeps_only_the_largest_values_for_ever_fails_the_trial_of_ttls",
        a_server_that_keeps_only_the_largest_values_for_ever_fails_the_trial_of_ttls,
    ),
    (
        "a_server_that_keeps_entries_with_long_keys_for_ever_fails_the_trial_of_ttls",
        a_server_that_keeps_entries_with_long_keys_for_ever_fails_the_trial_of_ttls,
    ),
    (
        "a_server_that_never_prolongs_large_values_fails_the_trial_of_ttls",
        a_server_that_never_prolongs_large_values_fails_the_trial_of_ttls,
    ),
    (
        "a_server_that_answers_several_keys_from_copies_is_stale",
        a_server_that_answers_several_keys_from_copies_is_stale,
    ),
    (
        "a_server_that_answers_ended_entries_together_fails_the_trial_of_ttls",
        a_server_that_answers_ended_entries_together_fails_the_trial_of_ttls,
    ),
    (
        "a_server_whose_clock_ticks_once_a_second_may_end_an_entry_a_second_early",
        a_server_whose_clock_ticks_once_a_second_may_end_an_entry_a_second_early,
    ),
    ("a_server_that_forgets_flags_damages_values", a_server_that_forgets_flags_damages_values),
    (
        "a_server_that_keeps_large_values_outlives_their_ttl_where_they_are_set_and_read_in_turn",
        a_server_that_keeps_large_values_outlives_their_ttl_where_they_are_set_and_read_in_turn,
    ),
];

fn main() -> ExitCode {
    let trials = TRIALS.iter().map(|(name, run)| trial(name, *run));
    libtest_mimic::run(&Arguments::from_args(), nightly(trials).collect()).exit_code()
}

fn a_sound_server_is_found_sound() {
    judge("honest", &[(DEFAULT, Nothing), (MIXED, Nothing), (PHASES, Nothing)]);
    judge("honest", &[(FILL, Nothing), (MANY, Nothing), (MORTAL, Nothing), (TOUCHED, Nothing)]);
}

fn a_server_that_ignores_deletes_is_stale_and_not_emptied() {
    judge(
        "nodelete",
        &[
            (DEFAULT, Found(&["NOT-EMPTIED"], BOTH)),
            (MIXED, Found(&["STALE", "NOT-EMPTIED"], ALL)),
            (PHASES, Found(&["STALE", "NOT-EMPTIED"], ALL)),
        ],
    );
}

fn a_server_that_carries_out_every_second_delete_is_found_out_too() {
    judge(
        "halfdelete",
        &[
            (DEFAULT, Found(&["NOT-EMPTIED"], BOTH)),
            (MIXED, Found(&["STALE", "NOT-EMPTIED"], ALL)),
            (PHASES, Found(&["STALE"], &[Delete, Get])),
        ],
    );
}

fn a_server_that_keeps_the_first_value_is_stale() {
    judge(
        "keepfirst",
        &[
            // The plan sets each key once; the read-back sets some again.
            (DEFAULT, Found(&["STALE"], BOTH)),
            (MIXED, Found(&["STALE"], &[Get])),
            // The read-back reads keys, and sets them again, before the deletes.
            (PHASES, Found(&["STALE"], &[Set, Get])),
            (FILL, Found(&["STALE"], &[GetOrSet])),
        ],
    );
}

fn a_server_that_refuses_to_overwrite_has_its_errors_told() {
    judge(
        "refuse",
        &[
            (DEFAULT, Found(&["ERR-AS-OP"], &[Set])),
            (MIXED, Found(&["ERR-AS-OP"], &[Set])),
            (PHASES, Found(&["ERR-AS-OP"], &[Set])),
            (FILL, Found(&["ERR-AS-OP"], &[GetOrSet])),
        ],
    );
}

fn a_server_that_falls_silent_at_the_first_overwrite_is_lost() {
    judge(
        "hangover",
        &[
            (DEFAULT, Lost("no answer within 1000 ms from 127.0.0.1:")),
            (MIXED, Lost("no answer within 1000 ms from 127.0.0.1:")),
            (PHASES, Lost("no answer within 1000 ms from 127.0.0.1:")),
        ],
    );
}

fn a_server_that_keeps_the_first_ttl_of_a_key_fails_the_trial_of_ttls() {
    judge(
        "keepttl",
        &[(DEFAULT, Nothing), (PHASES, Nothing), (MORTAL, Found(&["TTL-TRUTH"], BOTH))],
    );
}

fn a_server_that_fails_touches_and_ignores_ttls_fails_their_trial() {
    judge(
        "failtouch",
        &[(DEFAULT, Nothing), (PHASES, Nothing), (MORTAL, Found(&["TTL-TRUTH"], BOTH))],
    );
}

fn a_server_that_forgets_some_sets_drops_silently() {
    judge(
        "dropset",
        &[
            (DEFAULT, Found(&["SILENT-DROP"], BOTH)),
            (MIXED, Found(&["SILENT-DROP"], &[Set, Get])),
            (PHASES, Found(&["SILENT-DROP"], &[Set, Get])),
        ],
    );
}

fn a_server_that_reports_forgotten_sets_as_evictions_is_stopped_as_an_evicting_server() {
    judge(
        "excuse",
        &[
            (DEFAULT, Found(&["CAPACITY"], BOTH)),
            (MIXED, Found(&["CAPACITY"], &[Set])),
            (PHASES, Found(&["CAPACITY"], &[Set])),
        ],
    );
}

fn a_server_that_acknowledges_before_it_has_read_the_value_drops_silently() {
    judge(
        "earlyack",
        &[
            (DEFAULT, Found(&["SILENT-DROP"], BOTH)),
            (MIXED, Found(&["SILENT-DROP"], &[Set, Get])),
            (PHASES, Found(&["SILENT-DROP"], &[Set, Get])),
        ],
    );
}

fn a_server_that_stores_nothing_never_hits() {
    judge(
        "neverstore",
        &[
            (DEFAULT, Found(&["SILENT-DROP", "NEVER-HITS"], BOTH)),
            (MIXED, Found(&["NEVER-HITS"], &[Get])),
            (PHASES, Found(&["SILENT-DROP"], &[Set, Get])),
            (FILL, Found(&["SILENT-DROP", "NEVER-HITS"], &[GetOrSet])),
        ],
    );
}

fn a_server_that_is_right_until_it_is_full_drops_silently() {
    judge(
        "full",
        &[
            (DEFAULT, Found(&["SILENT-DROP"], BOTH)),
            (MIXED, Found(&["SILENT-DROP"], &[Set, Get])),
            (PHASES, Found(&["SILENT-DROP"], &[Set, Get])),
            (FILL, Found(&["SILENT-DROP"], &[GetOrSet])),
        ],
    );
}

fn a_server_that_restarts_drops_silently() {
    judge(
        "restart",
        &[
            (DEFAULT, Found(&["SILENT-DROP"], BOTH)),
            (MIXED, Found(&["SILENT-DROP"], &[Set, Get])),
            (PHASES, Found(&["SILENT-DROP"], &[Set, Get])),
        ],
    );
}

fn a_server_that_misses_entries_it_has_drops_silently() {
    judge(
        "miss",
        &[
            (DEFAULT, Found(&["SILENT-DROP"], BOTH)),
            (MIXED, Found(&["SILENT-DROP"], &[Set, Get])),
            (PHASES, Found(&["SILENT-DROP"], &[Set, Get])),
        ],
    );
}

fn a_server_that_leaves_keys_out_of_a_request_for_several_hits_less_than_planned() {
    judge(
        "partial",
        &[
            (DEFAULT, Nothing),
            (MIXED, Nothing),
            (PHASES, Nothing),
            (MANY, Found(&["NEVER-HITS"], &[])),
        ],
    );
}

fn a_server_that_flips_bits_damages_values() {
    judge(
        "wrong",
        &[
            (DEFAULT, Found(&["DAMAGED"], BOTH)),
            (MIXED, Found(&["DAMAGED"], &[Get])),
            // The read-back reads keys that the plan does not read.
            (PHASES, Found(&["DAMAGED"], &[Set, Get])),
        ],
    );
}

fn a_server_that_appends_to_values_damages_them() {
    judge(
        "tail",
        &[
            (DEFAULT, Found(&["DAMAGED"], BOTH)),
            (MIXED, Found(&["DAMAGED"], &[Get])),
            (PHASES, Found(&["DAMAGED"], &[Set, Get])),
        ],
    );
}

fn a_server_that_cuts_values_truncates() {
    judge(
        "trunc",
        &[
            (DEFAULT, Found(&["TRUNCATED"], BOTH)),
            (MIXED, Found(&["TRUNCATED"], &[Get])),
            (PHASES, Found(&["TRUNCATED"], &[Set, Get])),
        ],
    );
}

fn a_server_that_swaps_values_answers_for_another_key() {
    judge(
        "swap",
        &[
            (DEFAULT, Found(&["OTHER-KEY"], BOTH)),
            (MIXED, Found(&["OTHER-KEY"], &[Get])),
            (PHASES, Found(&["OTHER-KEY"], &[Set, Get])),
            (MANY, Found(&["OTHER-KEY"], &[Set, GetMany])),
        ],
    );
}

fn a_server_that_takes_the_keys_of_several_namespaces_for_one_answers_for_another_key() {
    judge(
        "namespace",
        &[
            (DEFAULT, Found(&["OTHER-KEY"], BOTH)),
            (MIXED, Found(&["OTHER-KEY"], &[Get])),
            (PHASES, Found(&["OTHER-KEY"], &[Set, Get])),
        ],
    );
}

fn a_server_that_lags_behind_its_updates_is_stale() {
    judge(
        "old",
        &[
            (DEFAULT, Found(&["STALE"], BOTH)),
            (MIXED, Found(&["STALE"], &[Get])),
            (PHASES, Found(&["STALE"], &[Set, Get])),
        ],
    );
}

fn a_server_that_carries_sets_out_late_is_stale() {
    judge(
        "late",
        &[
            (DEFAULT, Found(&["STALE"], BOTH)),
            (MIXED, Found(&["STALE"], &[Get])),
            // The read-back comes before any set is visible.
            (PHASES, Found(&["SILENT-DROP"], &[Set, Get])),
        ],
    );
}

fn a_server_that_has_deleted_entries_back_is_stale_and_not_emptied() {
    // Keys that the emptying check reads are there again before the next turn.
    judge(
        "undead",
        &[
            (DEFAULT, Found(&["NOT-EMPTIED"], BOTH)),
            (MIXED, Found(&["STALE", "NOT-EMPTIED"], &[Get])),
            (PHASES, Found(&["STALE"], &[Delete, Get])),
        ],
    );
}

fn a_server_that_has_deleted_entries_back_later_is_not_emptied() {
    judge(
        "zombie",
        &[
            (DEFAULT, Found(&["NOT-EMPTIED"], BOTH)),
            (MIXED, Found(&["NOT-EMPTIED"], ALL)),
            (PHASES, Found(&["NOT-EMPTIED"], ALL)),
        ],
    );
}

fn a_server_that_misses_some_entries_just_set_hits_less_than_it_must() {
    // Each plan but the mix sets all keys before it reads any.
    judge(
        "afterset",
        &[
            // The read-back reads some keys as soon as it has set them.
            (DEFAULT, Found(&["SILENT-DROP"], BOTH)),
            (PHASES, Found(&["SILENT-DROP"], &[Set, Get])),
            (MIXED, Found(&["NEVER-HITS"], &[])),
        ],
    );
}

fn a_server_whose_reads_renew_a_ttl_fails_the_trial_of_ttls() {
    judge(
        "sliding",
        &[(DEFAULT, Nothing), (PHASES, Nothing), (MORTAL, Found(&["TTL-TRUTH"], BOTH))],
    );
}

fn a_server_that_forgets_ttls_while_it_holds_much_is_found_out_by_later_reads() {
    judge(
        "fewttl",
        &[(DEFAULT, Nothing), (PHASES, Nothing), (ENDING, Found(&["TTL-TRUTH"], BOTH))],
    );
}

fn a_server_that_denies_keys_that_are_touched_hits_less_than_it_must() {
    judge(
        "touchmiss",
        &[(DEFAULT, Nothing), (PHASES, Nothing), (TOUCHED, Found(&["NEVER-HITS"], &[]))],
    );
}

fn a_server_that_denies_keys_that_are_deleted_hits_less_than_it_must() {
    judge(
        "deletemiss",
        &[
            (DEFAULT, Nothing),
            (MIXED, Found(&["NEVER-HITS"], &[])),
            (PHASES, Found(&["NEVER-HITS"], &[])),
        ],
    );
}

fn a_server_that_ignores_ttls_fails_their_trial() {
    judge(
        "nottl",
        &[
            // No workload without a TTL depends on one.
            (DEFAULT, Nothing),
            (MIXED, Nothing),
            (PHASES, Nothing),
            (MORTAL, Found(&["TTL-TRUTH"], BOTH)),
        ],
    );
}

fn a_server_whose_clock_runs_twice_as_fast_fails_the_trial_of_ttls() {
    judge(
        "fastclock",
        &[
            (DEFAULT, Nothing),
            (MIXED, Nothing),
            (PHASES, Nothing),
            (MORTAL, Found(&["TTL-TRUTH"], BOTH)),
        ],
    );
}

fn a_server_that_ignores_touches_fails_the_trial_of_ttls() {
    judge(
        "notouch",
        &[
            (DEFAULT, Nothing),
            (MIXED, Nothing),
            (PHASES, Nothing),
            (MORTAL, Found(&["TTL-TRUTH"], BOTH)),
            (TOUCHED, Found(&["TTL-TRUTH"], &[Set, Touch, Get])),
        ],
    );
}

fn a_server_that_ignores_a_flush_is_never_asked_for_one() {
    judge("noflush", &[(DEFAULT, Nothing), (MIXED, Nothing), (PHASES, Nothing)]);
}

fn a_server_that_stalls_has_its_stalls_told() {
    // A stall is slow and not wrong, so the target stays in the ranking.
    judge(
        "stall",
        &[
            (DEFAULT, Found(&["EXCLUDED-TIME"], &[])),
            (MIXED, Found(&["EXCLUDED-TIME"], &[])),
            (PHASES, Found(&["EXCLUDED-TIME"], &[])),
        ],
    );
}

fn a_server_that_closes_connections_has_its_errors_told() {
    judge(
        "close",
        &[
            (DEFAULT, Failing("closed the connection")),
            (MIXED, Failing("closed the connection")),
            (PHASES, Failing("closed the connection")),
        ],
    );
}

fn a_server_that_falls_silent_is_lost() {
    judge(
        "hang",
        &[
            (DEFAULT, Lost("no answer within 1000 ms from 127.0.0.1:")),
            (MIXED, Lost("no answer within 1000 ms from 127.0.0.1:")),
            (PHASES, Lost("no answer within 1000 ms from 127.0.0.1:")),
        ],
    );
}

fn a_server_that_answers_garbage_has_its_errors_told() {
    judge(
        "garbage",
        &[
            (DEFAULT, Failing(r"\x07\xffgarbage 0 0")),
            (MIXED, Failing(r"\x07\xffgarbage 0 0")),
            (PHASES, Failing(r"\x07\xffgarbage 0 0")),
        ],
    );
}

fn a_server_that_names_another_key_has_its_errors_told() {
    judge(
        "otherkey",
        &[
            (DEFAULT, Failing("not an answer to `get`: VALUE larder:")),
            (MIXED, Failing("not an answer to `get`: VALUE larder:")),
            (PHASES, Failing("not an answer to `get`: VALUE larder:")),
        ],
    );
}

fn a_proxy_that_answers_from_another_connection_has_its_errors_told() {
    let two = |plan: &str| format!("{plan}\nthreads = 2");
    judge(
        "crossed",
        &[
            (&two(DEFAULT), Failing("not an answer to `get`: VALUE larder:")),
            (&two(MIXED), Failing("not an answer to `get`: VALUE larder:")),
            (&two(PHASES), Failing("not an answer to `get`: VALUE larder:")),
        ],
    );
}

fn a_server_that_ends_answers_twice_has_its_errors_told() {
    judge(
        "twice",
        &[
            (DEFAULT, Failing("an answer without a request: END")),
            (MIXED, Failing("an answer without a request: END")),
            (PHASES, Failing("an answer without a request: END")),
        ],
    );
}

fn a_server_that_changes_flags_damages_values() {
    // The read-back checks the flags of its hits; the timed reads do not.
    judge(
        "flags",
        &[
            (DEFAULT, Found(&["DAMAGED"], BOTH)),
            (MIXED, Found(&["DAMAGED"], &[Set, Get])),
            (PHASES, Found(&["DAMAGED"], &[Set, Get])),
        ],
    );
}

fn a_server_whose_replicas_still_have_deleted_entries_is_stale() {
    let several = "keys = 200\nratio = '2:5:2'\nthreads = 4\nrequests = 8000";
    judge(
        "replica",
        &[(MIXED, Found(&["NOT-EMPTIED"], ALL)), (several, Found(&["STALE"], &[Get]))],
    );
}

fn a_server_that_carries_sets_out_a_little_later_is_stale_without_a_mix_too() {
    judge("lazy", &[(DEFAULT, Found(&["STALE"], BOTH)), (MIXED, Found(&["STALE"], &[Get]))]);
}

fn a_server_with_a_shard_that_keeps_nothing_drops_in_silence() {
    let set = "keys = 25000\noperations = 'set'\ndata-size = '20'";
    judge(
        "oddshard",
        &[
            (DEFAULT, Found(&["SILENT-DROP", "NEVER-HITS"], BOTH)),
            (PHASES, Found(&["SILENT-DROP"], &[Set, Get])),
            // There are more keys than the read-back reads.
            (set, Found(&["SILENT-DROP"], &[Set])),
        ],
    );
}

fn a_server_that_keeps_large_values_for_ever_fails_the_trial_of_ttls() {
    judge(
        "largettl",
        &[(DEFAULT, Nothing), (PHASES, Nothing), (MORTAL, Found(&["TTL-TRUTH"], BOTH))],
    );
}

fn a_server_that_keeps_only_the_largest_values_for_ever_fails_the_trial_of_ttls() {
    let large = "keys = 100\ndata-size = '60k'\nttl = '1h'";
    judge(
        "hugettl",
        &[(DEFAULT, Nothing), (MORTAL, Nothing), (large, Found(&["TTL-TRUTH"], BOTH))],
    );
}

fn a_server_that_keeps_entries_with_long_keys_for_ever_fails_the_trial_of_ttls() {
    judge(
        "longkeyttl",
        &[(DEFAULT, Nothing), (PHASES, Nothing), (MORTAL, Found(&["TTL-TRUTH"], BOTH))],
    );
}

fn a_server_that_never_prolongs_large_values_fails_the_trial_of_ttls() {
    judge(
        "noprolong",
        &[(DEFAULT, Nothing), (PHASES, Nothing), (MORTAL, Found(&["TTL-TRUTH"], BOTH))],
    );
}

fn a_server_that_answers_several_keys_from_copies_is_stale() {
    judge(
        "manyold",
        &[
            // No plan that reads one key at a time is misled.
            (DEFAULT, Nothing),
            (MORTAL, Nothing),
            (MANY, Found(&["STALE"], &[Set])),
        ],
    );
}

fn a_server_that_answers_ended_entries_together_fails_the_trial_of_ttls() {
    let many = "keys = 100\nmultiget = 10\nttl = '1h'";
    judge("manyttl", &[(MANY, Nothing), (PHASES, Nothing), (many, Found(&["TTL-TRUTH"], &[Set]))]);
}

fn a_server_whose_clock_ticks_once_a_second_may_end_an_entry_a_second_early() {
    let short = "keys = 100\nttl = '1s'";
    let many = "keys = 100\nmultiget = 10\nttl = '1s'";
    judge("tick", &[(DEFAULT, Nothing), (short, Nothing), (many, Nothing)]);
}

fn a_server_that_forgets_flags_damages_values() {
    judge(
        "noflags",
        &[(DEFAULT, Found(&["DAMAGED"], BOTH)), (MIXED, Found(&["DAMAGED"], &[Set, Get]))],
    );
}

fn a_server_that_keeps_large_values_outlives_their_ttl_where_they_are_set_and_read_in_turn() {
    let mixed = "keys = 100\nratio = '1:20'\nttl = '1s'\nduration = '4s'";
    judge("nottl", &[(mixed, Found(&["TTL-TRUTH"], &[Set, Get]))]);
}

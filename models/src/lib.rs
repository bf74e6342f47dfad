//! The segment cache under loom, a model checker. Loom runs a few operations of two threads in every order of their
//! accesses, and lets a thread read older words wherever the memory orders allow it.
//!
//! The cache's own code runs: `build.rs` copies it, with the model checker's words as its region. A further copy for
//! each mutant has one deliberate error, which the same scenes must find: the feature `mutants`.

#![cfg(test)]
#![allow(dead_code, unused_imports, reason = "the scenes do not ask for all of it")]

include!(concat!(env!("OUT_DIR"), "/all.rs"));

macro_rules! hold {
    ($($scene:ident)*) => { $(
        #[test]
        fn $scene() {
            crate::real::scenes::$scene();
        }
    )* };
}

hold! {
    a_reader_and_a_writer_of_one_key
    a_reader_and_one_who_empties_its_segment
    one_who_fills_and_one_who_deletes
    one_who_clears_and_fills_and_one_who_deletes
    one_who_moves_and_one_who_deletes
    one_who_splits_and_one_who_deletes
    a_reader_and_one_who_splits
    one_who_changes_and_one_who_deletes
    a_reader_and_one_who_clears
    whoever_dies_leaves_what_others_go_on_from
    one_who_fills_and_dies_and_one_who_deletes
    two_who_miss_one_key
    one_who_fills_under_a_lease_and_one_who_asks
    one_who_fills_under_a_lease_and_one_who_deletes
    one_who_fills_under_a_lease_and_dies_and_one_who_deletes
    one_who_dies_while_a_lease_is_given
    one_who_touches_and_a_reader
    a_session_and_one_who_gives_its_number_away
    two_who_take_one_lock
    two_who_take_the_lock_of_a_dead_one
}

#[cfg(feature = "mutants")]
macro_rules! break_with {
    ($($name:ident: $mutant:ident $scene:ident)*) => { $(
        #[test]
        #[should_panic]
        fn $name() {
            crate::$mutant::scenes::$scene();
        }
    )* };
}

#[cfg(feature = "mutants")]
break_with! {
    without_the_readers_fence: no_fence_of_readers a_reader_and_one_who_empties_its_segment
    without_the_second_look: no_second_look a_reader_and_one_who_empties_its_segment
    without_the_writers_fence: no_fence_of_writers a_reader_and_one_who_empties_its_segment
    with_slots_that_release_nothing: no_release_of_slots a_reader_and_a_writer_of_one_key
    with_slots_before_their_records: slots_before_records a_reader_and_a_writer_of_one_key
    without_a_look_after_a_fill: no_look_after_a_fill one_who_fills_and_one_who_deletes
    with_a_deleter_in_a_time_before_he_began: moment_before_counter one_who_clears_and_fills_and_one_who_deletes
    without_a_deleters_second_look: no_second_look_of_deleters one_who_moves_and_one_who_deletes
    without_a_look_where_a_slot_is_moved_to: no_look_at_the_next_bucket one_who_splits_and_one_who_deletes
    without_the_splitters_second_look: no_second_look_of_splitters one_who_splits_and_one_who_deletes
    without_a_readers_look_at_the_grown: no_look_at_the_grown a_reader_and_one_who_splits
    without_finishing_what_the_dead_began: no_finishing one_who_fills_and_dies_and_one_who_deletes
    with_tokens_that_see_one_change: one_change_is_none one_who_fills_and_one_who_deletes
    without_a_look_at_leases_under_the_lock: no_look_at_leases two_who_miss_one_key
    without_a_look_at_the_entry_under_the_lock: no_look_at_the_entry one_who_fills_under_a_lease_and_one_who_asks
    without_a_second_look_at_the_lease: no_second_look_at_the_lease one_who_fills_under_a_lease_and_one_who_deletes
    with_changes_that_end_no_lease: no_end_of_leases one_who_fills_under_a_lease_and_one_who_deletes
    with_leases_that_end_after_the_note: noted_before_the_end one_who_fills_under_a_lease_and_dies_and_one_who_deletes
    with_locks_that_release_nothing: no_release_of_locks two_who_take_one_lock
    with_locks_taken_over_by_a_store: taken_over_by_a_store two_who_take_the_lock_of_a_dead_one
    with_a_session_of_every_life: lives_are_one a_session_and_one_who_gives_its_number_away
    with_changes_that_bring_back: changes_take_any_slot one_who_changes_and_one_who_deletes
}

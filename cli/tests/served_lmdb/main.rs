//! `larder serve lmdb:…` as its operator meets it: other processes, a full disk, large values, a file that shrinks.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod disk;
mod large;
mod neighbours;
mod server;
mod shrinking;

use std::process::{Command, ExitCode};

use larder_testkit::{run_waiting, trial_where};
use libtest_mimic::Trial;

/// The needs of a test, the sentence that it states, and the test with the options of the store.
type Case = (fn() -> Result<(), String>, &'static str, fn(&str));

const CASES: &[Case] = &[
    (|| Ok(()), "a_server_goes_on_when_another_process_makes_the_map_larger", neighbours::larger),
    (
        || Ok(()),
        "servers_with_maps_of_three_sizes_go_on_and_end_in_order",
        neighbours::of_three_sizes,
    ),
    (|| Ok(()), "values_to_64_mib_are_whole_and_take_no_lasting_memory", large::values),
    (|| Ok(()), "a_file_of_mostly_free_pages_shrinks_at_a_restart", shrinking::at_a_restart),
    (mounts, "a_full_disk_refuses_sets_until_there_is_room", disk::full),
];

/// The classes of durability.
const CLASSES: [&str; 2] = ["sync=nosync&checkpoint=50ms", "sync=group"];

fn main() -> ExitCode {
    let trials = CASES.iter().flat_map(|(need, name, run)| {
        CLASSES.map(|options| -> Trial {
            trial_where(*need, &format!("{name}::{options}"), move || run(options))
        })
    });
    run_waiting(trials.collect())
}

/// Mounts that no other process sees.
fn mounts() -> Result<(), String> {
    let mount = ["--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"];
    let tried = Command::new("unshare").args(mount).output();
    let tried = tried.map_err(|error| format!("unshare: {error}"))?;
    let said = String::from_utf8_lossy(&tried.stderr);
    if tried.status.success() { Ok(()) } else { Err(format!("may not mount: {}", said.trim())) }
}

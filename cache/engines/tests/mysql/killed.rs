//! Managed servers leave nothing when the process that started them is killed.

use larder_testkit::nothing_is_left_after_kill_9;
use libtest_mimic::Trial;

use crate::support::trial;

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("nothing_is_left_after_kill_9", || {
        for (url, n_servers) in [("mysql:?tls=on", 1), ("mysql:?socket=on", 1)] {
            nothing_is_left_after_kill_9(url, n_servers);
        }
    })]
}

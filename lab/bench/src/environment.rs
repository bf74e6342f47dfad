//! The machine, as a report describes it. A fact that cannot be read stays unknown.

use std::fs;

use larder_host::cgroup;
use larder_report::Environment;

use crate::measure::reading_cost_ns;
use crate::usage::kib;

/// Reads the machine as it is now.
pub fn environment() -> Environment {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let first_line = |path: &str| {
        let text = fs::read_to_string(path).ok()?;
        text.lines().next().map(|line| line.trim().to_owned())
    };
    let memory_bytes = kib(&memory, "MemTotal:");
    let limit = cgroup::limit_bytes();
    Environment {
        os: fs::read_to_string("/etc/os-release").ok().and_then(|text| {
            let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
            Some(name.trim_matches('"').to_owned())
        }),
        kernel: first_line("/proc/sys/kernel/osrelease"),
        cpu: fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        }),
        cores: std::thread::available_parallelism()
            .map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX)),
        memory_bytes,
        // A limit above the machine's memory limits nothing.
        memory_limit_bytes: limit.filter(|limit| memory_bytes.is_none_or(|all| *limit < all)),
        swap_bytes: kib(&memory, "SwapTotal:"),
        governor: first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        load: first_line("/proc/loadavg").and_then(|line| line.split(' ').next()?.parse().ok()),
        clock_ns: reading_cost_ns(),
        build: if cfg!(debug_assertions) { "debug" } else { "release" }.into(),
    }
}

/// Memory that can be used without swapping, in bytes: the machine's, or the rest of a limit where that is less.
pub(crate) fn available_memory() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.and_then(|text| kib(&text, "MemAvailable:"));
    machine.into_iter().chain(cgroup::free_bytes()).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_reads_in_bytes() {
        let text = "MemTotal:       24684096 kB\nMemAvailable:    1000 kB\n";
        assert_eq!(kib(text, "MemAvailable:"), Some(1_024_000));
        assert_eq!(kib(text, "SwapTotal:"), None);
        assert!(available_memory() > Some(1 << 20));
    }
}

//! FS-KIND: files that are not on a disk, and targets on different file systems.

use std::collections::BTreeSet;

use larder_report::{Run, Severity};

use super::{About, Check, Needs, Report, pairs};

pub(super) struct FsKind;

impl Check for FsKind {
    fn about(&self) -> &'static About {
        &About {
            id: "FS-KIND",
            severities: &[Severity::Warn, Severity::Note],
            sees: "files in memory (tmpfs, ramfs), and targets compared on different file systems",
            seen_in: "A000: a ramfs said to be limited to 1024 MB, which no ramfs is; a tmpfs said to swap when full, and to report that it is full",
            advice: "put all targets under one path, and say which files are in memory",
            needs: Needs::SomeRounds,
            repeats: false,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for target in &run.targets {
            let Some(system) = &target.file_system else { continue };
            let kind = target.file_system_kind.as_deref();
            if kind == Some("ramfs") {
                let mounted = target.settings.iter().find(|(name, _)| is_mount(name));
                let asked = mounted.map_or_else(String::new, |(_, text)| format!(" ({text})"));
                let text = format!(
                    "files lie on {system}: no limit but memory, and files may fill all memory of the machine{asked}"
                );
                report.target(Severity::Warn, target, text);
            } else if kind == Some("tmpfs") {
                let text = format!(
                    "files lie on {system}: in memory or swap space, and gone after a restart; a full tmpfs refuses \
                     writes with an error"
                );
                report.target(Severity::Note, target, text);
            }
        }
        let mut said = BTreeSet::new();
        for (a, b) in pairs(run, |_| true) {
            let (Some(of_a), Some(of_b)) = (&a.file_system, &b.file_system) else { continue };
            if of_a != of_b && said.insert((of_a, of_b)) {
                let text = format!("on {of_a}, while {} is on {of_b}", b.name);
                report.target(Severity::Note, a, text);
            }
        }
    }
}

/// Whether a setting names the mount of a target or of one of its tiers.
fn is_mount(name: &str) -> bool {
    name.rsplit('.').next() == Some("mount")
}

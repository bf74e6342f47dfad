//! Reports of one realistic run, and of small runs that each show one rule.

mod advised;
mod assertions;
mod charts;
mod claims;
mod connections;
mod diff;
mod edges;
mod files;
mod hit_ratio;
mod html;
mod index;
mod info;
#[path = "../made_up/mod.rs"]
mod made_up;
mod made_up_runs;
mod older_names;
mod paced;
mod pictures;
mod small;
mod snapshots;
mod tiers;
mod unlike;
mod usage;

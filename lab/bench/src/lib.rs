//! From a workload to a checked result: plan, provision, probe, floor, rounds, read-back, checks, record.
//!
//! A [`Scenario`] names targets and a workload; a [`Plan`] is that scenario resolved: every key, size and operation
//! follows from its seed. [`compare`] carries it out and returns an [`Outcome`]: the [`Run`](larder_report::Run) that
//! reports are made of, and the histograms behind it. This crate knows no engine, only a
//! [`Catalog`](larder_store::Catalog), and it is the only one that knows a clock for results.

pub mod article;
mod compare;
mod environment;
mod error;
pub mod guest;
pub mod measure;
mod memory;
mod observer;
mod optimum;
mod output;
mod patience;
mod plan;
mod probe;
mod results;
mod scenario;
mod target;
mod usage;

pub use compare::{
    CellHistograms, Estimate, Outcome, Permissions, Sliced, compare, estimate, fit, is_of_one_plan,
    merge, refuse_too_large,
};
pub use environment::environment;
pub use error::{Error, Result};
pub use memory::limit_memory;
pub use observer::{Event, Observer, Silent};
pub use output::{
    ADVICE, TRACE_INFO, index_names, prepare, remove_result, write, write_charts, write_index,
    write_reports,
};
pub use plan::{
    DEFAULT_KEY_SIZE, DEFAULT_VALUE_SIZE, Load, Plan, PlanIdentity, PlannedPhase, PlannedPoint,
    PlannedTarget, ReplayLimit, SliceSpec, plan_targets,
};
pub use results::{Claimed, NewResults, check_index, claim, claim_info, plan_of_set};
pub use scenario::{
    ArticleSpec, BUILT_IN, BUILT_IN_SETS, ClaimSpec, FigureSpec, Form, GENERATED,
    GeneratedScenario, Member, Named, Part, PointReference, Scenario, Set, Sizes,
};

//! The goals of a cell, and whether Larder's server meets them.
//!
//! Every goal is about ratios of turns that stand side by side: the machine changes from one minute to the next,
//! and both sides of such a ratio see the same change.

use larder_analysis::statistics::{median, quantile};

use crate::cells::{Cell, Way, Work};
use crate::client::Figures;
use crate::sides::Kind;

/// The turns of one side.
pub(crate) type Turns = (Kind, Vec<Figures>);

/// One goal, and the figure that was found.
#[derive(Debug)]
pub(crate) struct Goal {
    pub(crate) what: String,
    /// The ratio of each turn.
    pub(crate) ratios: Vec<f64>,
    asked: Bound,
}

/// The ratio that a goal asks for.
#[derive(Debug, Clone, Copy)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
    /// At least one, or below it by no more than noise: one turn in four reaches it.
    NotBelow,
    /// At most one, or above it by no more than noise.
    NotAbove,
}

impl Goal {
    pub(crate) fn median(&self) -> f64 {
        self.at(0.5)
    }

    pub(crate) fn at(&self, q: f64) -> f64 {
        quantile(&self.ratios, q).unwrap_or(f64::NAN)
    }

    pub(crate) fn passes(&self) -> bool {
        match self.asked {
            Bound::AtLeast(least) => self.median() >= least,
            Bound::AtMost(most) => self.median() <= most,
            Bound::NotBelow => self.at(0.75) >= 1.0,
            Bound::NotAbove => self.at(0.25) <= 1.0,
        }
    }

    pub(crate) fn asked(&self) -> String {
        match self.asked {
            Bound::AtLeast(least) => format!("at least {least}"),
            Bound::AtMost(most) => format!("at most {most}"),
            Bound::NotBelow => "not below 1".into(),
            Bound::NotAbove => "not above 1".into(),
        }
    }
}

/// The goals of the cell, for each of Larder's sides.
pub(crate) fn goals(cell: &Cell, sides: &[Turns]) -> Vec<Goal> {
    let mut goals = Vec::new();
    for (kind, ours) in sides.iter().filter(|(kind, _)| kind.is_larder()) {
        let mut add = |theirs: Option<&Turns>, of: fn(&Figures) -> f64, unit: &str, asked| {
            let Some((other, theirs)) = theirs else { return };
            let what = format!("{} over {}, {unit}", kind.name(), other.name());
            let ratios = ours.iter().zip(theirs).map(|(a, b)| of(a) / of(b)).collect();
            goals.push(Goal { what, ratios, asked });
        };
        let side = |wanted| sides.iter().find(|(kind, _)| *kind == wanted);
        // The floor has one thread.
        if cell.threads == 1 && cell.is_single() {
            let least = if cell.connections == 1 { 0.95 } else { 0.9 };
            add(side(Kind::Echo), rate, "operations a second", Bound::AtLeast(least));
        }
        let fastest = best(sides, |figures| -rate(figures));
        add(fastest, rate, "operations a second", Bound::NotBelow);
        let is_grouped = match cell.way {
            Way::Single => false,
            Way::Pipelined(_) => true,
            Way::Multi(_) => cell.work == Work::Get,
        };
        if is_grouped {
            add(side(Kind::Memcached), rate, "operations a second", Bound::AtLeast(3.0));
            add(side(Kind::Pogocache), rate, "operations a second", Bound::AtLeast(1.3));
        }
        add(best(sides, p999), p999, "99.9th percentile", Bound::NotAbove);
        if cell.connections == 40 {
            add(side(Kind::Memcached), cpu, "server CPU an operation", Bound::AtMost(0.65));
        }
    }
    goals
}

/// The peer with the least median of a figure.
fn best(sides: &[Turns], of: fn(&Figures) -> f64) -> Option<&Turns> {
    let peers = sides.iter().filter(|(kind, _)| kind.is_peer());
    let middle = |turns: &[Figures]| {
        median(&turns.iter().map(of).collect::<Vec<_>>()).unwrap_or(f64::INFINITY)
    };
    peers.min_by(|a, b| middle(&a.1).total_cmp(&middle(&b.1)))
}

fn rate(figures: &Figures) -> f64 {
    figures.ops_per_s
}

fn cpu(figures: &Figures) -> f64 {
    figures.cpu_ns
}

fn p999(figures: &Figures) -> f64 {
    figures.latency_ns[2]
}

//! The subject of a chart, with its facets, its id, and the beginning of its title.

use super::family::{Better, Family};
use super::marks::index;
use super::model::{Absent, Axis, Chart, Facet, Ratios, Series, Shape};
use crate::model::Operation;

/// The longest id: every file system takes a file of this name.
const MAX_ID_LEN: usize = 120;

/// The note on each chart of requests of many keys, after its explanation.
fn of_many(operation: Operation) -> &'static str {
    match operation {
        Operation::GetEach => {
            " The keys of a group are read one by one: rates, costs and counts are of keys, times of groups."
        }
        Operation::GetTag => {
            " A request asks for a group by its tag: rates, costs and counts are of keys, times of requests."
        }
        Operation::SetMany => {
            " A request stores several keys: rates, costs and counts are of keys, times of requests."
        }
        operation if operation.is_of_many_keys() => {
            " A request asks for several keys: rates, costs and counts are of keys, times of requests."
        }
        _ => "",
    }
}

/// The subject of a chart.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    family: Family,
    operation: Operation,
    facets: Vec<Facet>,
}

/// The families whose charts belong to an operation.
const FAMILIES: [Family; 9] = [
    Family::HitRatio,
    Family::Rate,
    Family::Latency,
    Family::Throughput,
    Family::Spread,
    Family::Percentiles,
    Family::Timeline,
    Family::Resources,
    Family::Outcomes,
];

/// Whether a chart of some run can have this id: `rate-get`, `latency-set-4-KiB-p99`.
pub fn is_chart_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let begins = |family: Family| {
        Operation::ALL.iter().any(|operation| {
            let rest = text.strip_prefix(&format!("{}-{operation}", family.as_str()));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        })
    };
    // The resources of the run as a whole belong to no operation.
    let is_of_run =
        || text.strip_prefix(Family::Usage.as_str()).is_some_and(|rest| rest.starts_with('-'));
    text.chars().all(plain) && (is_of_run() || FAMILIES.into_iter().any(begins))
}

/// The text with the unit of times: operations, or requests or groups for gets of many keys.
pub(super) fn timed(operation: Operation, text: &str) -> String {
    text.replace("operation", operation.timed())
}

/// The content of the picture.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) shape: Shape,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) series: Vec<Series>,
    pub(super) absent: Vec<Absent>,
}

impl Subject {
    /// An operation, at a point unless its label is empty.
    pub(super) fn new(family: Family, operation: Operation, point: &str) -> Self {
        let subject =
            Self { family, operation, facets: Vec::new() }.at("operation", operation.as_str());
        if point.is_empty() { subject } else { subject.at("point", point) }
    }

    /// The same with another facet.
    pub(super) fn at(&self, name: &'static str, value: &str) -> Self {
        let mut subject = self.clone();
        subject.facets.push(Facet { name, value: value.to_owned() });
        subject
    }

    /// Its chart; `None` where the picture has no figure.
    pub(super) fn chart(&self, what: &str, reading: &str, picture: Picture) -> Option<Chart> {
        let Picture { shape, x, y, series, absent } = picture;
        let drawn = series.iter().any(|series| series.y.iter().any(Option::is_some));
        let order = match shape {
            Shape::Bars => order(self.family, x.categories.len(), &series, &absent),
            Shape::Lines | Shape::Curves => Vec::new(),
        };
        drawn.then(|| Chart {
            id: self.id(),
            family: self.family,
            facets: self.facets.clone(),
            title: self.title(what),
            reading: [reading, of_many(self.operation)].concat(),
            shape,
            labels: String::new(),
            x,
            y,
            series,
            absent,
            order,
            ratios: Ratios::default(),
            chosen: None,
        })
    }

    /// The family and each facet, in characters that file systems and selectors accept.
    fn id(&self) -> String {
        let mut id = self.family.as_str().to_owned();
        for facet in &self.facets {
            let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { ' ' };
            let text: String = facet.value.chars().map(plain).collect();
            for word in text.split_whitespace() {
                id.extend(["-", word]);
            }
        }
        id.truncate(MAX_ID_LEN);
        id
    }

    /// `get, 4 KiB: operations per second`.
    fn title(&self, what: &str) -> String {
        let places =
            self.facets.iter().filter(|facet| ["operation", "point"].contains(&facet.name));
        let places: Vec<&str> = places.map(|facet| facet.value.as_str()).collect();
        format!("{}: {what}", places.join(", "))
    }
}

/// The targets from the best bar to the worst where figures have a better direction, otherwise as the run lists them.
/// Bars with an unknown part stand below, then bars that are no result, then targets without a bar.
fn order(family: Family, targets: usize, series: &[Series], absent: &[Absent]) -> Vec<usize> {
    let Some(better) = family.manner().better else { return (0..targets).collect() };
    let pieces = |target: usize| {
        series.iter().filter_map(move |series| {
            let at = series.x.iter().position(|x| x.total_cmp(&index(target)).is_eq())?;
            Some((series, series.y[at]?))
        })
    };
    let total = |target: usize| pieces(target).map(|(_, figure)| figure).sum::<f64>();
    let place = |target: usize| match pieces(target).next() {
        None => 3,
        Some((series, _)) if series.withheld.is_some() => 2,
        Some(_) if absent.iter().any(|absent| absent.target == target) => 1,
        Some(_) => 0,
    };
    let mut order: Vec<usize> = (0..targets).collect();
    order.sort_by(|a, b| {
        let rising = total(*a).total_cmp(&total(*b));
        let best_first = if better == Better::More { rising.reverse() } else { rising };
        place(*a).cmp(&place(*b)).then(best_first)
    });
    order
}

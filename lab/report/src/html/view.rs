//! The input of every section of the page: the run, the results derived from it once, and the anchors for links between
//! sections.

use crate::model::{Cell, Finding, Operation, Point, Run, Severity};
use crate::points::{distinct_label, distinct_short_label, points};
use crate::ranking::{Group, groups};

/// A run, laid out for the page.
pub(super) struct View<'a> {
    pub(super) run: &'a Run,
    pub(super) groups: Vec<Group<'a>>,
    /// The swept coordinates.
    pub(super) swept: Vec<&'a str>,
    pub(super) points: Vec<&'a Point>,
}

impl<'a> View<'a> {
    pub(super) fn new(run: &'a Run) -> Self {
        Self { run, groups: groups(run), swept: run.swept(), points: points(run) }
    }

    /// The groups by operation.
    pub(super) fn by_operation(&self) -> impl Iterator<Item = &[Group<'a>]> {
        self.groups.chunk_by(|a, b| a.operation == b.operation)
    }

    /// Whether there are several points.
    pub(super) fn is_sweep(&self) -> bool {
        !self.swept.is_empty()
    }

    /// A point with the names of its coordinates.
    pub(super) fn label(&self, point: &Point) -> String {
        distinct_label(self.run, point, &self.swept)
    }

    /// A point by its values, where that is clear.
    pub(super) fn short_label(&self, point: &Point) -> String {
        distinct_short_label(self.run, point, &self.swept)
    }

    /// The number of a target, which gives its colour and mark; `None` where the run does not list it.
    pub(super) fn number(&self, url: &str) -> Option<usize> {
        self.run.targets.iter().position(|target| target.url == url)
    }

    fn place(&self, point: &Point) -> usize {
        self.points.iter().position(|known| *known == point).unwrap_or(0)
    }

    /// The anchor of an operation's tables.
    pub(super) fn operation_anchor(operation: Operation) -> String {
        format!("table-{operation}")
    }

    /// The anchor of a group's table.
    pub(super) fn group_anchor(&self, operation: Operation, point: &Point) -> String {
        format!("table-{operation}-{}", self.place(point))
    }

    /// The anchor of a cell's row.
    pub(super) fn row_anchor(&self, cell: &Cell) -> Option<String> {
        let group = self.group_anchor(cell.operation, &cell.point);
        Some(format!("{group}-{}", self.number(&cell.target)?))
    }

    /// The anchor of a target's facts.
    pub(super) fn target_anchor(number: usize) -> String {
        format!("target-{number}")
    }

    /// The anchor of a finding.
    pub(super) fn finding_anchor(severity: Severity, id: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let id: String = id.chars().map(plain).collect();
        format!("check-{}-{id}", severity.as_str())
    }

    /// The place of a check in the tables: an anchor and its name; `None` where it concerns the whole run.
    pub(super) fn checked_place(&self, check: &Finding) -> Option<(String, String)> {
        let number = check.target.as_deref().and_then(|url| self.number(url));
        let name = number.map(|number| self.run.targets[number].name.clone());
        let asked = check.operation.map(|operation| operation.to_string());
        let point = check.point.as_ref().map(|point| self.short_label(point));
        let parts = [name, asked, point].into_iter().flatten().filter(|part| !part.is_empty());
        let text = parts.collect::<Vec<_>>().join(", ");
        let group = self.checked_group(check);
        let anchor = match (number, group, check.operation) {
            (Some(number), Some(group), _) if self.has_row(group, number) => {
                format!("{}-{number}", self.group_anchor(group.operation, group.point))
            }
            (Some(number), ..) => Self::target_anchor(number),
            (None, Some(group), _) => self.group_anchor(group.operation, group.point),
            (None, None, Some(operation))
                if self.groups.iter().any(|group| group.operation == operation) =>
            {
                Self::operation_anchor(operation)
            }
            (None, None, _) => return None,
        };
        Some((anchor, text))
    }

    /// The group that a check names: by its operation, and its point or the only point.
    fn checked_group(&self, check: &Finding) -> Option<&Group<'a>> {
        let point = match (&check.point, self.points.as_slice()) {
            (Some(point), _) => point,
            (None, [only]) => only,
            (None, _) => return None,
        };
        let operation = check.operation?;
        self.groups.iter().find(|group| group.operation == operation && group.point == point)
    }

    /// Whether a target has a row in the table of a group.
    fn has_row(&self, group: &Group<'_>, number: usize) -> bool {
        group.shown(&self.swept).any(|row| row.cell.target == self.run.targets[number].url)
    }
}

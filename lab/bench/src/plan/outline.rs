//! A plan as the run that it becomes, before it is carried out: the targets and cells of that run.

use larder_report::{Cell, Run, Target};

use super::Plan;

impl Plan {
    /// A run with the targets and the cells of this plan, and no figures.
    pub fn outline(&self) -> Run {
        let targets = self.targets.iter().map(|planned| Target {
            url: planned.url.to_string(),
            name: planned.name.clone(),
            engine: planned.engine.scheme.into(),
            ..Target::default()
        });
        let mut cells = Vec::new();
        for point in &self.points {
            for operation in point.measured_operations() {
                let measured = self.targets.iter().filter(|target| point.is_for(target));
                cells.extend(measured.map(|target| Cell {
                    target: target.url.to_string(),
                    point: point.point.clone(),
                    operation,
                    working_set_bytes: point.working_set_bytes,
                    ..Cell::default()
                }));
            }
        }
        Run { targets: targets.collect(), cells, ..Run::default() }
    }
}

//! A point of a sweep, as a figure or a conclusion of an article names it.

use std::fmt;

use larder_report::{Point, PointValue};
use serde::Deserialize;

use larder_workload::{Count, SizeSpec, WorkloadSpec, text};

/// The coordinates of a point. A coordinate that is left out is not swept.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PointReference {
    /// Length of keys.
    #[serde(deserialize_with = "text")]
    pub key_size: Option<SizeSpec>,
    /// Size of values.
    #[serde(deserialize_with = "text")]
    pub data_size: Option<SizeSpec>,
    /// Number of keys.
    #[serde(deserialize_with = "text")]
    pub keys: Option<Count>,
    /// Threads.
    #[serde(deserialize_with = "text")]
    pub threads: Option<Count>,
}

impl PointReference {
    /// The point, with the names of coordinates that a run uses.
    pub(crate) fn point(&self) -> Point {
        let sizes = [("data_size", &self.data_size), ("key_size", &self.key_size)];
        let sizes = sizes
            .into_iter()
            .filter_map(|(name, size)| Some((name, size_coordinate(size.as_ref()?))));
        let counts = [("keys", self.keys), ("threads", self.threads)];
        let counts = counts
            .into_iter()
            .filter_map(|(name, count)| Some((name, PointValue::Number(count?.0.into()))));
        sizes.chain(counts).map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Whether a workload measures this point.
    pub(super) fn is_in(&self, workload: &WorkloadSpec) -> bool {
        let one = |own: Option<&SizeSpec>, swept: Option<&[SizeSpec]>, otherwise: &str| {
            own.is_none_or(|own| match swept {
                Some(swept) => swept.contains(own),
                None => otherwise.parse().is_ok_and(|otherwise: SizeSpec| otherwise == *own),
            })
        };
        one(self.key_size.as_ref(), workload.key_size.as_deref(), "32")
            && one(self.data_size.as_ref(), workload.data_size.as_deref(), "1k")
            // Points have no number of keys unless keys are swept.
            && self.keys.is_none_or(|own| {
                let swept = workload.keys.as_deref().filter(|all| all.len() > 1);
                swept.is_some_and(|all| all.contains(&own))
            })
            && self.threads.is_none_or(|own| match workload.threads.as_deref() {
                Some(swept) => swept.contains(&own),
                None => own == Count(1),
            })
    }

    /// The coordinates that a workload sweeps and this point leaves out.
    pub(super) fn leaves_out(&self, workload: &WorkloadSpec) -> Vec<&'static str> {
        let several = |sizes: Option<&[SizeSpec]>| sizes.is_some_and(|all| all.len() > 1);
        let counts = |counts: Option<&[Count]>| counts.is_some_and(|all| all.len() > 1);
        let swept = [
            ("key-size", several(workload.key_size.as_deref()) && self.key_size.is_none()),
            ("data-size", several(workload.data_size.as_deref()) && self.data_size.is_none()),
            ("keys", counts(workload.keys.as_deref()) && self.keys.is_none()),
            ("threads", counts(workload.threads.as_deref()) && self.threads.is_none()),
        ];
        swept.into_iter().filter(|(_, left_out)| *left_out).map(|(name, _)| name).collect()
    }
}

impl fmt::Display for PointReference {
    /// Writes the point as in the file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size =
            |name, size: &Option<SizeSpec>| size.as_ref().map(|size| format!("{name} = {size}"));
        let count = |name, count: Option<Count>| count.map(|count| format!("{name} = {count}"));
        let named = [
            size("key-size", &self.key_size),
            size("data-size", &self.data_size),
            count("keys", self.keys),
            count("threads", self.threads),
        ];
        f.write_str(&named.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// The coordinate of a size: a number where every size is the same, otherwise the text.
pub(crate) fn size_coordinate(size: &SizeSpec) -> PointValue {
    size.as_fixed().map_or_else(
        || PointValue::Text(size.to_string()),
        |bytes| PointValue::Number(bytes.into()),
    )
}

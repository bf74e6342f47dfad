//! The parts of a chart.

use serde::Serialize;

use super::family::Family;

/// One picture: series over two axes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chart {
    /// Names the chart within its run, and is fit for a file name: `rate-get`, `percentiles-get-4-KiB`.
    pub id: String,
    /// The charts among which a reader chooses by facet.
    pub family: Family,
    /// The place in its family: the operation, the point of the sweep, the percentile.
    pub facets: Vec<Facet>,
    /// Its title, with its facets: `get: operations per second`.
    pub title: String,
    /// An explanation of the chart, in a sentence or two.
    pub reading: String,
    /// The shape of its marks.
    pub shape: Shape,
    /// The horizontal axis; with [`Shape::Bars`], the axis of the targets.
    pub x: Axis,
    /// The axis of the figures.
    pub y: Axis,
    /// The series: one for each target, or with [`Shape::Bars`] one for each part. Figures outside the ranking are a
    /// separate series beside the ranked ones of the same target or part, one for each reason.
    pub series: Vec<Series>,
    /// The name of the texts beside the marks: `connections`; empty without such texts.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub labels: String,
    /// The targets that are missing, or missing at some places, each with the reason. A target may have several
    /// reasons.
    pub absent: Vec<Absent>,
    /// With [`Shape::Bars`], the targets from top to bottom, by their numbers in the run.
    pub order: Vec<usize>,
    /// The run's comparisons of two targets' figures at one place; empty without comparisons.
    #[serde(skip_serializing_if = "Ratios::is_empty")]
    pub ratios: Ratios,
    /// The mark that an advice chose; `None` without an advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<Chosen>,
}

/// The mark of a figure that stands out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chosen {
    /// The target as the run lists it, from 0.
    pub target: usize,
    /// Its place on the axis `x`.
    pub x: f64,
    /// Its figure.
    pub y: f64,
    /// The text beside it.
    pub text: String,
}

/// The 95 % intervals of the figure of one target over that of another. The vectors are of one length.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Ratios {
    /// The place on the axis `x`; 0 with [`Shape::Bars`].
    pub at: Vec<f64>,
    /// The first target as the run lists it, from 0.
    pub one: Vec<usize>,
    /// The second target.
    pub other: Vec<usize>,
    /// The lower bounds.
    pub low: Vec<f64>,
    /// The upper bounds.
    pub high: Vec<f64>,
}

impl Ratios {
    fn is_empty(&self) -> bool {
        self.at.is_empty()
    }
}

/// A choice that leads to a chart of a family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Facet {
    /// The name of the choice: `operation`, `point`, `percentile`, `figure`, `of`.
    pub name: &'static str,
    /// The choice: `get`, `4 KiB`, `p99`, `client CPU`.
    pub value: String,
}

/// The shape of a chart's marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Marks at their places, joined by lines, each with its interval.
    Lines,
    /// Lines alone: too many places for marks.
    Curves,
    /// A bar for each target; the series are its stacked parts. Where all series have one name there is only one part,
    /// and a bar has the colour of its target.
    Bars,
}

/// A direction of a chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Axis {
    /// Its quantity: `data_size`, `operations per second`.
    pub label: String,
    /// The format of its numbers.
    pub unit: Unit,
    /// The scale unless the reader switches.
    pub scale: Scale,
    /// The scales among which the reader may switch, its own included; empty where there is only one scale.
    pub scales: Vec<Scale>,
    /// With [`Scale::Categories`], the name of each place, from 0.
    pub categories: Vec<String>,
}

/// The format of an axis's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A plain number, such as of threads.
    Number,
    /// Operations per second.
    Rate,
    /// A time in nanoseconds.
    Nanoseconds,
    /// A time in seconds.
    Seconds,
    /// An amount of memory in bytes.
    Bytes,
    /// A part of a whole, 0 to 1.
    Share,
    /// A quantile, 0 to 1.
    Quantile,
    /// The name of a category.
    Name,
}

/// The mapping from numbers to places on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Equal steps add.
    Linear,
    /// Equal steps multiply, by 10 for a power.
    Log,
    /// For quantiles: log10(1/(1 − q)), so that 90 %, 99 % and 99.9 % are at equal distances. The quantile 1 stands at
    /// the right end.
    Tail,
    /// One place for each category, numbered from 0.
    Categories,
}

/// The marks of one target, or of one part of the bars. The vectors are of one length.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// The target as the run lists it, from 0, which gives the colour and the mark. `None` for a part of bars, and for
    /// the line of a model.
    pub target: Option<usize>,
    /// The label of the target, or of the part. Series of one name belong together.
    pub name: String,
    /// The palette number of a part of stacked bars; for a model, the number of its line's dash. `None` for the look of
    /// the target.
    pub colour: Option<usize>,
    /// The palette number of a line that is neither a target's nor a model's; `None` for these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hue: Option<usize>,
    /// The reason why these figures are shown outside the ranking, in a few words.
    pub withheld: Option<String>,
    /// Whether the figures are a result that is not ranked because its target hits less often than others. A miss is
    /// other work than a hit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unlike: bool,
    /// The places on the axis `x`, rising; with `labels`, in the order of these. With [`Shape::Bars`] the target as the run lists it, from 0, which is also
    /// the number of its category.
    pub x: Vec<f64>,
    /// The figures; `None` where a figure is missing and the line is broken.
    pub y: Vec<Option<f64>>,
    /// A text beside each mark; empty where the axes say enough. The marks are joined in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The lower bounds of their 95 % intervals; empty where the chart has none.
    pub low: Vec<Option<f64>>,
    /// The upper bounds.
    pub high: Vec<Option<f64>>,
}

/// A target without a mark in a chart, or at some of its places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Absent {
    /// The target as the run lists it, from 0.
    pub target: usize,
    /// Its label.
    pub name: String,
    /// The places or parts where it has no mark, as text: `2.1 MiB`, `server`. Empty where it has no mark at all.
    pub at: Vec<String>,
    /// The reason why it has no mark.
    pub reason: String,
}

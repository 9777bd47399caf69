//! The table of times, `times.txt`, and what the chaos bench measured, `measured.txt`.

use serde::Serialize;

/// The bounds of the runtime, the defaults of Kubernetes and the examples.
const TIMES: &str = include_str!("times.txt");
/// The seconds until the ranks run again after a fault. Written by `bench/chaos/report.py`.
const MEASURED: &str = include_str!("measured.txt");

/// The origin of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "TimeSource"))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Source {
    /// An upper bound of khorovod's runtime.
    Runtime,
    /// A default of Kubernetes.
    Kubernetes,
    /// A field of the spec, or its default.
    Spec,
    /// An example: the time depends on the cluster and the training.
    Example,
    /// The time depends on Horovod or torchrun.
    Program,
    /// The time ends when a person acts.
    Person,
}

/// How long something takes.
#[derive(Debug, Clone)]
pub struct Time {
    /// `None` if it does not end by itself.
    pub seconds: Option<u64>,
    pub source: Source,
    pub reason: String,
}

impl Time {
    /// The time in the row `name` of `times.txt`.
    pub fn of(name: &str) -> Self {
        let [_, seconds, source, reason] = rows(TIMES).find(|row| row[0] == name).unwrap_or([""; 4]);
        let source = match source {
            "kubernetes" => Source::Kubernetes,
            "example" => Source::Example,
            "program" => Source::Program,
            "spec" => Source::Spec,
            _ => Source::Runtime,
        };
        Self { seconds: seconds.parse().ok(), source, reason: reason.to_owned() }
    }

    /// The time that a field of the spec sets.
    pub fn field(seconds: u64, field: &str) -> Self {
        Self { seconds: Some(seconds), source: Source::Spec, reason: format!("`{field}` sets this time.") }
    }

    /// A time that only a person ends.
    pub fn open(reason: &str) -> Self {
        Self { seconds: None, source: Source::Person, reason: reason.to_owned() }
    }

    /// A copy with another number of seconds.
    pub fn lasting(self, seconds: u64) -> Self {
        Self { seconds: Some(seconds), ..self }
    }
}

/// The seconds in the row `name` of `times.txt`.
pub fn seconds(name: &str) -> u64 {
    Time::of(name).seconds.unwrap_or_default()
}

/// The measurements of the chaos bench for a fault in a kind of job: the median and the maximum of the seconds until the ranks ran again.
pub fn measured(fault: &str, kind_of_job: &str) -> Option<(&'static str, &'static str)> {
    let [_, _, median, most] = rows(MEASURED).find(|row| row[0] == fault && row[1] == kind_of_job)?;
    Some((median, most))
}

/// The rows of a table, which have four cells.
fn rows(table: &'static str) -> impl Iterator<Item = [&'static str; 4]> {
    table.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut cells = line.splitn(4, '|').map(str::trim);
        Some([cells.next()?, cells.next()?, cells.next()?, cells.next()?])
    })
}

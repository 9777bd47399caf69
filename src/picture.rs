//! Draws a job as a picture: its pods with their GPUs and ranks, the connections between them, and the volumes.
//!
//! [`svg`] returns a complete SVG file. [`draw`] returns the same picture in parts, for a page that shows each change of a
//! job and moves the parts that stay. Both take the [`Report`] of a plan, so the picture never differs from the plan.
//!
//! The size of a picture is bounded. Workers of small groups are cards; larger groups become tiles, and then squares that
//! each stand for many workers.

mod document;
mod elements;
mod layout;
mod text;
mod workers;

use crate::report::Report;

/// A picture narrower than this cannot show its texts, and is drawn with this width.
const MIN_WIDTH: u32 = 280;
/// A picture wider than this is drawn with this width.
const MAX_WIDTH: u32 = 10_000;

/// The picture of one job. Lengths are in CSS pixels.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Picture {
    /// The width.
    pub width: u32,
    /// The height.
    pub height: u32,
    /// A description for screen readers, as one sentence.
    pub description: String,
    /// Whether a NetworkPolicy blocks connections from other pods. The frame of the job shows it.
    pub guarded: bool,
    /// The parts. Later parts cover earlier ones.
    pub items: Vec<Item>,
}

/// A part of a picture.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Item {
    /// Identifies the part in all pictures of a job: `worker 0 1` is worker 1 of the first group.
    pub key: String,
    /// The distance from the left edge of the picture.
    pub x: u32,
    /// The distance from the upper edge of the picture.
    pub y: u32,
    /// SVG elements, with texts escaped. Their classes are those in `picture/style.css`.
    pub svg: String,
    /// The tooltip. It is not in `svg`, because most tooltips contain the name of the run, which nearly each change of a
    /// spec changes.
    pub tip: Option<String>,
    /// The path of the field of the spec that the part shows.
    pub field: Option<String>,
}

/// Draws a job with a width in CSS pixels. The height follows from the content.
pub fn draw(report: &Report, width: u32) -> Picture {
    layout::picture(report, width.clamp(MIN_WIDTH, MAX_WIDTH))
}

/// Draws jobs as one SVG file, one below the other. It refers to no other file, and has colours for light and dark.
/// After the first 20 jobs, a line counts the rest.
///
/// ```
/// # use khorovod::{Inputs, Keys, Text};
/// # let text = "apiVersion: khorovod.dev/v1alpha1
/// # kind: TrainingJob
/// # metadata: {name: mnist}
/// # spec: {image: 'a:1', command: [python, train.py], workers: {replicas: 4, gpus: 8}}
/// # ".to_owned();
/// let spec = Text { name: "job.yaml".into(), text };
/// let reports = khorovod::reports(&spec, &Inputs { keys: Keys::Masked, ..Inputs::default() }).unwrap();
/// let svg = khorovod::picture::svg(&reports.jobs);
/// assert!(svg.starts_with("<svg ") && svg.contains("ranks 24–31"));
/// ```
pub fn svg(reports: &[Report]) -> String {
    document::svg(reports)
}

//! Draws jobs as pictures: their pods with GPUs and ranks, the ring of the ranks, the other connections, and the volumes.
//!
//! [`svg`] returns a complete SVG file. [`draw`] returns the same picture in parts, for a page that draws the job again
//! after each change and moves the parts that remain. Both take the [`Report`] of a plan, so the picture never differs
//! from the plan.
//!
//! The size of a picture is bounded. Workers of small groups are cards; larger groups become tiles, and then squares that
//! each stand for many workers.

mod document;
mod elements;
mod frames;
mod layout;
mod ring;
mod text;
mod timeline;
mod workers;

use crate::report::Report;

pub use timeline::{Drawing, timeline};

/// The minimum width. A narrower picture could not show its texts.
const MIN_WIDTH: u32 = 280;
/// The maximum width.
const MAX_WIDTH: u32 = 10_000;

/// At most this many jobs are drawn.
const MAX_JOBS: usize = 20;

/// The picture of the jobs of a stream, one below the other. Lengths are in CSS pixels.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Picture {
    /// The width.
    pub width: u32,
    /// The height.
    pub height: u32,
    /// A description for screen readers, as a sentence per job.
    pub description: String,
    /// The parts. Later parts cover earlier ones.
    pub items: Vec<Item>,
}

/// A part of a picture.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Item {
    /// The index of the job it belongs to.
    pub job: usize,
    /// Identifies the part in all pictures of a job: `worker 0 1` is worker 1 of the first group.
    pub key: String,
    /// The distance from the left edge of the picture.
    pub x: u32,
    /// The distance from the upper edge of the picture.
    pub y: u32,
    /// SVG elements, with texts escaped. Their classes are those in `picture/style.css`.
    pub svg: String,
    /// The tooltip. It is not in `svg`, because most tooltips contain the name of the run, and nearly every change of a
    /// spec gives the run another name.
    pub tip: Option<String>,
    /// The path of the field of the spec that the part shows.
    pub field: Option<String>,
    /// Set for a part that shows many workers as a grid of squares.
    pub grid: Option<Grid>,
}

/// The squares of a grid of workers, row by row from the left upper corner of the part.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Grid {
    /// The number of squares in a row.
    pub columns: u32,
    /// The distance between two squares.
    pub pitch: u32,
    /// The number of workers per square.
    pub workers_each: u32,
    /// The number of workers in all squares.
    pub workers: u32,
}

/// Draws jobs with a width in CSS pixels. The height follows from the content. `more` is the number of further jobs
/// that have no report. The last line of the picture counts them.
pub fn draw(reports: &[Report], more: usize, width: u32) -> Picture {
    let width = width.clamp(MIN_WIDTH, MAX_WIDTH);
    let mut picture = Picture { width, height: 0, description: String::new(), items: Vec::new() };
    let shown = &reports[..reports.len().min(MAX_JOBS)];
    for (job, report) in shown.iter().enumerate() {
        let one = layout::picture(report, width, shown.len());
        if job > 0 {
            picture.height += layout::GAP;
            picture.description.push_str(". ");
        }
        picture.description.push_str(&one.description);
        let top = picture.height;
        picture.items.extend(one.items.into_iter().map(|item| Item { job, y: item.y + top, ..item }));
        picture.height += one.height;
    }
    let hidden = reports.len() - shown.len() + more;
    if hidden > 0 {
        let mut svg = String::new();
        elements::label(&mut svg, 0, 0, "", &format!("{} not shown", text::count(hidden as u64, "more job")));
        let (job, key, y) = (shown.len(), "more jobs".to_owned(), picture.height + 18);
        picture.items.push(Item { job, key, x: layout::GAP, y, svg, tip: None, field: None, grid: None });
        picture.height += 36;
    }
    picture
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

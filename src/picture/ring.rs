//! The ring of a job: its ranks on a circle, in the order in which ring allreduce passes gradients from one to the next.

use std::f64::consts::{FRAC_PI_2, TAU};
use std::fmt::Write;

use super::elements::{Numbers, label, path, tenths};
use super::layout::Layout;
use super::text::{Escaped, count, wrap};
use crate::report::{Peer, Report};

/// A ring with at most this many ranks shows each rank as a dot. A larger ring shows each worker as an arc.
const MAX_DOTS: u32 = 96;
/// A ring with more workers than this shows each group of workers as an arc.
const MAX_ARCS: u32 = 96;
/// At most this many arcs have a name.
const MAX_NAMES: usize = 16;
/// A dot with at least this radius has the number of its rank in it.
const NUMBERED: f64 = 7.0;
/// The additional gap between the dots of two workers, as a multiple of the distance between two dots.
const PAUSE: f64 = 0.6;
/// The room around the circle, for the arcs and names of workers.
const MARGIN: f64 = 28.0;

/// The ranks of a worker, or of a group of workers.
struct Sector {
    name: String,
    ranks: u32,
    has_gpus: bool,
}

/// The centre and the radius of the circle.
struct Circle {
    centre: f64,
    radius: f64,
}

impl Circle {
    /// A point at a distance from the circle, at an angle from the top, clockwise.
    fn at(&self, angle: f64, distance: f64) -> (f64, f64) {
        let radius = self.radius + distance;
        let (sin, cos) = sin_cos(angle);
        (self.centre + radius * sin, self.centre - radius * cos)
    }

    /// The path of an arc at a distance from the circle.
    fn arc(&self, [from, to]: [f64; 2], distance: f64) -> String {
        let radius = self.radius + distance;
        let (x, y) = self.at(from, distance);
        let mut arc = format!("M{} {}", tenths(x), tenths(y));
        let radius = tenths(radius);
        // An arc is drawn in two halves, because SVG draws nothing if an arc ends where it starts, as a whole circle
        // does.
        for end in [from.midpoint(to), to] {
            let (x, y) = self.at(end, distance);
            let _ = write!(arc, "A{radius} {radius} 0 0 1 {} {}", tenths(x), tenths(y));
        }
        arc
    }
}

/// The workers in the order of their ranks. If a job has more than [`MAX_ARCS`] workers, returns the groups of workers
/// instead.
fn sectors(report: &Report) -> Vec<Sector> {
    let mut sectors = Vec::new();
    if report.head.ranks > 0 {
        sectors.push(Sector { name: "L".to_owned(), ranks: report.head.ranks, has_gpus: false });
    }
    let workers: u64 = report.workers.iter().map(|group| u64::from(group.replicas)).sum();
    for group in &report.workers {
        let has_gpus = group.gpus > 0;
        if workers > u64::from(MAX_ARCS) {
            let ranks = group.replicas.saturating_mul(group.slots);
            let name = group.group.as_ref().and_then(|group| group.chars().next()).map_or(String::new(), String::from);
            sectors.push(Sector { name, ranks, has_gpus });
            continue;
        }
        for index in 0..group.replicas {
            // There is room for only one letter, the first one of the group's name.
            let letter = group.group.as_ref().and_then(|group| group.chars().next()).unwrap_or('w');
            let name = format!("{letter}{index}");
            sectors.push(Sector { name, ranks: group.slots, has_gpus });
        }
    }
    sectors
}

impl Layout<'_> {
    /// Whether the job has a ring: several ranks that pass gradients to each other.
    pub fn has_ring(&self) -> bool {
        self.report.ranks > 1 && self.connection(Peer::Workers, Peer::Workers).is_some()
    }

    /// Places the ring in a square with sides of length `size`. Its upper left corner is at `x`, at the height where
    /// the next part starts.
    pub fn place_ring(&mut self, x: u32, size: u32) {
        let report = self.report;
        let sectors = sectors(report);
        let total: u32 = sectors.iter().map(|sector| sector.ranks).sum();
        let centre = f64::from(size) / 2.0;
        let circle = Circle { centre, radius: centre - MARGIN };
        let has_dots = total <= MAX_DOTS;
        let pause = if sectors.len() > 1 { PAUSE } else { 0.0 };
        let pauses = f64::from(u32::try_from(sectors.len()).unwrap_or(u32::MAX)) * pause;
        let step = if has_dots { TAU / (f64::from(total) + pauses) } else { TAU / f64::from(total.max(1)) };
        let pause = if has_dots { pause * step } else { 0.0 };
        // Whether the ranks are numbered host by host. If not, their order is decided when the run starts.
        let is_ordered = report.workers.iter().all(|group| group.first_rank.is_some());

        let mut svg = String::new();
        path(&mut svg, "wire", &circle.arc([0.0, TAU], if has_dots { 0.0 } else { -14.0 }));
        // All arcs are one path, and the names come last: so few elements differ between two numbers of workers.
        let [mut gpus, mut ranks, mut tips, mut spans, mut names] = [const { String::new() }; 5];
        let mut numbers = [true, false].map(|_| Numbers::default());
        let dot = (circle.radius * (step / 2.0) * 0.88).clamp(2.0, 11.0);
        let (mut angle, mut rank) = (pause / 2.0, 0_u32);
        for sector in &sectors {
            let ends = [angle, angle + step * f64::from(sector.ranks)];
            let shapes = if sector.has_gpus { &mut gpus } else { &mut ranks };
            if has_dots {
                for index in 0..sector.ranks {
                    let (x, y) = circle.at(angle + step * (f64::from(index) + 0.5), 0.0);
                    // A dot is a line of nearly no length with round ends.
                    let _ = write!(shapes, "M{} {}h.01", tenths(x), tenths(y));
                    if dot >= NUMBERED && is_ordered {
                        numbers[usize::from(sector.has_gpus)].push(&(rank + index).to_string(), [x, y + 4.0]);
                    }
                }
                spans.push_str(&circle.arc(inset(ends, 0.1 * step), 17.0));
            } else {
                // Leave a gap of two pixels between arcs, but at most half of an arc.
                let gap = (1.0 / circle.radius).min((ends[1] - ends[0]) / 4.0);
                shapes.push_str(&circle.arc(inset(ends, gap), 0.0));
            }
            if sectors.len() <= MAX_NAMES && sectors.len() > 1 {
                place_name(&mut names, &circle, ends[0].midpoint(ends[1]), &sector.name, size);
            }
            let between = ends[1] + pause / 2.0;
            if has_dots && sectors.len() > 1 && sectors.len() <= 2 * MAX_NAMES {
                push_tip(&mut tips, &circle, between, 0.0);
            }
            angle = ends[1] + pause;
            rank += sector.ranks;
        }
        if !has_dots {
            (0..8).for_each(|at| push_tip(&mut tips, &circle, TAU * (f64::from(at) + 0.5) / 8.0, -14.0));
        }
        if !spans.is_empty() {
            path(&mut svg, "span", &spans);
        }
        let (class_of_shapes, stroke) = if has_dots { ("dots", 2.0 * dot) } else { ("arc", 14.0) };
        for (shapes, class) in [(gpus, "gpu"), (ranks, "rank")] {
            if !shapes.is_empty() {
                let _ = write!(
                    svg,
                    "<path d='{shapes}' class='{class_of_shapes} {class}' stroke-width='{}'/>",
                    tenths(stroke)
                );
            }
        }
        if !tips.is_empty() {
            path(&mut svg, "tip", &tips);
        }
        let [on_ranks, on_gpus] = numbers;
        on_gpus.write(&mut svg, "in");
        on_ranks.write(&mut svg, "in dark");
        self.write_centre(&mut svg, size, is_ordered);
        svg.push_str(&names);
        let item = self.add("ring", x, svg);
        item.tip = Some(
            "Ring allreduce: each process passes gradients to the next one. NCCL orders the GPUs of a worker by their \
             links, and uses trees for small messages."
                .to_owned(),
        );
    }

    /// Writes a text into the middle of the ring. The text names the data that passes from rank to rank.
    fn write_centre(&self, svg: &mut String, size: u32, is_ordered: bool) {
        let over = self.connection(Peer::Workers, Peer::Workers).unwrap_or_default();
        let text =
            format!("{over} pass from rank to rank{}", if is_ordered { "" } else { "; the run sets their order" });
        let lines = wrap(&text, size * 44 / 100, 11, 5);
        let mut y = size / 2 - u32::try_from(lines.len()).unwrap_or_default() * 7;
        label(svg, size / 2, y, "strong middle", &count(self.report.ranks, "rank"));
        for line in lines {
            y += 15;
            label(svg, size / 2, y, "small middle", &line);
        }
    }
}

/// The sine and cosine of an angle, with an error below 1e-6, for lengths that are rounded to a tenth of a pixel. The functions of
/// the standard library, which are exact for every number, would add 8 KB to the page's module.
fn sin_cos(angle: f64) -> (f64, f64) {
    let quarters = (angle / FRAC_PI_2).round();
    // At most an eighth of a turn, for which a few terms of the Taylor series are enough.
    let rest = angle - quarters * FRAC_PI_2;
    let square = rest * rest;
    let sin = rest * (1.0 - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0)));
    let cos = 1.0 - square / 2.0 * (1.0 - square / 12.0 * (1.0 - square / 30.0 * (1.0 - square / 56.0)));
    match quarters.rem_euclid(4.0) {
        0.0 => (sin, cos),
        1.0 => (cos, -sin),
        2.0 => (-sin, -cos),
        _ => (-cos, sin),
    }
}

/// Moves both ends of an arc inwards.
fn inset([from, to]: [f64; 2], by: f64) -> [f64; 2] {
    [from + by, to - by]
}

/// Adds an arrow head that points clockwise.
fn push_tip(tips: &mut String, circle: &Circle, angle: f64, distance: f64) {
    let ahead = 5.0 / circle.radius;
    let (x, y) = circle.at(angle + ahead, distance);
    let [(outer_x, outer_y), (inner_x, inner_y)] = [4.0, -4.0].map(|by| circle.at(angle - ahead, distance + by));
    let [x, y, outer_x, outer_y, inner_x, inner_y] = [x, y, outer_x, outer_y, inner_x, inner_y].map(tenths);
    let _ = write!(tips, "M{x} {y}L{outer_x} {outer_y} {inner_x} {inner_y}z");
}

/// Writes the name of a worker outside its arc.
fn place_name(svg: &mut String, circle: &Circle, angle: f64, name: &str, size: u32) {
    let (x, y) = circle.at(angle, 26.0);
    let _ = write!(
        svg,
        "<text x='{}' y='{}' class='small middle'>{}</text>",
        tenths(x.min(f64::from(size) - 10.0).max(10.0)),
        tenths(y + 4.0),
        Escaped(name)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sines_are_those_of_the_standard_library() {
        for step in -400..1_000 {
            let angle = f64::from(step) / 100.0;
            let (sin, cos) = sin_cos(angle);
            assert!((sin - angle.sin()).abs() < 1e-6 && (cos - angle.cos()).abs() < 1e-6, "{angle}: {sin}, {cos}");
        }
    }
}

//! The frames around workers: the domains of the network in which they run together, the ComputeDomain of multi-node NVLink, and
//! the gang whose pods start together.

use super::elements::{label, rect};
use super::layout::{GAP, Layout, MAX_GROUPS};
use super::text::{count, fit};
use super::workers::Area;
use crate::report::{Domain, Workers};

/// The distance between the frame of all workers and its content, on each side.
const INSET: u32 = 8;
/// The height of the name of a frame.
const NAME_HEIGHT: u32 = 22;
/// At most this many slices of a group get a frame, and only if the group has at most [`MAX_WORKERS`] workers.
const MAX_SLICES: u32 = 50;
const MAX_WORKERS: u32 = 100;

/// A frame around all workers of a job.
pub struct Frame {
    /// The name, as a phrase.
    pub text: String,
    class: &'static str,
    field: &'static str,
}

/// The name of a domain of a level: `rack`, `NVLink domain`.
fn name(level: &str) -> String {
    match level {
        "nvlink" => "NVLink domain".to_owned(),
        "host" => "node".to_owned(),
        "rack" | "block" | "zone" | "region" => level.to_owned(),
        label => format!("domain of {label}"),
    }
}

impl Layout<'_> {
    /// The frames around all workers, the outermost first.
    pub fn frames(&self) -> Vec<Frame> {
        let report = self.report;
        if self.is_batch {
            return Vec::new();
        }
        let mut frames = Vec::new();
        if let Some(gang) = &report.gang {
            let text = format!("gang of {}: they start together or not at all ({})", gang.by, count(gang.pods, "pod"));
            frames.push(Frame { text, class: "gang", field: "spec.scheduling.gang" });
        }
        let mut has_nvlink = report.nvlink;
        for domain in report.domains.iter().filter(|domain| domain.workers.is_none()) {
            let strength = if domain.required { "required" } else { "preferred" };
            let is_nvlink = domain.level == "nvlink";
            let more = if is_nvlink && has_nvlink { ", connected by a ComputeDomain" } else { "" };
            has_nvlink &= !is_nvlink;
            let text = format!("one {}, {strength}{more}", name(&domain.level));
            let class = match (is_nvlink, domain.required) {
                (true, _) => "domain nvlink",
                (false, true) => "domain",
                (false, false) => "domain preferred",
            };
            frames.push(Frame { text, class, field: "spec.placement.topology" });
        }
        if has_nvlink {
            let text = "NVLink between nodes: a ComputeDomain".to_owned();
            frames.push(Frame { text, class: "domain nvlink", field: "spec.workers.computeDomain" });
        }
        frames
    }

    /// Places the groups of workers inside the frames around all of them.
    pub fn place_frames(&mut self) {
        let frames = self.frames();
        let first = self.items.len();
        let mut tops = Vec::new();
        for _ in &frames {
            tops.push(self.y);
            self.y += NAME_HEIGHT;
            self.inset += INSET;
        }
        for index in 0..self.report.workers.len().min(MAX_GROUPS) {
            self.place_workers(index);
            self.y += GAP;
        }
        // From the innermost frame to the outermost, because each frame is added in front of the frames inside it.
        for (index, (frame, top)) in frames.iter().zip(tops).enumerate().rev() {
            self.inset -= INSET;
            // The last group of workers ends with a gap.
            let bottom = self.y - if index + 1 == frames.len() { GAP - INSET } else { 0 };
            let width = self.inner - 2 * self.inset;
            let mut svg = String::new();
            rect(&mut svg, 0, [width, bottom - top], 10, frame.class);
            label(&mut svg, GAP, 15, "small", &fit(&frame.text, width - 2 * GAP, 11));
            let x = GAP + self.inset;
            let item = self.add(format!("frame {index}"), x, svg);
            item.y = top;
            item.tip = Some(frame.text.clone());
            item.field = Some(frame.field.to_owned());
            self.items[first..].rotate_right(1);
            self.y = bottom + if index == 0 { GAP } else { INSET };
        }
    }

    /// The domain of each slice of workers and the number of workers in it, if the slices of a group are drawn.
    pub fn slices(&self, workers: u32) -> Option<(&Domain, u32)> {
        let domain = self.report.domains.iter().find(|domain| domain.workers.is_some())?;
        let size = domain.workers?.max(1);
        let is_drawn = !self.is_batch && workers <= MAX_WORKERS && workers.div_ceil(size) <= MAX_SLICES;
        is_drawn.then_some((domain, size))
    }

    /// Places the workers of a group in frames of `size` workers, one per slice. `cell` is the width of a worker.
    pub fn place_slices(&mut self, group: &Workers, team: usize, [size, workers]: [u32; 2], cell: u32) {
        let level = self.slices(workers).map_or_else(String::new, |(domain, _)| name(&domain.level));
        let Area { x: left, width: room } = self.area();
        let slices = workers.div_ceil(size);
        // A slice has as many columns as rows, if there is room.
        let columns = size.min(workers).isqrt().max(size.min(2));
        let wanted = columns * (cell + INSET) + INSET;
        let most = ((room + INSET) / (wanted + INSET)).clamp(1, slices);
        let in_row = slices.div_ceil(slices.div_ceil(most));
        let width = (room - INSET * (in_row - 1)) / in_row;
        let mut bottom = self.y;
        let mut top = self.y;
        for slice in 0..slices {
            if slice % in_row == 0 {
                top = if slice == 0 { self.y } else { bottom + INSET };
            }
            let x = left + slice % in_row * (width + INSET);
            let first = self.items.len();
            self.y = top + NAME_HEIGHT;
            let range = slice * size..((slice + 1) * size).min(workers);
            self.place_range(group, team, range, Area { x: x + INSET, width: width - 2 * INSET });
            self.y += INSET;
            bottom = bottom.max(self.y);
            let height = self.y - top;
            let mut svg = String::new();
            rect(&mut svg, 0, [width, height], 8, "domain");
            label(&mut svg, INSET + 2, 15, "small", &fit(&format!("{level} {}", letter(slice)), width - 2 * INSET, 11));
            let item = self.add(format!("slice {team} {slice}"), x, svg);
            item.y = top;
            item.tip = Some(format!("these workers run in one {level}, which other slices may share"));
            item.field = Some("spec.placement.topology".to_owned());
            self.items[first..].rotate_right(1);
        }
        self.y = bottom;
    }
}

/// The name of a slice: A to Z, then AA to AZ and BA to BX. Numbers would look like those of real racks.
fn letter(index: u32) -> String {
    let one = |index: u32| char::from_u32(u32::from(b'A') + index % 26).unwrap_or('A');
    if index < 26 { one(index).to_string() } else { [one(index / 26 - 1), one(index)].iter().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slice_has_its_own_letters() {
        let names: Vec<_> = [0, 25, 26, 49].map(letter).into();
        assert_eq!(names, ["A", "Z", "AA", "AX"]);
    }
}

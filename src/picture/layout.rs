//! [`Report`] → [`Picture`]: places the parts of a job, from top to bottom. The module `workers` places the groups of
//! workers.

use std::fmt::Write;

use khorovod_compiler::targets::SCRIPT;

use super::elements::{label, path, rect};
use super::text::{and_spares, count, fit, fit_middle, number, wrap};
use super::{Item, Picture};
use crate::report::{Peer, Report, Storage};

/// The distance between parts, and between a frame and its content.
pub const GAP: u32 = 12;
/// At most this many volumes are drawn.
const MAX_VOLUMES: usize = 60;
/// At most this many groups of workers are drawn.
pub const MAX_GROUPS: usize = 100;
/// The height of the card of a pod or of the API.
const CARD_HEIGHT: u32 = 62;
/// If the frame is at least this wide, the ring is to the right of the launcher. Otherwise it is below the workers.
const TWO_COLUMNS: u32 = 520;
/// The distance between rows of volumes.
const VOLUME_PITCH: u32 = 70;

/// A picture that is being drawn from top to bottom.
pub struct Layout<'a> {
    pub report: &'a Report,
    /// Whether the job is for a batch system, which has neither pods nor NetworkPolicies.
    pub is_batch: bool,
    /// The width between the sides of the outer frame.
    pub inner: u32,
    /// The distance from the workers to the outermost of the frames around them, on the left and on the right. These are the
    /// frames of domains and of the gang.
    pub inset: u32,
    pub items: Vec<Item>,
    /// Where the next part starts.
    pub y: u32,
    /// The number of jobs in the picture. The maximum number of squares is divided between them.
    pub jobs: u64,
}

/// Draws one job. `width` is at least [`MIN_WIDTH`](super::MIN_WIDTH), and `jobs` is the number of jobs in the picture.
pub fn picture(report: &Report, width: u32, jobs: usize) -> Picture {
    let is_batch = report.objects.iter().any(|object| object.kind == SCRIPT);
    let inner = width - 2 * GAP;
    let mut layout = Layout { report, is_batch, inner, inset: 0, items: Vec::new(), y: 58, jobs: jobs.max(1) as u64 };
    layout.place_title(width);
    layout.place_access();
    let ring =
        layout.has_ring().then_some(if inner < TWO_COLUMNS { inner.min(300) } else { (inner * 40 / 100).min(400) });
    let beside = ring.filter(|_| inner >= TWO_COLUMNS);
    if let Some(size) = beside {
        let top = layout.y;
        layout.place_ring(GAP + inner - size, size);
        layout.place_column(inner - size - GAP, top + size);
    } else if report.head.own_pod {
        layout.place_launcher();
    }
    layout.place_frames();
    if let (Some(size), None) = (ring, beside) {
        layout.place_ring(GAP + (inner - size) / 2, size);
        layout.y += size + GAP;
    }
    layout.place_notes(beside.is_some());
    layout.place_volumes();
    let height = layout.y + 8;
    let mut fence = String::new();
    let class = if report.guarded || is_batch { "fence" } else { "fence open" };
    rect(&mut fence, 0, [width - 2, height - 26], 12, class);
    layout.y = 25;
    layout.add("frame", 1, fence);
    // The frame comes first, because later parts cover earlier ones.
    layout.items.rotate_right(1);
    let description = layout.description();
    Picture { width, height, description, items: layout.items }
}

impl<'a> Layout<'a> {
    /// Adds a part at `x`, where the next part starts.
    pub fn add(&mut self, key: impl Into<String>, x: u32, svg: String) -> &mut Item {
        let index = self.items.len();
        self.items.push(Item { job: 0, key: key.into(), x, y: self.y, svg, tip: None, field: None, grid: None });
        &mut self.items[index]
    }

    /// The purpose of the connection between two peers. None if the job has no such connection.
    pub fn connection(&self, from: Peer, to: Peer) -> Option<&'a str> {
        self.report.links.iter().find(|link| link.from == from && link.to == to).map(|link| link.over.as_str())
    }

    /// A description of the picture for screen readers.
    fn description(&self) -> String {
        let report = self.report;
        let launcher = if report.head.own_pod { "a launcher, " } else { "" };
        let mut text = format!("{}: {launcher}", report.job);
        for (index, group) in report.workers.iter().take(MAX_GROUPS).enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            let _ = write!(
                text,
                "{separator}{} with {} and {} each{}",
                count(group.replicas, "worker"),
                count(group.gpus, "GPU"),
                count(group.slots, "rank"),
                and_spares(group.spares)
            );
        }
        for frame in self.frames() {
            let _ = write!(text, "; {}", frame.text);
        }
        let _ = write!(text, "; {} in total", count(report.ranks, "rank"));
        text
    }

    fn place_title(&mut self, width: u32) {
        let Report { job, namespace, run, .. } = self.report;
        let namespace = namespace.as_ref().map_or(String::new(), |name| format!("{name} / "));
        let mut svg = String::new();
        label(&mut svg, 0, 0, "title", &fit(&format!("{namespace}{job}, run {run}"), width - 10, 14));
        let item = self.add("title", 4, svg);
        item.y = 14;
        item.field = Some("metadata.name".to_owned());
    }

    /// Places the line that describes which other pods may connect.
    fn place_access(&mut self) {
        let text = match self.connection(Peer::Others, Peer::Workers) {
            _ if self.is_batch => self.report.shape.to_owned(),
            None => "NetworkPolicy: only this job's pods may connect".to_owned(),
            Some(over) => format!("other pods may connect: {over}"),
        };
        let class = if self.report.guarded || self.is_batch { "small" } else { "small warn" };
        let mut svg = String::new();
        label(&mut svg, 0, 0, class, &fit(&text, self.inner, 11));
        self.add("fence", GAP, svg).y = 46;
    }

    /// Places the parts to the left of the ring: the launcher, the Kubernetes API below it, and the notes. `bottom` is
    /// where the ring ends.
    fn place_column(&mut self, width: u32, bottom: u32) {
        let report = self.report;
        let top = self.y;
        // The notes start to the right of the arrow from the launcher to the workers.
        let mut left = GAP;
        if report.head.own_pod {
            self.place_head(width);
            self.y += CARD_HEIGHT;
            left = GAP + 48;
            if let Some(over) = self.connection(Peer::Head, Peer::Api) {
                let api_width = (width * 46 / 100).min(260);
                let mut svg = String::new();
                path(&mut svg, "wire", "M0 2V14");
                path(&mut svg, "tip", "M0 20L-4 13H4Z");
                let x = GAP + width - api_width;
                self.add("api wire", x + api_width / 2, svg);
                self.y += 22;
                self.add("api", x, api_svg(over, api_width));
                // The notes start below the card of the API.
                self.y += CARD_HEIGHT;
            }
        }
        let launcher_end = if report.head.own_pod { top + CARD_HEIGHT } else { top };
        self.y += GAP;
        self.place_lines("notes", left, width + GAP - left);
        self.y = (self.y + GAP).max(bottom + GAP);
        if report.head.own_pod {
            let (end, length) = (self.y, self.y - launcher_end);
            let over = self.connection(Peer::Head, Peer::Workers).filter(|_| !self.is_batch).unwrap_or_default();
            let mut svg = String::new();
            path(&mut svg, "wire", &format!("M0 2V{}", length - 8));
            path(&mut svg, "tip", &format!("M0 {}L-4 {}H4Z", length - 3, length - 10));
            label(&mut svg, 12, 21, "small", &fit(over, width * 50 / 100, 11));
            self.y = launcher_end;
            self.add("ssh", GAP + 30, svg);
            self.y = end;
        }
    }

    /// Places the card of the launcher's pod.
    fn place_head(&mut self, card: u32) {
        let Report { head, launcher, .. } = self.report;
        let mut svg = String::new();
        rect(&mut svg, 0, [card, CARD_HEIGHT], 8, "pod head");
        label(&mut svg, 12, 21, "strong", "launcher");
        if head.ranks > 0 {
            label(&mut svg, card - 12, 21, "small end", &format!("runs {}", count(head.ranks, "rank")));
        }
        // The advice after the name of the program is left out. The plan prints it.
        let program = launcher.split_once(';').map_or(launcher.as_str(), |(program, _)| program);
        label(&mut svg, 12, 38, "", &fit(program, card - 24, 12));
        label(&mut svg, 12, 54, "small mono", &fit_middle(&head.host, card - 24, 11));
        let item = self.add("head", GAP, svg);
        item.tip = Some(head.host.clone());
        item.field = Some("spec.launcher".to_owned());
    }

    /// Places the launcher's pod, the API beside it, and the connection to the workers below.
    fn place_launcher(&mut self) {
        let api = self.connection(Peer::Head, Peer::Api);
        let api_width = if api.is_some() { (self.inner * 32 / 100).min(130) } else { 0 };
        let reserved = if api.is_some() { api_width + 40 } else { 0 };
        let card = self.inner - reserved;
        self.place_head(card);
        if let Some(over) = api {
            self.place_api(over, card, api_width);
        }
        self.y += CARD_HEIGHT;
        let start = if self.is_batch { None } else { self.connection(Peer::Head, Peer::Workers) };
        let mut svg = String::new();
        path(&mut svg, "wire", "M0 2V28");
        path(&mut svg, "tip", "M0 33L-4 26H4Z");
        label(&mut svg, 12, 21, "small", &fit(start.unwrap_or_default(), self.inner - 60, 11));
        self.add("ssh", GAP + 30, svg);
        self.y += 36;
    }

    /// Places the Kubernetes API to the right of the launcher, which has the width `card`.
    fn place_api(&mut self, over: &str, card: u32, width: u32) {
        let wire = self.inner - card - width;
        let mut svg = String::new();
        path(&mut svg, "wire", &format!("M0 31H{}", wire - 8));
        path(&mut svg, "tip", &format!("M{} 31l-7-4v8Z", wire - 4));
        let _ = write!(svg, r"<g transform='translate({wire})'>{}</g>", api_svg(over, width));
        self.add("api", GAP + card, svg);
    }

    /// Places the parts below the workers: the number of groups that are not shown, and the notes if they are not
    /// beside the ring.
    fn place_notes(&mut self, are_beside_ring: bool) {
        if let Some(hidden) = self.report.workers.get(MAX_GROUPS..).filter(|hidden| !hidden.is_empty()) {
            let sum = hidden.iter().map(|group| u64::from(group.replicas)).sum::<u64>();
            let text = format!("{} not shown: {}", count(hidden.len() as u64, "more group"), count(sum, "worker"));
            let mut svg = String::new();
            label(&mut svg, 0, 10, "small", &fit(&text, self.inner, 11));
            self.add("more groups", GAP, svg);
            self.y += 22;
        }
        if !are_beside_ring {
            self.place_lines("notes", GAP, self.inner);
            self.y += GAP;
        }
    }

    /// Places the notes about the job as lines of text.
    fn place_lines(&mut self, key: &str, x: u32, width: u32) {
        let Report { apart, elastic, head, nodes, .. } = self.report;
        let mut notes = Vec::new();
        let start = self.connection(Peer::Workers, Peer::Head).or(self.connection(Peer::Head, Peer::Workers));
        if let Some(over) = start.filter(|_| !head.own_pod && !self.is_batch) {
            notes.push(format!("worker 0 launches: {over}"));
        }
        if !self.is_batch {
            let frame = if *apart && self.shows_cards() { " (outer frames)" } else { "" };
            notes.push(format!("nodes{frame}: {nodes}"));
        }
        if let Some((least, most)) = elastic {
            let is_growing = self.report.workers.iter().any(|group| self.ghosts(group) > 0);
            let dashed = if is_growing { "; dashed: not there yet" } else { "" };
            notes.push(format!("elastic: {} to {}{dashed}", number(*least), count(*most, "worker")));
        }
        let mut svg = String::new();
        let mut y = 10;
        for line in notes.iter().flat_map(|note| wrap(note, width, 11, 3)) {
            label(&mut svg, 0, y, "small", &line);
            y += 16;
        }
        self.add(key, x, svg);
        self.y += y - 10;
    }

    fn place_volumes(&mut self) {
        let storage = &self.report.storage;
        let shown = storage.len().min(MAX_VOLUMES);
        if shown == 0 {
            return;
        }
        let number_shown = u32::try_from(shown).unwrap_or(u32::MAX);
        let columns = ((self.inner + GAP) / (200 + GAP)).max(1);
        let in_row = columns.min(number_shown);
        // The width is even, because half of it is a radius.
        let widest = if columns == 1 { 420 } else { 320 };
        let width = ((self.inner - GAP * (in_row - 1)) / in_row).min(widest) & !1;
        for (index, volume) in (0..).zip(&storage[..shown]) {
            let item =
                self.add(format!("volume {index}"), GAP + index % columns * (width + GAP), volume_svg(volume, width));
            item.y += index / columns * VOLUME_PITCH;
            item.tip = Some(source(volume));
            item.field = Some(format!("spec.storage[{index}]"));
        }
        self.y += number_shown.div_ceil(columns) * VOLUME_PITCH;
        if storage.len() > shown {
            let mut svg = String::new();
            let hidden = (storage.len() - shown) as u64;
            label(&mut svg, 0, 10, "small", &format!("{} not shown", count(hidden, "more volume")));
            self.add("more volumes", GAP, svg);
            self.y += 16;
        }
    }
}

/// The card of the Kubernetes API.
fn api_svg(over: &str, width: u32) -> String {
    let mut svg = String::new();
    rect(&mut svg, 0, [width, CARD_HEIGHT], 8, "api");
    label(&mut svg, 10, 21, "strong", if width < 140 { "API" } else { "Kubernetes API" });
    let mut y = 38;
    for line in wrap(over, width - 18, 11, 2) {
        label(&mut svg, 10, y, "small", &line);
        y += 14;
    }
    svg
}

fn volume_svg(volume: &Storage, width: u32) -> String {
    let half = width / 2;
    let mut svg = String::new();
    path(&mut svg, "volume", &format!("M0 8V50A{half} 8 0 0 0 {width} 50V8"));
    let _ = write!(svg, r"<ellipse cx='{half}' cy='8' rx='{half}' ry='8' class='volume'/>");
    label(&mut svg, 10, 31, "strong mono", &fit(&volume.mount_path, width - 20, 12));
    label(&mut svg, 10, 47, "small", &fit(&volume.source, width - 20, 11));
    svg
}

/// The tooltip of a volume: its source, and whether its data is lost with the job.
fn source(volume: &Storage) -> String {
    let loss = if volume.outlives_job { "" } else { " (deleted with its pod)" };
    format!("{}{loss}", volume.source)
}

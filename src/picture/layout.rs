//! [`Report`] → [`Picture`]: the parts of a job, from top to bottom. The groups of workers are in `workers`.

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
const MAX_GROUPS: usize = 100;
/// The size of a card of a pod or of the API.
const CARD_HEIGHT: u32 = 62;
/// The distance between rows of volumes.
const VOLUME_PITCH: u32 = 70;

/// A picture that is being drawn from top to bottom.
pub struct Layout<'a> {
    pub report: &'a Report,
    /// Whether the job is for a batch system, which has neither pods nor NetworkPolicies.
    pub is_batch: bool,
    /// The width between the sides of the outer frame.
    pub inner: u32,
    pub items: Vec<Item>,
    /// Where the next part starts.
    pub y: u32,
    /// Whether a worker is drawn as a card, whose frame is dashed if it has a node of its own.
    pub has_cards: bool,
}

/// Draws a job with a width of at least [`MIN_WIDTH`](super::MIN_WIDTH).
pub fn picture(report: &Report, width: u32) -> Picture {
    let is_batch = report.objects.iter().any(|object| object.kind == SCRIPT);
    let inner = width - 2 * GAP;
    let mut layout = Layout { report, is_batch, inner, items: Vec::new(), y: 58, has_cards: false };
    layout.place_title(width);
    layout.place_access();
    if report.head.own_pod {
        layout.place_launcher();
    }
    for index in 0..report.workers.len().min(MAX_GROUPS) {
        layout.place_workers(index);
        layout.y += GAP;
    }
    layout.place_notes();
    layout.place_volumes();
    Picture {
        width,
        height: layout.y + 8,
        description: description(report),
        guarded: report.guarded || is_batch,
        items: layout.items,
    }
}

/// A description of the picture for screen readers.
fn description(report: &Report) -> String {
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
    let _ = write!(text, "; {} in total", count(report.ranks, "rank"));
    text
}

impl<'a> Layout<'a> {
    /// Adds a part at `x`, where the next part starts.
    pub fn add(&mut self, key: impl Into<String>, x: u32, svg: String) -> &mut Item {
        let index = self.items.len();
        self.items.push(Item { key: key.into(), x, y: self.y, svg, tip: None, field: None });
        &mut self.items[index]
    }

    /// The purpose of a connection, if the job has it.
    fn connection(&self, from: Peer, to: Peer) -> Option<&'a str> {
        self.report.links.iter().find(|link| link.from == from && link.to == to).map(|link| link.over.as_str())
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

    /// Which other pods may connect.
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

    /// Places the launcher's pod, the API beside it, and the connection to the workers below.
    fn place_launcher(&mut self) {
        let Report { head, launcher, .. } = self.report;
        let api = self.connection(Peer::Head, Peer::Api);
        let api_width = if api.is_some() { (self.inner * 32 / 100).min(130) } else { 0 };
        let reserved = if api.is_some() { api_width + 76 } else { 0 };
        let card = (self.inner - reserved).min(360);
        let mut svg = String::new();
        rect(&mut svg, 0, [card, CARD_HEIGHT], 8, "pod head");
        label(&mut svg, 12, 21, "strong", "launcher");
        if head.ranks > 0 {
            label(&mut svg, card - 12, 21, "small end", &format!("runs {}", count(head.ranks, "rank")));
        }
        label(&mut svg, 12, 38, "", &fit(launcher, card - 24, 12));
        label(&mut svg, 12, 54, "small mono", &fit_middle(&head.host, card - 24, 11));
        let item = self.add("head", GAP, svg);
        item.tip = Some(head.host.clone());
        item.field = Some("spec.launcher".to_owned());
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
        let _ = write!(svg, r"<g transform='translate({wire})'>");
        rect(&mut svg, 0, [width, CARD_HEIGHT], 8, "api");
        label(&mut svg, 10, 21, "strong", "API");
        let mut y = 38;
        for line in wrap(over, width - 18, 11, 2) {
            label(&mut svg, 10, y, "small", &line);
            y += 14;
        }
        svg.push_str("</g>");
        self.add("api", GAP + card, svg);
    }

    fn place_notes(&mut self) {
        let Report { apart, elastic, head, nodes, ranks, workers, .. } = self.report;
        let mut notes = Vec::new();
        if let Some(hidden) = workers.get(MAX_GROUPS..).filter(|hidden| !hidden.is_empty()) {
            let sum = hidden.iter().map(|group| u64::from(group.replicas)).sum::<u64>();
            notes.push(format!("{} not shown: {}", count(hidden.len() as u64, "more group"), count(sum, "worker")));
        }
        if let Some(over) = self.connection(Peer::Workers, Peer::Workers).filter(|_| *ranks > 1) {
            notes.push(format!("⟲ {over} between all ranks"));
        }
        let start = self.connection(Peer::Workers, Peer::Head).or(self.connection(Peer::Head, Peer::Workers));
        if let Some(over) = start.filter(|_| !head.own_pod && !self.is_batch) {
            notes.push(format!("worker 0 launches: {over}"));
        }
        if !self.is_batch {
            let dashed = if *apart && self.has_cards { " (dashed)" } else { "" };
            notes.push(format!("nodes{dashed}: {nodes}"));
        }
        if let Some((least, most)) = elastic {
            notes.push(format!("elastic: {} to {}", number(*least), count(*most, "worker")));
        }
        let mut svg = String::new();
        let mut y = 10;
        for line in notes.iter().flat_map(|note| wrap(note, self.inner, 11, 3)) {
            label(&mut svg, 0, y, "small", &line);
            y += 16;
        }
        self.add("notes", GAP, svg);
        self.y += y - 4;
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
        let widest = if columns == 1 { 420 } else { 320 };
        // Even, because half of it is a radius.
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

fn volume_svg(volume: &Storage, width: u32) -> String {
    let half = width / 2;
    let mut svg = String::new();
    path(&mut svg, "volume", &format!("M0 8V50A{half} 8 0 0 0 {width} 50V8"));
    let _ = write!(svg, r"<ellipse cx='{half}' cy='8' rx='{half}' ry='8' class='volume'/>");
    label(&mut svg, 10, 31, "strong mono", &fit(&volume.mount_path, width - 20, 12));
    label(&mut svg, 10, 47, "small", &fit(&volume.source, width - 20, 11));
    svg
}

/// The source of a volume, and whether its data is lost.
fn source(volume: &Storage) -> String {
    let loss = if volume.outlives_job { "" } else { " (deleted with its pod)" };
    format!("{}{loss}", volume.source)
}

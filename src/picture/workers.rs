//! The groups of workers in a picture. A group is a frame with one card, tile or square per worker; in a very large group
//! each square stands for several workers.

use std::fmt::Write;

use super::elements::{label, path, rect};
use super::layout::{GAP, Layout};
use super::text::{and_spares, count, fit, number, wrap};
use crate::report::Workers;

/// A group with at most this many workers shows each as a card, with its GPUs and ranks.
const MAX_CARDS: u32 = 12;
/// A larger group with at most this many workers shows each as a tile, with its number.
const MAX_TILES: u32 = 48;
/// A job with more groups than this shows all workers as squares.
const MAX_DETAILED_GROUPS: usize = 24;
/// At most this many squares are drawn for all groups together, except that each group may have [`MIN_SQUARES`].
const MAX_SQUARES: u64 = 2_000;
/// The limit for the squares of one group is never less than this, however many groups there are.
const MIN_SQUARES: u64 = 20;
/// A card shows at most this many GPUs or ranks as squares; more are shown as a number.
const MAX_CELLS: u32 = 16;
/// The distance between two cells, and the side of a cell.
const CELL_PITCH: u32 = 24;
const CELL: u32 = 20;
/// The distance between the digits in a cell, in tenths of a pixel.
const DIGIT: u32 = 66;
/// The distance between tiles, and their height.
const TILE_GAP: u32 = 6;
const TILE_HEIGHT: u32 = 40;

/// The ranks of a worker: `ranks 8–15`.
fn ranks_of(group: &Workers, index: u32) -> String {
    match first_rank(group, index) {
        None => count(group.slots, "rank"),
        Some(first) if group.slots == 1 => format!("rank {first}"),
        Some(first) => format!("ranks {first}–{}", first + u64::from(group.slots) - 1),
    }
}

/// The first rank of a worker, if ranks are numbered host by host.
fn first_rank(group: &Workers, index: u32) -> Option<u64> {
    group.first_rank.map(|first| u64::from(first) + u64::from(index) * u64::from(group.slots))
}

/// The tooltip of a worker: its host name and its ranks. The host name is that of the first worker with another number.
fn tip(group: &Workers, index: u32) -> String {
    let host = group.hosts.0.replacen("-0.", &format!("-{index}."), 1);
    format!("{host}: {}", ranks_of(group, index))
}

impl Layout<'_> {
    /// Places the group with this index, in its frame.
    pub fn place_workers(&mut self, index: usize) {
        let group = &self.report.workers[index];
        let (first, top) = (self.items.len(), self.y);
        self.y += 34;
        let is_detailed = self.report.workers.len() <= MAX_DETAILED_GROUPS;
        match group.replicas {
            ..=MAX_CARDS if is_detailed => self.place_cards(group, index),
            ..=MAX_TILES if is_detailed => self.place_tiles(group, index),
            _ => self.place_squares(group, index),
        }
        self.y += GAP;

        let of_each = if group.gpus > 0 { count(group.gpus, "GPU") } else { count(group.slots, "rank") };
        let name = group.group.as_deref().unwrap_or("workers");
        let title = format!("{name}: {} × {of_each}{}", number(group.replicas), and_spares(group.spares));
        let total = |workers: u32, each: u32| u64::from(workers) * u64::from(each);
        let all = group.replicas.saturating_add(group.spares);
        let gpus = if group.gpus > 0 { count(total(all, group.gpus), "GPU") } else { "no GPUs".to_owned() };
        let sum = format!("{gpus}, {}", count(total(group.replicas, group.slots), "rank"));
        let inner = self.inner;
        let mut svg = String::new();
        rect(&mut svg, 0, [inner, self.y - top], 10, "team");
        label(&mut svg, GAP, 22, "strong", &fit(&title, inner * 55 / 100, 12));
        label(&mut svg, inner - GAP, 22, "small end", &fit(&sum, inner * 42 / 100, 11));
        let item = self.add(format!("team {index}"), GAP, svg);
        item.y = top;
        item.tip = Some(group.workload.clone());
        item.field = Some(group.origin.clone());
        // The frame is drawn before, and so behind, what is in it.
        self.items[first..].rotate_right(1);
    }

    /// The width inside the frame of a group.
    fn room(&self) -> u32 {
        self.inner - 2 * GAP
    }

    fn place_cards(&mut self, group: &Workers, team: usize) {
        self.has_cards = true;
        let room = self.room();
        let cells = if group.gpus > 0 { group.gpus } else { group.slots };
        // Whether each cell has a rank of its own.
        let is_own = group.gpus == 0 || group.gpus == group.slots;
        let has_cells = cells <= MAX_CELLS;
        let least = if has_cells { (cells.min(8) * CELL_PITCH + 22).max(132) } else { 150 };
        let most_columns = ((room + GAP) / (least.min(room) + GAP)).clamp(1, group.replicas.max(1));
        // As many in each row as in the others: 4 are 2 and 2, not 3 and 1.
        let rows = group.replicas.div_ceil(most_columns);
        let columns = group.replicas.div_ceil(rows.max(1)).max(1);
        let widest = if columns == 1 { 420 } else { 340 };
        let width = ((room - GAP * (columns - 1)) / columns).min(widest);
        let cells_in_row = ((width - 20) / CELL_PITCH).clamp(1, 8);
        let cell_rows = if has_cells { cells.div_ceil(cells_in_row) } else { 1 };
        let has_line = !(is_own && has_cells);
        let height = 42 + cell_rows * CELL_PITCH + if has_line { 16 } else { 0 };
        for index in 0..group.replicas {
            let is_launching = !self.report.head.own_pod && index == 0 && team == 0 && !self.is_batch;
            let mut svg = String::new();
            rect(
                &mut svg,
                0,
                [width, height],
                8,
                if self.report.apart && !self.is_batch { "node apart" } else { "node" },
            );
            rect(&mut svg, 4, [width - 8, height - 8], 6, if is_launching { "pod head" } else { "pod" });
            let launches = if is_launching { ", launches" } else { "" };
            label(&mut svg, 12, 23, "strong", &fit(&format!("worker {index}{launches}"), width - 20, 12));
            if has_cells {
                let first = first_rank(group, index).filter(|_| is_own);
                draw_cells(&mut svg, group.gpus > 0, cells, cells_in_row, first);
            } else {
                label(&mut svg, 12, 46, "", &count(cells, if group.gpus > 0 { "GPU" } else { "rank" }));
            }
            if has_line {
                label(&mut svg, 12, height - 13, "small", &fit(&ranks_of(group, index), width - 24, 11));
            }
            let item = self.add(format!("worker {team} {index}"), 2 * GAP + index % columns * (width + GAP), svg);
            item.y += index / columns * (height + GAP);
            item.tip = Some(tip(group, index));
        }
        self.y += rows * (height + GAP) - GAP;
    }

    fn place_tiles(&mut self, group: &Workers, team: usize) {
        let room = self.room();
        let columns = ((room + TILE_GAP) / (86 + TILE_GAP)).max(1);
        let width = (room - TILE_GAP * (columns - 1)) / columns;
        let (class, dark) = if group.gpus > 0 { ("gpu", "") } else { ("rank", " dark") };
        for index in 0..group.replicas {
            let mut svg = String::new();
            rect(&mut svg, 0, [width, TILE_HEIGHT], 6, class);
            label(&mut svg, 8, 17, &format!("in{dark} left strong"), &index.to_string());
            label(&mut svg, 8, 32, &format!("in{dark} left"), &fit(&ranks_of(group, index), width - 10, 10));
            let item = self.add(format!("worker {team} {index}"), 2 * GAP + index % columns * (width + TILE_GAP), svg);
            item.y += index / columns * (TILE_HEIGHT + TILE_GAP);
            item.tip = Some(tip(group, index));
        }
        self.y += group.replicas.div_ceil(columns) * (TILE_HEIGHT + TILE_GAP) - TILE_GAP;
    }

    /// Places a grid of squares, each for one worker, or for ten, a hundred or a thousand.
    fn place_squares(&mut self, group: &Workers, team: usize) {
        let room = self.room();
        let most = (MAX_SQUARES / self.report.workers.len() as u64).max(MIN_SQUARES);
        let mut workers_each = 1;
        while u64::from(group.replicas).div_ceil(workers_each) > most {
            workers_each *= 10;
        }
        let squares = u32::try_from(u64::from(group.replicas).div_ceil(workers_each)).unwrap_or(u32::MAX).max(1);
        let pitch = (room * 260 / squares).isqrt().clamp(5, 18);
        let columns = room / pitch;
        let side = pitch - if pitch > 8 { 3 } else { 1 };
        let mut squares_path = String::new();
        for index in 0..squares {
            let (x, y) = (index % columns * pitch, index / columns * pitch);
            let _ = write!(squares_path, "M{x} {y}h{side}v{side}h-{side}z");
        }
        let mut svg = String::new();
        path(&mut svg, if group.gpus > 0 { "gpu" } else { "rank" }, &squares_path);
        let workers = if workers_each == 1 { "worker".to_owned() } else { count(workers_each, "worker") };
        let last = group.replicas.saturating_sub(1);
        let legend = format!(
            "one square per {workers}; worker 0: {}, worker {last}: {}",
            ranks_of(group, 0),
            ranks_of(group, last)
        );
        let mut height = squares.div_ceil(columns) * pitch + 3;
        for line in wrap(&legend, room, 11, 3) {
            label(&mut svg, 0, height + 10, "small", &line);
            height += 15;
        }
        self.add(format!("grid {team}"), 2 * GAP, svg).tip = Some(format!("{} … {}", group.hosts.0, group.hosts.1));
        self.y += height;
    }
}

/// Draws the GPUs of a worker, or its ranks if it has no GPUs, as one path. With the first rank, each has its rank in it: all
/// numbers are one text that places each digit, because texts are what takes a browser longest.
fn draw_cells(svg: &mut String, are_gpus: bool, cells: u32, in_row: u32, first_rank: Option<u64>) {
    let radius = if are_gpus { 4 } else { 10 };
    let side = CELL - 2 * radius;
    let cell_path = format!(
        "h{side}a{radius} {radius} 0 0 1 {radius} {radius}v{side}a{radius} {radius} 0 0 1-{radius} {radius}\
         h-{side}a{radius} {radius} 0 0 1-{radius}-{radius}v-{side}a{radius} {radius} 0 0 1 {radius}-{radius}z"
    );
    let (mut shape, mut digits, mut xs, mut ys) = (String::new(), String::new(), String::new(), String::new());
    for cell in 0..cells {
        let (x, y) = (12 + cell % in_row * CELL_PITCH, 33 + cell / in_row * CELL_PITCH);
        let _ = write!(shape, "M{} {y}{cell_path}", x + radius);
        let rank = first_rank.map_or(String::new(), |first| (first + u64::from(cell)).to_string());
        if rank.len() > 3 {
            continue;
        }
        digits.push_str(&rank);
        let length: u32 = rank.bytes().map(|_| 1).sum();
        for (index, _) in (0..).zip(rank.bytes()) {
            // The middle of the first digit, then one digit after the other. In tenths of a pixel.
            let start = (x + CELL / 2) * 10 + DIGIT / 2 - length * DIGIT / 2;
            let digit: u32 = start + index * DIGIT;
            let _ = write!(xs, "{}.{} ", digit / 10, digit % 10);
            let _ = write!(ys, "{} ", y + 14);
        }
    }
    path(svg, if are_gpus { "gpu" } else { "rank" }, &shape);
    if !digits.is_empty() {
        let dark = if are_gpus { "" } else { " dark" };
        let _ = write!(
            svg,
            r"<text x='{}' y='{}' class='in{dark} middle' aria-hidden='true'>{digits}</text>",
            xs.trim_end(),
            ys.trim_end()
        );
    }
}

//! The groups of workers in a picture. A group is a frame with one card, tile or square per worker; in a very large group
//! each square stands for several workers.

use std::fmt::Write;
use std::ops::Range;

use super::Grid;
use super::elements::{Numbers, label, path, rect};
use super::layout::{GAP, Layout};
use super::text::{and_spares, count, fit, number, wrap};
use crate::report::Workers;

/// A group with at most this many workers shows each worker as a card, with its GPUs and ranks.
const MAX_CARDS: u32 = 12;
/// A larger group with at most this many workers shows each worker as a tile, with its number.
const MAX_TILES: u32 = 48;
/// A job with more groups than this shows all workers as squares.
const MAX_DETAILED_GROUPS: usize = 24;
/// The maximum number of squares in all groups together. Each group may have [`MIN_SQUARES`] in any case.
const MAX_SQUARES: u64 = 2_000;
/// Each group may have this many squares, even if there are many groups.
const MIN_SQUARES: u64 = 20;
/// A card shows at most this many GPUs or ranks as squares; more are shown as a number.
const MAX_CELLS: u32 = 16;
/// The smallest side of a cell, and the distance between two cells.
const CELL: u32 = 20;
const CELL_GAP: u32 = 4;
/// The maximum width of a card, unless there is only one card.
const WIDEST: u32 = 640;
/// The width of a card without cells. The frames of slices leave the same width for each card.
const CARD_WIDTH: u32 = 150;
/// Cards get as few columns as possible, so that each card is wide. But the rows of cards must fit into this height.
const ROWS_HEIGHT: u32 = 300;
/// If the distance between squares is at least this, each square shows the number of its worker.
const NUMBERED_PITCH: u32 = 26;
/// The distance between tiles, their smallest width, and their height.
const TILE_GAP: u32 = 6;
const TILE_WIDTH: u32 = 86;
const TILE_HEIGHT: u32 = 40;

/// The horizontal extent in which workers are placed.
#[derive(Clone, Copy)]
pub struct Area {
    pub x: u32,
    pub width: u32,
}

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

/// The host name of a worker, made from the host name of the first worker by replacing the number.
fn host(group: &Workers, index: u32) -> String {
    group.hosts.0.replacen("-0.", &format!("-{index}."), 1)
}

impl Layout<'_> {
    /// Places the group with this index, in its frame.
    pub fn place_workers(&mut self, index: usize) {
        let group = &self.report.workers[index];
        let (first, top) = (self.items.len(), self.y);
        self.y += 34;
        let is_detailed = self.report.workers.len() <= MAX_DETAILED_GROUPS;
        let all = self.all_workers(group);
        match self.slices(all).filter(|_| is_detailed) {
            Some((_, size)) => {
                let cell = if all <= MAX_CARDS { CARD_WIDTH } else { TILE_WIDTH };
                self.place_slices(group, index, [size, all], cell);
            }
            None if is_detailed && all <= MAX_TILES => self.place_range(group, index, 0..all, self.area()),
            None => self.place_squares(group, index),
        }
        self.y += GAP;

        let of_each = if group.gpus > 0 { count(group.gpus, "GPU") } else { count(group.slots, "rank") };
        let name = group.group.as_deref().unwrap_or("workers");
        let more = match self.report.elastic {
            Some((_, most)) if most > group.replicas => format!(", up to {} workers", number(most)),
            _ => and_spares(group.spares),
        };
        let title = format!("{name}: {} × {of_each}{more}", number(group.replicas));
        let total = |workers: u32, each: u32| u64::from(workers) * u64::from(each);
        let all = group.replicas.saturating_add(group.spares);
        let gpus = if group.gpus > 0 { count(total(all, group.gpus), "GPU") } else { "no GPUs".to_owned() };
        let sum = format!("{gpus}, {}", count(total(group.replicas, group.slots), "rank"));
        let inner = self.inner - 2 * self.inset;
        let mut svg = String::new();
        rect(&mut svg, 0, [inner, self.y - top], 10, "team");
        label(&mut svg, GAP, 22, "strong", &fit(&title, inner * 55 / 100, 12));
        label(&mut svg, inner - GAP, 22, "small end", &fit(&sum, inner * 42 / 100, 11));
        let item = self.add(format!("team {index}"), GAP + self.inset, svg);
        item.y = top;
        item.tip = Some(group.workload.clone());
        item.field = Some(group.origin.clone());
        // The frame comes before its content, because later parts cover earlier ones.
        self.items[first..].rotate_right(1);
    }

    /// The area inside the frame of a group.
    pub fn area(&self) -> Area {
        Area { x: self.inset + 2 * GAP, width: self.inner - 2 * (self.inset + GAP) }
    }

    /// Places some workers of a group as cards or as tiles.
    pub fn place_range(&mut self, group: &Workers, team: usize, workers: Range<u32>, area: Area) {
        if self.all_workers(group) <= MAX_CARDS {
            self.place_cards(group, team, workers, area);
        } else {
            self.place_tiles(group, team, workers, area);
        }
    }

    fn place_cards(&mut self, group: &Workers, team: usize, workers: Range<u32>, area: Area) {
        let apart = self.report.apart && !self.is_batch;
        let (first, shown) = (workers.start, workers.end - workers.start);
        let card = Card::new(group, area.width, shown);
        let Card { columns, width, height, .. } = card;
        for index in workers {
            let place = index - first;
            let is_ghost = index >= group.replicas;
            let is_launching = self.launches(team, index);
            let mut svg = String::new();
            if is_ghost {
                rect(&mut svg, 4, [width - 8, height - 8], 6, "ghost");
            } else {
                rect(&mut svg, 0, [width, height], 8, if apart { "node apart" } else { "node" });
                rect(&mut svg, 4, [width - 8, height - 8], 6, if is_launching { "pod head" } else { "pod" });
            }
            let name = self.name(group, index);
            let name = if is_launching { format!("{name}, launches") } else { name };
            label(&mut svg, 12, 23, if is_ghost { "small" } else { "strong" }, &fit(&name, width - 20, 12));
            card.draw_cells(&mut svg, group, index, is_ghost);
            let x = area.x + place % columns * (width + GAP);
            self.add(format!("worker {team} {index}"), x, svg).y += place / columns * (height + GAP);
            self.describe(group, index);
        }
        self.y += shown.div_ceil(columns) * (height + GAP) - GAP;
    }

    /// Whether a group is drawn as cards, which have frames for their nodes.
    pub fn shows_cards(&self) -> bool {
        let groups = &self.report.workers;
        groups.len() <= MAX_DETAILED_GROUPS && groups.iter().any(|group| self.all_workers(group) <= MAX_CARDS)
    }

    /// The number of workers of a group, including the further workers that may run later.
    fn all_workers(&self, group: &Workers) -> u32 {
        group.replicas.saturating_add(self.ghosts(group))
    }

    /// The number of further workers that may run later: spares, and those up to the maximum of an elastic job.
    pub fn ghosts(&self, group: &Workers) -> u32 {
        let elastic = self.report.elastic.map_or(0, |(_, most)| most.saturating_sub(group.replicas));
        group.spares.max(elastic)
    }

    /// The name of a worker. The name of a further worker includes its purpose.
    fn name(&self, group: &Workers, index: u32) -> String {
        match self.report.elastic {
            _ if index < group.replicas => format!("worker {index}"),
            Some(_) => format!("worker {index}, if room"),
            None => format!("worker {index}, spare"),
        }
    }

    /// Sets the tooltip and the field of the worker that was added last.
    fn describe(&mut self, group: &Workers, index: u32) {
        let host = host(group, index);
        let tip = match self.report.elastic {
            _ if index < group.replicas => format!("{host}: {}", ranks_of(group, index)),
            Some((_, most)) => format!("{host}: joins if there is room, up to {}", count(most, "worker")),
            None => format!("{host}: takes the place of a lost worker"),
        };
        if let Some(item) = self.items.last_mut() {
            item.tip = Some(tip);
            item.field = Some(group.origin.clone());
        }
    }

    /// Whether a worker starts the ranks.
    fn launches(&self, team: usize, index: u32) -> bool {
        !self.report.head.own_pod && index == 0 && team == 0 && !self.is_batch
    }

    fn place_tiles(&mut self, group: &Workers, team: usize, workers: Range<u32>, Area { x: left, width: room }: Area) {
        let most_columns = ((room + TILE_GAP) / (TILE_WIDTH + TILE_GAP)).max(1);
        let (first, shown) = (workers.start, workers.end - workers.start);
        let columns = shown.div_ceil(shown.div_ceil(most_columns).max(1)).max(1);
        let width = (room - TILE_GAP * (columns - 1)) / columns;
        let (class, dark) = if group.gpus > 0 { ("gpu", "") } else { ("rank", " dark") };
        for index in workers {
            let place = index - first;
            let is_ghost = index >= group.replicas;
            let (class, dark) = if is_ghost { ("ghost", " dark") } else { (class, dark) };
            let mut svg = String::new();
            rect(&mut svg, 0, [width, TILE_HEIGHT], 6, class);
            if self.launches(team, index) {
                rect(&mut svg, 2, [width - 4, TILE_HEIGHT - 4], 5, "pod head frame");
            }
            label(&mut svg, 8, 17, &format!("in{dark} left strong"), &index.to_string());
            let text = match self.report.elastic {
                _ if !is_ghost => ranks_of(group, index),
                Some(_) => "if room".to_owned(),
                None => "spare".to_owned(),
            };
            label(&mut svg, 8, 32, &format!("in{dark} left"), &fit(&text, width - 10, 10));
            let x = left + place % columns * (width + TILE_GAP);
            self.add(format!("worker {team} {index}"), x, svg).y += place / columns * (TILE_HEIGHT + TILE_GAP);
            self.describe(group, index);
        }
        self.y += shown.div_ceil(columns) * (TILE_HEIGHT + TILE_GAP) - TILE_GAP;
    }

    /// Places a grid of squares, each for one worker, or for ten, a hundred or a thousand.
    fn place_squares(&mut self, group: &Workers, team: usize) {
        let room = self.area().width;
        let most = (MAX_SQUARES / (self.report.workers.len() as u64 * self.jobs)).max(MIN_SQUARES);
        let shown = self.all_workers(group);
        let mut workers_each = 1;
        while u64::from(shown).div_ceil(u64::from(workers_each)) > most {
            workers_each *= 10;
        }
        let (solid, squares) = (group.replicas.div_ceil(workers_each), shown.div_ceil(workers_each).max(1));
        let pitch = (room * 260 / squares).isqrt().clamp(5, 44);
        let columns = room / pitch;
        let side = pitch - if pitch > 8 { 3 } else { 1 };
        let (mut squares_path, mut ghosts_path, mut numbers) = (String::new(), String::new(), Numbers::default());
        for index in 0..squares {
            let (x, y) = (index % columns * pitch, index / columns * pitch);
            let path = if index < solid { &mut squares_path } else { &mut ghosts_path };
            let _ = write!(path, "M{x} {y}h{side}v{side}h-{side}z");
            if pitch >= NUMBERED_PITCH && workers_each == 1 && index < solid {
                let [x, y] = [x + side / 2, y + side / 2 + 4].map(f64::from);
                numbers.push(&index.to_string(), [x, y]);
            }
        }
        let mut svg = String::new();
        path(&mut svg, if group.gpus > 0 { "gpu" } else { "rank" }, &squares_path);
        if !ghosts_path.is_empty() {
            path(&mut svg, "ghost", &ghosts_path);
        }
        numbers.write(&mut svg, if group.gpus > 0 { "in" } else { "in dark" });
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
        let item = self.add(format!("grid {team}"), self.area().x, svg);
        item.tip = Some(format!("{} … {}", group.hosts.0, group.hosts.1));
        item.field = Some(group.origin.clone());
        item.grid = Some(Grid { columns, pitch, workers_each, workers: shown });
        self.y += height;
    }
}

/// The measures of the cards of a group.
struct Card {
    columns: u32,
    width: u32,
    height: u32,
    /// The number of GPUs, or of ranks if there are no GPUs. It is 0 if there are too many to draw.
    cells: u32,
    cells_in_row: u32,
    cell: [u32; 2],
    /// Whether each cell stands for exactly one rank.
    is_own: bool,
}

impl Card {
    /// The measures of `shown` cards in a frame with this room. The cards fill the width, and the rows have equal
    /// numbers of cards: four cards become two and two instead of three and one.
    fn new(group: &Workers, room: u32, shown: u32) -> Self {
        let all = if group.gpus > 0 { group.gpus } else { group.slots };
        let is_own = group.gpus == 0 || group.gpus == group.slots;
        let cells = if all <= MAX_CELLS { all } else { 0 };
        let least = if cells > 0 { (cells.min(8) * (CELL + CELL_GAP) + 22).max(132) } else { CARD_WIDTH };
        let most_columns = ((room + GAP) / (least.min(room) + GAP)).clamp(1, shown.max(1));
        let least_columns = (room + GAP).div_ceil(WIDEST + GAP).min(most_columns);
        let sized = |columns: u32| Self::with_columns([cells, room], columns, group.gpus > 0, is_own);
        let even = || (least_columns..=most_columns).filter(|columns| shown.is_multiple_of(*columns));
        let fits = |columns: &u32| shown / columns * (sized(*columns).height + GAP) <= ROWS_HEIGHT;
        let columns = even().find(fits).or_else(|| even().next_back());
        sized(columns.unwrap_or_else(|| shown.div_ceil(shown.div_ceil(most_columns).max(1)).max(1)))
    }

    /// The measures of cards in this number of columns.
    fn with_columns([cells, room]: [u32; 2], columns: u32, has_gpus: bool, is_own: bool) -> Self {
        let width = (room - GAP * (columns - 1)) / columns;
        let inner = width - 24;
        let cells_in_row = ((inner + CELL_GAP) / (CELL + CELL_GAP)).clamp(1, 8).min(cells.max(1));
        let cell_width = (inner + CELL_GAP) / cells_in_row - CELL_GAP;
        // Ranks have round ends, so their cells must not be much wider than high.
        let cell = if has_gpus {
            [cell_width, (cell_width / 2).clamp(CELL, 30)]
        } else {
            [cell_width.min(56), (cell_width / 2).clamp(CELL, 28)]
        };
        let rows = if cells > 0 { cells.div_ceil(cells_in_row) * (cell[1] + CELL_GAP) } else { CELL + CELL_GAP };
        let height = 42 + rows + if is_own && cells > 0 { 0 } else { 16 };
        Self { columns, width, height, cells, cells_in_row, cell, is_own }
    }

    /// Draws the GPUs of a worker, or its ranks if it has no GPUs, as one path, and the numbers of its ranks.
    fn draw_cells(&self, svg: &mut String, group: &Workers, index: u32, is_ghost: bool) {
        let are_gpus = group.gpus > 0;
        let Self { width, height, cells, cells_in_row, cell: [cell_width, cell_height], is_own, .. } = *self;
        let radius = if are_gpus { 4 } else { cell_height / 2 };
        let (across, down) = (cell_width - 2 * radius, cell_height - 2 * radius);
        let cell_path = format!(
            "h{across}a{radius} {radius} 0 0 1 {radius} {radius}v{down}a{radius} {radius} 0 0 1-{radius} {radius}\
             h-{across}a{radius} {radius} 0 0 1-{radius}-{radius}v-{down}a{radius} {radius} 0 0 1 {radius}-{radius}z"
        );
        let first = first_rank(group, index).filter(|_| is_own && !is_ghost);
        let (mut shape, mut numbers) = (String::new(), Numbers::default());
        for cell in 0..cells {
            let x = 12 + cell % cells_in_row * (cell_width + CELL_GAP);
            let y = 33 + cell / cells_in_row * (cell_height + CELL_GAP);
            let _ = write!(shape, "M{} {y}{cell_path}", x + radius);
            let number = first.map_or(String::new(), |first| (first + u64::from(cell)).to_string());
            if number.bytes().map(|_| 7).sum::<u32>() <= cell_width {
                let middle = f64::from(x) + f64::from(cell_width) / 2.0;
                numbers.push(&number, [middle, f64::from(y + cell_height / 2 + 4)]);
            }
        }
        let (class, dark) = if are_gpus { ("gpu", "") } else { ("rank", " dark") };
        if cells > 0 {
            path(svg, if is_ghost { "ghost" } else { class }, &shape);
        } else {
            let number = if are_gpus { group.gpus } else { group.slots };
            label(svg, 12, 46, "", &count(number, if are_gpus { "GPU" } else { "rank" }));
        }
        numbers.write(svg, &format!("in{dark}"));
        if !(is_ghost || is_own && cells > 0) {
            let ranks = ranks_of(group, index);
            let text = if are_gpus { format!("{ranks} on {}", count(group.gpus, "GPU")) } else { ranks };
            label(svg, 12, height - 13, "small", &fit(&text, width - 24, 11));
        }
    }
}

// The job as a picture: who runs where, who talks to whom, what is mounted. Drawn from the report alone. What is on it
// keeps its element as long as its key stays, so that it moves to its new place instead of jumping there.
import { count, number, s, say, set } from "./dom";
import type { Report, Workers } from "./types";

/** A group of up to so many workers is drawn worker by worker, … */
const CARDS = 12;
/** … up to so many as tiles with their number, … */
const TILES = 48;
/** … beyond as squares, of which there are at most so many. */
const SQUARES = 2_000;
/** A change that comes sooner than this after the last one, in ms, is shown at once: motion would be cut off by the next key. */
const HASTE = 500;
/** So many GPUs or ranks have a square of their own in a card. */
const CELLS = 16;
const GAP = 12;
/** How far a digit in a cell stands from the next. */
const DIGIT = 6.6;

interface Item {
  key: string;
  x: number;
  y: number;
  /** What it looks like; drawn anew only when this changes. */
  look: string;
  draw: () => (SVGElement | null)[];
  /** What is told of it to who points at it: names with the run in them, which every change changes. */
  tip?: string;
  /** The field of the spec it stands for. */
  field?: string;
}

/** Text that fits: letters are taken as wide as they are on average. */
function fit(text: string, width: number, size = 12): string {
  const most = Math.floor(width / (size * 0.56));
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
}

/** A text cut in its middle, as the ends of host names say most. */
function middle(text: string, width: number, size = 12): string {
  const most = Math.floor(width / (size * 0.62));
  if (text.length <= most) return text;
  const half = Math.max(1, Math.floor((most - 1) / 2));
  return `${text.slice(0, half)}…${text.slice(-half)}`;
}

function label(text: string, x: number | string, y: number | string, kind = "", more: Record<string, unknown> = {}) {
  return s("text", { x, y, class: kind, ...more }, text);
}

function box(width: number, height: number, kind: string, radius = 8) {
  return s("rect", { width, height, rx: radius, class: kind });
}

/** Ranks of a worker, in words. */
function ranks(group: Workers, index: number): string {
  if (group.firstRank === undefined) return count(group.slots, "rank");
  const first = group.firstRank + index * group.slots;
  return group.slots === 1 ? `rank ${first}` : `ranks ${first}–${first + group.slots - 1}`;
}

export class Picture {
  private readonly svg: SVGSVGElement;
  private readonly fence: SVGRectElement;
  private readonly items = new Map<string, { group: SVGGElement; tip?: SVGTitleElement; at: string; look: string }>();
  private shown = "";
  private drawn = -Infinity;
  private report?: Report;
  /** Its width; none while it is not seen. */
  private room = 0;

  constructor(
    parent: HTMLElement,
    private readonly go: (field: string) => void,
  ) {
    this.fence = s("rect", { rx: 12, x: 1, y: 25 });
    this.svg = s("svg", { class: "picture", role: "group" }, this.fence);
    parent.append(this.svg);
    new ResizeObserver(([entry]) => {
      this.room = entry!.contentRect.width;
      if (this.report) this.draw(this.report);
    }).observe(parent);
  }

  draw(report: Report) {
    this.report = report;
    if (this.room === 0) return;
    const width = Math.max(280, Math.floor(this.room));
    const shown = `${width}${JSON.stringify({ ...report, defaults: 0, notes: 0, objects: 0 })}`;
    if (shown === this.shown) return;
    this.shown = shown;
    const now = performance.now();
    const smooth = now - this.drawn > HASTE;
    this.drawn = now;
    this.svg.classList.toggle("smooth", smooth);

    const { items, height } = layout(report, width);
    set(this.svg, { viewBox: `0 0 ${width} ${height}`, width, height, "aria-label": about(report) });
    set(this.fence, { class: report.guarded ? "fence" : "fence open", width: width - 2, height: height - 26 });

    const keys = new Set(items.map((item) => item.key));
    for (const [key, { group }] of this.items)
      if (!keys.has(key)) {
        group.remove();
        this.items.delete(key);
      }
    for (const item of items) this.place(item, smooth);
    // Tips later: nobody points at one before the browser has shown the key.
    setTimeout(() => {
      for (const { key, tip } of items) {
        const known = this.items.get(key)?.tip;
        if (known) say(known, tip!);
      }
    });
  }

  private place({ key, x, y, look, draw, tip, field }: Item, smooth: boolean) {
    let known = this.items.get(key);
    if (!known) {
      const group = s("g", { class: `item${field ? " link" : ""}${smooth ? " new" : ""}`, "data-key": key });
      if (field) {
        group.setAttribute("tabindex", "0");
        group.setAttribute("role", "button");
        group.addEventListener("click", () => this.go(group.dataset.field!));
        group.addEventListener("keydown", (event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          this.go(group.dataset.field!);
        });
      }
      known = { group, tip: tip === undefined ? undefined : s("title"), at: "", look: "" };
      this.items.set(key, known);
      this.svg.append(group);
    }
    const { group } = known;
    if (field) set(group, { "data-field": field });
    const at = `translate(${x}px, ${y}px)`;
    if (known.at !== at) group.style.transform = known.at = at;
    if (known.look === look) return;
    known.look = look;
    const now = [...draw(), known.tip].filter((child) => !!child);
    // A text costs most once it stands there, so what is the same stays.
    const before = [...group.children];
    if (before.length !== now.length) group.replaceChildren(...now);
    else now.forEach((child, index) => before[index]!.isEqualNode(child) || before[index]!.replaceWith(child));
  }
}

/** The picture in words, for who does not see it. */
function about(report: Report): string {
  const workers = report.workers.map(
    (group) =>
      `${count(group.replicas, "worker")} with ${count(group.gpus, "GPU")} and ${count(group.slots, "rank")} each`,
  );
  const head = report.head.ownPod ? "a launcher, " : "";
  return `${report.job}: ${head}${workers.join(", ")}; ${count(report.ranks, "rank")} in all`;
}

function layout(report: Report, width: number): { items: Item[]; height: number } {
  const items: Item[] = [];
  const inner = width - 2 * GAP;
  const over = (from: string, to: string) => report.links.find((link) => link.from === from && link.to === to)?.over;
  const others = over("others", "workers");
  const title = `${report.namespace ? `${report.namespace} / ` : ""}${report.job}, run ${report.run}`;
  items.push({
    key: "title",
    x: 4,
    y: 14,
    look: `${title}${width}`,
    draw: () => [label(fit(title, width - 10, 14), 0, 0, "title")],
    field: "metadata.name",
  });
  let y = 36;

  const caption = others ?? "NetworkPolicy: only this job's pods may connect";
  items.push({
    key: "fence",
    x: GAP,
    y: y + 10,
    look: `${caption}${width}${report.guarded}`,
    draw: () => [
      label(
        fit(others ? `from outside: ${caption}` : caption, inner, 11),
        0,
        0,
        report.guarded ? "small" : "small warn",
      ),
    ],
  });
  y += 22;

  if (report.head.ownPod) {
    const api = over("head", "api");
    const apiWidth = api ? Math.min(130, inner * 0.32) : 0;
    const card = Math.min(360, inner - (api ? apiWidth + 76 : 0));
    items.push({
      key: "head",
      x: GAP,
      y,
      look: JSON.stringify([report.launcher, report.head, card]),
      draw: () => [
        box(card, 62, "pod head"),
        label("launcher", 12, 21, "strong"),
        report.head.ranks
          ? label(`runs ${count(report.head.ranks, "rank")}`, card - 12, 21, "small", { "text-anchor": "end" })
          : null,
        label(fit(report.launcher, card - 24), 12, 38),
        label(middle(report.head.host, card - 24, 11), 12, 54, "small mono"),
      ],
      tip: report.head.host,
      field: "spec.launcher",
    });
    if (api) {
      const x = GAP + card;
      const room = inner - card - apiWidth;
      items.push({
        key: "api",
        x,
        y,
        look: `${api}${room}${apiWidth}`,
        draw: () => [
          s("path", { d: `M4 31 H${room - 8}`, class: "wire" }),
          arrow(room - 4, 31, 0),
          s(
            "g",
            { transform: `translate(${room} 0)` },
            box(apiWidth, 62, "api"),
            label("API", 10, 21, "strong"),
            ...wrap(api, apiWidth - 18, 11, 2).map((text, index) => label(text, 10, 38 + index * 14, "small")),
          ),
        ],
      });
    }
    y += 62;
    const ssh = over("head", "workers");
    items.push({
      key: "ssh",
      x: GAP + 30,
      y,
      look: `${ssh}${inner}`,
      draw: () => [
        s("path", { d: "M0 2 V28", class: "wire" }),
        arrow(0, 33, 90),
        label(fit(ssh ?? "", inner - 60, 11), 12, 21, "small"),
      ],
    });
    y += 36;
  }

  report.workers.forEach((group, index) => {
    const team = workers(report, group, index, inner, items, y);
    y = team + GAP;
  });

  const gradients = over("workers", "workers");
  const meet = report.head.ownPod ? undefined : (over("workers", "head") ?? over("head", "workers"));
  const dashed = report.apart && report.workers.some((group) => group.replicas <= CARDS);
  const notes = [
    report.ranks > 1 && gradients ? `⟲ ${gradients} between all ranks` : "",
    meet ? `worker 0 launches: ${meet}` : "",
    `${dashed ? "nodes (dashed)" : "nodes"}: ${report.nodes}`,
    report.elastic ? `elastic: ${report.elastic[0]} to ${count(report.elastic[1], "worker")}` : "",
  ].filter(Boolean);
  const lines = notes.flatMap((note) => wrap(note, inner, 11, 3));
  items.push({
    key: "notes",
    x: GAP,
    y,
    look: JSON.stringify([lines]),
    draw: () => lines.map((line, index) => label(line, 0, 10 + index * 16, "small")),
  });
  y += lines.length * 16 + 6;

  if (report.storage.length) {
    const columns = Math.max(1, Math.floor((inner + GAP) / (200 + GAP)));
    const each = Math.min(
      columns === 1 ? 420 : 320,
      (inner - GAP * (Math.min(columns, report.storage.length) - 1)) / Math.min(columns, report.storage.length),
    );
    report.storage.forEach((volume, index) => {
      const [column, row] = [index % columns, Math.floor(index / columns)];
      items.push({
        key: `volume ${index}`,
        x: GAP + column * (each + GAP),
        y: y + row * 70,
        look: JSON.stringify([volume, each]),
        draw: () => [
          s("path", { d: `M0 8 V50 A${each / 2} 8 0 0 0 ${each} 50 V8`, class: "volume" }),
          s("ellipse", { cx: each / 2, cy: 8, rx: each / 2, ry: 8, class: "volume" }),
          label(fit(volume.mountPath, each - 20), 10, 31, "strong mono"),
          label(fit(volume.source, each - 20, 11), 10, 47, "small"),
        ],
        tip: `${volume.source}${volume.outlivesJob ? "" : " (gone with its pod)"}`,
        field: `spec.storage[${index}]`,
      });
    });
    y += Math.ceil(report.storage.length / columns) * 70;
  }
  return { items, height: y + 8 };
}

/** Lines of words, the last of them cut. */
function wrap(text: string, width: number, size: number, most: number): string[] {
  const letters = Math.max(8, Math.floor(width / (size * 0.56)));
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1)!;
    if (line && line.length + word.length + 1 > letters) lines.push(word);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  if (lines.length > most) lines.splice(most - 1, lines.length, `${lines[most - 1]} …`);
  return lines.map((line) => fit(line, width + size, size));
}

function arrow(x: number, y: number, turn: number) {
  return s("path", { d: "M0 0 L-7 -4 V4 Z", transform: `translate(${x} ${y}) rotate(${turn})`, class: "tip" });
}

/** A group of workers in its frame; answers where the frame ends. */
function workers(report: Report, group: Workers, index: number, inner: number, items: Item[], y: number): number {
  const what = group.gpus ? count(group.replicas * group.gpus, "GPU") : "no GPUs";
  const title = `${group.group ?? "workers"}: ${number(group.replicas)} × ${group.gpus ? count(group.gpus, "GPU") : count(group.slots, "rank")}`;
  const sum = `${what}, ${count(group.replicas * group.slots, "rank")}`;
  const room = inner - 2 * GAP;
  const top = y + 34;
  const drawn =
    group.replicas <= CARDS
      ? cards(report, group, index, room, top, items)
      : group.replicas <= TILES
        ? tiles(group, index, room, top, items)
        : squares(group, index, room, top, items);
  const height = drawn - y + GAP;
  items.push({
    key: `team ${index}`,
    x: GAP,
    y,
    look: JSON.stringify([title, sum, inner, height]),
    draw: () => [
      s("rect", { width: inner, height, rx: 10, class: "team" }),
      label(fit(title, inner * 0.55), GAP, 22, "strong"),
      label(fit(sum, inner * 0.42, 11), inner - GAP, 22, "small", { "text-anchor": "end" }),
    ],
    tip: group.workload,
    field: group.origin,
  });
  // The frame lies below what is in it.
  items.unshift(items.pop()!);
  return y + height;
}

function cards(report: Report, group: Workers, team: number, room: number, top: number, items: Item[]): number {
  const cells = Math.max(group.gpus, 0) || group.slots;
  const own = group.gpus === 0 || group.gpus === group.slots;
  const single = cells <= CELLS;
  const least = single ? Math.max(132, Math.min(cells, 8) * 24 + 22) : 150;
  const columns = Math.max(1, Math.min(group.replicas, Math.floor((room + GAP) / (Math.min(least, room) + GAP))));
  const width = Math.min(columns === 1 ? 420 : 320, (room - GAP * (columns - 1)) / columns);
  const across = Math.max(1, Math.min(8, Math.floor((width - 20) / 24)));
  const rows = single ? Math.ceil(cells / across) : 1;
  const height = 42 + rows * 24 + (own && single ? 0 : 16);
  const pitch = height + GAP;
  for (let index = 0; index < group.replicas; index++) {
    const [column, row] = [index % columns, Math.floor(index / columns)];
    const leads = !report.head.ownPod && index === 0 && team === 0;
    items.push({
      key: `worker ${team} ${index}`,
      x: 2 * GAP + column * (width + GAP),
      y: top + row * pitch,
      look: JSON.stringify([width, height, group.gpus, group.slots, group.firstRank, leads, report.apart]),
      draw: () => [
        box(width, height, report.apart ? "node apart" : "node"),
        s("rect", { x: 4, y: 4, width: width - 8, height: height - 8, rx: 6, class: leads ? "pod head" : "pod" }),
        label(fit(leads ? `worker ${index}, launches` : `worker ${index}`, width - 20), 12, 23, "strong"),
        ...(single ? cellsOf(group, index, cells, across, own) : [label(count(group.gpus, "GPU"), 12, 46)]),
        own && single ? null : label(fit(ranks(group, index), width - 24, 11), 12, height - 13, "small"),
      ],
      tip: `${host(group, index)}: ${ranks(group, index)}`,
    });
  }
  return top + Math.ceil(group.replicas / columns) * pitch - GAP;
}

/**
 * A worker's GPUs, or ranks where there are none, in one path; each with its rank where it has one of its own, in one text,
 * each digit at its place: texts are what the browser takes longest to lay out.
 */
function cellsOf(group: Workers, index: number, cells: number, across: number, own: boolean) {
  const r = group.gpus ? 4 : 10;
  const side = 20 - 2 * r;
  const corner = (x: number, y: number) => `a${r} ${r} 0 0 1 ${x} ${y}`;
  const square = `h${side}${corner(r, r)}v${side}${corner(-r, r)}h${-side}${corner(-r, -r)}v${-side}${corner(r, -r)}z`;
  let [d, digits, xs, ys] = ["", "", "", ""];
  for (let cell = 0; cell < cells; cell++) {
    const [x, y] = [12 + (cell % across) * 24, 33 + Math.floor(cell / across) * 24];
    d += `M${x + r} ${y}${square}`;
    const rank = own && group.firstRank !== undefined ? String(group.firstRank + index * group.slots + cell) : "";
    if (rank.length > 3) continue;
    for (let at = 0; at < rank.length; at++) {
      xs += `${x + 10 + (at - (rank.length - 1) / 2) * DIGIT} `;
      ys += `${y + 14} `;
    }
    digits += rank;
  }
  return [
    s("path", { d, class: group.gpus ? "gpu" : "rank" }),
    digits
      ? label(digits, xs, ys, group.gpus ? "in" : "in dark", { "text-anchor": "middle", "aria-hidden": true })
      : null,
  ];
}

/** The host name of a worker: the first one's with another number. */
function host(group: Workers, index: number): string {
  return group.hosts[0].replace(/-0\./, `-${index}.`);
}

function tiles(group: Workers, team: number, room: number, top: number, items: Item[]): number {
  const columns = Math.max(1, Math.floor((room + 6) / (86 + 6)));
  const width = (room - 6 * (columns - 1)) / columns;
  for (let index = 0; index < group.replicas; index++) {
    const [column, row] = [index % columns, Math.floor(index / columns)];
    items.push({
      key: `worker ${team} ${index}`,
      x: 2 * GAP + column * (width + 6),
      y: top + row * 46,
      look: JSON.stringify([width, group.slots, group.gpus, group.firstRank, "tile"]),
      draw: () => [
        s("rect", { width, height: 40, rx: 6, class: group.gpus ? "gpu" : "rank" }),
        label(String(index), 8, 17, group.gpus ? "in left strong" : "in dark left strong"),
        label(fit(ranks(group, index), width - 10, 10), 8, 32, group.gpus ? "in left" : "in dark left"),
      ],
      tip: `${host(group, index)}: ${ranks(group, index)}`,
    });
  }
  return top + Math.ceil(group.replicas / columns) * 46 - 6;
}

/** Squares for workers, or for as many at a time as fit. */
function squares(group: Workers, team: number, room: number, top: number, items: Item[]): number {
  const each = [1, 10, 100, 1_000].find((each) => group.replicas / each <= SQUARES)!;
  const all = Math.ceil(group.replicas / each);
  const pitch = Math.max(5, Math.min(18, Math.floor(Math.sqrt((room * 260) / all))));
  const columns = Math.floor(room / pitch);
  const rows = Math.ceil(all / columns);
  const size = pitch - (pitch > 8 ? 3 : 1);
  const last = group.replicas - 1;
  const legend = `each square ${each === 1 ? "a worker" : `${number(each)} workers`}; worker 0: ${ranks(group, 0)}, worker ${last}: ${ranks(group, last)}`;
  const lines = wrap(legend, room, 11, 3);
  items.push({
    key: `grid ${team}`,
    x: 2 * GAP,
    y: top,
    look: JSON.stringify([pitch, columns, group.replicas, group.gpus, group.slots, group.firstRank]),
    draw: () => {
      let d = "";
      for (let index = 0; index < all; index++)
        d += `M${(index % columns) * pitch} ${Math.floor(index / columns) * pitch}h${size}v${size}h${-size}z`;
      return [
        s("path", { d, class: group.gpus ? "gpu" : "rank" }),
        ...lines.map((line, index) => label(line, 0, rows * pitch + 13 + index * 15, "small")),
      ];
    },
    tip: `${group.hosts[0]} … ${group.hosts[1]}`,
  });
  return top + rows * pitch + 3 + lines.length * 15;
}

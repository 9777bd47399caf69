// The job as a picture, drawn from its plan: its pods with their GPUs and ranks, the connections between them, the volumes.
// An item keeps its element as long as its key stays, so that it moves to its new place.
import { count, number, s, setAttributes, setText } from "./dom";
import { source } from "./plan";
import type { Peer, Report, Workers } from "./wire/types";

/** A group with at most this many workers shows each as a card, with its GPUs and ranks. */
const CARDS = 12;
/** A larger group with at most this many workers shows each as a tile, with its number. */
const TILES = 48;
/** Even larger groups show each worker as a square; at most this many squares are drawn. */
const SQUARES = 2_000;
/** A change that follows another within this time, in ms, is shown without motion, which the next key would interrupt. */
const STILL = 500;
/** A card shows at most this many GPUs or ranks as squares; more are shown as a number. */
const CELLS = 16;
const GAP = 12;
/** The distance between the digits in a cell. */
const DIGIT = 6.6;

interface Item {
  key: string;
  x: number;
  y: number;
  /** Identifies how it looks: it is drawn again only if this changes. */
  look: string;
  draw: () => (SVGElement | undefined)[];
  /** Its tooltip. Most contain the run's name, which every change of the spec changes. */
  tip?: string | undefined;
  /** The field of the spec that it shows; a click highlights it. */
  field?: string | undefined;
}

/** Cuts a text at its end to fit a width, by the average width of a character. */
function fit(text: string, width: number, size = 12): string {
  const most = Math.floor(width / (size * 0.56));
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
}

/** Cuts a text in its middle: in host names the ends matter most. */
function fitMiddle(text: string, width: number, size = 12): string {
  const most = Math.floor(width / (size * 0.62));
  if (text.length <= most) return text;
  const half = Math.max(1, Math.floor((most - 1) / 2));
  return `${text.slice(0, half)}…${text.slice(-half)}`;
}

function label(
  text: string,
  x: number | string,
  y: number | string,
  kind = "",
  more: Record<string, string | boolean> = {},
) {
  return s("text", { x, y, class: kind, ...more }, text);
}

function box(width: number, height: number, kind: string, radius = 8) {
  return s("rect", { width, height, rx: radius, class: kind });
}

/** The ranks of a worker: `ranks 8–15`. */
function ranksOf(group: Workers, index: number): string {
  if (group.firstRank === undefined) return count(group.slots, "rank");
  const first = group.firstRank + index * group.slots;
  return group.slots === 1 ? `rank ${first}` : `ranks ${first}–${first + group.slots - 1}`;
}

interface Drawn {
  group: SVGGElement;
  tip: SVGTitleElement | undefined;
  transform: string;
  look: string;
}

export class Picture {
  private readonly svg: SVGSVGElement;
  private readonly fence: SVGRectElement;
  private readonly items = new Map<string, Drawn>();
  /** Identifies what the picture shows. */
  private shown = "";
  /** When it was last drawn. */
  private drawnAt = -Infinity;
  private report: Report | undefined;
  /** The width of its parent; 0 while the parent is hidden. */
  private room = 0;

  constructor(
    parent: HTMLElement,
    /** Called with the field of an item that was clicked. */
    private readonly onClick: (field: string) => void,
  ) {
    this.fence = s("rect", { rx: 12, x: 1, y: 25 });
    this.svg = s("svg", { class: "picture", role: "group" }, this.fence);
    parent.append(this.svg);
    new ResizeObserver(([entry]) => {
      this.room = entry?.contentRect.width ?? 0;
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
    const smooth = now - this.drawnAt > STILL;
    this.drawnAt = now;
    this.svg.classList.toggle("smooth", smooth);

    const { items, height } = layout(report, width);
    setAttributes(this.svg, { viewBox: `0 0 ${width} ${height}`, width, height, "aria-label": description(report) });
    setAttributes(this.fence, {
      class: report.guarded ? "fence" : "fence open",
      width: width - 2,
      height: height - 26,
    });

    const keys = new Set(items.map((item) => item.key));
    for (const [key, { group }] of this.items)
      if (!keys.has(key)) {
        group.remove();
        this.items.delete(key);
      }
    for (const item of items) this.place(item, smooth);
    // Tooltips follow after the browser has shown the key: they are not needed sooner.
    setTimeout(() => {
      for (const { key, tip } of items) {
        const title = this.items.get(key)?.tip;
        if (title && tip !== undefined) setText(title, tip);
      }
    });
  }

  private place({ key, x, y, look, draw, tip, field }: Item, smooth: boolean) {
    let drawn = this.items.get(key);
    if (!drawn) {
      const group = this.addGroup(key, field !== undefined, smooth);
      drawn = { group, tip: tip === undefined ? undefined : s("title"), transform: "", look: "" };
      this.items.set(key, drawn);
    }
    const { group } = drawn;
    if (field !== undefined) setAttributes(group, { "data-field": field });
    const transform = `translate(${x}px, ${y}px)`;
    if (drawn.transform !== transform) group.style.transform = drawn.transform = transform;
    if (drawn.look === look) return;
    drawn.look = look;
    replaceChildren(
      group,
      [...draw(), drawn.tip].filter((child) => child !== undefined),
    );
  }

  private addGroup(key: string, isLink: boolean, smooth: boolean): SVGGElement {
    const group = s("g", { class: `item${isLink ? " link" : ""}${smooth ? " new" : ""}`, "data-key": key });
    if (isLink) {
      const click = () => this.onClick(group.dataset.field ?? "");
      setAttributes(group, { tabindex: 0, role: "button" });
      group.addEventListener("click", click);
      group.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        click();
      });
    }
    this.svg.append(group);
    return group;
  }
}

/** Replaces the children that differ: a new text is what costs the browser most. */
function replaceChildren(group: SVGGElement, now: SVGElement[]) {
  const before = [...group.children];
  if (before.length !== now.length) {
    group.replaceChildren(...now);
    return;
  }
  for (const [index, child] of now.entries()) {
    const old = before[index];
    if (old && !old.isEqualNode(child)) old.replaceWith(child);
  }
}

/** The spares of a group, as the end of a phrase. */
const andSpares = (group: Workers): string => (group.spares ? ` and ${count(group.spares, "spare")}` : "");

/** A description of the picture for screen readers. */
function description(report: Report): string {
  const workers = report.workers.map(
    (group) =>
      `${count(group.replicas, "worker")} with ${count(group.gpus, "GPU")} and ${count(group.slots, "rank")} each${andSpares(group)}`,
  );
  const head = report.head.ownPod ? "a launcher, " : "";
  return `${report.job}: ${head}${workers.join(", ")}; ${count(report.ranks, "rank")} in total`;
}

/** The items of the picture and its height. */
export function layout(report: Report, width: number): { items: Item[]; height: number } {
  const items: Item[] = [];
  const inner = width - 2 * GAP;
  items.push(titleItem(report, width), accessItem(report, inner));
  let y = 58;
  if (report.head.ownPod) y = placeLauncher(report, inner, items, y);
  for (const [index, group] of report.workers.entries()) y = placeWorkers(report, group, index, inner, items, y) + GAP;
  y = placeNotes(report, inner, items, y);
  y = placeVolumes(report, inner, items, y);
  return { items, height: y + 8 };
}

/** How one part of the job connects to another. */
const connection = (report: Report, from: Peer, to: Peer): string | undefined =>
  report.links.find((link) => link.from === from && link.to === to)?.over;

function titleItem(report: Report, width: number): Item {
  const scope = report.namespace === undefined ? "" : `${report.namespace} / `;
  const title = `${scope}${report.job}, run ${report.run}`;
  return {
    key: "title",
    x: 4,
    y: 14,
    look: `${title}${width}`,
    draw: () => [label(fit(title, width - 10, 14), 0, 0, "title")],
    field: "metadata.name",
  };
}

/** Which other pods may connect. */
function accessItem(report: Report, inner: number): Item {
  const others = connection(report, "others", "workers");
  const text =
    others === undefined ? "NetworkPolicy: only this job's pods may connect" : `other pods may connect: ${others}`;
  return {
    key: "fence",
    x: GAP,
    y: 46,
    look: `${text}${inner}${report.guarded}`,
    draw: () => [label(fit(text, inner, 11), 0, 0, report.guarded ? "small" : "small warn")],
  };
}

/** Places the launcher's pod, the API beside it and the connection to the workers below. Returns where the next item starts. */
function placeLauncher(report: Report, inner: number, items: Item[], y: number): number {
  const { head, launcher } = report;
  const api = connection(report, "head", "api");
  const apiWidth = api === undefined ? 0 : Math.min(130, inner * 0.32);
  const card = Math.min(360, inner - (api === undefined ? 0 : apiWidth + 76));
  const ranks = `runs ${count(head.ranks, "rank")}`;
  items.push({
    key: "head",
    x: GAP,
    y,
    look: JSON.stringify([launcher, head, card]),
    draw: () => [
      box(card, 62, "pod head"),
      label("launcher", 12, 21, "strong"),
      head.ranks ? label(ranks, card - 12, 21, "small", { "text-anchor": "end" }) : undefined,
      label(fit(launcher, card - 24), 12, 38),
      label(fitMiddle(head.host, card - 24, 11), 12, 54, "small mono"),
    ],
    tip: head.host,
    field: "spec.launcher",
  });
  if (api !== undefined) {
    const room = inner - card - apiWidth;
    const lines = wrap(api, apiWidth - 18, 11, 2);
    items.push({
      key: "api",
      x: GAP + card,
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
          ...lines.map((text, index) => label(text, 10, 38 + index * 14, "small")),
        ),
      ],
    });
  }
  const start = connection(report, "head", "workers") ?? "";
  items.push({
    key: "ssh",
    x: GAP + 30,
    y: y + 62,
    look: `${start}${inner}`,
    draw: () => [
      s("path", { d: "M0 2 V28", class: "wire" }),
      arrow(0, 33, 90),
      label(fit(start, inner - 60, 11), 12, 21, "small"),
    ],
  });
  return y + 98;
}

function placeNotes(report: Report, inner: number, items: Item[], y: number): number {
  const { apart, elastic, head, nodes, ranks, workers } = report;
  const between = connection(report, "workers", "workers");
  const toHead = connection(report, "workers", "head") ?? connection(report, "head", "workers");
  const isDashed = apart && workers.some((group) => group.replicas <= CARDS);
  const notes = [
    ranks > 1 && between !== undefined ? `⟲ ${between} between all ranks` : "",
    !head.ownPod && toHead !== undefined ? `worker 0 launches: ${toHead}` : "",
    `${isDashed ? "nodes (dashed)" : "nodes"}: ${nodes}`,
    elastic ? `elastic: ${elastic[0]} to ${count(elastic[1], "worker")}` : "",
  ].filter(Boolean);
  const lines = notes.flatMap((note) => wrap(note, inner, 11, 3));
  items.push({
    key: "notes",
    x: GAP,
    y,
    look: JSON.stringify([lines]),
    draw: () => lines.map((line, index) => label(line, 0, 10 + index * 16, "small")),
  });
  return y + lines.length * 16 + 6;
}

function placeVolumes({ storage }: Report, inner: number, items: Item[], y: number): number {
  if (!storage.length) return y;
  const columns = Math.max(1, Math.floor((inner + GAP) / (200 + GAP)));
  const inRow = Math.min(columns, storage.length);
  const width = Math.min(columns === 1 ? 420 : 320, (inner - GAP * (inRow - 1)) / inRow);
  for (const [index, volume] of storage.entries()) {
    const [column, row] = [index % columns, Math.floor(index / columns)];
    items.push({
      key: `volume ${index}`,
      x: GAP + column * (width + GAP),
      y: y + row * 70,
      look: JSON.stringify([volume, width]),
      draw: () => [
        s("path", { d: `M0 8 V50 A${width / 2} 8 0 0 0 ${width} 50 V8`, class: "volume" }),
        s("ellipse", { cx: width / 2, cy: 8, rx: width / 2, ry: 8, class: "volume" }),
        label(fit(volume.mountPath, width - 20), 10, 31, "strong mono"),
        label(fit(volume.source, width - 20, 11), 10, 47, "small"),
      ],
      tip: source(volume),
      field: `spec.storage[${index}]`,
    });
  }
  return y + Math.ceil(storage.length / columns) * 70;
}

/** Breaks a text into lines; cuts the last of them. */
function wrap(text: string, width: number, size: number, most: number): string[] {
  const letters = Math.max(8, Math.floor(width / (size * 0.56)));
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line && line.length + word.length + 1 > letters) {
      lines.push(line);
      line = "";
    }
    line += line ? ` ${word}` : word;
  }
  lines.push(line);
  if (lines.length > most) lines.splice(most - 1, lines.length, `${lines[most - 1]} …`);
  return lines.map((one) => fit(one, width + size, size));
}

function arrow(x: number, y: number, turn: number) {
  return s("path", { d: "M0 0 L-7 -4 V4 Z", transform: `translate(${x} ${y}) rotate(${turn})`, class: "tip" });
}

/** Places a group of workers in its frame. Returns where the frame ends. */
function placeWorkers(report: Report, group: Workers, index: number, inner: number, items: Item[], y: number): number {
  const what = group.gpus ? count((group.replicas + group.spares) * group.gpus, "GPU") : "no GPUs";
  const title = `${group.group ?? "workers"}: ${number(group.replicas)} × ${group.gpus ? count(group.gpus, "GPU") : count(group.slots, "rank")}${andSpares(group)}`;
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
  // The frame is drawn before, and so behind, what is in it.
  items.unshift({
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
        own && single ? undefined : label(fit(ranksOf(group, index), width - 24, 11), 12, height - 13, "small"),
      ],
      tip: `${host(group, index)}: ${ranksOf(group, index)}`,
    });
  }
  return top + Math.ceil(group.replicas / columns) * pitch - GAP;
}

/**
 * The GPUs of a worker, or its ranks if it has no GPUs, as one path. If each has a rank of its own, its number is in it: all
 * numbers are one text that places each digit, as texts are what takes the browser longest.
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
      : undefined,
  ];
}

/** The host name of a worker: that of the first one with another number. */
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
        label(fit(ranksOf(group, index), width - 10, 10), 8, 32, group.gpus ? "in left" : "in dark left"),
      ],
      tip: `${host(group, index)}: ${ranksOf(group, index)}`,
    });
  }
  return top + Math.ceil(group.replicas / columns) * 46 - 6;
}

/** Places a grid of squares, each for one worker, or for ten, a hundred or a thousand. */
function squares(group: Workers, team: number, room: number, top: number, items: Item[]): number {
  const each = [1, 10, 100, 1_000].find((size) => group.replicas / size <= SQUARES) ?? 10_000;
  const all = Math.ceil(group.replicas / each);
  const pitch = Math.max(5, Math.min(18, Math.floor(Math.sqrt((room * 260) / all))));
  const columns = Math.floor(room / pitch);
  const rows = Math.ceil(all / columns);
  const size = pitch - (pitch > 8 ? 3 : 1);
  const last = group.replicas - 1;
  const legend = `each square ${each === 1 ? "a worker" : `${number(each)} workers`}; worker 0: ${ranksOf(group, 0)}, worker ${last}: ${ranksOf(group, last)}`;
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

// Shows the picture of a job, which the compiler draws. A part keeps its element as long as its key stays, so that it moves to
// its new place.
import { h, s, setAttributes, setText } from "./dom";
import { patch, type SvgElement } from "./svg-elements";
import type { Picture as Drawing, PictureItem } from "./wire/types";

/** A change that follows another within this time, in ms, is shown without motion, which the next key would interrupt. */
const STILL = 500;
/**
 * The height of the SVG is a multiple of this, because with each change of it, or of its children, the browser lays out every text in
 * it.
 */
const HEIGHT_STEP = 400;
/** At most this many empty groups are kept. */
const MAX_EMPTY = 100;
/** A narrower picture cannot show its texts. */
const MIN_WIDTH = 280;

/** A part of the picture that was chosen, with the number of the worker if it is one. */
export interface Part {
  item: PictureItem;
  /** `worker`, `team`, `head`, `volume`, … */
  kind: string;
  /** The index of the group of workers, or of the volume. */
  index: number;
  worker?: number;
}

interface Shown {
  group: SVGGElement;
  tip: SVGTitleElement | undefined;
  item: PictureItem;
  /** The elements in `group` before the tooltip; undefined if the browser has parsed them. */
  elements: SvgElement[] | undefined;
}

export class Picture {
  /** The width to draw for, in CSS pixels; 0 while the picture is hidden. */
  width = 0;
  private readonly svg: SVGSVGElement;
  /** Has the height of the picture. */
  private readonly frame = h("div", { class: "drawing" });
  /** Marks the selected square of a grid. */
  private readonly marker = s("rect", { class: "marker", rx: 3 });
  private readonly shown = new Map<string, Shown>();
  /** The empty groups of parts that the picture had before. They are used again if the parts come back. */
  private readonly empty = new Map<string, SVGGElement>();
  /** The worker that is selected in each grid. */
  private readonly selected = new Map<string, number>();
  /** When a change was last shown. */
  private changedAt = -Infinity;

  constructor(
    parent: HTMLElement,
    /** Called with a part that was clicked. */
    private readonly onChoose: (part: Part) => void,
    /** Called when the width has changed. */
    onResize: () => void,
  ) {
    this.svg = s("svg", { class: "picture", role: "group" });
    this.frame.append(this.svg);
    parent.append(this.frame);
    new ResizeObserver(([entry]) => {
      const room = Math.floor(entry?.contentRect.width ?? 0);
      const width = room && Math.max(MIN_WIDTH, room);
      if (width === this.width) return;
      this.width = width;
      onResize();
    }).observe(parent);
  }

  show({ width, height, description, items }: Drawing) {
    const room = Math.ceil(height / HEIGHT_STEP) * HEIGHT_STEP;
    setAttributes(this.svg, { viewBox: `0 0 ${width} ${room}`, width, height: room, "aria-label": description });
    this.frame.style.height = `${height}px`;
    const changed = items.filter((item) => !isSame(this.shown.get(idOf(item))?.item, item));
    const ids = new Set(items.map((item) => idOf(item)));
    const gone = [...this.shown.keys()].filter((id) => !ids.has(id));
    if (changed.length > 0 || gone.length > 0) {
      const now = performance.now();
      const smooth = now - this.changedAt > STILL;
      this.changedAt = now;
      this.svg.classList.toggle("smooth", smooth);
      for (const id of gone) this.hide(id);
      for (const item of changed) this.place(item, smooth);
      if (this.marker.parentNode) this.marker.remove();
      this.order(items);
    }
    // Tooltips follow after the browser has shown the key: they are not needed sooner.
    setTimeout(() => {
      for (const item of items) {
        const shown = this.shown.get(idOf(item));
        if (shown?.tip && item.tip !== undefined) setText(shown.tip, item.tip);
      }
    });
  }

  /** The element of a part that is small enough to be shown beside its details. */
  elementOf({ item, kind }: Part): Element | null {
    return kind === "team" || kind === "grid" ? null : (this.shown.get(idOf(item))?.group ?? null);
  }

  /** Empties the group of a part. */
  private hide(id: string) {
    const group = this.shown.get(id)?.group;
    this.shown.delete(id);
    if (!group) return;
    group.replaceChildren();
    for (const name of group.getAttributeNames()) group.removeAttribute(name);
    this.empty.set(id, group);
    if (this.empty.size <= MAX_EMPTY) return;
    for (const other of this.empty.values()) other.remove();
    this.empty.clear();
  }

  /** Puts the elements into the order of the parts, as later ones cover earlier ones. Moves only those out of order. */
  private order(items: PictureItem[]) {
    let next = this.svg.firstElementChild;
    for (const item of items) {
      const group = this.shown.get(idOf(item))?.group;
      if (!group) continue;
      while (next && next !== group && !next.hasAttribute("data-key")) next = next.nextElementSibling;
      if (group === next) next = group.nextElementSibling;
      else this.svg.insertBefore(group, next);
    }
  }

  private place(item: PictureItem, smooth: boolean) {
    const { x, y, svg, tip, field } = item;
    const id = idOf(item);
    let shown = this.shown.get(id);
    const before = shown?.item;
    if (shown) shown.item = item;
    else {
      const group = this.groupOf(id, item, smooth);
      shown = { group, tip: tip === undefined ? undefined : s("title"), item, elements: [] };
      if (shown.tip) group.append(shown.tip);
      this.shown.set(id, shown);
    }
    const { group } = shown;
    if (field !== undefined) setAttributes(group, { "data-field": field });
    if (before?.x !== x || before.y !== y) group.style.transform = `translate(${x}px, ${y}px)`;
    if (before?.svg !== svg) shown.elements = patch(group, shown.elements, svg, shown.tip);
  }

  private groupOf(id: string, item: PictureItem, smooth: boolean): SVGGElement {
    const isLink = item.field !== undefined;
    const group = this.empty.get(id) ?? this.addGroup(id);
    this.empty.delete(id);
    setAttributes(group, { class: `item${isLink ? " link" : ""}${smooth ? " new" : ""}`, "data-key": id });
    if (isLink) {
      // One worker of a group can be reached with Tab, the others from there with the arrow keys.
      const isFirst = partOf(item).kind !== "worker" || item.key.endsWith(" 0");
      setAttributes(group, { tabindex: isFirst ? 0 : -1, role: "button" });
      if (item.grid) setAttributes(group, { "aria-description": "Choose a worker with the arrow keys." });
    }
    return group;
  }

  private addGroup(id: string): SVGGElement {
    const group = s("g");
    const isLink = () => this.shown.get(id)?.item.field !== undefined;
    group.addEventListener("click", (event) => isLink() && this.choose(id, this.workerAt(id, event)));
    group.addEventListener("keydown", (event) => isLink() && this.keyPressed(id, event));
    this.svg.append(group);
    return group;
  }

  private choose(id: string, worker?: number) {
    const item = this.shown.get(id)?.item;
    if (!item) return;
    const part = partOf(item);
    if (worker !== undefined) {
      this.selected.set(id, worker);
      this.mark(item, worker);
    }
    this.onChoose(worker === undefined ? part : { ...part, worker });
  }

  /** The worker whose square of a grid was clicked. */
  private workerAt(id: string, event: MouseEvent): number | undefined {
    const shown = this.shown.get(id);
    const grid = shown?.item.grid;
    if (!shown || !grid) return undefined;
    const { left, top } = shown.group.getBoundingClientRect();
    const [column, row] = [event.clientX - left, event.clientY - top].map((at) => Math.floor(at / grid.pitch));
    if (column === undefined || row === undefined || column >= grid.columns) return undefined;
    const worker = (row * grid.columns + column) * grid.workersEach;
    return worker >= 0 && worker < grid.workers ? worker : undefined;
  }

  private keyPressed(id: string, event: KeyboardEvent) {
    const item = this.shown.get(id)?.item;
    if (!item) return;
    const grid = item.grid;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.choose(id, grid && (this.selected.get(id) ?? 0));
      return;
    }
    const { kind, worker } = partOf(item);
    const columns = grid?.columns ?? this.columnsOf(item);
    const steps = {
      ArrowRight: 1,
      ArrowLeft: -1,
      ArrowDown: columns,
      ArrowUp: -columns,
      Home: -Infinity,
      End: Infinity,
    };
    const step = Object.entries(steps).find(([key]) => key === event.key)?.[1];
    if (step === undefined || (!grid && kind !== "worker")) return;
    event.preventDefault();
    if (grid) {
      const last = Math.ceil(grid.workers / grid.workersEach) - 1;
      const before = (this.selected.get(id) ?? 0) / grid.workersEach;
      const next = Math.min(last, Math.max(0, before + step)) * grid.workersEach;
      this.choose(id, next);
      return;
    }
    const workers = [...this.shown.values()].filter(({ item: other }) => isSameGroup(item, other));
    const next = workers[Math.min(workers.length - 1, Math.max(0, (worker ?? 0) + step))];
    if (!next) return;
    for (const { group } of workers) setAttributes(group, { tabindex: group === next.group ? 0 : -1 });
    next.group.focus();
  }

  /** The number of cards or tiles in a row of the group of this worker. */
  private columnsOf(item: PictureItem): number {
    return [...this.shown.values()].filter(({ item: other }) => isSameGroup(item, other) && other.y === item.y).length;
  }

  /** Marks the square of a worker. */
  private mark(item: PictureItem, worker: number) {
    if (!item.grid) return;
    const { columns, pitch, workersEach } = item.grid;
    const square = Math.floor(worker / workersEach);
    const [x, y] = [item.x + (square % columns) * pitch - 2, item.y + Math.floor(square / columns) * pitch - 2];
    setAttributes(this.marker, { x, y, width: pitch + 1, height: pitch + 1 });
    this.svg.append(this.marker);
  }
}

const idOf = ({ job, key }: PictureItem) => (job ? `${job}/${key}` : key);

function partOf(item: PictureItem): Part {
  const [kind = "", index = "0", worker] = item.key.split(" ");
  return { item, kind, index: Number(index), ...(worker === undefined ? {} : { worker: Number(worker) }) };
}

/** Whether two parts are workers of one group. */
function isSameGroup(one: PictureItem, other: PictureItem): boolean {
  return one.job === other.job && partOf(other).kind === "worker" && partOf(one).index === partOf(other).index;
}

/** Whether two parts look the same in the same place. Their tooltips may differ. */
function isSame(one: PictureItem | undefined, other: PictureItem): boolean {
  return (
    one?.svg === other.svg &&
    one.x === other.x &&
    one.y === other.y &&
    one.field === other.field &&
    one.grid?.workers === other.grid?.workers
  );
}

// Shows the picture of a job, which the compiler draws. A part keeps its element as long as its key stays, so that it moves to
// its new place.
import { s, setAttributes, setText } from "./dom";
import type { Picture as Drawing, PictureItem } from "./wire/types";

/** A change that follows another within this time, in ms, is shown without motion, which the next key would interrupt. */
const STILL = 500;
/** A narrower picture cannot show its texts. */
const MIN_WIDTH = 280;

interface Shown {
  group: SVGGElement;
  tip: SVGTitleElement | undefined;
  item: PictureItem;
}

export class Picture {
  /** The width to draw for, in CSS pixels; 0 while the picture is hidden. */
  width = 0;
  private readonly svg: SVGSVGElement;
  private readonly fence: SVGRectElement;
  private readonly shown = new Map<string, Shown>();
  /** When a change was last shown. */
  private changedAt = -Infinity;

  constructor(
    parent: HTMLElement,
    /** Called with the field of a part that was clicked. */
    private readonly onClick: (field: string) => void,
    /** Called when the width has changed. */
    onResize: () => void,
  ) {
    this.fence = s("rect", { rx: 12, x: 1, y: 25 });
    this.svg = s("svg", { class: "picture", role: "group" }, this.fence);
    parent.append(this.svg);
    new ResizeObserver(([entry]) => {
      const room = Math.floor(entry?.contentRect.width ?? 0);
      const width = room && Math.max(MIN_WIDTH, room);
      if (width === this.width) return;
      this.width = width;
      onResize();
    }).observe(parent);
  }

  show({ width, height, description, guarded, items }: Drawing) {
    setAttributes(this.svg, { viewBox: `0 0 ${width} ${height}`, width, height, "aria-label": description });
    setAttributes(this.fence, { class: guarded ? "fence" : "fence open", width: width - 2, height: height - 26 });
    const changed = items.filter((item) => !isSame(this.shown.get(item.key)?.item, item));
    const keys = new Set(items.map(({ key }) => key));
    const gone = [...this.shown.keys()].filter((key) => !keys.has(key));
    if (changed.length > 0 || gone.length > 0) {
      const now = performance.now();
      const smooth = now - this.changedAt > STILL;
      this.changedAt = now;
      this.svg.classList.toggle("smooth", smooth);
      for (const key of gone) {
        this.shown.get(key)?.group.remove();
        this.shown.delete(key);
      }
      const drawn = parse(changed);
      for (const [index, item] of changed.entries()) this.place(item, [...(drawn[index]?.children ?? [])], smooth);
    }
    // Tooltips follow after the browser has shown the key: they are not needed sooner.
    setTimeout(() => {
      for (const { key, tip } of items) {
        const title = this.shown.get(key)?.tip;
        if (title && tip !== undefined) setText(title, tip);
      }
    });
  }

  private place(item: PictureItem, children: Element[], smooth: boolean) {
    const { key, x, y, svg, tip, field } = item;
    let shown = this.shown.get(key);
    const before = shown?.item;
    if (shown) shown.item = item;
    else {
      const group = this.addGroup(key, field !== undefined, smooth);
      shown = { group, tip: tip === undefined ? undefined : s("title"), item };
      this.shown.set(key, shown);
    }
    const { group } = shown;
    if (field !== undefined) setAttributes(group, { "data-field": field });
    if (before?.x !== x || before.y !== y) group.style.transform = `translate(${x}px, ${y}px)`;
    if (before?.svg !== svg) replaceChildren(group, children, shown.tip);
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

/** Whether two parts look the same in the same place. Their tooltips may differ. */
function isSame(one: PictureItem | undefined, other: PictureItem): boolean {
  return one?.svg === other.svg && one.x === other.x && one.y === other.y && one.field === other.field;
}

/** Parses the SVG of parts. Returns an element per part; one call of the parser is quicker than a call per part. */
function parse(items: PictureItem[]): Element[] {
  const all = s("g");
  // The compiler escapes texts, and the page's policy forbids scripts.
  all.innerHTML = items.map(({ svg }) => `<g>${svg}</g>`).join("");
  return [...all.children];
}

/** Replaces the children that differ: a new text is what costs the browser most. The tooltip stays last. */
function replaceChildren(group: SVGGElement, children: Element[], tip: SVGTitleElement | undefined) {
  const before = [...group.children];
  if (before.length !== children.length + (tip ? 1 : 0)) {
    group.replaceChildren(...children, ...(tip ? [tip] : []));
    return;
  }
  for (const [index, child] of children.entries()) {
    const old = before[index];
    if (old && !old.isEqualNode(child)) old.replaceWith(child);
  }
}

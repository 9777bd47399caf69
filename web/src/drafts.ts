// Keeps what the user wrote in this browser: after a reload, beside an opened link or example, and in several tabs.
//
// Each spec that is edited is a draft of its own in the local storage, which all tabs share. A tab keeps the id of its draft in the
// session storage. So no tab writes over the draft of another one, and nothing that is opened replaces a draft.
//
// The local storage outlives the tab, and other pages of the same origin can read it. So values that look like secrets are masked in
// it. The tab keeps the whole text in its session storage, which the browser deletes with the tab.
import * as c from "./wire/check";

/** The drafts of this browser, the newest first. */
const DRAFTS = "drafts";
/** The id of the draft of this tab. */
const ID = "draft";
/** The spec that this tab shows if it was opened and not edited. */
const OPENED = "opened";
/** The drafts of this tab that are not stored as they are, because they have secrets. */
const WHOLE = "whole";
/** Why the tab shows another spec than the user's, and the id of the draft that a notice offers. */
const OFFERED = "offered";
/** How long to wait after the last change before the spec is stored, in ms. */
const DELAY = 400;
/** At most so many drafts are kept, with so many characters together. */
const MOST = 10;
const MAX_LENGTH = 1 << 20;
/** At most so many characters of a line are in a title. */
const LINE = 40;

export interface StoredDraft {
  id: string;
  /** The time of its last change, in ms. */
  time: number;
  spec: string;
}

/** A draft that a notice offers: a link was opened instead of it, or another spec has replaced it. */
export interface Offered {
  because: "link" | "replaced";
  draft: StoredDraft;
}

const checkDrafts: c.Check<StoredDraft[]> = c.array(c.object({ id: c.string, time: c.number, spec: c.string }));

export class Drafts {
  private id: string | undefined;
  private waiting: string | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly shared: Storage | undefined,
    private readonly tab: Storage | undefined,
    /** Replaces the values that look like secrets; returns undefined if they cannot be found yet. */
    private readonly mask: (spec: string) => string | undefined,
  ) {}

  /** Returns the spec that this tab showed before a reload, or else the newest draft. The first change of that becomes another draft. */
  restore(): string | undefined {
    const drafts = this.read();
    const id = get(this.tab, ID);
    const own = drafts.find((draft) => draft.id === id);
    if (own) {
      this.id = own.id;
      return own.spec;
    }
    return get(this.tab, OPENED) ?? drafts[0]?.spec;
  }

  /** The tab shows another spec: the draft before it stays as it is. */
  open(spec: string) {
    this.flush();
    this.id = undefined;
    set(this.tab, ID, undefined);
    set(this.tab, OPENED, spec);
  }

  /** The tab shows a spec of the user, which nothing else keeps: it becomes a draft at once. */
  openOwn(spec: string) {
    this.open(spec);
    this.waiting = spec;
    this.flush();
  }

  /** Whether the tab shows this spec, which was opened and not edited. */
  isOpened(spec: string): boolean {
    return get(this.tab, OPENED) === spec;
  }

  /** The tab shows this draft and goes on with it. */
  continue({ id, spec }: StoredDraft) {
    this.open(spec);
    this.own(id);
  }

  /** Another tab has the draft of this one, as if the tab was duplicated: the next change becomes another draft. */
  leave() {
    this.id = undefined;
    set(this.tab, ID, undefined);
  }

  /** The id of the draft of this tab, if it has one. */
  get current(): string | undefined {
    return this.id;
  }

  /** Keeps what a notice offers, so that the page offers it again after a reload; undefined if there is no notice. */
  offer(offered: Offered | undefined) {
    set(this.tab, OFFERED, offered && `${offered.because} ${offered.draft.id}`);
  }

  /** The draft that a notice offered before a reload. */
  offered(): Offered | undefined {
    const [because, id] = (get(this.tab, OFFERED) ?? "").split(" ");
    const draft = this.others().find((one) => one.id === id);
    return draft && { because: because === "link" ? "link" : "replaced", draft };
  }

  /** Stores a changed spec, once it has not changed for a moment. */
  store(spec: string) {
    clearTimeout(this.timer);
    this.waiting = spec;
    this.timer = setTimeout(() => this.flush(), DELAY);
  }

  /** Stores what waits, at once. */
  flush() {
    clearTimeout(this.timer);
    const spec = this.waiting;
    this.waiting = undefined;
    if (spec === undefined || spec.length > MAX_LENGTH) return;
    const drafts = this.read();
    const before = drafts.find((draft) => draft.id === this.id);
    // A text that was cleared, or replaced as a whole, becomes another draft.
    if (!spec.trim() || (before && !hasMuchOf(spec, before.spec))) this.open(spec);
    if (!spec.trim()) return;
    const id = this.id ?? this.own(crypto.randomUUID());
    const others = drafts.filter((draft) => draft.id !== id);
    this.write([{ id, time: Date.now(), spec }, ...others]);
  }

  /** The drafts that this tab does not show, the newest first. */
  others(): StoredDraft[] {
    return this.read().filter(({ id }) => id !== this.id);
  }

  private own(id: string): string {
    this.id = id;
    set(this.tab, ID, id);
    set(this.tab, OPENED, undefined);
    return id;
  }

  /** All drafts, the newest first; those of this tab with their secrets. */
  private read(): StoredDraft[] {
    const stored = readDrafts(this.shared, DRAFTS);
    const whole = readDrafts(this.tab, WHOLE);
    const rest = stored.filter(({ id }) => !whole.some((one) => one.id === id));
    return [...whole, ...rest].sort((one, other) => other.time - one.time);
  }

  private write(drafts: StoredDraft[]) {
    let length = 0;
    const kept = drafts.slice(0, MOST).filter(({ spec }) => (length += spec.length) <= MAX_LENGTH);
    const before = readDrafts(this.shared, DRAFTS);
    const changed = new Set([this.id, ...readDrafts(this.tab, WHOLE).map(({ id }) => id)]);
    const whole: StoredDraft[] = [];
    const masked = kept.flatMap((draft) => {
      const spec = changed.has(draft.id) ? this.mask(draft.spec) : draft.spec;
      if (spec !== draft.spec) whole.push(draft);
      if (spec !== undefined) return [{ ...draft, spec }];
      return before.filter(({ id }) => id === draft.id);
    });
    set(this.tab, WHOLE, whole.length ? JSON.stringify(whole) : undefined);
    set(this.shared, DRAFTS, JSON.stringify(masked));
  }
}

function readDrafts(storage: Storage | undefined, key: string): StoredDraft[] {
  try {
    return c.parse(checkDrafts, get(storage, key) ?? "[]");
  } catch {
    return [];
  }
}

/** Whether a text has a third of the lines of another one. Short texts change as a whole while they are typed. */
export function hasMuchOf(text: string, other: string): boolean {
  const lines = other.split("\n").filter((line) => line.trim());
  if (lines.length < 6) return true;
  const present = new Set(text.split("\n"));
  return lines.filter((line) => present.has(line)).length * 3 >= lines.length;
}

/** The titles of drafts for a list: the job and its age, and a line that only this one has if several have a job of that name. */
export function titlesOf(drafts: StoredDraft[], now: number): string[] {
  return drafts.map((draft) => {
    const others = drafts.filter((other) => other !== draft && nameOf(other) === nameOf(draft));
    const known = new Set(others.flatMap(({ spec }) => linesOf(spec)));
    const own = others.length ? linesOf(draft.spec).find((line) => !known.has(line)) : undefined;
    return titleOf(draft, now) + (own === undefined ? "" : ` – ${own.length > LINE ? `${own.slice(0, LINE)}…` : own}`);
  });
}

const linesOf = (spec: string) => spec.split("\n").map((line) => line.trim());

const nameOf = ({ spec }: StoredDraft) =>
  /^ {2,}name: *["']?([\w.-]+)/m.exec(spec)?.[1] ?? spec.trim().split("\n")[0]?.slice(0, 30) ?? "";

/** The name of the job in a draft and its age. */
function titleOf(draft: StoredDraft, now: number): string {
  const { time } = draft;
  const name = nameOf(draft);
  const minutes = Math.floor((now - time) / 60_000);
  if (minutes < 1) return `${name}, just now`;
  if (minutes < 60) return `${name}, ${minutes} min ago`;
  if (minutes < 24 * 60) return `${name}, ${Math.floor(minutes / 60)} h ago`;
  return `${name}, ${new Date(time).toLocaleDateString("en", { day: "numeric", month: "short" })}`;
}

function get(storage: Storage | undefined, key: string): string | undefined {
  try {
    return storage?.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Sets or removes an entry. A browser may allow the page to store nothing; drafts are a convenience. */
function set(storage: Storage | undefined, key: string, value: string | undefined) {
  try {
    if (value === undefined) storage?.removeItem(key);
    else storage?.setItem(key, value);
  } catch {
    // Nothing is stored.
  }
}

// Keeps the spec in this browser, so that it is there after a reload.

const KEY = "draft";
/** How long to wait after the last change before the spec is stored, in ms. */
const DELAY = 400;
/** Longer specs are not stored. */
const MAX_LENGTH = 1 << 20;

export class Draft {
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** Stores a spec, once it has not changed for a moment. */
  store(spec: string) {
    clearTimeout(this.timer);
    if (spec.length >= MAX_LENGTH) return;
    this.timer = setTimeout(() => {
      try {
        localStorage.setItem(KEY, spec);
      } catch {
        // The browser stores nothing for this page; the draft is a convenience.
      }
    }, DELAY);
  }

  /** The stored spec, if there is one. */
  static load(): string | undefined {
    try {
      const spec = localStorage.getItem(KEY);
      return spec?.trim() ? spec : undefined;
    } catch {
      return undefined;
    }
  }
}

import { beforeEach, describe, expect, it, vi } from "vitest";
import { Drafts, titlesOf } from "./drafts";

/** The storage of a browser, or of a tab. */
function storage(): Storage {
  const entries = new Map<string, string>();
  return {
    get length() {
      return entries.size;
    },
    clear: () => entries.clear(),
    getItem: (key) => entries.get(key) ?? null,
    key: (index) => [...entries.keys()][index] ?? null,
    removeItem: (key) => void entries.delete(key),
    setItem: (key, value) => void entries.set(key, value),
  };
}

const asIs = (spec: string) => spec;

const lines = (word: string) => Array.from({ length: 8 }, (_, line) => `${word} ${line}`).join("\n");

describe("drafts", () => {
  beforeEach(() => void vi.useFakeTimers());

  it("are there after a reload, also right after the last key", () => {
    const [browser, tab] = [storage(), storage()];
    const drafts = new Drafts(browser, tab, asIs);
    drafts.store("a");
    drafts.store("ab");
    drafts.flush();
    expect(new Drafts(browser, tab, asIs).restore()).toBe("ab");
    drafts.store("abc");
    vi.advanceTimersByTime(500);
    expect(new Drafts(browser, tab, asIs).restore()).toBe("abc");
  });

  it("stay if something else is opened, and after a change of that", () => {
    const [browser, tab] = [storage(), storage()];
    const drafts = new Drafts(browser, tab, asIs);
    drafts.store("mine");
    drafts.open("of a link");
    expect(drafts.others().map(({ spec }) => spec)).toEqual(["mine"]);
    // After a reload, the tab shows what was opened.
    expect(new Drafts(browser, tab, asIs).restore()).toBe("of a link");
    drafts.store("of a link, changed");
    drafts.flush();
    expect(drafts.others().map(({ spec }) => spec)).toEqual(["mine"]);
    expect(new Drafts(browser, tab, asIs).restore()).toBe("of a link, changed");
    const [mine] = drafts.others();
    if (mine) drafts.continue(mine);
    drafts.store("mine, changed");
    drafts.flush();
    expect(drafts.others().map(({ spec }) => spec)).toEqual(["of a link, changed"]);
  });

  it("are offered by a notice after a reload, until it is hidden", () => {
    const [browser, tab] = [storage(), storage()];
    const drafts = new Drafts(browser, tab, asIs);
    drafts.store("mine");
    drafts.flush();
    const mine = { id: drafts.current ?? "", spec: "mine", time: 0 };
    drafts.open("of a link");
    drafts.offer({ because: "link", draft: mine });
    const reloaded = new Drafts(browser, tab, asIs);
    expect(reloaded.restore()).toBe("of a link");
    expect(reloaded.offered()).toMatchObject({ because: "link", draft: { id: mine.id, spec: "mine" } });
    reloaded.offer(undefined);
    expect(new Drafts(browser, tab, asIs).offered()).toBeUndefined();
  });

  it("of two tabs do not replace each other", () => {
    const browser = storage();
    const [one, other] = [new Drafts(browser, storage(), asIs), new Drafts(browser, storage(), asIs)];
    one.store("one");
    one.flush();
    expect(other.restore()).toBe("one");
    other.store("one, changed in the other tab");
    other.flush();
    one.store("one, changed here");
    one.flush();
    expect(one.others().map(({ spec }) => spec)).toEqual(["one, changed in the other tab"]);
    expect(other.others().map(({ spec }) => spec)).toEqual(["one, changed here"]);
  });

  it("stay if the text is cleared or replaced as a whole", () => {
    const [browser, tab] = [storage(), storage()];
    const drafts = new Drafts(browser, tab, asIs);
    for (const text of [lines("a"), "", lines("b"), `${lines("b")}\nmore`, lines("c")]) {
      drafts.store(text);
      drafts.flush();
    }
    expect(drafts.others().map(({ spec }) => spec)).toEqual([`${lines("b")}\nmore`, lines("a")]);
  });

  it("are stored without secrets, which only the tab keeps", () => {
    const [browser, tab] = [storage(), storage()];
    const mask = (spec: string) => spec.replace("rosebud", "…");
    const drafts = new Drafts(browser, tab, mask);
    drafts.store("PASSWORD: rosebud");
    drafts.flush();
    expect(browser.getItem("drafts")).toContain("PASSWORD: …");
    expect(browser.getItem("drafts")).not.toContain("rosebud");
    expect(new Drafts(browser, tab, mask).restore()).toBe("PASSWORD: rosebud");
    expect(new Drafts(browser, storage(), mask).restore()).toBe("PASSWORD: …");
    // Also beside a link that is opened.
    drafts.open("of a link");
    drafts.store("of a link, changed");
    drafts.flush();
    expect(drafts.others().map(({ spec }) => spec)).toEqual(["PASSWORD: rosebud"]);
    expect(browser.getItem("drafts")).not.toContain("rosebud");
    drafts.continue(drafts.others()[0] ?? { id: "", time: 0, spec: "" });
    drafts.store("PASSWORD:");
    drafts.flush();
    expect(tab.getItem("whole")).toBeNull();
  });

  it("are kept by the tab as long as secrets cannot be found", () => {
    const [browser, tab] = [storage(), storage()];
    const drafts = new Drafts(browser, tab, () => undefined);
    drafts.store("early");
    drafts.flush();
    expect(new Drafts(browser, tab, asIs).restore()).toBe("early");
    expect(new Drafts(browser, storage(), asIs).restore()).toBeUndefined();
  });

  it("are at most ten, and nothing that is damaged breaks the page", () => {
    const browser = storage();
    for (let number = 0; number < 15; number++) {
      const drafts = new Drafts(browser, storage(), asIs);
      drafts.store(`number ${number}`);
      drafts.flush();
    }
    expect(new Drafts(browser, storage(), asIs).others()).toHaveLength(10);
    browser.setItem("drafts", "[{");
    expect(new Drafts(browser, storage(), asIs).restore()).toBeUndefined();
  });
});

describe("titlesOf", () => {
  it("names the job and the time", () => {
    const spec = "kind: TrainingJob\nmetadata:\n  name: mnist\n";
    const titleAt = (now: number) => titlesOf([{ id: "1", time: 0, spec }], now)[0];
    expect(titleAt(30_000)).toBe("mnist, just now");
    expect(titleAt(5 * 60_000)).toBe("mnist, 5 min ago");
    expect(titleAt(3 * 3_600_000)).toBe("mnist, 3 h ago");
  });

  it("names drafts of the same job by their first line that differs", () => {
    const spec = (gpus: number) => `metadata:\n  name: bert\nspec:\n  workers:\n    gpus: ${gpus}\n`;
    const drafts = [4, 8].map((gpus) => ({ id: String(gpus), time: 0, spec: spec(gpus) }));
    expect(titlesOf(drafts, 0)).toEqual(["bert, just now – gpus: 4", "bert, just now – gpus: 8"]);
  });
});

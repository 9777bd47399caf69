// Very large and malformed specs, and memory after many edits.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  after,
  check,
  editor,
  listed,
  open,
  root,
  same,
  serve,
  settled,
  slack,
  test,
  text,
  write,
} from "./browser.mjs";

const smallest = readFileSync(join(root, "examples/smallest/job.yaml"), "utf8").replace(/^#.*\n/gm, "");

/** Pastes a text. Returns the longest time for which the page did not respond, in ms. */
async function paste(page, spec) {
  await page.evaluate(() => {
    window.longest = 0;
    let last = performance.now();
    const beat = () => {
      const now = performance.now();
      window.longest = Math.max(window.longest, now - last);
      last = now;
      window.beat = setTimeout(beat, 0);
    };
    beat();
  });
  await editor(page).focus();
  await page.keyboard.press("Control+a");
  await after(
    page,
    () =>
      page.evaluate((spec) => {
        const data = new DataTransfer();
        data.setData("text/plain", spec);
        document
          .querySelector("#editor")
          .shadowRoot.querySelector(".cm-content")
          .dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
      }, spec),
    120_000,
  );
  return page.evaluate(() => (clearTimeout(window.beat), Math.round(window.longest)));
}

/** Presses a key. Returns how long it took, in ms. */
async function responsive(page) {
  const start = Date.now();
  await editor(page).focus();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("#");
  check((await text(page)).startsWith("#"), "the key is in the text");
  return Date.now() - start;
}

/** A pseudo-random generator with a seed. */
function random(seed) {
  return () => (seed = (seed * 1103515245 + 12345) % 2 ** 31) / 2 ** 31;
}

test("the page stays responsive with 80,000 lines", async () => {
  const server = await serve();
  const page = await open(server);
  const lines = (n, line) => Array.from({ length: n }, (_, at) => line(at)).join("\n");
  const times = [];
  const cases = {
    "others' objects": lines(
      8_000,
      (at) =>
        `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c${at}\n  labels:\n    a: b\ndata:\n  x: y\n  z: w\n---`,
    ),
    jobs: lines(9_000, (at) => `${smallest.replace("mnist", `job-${at}`)}---`),
    "one broken job": `${smallest}${lines(80_000, (at) => `  key${at}: {a: [1, 2`)}`,
    "one job with 80,000 unknown fields": `${smallest}${lines(80_000, (at) => `  key${at}: ${at}`)}`,
    "a script": `${smallest}  code:\n    files:\n      a.py: |\n${lines(80_000, (at) => `        print(${at})`)}\n`,
  };
  for (const [name, spec] of Object.entries(cases)) {
    const blocked = await paste(page, spec);
    const key = await responsive(page);
    check(blocked < 1_000 * slack(), `${name}: the page did not respond for ${blocked} ms`);
    check(key < 1_500 * slack(), `${name}: a key took ${key} ms`);
    times.push(`${name} ${blocked} ms`);
    for (const view of ["plan", "objects", "apply", "picture"]) await page.click(`#tab-${view}`);
    await write(page, "");
  }
  same(page.complaints, [], "complaints");
  await write(page, smallest);
  same(await listed(page), [], "problems after that");
  await server.close();
  return `longest time without a response: ${times.join(", ")}`;
});

test("malformed texts do not break the page", async () => {
  const server = await serve();
  const page = await open(server);
  const next = random(7);
  const letters = [..."{}[]:,-#&*!|>'\"%@`\n\n\n  \t?.~azZ09ä𝄞\u0000\u001b\ud800\u2028\ufeff"];
  const words = [
    "apiVersion: khorovod.dev/v1alpha1\n",
    "kind: TrainingJob\n",
    "spec:\n",
    "  workers:\n",
    "---\n",
    "<<: *a\n",
    "&a ",
    "  - ",
  ];
  for (let round = 0; round < 30; round++) {
    let garbage = round % 2 ? smallest : "";
    const length = 10 ** (1 + (round % 4));
    for (let at = 0; at < length; at++)
      garbage += next() < 0.1 ? words[Math.floor(next() * words.length)] : letters[Math.floor(next() * letters.length)];
    await paste(page, garbage);
    await page.keyboard.press("Control+Space");
    await page.keyboard.press("Escape");
  }
  // Every prefix of a spec, as while it is typed.
  for (let length = 0; length < smallest.length; length += 7) await paste(page, smallest.slice(0, length));
  await paste(page, smallest);
  same(await listed(page), [], "problems after that");
  same(page.complaints, [], "complaints");
  await server.close();
});

test("the heap does not grow over an hour of edits", async () => {
  const server = await serve();
  const page = await open(server, { spec: smallest });
  const session = await page.context().newCDPSession(page);
  const heap = async () => {
    await page.waitForTimeout(300);
    for (let round = 0; round < 3; round++) await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    const nodes = (await session.send("Memory.getDOMCounters")).nodes;
    const wasm = Number(await page.evaluate(() => document.documentElement.dataset.memory));
    return { used: usedSize, nodes, wasm };
  };
  /** Types over the number of workers, in each view in turn. */
  const edits = (count) =>
    page.evaluate(async (count) => {
      const view = editorView();
      const views = ["picture", "plan", "objects", "apply"];
      for (let edit = 0; edit < count; edit++) {
        if (edit % 50 === 0) document.querySelector(`#tab-${views[(edit / 50) % 4]}`).click();
        if (edit % 50 === 1)
          document.querySelectorAll("#view-objects details").forEach((one, at) => (one.open = at % 3 === 0));
        const text = view.state.doc.toString();
        const found = /replicas: (\d+)/.exec(text);
        const at = found.index + "replicas: ".length;
        const seen = document.documentElement.dataset.shown;
        view.dispatch({
          changes: { from: at, to: at + found[1].length, insert: String(1 + ((edit * 7) % 400)) },
          userEvent: "input.type",
        });
        while (document.documentElement.dataset.shown === seen) await new Promise((resolve) => setTimeout(resolve, 0));
      }
    }, count);
  // Run twice before the measurement, ending in the same text and view: what is cached per state is then cached already.
  await edits(800);
  await edits(800);
  const before = await heap();
  // A user who types changes the text about once a second.
  await edits(3_600);
  const now = await heap();
  const grown = (now.used - before.used) / 2 ** 20;
  check(grown < 2, `the heap grew by ${grown.toFixed(1)} MiB`);
  check(now.nodes < before.nodes * 1.2 + 200, `nodes grew from ${before.nodes} to ${now.nodes}`);
  // WebAssembly memory grows by pages. The order in which texts are freed depends on timing, which may need one more page.
  check(now.wasm <= before.wasm + 65_536, `wasm memory grew from ${before.wasm} to ${now.wasm}`);
  await settled(page);
  await server.close();
  return `heap ${(before.used / 2 ** 20).toFixed(1)} → ${(now.used / 2 ** 20).toFixed(1)} MiB, wasm ${now.wasm / 2 ** 20} MiB`;
});

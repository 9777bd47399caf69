// How fast it is, and how large. Figures go to web.json; what a busy machine cannot hold is only said.
import { execFileSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { examples } from "./examples.mjs";
import { check, open, out, root, serve, slack, test, write } from "./browser.mjs";

const figures = {};
const keep = (name, value) => {
  figures[name] = value;
  writeFileSync(join(out, "web.json"), `${JSON.stringify(figures, null, 1)}\n`);
};

/**
 * Presses keys at the end of a line of the spec, one after the other, and measures from the key's event to the state it
 * led to, its layout done. In ms.
 */
const keys = (page, count, find) =>
  page.evaluate(
    async ([count, find]) => {
      const view = document.querySelector("#editor").shadowRoot.querySelector(".cm-content").cmTile.view;
      const times = [];
      for (let key = 0; key < count; key++) {
        const text = view.state.doc.toString();
        const [all, digits] = new RegExp(find).exec(text) ?? ["", ""];
        const at = text.indexOf(all) + all.length - digits.length;
        const next = String(Number(digits) + (key % 2 ? -1 : 1));
        await new Promise((resolve) => setTimeout(resolve, 12));
        const seen = document.documentElement.dataset.shown;
        const start = performance.now();
        const done = new Promise((resolve) => {
          const watch = new MutationObserver(() => {
            if (document.documentElement.dataset.shown === seen) return;
            watch.disconnect();
            document.body.getBoundingClientRect();
            document.querySelector("#result").scrollHeight;
            resolve(performance.now() - start);
          });
          watch.observe(document.documentElement, { attributeFilter: ["data-shown"] });
        });
        view.dispatch({ changes: { from: at, to: at + digits.length, insert: next }, userEvent: "input.type" });
        times.push(await done);
      }
      return times.sort((a, b) => a - b);
    },
    [count, find],
  );

const at = (times, share) => Number(times[Math.min(times.length - 1, Math.floor(times.length * share))].toFixed(2));
const summary = (times) => ({ p50: at(times, 0.5), p95: at(times, 0.95), p99: at(times, 0.99) });

test("a key press leads to a new preview in time", async () => {
  const server = await serve();
  const page = await open(server);
  const all = [];
  for (const [, spec] of examples) {
    const found = /replicas: *(\d+)/.exec(spec);
    if (!found) continue;
    await write(page, spec);
    await keys(page, 10, "replicas: *(\\d+)");
    all.push(...(await keys(page, 30, "replicas: *(\\d+)")));
  }
  all.sort((a, b) => a - b);
  keep("examples, picture open", summary(all));
  const smallest = examples.find(([name]) => name === "smallest")[1];
  for (const [count, most] of [[1_000, 50], [10_000, 50], [100_000, 50]]) {
    for (const view of ["picture", "objects"]) {
      await page.click(`#tab-${view}`);
      await write(page, smallest.replace("replicas: 4", `replicas: ${count - 1}`));
      await keys(page, 10, "replicas: *(\\d+)");
      const times = summary(await keys(page, 60, "replicas: *(\\d+)"));
      keep(`${count} workers, ${view} open`, times);
      if (count === 10_000) check(times.p95 <= most * slack(), `${count} workers, ${view}: p95 is ${times.p95} ms`);
    }
  }
  const examplesTook = figures["examples, picture open"];
  check(examplesTook.p95 <= 8 * slack(), `the examples' p95 is ${examplesTook.p95} ms`);
  await server.close();
  return Object.entries(figures).map(([name, { p50, p95 }]) => `${name} ${p50}/${p95}`).join("; ");
});

test("it is there within a second", async () => {
  const server = await serve();
  const took = [];
  for (let round = 0; round < 7; round++) {
    const page = await open(server);
    took.push(await page.evaluate(() => performance.getEntriesByName("interactive")[0].startTime));
    await page.context().close();
  }
  took.sort((a, b) => a - b);
  keep("interactive, ms", { least: Math.round(took[0]), median: Math.round(took[3]), most: Math.round(took[6]) });
  check(took[3] <= 1_000 * slack(), `interactive after ${took[3]} ms`);
  await server.close();
  return took.map(Math.round).join(", ");
});

test("it is small", async () => {
  const folder = join(root, "web/dist/assets");
  // The importers come when somebody imports.
  const sizes = { wasm: 0, importers: 0, js: 0, css: 0, json: 0 };
  for (const file of readdirSync(folder)) {
    const packed = execFileSync("brotli", ["-q", "11", "-c", join(folder, file)], { maxBuffer: 64 << 20 }).length;
    sizes[file.includes("_import_bg") ? "importers" : file.split(".").at(-1)] += packed;
  }
  keep("brotli, bytes", sizes);
  check(sizes.wasm <= 400_000, `the module is ${sizes.wasm} bytes`);
  check(sizes.js <= 250_000, `the JavaScript is ${sizes.js} bytes`);
  return JSON.stringify(sizes);
});

// The picture: what is behind its parts, several jobs, and its export.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, check, editor, native, open, root, same, serve, test, write } from "./browser.mjs";
import { execFileSync } from "node:child_process";

const example = (name) => readFileSync(join(root, "examples", name, "job.yaml"), "utf8");
const smallest = example("smallest");

/** The rows of the details. */
const details = (page) =>
  page.evaluate(() => ({
    title: document.querySelector(".details h3").firstChild.textContent,
    ...Object.fromEntries(
      [...document.querySelectorAll(".details tr")].map((row) => [
        row.querySelector("th").textContent,
        row.querySelector("td").innerText,
      ]),
    ),
  }));

test("frames of gangs and racks come behind the workers, and can be opened", async () => {
  const server = await serve();
  const page = await open(server, { spec: example("gang") });
  const gang = "  scheduling:\n    gang: volcano\n    volcanoQueue: vision\n";
  await write(page, example("gang").replace(gang, ""));
  same(await page.locator('[data-key="frame 0"]').count(), 0, "frames without a gang");
  // The frame is new, and the workers are old.
  await after(page, () =>
    page.evaluate((gang) => {
      const view = editorView();
      view.dispatch({ changes: { from: view.state.doc.length, insert: gang } });
    }, gang),
  );
  await page.locator('[data-key="worker 0 3"]').click();
  check((await page.innerText(".details h3")).startsWith("worker 3"), "the worker is in front of the frame");
  await page.locator('[data-key="frame 0"]').focus();
  await page.keyboard.press("Enter");
  check((await page.innerText(".details")).includes("PodGroup vit"), await page.innerText(".details"));
  check((await page.locator("#editor .origin").first().innerText()).includes("gang:"), "the highlighted line");
  // A worker moves to another rack, whose frame is newer than the worker or older.
  const racks = example("topology");
  await write(page, racks);
  for (const [from, to, worker] of [
    ["replicas: 16", "replicas: 4", 2],
    ["size: 4", "size: 2", 2],
    ["replicas: 4", "replicas: 12", 9],
    ["size: 2", "size: 3", 3],
  ]) {
    await after(page, () =>
      page.evaluate(
        ([from, to]) => {
          const view = editorView();
          const at = view.state.doc.toString().indexOf(from);
          view.dispatch({ changes: { from: at, to: at + from.length, insert: to } });
        },
        [from, to],
      ),
    );
    await page.locator(`[data-key="worker 0 ${worker}"]`).click({ timeout: 3_000 });
    check((await page.innerText(".details h3")).startsWith(`worker ${worker}`), `${to}: worker ${worker}`);
  }
  await server.close();
});

test("each part of the picture shows what is behind it", async () => {
  const server = await serve();
  const page = await open(server, { spec: smallest });
  const plan = JSON.parse(
    execFileSync(native, ["plan", "-o", "json", join(root, "examples/smallest/job.yaml")]).toString(),
  ).jobs[0];
  const { run } = plan;
  await page.locator('[data-key="worker 0 2"]').click();
  const worker = await details(page);
  same(
    [worker.title, worker.host, worker.GPUs, worker.ranks, worker.spec],
    ["worker 2", `mnist-${run}-worker-2.mnist`, "8", "16–23; rank 23 passes gradients to rank 24", "workers"],
    "a worker",
  );
  const [part, panel] = await page.evaluate(() =>
    ['[data-key="worker 0 2"]', ".details"].map((one) => document.querySelector(one).getBoundingClientRect()),
  );
  check(part.bottom <= panel.top, `the details cover the worker: ${part.bottom}, ${panel.top}`);
  check(worker.objects.includes(`StatefulSet mnist-${run}-worker`), worker.objects);
  const marked = await page.locator("#editor .origin").allInnerTexts();
  check(marked.length === 1 && marked[0].includes("workers:"), `the lines of the spec: ${marked}`);
  // The last rank passes to the first one.
  await page.locator('[data-key="worker 0 3"]').focus();
  await page.keyboard.press("Enter");
  same((await details(page)).ranks, "24–31; rank 31 passes gradients to rank 0", "the ring");
  await page.locator('[data-key="head"]').click();
  const head = await details(page);
  same([head.title, head.host, head.spec], ["launcher", plan.head.host, "launcher: default, not in the spec"], "head");
  check(head.objects.includes(`Job mnist-${run}-launcher`), head.objects);
  // An object opens in its view.
  await page.getByRole("button", { name: `Job mnist-${run}-launcher` }).click();
  check(await page.locator("#view-objects details[open]", { hasText: "launcher" }).first().isVisible(), "the Job");
  await page.click("#tab-picture");
  await page.keyboard.press("Tab");
  await page.locator('[data-key="head"]').focus();
  await page.keyboard.press("Escape");
  check(!(await page.locator(".details").isVisible()), "Escape closes the details");
  await server.close();
});

test("workers are reached with the arrow keys, also in a grid", async () => {
  const server = await serve();
  const page = await open(server, { spec: smallest });
  const focused = () => page.evaluate(() => document.activeElement.dataset.key);
  await page.locator('[data-key="worker 0 0"]').focus();
  for (const [key, wanted] of [
    ["ArrowRight", "worker 0 1"],
    ["ArrowDown", "worker 0 3"],
    ["ArrowLeft", "worker 0 2"],
    ["Home", "worker 0 0"],
    ["End", "worker 0 3"],
  ]) {
    await page.keyboard.press(key);
    same(await focused(), wanted, key);
  }
  await write(page, smallest.replace("replicas: 4", "replicas: 49"));
  await page.locator('[data-key="grid 0"]').focus();
  for (const key of ["ArrowRight", "ArrowDown", "End", "Enter"]) await page.keyboard.press(key);
  same((await details(page)).title, "worker 48", "the last worker of the grid");
  const box = await page.locator('[data-key="grid 0"] path').first().boundingBox();
  await page.mouse.click(box.x + 60, box.y + 8);
  same((await details(page)).title, "worker 1", "the worker that was clicked");
  await server.close();
});

test("workers that may come later are described", async () => {
  const server = await serve();
  const page = await open(server, { spec: example("elastic") });
  await page.locator('[data-key="worker 0 6"]').click();
  same((await details(page)).ranks, "none until it joins, if there is room", "an elastic worker");
  await write(page, example("self-healing"));
  await page.locator('[data-key="worker 0 16"]').click();
  same((await details(page)).ranks, "none until it takes the place of a lost worker", "a spare");
  await server.close();
});

test("several jobs are drawn and counted", async () => {
  const server = await serve();
  const other = smallest.replace("name: mnist", "name: bert").replace("replicas: 4", "replicas: 2");
  const page = await open(server, { spec: `${smallest}---\n${other}` });
  same(await page.textContent("#sum"), "2 jobs: 48 GPUs · 48 ranks · 8 pods", "the sum");
  same(await page.locator(".picture [data-key*=worker]").count(), 6, "workers");
  await page.locator('[data-key="1/worker 0 1"]').click();
  check((await details(page)).host.endsWith("-worker-1.bert"), "the host of the second job");
  const marked = await page.locator("#editor .origin").allInnerTexts();
  check(marked.length === 1 && marked[0].includes("replicas: 2"), `the lines of the second job: ${marked}`);
  // Jobs that begin below what the editor shows.
  const many = [3, 4, 5, 6, 7].map((replicas) =>
    smallest
      .replace("name: mnist", `name: job-${replicas}`)
      .replace(
        "workers: {replicas: 4, gpus: 8}",
        `workers:\n    # as many as fit\n    replicas: ${replicas}\n    gpus: 8`,
      ),
  );
  await write(page, many.join("---\n"));
  // The colours come without a key or a click.
  await page.waitForFunction(() => {
    const lines = [...document.querySelector("#editor").shadowRoot.querySelectorAll(".cm-line")];
    return lines.filter((line) => line.textContent.trim()).every((line) => line.querySelector("span"));
  });
  for (const [job, replicas] of [3, 4, 5, 6, 7].entries()) {
    await page.locator(`[data-key="${job ? `${job}/` : ""}worker 0 1"]`).click();
    check((await details(page)).host.endsWith(`-worker-1.job-${replicas}`), `the host of job ${job}`);
    const lines = await page.locator("#editor .origin").allInnerTexts();
    same(
      lines.map((line) => line.trim()),
      ["workers:", "# as many as fit", `replicas: ${replicas}`, "gpus: 8"],
      `the lines of job ${job}`,
    );
    const colours = await page.evaluate(() =>
      [...document.querySelector("#editor").shadowRoot.querySelectorAll(".origin")].map(
        (line) => line.querySelectorAll("span").length,
      ),
    );
    check(
      colours.every((count) => count > 0),
      `the lines of job ${job} have no colours: ${colours}`,
    );
  }
  await server.close();
});

test("the picture is saved as SVG and PNG", async () => {
  const server = await serve();
  const page = await open(server, { spec: smallest });
  const save = async (type) => {
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: `Save as ${type}` }).click(),
    ]);
    return [file.suggestedFilename(), readFileSync(await file.path())];
  };
  const [name, svg] = await save("SVG");
  same(name, "mnist.svg", "the name");
  const printed = execFileSync(native, ["plan", "-o", "svg", join(root, "examples/smallest/job.yaml")]).toString();
  same(svg.toString().trim(), printed.trim(), "the SVG file");
  const [, png] = await save("PNG");
  check(png.subarray(1, 4).toString() === "PNG" && png.length > 10_000, `${png.length} bytes`);
  const width = png.readUInt32BE(16);
  check(width === 2 * Number(/width="(\d+)"/.exec(printed)[1]), `${width} px`);
  same(page.complaints, [], "complaints");
  await editor(page).focus();
  await server.close();
});

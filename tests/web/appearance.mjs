// The look of the page and its accessibility: axe checks every state, and a screenshot of each is kept for people.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { axe, check, editor, open, out, root, same, serve, test, text, write } from "./browser.mjs";

const example = (name) => readFileSync(join(root, "examples", name, "job.yaml"), "utf8");
const smallest = example("smallest");
const wrong = smallest
  .replace("gpus: 8", "gpu: 8, slotsPerWorker: 4")
  .replace("image: ghcr.io/acme/mnist:1.4", "image: ghcr.io/acme/mnist\n  launcher: {kind: mpirum}");

/** Waits until the timeline has this headline. */
const shown = (headline) => (page) => page.locator("#view-timeline h2", { hasText: headline }).waitFor();

/** States of the page: name, spec, view, and a further action. */
const STATES = [
  ["smallest", smallest, "picture"],
  ["empty", "", "picture"],
  ["one-worker", smallest.replace("replicas: 4", "replicas: 1"), "picture"],
  ["forty-workers", smallest.replace("replicas: 4", "replicas: 40"), "picture"],
  ["thousand-workers", smallest.replace("replicas: 4", "replicas: 1000"), "picture"],
  ["groups", example("worker-groups"), "picture"],
  ["storage", example("s3"), "picture"],
  ["indexed-job", example("indexed-job"), "picture"],
  ["torchrun-elastic", example("torchrun-elastic"), "picture"],
  ["cpu", example("cpu"), "picture"],
  ["host-network", example("host-network"), "picture"],
  ["racks", example("topology"), "picture"],
  ["racks-4", example("topology").replace("replicas: 16", "replicas: 4").replace("size: 4", "size: 2"), "picture"],
  ["racks-49", example("topology").replace("replicas: 16", "replicas: 49").replace("size: 4", "size: 7"), "picture"],
  ["nvlink", example("nvlink"), "picture"],
  ["gang", example("gang"), "picture"],
  ["timeline", example("self-healing"), "timeline", shown("A node fails")],
  [
    "timeline-hang",
    example("torchrun"),
    "timeline",
    async (page) => {
      await page.getByRole("button", { name: "Hang a rank" }).click();
      await shown("A rank hangs")(page);
    },
  ],
  ["plan", example("horovod-gpu"), "plan"],
  [
    "objects",
    smallest,
    "objects",
    async (page) => {
      await page.locator("#view-objects details", { hasText: "StatefulSet" }).locator("summary").click();
      await write(page, smallest.replace("replicas: 4, gpus: 8", "replicas: 8, gpus: 4"));
      await page.locator("#view-objects details", { hasText: "StatefulSet" }).scrollIntoViewIfNeeded();
    },
  ],
  ["apply", smallest, "apply"],
  ["problems", wrong, "picture"],
  [
    "completion",
    `${smallest}  \n`,
    "picture",
    async (page) => {
      await page.locator("#editor .cm-content").focus();
      await page.keyboard.press("Control+End");
      await page.keyboard.press("ArrowUp");
      await page.keyboard.press("End");
      await page.keyboard.type("s");
      await page.locator("#editor .cm-tooltip-autocomplete").waitFor();
      await page.waitForTimeout(250);
    },
  ],
  [
    "import",
    smallest,
    "picture",
    async (page) => {
      await page.getByRole("button", { name: "Import…" }).click();
      await page
        .getByLabel("File to import")
        .fill(readFileSync(join(root, "tests/import/stable-horovod/everything.yaml"), "utf8"));
      await page.waitForFunction(() => document.querySelector("#import-system").value);
      await page.getByRole("button", { name: "Import", exact: true }).click();
      await page.locator("#import table").waitFor();
      await page.locator("#import .done").scrollIntoViewIfNeeded();
    },
  ],
  [
    "what-if",
    smallest,
    "picture",
    async (page) => {
      await page.click("#what-if summary");
      await page.getByLabel("Price per GPU hour").fill("2.5");
      await page.waitForTimeout(80);
    },
  ],
  // The notice stays, so this is the last state.
  [
    "replaced-draft",
    smallest,
    "picture",
    async (page) => {
      await page.selectOption("#examples", "torchrun");
      await page.getByRole("button", { name: "Bring it back" }).waitFor();
    },
  ],
];

const THEMES = { light: {}, dark: { colorScheme: "dark" } };
const SIZES = { desk: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };

for (const [theme, colours] of Object.entries(THEMES)) {
  for (const [size, viewport] of Object.entries(SIZES)) {
    test(`${theme} on a ${size} has no clipped text and no axe violation`, async () => {
      const server = await serve();
      const page = await open(server, {
        viewport,
        ...colours,
        reducedMotion: "reduce",
        ...(size === "phone" ? { hasTouch: true, isMobile: true } : {}),
      });
      mkdirSync(out, { recursive: true });
      // The page's policy forbids other scripts; `evaluate` is not subject to it.
      await page.evaluate(readFileSync(axe, "utf8"));
      const wrong = [];
      for (const [name, spec, view, more] of STATES) {
        if (size === "phone") await page.click("#show-spec");
        await write(page, spec);
        check((await text(page)) === spec, "the editor holds the spec");
        if (size === "phone" && !["problems", "completion"].includes(name)) await page.click("#show-result");
        if (await page.locator(`#tab-${view}`).isVisible()) await page.click(`#tab-${view}`);
        if (size === "phone" && more && name === "objects") {
          await page.locator("#view-objects details", { hasText: "StatefulSet" }).locator("summary").click();
        } else if (more) await more(page);
        await page.waitForTimeout(80);
        await page.screenshot({ path: join(out, `${name}-${theme}-${size}.png`) });
        const wide = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        if (wide > 0) wrong.push(`${name}: ${wide} px too wide`);
        if (
          view === "picture" &&
          (await page.evaluate(() => {
            const picture = document.querySelector(".picture");
            return picture.textContent.includes("(outer frames)") !== !!picture.querySelector(".apart");
          }))
        )
          wrong.push(`${name}: the note about the frames of nodes and the frames disagree`);
        wrong.push(...(await cut(page)).map((one) => `${name}: cut off: ${one}`));
        wrong.push(...(await violations(page)).map((one) => `${name}: ${one}`));
        await page.keyboard.press("Escape");
      }
      same([...new Set(wrong)], [], "findings");
      await server.close();
      return `${STATES.length} states`;
    });
  }
}

test("a long line wraps, and its second row is indented", async () => {
  const server = await serve();
  const page = await open(server, { viewport: SIZES.phone, spec: example("s3") });
  const [wide, first, second] = await page.evaluate(() => {
    const root = document.querySelector("#editor").shadowRoot;
    const scroller = root.querySelector(".cm-scroller");
    const line = [...root.querySelectorAll(".cm-line")].find((one) => one.textContent.includes("command:"));
    const range = document.createRange();
    range.selectNodeContents(line);
    const lefts = [...range.getClientRects()].map(({ left, top }) => ({ left, top: Math.round(top) }));
    const top = Math.min(...lefts.map((one) => one.top));
    const left = (below) => Math.min(...lefts.filter((one) => one.top > top + 8 === below).map((one) => one.left));
    return [scroller.scrollWidth - scroller.clientWidth, left(false), left(true)];
  });
  same(wide, 0, "horizontal scrolling");
  check(second > first && second < first + 100, `the second row begins at ${second}, the first at ${first}`);
  await server.close();
});

test("the chosen theme persists", async () => {
  const server = await serve();
  const page = await open(server);
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.click("#theme");
  same(await ground(), light, "light as the system");
  await page.click("#theme");
  check((await ground()) !== light, "dark");
  await page.reload();
  check((await ground()) !== light, "dark after a reload");
  await server.close();
});

test("a printed page shows the whole spec and the whole open view", async () => {
  const server = await serve();
  const page = await open(server, { viewport: { width: 800, height: 500 } });
  await page.click("#tab-plan");
  await page.emulateMedia({ media: "print" });
  const whole = await page.evaluate(() =>
    ["#editor", "#view-plan"].map((one) => document.querySelector(one).getBoundingClientRect().height > 200),
  );
  same(whole, [true, true], "heights of the editor and the plan");
  const [plan, page_] = await page.evaluate(() =>
    ["#view-plan", "html"].map((one) => document.querySelector(one).scrollHeight),
  );
  check(page_ > plan && plan > 500, `the plan has ${plan} px, the page ${page_}`);
  await page.screenshot({ path: join(out, "paper.png"), fullPage: true });
  await server.close();
});

test("an open object is printed whole, dark on white", async () => {
  const server = await serve();
  const page = await open(server, { spec: smallest, colorScheme: "dark" });
  await page.click("#theme");
  await page.click("#theme");
  await page.click("#tab-objects");
  await page.locator("#view-objects details", { hasText: "StatefulSet" }).locator("summary").click();
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  const [ground, cut] = await page.evaluate(() => {
    const yaml = document.querySelector("#view-objects details[open] .yaml");
    return [getComputedStyle(document.body).backgroundColor, yaml.scrollHeight - yaml.clientHeight];
  });
  same([ground, cut], ["rgb(246, 248, 250)", 0], "the ground, and what is cut off");
  check(await page.locator(".tree .root button").isVisible(), "the name of the job is not printed");
  await page.screenshot({ path: join(out, "paper-objects.png"), fullPage: true });
  await server.close();
});

test("targets are at least 40 px on a touch screen", async () => {
  const server = await serve();
  const page = await open(server, { viewport: SIZES.phone, hasTouch: true, isMobile: true, spec: wrong });
  const small = () =>
    page.evaluate(() =>
      [...document.querySelectorAll("button, select, summary")]
        .filter((one) => one.checkVisibility())
        .filter((one) => Math.min(one.getBoundingClientRect().width, one.getBoundingClientRect().height) < 40)
        .map((one) => one.textContent.slice(0, 30) || one.id),
    );
  same(await small(), [], "small targets beside the spec");
  await write(page, smallest);
  await page.click("#show-result");
  for (const view of ["picture", "plan", "objects", "apply"]) {
    await page.click(`#tab-${view}`);
    if (view === "picture") await page.locator('[data-key="worker 0 0"]').click();
    if (view === "objects") await page.locator("#view-objects summary").nth(2).click();
    same(await small(), [], `small targets in ${view}`);
  }
  await server.close();
});

test("what can be focused has a name of whole words, and the editor a description", async () => {
  const server = await serve();
  const page = await open(server, { spec: "" });
  check(
    await page.getByRole("button", { name: "elastic Elastic Horovod: the training continues" }).isVisible(),
    "the name of a card",
  );
  await write(page, smallest);
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send("Accessibility.getFullAXTree");
  const names = nodes.filter(({ role }) => role?.value === "button").map(({ name }) => name?.value);
  check(
    names.some((name) => name?.endsWith("ranks 0–7")) && names.some((name) => /launcher/.test(name)),
    `the names of workers and of the launcher: ${names.join("; ")}`,
  );
  check(!names.some((name) => /worker 0\S/.test(name)), `names without spaces: ${names.join("; ")}`);
  const box = nodes.find(({ role, name }) => role?.value === "textbox" && name?.value === "Training spec, YAML");
  check(box?.description?.value.includes("Escape, then Tab"), `the description: ${JSON.stringify(box?.description)}`);
  await server.close();
});

test("a narrow screen shows the whole status, and a wide one three examples in a row", async () => {
  const server = await serve();
  for (const width of [390, 600]) {
    const narrow = await open(server, {
      viewport: { width, height: 844 },
      hasTouch: true,
      isMobile: true,
      spec: wrong,
    });
    for (const spec of [wrong, smallest]) {
      await write(narrow, spec);
      const hidden = await narrow.$eval("#status", (one) => one.scrollWidth - one.clientWidth);
      same(hidden, 0, `px of "${await narrow.innerText("#status")}" that are cut off at ${width} px`);
    }
  }
  const wide = await open(server, { viewport: { width: 1920, height: 1080 }, spec: "" });
  const rows = await wide.$$eval(".card", (all) => new Set(all.map((one) => one.getBoundingClientRect().top)).size);
  same(rows, 2, "rows of six examples");
  await server.close();
});

test("at 200 % zoom a pane fills the screen", async () => {
  const server = await serve();
  const page = await open(server, { viewport: { width: 640, height: 400 }, spec: smallest });
  await page.locator("#editor").scrollIntoViewIfNeeded();
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  const height = await page.evaluate(() => document.querySelector("#spec").getBoundingClientRect().height);
  check(height >= 390, `the pane has ${height} px`);
  await server.close();
});

test("the border between spec and result moves, and stays there", async () => {
  const server = await serve();
  const page = await open(server, { spec: smallest });
  const width = () => page.evaluate(() => Math.round(document.querySelector("#spec").getBoundingClientRect().width));
  const before = await width();
  const { x, y, width: thickness } = await page.locator("#split").boundingBox();
  await page.mouse.move(x + thickness / 2, y + 200);
  await page.mouse.down();
  await page.mouse.move(400, y + 220);
  await page.mouse.up();
  check(Math.abs((await width()) - 400) < 8 && before > 500, `${before} → ${await width()}`);
  await page.locator("#split").focus();
  await page.keyboard.press("ArrowRight");
  const after = await width();
  check(after > 410, `the arrow key: ${after}`);
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  same(await width(), after, "after a reload");
  await page.locator("#split").dblclick();
  same(await width(), before, "after a double click");
  await server.close();
});

test("the picture animates changes and reuses elements", async () => {
  const server = await serve();
  const page = await open(server, { spec: smallest });
  const handle = await page.locator('[data-key="worker 0 1"]').elementHandle();
  const launcher = await page.locator('[data-key="head"] text').first().elementHandle();
  const gpus = (count) =>
    page.evaluate((count) => {
      const view = editorView();
      const at = view.state.doc.toString().indexOf("gpus: ") + 6;
      const seen = document.documentElement.dataset.shown;
      view.dispatch({ changes: { from: at, to: at + 1, insert: count } });
      return document.documentElement.dataset.shown !== seen;
    }, count);
  const moves = () => handle.evaluate((one) => /0\.25s/.test(getComputedStyle(one).transitionDuration));
  await page.waitForTimeout(600);
  check(await gpus("2"), "the preview is synchronous");
  check(await handle.evaluate((one) => one.isConnected), "the worker's element is reused");
  check(await moves(), "the change is animated");
  await gpus("4");
  check(!(await moves()), "a second change soon after is not animated");
  check(await launcher.evaluate((one) => one.isConnected), "an unchanged text is reused");
  await page.waitForFunction(
    () => document.querySelector('[data-key="worker 0 1"] title').textContent.endsWith(": ranks 4–7"),
    null,
    { timeout: 2_000 },
  );
  await server.close();
});

test("the picture is the same whatever was drawn before", async () => {
  const server = await serve();
  const [page, fresh] = [await open(server, { spec: smallest }), await open(server)];
  // The visible parts with their places, and which of them can be chosen.
  const drawn = (page) =>
    page.evaluate(async () => {
      // Tooltips follow after the picture.
      await new Promise((resolve) => setTimeout(resolve, 50));
      return [...document.querySelectorAll(".picture > g[data-key]")].map((one) => {
        const { x, y } = one.getBoundingClientRect();
        return `${one.dataset.key} ${one.tabIndex} ${x} ${y} ${one.innerHTML}`;
      });
    });
  // Fewer workers and again as many; cards, tiles and squares; and texts that have to be escaped.
  for (const [replicas, mount] of [[2], [4], [13], [5, "/a&amp;b"], [300], [4, "/a<b"], [12], [1], [3]]) {
    const storage = mount ? `\n  storage: [{name: data, mountPath: "${mount}", emptyDir: {}}]` : "";
    const spec = smallest.replace("replicas: 4", `replicas: ${replicas}`).trimEnd() + storage;
    await page.evaluate((spec) => {
      const view = editorView();
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: spec } });
    }, spec);
    await write(fresh, spec);
    await page.waitForTimeout(400);
    same(await drawn(page), await drawn(fresh), `the picture of ${replicas} workers`);
  }
  await server.close();
});

test("the picture follows the width of its view, also while the spec has errors", async () => {
  const server = await serve();
  const page = await open(server, { spec: smallest });
  const drawn = (width) =>
    page.waitForFunction(
      (width) => {
        const room = Math.floor(document.querySelector("#view-picture").getBoundingClientRect().width - 32);
        const svg = document.querySelector(".picture");
        return svg.viewBox.baseVal.width === Math.max(280, room) && room < width && svg.querySelector("[data-key]");
      },
      width,
      { timeout: 5_000 },
    );
  await drawn(700);
  await page.setViewportSize({ width: 900, height: 800 });
  await drawn(480);
  await editor(page).focus();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("gpu: 8");
  await page.locator("#problems").getByText("gpu").first().waitFor();
  await page.setViewportSize({ width: 1280, height: 800 });
  await drawn(700);
  // Another view has the focus while the width changes.
  await page.click("#tab-plan");
  await page.setViewportSize({ width: 900, height: 800 });
  await page.click("#tab-picture");
  await drawn(480);
  same(page.complaints, [], "complaints");
  await server.close();
});

/** The violations that axe finds. */
async function violations(page) {
  const found = await page.evaluate(async () => {
    const { violations } = await axe.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"],
    });
    return violations.map(
      (one) =>
        `axe ${one.impact} ${one.id}: ${one.nodes
          .slice(0, 2)
          .map((node) => `${node.target} (${node.any[0]?.message ?? node.failureSummary})`)
          .join("; ")}`,
    );
  });
  return found;
}

/** The texts that extend beyond the picture. */
function cut(page) {
  return page.evaluate(() => {
    const svg = document.querySelector(".picture");
    if (!svg?.checkVisibility()) return [];
    const all = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text")]
      .filter((one) => {
        const box = one.getBoundingClientRect();
        return box.right > all.right + 1 || box.left < all.left - 1 || box.bottom > all.bottom + 1;
      })
      .map((one) => one.textContent);
  });
}

// Typing a spec: completion, hover, and use by keyboard alone.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { examples } from "./examples.mjs";
import {
  address,
  after,
  check,
  editor,
  listed,
  open,
  ready,
  root,
  same,
  serve,
  settled,
  test,
  text,
  write,
} from "./browser.mjs";

const options = (page) =>
  page.evaluate(() =>
    [
      ...document
        .querySelector("#editor")
        .shadowRoot.querySelectorAll(".cm-tooltip-autocomplete li .cm-completionLabel"),
    ].map((one) => one.textContent),
  );

/** Takes a completion by its first letters and Tab. */
async function pick(page, letters) {
  if (letters) await page.keyboard.type(letters);
  else await page.keyboard.press("Control+Space");
  await page.waitForFunction(
    () => document.querySelector("#editor").shadowRoot.querySelector(".cm-tooltip-autocomplete li[aria-selected]"),
    null,
    { timeout: 5_000 },
  );
  // CodeMirror ignores keys for 75 ms after the list opens, as they may be meant for the text.
  await page.waitForFunction(() => {
    const list = document.querySelector("#editor").shadowRoot.querySelector(".cm-tooltip-autocomplete");
    if (list !== window.list) [window.list, window.listSince] = [list, performance.now()];
    return list && performance.now() - window.listSince > 100;
  });
  await page.keyboard.press("Tab");
}

test("Tab takes the suggestion even if it follows the last letter at once", async () => {
  const server = await serve();
  const page = await open(server, { spec: "" });
  await editor(page).focus();
  for (const [letters, behind] of [
    ["api", "khorovod.dev/v1alpha1\n"],
    ["ki", "TrainingJob\n"],
    ["meta", ""],
  ]) {
    await page.keyboard.type(letters);
    await page.keyboard.press("Tab");
    await page.keyboard.type(behind);
  }
  same(await text(page), "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata:\n  ", "the text");
  await server.close();
});

test("a job is written in an empty editor with the keyboard and completion", async () => {
  const server = await serve();
  const page = await open(server, { spec: "" });
  await editor(page).focus();
  // Keys and their fixed values, each selected by a few letters.
  await pick(page, "api");
  await pick(page);
  await page.keyboard.press("Enter");
  await pick(page, "ki");
  await pick(page);
  await page.keyboard.press("Enter");
  await pick(page, "met");
  await pick(page, "na");
  await page.keyboard.press("Escape");
  await page.keyboard.type("mnist\n");
  await page.keyboard.press("Shift+Tab");
  await pick(page, "sp");
  await pick(page, "im");
  await page.keyboard.press("Escape");
  await page.keyboard.type("ghcr.io/acme/mnist:1.4\n");
  await pick(page, "com");
  await page.keyboard.press("Escape");
  await page.keyboard.type("[python, train.py\n");
  await settled(page);
  await page.keyboard.press("Escape");
  const line = await text(page);
  check(/command: \[python, train.py\n\s*\]/.test(line), `brackets close by themselves:\n${line}`);
  // The new line was one key too early: undo it and leave the bracket.
  await page.keyboard.press("Control+z");
  await page.keyboard.press("End");
  await page.keyboard.type("\n");
  await pick(page, "wo");
  await pick(page, "rep");
  await page.keyboard.press("Escape");
  await page.keyboard.type("4\n");
  await pick(page, "gp");
  await page.keyboard.press("Escape");
  await after(page, () => page.keyboard.type("8"));
  same(await listed(page), [], await text(page));
  same(await page.textContent("#sum"), "32 GPUs · 32 ranks · 5 pods", "the sum");
  same(page.complaints, [], "complaints");
  await server.close();
  return (await text(page)).split("\n").length + " lines";
});

test("a typed character arrives once, with every input method", async () => {
  const server = await serve();
  for (const options of [{}, { hasTouch: true, isMobile: true }]) {
    const page = await open(server, { spec: "a: 1", ...options });
    const devtools = await page.context().newCDPSession(page);
    await editor(page).focus();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("2 [y");
    same(await text(page), "a: 12 [y]", "keys, with brackets that close themselves");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("b: ");
    same(await text(page), "b: ", "keys that replace the selection");
    await devtools.send("Input.imeSetComposition", { text: "にほ", selectionStart: 2, selectionEnd: 2 });
    await devtools.send("Input.insertText", { text: "日本" });
    await page.keyboard.type("!");
    await page.keyboard.insertText("ä");
    same(await text(page), "b: 日本!ä", "an input method, a key, a letter without a key");
    await page.keyboard.press("Control+z");
    await page.keyboard.press("Control+z");
    check(!(await text(page)).includes("!"), `undone: ${await text(page)}`);
    await page.context().close();
  }
  await server.close();
});

test("an empty editor offers a first job", async () => {
  const server = await serve();
  const page = await open(server, { spec: "x" });
  await editor(page).focus();
  await page.keyboard.press("Backspace");
  // An empty spec does not show the last job.
  await page.getByText("The result appears here as soon as the spec describes a job.").waitFor();
  same(
    [await page.locator("#view-picture").isVisible(), await page.textContent("#sum")],
    [false, ""],
    "the view and the sum of the last job",
  );
  same(await listed(page), [], "an empty spec is not a mistake");
  await after(page, () => page.locator(".card", { hasText: "elastic" }).click());
  check((await text(page)).includes("launcher: horovodrun"), "the example of a card");
  await write(page, "");
  await after(page, () => page.getByRole("button", { name: "Start from the smallest job" }).click());
  same(await listed(page), [], await text(page));
  check(await page.locator("#view-picture").isVisible(), "the picture is back");
  await server.close();
});

test("a deleted job does not come back with the first letters of another one", async () => {
  const server = await serve();
  const page = await open(server);
  const shown = async () => [
    await page.locator("#view-picture").isVisible(),
    await page.textContent("#sum"),
    await page.locator("#nothing").isVisible(),
    await page.title(),
  ];
  const nothing = [false, "", true, "khorovod preview"];
  check((await shown())[0], "the picture of the first job");
  const before = await text(page);
  await write(page, "");
  await after(page, () => page.keyboard.type("ap"));
  same(await shown(), nothing, "after the first letters in an empty editor");
  for (let undo = 0; undo < 2; undo++) await page.keyboard.press("Control+z");
  await settled(page);
  same([await text(page), (await shown())[0]], [before, true], "after undo");
  await page.keyboard.press("Control+a");
  await after(page, () => page.keyboard.type("a"));
  same(await shown(), nothing, "after a letter that replaces the whole job");
  await after(page, () => page.keyboard.press("Control+z"));
  // A job that is edited keeps its picture.
  await page.keyboard.press("Control+End");
  await after(page, () => page.keyboard.type("x"));
  check((await shown())[0], "the picture of the edited job");
  await server.close();
});

test("one fix turns the fields of a spec into a job", async () => {
  const server = await serve();
  const page = await open(server, {
    spec: "image: ghcr.io/acme/train:1.0\ncommand: python train.py\n\nworkers:\n  replicas: 2\n  gpus: 8\n",
  });
  same(
    (await listed(page)).map(({ code, fix }) => [code, fix]),
    [["no-training-job", "Fix"]],
    "the problems",
  );
  await editor(page).focus();
  await page.keyboard.press("Control+Home");
  await after(page, () => page.keyboard.press("Control+."));
  same(await listed(page), [], await text(page));
  same(await page.textContent("#sum"), "16 GPUs · 16 ranks · 3 pods", "the sum");
  await after(page, () => page.keyboard.press("Control+z"));
  check((await text(page)).startsWith("image:"), await text(page));
  await server.close();
});

test("each example in the list has a summary", async () => {
  const server = await serve();
  const page = await open(server);
  const summaries = await page.$$eval("#examples option", (all) =>
    all.map((one) => one.textContent).filter((name) => / – /.test(name)),
  );
  check(summaries.length > 30 && summaries.every((one) => /^[\w-]+ – \S.{3,}/.test(one)), summaries.join("\n"));
  await server.close();
});

test("completion offers the missing fields of the map at the cursor", async () => {
  const server = await serve();
  const head = "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\n";
  const cases = [
    // A text with the cursor at `|`, completions that it must have, completions that it must not have.
    [`${head}spec:\n  workers:\n    replicas: 4\n    |`, ["gpus", "cpu", "memory"], ["replicas", "image"]],
    [`${head}spec:\n  workers: {replicas: 4, |}`, ["gpus", "slotsPerWorker"], ["replicas", "image"]],
    [`${head}spec:\n  launcher:\n    kind: |`, ["mpirun", "torchrun", "deepspeed"], ["gpus"]],
    [`${head}spec:\n  launcher: {kind: |}`, ["mpirun", "horovodrun"], []],
    [`${head}spec:\n  storage:\n    - |`, ["name", "mountPath", "nfs"], ["image"]],
    [`${head}spec:\n  storage:\n  - name: data\n    |`, ["mountPath", "claim"], ["name", "image"]],
    [`${head}spec:\n  storage:\n    - {name: data, nfs: {|}}`, ["server", "path"], ["name"]],
    [`${head}spec:\n  storage:\n    - name: a\n      mountPath: /a\n    - n|`, ["name", "nfs"], []],
    [`${head}spec:\n  placement:\n    hostNetwork: |`, ["true", "false"], []],
    [`${head}spec:\n  image: a:1\n  |\n  command: [a]`, ["workers", "launcher"], ["image", "command"]],
    [`${head}spec:\n  env:\n    TOKEN: {|}`, ["secretKeyRef", "configMapKeyRef"], ["image"]],
    ["|", ["apiVersion", "kind", "metadata", "spec"], ["image"]],
    [`${head}metadata: {name: a}\n---\n|`, ["apiVersion", "kind"], ["image"]],
  ];
  const page = await open(server);
  for (const [spec, wanted, unwanted] of cases) {
    await write(page, spec.replace("|", ""));
    await page.keyboard.press("Control+Home");
    const before = spec.slice(0, spec.indexOf("|")).split("\n");
    for (let down = 1; down < before.length; down++) await page.keyboard.press("ArrowDown");
    for (let right = 0; right < before.at(-1).length; right++) await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Control+Space");
    await page.locator("#editor .cm-tooltip-autocomplete li").first().waitFor();
    const found = await options(page);
    const wrong = [
      ...wanted.filter((one) => !found.includes(one)).map((one) => `lacks ${one}`),
      ...unwanted.filter((one) => found.includes(one)).map((one) => `has ${one}`),
    ];
    check(!wrong.length, `${wrong.join(", ")} in ${JSON.stringify(found)} for\n${spec}`);
    await page.keyboard.press("Escape");
  }
  await server.close();
  return `${cases.length} places`;
});

test("completion does not replace a user's own name, and writes a size without quotes", async () => {
  const server = await serve();
  const page = await open(server);
  const list = async (spec, typed) => {
    await write(page, spec);
    await page.keyboard.press("Control+End");
    await page.keyboard.type(typed);
    await page.waitForTimeout(400);
    return options(page);
  };
  same(await list("kind: TrainingJob\nspec:\n  env:\n    ", "LR"), [], "completions for the name of a variable");
  same(await list("kind: TrainingJob\nspec:\n  workers:\n    ", "memory: "), ["256Gi"], "completions for a size");
  await server.close();
});

test("hovering over a key shows its documentation", async () => {
  const server = await serve();
  const page = await open(server);
  await page.evaluate(() => {
    const root = document.querySelector("#editor").shadowRoot;
    const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) if (walk.currentNode.data.includes("gpus")) break;
    const range = document.createRange();
    const at = walk.currentNode.data.indexOf("gpus");
    range.setStart(walk.currentNode, at);
    range.setEnd(walk.currentNode, at + 4);
    window.box = range.getBoundingClientRect().toJSON();
  });
  const { x, y, width, height } = await page.evaluate(() => window.box);
  await page.mouse.move(x + width / 2 - 6, y + height / 2);
  await page.mouse.move(x + width / 2, y + height / 2);
  const tip = page.locator("#editor .cm-tooltip-hover, #editor .cm-tooltip.cm-tooltip-hover");
  await tip.waitFor({ timeout: 5_000 });
  const shown = await tip.innerText();
  check(/spec\.workers\.gpus/.test(shown) && /GPUs/.test(shown) && /default\s*0/.test(shown), shown);
  await server.close();
});

test("the page can be used by keyboard alone", async () => {
  const server = await serve();
  const page = await open(server);
  const reached = new Set();
  const focus = () =>
    page.evaluate(() => {
      const one = document.activeElement;
      return one.id || one.dataset.key || one.className || one.tagName;
    });
  for (let tab = 0; tab < 60; tab++) {
    await page.keyboard.press("Tab");
    const at = await focus();
    if (at === "editor") await page.keyboard.press("Escape");
    reached.add(at);
    if (at === "BODY") break;
  }
  for (const one of ["examples", "share", "theme", "editor", "tab-picture", "head", "team 0", "view-picture"])
    check(reached.has(one), `${one} is not reached: ${[...reached]}`);
  await page.locator("#tab-picture").focus();
  await page.keyboard.press("ArrowRight");
  same(await focus(), "tab-timeline", "the next tab");
  await page.keyboard.press("ArrowRight");
  same(await focus(), "tab-plan", "the tab after it");
  await page.locator("#view-plan table").first().waitFor();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await page.locator('[data-key="team 0"]').focus();
  await page.keyboard.press("Enter");
  const marked = await page.locator("#editor .origin").allInnerTexts();
  check(marked.length === 1 && marked[0].includes("workers:"), `the workers' line is marked: ${marked}`);
  await server.close();
});

test("a draft is never lost: reload, examples, links, tabs", async () => {
  const server = await serve();
  const mine = "kind: TrainingJob # mine\n";
  const page = await open(server, { spec: mine });
  // At once: the page stores what it has when it is left.
  await page.reload();
  await ready(page);
  same(await text(page), mine, "the draft");
  await after(page, () => page.selectOption("#examples", "torchrun"));
  check((await text(page)).includes("launcher: torchrun"), "the example is there");
  same(await listed(page), [], "an example has no problems");
  await page.reload();
  await ready(page);
  check((await text(page)).includes("launcher: torchrun"), "the example is there after a reload");
  const drafts = () => page.$$eval("#examples optgroup option", (all) => all.map((one) => one.textContent));
  same(await drafts(), ["kind: TrainingJob # mine, just now"], "the drafts in the list");
  same(await page.$eval("#examples optgroup", (one) => one.previousElementSibling.value), "", "drafts before examples");
  const value = await page.$eval("#examples optgroup option", (one) => one.value);
  await page.selectOption("#examples", value);
  same(await text(page), mine, "the draft from the list");
  // Another tab starts with the draft, and its changes are another one.
  const other = await page.context().newPage();
  await other.goto(server.address);
  await ready(other);
  same(await text(other), mine, "the draft in another tab");
  await editor(other).focus();
  await other.keyboard.press("Control+End");
  await other.keyboard.type("# of the other tab");
  await other.reload();
  await ready(other);
  await editor(page).focus();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("# of the first tab");
  await page.reload();
  await ready(page);
  same([await text(page), await text(other)], [`${mine}# of the first tab`, `${mine}# of the other tab`], "two tabs");
  await server.close();
});

test("no undo after a reload removes the restored draft", async () => {
  const server = await serve();
  const mine = "kind: TrainingJob # mine\n";
  const page = await open(server, { spec: mine });
  await page.reload();
  await ready(page);
  await editor(page).focus();
  await page.keyboard.press("Control+z");
  await settled(page);
  same(await text(page), mine, "after an undo without a change");
  await page.keyboard.press("Control+End");
  await after(page, () => page.keyboard.type("x"));
  for (let undo = 0; undo < 2; undo++) await page.keyboard.press("Control+z");
  await settled(page);
  same(await text(page), mine, "after one undo more than there are changes");
  await server.close();
});

test("a notice brings back the draft that an example, a file or an import has replaced", async () => {
  const server = await serve();
  const mine = "kind: TrainingJob # mine\n";
  const page = await open(server);
  const notice = page.locator("#notice");
  const back = page.getByRole("button", { name: "Bring it back" });
  await after(page, () => page.selectOption("#examples", "torchrun"));
  check(!(await notice.isVisible()), "an example replaces another one without a notice");
  await write(page, mine);
  await after(page, () => page.selectOption("#examples", "elastic"));
  same(await notice.getAttribute("role"), "alert", "the role of the notice");
  check(
    (await notice.innerText()).startsWith("The spec before this one is kept as a draft."),
    await notice.innerText(),
  );
  // By keyboard: the focus is in the editor, behind the notice.
  await page.keyboard.press("Escape");
  for (const name of ["Hide", "Bring it back"]) {
    await page.keyboard.press("Shift+Tab");
    same(await page.evaluate(() => document.activeElement.textContent), name, "the focus");
  }
  await after(page, () => page.keyboard.press("Enter"));
  same([await text(page), await notice.isVisible()], [mine, false], "the draft");
  same(await page.evaluate(() => document.activeElement.id), "editor", "the focus");
  // The notice is there after a reload, too.
  await after(page, () => page.selectOption("#examples", "elastic"));
  await page.reload();
  await back.waitFor();
  await after(page, () => back.click());
  same([await text(page), await notice.isVisible()], [mine, false], "the draft after a reload");
  await page.reload();
  await page.waitForFunction(() => document.documentElement.dataset.ready !== undefined);
  check(!(await notice.isVisible()), "a notice that was answered comes back");
  // An imported job is a draft, too.
  await page.getByRole("button", { name: "Import…" }).click();
  await page.getByLabel("File to import").fill(readFileSync(join(root, "tests/import/ffdl/tf-mnist.yml"), "utf8"));
  await page.waitForFunction(() => document.querySelector("#import-system").value === "ffdl");
  await after(page, () => page.getByRole("button", { name: "Import", exact: true }).click());
  const imported = await text(page);
  const report = await page.locator("#import .done").innerText();
  check(report.includes("The spec before the import is kept as a draft"), report);
  await page.keyboard.press("Escape");
  await back.waitFor();
  await after(page, () => page.selectOption("#examples", "smallest"));
  await after(page, () => back.click());
  same(await text(page), imported, "the imported job");
  await page.locator("#open-file + input").setInputFiles({ name: "a.yaml", mimeType: "", buffer: Buffer.from(mine) });
  await back.waitFor();
  await page.getByRole("button", { name: "Hide" }).click();
  same([await text(page), await notice.isVisible()], [mine, false], "the hidden notice");
  same(page.complaints, [], "complaints");
  await server.close();
});

test("secrets stay in the tab: the stored draft does not contain them", async () => {
  const server = await serve();
  const spec = `kind: TrainingJob\nspec:\n  env:\n    HF_TOKEN: hf_${"a".repeat(34)}\n    DB_PASSWORD: rosebud\n`;
  const page = await open(server, { spec });
  await page.reload();
  await ready(page);
  same(await text(page), spec, "the draft of the tab");
  const stored = await page.evaluate(() => JSON.stringify(localStorage));
  check(!stored.includes("rosebud") && !stored.includes("hf_aaa"), stored);
  const other = await page.context().newPage();
  await other.goto(server.address);
  await ready(other);
  const masked = "kind: TrainingJob\nspec:\n  env:\n    HF_TOKEN: …\n    DB_PASSWORD: …\n";
  same(await text(other), masked, "the draft in another tab");
  await server.close();
});

test("a link opens beside the draft, with a way back", async () => {
  const server = await serve();
  const context = { permissions: ["clipboard-read", "clipboard-write"] };
  const page = await open(server, { spec: "kind: TrainingJob # shared\n", ...context });
  await page.click("#share");
  await page.waitForFunction(() => document.querySelector("#toast").textContent.startsWith("Link copied"));
  const link = await page.evaluate(() => navigator.clipboard.readText());
  check(!(await address(page)).includes("#"), `the address has the spec: ${await address(page)}`);
  await write(page, "kind: TrainingJob # mine\n");
  await page.goto(link);
  await page.waitForFunction(() => !document.querySelector("#notice").hidden);
  same(await text(page), "kind: TrainingJob # shared\n", "the spec of the link");
  check(!(await address(page)).includes("#"), `the link is still in the address: ${await address(page)}`);
  await editor(page).focus();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("# a change");
  await page.getByRole("button", { name: "Back to mine" }).click();
  same(await text(page), "kind: TrainingJob # mine\n", "the way back");
  await page.reload();
  await ready(page);
  same(await text(page), "kind: TrainingJob # mine\n", "after a reload");
  const drafts = await page.$$eval("#examples optgroup option", (all) => all.map((one) => one.textContent));
  check(
    drafts.some((one) => one.includes("shared")),
    `the changed spec of the link is a draft: ${drafts}`,
  );
  await server.close();
});

/** Types a text as a person does: after Enter, it moves the cursor to the column of the line. Waits between the keys. */
async function typeText(page, whole, delay) {
  const column = () =>
    page.evaluate(() => {
      const { state } = editorView();
      const { head } = state.selection.main;
      return head - state.doc.lineAt(head).from;
    });
  for (const [number, line] of whole.split("\n").entries()) {
    if (number) await page.keyboard.press("Enter");
    const content = line.trimStart();
    if (!content) continue;
    const wanted = line.length - content.length;
    while ((await column()) > wanted) await page.keyboard.press("Backspace");
    await page.keyboard.type(" ".repeat(wanted - (await column())) + content, { delay });
  }
}

/** Splits a text into parts of about so many keys, each with the lines before it. */
function partsOf(whole, keys) {
  const lines = whole.split("\n");
  const parts = [];
  for (let from = 0, to; from < lines.length; from = to) {
    for (to = from + 1; to < lines.length && lines.slice(from, to + 1).join("").length <= keys;) to++;
    parts.push({ before: lines.slice(0, from).join("\n"), typed: lines.slice(from, to).join("\n") });
  }
  return parts;
}

// With WHOLE, every key of every example, which takes about ten minutes.
test("a job arrives as it is typed, at every speed", async () => {
  const server = await serve();
  const all = process.env.WHOLE ? examples : examples.filter(([name]) => name === "smallest");
  let keys = 0;
  const type = async ({ name, part: { before, typed } }, delay) => {
    const page = await open(server, { spec: before });
    await editor(page).focus();
    await page.keyboard.press("Control+End");
    const start = before && "\n";
    await typeText(page, start + typed, delay);
    same((await text(page)).trimEnd(), (before + start + typed).trimEnd(), `${name}, ${delay} ms between keys`);
    keys += typed.length;
    await page.context().close();
  };
  // Slow typists share the processors, fast ones would slow each other down.
  const speeds = [
    [30, 2, 600],
    [150, 6, 300],
    [600, 20, 120],
  ];
  const typists = speeds.flatMap(([delay, count, most]) => {
    const queue = all.flatMap(([name, spec]) =>
      partsOf(spec.replaceAll(/^#.*\n/gm, "").trimEnd(), most).map((part) => ({ name, part })),
    );
    return Array.from({ length: count }, async () => {
      for (let next = queue.shift(); next; next = queue.shift()) await type(next, delay);
    });
  });
  await Promise.all(typists);
  await server.close();
  return `${keys} keys`;
});

test("nothing moves while clean lines are typed", async () => {
  const server = await serve();
  const page = await open(server, { spec: examples.find(([name]) => name === "smallest")[1] });
  await editor(page).focus();
  await page.keyboard.press("Control+End");
  await page.waitForTimeout(1_000);
  await page.evaluate(() => {
    window.moved = 0;
    new PerformanceObserver((list) => {
      for (const { value } of list.getEntries()) window.moved += value;
    }).observe({ type: "layout-shift" });
    window.toggled = 0;
    const watch = new MutationObserver((all) => (window.toggled += all.length));
    watch.observe(document.querySelector("#result"), { attributeFilter: ["class", "hidden"], subtree: true });
    window.heights = new Set();
    new ResizeObserver(([entry]) => window.heights.add(Math.round(entry.contentRect.height))).observe(
      document.querySelector("#problems"),
    );
  });
  await typeText(page, "  lifecycle:\n    deadline: 4h\n    retries: 5", 90);
  await page.waitForTimeout(500);
  same(await listed(page), [], await text(page));
  const { moved, heights } = await page.evaluate(() => ({ moved: window.moved, heights: [...window.heights] }));
  check(moved < 0.02, `the layout shift is ${moved}`);
  check(heights.length === 1, `the problems had the heights ${heights}`);
  // The state before errors is marked as such only after a pause.
  await page.keyboard.type("\nx");
  check(!(await page.locator("#stale").isVisible()), "the mark right after the key");
  await page.locator("#stale").waitFor({ timeout: 5_000 });
  await server.close();
  return `layout shift ${moved.toFixed(4)}`;
});

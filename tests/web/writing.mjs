// A person at the keyboard: completion, hover, tabs, panes.
import { after, check, editor, listed, open, ready, same, serve, settled, test, text, write } from "./browser.mjs";

const options = (page) =>
  page.evaluate(() =>
    [
      ...document
        .querySelector("#editor")
        .shadowRoot.querySelectorAll(".cm-tooltip-autocomplete li .cm-completionLabel"),
    ].map((one) => one.textContent),
  );

/** Waits for the list of completions and picks one by its first letters and Enter. */
async function pick(page, letters) {
  if (letters) await page.keyboard.type(letters);
  else await page.keyboard.press("Control+Space");
  await page.waitForFunction(
    () => document.querySelector("#editor").shadowRoot.querySelector(".cm-tooltip-autocomplete li[aria-selected]"),
    null,
    { timeout: 5_000 },
  );
  // CodeMirror takes no Enter in the first moments of a list, lest it be meant for the text.
  await page.waitForTimeout(120);
  await page.keyboard.press("Enter");
}

test("a job is written from nothing by keyboard with completion", async () => {
  const server = await serve();
  const page = await open(server, { spec: "" });
  await editor(page).focus();
  // Keys and their fixed values, each by a few letters.
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
  // That was one line too early; the bracket comes back up.
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

test("what is typed arrives once, whatever it is typed with", async () => {
  const server = await serve();
  for (const options of [{}, { hasTouch: true, isMobile: true }]) {
    const page = await open(server, { spec: "a: 1", ...options });
    const devtools = await page.context().newCDPSession(page);
    await editor(page).focus();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("2 [y");
    same(await text(page), "a: 12 [y]", "keys, and what they close");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("b: ");
    same(await text(page), "b: ", "keys over what was selected");
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

test("who has nothing yet is led to a first job", async () => {
  const server = await serve();
  const page = await open(server, { spec: "x" });
  await editor(page).focus();
  await page.keyboard.press("Backspace");
  // Another job's picture is no state of an empty text.
  await page.getByText("The result appears here as soon as the spec describes a job.").waitFor();
  same(
    [await page.locator("#view-picture").isVisible(), await page.textContent("#sum")],
    [false, ""],
    "what is left of the last job",
  );
  await after(page, () => page.getByRole("button", { name: "Start from the smallest job" }).click());
  same(await listed(page), [], await text(page));
  check(await page.locator("#view-picture").isVisible(), "the picture is back");
  await server.close();
});

test("the fields of a spec alone become a job by one fix", async () => {
  const server = await serve();
  const page = await open(server, {
    spec: "image: ghcr.io/acme/train:1.0\ncommand: python train.py\n\nworkers:\n  replicas: 2\n  gpus: 8\n",
  });
  same(
    (await listed(page)).map(({ code, fix }) => [code, fix]),
    [["no-training-job", "Fix"]],
    "what is said",
  );
  await editor(page).focus();
  await after(page, () => page.keyboard.press("Control+."));
  same(await listed(page), [], await text(page));
  same(await page.textContent("#sum"), "16 GPUs · 16 ranks · 3 pods", "the sum");
  await after(page, () => page.keyboard.press("Control+z"));
  check((await text(page)).startsWith("image:"), await text(page));
  await server.close();
});

test("each example in the list says what it teaches", async () => {
  const server = await serve();
  const page = await open(server);
  const said = await page.$$eval("#examples option", (all) =>
    all.map((one) => one.textContent).filter((name) => / – /.test(name)),
  );
  check(said.length > 30 && said.every((one) => /^[\w-]+ – \S.{3,}/.test(one)), said.join("\n"));
  await server.close();
});

test("completion offers what belongs there and is not there yet", async () => {
  const server = await serve();
  const head = "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\n";
  const cases = [
    // Text with the cursor at `|`; what must and must not be offered.
    [`${head}spec:\n  workers:\n    replicas: 4\n    |`, ["gpus", "cpu", "memory"], ["replicas", "image"]],
    [`${head}spec:\n  workers: {replicas: 4, |}`, ["gpus", "slots"], ["replicas", "image"]],
    [`${head}spec:\n  launcher:\n    kind: |`, ["mpirun", "torchrun", "deepspeed"], ["gpus"]],
    [`${head}spec:\n  launcher: {kind: |}`, ["mpirun", "horovodrun"], []],
    [`${head}spec:\n  storage:\n    - |`, ["name", "mountPath", "nfs"], ["image"]],
    [`${head}spec:\n  storage:\n  - name: data\n    |`, ["mountPath", "claim"], ["name", "image"]],
    [`${head}spec:\n  storage:\n    - {name: data, nfs: {|}}`, ["server", "path"], ["name"]],
    [`${head}spec:\n  storage:\n    - name: a\n      mountPath: /a\n    - n|`, ["name", "nfs"], []],
    [`${head}spec:\n  placement:\n    hostNetwork: |`, ["true", "false"], []],
    [`${head}spec:\n  image: a:1\n  |\n  command: [a]`, ["workers", "launcher"], ["image", "command"]],
    [`${head}spec:\n  env:\n    TOKEN: {|}`, ["secret", "key"], ["image"]],
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
    await page.waitForTimeout(250);
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

test("a name of one's own is left alone, and a size needs no quotes", async () => {
  const server = await serve();
  const page = await open(server);
  const list = async (spec, typed) => {
    await write(page, spec);
    await page.keyboard.press("Control+End");
    await page.keyboard.type(typed);
    await page.waitForTimeout(400);
    return options(page);
  };
  same(await list("kind: TrainingJob\nspec:\n  env:\n    ", "LR"), [], "no example in the place of a variable");
  same(await list("kind: TrainingJob\nspec:\n  workers:\n    ", "memory: "), ["256Gi"], "as people write it");
  await server.close();
});

test("hovering a key says what it is", async () => {
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
  const said = await tip.innerText();
  check(/spec\.workers\.gpus/.test(said) && /GPUs a worker/.test(said) && /default\s*0/.test(said), said);
  await server.close();
});

test("everything can be reached and used by keyboard alone", async () => {
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
  same(await focus(), "tab-plan", "the next tab");
  check(await page.locator("#view-plan table").first().isVisible(), "the plan shows");
  await page.keyboard.press("ArrowLeft");
  await page.locator('[data-key="team 0"]').focus();
  await page.keyboard.press("Enter");
  const marked = await page.locator("#editor .origin").allInnerTexts();
  check(marked.length === 1 && marked[0].includes("workers:"), `the workers' line is marked: ${marked}`);
  await server.close();
});

test("a draft comes back after a reload, and an example takes its place", async () => {
  const server = await serve();
  const page = await open(server, { spec: "kind: TrainingJob # mine\n" });
  await page.waitForTimeout(600);
  await page.reload();
  await ready(page);
  same(await text(page), "kind: TrainingJob # mine\n", "the draft");
  await after(page, () => page.selectOption("#examples", "torchrun"));
  check((await text(page)).includes("kind: torchrun"), "the example is there");
  same(await listed(page), [], "an example has no problems");
  await server.close();
});

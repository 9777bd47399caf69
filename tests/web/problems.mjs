// The page shows the problems that the command finds, and every fix can be clicked.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, check, editor, listed, native, open, place, root, same, serve, test, text, write } from "./browser.mjs";

const folder = join(root, "tests/problems");
const fixtures = readdirSync(folder, { recursive: true })
  .filter((name) => /^[^/]+\/[^/.]+\.yaml$/.test(name))
  .map((name) => [name.replace(".yaml", ""), readFileSync(join(folder, name), "utf8")])
  // The page has no options of the command and no environment, and its text is always valid UTF-8.
  .filter(([, spec]) => !/^# (args|env):/m.test(spec) && !spec.includes("BYTE"))
  .map(([name, spec]) => [name, spec.replaceAll("FILL", "x".repeat(Number(/^# fill: (\d+)/m.exec(spec)?.[1] ?? 0)))]);

/** The problems that `khorovod validate` finds. */
function expected(spec) {
  const file = join(place(), "job.yaml");
  writeFileSync(file, spec);
  let output;
  try {
    output = execFileSync(native, ["validate", "-o", "json", file], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  } catch (error) {
    output = error.stdout;
  }
  const problems = JSON.parse(output).problems;
  const plain = (one) => ({
    line: one.labels[0]?.line ?? 1,
    severity: one.severity,
    message: one.message.replaceAll("`", ""),
    code: one.code,
  });
  return ["error", "warning", "note"]
    .flatMap((severity) => problems.filter((one) => one.severity === severity))
    .map(plain);
}

const underlined = (page) =>
  page.evaluate(
    () => document.querySelector("#editor").shadowRoot.querySelectorAll(".cm-lintRange, .cm-lintPoint").length,
  );

test("each kind of problem has the place that the command prints, and its fix removes it", async () => {
  const server = await serve();
  const page = await open(server);
  const [codes, fixed] = [new Set(), new Set()];
  for (const [name, spec] of fixtures) {
    // The page treats an empty spec as a start, not as a mistake.
    if (!spec.trim()) continue;
    const wanted = expected(spec);
    await write(page, spec);
    const shown = await listed(page);
    same(
      shown.map(({ fix, ...rest }) => rest),
      wanted,
      name,
    );
    // The editor draws only visible lines: scroll to the problem.
    await page.locator(".problem .go").first().click();
    check(wanted.length > 0 && (await underlined(page)) > 0, `${name}: nothing is underlined`);
    wanted.forEach((one) => codes.add(one.code));
    for (let at = 0; at < shown.length; at++) {
      if (!shown[at].fix) continue;
      if (at > 0) await write(page, spec);
      await after(page, () => page.locator(".problem").nth(at).locator(".fix").first().click());
      const left = await listed(page);
      const same = (list) =>
        list.filter((one) => one.code === shown[at].code && one.message === shown[at].message).length;
      check(
        same(left) === same(shown) - 1 &&
          // A text that cannot be read hides its other problems.
          (left.length < shown.length ||
            (shown[at].code === "yaml-syntax" && !left.some(({ code }) => code === "yaml-syntax"))),
        `${name}: ${shown[at].message} is still there after ${shown[at].fix}\n${await text(page)}`,
      );
      fixed.add(shown[at].code);
    }
  }
  check(codes.size > 50, `only ${codes.size} codes`);
  same(page.complaints, [], "complaints");
  await server.close();
  return `${fixtures.length} specs, ${codes.size} codes, fixes of ${fixed.size}: ${[...fixed].join(", ")}`;
});

test("a fix can be applied by keyboard and in the tooltip", async () => {
  const server = await serve();
  const wrong = readFileSync(join(root, "examples/smallest/job.yaml"), "utf8").replace("gpus: 8", "gpu: 8");
  const page = await open(server, { spec: wrong });
  same(
    (await listed(page)).map((one) => one.code),
    ["unknown-field"],
    "the problem",
  );
  await editor(page).focus();
  // The cursor is behind the text: the first press only shows the problem.
  await page.keyboard.press("Control+.");
  same(await text(page), wrong, "the text after the first Ctrl+.");
  await after(page, () => page.keyboard.press("Control+."));
  same(await listed(page), [], "after the second Ctrl+.");
  await after(page, () => page.keyboard.press("Control+z"));
  same((await listed(page)).length, 1, "after undo");
  await page.locator("#editor .cm-lintRange-error").hover();
  const action = page.locator("#editor .cm-diagnosticAction");
  await action.waitFor();
  await after(page, () => action.click());
  same(await listed(page), [], "after the tooltip's button");
  check((await text(page)).includes("gpus: 8"), "the fixed text");
  await server.close();
});

test("one button applies all fixes, and one undo takes them back", async () => {
  const server = await serve();
  const spec =
    "apiVersion: khorovod.dev/v1alpha1\nkind: trainingjob\nmetadata: {name: a}\nspec:\n  image: a:1\n  comand: [a]\n  workers: {replicas: 2, gpu: 8, slotsPerWorker: 9}\n";
  const page = await open(server, { spec });
  check((await listed(page)).filter(({ fix }) => fix).length > 1, JSON.stringify(await listed(page)));
  // Some problems are found only after the fixes of others: one click fixes them, too.
  await after(page, () => page.getByRole("button", { name: "Fix all" }).click());
  check(
    (await text(page)).includes("{replicas: 2, gpus: 8, slotsPerWorker: 8}") &&
      (await text(page)).includes("command: [a]"),
    await text(page),
  );
  same(
    (await listed(page)).filter(({ severity }) => severity === "error"),
    [],
    "errors",
  );
  await after(page, () => page.keyboard.press("Control+z"));
  same(await text(page), spec, "the text after one undo");
  same(page.complaints, [], "complaints");
  await server.close();
});

test("Ctrl+. fixes a problem on the line of the cursor, and otherwise only goes to the next one", async () => {
  const server = await serve();
  const head = "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: a}\nspec:\n  image: a:1\n";
  const spec = `${head}  comand: [a]\n  env: {A: b}\n  workers: {replica: 2, gpu: 8}\n`;
  const page = await open(server, { spec });
  const goTo = async (line, keys) => {
    await editor(page).focus();
    await page.keyboard.press("Control+Home");
    for (let down = 1; down < line; down++) await page.keyboard.press("ArrowDown");
    for (const key of keys ?? []) await page.keyboard.press(key);
  };
  await goTo(8, ["End"]);
  await after(page, () => page.keyboard.press("Control+."));
  same(await text(page), spec.replace("replica:", "replicas:"), "the first fix of the last line");
  await after(page, () => page.keyboard.press("Control+z"));
  // The mark at the cursor comes before others of its line.
  await goTo(8, ["End", "ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowLeft"]);
  await after(page, () => page.keyboard.press("Control+."));
  same(await text(page), spec.replace("gpu:", "gpus:"), "the fix of the mark at the cursor");
  await after(page, () => page.keyboard.press("Control+z"));
  await goTo(7);
  await page.keyboard.press("Control+.");
  await page.getByText("No fix on line 7. The next one is on line 8").waitFor();
  same(await text(page), spec, "the text without a fix on the line");
  await after(page, () => page.keyboard.press("Control+."));
  same(await text(page), spec.replace("replica:", "replicas:"), "the fix of the next line");
  await server.close();
});

test("a key that is set twice has a button for each of the two", async () => {
  const server = await serve();
  const smallest = readFileSync(join(root, "examples/smallest/job.yaml"), "utf8");
  const spec = `${smallest}  env:\n    LR: "0.1"\n    EPOCHS: "90"\n    LR: "0.2"\n`;
  const page = await open(server, { spec });
  const buttons = () => page.locator(".problem .fix").allTextContents();
  const line = spec.split("\n").findIndex((one) => one.includes("0.1")) + 1;
  same(await buttons(), [`Remove line ${line + 2}`, `Remove line ${line}`], "the buttons");
  await after(page, () => page.getByRole("button", { name: `Remove line ${line}`, exact: true }).click());
  same(await text(page), spec.replace('    LR: "0.1"\n', ""), "the text");
  same(await listed(page), [], "the problems");
  await server.close();
});

test("no mark of a problem stays when the spec is sound again", async () => {
  const server = await serve();
  const smallest = readFileSync(join(root, "examples/smallest/job.yaml"), "utf8");
  const page = await open(server, { spec: smallest });
  const marks = () =>
    page.evaluate(
      () => document.querySelector("#editor").shadowRoot.querySelectorAll(".cm-lint-marker, .cm-lintRange").length,
    );
  await editor(page).focus();
  await page.keyboard.press("Control+End");
  await after(page, () => page.keyboard.type("  x"));
  check((await marks()) > 0, "the error is marked");
  // The second one removes the indentation.
  for (let key = 0; key < 2; key++) await after(page, () => page.keyboard.press("Backspace"));
  same([await text(page), await marks()], [smallest, 0], "the text and the marks");
  await server.close();
});

test("a missing field is inserted in its place with its value selected", async () => {
  const server = await serve();
  const head = "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\n";
  const page = await open(server, { spec: `${head}metadata:\n  # ours\n  namespace: ml\n` });
  const marked = () =>
    page.evaluate(() => {
      const { state } = editorView();
      return state.sliceDoc(state.selection.main.from, state.selection.main.to);
    });
  const first = (await listed(page)).map((one) => one.fix);
  same(first, ["Add: spec", "Add: name: mnist"], "the buttons");
  await after(page, () => page.locator(".problem .fix").nth(1).click());
  same(await marked(), "mnist", "the selection");
  await after(page, () => page.keyboard.type("resnet"));
  // The missing spec is marked on another line.
  await page.keyboard.press("Control+.");
  await after(page, () => page.keyboard.press("Control+."));
  same(await listed(page), [], "problems of the complete job");
  const lines =
    "metadata:\n  # ours\n  name: resnet\n  namespace: ml\nspec:\n  image: ghcr.io/acme/mnist:1.4\n  command: [python, train.py]\n  workers: {replicas: 4, gpus: 8}\n";
  same(await text(page), head + lines, "the text");
  await write(page, head + lines.replace("metadata:\n  # ours\n  name: resnet\n  namespace: ml\n", ""));
  await page.keyboard.press("Control+.");
  await after(page, () => page.keyboard.press("Control+."));
  same(await marked(), "mnist", "the selection in a map with one field");
  await server.close();
});

test("the last state without errors stays visible", async () => {
  const server = await serve();
  const page = await open(server);
  const sum = await page.textContent("#sum");
  await editor(page).focus();
  await page.keyboard.press("Control+End");
  await after(page, () => page.keyboard.type("  nonsense: 1\n"));
  await page.locator("#stale").waitFor({ timeout: 5_000 });
  same(await page.textContent("#sum"), sum, "the sum");
  await server.close();
});

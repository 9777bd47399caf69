// The import of pasted files of other systems.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, check, native, open, out, place, root, same, serve, test, text, write } from "./browser.mjs";

const old = (path) => readFileSync(join(root, "tests/import", path), "utf8");

/** The job that `khorovod import` prints for a file. */
function imported(system, file, ...options) {
  const folder = place();
  writeFileSync(join(folder, "the old file"), file);
  return execFileSync(
    native,
    ["import", "-q", system, "--secrets", join(folder, "secrets.yaml"), ...options, "the old file"],
    { cwd: folder },
  ).toString();
}

async function paste(page, file) {
  await page.getByLabel("File to import").fill(file);
}

test("a pasted file becomes the job that the command prints", async () => {
  const server = await serve();
  const page = await open(server);
  for (const [system, path] of [
    ["stable-horovod", "stable-horovod/readme.yaml"],
    ["kubeflow-openmpi", "kubeflow-openmpi/params.libsonnet"],
    ["ffdl", "ffdl/everything.yml"],
  ]) {
    const file = old(path);
    await page.getByRole("button", { name: "Import…" }).click();
    await paste(page, file);
    await page.waitForFunction((system) => document.querySelector("#import-system").value === system, system);
    await after(page, () => page.getByRole("button", { name: "Import", exact: true }).click());
    same(await text(page), imported(system, file), path);
    const rows = await page.locator("#import tbody td:nth-child(2) > div").count();
    const shown = await page.locator("#import .done").innerText();
    check(shown.includes(`${rows} fields: `) && rows > 5, `${shown}; ${rows} fields in the table`);
    await page.screenshot({ path: join(out, `import-${system}.png`) });
    await page.locator("#import").getByRole("button", { name: "Close" }).click();
  }
  await server.close();
});

test("missing values can be entered, and secrets are downloaded separately", async () => {
  const server = await serve();
  const page = await open(server);
  const file = old("stable-horovod/program-before-the-launch.yaml").replace(/\n {2}args:.*/, "");
  await page.getByRole("button", { name: "Import…" }).click();
  await paste(page, file);
  await page.getByText("Values that the file lacks").click();
  const line = "mpirun -np 4 --hostfile /horovod/generated/hostfile python train.py";
  await page.getByLabel("Job name").fill("mnist");
  await page.getByLabel("Command").fill(line);
  await page.waitForFunction(() => document.querySelector("#import-system").value === "stable-horovod");
  await after(page, () => page.getByRole("button", { name: "Import", exact: true }).click());
  same(await text(page), imported("stable-horovod", file, "--name", "mnist", "--command", line), "the job");
  check(!(await text(page)).includes("sekret"), "no secret in the editor");
  const [saved] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download secrets.yaml" }).click(),
  ]);
  const secrets = readFileSync(await saved.path(), "utf8");
  check(secrets.includes("kind: Secret") && secrets.includes("sekret"), secrets);
  await server.close();
});

test("the report of an import begins with what is lost, and can be opened again", async () => {
  const server = await serve();
  const page = await open(server);
  const again = page.getByRole("button", { name: "Import report" });
  check(!(await again.isVisible()), "a report before the first import");
  const verdicts = () => page.locator("#import tbody td:first-child").allTextContents();
  const options = "#SBATCH -J mnist\n#SBATCH -N 2\n#SBATCH --mail-type=END\n#SBATCH --gres=gpu:4\n#SBATCH -o log\n";
  const file = `${options}module load cuda\nulimit -n 4096\nexport B=$SCRATCH/x\nsrun python train.py $B\n`;
  await page.getByRole("button", { name: "Import…" }).click();
  await paste(page, file);
  await page.waitForFunction(() => document.querySelector("#import-system").value === "slurm");
  await after(page, () => page.getByRole("button", { name: "Import", exact: true }).click());
  const first = await verdicts();
  const order = [...new Set(first)];
  same(
    order,
    ["lost", "changed", "dropped", "kept"].filter((one) => order.includes(one)),
    "the order of the rows",
  );
  check(order.length > 1, `rows with one outcome only: ${order}`);
  check(
    !(await page.locator("#import-result").innerText()).match(/--(name|image|command) [A-Z]/),
    "options of the command in the report",
  );
  await page.locator("#import").getByRole("button", { name: "Close" }).click();
  // The page shows that parts are lost, until the user dismisses it.
  const lost = first.filter((verdict) => verdict === "lost").length;
  check(lost > 0, "nothing is lost");
  const status = () => page.locator("#status").innerText();
  check(/^\d+ warnings?; \d+ parts? of the imported file (is|are) lost$/.test(await status()), await status());
  await page.getByRole("button", { name: "Open the report" }).click();
  same(await verdicts(), first, "the report of the suggestion");
  await page.keyboard.press("Escape");
  await after(page, () => page.getByRole("button", { name: "Dismiss" }).click());
  check(/^\d+ warnings?$/.test(await status()), `${await status()} after Dismiss`);
  // The dialog still recognises the system of the same text.
  await page.getByRole("button", { name: "Import…" }).click();
  await page.waitForFunction(() => document.querySelector("#import-system").value === "slurm");
  await page.keyboard.press("Escape");
  // Edits do not end it, and neither does a reload.
  await after(page, () => write(page, imported("slurm", file).replace("replicas: 2", "replicas: 3")));
  await again.click();
  same(await verdicts(), first, "the report after an edit");
  check(!(await page.getByLabel("File to import").isVisible()), "the form above the report");
  await page.keyboard.press("Escape");
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  await again.click();
  // The code of the dialog is loaded first.
  await page.locator("#import tbody tr").first().waitFor();
  same(await verdicts(), first, "the report after a reload");
  await page.screenshot({ path: join(out, "import-report.png") });
  await page.keyboard.press("Escape");
  await after(page, () => page.locator("#examples").selectOption("smallest"));
  check(!(await again.isVisible()), "the report of another spec");
  same(page.complaints, [], "complaints");
  await server.close();
});

test("a failed import shows the reason, also by keyboard", async () => {
  const server = await serve();
  const page = await open(server);
  const before = await text(page);
  await page.getByRole("button", { name: "Import…" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Import", exact: true }).click();
  check((await page.locator("#import-result").innerText()).includes("Paste the file to import first"), "an empty file");
  await paste(page, "hello: world\n");
  await page.getByRole("button", { name: "Import", exact: true }).click();
  check((await page.locator("#import-result").innerText()).includes("choose it above"), "an unknown system");
  await paste(page, "worker: {number: three}\nmaster: {}\n");
  await page.waitForFunction(() => document.querySelector("#import-system").value === "stable-horovod");
  await page.getByRole("button", { name: "Import", exact: true }).click();
  await page.getByText("should be a whole number").waitFor();
  check((await page.locator("#import-result").innerText()).includes("line 1"), "the line");
  await page.keyboard.press("Escape");
  same(await text(page), before, "the unchanged editor");
  await server.close();
});

test("the page offers to import a file that is pasted into the editor", async () => {
  const server = await serve();
  const page = await open(server);
  const file = old("ffdl/tf-mnist.yml");
  await write(page, file);
  await page.getByText("This looks like a file of ffdl").waitFor();
  await after(page, () => page.getByRole("button", { name: "Import it" }).click());
  same(await text(page), imported("ffdl", file), "the job");
  await page.locator("#import table").waitFor();
  check(!(await page.locator("#import-result").innerText()).includes("`"), "backquotes in the report");
  await page.keyboard.press("Escape");
  // The button that opened the dialog is gone.
  await page.waitForFunction(() => document.activeElement.id === "editor", null, { timeout: 2_000 });
  await server.close();
});

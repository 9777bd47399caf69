// The output of the page: downloads, links, keys, commands, and the objects with their changes.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { examples, masked, render, shown } from "./examples.mjs";
import {
  address,
  after,
  check,
  editor,
  fflate,
  listed,
  native,
  open,
  place,
  ready,
  root,
  same,
  serve,
  settled,
  test,
  text,
  write,
} from "./browser.mjs";

async function download(page, button) {
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: button, exact: true }).click(),
  ]);
  return { name: file.suggestedFilename(), bytes: readFileSync(await file.path()) };
}

test("downloads equal the output of the command without keys", async () => {
  const server = await serve();
  const page = await open(server);
  for (const name of ["smallest", "s3", "persistent-volume", "torchrun", "existing-keys"]) {
    await after(page, () => page.selectOption("#examples", name));
    await page.click("#tab-apply");
    const objects = await download(page, "Download objects");
    same(objects.bytes.toString(), render(name, "--no-keys"), name);
    const zip = await download(page, "Download zip, one file per object");
    const files = fflate.unzipSync(zip.bytes);
    const folder = join(place(), "out/");
    execFileSync(native, ["render", "--no-keys", "-o", folder, join(root, "examples", name, "job.yaml")]);
    const list = readFileSync(join(folder, ".khorovod"), "utf8")
      .split("\n")
      .filter((line) => line && !line.startsWith("#"));
    same(Object.keys(files).sort(), [...list, "job.yaml.txt"].sort(), `${name}: files`);
    for (const file of list)
      same(Buffer.from(files[file]).toString(), readFileSync(join(folder, file), "utf8"), `${name}: ${file}`);
    // Another program can read the archive.
    const saved = join(folder, "..", "all.zip");
    writeFileSync(saved, zip.bytes);
    execFileSync("python3", ["-m", "zipfile", "-t", saved]);
  }
  const spec = await download(page, "Download spec");
  same(spec.bytes.toString(), await text(page), "the spec");
  await server.close();
});

test("ssh keys are made on request, never displayed, and can be removed", async () => {
  const server = await serve();
  const page = await open(server);
  await after(page, () => page.selectOption("#examples", "smallest"));
  await page.click("#tab-apply");
  check(!(await download(page, "Download objects")).bytes.includes("kind: Secret"), "no Secret before");
  await page.getByRole("button", { name: "Make keys in this page" }).click();
  const one = (await download(page, "Download objects")).bytes.toString();
  check(/kind: Secret/.test(one) && !one.includes("bWFza2Vk"), "a Secret with keys");
  const seed = Buffer.from(readFileSync(join(root, "examples/ssh.seed"), "utf8").trim(), "hex");
  check(seed.length === 32, "the seed of the examples");
  same(
    masked(one),
    masked(render("smallest", "--ssh-seed", join(root, "examples/ssh.seed"))),
    "the same except for the keys",
  );
  await page.click("#tab-objects");
  const secret = (await shown(page)).find((one) => one.name.startsWith("Secret"));
  check(secret.text.includes("bWFza2Vk") && !/PRIVATE/.test(secret.text), "the view shows masked keys");
  const key = /( {2}\S+: )([A-Za-z0-9+/=]{40,})/.exec(one)[2];
  check(!(await page.content()).includes(key), "the page contains no key");
  await page.click("#tab-apply");
  await page.getByRole("button", { name: "Remove the keys" }).click();
  check(!(await download(page, "Download objects")).bytes.includes("kind: Secret"), "no Secret after");
  await server.close();
});

test("a link opens the spec in another browser", async () => {
  const server = await serve("/some/where/");
  const context = { permissions: ["clipboard-read", "clipboard-write"] };
  const page = await open(server, context);
  const odd = `# äöü 𝄞 "quotes" & <tags>\r\n${"x".repeat(3000)}\n---\n`;
  for (const spec of [...examples.slice(0, 3).map(([, spec]) => spec), odd.replaceAll("\r", "")]) {
    await write(page, spec);
    await page.evaluate(() => (document.querySelector("#toast").textContent = ""));
    await page.click("#share");
    await page.waitForFunction(() => document.querySelector("#toast").textContent.startsWith("Link copied"));
    const link = await page.evaluate(() => navigator.clipboard.readText());
    check(link.startsWith(`${server.address}#spec=`), link);
    const other = await open(server, { hash: link.slice(link.indexOf("#")) });
    same(await text(other), spec, "the text in the other browser");
    await other.context().close();
  }
  // A link that was cut shows a notice; another fragment is ignored.
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  const cut = copied.slice(copied.indexOf("#"), -40);
  for (const hash of [cut, "#spec=%%%", `#spec=${"A".repeat(5000)}`, "#other"]) {
    const other = await open(server, { hash });
    check((await text(other)).includes("kind: TrainingJob"), `${hash}: the first example`);
    same(await other.locator("#notice").isVisible(), hash !== "#other", `${hash}: the notice`);
    same(other.complaints, [], hash);
    await other.context().close();
  }
  await server.close();
});

test("an address names an example and a view", async () => {
  const server = await serve();
  const page = await open(server, { hash: "#example=elastic&view=plan" });
  check((await text(page)).includes("launcher: horovodrun"), "the example");
  check(await page.locator("#view-plan").isVisible(), "the view");
  await page.click("#tab-objects");
  check((await address(page)).endsWith("#example=elastic&view=objects"), await address(page));
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  check(await page.locator("#view-objects").isVisible(), "the view after a reload");
  check(await page.locator("#notice").isHidden(), "no notice, as nothing was replaced");
  await after(page, () => page.selectOption("#examples", "cpu"));
  check((await address(page)).endsWith("#example=cpu&view=objects"), await address(page));
  same(await page.title(), "hello – khorovod preview", "the title");
  // A changed example is not the example.
  await page.locator("#editor .cm-content").focus();
  await page.keyboard.type("#");
  check(!(await address(page)).includes("#"), await address(page));
  await server.close();
});

test("a file is opened with a button, or dropped", async () => {
  const server = await serve();
  const page = await open(server);
  const [, torchrun] = examples.find(([name]) => name === "torchrun");
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.click("#open-file")]);
  const folder = place();
  writeFileSync(join(folder, "job.yaml"), torchrun);
  await after(page, () => chooser.setFiles(join(folder, "job.yaml")));
  same(await text(page), torchrun, "the file");
  const [, smallest] = examples.find(([name]) => name === "smallest");
  await after(page, () =>
    page.evaluate((spec) => {
      const data = new DataTransfer();
      data.items.add(new File([spec], "other.yaml"));
      const target = document.querySelector("#editor").shadowRoot.querySelector(".cm-content");
      const event = { dataTransfer: data, bubbles: true, cancelable: true, composed: true };
      target.dispatchEvent(new DragEvent("dragover", event));
      target.dispatchEvent(new DragEvent("drop", event));
    }, smallest),
  );
  same(await text(page), smallest, "the dropped file");
  await page.getByText("other.yaml is open.").waitFor();
  await after(page, () => page.selectOption("#examples", "torchrun"));
  same(await page.textContent("#toast"), "", "a message about the file before");
  same(page.complaints, [], "complaints");
  await server.close();
});

test("the page warns about a link that cannot be copied or contains a Secret", async () => {
  const server = await serve();
  const page = await open(server, { permissions: ["clipboard-write"] });
  const shareStatus = async (spec) => {
    await write(page, spec);
    await page.evaluate(() => (document.querySelector("#toast").textContent = ""));
    await page.click("#share");
    await page.waitForFunction(() => /link/i.test(document.querySelector("#toast").textContent));
    return page.innerText("#toast");
  };
  const [, smallest] = examples.find(([name]) => name === "smallest");
  const secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {db: rosebud}\n";
  const key = "-----BEGIN OPENSSH PRIVATE KEY-----\n        b3BlbnNz\n        -----END OPENSSH PRIVATE KEY-----";
  for (const [more, warning] of [
    [secret, /looks like a secret: db \(line \d+\)/],
    ["  env:\n    AWS_SECRET_ACCESS_KEY: wJalrXUtnFEMI\n", /AWS_SECRET_ACCESS_KEY \(line \d+\)/],
    [`  code:\n    files:\n      id: |\n        ${key}\n`, /a private key \(line \d+\)/],
    // While a line is written, the spec cannot be read.
    ["  env: {A: [\n    HF_TOKEN: abc\n", /HF_TOKEN \(line \d+\)/],
  ]) {
    const status = await shareStatus(smallest + more);
    check(warning.test(status) && /Send it only to/.test(status), `${more}: ${status}`);
  }
  check(/in the link itself/.test(await shareStatus(smallest)), "no warning without a secret");
  check(/too long/.test(await shareStatus(`${smallest}${"# long\n".repeat(700_000)}`)), "4 MiB and more");
  await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
  check(/in the address bar/.test(await shareStatus(smallest)), "no clipboard");
  check((await address(page)).includes("#spec="), await address(page));
  await server.close();
});

test("commands name the rendered objects and are copied as displayed", async () => {
  const server = await serve();
  const page = await open(server, { permissions: ["clipboard-read", "clipboard-write"] });
  await after(page, () => page.selectOption("#examples", "smallest"));
  await page.click("#tab-apply");
  const lines = await page.locator(".line pre").allInnerTexts();
  const objects = render("smallest", "--no-keys");
  const plan = execFileSync(native, ["plan", "-o", "json", join(root, "examples/smallest/job.yaml")]);
  check(lines.includes(JSON.parse(plan).jobs[0].commands.follow), lines.join("\n"));
  const keygen = /^khorovod keygen mnist-\w{6}-ssh \| kubectl apply -f -$/m;
  check(keygen.test(lines.join("\n")), lines.join("\n"));
  check(lines.includes("cargo install --locked --path ."), lines.join("\n"));
  await page.locator(".line button").first().click();
  same(await page.evaluate(() => navigator.clipboard.readText()), lines[0], "the clipboard");
  await page.getByRole("button", { name: "Copy objects" }).click();
  await page.getByText("The objects are copied.").waitFor();
  same(await page.evaluate(() => navigator.clipboard.readText()), objects, "the clipboard");
  // The message is about objects that the view no longer has.
  await after(page, () => page.selectOption("#examples", "elastic"));
  same(await page.getByText("The objects are copied.").count(), 0, "the message");
  await after(page, () => page.selectOption("#target", "slurm"));
  await after(page, () => page.selectOption("#examples", "smallest"));
  const script = (await download(page, "Download script")).bytes.toString();
  check(/^#!\/bin\/bash\n(#.*\n)*#SBATCH /.test(script), script.slice(0, 200));
  check((await page.locator(".line pre").allInnerTexts())[0] === "sbatch mnist.sh", "the command for the script");
  await server.close();
});

test("objects link to their fields and show their changes", async () => {
  const server = await serve();
  const page = await open(server);
  await after(page, () => page.selectOption("#examples", "nfs"));
  await page.click("#tab-objects");
  const before = await shown(page);
  const set = before.find((one) => one.name.startsWith("StatefulSet"));
  check(set.origins.includes("from workers"), set.origins);
  await page
    .locator("#view-objects details", { hasText: "StatefulSet" })
    .getByRole("button", { name: "from workers" })
    .click();
  check((await page.locator("#editor .origin").first().innerText()).includes("workers"), "the highlighted lines");
  const spec = await text(page);
  await write(page, spec.replace(/replicas: \d+/, "replicas: 7"));
  await settled(page);
  const badges = await page.locator("#view-objects .badge").allInnerTexts();
  check(badges.includes("changed") && badges.includes(""), `changed and unchanged objects: ${badges}`);
  const changes = await page.locator(".base").innerText();
  check(/workers\.replicas/.test(changes) && /→ 7/.test(changes), changes);
  check(changes.includes("Compared with the spec that was opened last"), changes);
  check((await page.locator("#view-objects .added").count()) > 0, "added lines");
  check((await page.locator("#view-objects .removed").count()) > 0, "removed lines");
  await page.getByRole("button", { name: "Compare from here on" }).click();
  check(!(await page.locator("#view-objects .badge").allInnerTexts()).some(Boolean), "changes since the new base");
  await server.close();
});

test("objects are a tree from the job to its pods, and explain themselves", async () => {
  const server = await serve();
  const page = await open(server);
  const example = async (name) => {
    await after(page, () => page.selectOption("#examples", name));
    await page.click("#tab-objects");
  };
  /** The object of a kind, with what is created from it. */
  const branch = (kind) =>
    page.locator("#view-objects .tree ul > li", { has: page.locator(`summary .kind:text-is("${kind}")`) });
  await example("per-worker");
  same(await page.locator("#view-objects .root").count(), 1, "roots");
  check(
    /^\w+, run \w+$/.test(await page.innerText("#view-objects .root")),
    await page.innerText("#view-objects .root"),
  );
  const plan = JSON.parse(
    execFileSync(native, ["plan", "-o", "json", join(root, "examples/per-worker/job.yaml")], { encoding: "utf8" }),
  ).jobs[0];
  const described = plan.objects.find((one) => one.kind === "StatefulSet");
  const set = branch("StatefulSet");
  same(await set.locator("summary .fact").innerText(), described.fact, "the fact");
  const created = await set.locator(".created > li").allInnerTexts();
  const wanted = described.creates.map(({ kind, name, count }) => [`${count} ${kind}s`, `${name} …`]);
  check(wanted.length === 2 && wanted[0][0].endsWith(" Pods"), JSON.stringify(wanted));
  for (const [index, parts] of wanted.entries())
    check(
      parts.every((part) => created[index].includes(part)),
      `${created[index]} has no ${parts}`,
    );
  // With the keyboard: Enter opens an object.
  await set.locator("summary").focus();
  await page.keyboard.press("Enter");
  // The texts of purposes come after the first picture.
  await set.locator(".purpose", { hasText: /\w/ }).waitFor({ timeout: 20_000 });
  same(await set.locator(".purpose").innerText(), described.purpose, "the purpose");
  check(described.purpose.length > 40, described.purpose);
  // The root leads to the job in the spec.
  await page.locator("#view-objects .root button").click();
  check((await page.locator("#editor .origin").first().innerText()).includes("name:"), "the highlighted line");
  // Each job has a root of its own; other documents are between them.
  const [, smallest] = examples.find(([name]) => name === "smallest");
  const other = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: team-a\n";
  await write(page, `${smallest}---\n${other}---\n${smallest.replace("name: mnist", "name: bert")}`);
  const roots = await page.locator("#view-objects .root").allInnerTexts();
  same(
    roots.map((one) => one.replace(/ \w+$/, "")),
    ["mnist, run", "Documents that are not", "bert, run"],
    "roots",
  );
  await write(page, smallest);
  same(await page.locator("#view-objects .root").count(), 1, "roots of one job again");
  same(page.complaints, [], "complaints");
  await server.close();
});

test("unchanged lines of a changed object are folded", async () => {
  const server = await serve();
  const page = await open(server);
  await after(page, () => page.selectOption("#examples", "smallest"));
  await page.click("#tab-objects");
  const set = page.locator("#view-objects details", { hasText: "StatefulSet" });
  await set.locator("summary").click();
  const folds = set.locator(".cm-foldPlaceholder");
  same(await folds.count(), 0, "folds in an object without changes");
  const whole = await set.evaluate((one) => one.querySelector(".yaml").scrollHeight);
  await write(page, (await text(page)).replace("replicas: 4", "replicas: 6"));
  await folds.first().waitFor();
  const lines = await folds.allInnerTexts();
  check(lines.length > 1 && lines.every((line) => /^Show \d+ hidden lines$/.test(line)), lines.join(", "));
  check((await set.locator(".added").count()) > 0, "the change is visible");
  const folded = await set.evaluate((one) => one.querySelector(".yaml").scrollHeight);
  check(folded < whole / 2, `folded ${folded} px, whole ${whole} px`);
  const hidden = Number(/\d+/.exec(lines[0])[0]);
  const shownLines = () => set.locator(".cm-line").count();
  const before = await shownLines();
  await folds.first().click();
  same(await folds.count(), lines.length - 1, "folds after a click");
  same((await shownLines()) - before, hidden - 1, "lines that the click shows");
  await page.getByRole("button", { name: "Compare from here on" }).click();
  same(await folds.count(), 0, "folds since the new base");
  await server.close();
});

test("the page renders for every target", async () => {
  const server = await serve();
  const page = await open(server, { permissions: ["clipboard-read", "clipboard-write"] });
  await after(page, () => page.selectOption("#examples", "smallest"));
  await page.click("#tab-objects");
  for (const target of ["jobset", "mpijob", "trainjob", "volcano", "slurm", "plain"]) {
    await after(page, () => page.selectOption("#target", target));
    const seed = join(root, "examples/ssh.seed");
    const wanted = masked(render("smallest", "--target", target, "--ssh-seed", seed)).split(/^---\n/m);
    same(
      (await shown(page)).map((one) => one.text),
      wanted.map((part) => part.trimEnd()).filter(Boolean),
      target,
    );
    same(
      await page
        .locator("#view-objects .badge")
        .allInnerTexts()
        .then((all) => all.filter(Boolean)),
      [],
      target,
    );
  }
  // A field that the target does not support is an error at its line.
  await after(page, () => page.selectOption("#examples", "elastic"));
  await after(page, () => page.selectOption("#target", "slurm"));
  check(
    (await listed(page)).some((one) => one.severity === "error" && one.line > 1),
    "an error",
  );
  // An address and a link name the target.
  await after(page, () => page.selectOption("#examples", "gang"));
  await after(page, () => page.selectOption("#target", "volcano"));
  check((await address(page)).endsWith("#example=gang&view=objects&target=volcano"), await address(page));
  await page.click("#share");
  await page.waitForFunction(() => document.querySelector("#toast").textContent.startsWith("Link copied"));
  const link = await page.evaluate(() => navigator.clipboard.readText());
  for (const hash of [new URL(await address(page)).hash, link.slice(link.indexOf("#"))]) {
    const other = await open(server, { hash });
    same(await other.inputValue("#target"), "volcano", hash);
    await other.click("#tab-objects");
    check(
      (await shown(other)).some((one) => one.text.includes("batch.volcano.sh/v1alpha1")),
      hash,
    );
    await other.context().close();
  }
  // The commands are those of the target.
  await after(page, () => page.selectOption("#examples", "smallest"));
  await after(page, () => page.selectOption("#target", "slurm"));
  await page.click("#tab-apply");
  const commands = (await page.locator(".line pre").allInnerTexts()).join("\n");
  check(commands.includes("khorovod render job.yaml --target slurm > mnist.sh && sbatch mnist.sh"), commands);
  check(!commands.includes("kubectl"), commands);
  check(commands.includes("scancel"), commands);
  await after(page, () => page.selectOption("#target", "plain"));
  const ends = (await page.locator(".line pre").allInnerTexts()).join("\n");
  check(ends.includes("khorovod stop mnist") && ends.includes("kubectl delete -l khorovod.dev/job=mnist"), ends);
  await after(page, () => page.selectOption("#target", "slurm"));
  await page.click("#tab-timeline");
  await page.click("#tab-picture");
  same(page.complaints, [], "complaints");
  await server.close();
});

test("the code of the other targets is loaded when one is chosen", async () => {
  const server = await serve();
  const page = await open(server, { serviceWorkers: "block" });
  const loaded = () =>
    server.requests.map(({ path }) => /khorovod_web(?:_targets)?(?=_bg)/.exec(path)?.[0]).filter(Boolean);
  await page.click("#tab-objects");
  await after(page, () => page.selectOption("#examples", "smallest"));
  same(loaded(), ["khorovod_web"], "before");
  const kinds = async (of) => (await shown(of)).map((one) => /^kind: (.*)$/m.exec(one.text)?.[1]);
  const plain = await kinds(page);
  // Without the code, the page stays with its target and shows the reason.
  let gone = true;
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await page.route("**/*_targets_bg*", async (route) => {
    if (gone) return route.abort();
    await released;
    return route.continue();
  });
  await page.selectOption("#target", "jobset");
  await page.waitForFunction(() => document.querySelector("#toast").textContent.includes("could not be loaded"));
  same([await page.inputValue("#target"), await kinds(page)], ["plain", plain], "without the code");
  check((await address(page)).endsWith("#example=smallest&view=objects"), await address(page));
  // The last choice counts, also if the code arrives after it.
  gone = false;
  await page.selectOption("#target", "jobset");
  await page.selectOption("#target", "plain");
  await page.selectOption("#target", "volcano");
  check((await address(page)).endsWith("#example=smallest&view=objects"), "the address names what is shown");
  await after(page, async () => release());
  check((await address(page)).endsWith("&target=volcano"), await address(page));
  same(
    (await kinds(page)).filter((kind) => kind === "JobSet" || kind === "StatefulSet"),
    [],
    "no object of another target",
  );
  // Typing, the timeline and the downloads use it, too.
  await editor(page).focus();
  await page.keyboard.press("Control+End");
  await after(page, () => page.keyboard.type("\n#"));
  check(
    (await shown(page)).some((one) => one.text.includes("batch.volcano.sh/v1alpha1")),
    "objects after typing",
  );
  await page.click("#tab-apply");
  const file = (await download(page, "Download objects")).bytes.toString();
  check(file.includes("batch.volcano.sh/v1alpha1"), file);
  await page.click("#tab-timeline");
  await page.locator("#view-timeline svg").first().waitFor();
  await page.click("#tab-objects");
  await after(page, () => page.selectOption("#target", "plain"));
  same(await kinds(page), plain, "back");
  same(loaded(), ["khorovod_web", "khorovod_web_targets"], "each is loaded once");
  const complaints = (of) => of.complaints.filter((one) => !/ERR_FAILED|Service Worker registration blocked/.test(one));
  same(complaints(page), [], "complaints");
  // A changed address names another example and another target.
  await after(page, () => page.evaluate(() => (location.hash = "#example=elastic&view=objects&target=mpijob")));
  await page.waitForFunction(() => document.querySelector("#target").value === "mpijob");
  check((await kinds(page)).includes("MPIJob"), "an address that changed");
  check((await address(page)).endsWith("#example=elastic&view=objects&target=mpijob"), await address(page));
  // An address that names another target needs one module only.
  server.requests.length = 0;
  const other = await open(server, { serviceWorkers: "block", hash: "#example=smallest&view=objects&target=slurm" });
  check((await shown(other))[0].text.startsWith("#!"), "the script");
  same(loaded(), ["khorovod_web_targets"], "an address");
  await after(other, () => other.selectOption("#target", "plain"));
  same(await kinds(other), plain, "plain objects");
  same([loaded(), complaints(other)], [["khorovod_web_targets"], []], "no other module");
  await server.close();
});

test("inside the book, problems and fields link to the docs", async () => {
  const server = await serve("/book/web/dist/");
  const page = await open(server);
  const [, smallest] = examples.find(([name]) => name === "smallest");
  await write(page, smallest.replace("gpus: 8", "gpu: 8"));
  await page.locator(".problem summary").click();
  same(
    await page.locator(".problem details a").getAttribute("href"),
    "/book/docs/problems.html#unknown-field",
    "a code",
  );
  await page.locator("#editor .cm-lintRange-error").hover();
  const inTip = page.locator("#editor .cm-tooltip a");
  await inTip.first().waitFor();
  same(await inTip.first().getAttribute("href"), "/book/docs/problems.html#unknown-field", "a code in the editor");
  await write(page, smallest);
  await page.locator("#editor .cm-line", { hasText: "replicas" }).getByText("replicas").hover();
  await inTip.first().waitFor();
  same(await inTip.first().getAttribute("href"), "/book/docs/fields.html#specworkers", "a field");
  await page.mouse.move(0, 0);
  await inTip.first().waitFor({ state: "hidden" });
  await page.locator("#editor .cm-line", { hasText: "image:" }).getByText("image", { exact: true }).hover();
  await inTip.first().waitFor();
  same(
    [await inTip.first().innerText(), await inTip.first().getAttribute("href")],
    ["images.md", "/book/docs/images.html"],
    "a page in the text of a field",
  );
  await server.close();
});

test("objects wait for the scripts of pods, the picture does not", async () => {
  const server = await serve();
  const page = await open(server, { serviceWorkers: "block" });
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await page.route("**/texts-*.txt", async (route) => {
    await released;
    await route.continue();
  });
  await page.reload();
  await page.locator("#view-picture .picture").waitFor();
  await page.click("#tab-objects");
  check(/Loading the scripts/.test(await page.innerText("#view-objects")), "the view names what it waits for");
  same(await page.locator("#view-objects details").count(), 0, "objects without scripts");
  release();
  await ready(page);
  check(
    (await shown(page)).some((one) => one.text.includes("#!/bin/bash")),
    "the scripts are in the objects",
  );
  same(await page.locator("#view-objects .badge.changed").count(), 0, "objects marked as changed");
  same(
    page.complaints.filter((one) => !one.includes("blocked by Playwright")),
    [],
    "complaints",
  );
  await server.close();
});

test("a document with errors does not show the result of the one before", async () => {
  const server = await serve();
  const page = await open(server);
  const wrong = (await text(page)).replace(/image: .*/, "imag:").replace(/name: .*/, "name: mine");
  await write(page, wrong);
  await after(page, () => page.selectOption("#examples", "large"));
  await page.getByRole("tab", { name: "Apply" }).click();
  await page.locator("#view-apply pre").first().waitFor();
  const back = page.getByRole("button", { name: "Bring it back" });
  await after(page, () => back.click());
  same(await text(page), wrong, "the draft");
  same(await page.locator("#view-apply").isVisible(), false, "the commands of another job");
  same(await page.locator("#nothing").isVisible(), true, "the empty state");
  // Its own earlier state is shown.
  await after(page, () => write(page, wrong.replace("imag:", "image: a:1")));
  await page.locator("#view-apply").getByText("khorovod stop mine").waitFor();
  await server.close();
});

// The timeline: the steps after each fault, its scrubber, its links, and that it is loaded only when it is opened.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { address, check, open, root, same, serve, test, write } from "./browser.mjs";

const example = (name) => readFileSync(join(root, "examples", name, "job.yaml"), "utf8");
const smallest = example("smallest");

const headline = (page, text) => page.locator("#view-timeline h2", { hasText: text }).waitFor();
const choose = async (page, button, text) => {
  await page.getByRole("button", { name: button }).click();
  await headline(page, text);
};
/** The titles of all steps. */
const titles = (page) => page.locator("#view-timeline .steps button").allTextContents();
const moment = (page) => page.locator("#view-timeline .moment").innerText();
const log = (page) => page.locator("#view-timeline .log").innerText();
const scrubber = (page) => page.getByRole("slider", { name: "Moment of the run" });

test("the timeline shows what a lost worker costs, with and without a spare", async () => {
  const server = await serve();
  const page = await open(server, { spec: smallest });
  const requests = [];
  page.on("request", (request) => requests.push(request.url()));
  check(!requests.some((one) => one.includes("timeline")), "it is loaded before it is opened");
  await page.click("#tab-timeline");
  await headline(page, "A node fails: the ranks run again within 55 s, if a node is free and has the image.");
  check(requests.filter((one) => one.includes("timeline")).length >= 2, `loaded: ${requests}`);
  same(
    await titles(page),
    [
      "Apply",
      "Wait",
      "Check the world",
      "Train",
      "A worker is lost",
      "Start another worker",
      "Start the ranks",
      "Train",
      "Release",
      "Complete",
    ],
    "the steps",
  );
  const now = await moment(page);
  check(now.includes("5. A worker is lost") && now.includes("at most 15 s"), now);
  check((await log(page)).includes("it does not count against lifecycle.retries"), await log(page));
  await write(page, smallest.replace("gpus: 8", "gpus: 8, spares: 1"));
  await headline(page, "A node fails: the ranks run again within 25 s.");
  check((await titles(page)).includes("Use the spare"), "a spare");
  same(page.complaints, [], "complaints");
  await server.close();
});

test("each button of the timeline shows another fault", async () => {
  const server = await serve();
  const page = await open(server, { spec: smallest });
  await page.click("#tab-timeline");
  for (const [button, text] of [
    ["Nothing fails", "The training ends"],
    ["Lose the launcher", "The node of the launcher fails: the ranks run again within 1 min 40 s, if a node is free"],
    ["Crash a rank", "A rank exits with an error: the ranks run again within 17 s."],
    ["Hang a rank", "A rank hangs: nothing ends it"],
    ["Evict a worker", "A worker is evicted"],
    ["Pass the deadline", "There is no deadline"],
    ["Apply a change", "A change that affects the ranks"],
    ["Lose a worker", "A node fails"],
  ]) {
    await choose(page, button, text);
    same(
      await page.locator('#view-timeline [aria-pressed="true"]').allTextContents(),
      [button],
      "the button that is pressed",
    );
  }
  // Both need a field of the spec.
  await write(page, `${smallest.trimEnd()}\n  lifecycle: {deadline: 2h, stall: {timeout: 20m}}\n`);
  await choose(page, "Pass the deadline", "The run ends 2 h after its start, with code 44.");
  await choose(page, "Hang a rank", "A rank hangs: the ranks run again within 24 min 32 s.");
  check(
    /1440 s: asking all hosts/.test(
      await page.evaluate(async () => {
        [...document.querySelectorAll("#view-timeline .steps button")]
          .find((one) => one.textContent === "Collect evidence")
          .click();
        return document.querySelector("#view-timeline .log").innerText;
      }),
    ),
    "the line of the log",
  );
  // An Indexed Job has no launcher.
  await write(page, example("torchrun"));
  await choose(page, "Lose pod 0", "The node of pod 0 fails");
  same(await page.getByRole("button", { name: "Lose the launcher" }).count(), 0, "a launcher");
  same(page.complaints, [], "complaints");
  await server.close();
});

test("the scrubber moves through the run with the keyboard and the mouse", async () => {
  const server = await serve();
  const page = await open(server, { spec: smallest, reducedMotion: "reduce" });
  await page.click("#tab-timeline");
  await headline(page, "A node fails");
  const value = () => scrubber(page).getAttribute("aria-valuetext");
  check((await value()).startsWith("Step 5 of 10: A worker is lost."), await value());
  await scrubber(page).focus();
  await page.keyboard.press("PageDown");
  check((await value()).startsWith("Step 4 of 10: Train."), await value());
  await page.keyboard.press("Home");
  check((await value()).startsWith("Step 1 of 10: Apply."), await value());
  same(await log(page), "Nothing yet.", "the log at the start");
  await page.keyboard.press("End");
  check((await value()).startsWith("Step 10 of 10: Complete."), await value());
  check(
    (await moment(page)).includes("0 GPUs held; the scheduler still counts 8 for pods on the dead node"),
    await moment(page),
  );
  await page.keyboard.press("ArrowLeft");
  await page.getByRole("button", { name: "Previous step" }).click();
  check((await value()).startsWith("Step 9 of 10: Release."), await value());
  await page.locator('#view-timeline [data-phase="5"]').click();
  check((await value()).startsWith("Step 6 of 10: Start another worker."), await value());
  await page.getByRole("button", { name: "Next step" }).click();
  check((await value()).startsWith("Step 7 of 10: Start the ranks."), await value());
  // Below the thumb is the line of the picture.
  const [thumb, line] = await page.evaluate(() => {
    const input = document.querySelector("#view-timeline .scrubber");
    const box = input.getBoundingClientRect();
    const share = (input.valueAsNumber - input.min) / (input.max - input.min);
    return [
      box.left + 8 + share * (box.width - 16),
      document.querySelector("#view-timeline .line").getBoundingClientRect().x,
    ];
  });
  check(Math.abs(thumb - line) <= 2, `the thumb is at ${thumb}, the line at ${line}`);
  await page.getByRole("button", { name: "Play" }).click();
  await page.locator("#view-timeline .moment h3", { hasText: "8. Train" }).waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  same(page.complaints, [], "complaints");
  await server.close();
});

test("a link leads to an event of the timeline", async () => {
  const server = await serve();
  const page = await open(server, { hash: "#example=self-healing&view=timeline&event=hang" });
  await headline(page, "A rank hangs: the ranks run again within");
  await choose(page, "Evict a worker", "A worker is evicted");
  check((await address(page)).endsWith("#example=self-healing&view=timeline&event=eviction"), await address(page));
  await page.evaluate(() => (location.hash = "#example=self-healing&view=timeline&event=workerNode"));
  await headline(page, "A node fails: the ranks run again within 25 s.");
  await page.click("#tab-plan");
  check((await address(page)).endsWith("#example=self-healing&view=plan"), await address(page));
  await server.close();
});

test("the timeline of several jobs, and of a session", async () => {
  const server = await serve();
  const other = smallest.replace("name: mnist", "name: bert").replace("replicas: 4", "replicas: 2");
  const page = await open(server, { spec: `${smallest}---\n${other}` });
  await page.click("#tab-timeline");
  await headline(page, "A node fails");
  await page.getByRole("combobox", { name: "Job" }).selectOption("bert");
  await page.locator("#view-timeline .log", { hasText: "lost worker bert-" }).waitFor();
  await write(page, example("interactive"));
  await headline(page, "The training ends");
  same(await page.locator("#view-timeline .choices button").count(), 3, "the events of a session");
  await server.close();
});

test("a target with another controller has no timeline, and the way back shows the current job", async () => {
  const server = await serve();
  const page = await open(server, { spec: smallest });
  await page.click("#tab-timeline");
  await headline(page, "A node fails");
  await page.selectOption("#target", "slurm");
  await headline(page, "There is no timeline for Slurm");
  same(await page.getByRole("button", { name: "Lose a worker" }).count(), 0, "the buttons of the events");
  await write(page, smallest.replace("name: mnist", "name: bert"));
  await page.getByRole("button", { name: "Render for Kubernetes" }).click();
  await page.locator("#view-timeline .log", { hasText: "lost worker bert-" }).waitFor();
  same(await page.locator("#target").inputValue(), "plain", "the target");
  await choose(page, "Nothing fails", "The training ends");
  // A job that the target does not support: the last state without errors is that of the earlier target.
  await page.selectOption("#target", "slurm");
  await headline(page, "There is no timeline for Slurm");
  await write(page, example("elastic"));
  await page.selectOption("#target", "plain");
  await headline(page, "The training ends");
  same(page.complaints, [], "complaints");
  await server.close();
});

test("an advice of the timeline is one click", async () => {
  const server = await serve();
  const page = await open(server, { spec: smallest.replace(/\n*$/, "\n  lifecycle: {retries: 0}\n") });
  await page.click("#tab-timeline");
  await choose(page, "Hang a rank", "nothing ends it");
  await page.getByRole("button", { name: "Set lifecycle.stall: {timeout: 20m}" }).click();
  await headline(page, "A rank hangs: the run ends with code 42");
  check((await page.getByRole("button", { name: "Set lifecycle.stall" }).count()) === 0, "the advice is done");
  await page.getByRole("button", { name: "Set lifecycle.retries: 3" }).click();
  await headline(page, "A rank hangs: the ranks run again within");
  const text = await page.locator(".cm-content").innerText();
  check(text.includes("lifecycle: {retries: 3, stall: {timeout: 20m}}"), text);
  await server.close();
});

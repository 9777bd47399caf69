// The plan of a job as a table, and what a change does to a job as a list.
import type { Compiled } from "./compiler";
import { count, h, markup, number } from "./dom";
import { gpus } from "./total";
import type { Amount, Change, Difference, Effect, Peer, Report, Workers } from "./wire/types";

/** Amounts of resources as one phrase. */
export const amounts = (list: Amount[]) => list.map(({ resource, quantity }) => `${resource} ${quantity}`).join(", ");

/** At most this many jobs have a plan in the page. */
const PLANS = 20;

/** Quotes a word for a shell, if it needs quotes. */
const quote = (word: string) => (/^[\w+=./:,@%-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

const PEERS: Record<Peer, string> = {
  head: "launcher",
  workers: "workers",
  api: "Kubernetes API",
  others: "other pods",
};

type Cell = string | Node[];

/** Shows the plans of jobs. */
export function drawPlans(view: HTMLElement, { jobs, leftOut }: Compiled) {
  const rest = leftOut + Math.max(0, jobs.length - PLANS);
  const wasOpen = view.querySelector("details[open]") !== null;
  view.replaceChildren(
    ...jobs.slice(0, PLANS).map(plan),
    ...(rest ? [h("p", {}, `${count(rest, "more job")} not shown.`)] : []),
  );
  if (wasOpen) view.querySelector("details")?.setAttribute("open", "");
}

/** The plan of a job. */
function plan(report: Report): HTMLElement {
  const defaults = report.defaults.map(({ path, value }) =>
    h("tr", {}, h("th", { scope: "row" }, h("code", {}, path)), h("td", {}, value)),
  );
  return h(
    "section",
    {},
    h("h2", {}, `${report.job}, run ${report.run}`),
    table(rows(report).map(([label, cell]) => row(label, cell))),
    defaults.length > 0 && h("details", {}, h("summary", {}, count(defaults.length, "default")), table(defaults)),
  );
}

const table = (body: HTMLElement[]) => h("table", { class: "plan" }, h("tbody", {}, ...body));

/** A row; empty cells are left out. */
function row(label: string, cell: Cell): HTMLElement {
  return h("tr", {}, h("th", { scope: "row" }, label), h("td", {}, ...(typeof cell === "string" ? [cell] : cell)));
}

function rows(report: Report): [string, Cell][] {
  const { elastic, head, launch, links, notes, podSecurity, storage, workers } = report;
  const all: [string, Cell][] = [
    ["image", [code(report.image)]],
    ["workers", workers.map((group) => line(describe(group)))],
    ["hosts", workers.map(({ hosts: [first, last] }) => line(code(first === last ? first : `${first} … ${last}`)))],
    ["elastic", elastic ? `${elastic[0]} to ${count(elastic[1], "worker")}` : ""],
    ["ranks", number(report.ranks)],
    ["total", `${count(report.pods, "pod")}${report.requests.length ? `: ${amounts(report.requests)}` : ""}`],
    ["cost", cost(report)],
    ["rendered as", report.shape],
    ["launched by", report.launcher],
    ["launched on", [code(head.host)]],
    ["command", launch.length ? [h("pre", {}, launch.map(quote).join(" "))] : "started by hand"],
    ["network", links.map(({ from, to, over }) => line(`${PEERS[from]} → ${PEERS[to]}: ${over}`))],
    ["nodes", report.nodes],
    ["storage", storage.map((volume) => line(code(volume.mountPath), ` ${source(volume)}`))],
    ["GPUs are freed", report.release],
    [
      "Pod Security",
      [podSecurity.level, ...podSecurity.reasons.map((reason) => `– ${reason}`)].map((text) => line(text)),
    ],
    ["notes", notes.map((note) => line(...markup(note)))],
  ];
  return all.filter(([, cell]) => cell.length > 0);
}

const code = (text: string) => h("code", {}, text);
const line = (...children: (string | Node)[]) => h("div", {}, ...children);

function describe({ group, replicas, slots, requests, shm }: Workers): string {
  const name = group === undefined ? "" : `${group}: `;
  return `${name}${number(replicas)} × ${count(slots, "rank")} (${amounts(requests) || "no requests"}; /dev/shm ${shm})`;
}

function cost(report: Report): string {
  const { gpus: now, bounds, mostHours } = report.cost;
  if (!now && !bounds[1]) return "no GPUs";
  const limit =
    mostHours === undefined
      ? "no deadline"
      : `at most ${count(mostHours, "GPU hour")} until the deadline, without those of nodes that do not answer`;
  return `${gpus([report])} while it runs; ${limit}`;
}

/** The source of a volume, and whether its data is lost. */
export function source(volume: Report["storage"][number]): string {
  return volume.outlivesJob ? volume.source : `${volume.source} (deleted with its pod)`;
}

const EFFECTS: Record<Effect, string> = {
  new: "is new",
  gone: "is removed from the spec; its objects stay until you delete them",
  restarts: "restarts",
  inPlace: "changes in place; the run continues",
  refused: "is refused in part by Kubernetes; the run continues",
  nothing: "does not change",
};

/** What happens to each job if the spec is applied. */
export function changeList(changes: Change[]): HTMLElement[] {
  return changes.map(({ job, effect, because, inPlace, refused, notes }) => {
    const items = [
      ...[...because, ...inPlace].map((difference) => describeDifference(difference)),
      ...refused.map((text) => [`refused: ${text}`]),
      ...notes.map((text) => [text]),
    ];
    const list = h("ul", {}, ...items.map((item) => h("li", {}, ...item)));
    return h("div", { class: `change ${effect}` }, h("strong", {}, job), ` ${EFFECTS[effect]}`, list);
  });
}

function describeDifference({ path, old, new: now }: Difference): (string | Node)[] {
  return old === null && now === null ? [code(path)] : [code(path), `: ${old ?? "–"} → ${now ?? "–"}`];
}

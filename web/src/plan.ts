// The plan as tables.
import { count, h, number, words } from "./dom";
import type { Amount, Change, Difference, Peer, Report } from "./types";

const amounts = (list: Amount[]) => list.map(({ resource, quantity }) => `${resource} ${quantity}`).join(", ");

/** A word as a shell reads it back. */
const quoted = (word: string) => (/^[\w+=./:,@%-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

export const command = (report: Report) => report.launch.map(quoted).join(" ");

/** GPUs, in a few words. */
export function cost(report: Report): string {
  const [least, most] = report.cost.bounds;
  return least === most ? count(most, "GPU") : `${number(least)} to ${count(most, "GPU")}`;
}

const PEERS: Record<Peer, string> = {
  head: "launcher",
  workers: "workers",
  api: "Kubernetes' API",
  others: "other pods",
};

export function plan(report: Report): HTMLElement {
  const { cost: costs, head } = report;
  const rows: [string, string | (string | Node)[] | undefined][] = [
    ["image", [h("code", {}, report.image)]],
    [
      "workers",
      report.workers.map((group) =>
        item(
          `${group.group ? `${group.group}: ` : ""}${number(group.replicas)} × ${count(group.slots, "rank")} (${amounts(group.requests) || "nothing asked for"}; /dev/shm ${group.shm})`,
        ),
      ),
    ],
    [
      "hosts",
      report.workers.map(({ hosts: [first, last] }) => item(first === last ? first : `${first} … ${last}`, "code")),
    ],
    ["elastic", report.elastic && `${report.elastic[0]} to ${count(report.elastic[1], "worker")}`],
    ["ranks", number(report.ranks)],
    ["in all", `${count(report.pods, "pod")}${report.requests.length ? `: ${amounts(report.requests)}` : ""}`],
    [
      "cost",
      costs.gpus || costs.bounds[1]
        ? `${cost(report)} while it runs; ${costs.mostHours === undefined ? "no deadline ends it" : `${count(costs.mostHours, "GPU hour")} at most, as it has a deadline`}`
        : "no GPUs",
    ],
    ["shape", report.shape],
    ["launched by", report.launcher],
    ["on", [h("code", {}, head.host)]],
    ["command", report.launch.length ? [h("pre", {}, command(report))] : "started by hand"],
    ["network", report.links.map(({ from, to, over }) => item(`${PEERS[from]} → ${PEERS[to]}: ${over}`))],
    ["nodes", report.nodes],
    [
      "storage",
      report.storage.map((volume) =>
        h(
          "div",
          {},
          h("code", {}, volume.mountPath),
          ` ${volume.source}${volume.outlivesJob ? "" : " (gone with its pod)"}`,
        ),
      ),
    ],
    ["freed", report.release],
    ["Pod Security", [report.podSecurity.level, ...report.podSecurity.reasons.map((reason) => item(`– ${reason}`))]],
    ["notes", report.notes.map((note) => h("div", {}, ...words(note)))],
  ];
  const body = rows
    .filter(([, value]) => value !== undefined && value.length > 0)
    .map(([label, value]) => h("tr", {}, h("th", { scope: "row" }, label), h("td", {}, ...[value!].flat())));
  const defaults = report.defaults.map(({ path, value }) =>
    h("tr", {}, h("th", { scope: "row" }, h("code", {}, path)), h("td", {}, value)),
  );
  return h(
    "section",
    {},
    h("h2", {}, `${report.job}, run ${report.run}`),
    h("table", { class: "plan" }, h("tbody", {}, ...body)),
    defaults.length
      ? h(
          "details",
          {},
          h("summary", {}, `${count(defaults.length, "default")} taken`),
          h("table", { class: "plan" }, h("tbody", {}, ...defaults)),
        )
      : null,
  );
}

function item(text: string, tag: "div" | "code" = "div"): HTMLElement {
  return tag === "div" ? h("div", {}, text) : h("div", {}, h("code", {}, text));
}

const EFFECTS: Record<Change["effect"], string> = {
  new: "is new",
  gone: "is gone; its objects stay until they are deleted",
  restarts: "restarts",
  inPlace: "changes in place; the run goes on",
  nothing: "stays as it is",
};

/** What applying this over the base would do. */
export function changes(list: Change[]): HTMLElement[] {
  const line = ({ path, old, new: now }: Difference) =>
    h("li", {}, h("code", {}, path), old === null && now === null ? "" : `: ${old ?? "–"} → ${now ?? "–"}`);
  return list.map((change) =>
    h(
      "div",
      { class: `change ${change.effect}` },
      h("strong", {}, change.job),
      ` ${EFFECTS[change.effect]}`,
      h(
        "ul",
        {},
        ...change.because.map(line),
        ...change.inPlace.map(line),
        ...change.refused.map((text) => h("li", {}, `refused: ${text}`)),
        ...change.notes.map((text) => h("li", {}, text)),
      ),
    ),
  );
}

// The way out: what to copy, download and type.
import { strToU8, zipSync } from "fflate";
import { type Core, decode } from "./core";
import { h, words } from "./dom";
import { link, LONG } from "./share";
import type { Files, Report, Sound } from "./types";

export class Apply {
  private seed?: Uint8Array;
  private shown = "";
  private readonly said = h("p", { role: "status", class: "said" });

  constructor(
    private readonly parent: HTMLElement,
    private readonly core: () => Core,
    private readonly text: () => string,
  ) {}

  /** Fits the lines to the job; drawn anew only when they change. */
  show(preview: Sound) {
    const jobs = preview.jobs;
    const secrets = preview.documents.filter((doc) => doc.kind === "Secret" && doc.job !== null);
    const shown = JSON.stringify([
      jobs.map(({ job, run, namespace }) => [job, run, namespace]),
      secrets.map((doc) => doc.name),
      !!this.seed,
    ]);
    if (shown === this.shown) return;
    this.shown = shown;
    const first = jobs[0];
    this.parent.replaceChildren(
      h("h2", {}, "Take it with you"),
      h(
        "div",
        { class: "buttons" },
        this.button("Download objects", () => this.file(`${name(jobs)}.objects.yaml`)),
        this.button("Download zip, a file an object", () => this.zip(`${name(jobs)}.zip`)),
        this.button("Copy objects", async () =>
          this.copy(decode((await this.rendered()).made), "The objects are copied."),
        ),
        this.button("Download spec", () => this.save("job.yaml", strToU8(this.text()), "text/yaml")),
      ),
      this.said,
      ...(secrets.length ? this.keys(secrets.map((doc) => [doc.name, doc.namespace])) : []),
      ...(first ? this.lines(first, jobs.length, secrets.length > 0) : []),
    );
  }

  private keys(secrets: [string, string | null][]): HTMLElement[] {
    const keygen = secrets.map(([secret, namespace]) => {
      const place = namespace ? ` -n ${namespace}` : "";
      return `khorovod keygen ${secret}${place} | kubectl apply${place} -f -`;
    });
    const none = [
      h(
        "p",
        {},
        ...words(
          "The ssh keys are not in what you take: make the Secret once, on your machine, with the command (at the end it says how to install it).",
        ),
      ),
      ...keygen.map((line) => this.line(line)),
      h(
        "p",
        {},
        "Or let this page make keys. They come from this browser's random numbers, stay in this tab until it is closed, are shown nowhere, and are in every download and copy of the objects until you take them out.",
      ),
      this.button("Make keys in this page", () => this.setSeed(crypto.getRandomValues(new Uint8Array(32)))),
    ];
    const some = [
      h(
        "p",
        { class: "warn" },
        "The Secret with private keys is in what you take. Keep the file to yourself. Each time keys are made here they are others, so for a job you apply again make the Secret once instead.",
      ),
      this.button("Take the keys out again", () => this.setSeed(undefined)),
    ];
    return [h("h2", {}, "Keys"), ...(this.seed ? some : none)];
  }

  private setSeed(seed: Uint8Array | undefined) {
    this.seed?.fill(0);
    this.seed = seed;
    this.shown = "";
    this.changed();
  }

  /** Asked for when what is shown must be drawn anew. */
  changed = () => {};

  private lines(report: Report, jobs: number, secret: boolean): HTMLElement[] {
    const place = report.namespace ? ` -n ${report.namespace}` : "";
    const job = report.objects.findLast((object) => object.kind === "Job")?.name;
    const file = `${name([report])}.objects.yaml`;
    const group = (title: string, ...lines: string[]) => [h("h3", {}, title), ...lines.map((line) => this.line(line))];
    return [
      h("h2", {}, "Run it"),
      h(
        "p",
        {},
        ...words("It goes to the cluster that `kubectl` is set to, and asks for nothing to be installed there."),
      ),
      ...group("With what you downloaded", `kubectl apply${place} -f ${jobs > 1 ? "jobs.objects.yaml" : file}`),
      ...group(
        "With the command, from the spec",
        `khorovod render job.yaml${secret ? " --no-keys" : ""} | kubectl apply${place} -f -`,
      ),
      ...group("See it train", `kubectl logs${place} -f job/${job}`),
      ...group(
        "From a chart, Helm 3",
        `helm upgrade --install ${report.job} ./chart${place} --post-renderer khorovod --post-renderer-args post-render`,
      ),
      ...group(
        "From a chart, Helm 4",
        "helm plugin install plugin/helm4-post-renderer",
        `helm upgrade --install ${report.job} ./chart${place} --post-renderer khorovod-post-render`,
      ),
      h("h2", {}, "Install the command"),
      h(
        "p",
        {},
        ...words(
          "One program, which checks, plans and renders what this page shows. From a checkout of khorovod, with Rust:",
        ),
        ...this.others(),
      ),
      this.line("cargo install --locked --path ."),
    ];
  }

  /** The book's page, where this page lies in the book: it knows of no other place. */
  private others(): (Node | string)[] {
    const book = /^(.*\/)web\/dist\/(index\.html)?$/.exec(location.pathname);
    return book
      ? [" ", h("a", { href: `${book[1]}docs/install.html`, target: "_top" }, "packages, images and other ways")]
      : [];
  }

  private line(text: string): HTMLElement {
    return h(
      "div",
      { class: "line" },
      h("pre", { tabindex: "0" }, text),
      h(
        "button",
        { type: "button", "aria-label": `Copy: ${text}`, onclick: () => void this.copy(text, "The line is copied.") },
        "Copy",
      ),
    );
  }

  private button(text: string, act: () => unknown): HTMLElement {
    return h(
      "button",
      { type: "button", onclick: () => void Promise.resolve(act()).catch((error) => this.say(String(error))) },
      text,
    );
  }

  private say(text: string) {
    this.said.textContent = text;
  }

  async share(): Promise<string> {
    const address = link(this.text());
    if (!address) return "The spec is too long for a link: download it under Apply.";
    history.replaceState(null, "", address);
    if (!(await this.copy(address, "")))
      return "The link is in the address bar: the browser did not let this page copy it.";
    if (/^kind: *["']?Secret\b/m.test(this.text()))
      return "Link copied. A Secret stands in it: send it to nobody who may not know that.";
    return address.length > LONG
      ? `Link copied; it is ${Math.round(address.length / 1_000)} kB long, which mail and chat may cut.`
      : "Link copied: the spec is in it, and nowhere else.";
  }

  private async copy(text: string, said: string): Promise<boolean> {
    try {
      await navigator.clipboard.writeText(text);
      this.say(said);
      return true;
    } catch {
      this.say("The browser did not let this page copy; select the text and copy it yourself.");
      return false;
    }
  }

  private async rendered(): Promise<Files> {
    const files = await this.core().make<Files>("render", this.text(), this.seed ?? new Uint8Array());
    if (!files.made.length) throw new Error("The spec has errors, so there is nothing to take.");
    return files;
  }

  private async file(name: string) {
    this.save(name, (await this.rendered()).made, "text/yaml");
  }

  private async zip(name: string) {
    const { made, files } = await this.rendered();
    const parts = files.map(({ path, from, to }) => {
      const part = decode(made, from, to);
      return [path, strToU8(part.endsWith("\n") ? part : `${part}\n`)] as const;
    });
    const spec = ["job.yaml.txt", strToU8(this.text())] as const;
    this.save(name, zipSync(Object.fromEntries([...parts, spec]), { mtime: "1980-01-01T00:00:00" }), "application/zip");
  }

  /** A text in a file. */
  keep(name: string, text: string) {
    this.save(name, strToU8(text), "text/yaml");
  }

  private save(name: string, bytes: Uint8Array, type: string) {
    const address = URL.createObjectURL(new Blob([bytes as Uint8Array<ArrayBuffer>], { type }));
    h("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
    this.say(`${name} is in your downloads.`);
  }
}

/** What files of these jobs are called. */
function name(jobs: Report[]): string {
  return jobs.length === 1 ? jobs[0]!.job : "jobs";
}

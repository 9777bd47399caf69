// The view "Apply": what to download, what to copy, and the commands to run.
import { strToU8, zipSync } from "fflate";
import { bookAddress, bookLink } from "./book";
import { asError, type Compiled, type Compiler, decode, type State } from "./compiler";
import { h, markup } from "./dom";
import { LONG_LINK, PLAIN, secretWarning } from "./link";
import { encodeSpec } from "./packed";
import { pngOf } from "./png";
import type { Report, Secrets } from "./wire/types";

/** The target whose output is a batch script. */
const SLURM = "slurm";
/** The page on installation. */
const INSTALL = "docs/install.html";
/** Downloads are kept in memory this long, in ms: the browser reads them after the click. */
const DOWNLOAD_TIME = 10_000;

interface Context {
  compiler: () => Compiler;
  spec: () => string;
  /** The target that the jobs are rendered for. */
  target: () => string;
  /** The values of a spec that look like secrets. */
  secrets: (spec: string) => Secrets;
}

export class Apply {
  /** The seed of the ssh keys that this page made. */
  private seed: Uint8Array | undefined;
  /** Identifies what the view shows. */
  private drawn = "";
  private readonly message = h("p", { role: "status", class: "said" });

  constructor(
    private readonly parent: HTMLElement,
    private readonly context: Context,
    /** Called if the view has to be shown again. */
    private readonly onChange: () => void,
  ) {}

  /** Redraws the view if the names of the jobs or of their Secrets changed. */
  show({ jobs, documents }: Compiled) {
    const secrets = documents.filter((document) => document.kind === "Secret" && document.job !== null);
    const names = jobs.map(({ job, run, namespace }) => [job, run, namespace]);
    const target = this.context.target();
    const drawn = JSON.stringify([names, secrets.map((secret) => secret.name), this.seed !== undefined, target]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    // The last message was about other objects.
    this.report("");
    const isScript = target === SLURM;
    const first = jobs[0];
    const name = fileName(jobs);
    this.parent.replaceChildren(
      h("h2", {}, "Download"),
      h(
        "div",
        { class: "buttons" },
        ...(isScript
          ? [
              this.button("Download script", () => this.downloadObjects(`${name}.sh`)),
              this.button("Copy script", () => this.copyObjects("The script is copied.")),
            ]
          : [
              this.button("Download objects", () => this.downloadObjects(`${name}.objects.yaml`)),
              this.button("Download zip, one file per object", () => this.downloadZip(`${name}.zip`)),
              this.button("Copy objects", () => this.copyObjects("The objects are copied.")),
            ]),
        this.button("Download spec", () => this.download("job.yaml", this.context.spec())),
      ),
      this.message,
      ...(secrets.length ? this.keys(secrets.map((secret) => keygen(secret.name, secret.namespace))) : []),
      ...(first ? this.commands(first, name, secrets.length > 0) : []),
    );
  }

  private keys(commands: string[]): HTMLElement[] {
    const title = h("h2", {}, "ssh keys");
    if (this.seed) {
      const text =
        "Downloads and copies contain a Secret with private keys. Keep them to yourself. Each time you make keys here " +
        "they are new ones, which Kubernetes refuses for a run that has keys. For a run that you apply again, create the " +
        "Secret with the command instead.";
      return [title, h("p", { class: "warn" }, text), this.button("Remove the keys", () => this.setSeed(undefined))];
    }
    const byCommand =
      "Downloads and copies contain no ssh keys. Create the Secret of each run on your machine. The command is installed as " +
      "described at the end of this page.";
    const byPage =
      "Or let this page make the keys, from this browser's random numbers. They stay in this tab until you close it and " +
      "are never displayed. Every download and copy of the objects contains them until you remove them.";
    return [
      title,
      h("p", {}, byCommand),
      ...commands.map((command) => this.command(command)),
      h("p", {}, byPage),
      this.button("Make keys in this page", () => this.setSeed(crypto.getRandomValues(new Uint8Array(32)))),
    ];
  }

  private setSeed(seed: Uint8Array | undefined) {
    this.seed?.fill(0);
    this.seed = seed;
    this.drawn = "";
    this.onChange();
  }

  private commands({ job, namespace, commands }: Report, name: string, hasSecret: boolean): HTMLElement[] {
    const scope = namespace === undefined ? "" : ` -n ${namespace}`;
    const target = this.context.target();
    const options = `${target === PLAIN ? "" : ` --target ${target}`}${hasSecret ? " --no-keys" : ""}`;
    if (target === SLURM) {
      return [
        h("h2", {}, "Run"),
        h("p", {}, "On a machine with Slurm's commands, from the download:"),
        this.command(`sbatch ${name}.sh`),
        h("p", {}, "Or from the spec:"),
        this.command(`khorovod render job.yaml${options} > ${name}.sh && sbatch ${name}.sh`),
        this.command(commands.follow),
        h("h3", {}, "Stop the job"),
        this.command(commands.delete),
        ...this.install(),
      ];
    }
    const helm = `helm upgrade --install ${job} ./chart${scope} --post-renderer`;
    const section = (title: string, ...lines: string[]) => [
      h("h3", {}, title),
      ...lines.map((command) => this.command(command)),
    ];
    const cluster = "These commands use the cluster that `kubectl` is set to. Nothing has to be installed there.";
    const place =
      "The spec names no namespace, so the job works only in `default`. For another one, set `metadata.namespace`.";
    return [
      h("h2", {}, "Run"),
      h("p", {}, ...markup(target === PLAIN && !scope ? `${cluster} ${place}` : cluster)),
      ...section("From the download", `kubectl apply${scope} -f ${name}.objects.yaml`),
      ...section("From the spec, with the command", `khorovod render job.yaml${options} | kubectl apply${scope} -f -`),
      ...section("Follow the log", commands.follow),
      ...(target === PLAIN
        ? [
            ...section("From a chart, Helm 3", `${helm} khorovod --post-renderer-args post-render`),
            ...section(
              "From a chart, Helm 4",
              "helm plugin install plugin/helm4-post-renderer",
              `${helm} khorovod-post-render`,
            ),
          ]
        : []),
      ...this.ends(job, scope, commands.delete),
      ...this.install(),
    ];
  }

  /** The commands that end the job. The command `khorovod stop` ends only jobs of plain Kubernetes objects. */
  private ends(job: string, scope: string, remove: string): HTMLElement[] {
    const stop =
      "The ranks get the signal and the time of `lifecycle.checkpoint` to save a checkpoint. Then all pods end.";
    const deleted =
      "This ends a job that runs, and deletes its objects. PersistentVolumeClaims stay, so the data on them are kept.";
    const plain = this.context.target() === PLAIN;
    return [
      ...(plain
        ? [h("h3", {}, "Stop the job"), h("p", {}, ...markup(stop)), this.command(`khorovod stop ${job}${scope}`)]
        : []),
      h("h3", {}, "Delete the job"),
      h("p", {}, deleted),
      this.command(remove),
    ];
  }

  private install(): HTMLElement[] {
    const command = "It checks, plans and renders like this page. From a checkout of khorovod, with Rust:";
    return [
      h("h2", {}, "Install the command"),
      h(
        "p",
        {},
        ...markup(command),
        ...(bookAddress(INSTALL) ? [" ", ...bookLink(INSTALL, "packages, images and other ways")] : []),
      ),
      this.command("cargo install --locked --path ."),
    ];
  }

  /** A command with a button that copies it. */
  private command(text: string): HTMLElement {
    const onclick = () => void this.copy(text, "The command is copied.");
    return h(
      "div",
      { class: "line" },
      h("pre", { tabindex: "0" }, text),
      h("button", { type: "button", "aria-label": `Copy: ${text}`, onclick }, "Copy"),
    );
  }

  private button(text: string, act: () => void | Promise<void>): HTMLElement {
    const onclick = () => {
      Promise.resolve(act()).catch((error: unknown) => this.report(asError(error).message));
    };
    return h("button", { type: "button", onclick }, text);
  }

  private report(text: string) {
    this.message.textContent = text;
  }

  /** Puts the spec into the page's address and copies that. Returns a message for the user. */
  async share(): Promise<string> {
    const spec = this.context.spec();
    const fragment = encodeSpec(spec, this.context.target());
    if (fragment === undefined) return "The spec is too long for a link: download it under Apply.";
    const warning = secretWarning(spec, this.context.secrets(spec));
    const link = `${location.origin}${location.pathname}${fragment}`;
    if (!(await this.copy(link, ""))) {
      history.replaceState(null, "", link);
      return `The browser does not allow this page to copy; the link is in the address bar. ${warning}`;
    }
    if (warning) return `Link copied. ${warning}`;
    if (link.length <= LONG_LINK) return "Link copied. The spec is in the link itself, not on a server.";
    return `Link copied. It is ${Math.round(link.length / 1_000)} kB long; mail and chat programs may cut it.`;
  }

  private async copy(text: string, done: string): Promise<boolean> {
    try {
      await navigator.clipboard.writeText(text);
      this.report(done);
      return true;
    } catch {
      this.report("The browser does not allow this page to copy. Select the text and copy it.");
      return false;
    }
  }

  private async render() {
    const files = await this.context.compiler().render(this.context.spec(), this.seed ?? new Uint8Array());
    if (!files.rendered.length) throw new Error("The spec has errors: there are no objects.");
    return files;
  }

  private async copyObjects(done: string) {
    const { rendered } = await this.render();
    await this.copy(decode(rendered), done);
  }

  private async downloadObjects(name: string) {
    const { rendered } = await this.render();
    this.save(name, rendered, "text/yaml");
  }

  private async downloadZip(name: string) {
    const { rendered, files } = await this.render();
    const objects = files.map(({ path, from, to }) => {
      const text = decode(rendered, from, to);
      return [path, strToU8(text.endsWith("\n") ? text : `${text}\n`)] as const;
    });
    const spec = ["job.yaml.txt", strToU8(this.context.spec())] as const;
    // A fixed time, so that the same spec makes the same archive.
    const archive = zipSync(Object.fromEntries([...objects, spec]), { mtime: "1980-01-01T00:00:00" });
    this.save(name, archive, "application/zip");
  }

  /** Downloads a text as a file. */
  download(name: string, text: string) {
    this.save(name, strToU8(text), "text/yaml");
  }

  /** Downloads the picture of a state. Returns a message for the user. */
  async savePicture(type: "SVG" | "PNG", { compiled, spec }: State): Promise<string> {
    const svg = await this.context.compiler().svg(spec);
    const name = fileName(compiled.jobs);
    if (type === "SVG") this.save(`${name}.svg`, new TextEncoder().encode(svg), "image/svg+xml");
    else this.save(`${name}.png`, await pngOf(svg), "image/png");
    return `${name}.${type.toLowerCase()} is downloaded.`;
  }

  /** Downloads bytes as a file. */
  private save(name: string, bytes: Uint8Array, type: string) {
    const address = URL.createObjectURL(new Blob([new Uint8Array(bytes)], { type }));
    h("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), DOWNLOAD_TIME);
    this.report(`${name} is downloaded.`);
  }
}

/** The command that creates a Secret with ssh keys. */
function keygen(secret: string, namespace: string | null): string {
  const scope = namespace === null ? "" : ` -n ${namespace}`;
  return `khorovod keygen ${secret}${scope} | kubectl apply${scope} -f -`;
}

/** The name of the jobs' files, without an ending. */
function fileName(jobs: Report[]): string {
  const [first, ...others] = jobs;
  return first && !others.length ? first.job : "jobs";
}

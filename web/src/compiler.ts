// Runs the compiler, which is a WebAssembly module: in a worker, or in the page's thread if that is quick.
import { draw, initSync, load_scripts, preview, secrets, set_target } from "../pkg/khorovod_web.js";
import { type Check, nullable, parse } from "./wire/check";
import * as wire from "./wire/types";
import type { Answer, Call, Request, Start } from "./worker";

/** A preview in the worker that takes longer than this, in ms, is stopped if the spec has changed meanwhile. */
const PREVIEW_LIMIT = 1_500;
/** A worker whose WebAssembly memory exceeds this is replaced when it is idle, as such memory never shrinks. */
const MEMORY_LIMIT = 256 << 20;
/**
 * If the last preview took less than this, in ms, the next one runs in the page's thread, and the browser shows it in the
 * same frame as the key. Through the worker it would appear at least one frame later, and many on a busy machine.
 */
const QUICK = 12;
/** A text that grew by more than this was pasted: how long its preview takes is unknown, so it runs in the worker. */
const TYPED = 1_000;

/** The result of compiling a spec without errors, with the rendered objects in UTF-8. */
export type Compiled = wire.Compiled & { rendered: Uint8Array };

/** A state of the spec without errors. */
export interface State {
  spec: string;
  compiled: Compiled;
}

/** Takes the preview of a text; `compiled` is undefined if the spec has errors. */
type OnPreview = (text: string, preview: wire.Preview, compiled: Compiled | undefined) => void;

interface Waiting {
  request: Request;
  resolve: (result: Answer["result"]) => void;
  reject: (error: Error) => void;
}

/** The preview was stopped, as the spec has changed. */
class Superseded extends Error {}

export class Compiler {
  private worker: Worker;
  private readonly waiting = new Map<number, Waiting>();
  private lastId = 0;
  private running: { since: number; id: number } | undefined;
  /** The text to preview next. */
  private next: string | undefined;
  /** The scripts of pods, once they are loaded. Until then, they are empty in rendered objects. */
  private scripts: string | undefined;
  /** The memory of the module in this thread, once it is loaded here. */
  private ownMemory: WebAssembly.Memory | undefined;
  private workerMemory = 0;
  /** The target that jobs are rendered for. */
  private currentTarget: string;
  /** The width of the picture in previews, in CSS pixels. If it is 0, previews have no picture. */
  width = 0;
  /** The length of the text that was previewed last, and how long that took, in ms. */
  private last = { length: 0, took: Infinity };

  constructor(
    private module: WebAssembly.Module,
    target: string,
    private readonly onPreview: OnPreview,
    private readonly onFailure: (error: Error) => void,
  ) {
    this.currentTarget = target;
    this.worker = this.startWorker();
  }

  /** Sets the target that jobs are rendered for, in all further calls, which use another module if one is given. */
  setTarget(target: string, module = this.module) {
    this.currentTarget = target;
    if (module !== this.module) {
      this.module = module;
      if (this.ownMemory) this.loadHere();
      // The new worker gets the target when it starts.
      this.restartWorker();
      return;
    }
    if (this.ownMemory) set_target(target);
    this.ask({ name: "target", target }).answer.catch(() => undefined);
  }

  /** Bytes of WebAssembly memory in use, as of the last answer. */
  get memory(): number {
    return this.workerMemory + (this.ownMemory?.buffer.byteLength ?? 0);
  }

  private startWorker(): Worker {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data }: MessageEvent<Answer>) => this.answered(data));
    worker.addEventListener("error", (event) => this.onFailure(new Error(event.message || "the worker did not start")));
    const start: Start = { module: this.module, scripts: this.scripts, target: this.currentTarget };
    worker.postMessage(start);
    for (const { request } of this.waiting.values()) worker.postMessage(request);
    return worker;
  }

  private restartWorker() {
    this.worker.terminate();
    this.worker = this.startWorker();
  }

  /** Loads the module into this thread, so that quick previews run here. */
  loadHere() {
    this.ownMemory = initSync({ module: this.module }).memory;
    if (this.scripts !== undefined) load_scripts(this.scripts);
    set_target(this.currentTarget);
  }

  /** Renders the objects to apply. A seed of 32 bytes makes ssh keys; an empty one leaves their Secret out. */
  async render(spec: string, seed: Uint8Array): Promise<wire.Files & { rendered: Uint8Array }> {
    const { json, rendered } = unpack(wire.checkFiles, asBytes(await this.ask({ name: "render", spec, seed }).answer));
    return { ...json, rendered };
  }

  /** Compiles another spec than that of the editor, with a picture of this width. */
  async compile(spec: string, width: number): Promise<wire.Preview> {
    return unpack(wire.checkPreview, asBytes(await this.ask({ name: "preview", spec, width }).answer)).json;
  }

  /** Draws the jobs of a spec as an SVG file; empty if the spec has errors. */
  svg(spec: string): Promise<string> {
    return this.askText({ name: "svg", spec });
  }

  /** Draws the jobs of a spec with a width in CSS pixels. Returns null if the spec has errors. */
  async draw(spec: string, width: number): Promise<wire.Picture | null> {
    const json = this.isQuick(spec) ? draw(spec, width) : await this.askText({ name: "draw", spec, width });
    return parse(nullable(wire.checkPicture), json);
  }

  /** Computes what happens to a job's run, and draws it with a width in CSS pixels. Returns null if the spec has errors. */
  async timeline(
    spec: string,
    job: number,
    scenario: wire.Scenario,
    width: number,
  ): Promise<wire.DrawnTimeline | null> {
    return parse(
      nullable(wire.checkDrawnTimeline),
      await this.askText({ name: "timeline", spec, job, scenario, width }),
    );
  }

  /** Returns what happens to running jobs if the spec `now` replaces the spec `old`. */
  async changes(old: string, now: string): Promise<wire.Changes> {
    return parse(wire.checkChanges, await this.askText({ name: "changes", old, now }));
  }

  /** Loads the scripts of pods into the worker, and returns what each problem code means. */
  async loadTexts(): Promise<wire.Codes> {
    const texts = await this.askText({ name: "texts" });
    const end = texts.indexOf("\n");
    this.scripts = texts.slice(end + 1);
    return parse(wire.checkCodes, texts.slice(0, end));
  }

  /** Returns the values of a text that look like secrets; undefined if the module is not loaded in this thread. */
  secrets(text: string): wire.Secrets | undefined {
    return this.ownMemory && parse(wire.checkSecrets, secrets(text));
  }

  /** Returns the systems whose files can be imported. */
  async systems(): Promise<wire.Systems> {
    return parse(wire.checkSystems, await this.askText({ name: "systems" }));
  }

  /** Returns the name of the system that a file seems to come from; empty if none is recognised. */
  detectSystem(file: string): Promise<string> {
    return this.askText({ name: "detectSystem", file });
  }

  /** Imports a file of another system. Options that are empty are not set. */
  async importFile(
    file: string,
    system: string,
    options: { name: string; image: string; command: string },
  ): Promise<wire.Import> {
    return parse(wire.checkImport, await this.askText({ name: "importFile", file, system, options }));
  }

  private async askText(call: Call): Promise<string> {
    const result = await this.ask(call).answer;
    if (typeof result !== "string") throw new TypeError(`${call.name} returned no text`);
    return result;
  }

  private ask(call: Call): { id: number; answer: Promise<Answer["result"]> } {
    const request = { id: ++this.lastId, call };
    const answer = new Promise<Answer["result"]>((resolve, reject) => {
      this.waiting.set(request.id, { request, resolve, reject });
      this.worker.postMessage(request);
    });
    return { id: request.id, answer };
  }

  private answered({ id, result, error, memory, took }: Answer) {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    this.workerMemory = memory;
    if (waiting && id === this.running?.id) this.last.took = took;
    if (error !== undefined) {
      // After a panic the module's state is undefined.
      this.restartWorker();
      waiting?.reject(new Error(error));
    } else {
      if (memory > MEMORY_LIMIT && this.waiting.size === 0) this.restartWorker();
      waiting?.resolve(result);
    }
  }

  /** Previews a text, unless a newer one comes before its turn. */
  preview(text: string) {
    if (this.isQuick(text) && this.previewHere(text)) return;
    this.next = text;
    if (!this.running) void this.previewInWorker();
    else setTimeout(() => this.stopSlowPreview(), Math.max(0, this.running.since + PREVIEW_LIMIT - performance.now()));
  }

  /** Whether the module is loaded in this thread, and a call with this text takes so little time that it can run here. */
  private isQuick(text: string): boolean {
    return (
      this.ownMemory !== undefined && !this.running && this.last.took < QUICK && text.length < this.last.length + TYPED
    );
  }

  /** Previews a text in this thread. Returns false if the module failed. */
  private previewHere(text: string): boolean {
    const start = performance.now();
    let found: Unpacked<wire.Preview>;
    try {
      found = unpack(wire.checkPreview, preview(text, this.width));
    } catch {
      // The worker fails in the same way, and handles it.
      this.ownMemory = undefined;
      return false;
    }
    this.last = { length: text.length, took: performance.now() - start };
    this.show(text, found);
    return true;
  }

  private stopSlowPreview() {
    const running = this.running;
    if (!running || this.next === undefined || performance.now() - running.since < PREVIEW_LIMIT) return;
    this.waiting.get(running.id)?.reject(new Superseded());
    this.waiting.delete(running.id);
    this.restartWorker();
  }

  private async previewInWorker() {
    while (this.next !== undefined) {
      const text = this.next;
      this.next = undefined;
      this.last = { length: text.length, took: Infinity };
      const { id, answer } = this.ask({ name: "preview", spec: text, width: this.width });
      this.running = { since: performance.now(), id };
      try {
        const found = unpack(wire.checkPreview, asBytes(await answer));
        this.running = undefined;
        this.show(text, found);
      } catch (error) {
        this.running = undefined;
        if (!(error instanceof Superseded)) this.onFailure(asError(error));
      }
    }
  }

  private show(text: string, { json, rendered }: Unpacked<wire.Preview>) {
    this.onPreview(text, json, json.compiled && { ...json.compiled, rendered });
  }
}

export const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));

const utf8 = new TextDecoder();

/** Decodes UTF-8. */
export function decode(bytes: Uint8Array, from = 0, to = bytes.length): string {
  return utf8.decode(bytes.subarray(from, to));
}

function asBytes(result: Answer["result"]): Uint8Array {
  if (result instanceof Uint8Array) return result;
  throw new TypeError("the module returned no bytes");
}

interface Unpacked<T> {
  json: T;
  /** The rendered objects, in UTF-8. */
  rendered: Uint8Array;
}

/** Splits what the module returns into JSON, which is the first line, and the rendered text behind it. */
function unpack<T>(check: Check<T>, bytes: Uint8Array): Unpacked<T> {
  const end = bytes.indexOf(10);
  return { json: parse(check, decode(bytes, 0, end)), rendered: bytes.subarray(end + 1) };
}

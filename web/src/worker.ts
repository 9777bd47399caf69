// The compiler in a thread of its own, so that no spec, however long, delays typing.
import {
  changes,
  draw,
  facts,
  initSync,
  jobs_with_keys,
  load_scripts,
  preview,
  render,
  set_target,
  svg,
} from "../pkg/khorovod_web.js";
import keysModule from "../pkg/khorovod_web_keys_bg.wasm?url";
import importModule from "../pkg/khorovod_web_import_bg.wasm?url";
import textsFile from "../pkg/texts.txt?url";
import timelineModule from "../pkg/khorovod_web_timeline_bg.wasm?url";

/** A function of a module, with its arguments. */
export type Call =
  | { name: "preview"; spec: string; width: number }
  | { name: "draw"; spec: string; width: number }
  | { name: "svg"; spec: string }
  | { name: "timeline"; spec: string; job: number; scenario: string; width: number }
  | { name: "target"; target: string }
  | { name: "render"; spec: string; seed: Uint8Array }
  | { name: "changes"; old: string; now: string }
  | { name: "texts" }
  | { name: "systems" }
  | { name: "detectSystem"; file: string }
  | { name: "importFile"; file: string; system: string; options: { name: string; image: string; command: string } };

/** The first message to the worker. */
export interface Start {
  module: WebAssembly.Module;
  /** The scripts of pods, if they are loaded already. */
  scripts: string | undefined;
  /** The target of the calls. */
  target: string;
}

export interface Request {
  id: number;
  call: Call;
}

export interface Answer {
  /** That of the request. */
  id: number;
  result?: string | Uint8Array;
  error?: string;
  /** Bytes of the compiler's memory after the call. */
  memory: number;
  /** How long the call took, in ms. */
  took: number;
}

async function loadImporters() {
  const module = await import("../pkg/khorovod_web_import.js");
  await module.default({ module_or_path: importModule });
  return module;
}

async function loadTimeline() {
  const module = await import("../pkg/khorovod_web_timeline.js");
  await module.default({ module_or_path: timelineModule });
  return module.timeline;
}

/** Derives the ssh keys of a spec's jobs from a seed. */
async function deriveKeys(spec: string, seed: Uint8Array): Promise<string> {
  const { default: load, ssh_keys } = await import("../pkg/khorovod_web_keys.js");
  await load({ module_or_path: keysModule });
  return ssh_keys(jobs_with_keys(spec), seed);
}

async function loadTexts() {
  const response = await fetch(textsFile);
  if (!response.ok) throw new Error(`the texts of the scripts could not be loaded: ${response.status}`);
  const text = await response.text();
  const end = text.indexOf("\n");
  return { codes: text.slice(0, end), scripts: text.slice(end + 1) };
}

/**
 * Answers requests with the module. The importers' module is loaded when the first file is imported, that of the timeline when
 * the first one is drawn.
 */
class Server {
  private readonly memory: WebAssembly.Memory;
  private importers: ReturnType<typeof loadImporters> | undefined;
  private timeline: ReturnType<typeof loadTimeline> | undefined;
  private texts: ReturnType<typeof loadTexts> | undefined;
  private hasScripts: boolean;

  constructor({ module, scripts, target }: Start) {
    this.memory = initSync({ module }).memory;
    set_target(target);
    this.hasScripts = scripts !== undefined && load_scripts(scripts);
  }

  async answer({ id, call }: Request): Promise<Answer> {
    const answer: Answer = { id, memory: 0, took: 0 };
    try {
      const run = await this.prepare(call);
      const start = performance.now();
      answer.result = run();
      answer.took = performance.now() - start;
    } catch (error) {
      answer.error = String(error);
    }
    answer.memory = this.memory.buffer.byteLength;
    return answer;
  }

  /** Loads what a call needs. Returns a function that makes the call. */
  private async prepare(call: Call): Promise<() => string | Uint8Array> {
    switch (call.name) {
      case "preview":
        return () => preview(call.spec, call.width);
      case "draw":
        return () => draw(call.spec, call.width);
      case "svg":
        return () => svg(call.spec);
      case "timeline": {
        this.timeline ??= loadTimeline();
        const timeline = await this.timeline;
        return () => timeline(facts(call.spec), call.job, call.scenario, call.width);
      }
      case "target":
        return () => String(set_target(call.target));
      case "render": {
        if (!this.hasScripts) await this.loadedTexts();
        const keys = call.seed.length ? await deriveKeys(call.spec, call.seed) : "";
        return () => render(call.spec, keys);
      }
      case "changes":
        return () => changes(call.old, call.now);
      case "texts": {
        const { codes, scripts } = await this.loadedTexts();
        return () => `${codes}\n${scripts}`;
      }
      case "systems":
        return (await this.loadedImporters()).systems;
      case "detectSystem": {
        const importers = await this.loadedImporters();
        return () => importers.detect_system(call.file);
      }
      case "importFile": {
        const importers = await this.loadedImporters();
        const { name, image, command } = call.options;
        return () => importers.import_file(call.file, call.system, name, image, command);
      }
    }
  }

  private async loadedTexts() {
    this.texts ??= loadTexts();
    const texts = await this.texts;
    if (!this.hasScripts && !load_scripts(texts.scripts)) throw new Error("the scripts are of another version");
    this.hasScripts = true;
    return texts;
  }

  private loadedImporters() {
    this.importers ??= loadImporters();
    return this.importers;
  }
}

// The first message is the module, each further one a request.
self.addEventListener(
  "message",
  ({ data: start }: MessageEvent<Start>) => {
    const server = new Server(start);
    const reply = async ({ data: request }: MessageEvent<Request>) => {
      const answer = await server.answer(request);
      const moved = answer.result instanceof Uint8Array ? [answer.result.buffer] : [];
      self.postMessage(answer, { transfer: moved });
    };
    self.addEventListener("message", (event: MessageEvent<Request>) => void reply(event));
  },
  { once: true },
);

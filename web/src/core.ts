// The way to the core: what is quick is done at once, all else in a worker, and what is no longer wanted is given up.
import { initSync, preview } from "../pkg/khorovod_web.js";
import type { Preview } from "./types";
import type { Answer, Ask, Call } from "./worker";

/** A preview that takes longer than this makes way for a newer text. */
const PATIENCE = 1_500;
/** A worker that has grown beyond this is replaced once it rests: wasm gives no memory back. */
const ROOM = 256 << 20;
/**
 * What took less than this, in ms, is done here after the next key, and so seen in the frame that shows the key. By way
 * of the worker it would be a frame later, and where other programs want the processors, many.
 */
const QUICK = 12;
/** What was typed may make a text longer by this and no more: a paste takes as long as it takes. */
const TYPED = 1_000;

type Waiting = { ask: Ask; resolve: (result: Answer["result"]) => void; reject: (error: Error) => void };

export class Core {
  private worker?: Worker;
  private readonly waiting = new Map<number, Waiting>();
  private last = 0;
  private running?: { since: number; ask: number };
  private next?: string;
  /** The memory of the core in this thread, once it is here. */
  private here?: WebAssembly.Memory;
  /** Of the last text: its length, and the ms it took. */
  private done = { length: 0, took: Infinity };
  private far = 0;

  constructor(
    private readonly module: WebAssembly.Module,
    private readonly shown: (text: string, preview: Preview) => void,
    private readonly failed: (error: Error) => void,
  ) {
    this.start();
  }

  /** Bytes of wasm memory after the last answer. */
  get memory() {
    return this.far + (this.here?.buffer.byteLength ?? 0);
  }

  private start() {
    this.worker?.terminate();
    this.worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    this.worker.onmessage = ({ data }: MessageEvent<Answer>) => this.answered(data);
    this.worker.onerror = (event) => this.failed(new Error(event.message || "the worker did not start"));
    this.worker.postMessage(this.module);
    for (const { ask } of this.waiting.values()) this.worker.postMessage(ask);
  }

  /** From here on, what is quick is done in this thread. */
  comeNear() {
    this.here = initSync({ module: this.module }).memory;
  }

  private answered({ id, result, error, memory, took }: Answer) {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    this.far = memory;
    if (waiting?.ask.call === "preview") this.done.took = took;
    if (error !== undefined) {
      // After a panic the module's state is anybody's guess.
      this.start();
      waiting?.reject(new Error(error));
    } else {
      if (memory > ROOM && this.waiting.size === 0) this.start();
      waiting?.resolve(result);
    }
  }

  /** Calls the core. */
  ask(call: Call, ...args: unknown[]): Promise<string> {
    return this.post(call, args) as Promise<string>;
  }

  /** Calls the core for what is made of a text. */
  async make<T>(call: "preview" | "render", ...args: unknown[]): Promise<T> {
    return unpack<T>((await this.post(call, args)) as Uint8Array);
  }

  private post(call: Call, args: unknown[]): Promise<Answer["result"]> {
    const ask = { id: ++this.last, call, args };
    return new Promise((resolve, reject) => {
      this.waiting.set(ask.id, { ask, resolve, reject });
      this.worker!.postMessage(ask);
    });
  }

  /** Previews a text, unless a newer one comes before its turn. */
  preview(text: string) {
    if (
      !this.running &&
      this.here &&
      this.done.took < QUICK &&
      text.length < this.done.length + TYPED &&
      this.now(text)
    )
      return;
    this.next = text;
    if (!this.running) void this.run();
    else setTimeout(() => this.interrupt(), Math.max(0, this.running.since + PATIENCE - performance.now()));
  }

  /** Previews a text in this thread; false where that failed. */
  private now(text: string): boolean {
    const start = performance.now();
    let found: Preview;
    try {
      found = unpack<Preview>(preview(text));
    } catch {
      // The worker comes to the same end, and knows what to do.
      this.here = undefined;
      return false;
    }
    this.done = { length: text.length, took: performance.now() - start };
    this.shown(text, found);
    return true;
  }

  private interrupt() {
    const running = this.running;
    if (!running || this.next === undefined || performance.now() - running.since < PATIENCE) return;
    this.waiting.get(running.ask)?.reject(new Error("superseded"));
    this.waiting.delete(running.ask);
    this.start();
  }

  private async run() {
    while (this.next !== undefined) {
      const text = this.next;
      this.next = undefined;
      this.done = { length: text.length, took: Infinity };
      const answer = this.make<Preview>("preview", text);
      this.running = { since: performance.now(), ask: this.last };
      try {
        const found = await answer;
        this.running = undefined;
        this.shown(text, found);
      } catch (error) {
        this.running = undefined;
        if ((error as Error).message !== "superseded") this.failed(error as Error);
      }
    }
  }
}

const utf8 = new TextDecoder();

/** A text out of bytes. */
export function decode(bytes: Uint8Array, from = 0, to = bytes.length): string {
  return utf8.decode(bytes.subarray(from, to));
}

/** A line of JSON, and behind it what was made. */
function unpack<T>(bytes: Uint8Array): T {
  const end = bytes.indexOf(10);
  return { ...(JSON.parse(decode(bytes, 0, end)) as object), made: bytes.subarray(end + 1) } as T;
}

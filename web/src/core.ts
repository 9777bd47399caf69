// The way to the core: calls it in its worker, and gives up on what is no longer wanted.
import type { Answer, Ask, Call } from "./worker";
import type { Preview } from "./types";

/** A preview that takes longer than this makes way for a newer text. */
const PATIENCE = 1_500;
/** A worker that has grown beyond this is replaced once it rests: wasm gives no memory back. */
const ROOM = 256 << 20;

type Waiting = { ask: Ask; resolve: (result: string) => void; reject: (error: Error) => void };

export class Core {
  private worker?: Worker;
  private waiting = new Map<number, Waiting>();
  private last = 0;
  private running?: { text: string; since: number; ask: number };
  private next?: string;
  /** Bytes of wasm memory after the last answer. */
  memory = 0;

  constructor(
    private module: WebAssembly.Module,
    private shown: (text: string, preview: Preview) => void,
    private failed: (error: Error) => void,
  ) {
    this.start();
  }

  private start() {
    this.worker?.terminate();
    this.worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    this.worker.onmessage = ({ data }: MessageEvent<Answer>) => this.answered(data);
    this.worker.onerror = (event) => this.failed(new Error(event.message || "the worker did not start"));
    this.worker.postMessage(this.module);
    for (const { ask } of this.waiting.values()) this.worker.postMessage(ask);
  }

  private answered({ id, result, error, memory }: Answer) {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    this.memory = memory;
    if (error !== undefined) {
      // After a panic the module's state is anybody's guess.
      this.start();
      waiting?.reject(new Error(error));
    } else {
      if (memory > ROOM && this.waiting.size === 0) this.start();
      waiting?.resolve(result!);
    }
  }

  /** Calls the core. */
  ask(call: Call, ...args: unknown[]): Promise<string> {
    const ask = { id: ++this.last, call, args };
    return new Promise((resolve, reject) => {
      this.waiting.set(ask.id, { ask, resolve, reject });
      this.worker!.postMessage(ask);
    });
  }

  /** Previews a text, unless a newer one comes before its turn. */
  preview(text: string) {
    this.next = text;
    if (!this.running) void this.run();
    else setTimeout(() => this.interrupt(), Math.max(0, this.running.since + PATIENCE - performance.now()));
  }

  /** Whether nothing is under way. */
  get idle() {
    return !this.running;
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
      const answer = this.ask("preview", text);
      this.running = { text, since: performance.now(), ask: this.last };
      try {
        const preview = JSON.parse(await answer) as Preview;
        this.running = undefined;
        this.shown(text, preview);
      } catch (error) {
        this.running = undefined;
        if ((error as Error).message !== "superseded") this.failed(error as Error);
      }
    }
  }
}

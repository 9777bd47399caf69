// The JSON that the WebAssembly modules return, and the checks of it. Written by the test web/wire/tests/typescript.rs from
// the types of web/wire; do not edit it.
import * as c from "./check";

/** How bad a problem is. */
export type Severity = "error" | "warning" | "note";
export const checkSeverity: c.Check<Severity> = c.oneOf("error", "warning", "note");

/** A range of the spec with a text about it, or with the text that replaces it. */
export interface PlacedText {
  /** The start of the range, in UTF-16 code units. */
  from: number;
  /** The end of the range, in UTF-16 code units. */
  to: number;
  /** The text. */
  text: string;
}
export const checkPlacedText: c.Check<PlacedText> = c.object({
  from: c.number,
  to: c.number,
  text: c.string,
});

/** A problem in the spec. */
export interface Problem {
  /** Its kind: a key of the map that `codes` returns. */
  code: string;
  /** How bad it is. */
  severity: Severity;
  /** One sentence that names the field. Code is in backquotes. */
  message: string;
  /** The way to fix it. Code is in backquotes. */
  hint: string | null;
  /** The places concerned, the main one first; empty for a problem without a location. */
  labels: PlacedText[];
  /** The hint as an edit of the spec. */
  fix: PlacedText | null;
}
export const checkProblem: c.Check<Problem> = c.object({
  code: c.string,
  severity: checkSeverity,
  message: c.string,
  hint: c.nullable(c.string),
  labels: c.array(checkPlacedText),
  fix: c.nullable(checkPlacedText),
});

/** So much of a resource. */
export interface Amount {
  /** `cpu`, `memory`, `nvidia.com/gpu`, … */
  resource: string;
  /** A Kubernetes quantity. */
  quantity: string;
}
export const checkAmount: c.Check<Amount> = c.object({
  resource: c.string,
  quantity: c.string,
});

/** Workers that are alike. */
export interface Workers {
  /** The group's name, where there are groups. */
  group?: string;
  /** The field of the spec that describes them. */
  origin: string;
  /** The StatefulSet or Job they belong to. */
  workload: string;
  /** How many. */
  replicas: number;
  /** Ranks each runs. */
  slots: number;
  /** The first one's first rank, where ranks are numbered host by host; none where they are not. */
  firstRank?: number;
  /** GPUs each has. */
  gpus: number;
  /** The first and the last one's host name. */
  hosts: [string, string];
  /** What each asks for. */
  requests: Amount[];
  /** Size of `/dev/shm`, part of the memory. */
  shm: string;
}
export const checkWorkers: c.Check<Workers> = c.object({
  group: c.optional(c.string),
  origin: c.string,
  workload: c.string,
  replicas: c.number,
  slots: c.number,
  firstRank: c.optional(c.number),
  gpus: c.number,
  hosts: c.pair(c.string),
  requests: c.array(checkAmount),
  shm: c.string,
});

/** GPUs while a job runs, and over its whole life where that is bounded. */
export interface Cost {
  /** With as many workers as the spec says. */
  gpus: number;
  /** With the fewest and the most workers of an elastic job; else as above. */
  bounds: [number, number];
  /** GPU hours at most, where there is a deadline; rounded up. */
  mostHours?: number;
}
export const checkCost: c.Check<Cost> = c.object({
  gpus: c.number,
  bounds: c.pair(c.number),
  mostHours: c.optional(c.number),
});

/** The pod that launches. */
export interface Head {
  /** Its host name. */
  host: string;
  /** Whether it is a pod beside the workers; else it is the first of them. */
  ownPod: boolean;
  /** Ranks it runs itself, beside the workers'. */
  ranks: number;
}
export const checkHead: c.Check<Head> = c.object({
  host: c.string,
  ownPod: c.boolean,
  ranks: c.number,
});

/** A part of a job, or what it meets. */
export type Peer = "head" | "workers" | "api" | "others";
export const checkPeer: c.Check<Peer> = c.oneOf("head", "workers", "api", "others");

/** Someone who talks to someone. */
export interface Link {
  /** Who begins. */
  from: Peer;
  /** To whom. */
  to: Peer;
  /** How, in words. */
  over: string;
}
export const checkLink: c.Check<Link> = c.object({
  from: checkPeer,
  to: checkPeer,
  over: c.string,
});

/** A mounted volume. */
export interface Storage {
  /** Its name in the spec. */
  name: string;
  /** Where the ranks see it. */
  mountPath: string;
  /** What it is, in words. */
  source: string;
  /** Whether the data stays when the job is deleted. */
  outlivesJob: boolean;
}
export const checkStorage: c.Check<Storage> = c.object({
  name: c.string,
  mountPath: c.string,
  source: c.string,
  outlivesJob: c.boolean,
});

/** A Kubernetes object. */
export interface ObjectName {
  /** `StatefulSet`, … */
  kind: string;
  /** `metadata.name`. */
  name: string;
}
export const checkObjectName: c.Check<ObjectName> = c.object({
  kind: c.string,
  name: c.string,
});

/** A Pod Security level, and what keeps the job from a stricter one. */
export interface PodSecurity {
  /** `restricted`, `baseline` or `privileged`. */
  level: string;
  /** Empty for `restricted`, unless patches reach the pods. */
  reasons: string[];
}
export const checkPodSecurity: c.Check<PodSecurity> = c.object({
  level: c.string,
  reasons: c.array(c.string),
});

/** A default taken. */
export interface DefaultTaken {
  /** The field's path below `spec`. */
  path: string;
  /** What it is when left out. */
  value: string;
}
export const checkDefaultTaken: c.Check<DefaultTaken> = c.object({
  path: c.string,
  value: c.string,
});

/** What one job would run. */
export interface Report {
  /** The job's name. */
  job: string;
  /** Its namespace, where the spec or the command line names one. */
  namespace?: string;
  /** The run's name: another name is another run. */
  run: string;
  /** The image the ranks run in. */
  image: string;
  /** What it becomes in the cluster, in words. */
  shape: string;
  /** What starts the ranks, in words. */
  launcher: string;
  /** The command that starts them, word by word. Empty: people start it. */
  launch: string[];
  /** The workers, group by group. */
  workers: Workers[];
  /** All ranks. */
  ranks: number;
  /** All pods, the launcher's included. */
  pods: number;
  /** What all pods ask for together: GPUs by resource name, `cpu`, `memory` and the rest. */
  requests: Amount[];
  /** What it holds while it runs. */
  cost: Cost;
  /** The pod that launches. */
  head: Head;
  /** Who talks to whom. */
  links: Link[];
  /** Whether a NetworkPolicy keeps other pods out. */
  guarded: boolean;
  /** How its pods lie on the nodes, in words. */
  nodes: string;
  /** Whether each worker gets a node of its own where there is room. */
  apart: boolean;
  /** Fewest and most workers of an elastic job. */
  elastic?: [number, number];
  /** What is mounted, and what becomes of it. */
  storage: Storage[];
  /** Every object, in install order. */
  objects: ObjectName[];
  /** The Pod Security level its pods meet. */
  podSecurity: PodSecurity;
  /** How the GPUs are given back. */
  release: string;
  /** What else a reviewer should know. */
  notes: string[];
  /** Every default taken: path and value. */
  defaults: DefaultTaken[];
}
export const checkReport: c.Check<Report> = c.object({
  job: c.string,
  namespace: c.optional(c.string),
  run: c.string,
  image: c.string,
  shape: c.string,
  launcher: c.string,
  launch: c.array(c.string),
  workers: c.array(checkWorkers),
  ranks: c.number,
  pods: c.number,
  requests: c.array(checkAmount),
  cost: checkCost,
  head: checkHead,
  links: c.array(checkLink),
  guarded: c.boolean,
  nodes: c.string,
  apart: c.boolean,
  elastic: c.optional(c.pair(c.number)),
  storage: c.array(checkStorage),
  objects: c.array(checkObjectName),
  podSecurity: checkPodSecurity,
  release: c.string,
  notes: c.array(c.string),
  defaults: c.array(checkDefaultTaken),
});

/** A rendered object. */
export interface RenderedDocument {
  /** Its kind, such as `StatefulSet`; empty for a document that is not a Kubernetes object. */
  kind: string;
  /** Its `metadata.name`. */
  name: string;
  /** Its `metadata.namespace`. */
  namespace: string | null;
  /** Its start in the rendered text, in bytes. */
  from: number;
  /** Its end in the rendered text, in bytes. */
  to: number;
  /** The index in `jobs` of the job it belongs to; null for a document that passes through unchanged. */
  job: number | null;
  /** Paths of the spec's fields that it is rendered from, patches last. */
  fields: string[];
}
export const checkRenderedDocument: c.Check<RenderedDocument> = c.object({
  kind: c.string,
  name: c.string,
  namespace: c.nullable(c.string),
  from: c.number,
  to: c.number,
  job: c.nullable(c.number),
  fields: c.array(c.string),
});

/** The result of compiling a spec without errors. */
export interface Compiled {
  /** One plan per job, in the order of the spec's documents. */
  jobs: Report[];
  /** One entry per job: the range of each field of its document in the spec, as `[from, to]` in UTF-16 code units by path: `spec.storage[0]` → `[120, 164]`. */
  places: Record<string, [number, number]>[];
  /** The rendered objects. */
  documents: RenderedDocument[];
  /** How many further jobs were checked but are not in `jobs`. */
  leftOut: number;
}
export const checkCompiled: c.Check<Compiled> = c.object({
  jobs: c.array(checkReport),
  places: c.array(c.record(c.pair(c.number))),
  documents: c.array(checkRenderedDocument),
  leftOut: c.number,
});

/** The result of `preview`. The rendered objects follow the JSON as text. */
export interface Preview {
  /** The problems found: errors first, then warnings, then notes; only as many as the page can show. */
  problems: Problem[];
  /** How many further problems were found. */
  more: number;
  /** The compiled spec; absent if there is an error. */
  compiled?: Compiled;
}
export const checkPreview: c.Check<Preview> = c.object({
  problems: c.array(checkProblem),
  more: c.number,
  compiled: c.optional(checkCompiled),
});

/** One file. */
export interface RenderedFile {
  /** Its path. */
  path: string;
  /** Its start in the rendered text, in bytes. */
  from: number;
  /** Its end in the rendered text, in bytes. */
  to: number;
}
export const checkRenderedFile: c.Check<RenderedFile> = c.object({
  path: c.string,
  from: c.number,
  to: c.number,
});

/** The rendered objects as files. The rendered text follows the JSON. */
export interface Files {
  /** One file per object. */
  files: RenderedFile[];
}
export const checkFiles: c.Check<Files> = c.object({
  files: c.array(checkRenderedFile),
});

/** What happens to a job. */
export type Effect = "new" | "gone" | "restarts" | "inPlace" | "nothing";
export const checkEffect: c.Check<Effect> = c.oneOf("new", "gone", "restarts", "inPlace", "nothing");

/** One field that differs. */
export interface Difference {
  /** Its path below `spec`, or in a rendered object. */
  path: string;
  /** What it was; none where it was absent or is not shown. */
  old: string | null;
  /** What it is now; none where it is gone or is not shown. */
  new: string | null;
}
export const checkDifference: c.Check<Difference> = c.object({
  path: c.string,
  old: c.nullable(c.string),
  new: c.nullable(c.string),
});

/** What a change does to one job. */
export interface Change {
  /** The job's name. */
  job: string;
  /** Its namespace, where one is named. */
  namespace?: string;
  /** What happens. */
  effect: Effect;
  /** Why the run starts again; empty unless it does. */
  because: Difference[];
  /** What changes without disturbing the run. */
  inPlace: Difference[];
  /** What Kubernetes refuses to change. */
  refused: string[];
  /** What else a reviewer should know. */
  notes: string[];
}
export const checkChange: c.Check<Change> = c.object({
  job: c.string,
  namespace: c.optional(c.string),
  effect: checkEffect,
  because: c.array(checkDifference),
  inPlace: c.array(checkDifference),
  refused: c.array(c.string),
  notes: c.array(c.string),
});

export type Changes = Change[];
export const checkChanges: c.Check<Changes> = c.array(checkChange);

/** The meaning of a problem code. */
export interface Code {
  /** One line. */
  title: string;
  /** Paragraphs of Markdown. */
  details: string;
}
export const checkCode: c.Check<Code> = c.object({
  title: c.string,
  details: c.string,
});

export type Codes = Record<string, Code>;
export const checkCodes: c.Check<Codes> = c.record(checkCode);

/** A system whose files can be imported. */
export interface System {
  /** Its name, as `khorovod import` takes it. */
  name: string;
  /** A description of its files. */
  about: string;
}
export const checkSystem: c.Check<System> = c.object({
  name: c.string,
  about: c.string,
});

export type Systems = System[];
export const checkSystems: c.Check<Systems> = c.array(checkSystem);

/** The outcome of an import for a field. */
export interface FieldOutcome {
  /** Its path in the file. */
  path: string;
  /** Its line in the file. */
  line: number;
  /** Whether it is in the spec as it was, in another way, or not at all. */
  verdict: "kept" | "changed" | "lost";
  /** Paths of the spec's fields that it became. */
  to: string[];
  /** How it changed, or why it is lost and what to do. */
  note: string;
}
export const checkFieldOutcome: c.Check<FieldOutcome> = c.object({
  path: c.string,
  line: c.number,
  verdict: c.oneOf("kept", "changed", "lost"),
  to: c.array(c.string),
  note: c.string,
});

/** The job that a file of another system becomes. */
export interface Imported {
  /** The spec. */
  job: string;
  /** Secrets that were written in the file, as YAML documents; empty if there were no secrets. */
  secrets: string;
  /** Every field of the file, in its order. */
  fields: FieldOutcome[];
}
export const checkImported: c.Check<Imported> = c.object({
  job: c.string,
  secrets: c.string,
  fields: c.array(checkFieldOutcome),
});

/** An error of an import. */
export interface ImportProblem {
  /** Its line in the file; null for an error of the whole file. */
  line: number | null;
  /** One sentence. Code is in backquotes. */
  message: string;
  /** The way to fix it. */
  hint: string | null;
}
export const checkImportProblem: c.Check<ImportProblem> = c.object({
  line: c.nullable(c.number),
  message: c.string,
  hint: c.nullable(c.string),
});

/** The result of `import_file`: a job, or the problems that prevent one. */
export interface Import {
  /** The job; absent if there are errors. */
  imported?: Imported;
  /** The errors. */
  problems: ImportProblem[];
}
export const checkImport: c.Check<Import> = c.object({
  imported: c.optional(checkImported),
  problems: c.array(checkImportProblem),
});

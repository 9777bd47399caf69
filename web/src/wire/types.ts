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
  /** Another edit that fixes the problem, if the user must choose between two. */
  otherFix: PlacedText | null;
  /** Whether the edit changes what the job does, or inserts an example value, so that the user must choose it. */
  fixIsChoice: boolean;
}
export const checkProblem: c.Check<Problem> = c.object({
  code: c.string,
  severity: checkSeverity,
  message: c.string,
  hint: c.nullable(c.string),
  labels: c.array(checkPlacedText),
  fix: c.nullable(checkPlacedText),
  otherFix: c.nullable(checkPlacedText),
  fixIsChoice: c.boolean,
});

/** An amount of one resource. */
export interface Amount {
  /** The name of the resource: `cpu`, `memory`, `nvidia.com/gpu`, … */
  resource: string;
  /** The amount, as a Kubernetes quantity. */
  quantity: string;
}
export const checkAmount: c.Check<Amount> = c.object({
  resource: c.string,
  quantity: c.string,
});

/** A group of identical workers. */
export interface Workers {
  /** The name of the group, if the spec has `workers.groups`. */
  group?: string;
  /** The path of the field that describes the group. */
  origin: string;
  /** The name of the StatefulSet or Job of the group. */
  workload: string;
  /** The number of workers that run ranks. */
  replicas: number;
  /** The number of further workers that run no ranks until another worker is lost. */
  spares: number;
  /** The number of ranks per worker. */
  slots: number;
  /** The first rank of the first worker. It is absent if ranks are not numbered host by host. */
  firstRank?: number;
  /** The number of GPUs per worker. */
  gpus: number;
  /** The host names of the first and the last worker. */
  hosts: [string, string];
  /** The resource requests per worker. */
  requests: Amount[];
  /** The size of `/dev/shm`, which counts towards the memory of the worker. */
  shm: string;
}
export const checkWorkers: c.Check<Workers> = c.object({
  group: c.optional(c.string),
  origin: c.string,
  workload: c.string,
  replicas: c.number,
  spares: c.number,
  slots: c.number,
  firstRank: c.optional(c.number),
  gpus: c.number,
  hosts: c.pair(c.string),
  requests: c.array(checkAmount),
  shm: c.string,
});

/** The GPUs that a job uses, and a bound on its GPU hours. */
export interface Cost {
  /** The number of GPUs with `workers.replicas` workers, and of the spares. */
  gpus: number;
  /** The number of GPUs with the minimum and the maximum number of workers. Both are `gpus` unless the job is elastic. */
  bounds: [number, number];
  /** The maximum GPU hours until the deadline, rounded up. It is absent if the job has no deadline or no GPUs. GPUs of nodes that do not answer are not included: Kubernetes counts them as in use until the pod is deleted, while another pod has GPUs too. */
  mostHours?: number;
}
export const checkCost: c.Check<Cost> = c.object({
  gpus: c.number,
  bounds: c.pair(c.number),
  mostHours: c.optional(c.number),
});

/** The pod that starts the ranks. */
export interface Head {
  /** The host name of the pod. */
  host: string;
  /** Whether it is a separate launcher pod. Otherwise it is the first worker. */
  ownPod: boolean;
  /** The number of ranks that the launcher pod runs, in addition to those of the workers. */
  ranks: number;
  /** The resource requests of the launcher pod. Empty if the first worker starts the ranks. */
  requests: Amount[];
}
export const checkHead: c.Check<Head> = c.object({
  host: c.string,
  ownPod: c.boolean,
  ranks: c.number,
  requests: c.array(checkAmount),
});

/** One end of a network connection. */
export type Peer = "head" | "workers" | "api" | "others";
export const checkPeer: c.Check<Peer> = c.oneOf("head", "workers", "api", "others");

/** A kind of network connection. */
export interface Link {
  /** The client. */
  from: Peer;
  /** The server. */
  to: Peer;
  /** The protocol or purpose, and the port, as a phrase. */
  over: string;
}
export const checkLink: c.Check<Link> = c.object({
  from: checkPeer,
  to: checkPeer,
  over: c.string,
});

/** A domain of the network in which workers run together. */
export interface Domain {
  /** The level as the spec names it: `rack`, or the label of a node. */
  level: string;
  /** Whether the workers must run in one domain. Otherwise, the scheduler places them in one domain if it can. */
  required: boolean;
  /** The number of workers in each domain. It is absent if one domain contains all workers. */
  workers?: number;
}
export const checkDomain: c.Check<Domain> = c.object({
  level: c.string,
  required: c.boolean,
  workers: c.optional(c.number),
});

/** Pods that a scheduler starts together or not at all. */
export interface Gang {
  /** The scheduler: `Volcano`. */
  by: string;
  /** The number of pods that must fit. */
  pods: number;
}
export const checkGang: c.Check<Gang> = c.object({
  by: c.string,
  pods: c.number,
});

/** A mounted volume. */
export interface Storage {
  /** The name of the volume in the spec. */
  name: string;
  /** The path at which it is mounted. */
  mountPath: string;
  /** The kind of volume and its parameters, as a phrase. */
  source: string;
  /** Whether the data remains after you delete the job. */
  outlivesJob: boolean;
}
export const checkStorage: c.Check<Storage> = c.object({
  name: c.string,
  mountPath: c.string,
  source: c.string,
  outlivesJob: c.boolean,
});

/** Equal objects that a controller creates from an object of the job. */
export interface Created {
  /** The kind, such as `Pod`. */
  kind: string;
  /** The name of the first object, without the random suffix that some controllers add. */
  name: string;
  /** The number of objects. */
  count: number;
  /** The most important property of each, as a phrase. */
  fact: string;
}
export const checkCreated: c.Check<Created> = c.object({
  kind: c.string,
  name: c.string,
  count: c.number,
  fact: c.string,
});

/** A Kubernetes object. */
export interface ObjectName {
  /** The kind, such as `StatefulSet`. */
  kind: string;
  /** The value of `metadata.name`. */
  name: string;
  /** The most important property, as a phrase: `4 workers, 8 GPUs and 8 ranks each`. Empty if there is no such property. */
  fact: string;
  /** Why the job has the object, as one or two sentences. Code is in backquotes. */
  purpose: string;
  /** The objects that a controller creates from this one. */
  creates?: Created[];
}
export const checkObjectName: c.Check<ObjectName> = c.object({
  kind: c.string,
  name: c.string,
  fact: c.string,
  purpose: c.string,
  creates: c.optional(c.array(checkCreated)),
});

/** The Pod Security Standard of the pods, and why they do not meet a stricter one. */
export interface PodSecurity {
  /** `restricted`, `baseline` or `privileged`. */
  level: string;
  /** The fields that prevent a stricter level. Empty for `restricted`, unless patches change the pods. */
  reasons: string[];
}
export const checkPodSecurity: c.Check<PodSecurity> = c.object({
  level: c.string,
  reasons: c.array(c.string),
});

/** Commands for a running job, to paste into a shell. */
export interface Commands {
  /** Follows the output of the ranks. */
  follow: string;
  /** Deletes the objects of all runs of the job, except PersistentVolumeClaims and PersistentVolumes. */
  delete: string;
}
export const checkCommands: c.Check<Commands> = c.object({
  follow: c.string,
  delete: c.string,
});

/** The default of a field that the spec does not set. */
export interface DefaultTaken {
  /** The path of the field below `spec`. */
  path: string;
  /** The default value. */
  value: string;
}
export const checkDefaultTaken: c.Check<DefaultTaken> = c.object({
  path: c.string,
  value: c.string,
});

/** The description of one job. */
export interface Report {
  /** The job's name. */
  job: string;
  /** Its namespace, if the spec or the command line sets one. */
  namespace?: string;
  /** The name of the run. If a change gives it another name, the change starts a new run. */
  run: string;
  /** The image the ranks run in. */
  image: string;
  /** The objects that the job becomes, as a phrase. */
  shape: string;
  /** The program that starts the ranks, as a phrase. */
  launcher: string;
  /** The command that starts the ranks, as a list of arguments. Empty if people start it in an interactive session. */
  launch: string[];
  /** The groups of workers. */
  workers: Workers[];
  /** The number of ranks (the world size). */
  ranks: number;
  /** The number of pods, including the spares and that of the launcher. */
  pods: number;
  /** The sum of the resource requests of all pods: `cpu`, `memory`, GPUs by their resource name, and others. */
  requests: Amount[];
  /** The GPUs that the job uses. */
  cost: Cost;
  /** The pod that starts the ranks. */
  head: Head;
  /** The network connections of the job. */
  links: Link[];
  /** Whether a NetworkPolicy blocks connections from other pods. */
  guarded: boolean;
  /** The placement of the pods on nodes, as a phrase. */
  nodes: string;
  /** Whether the scheduler prefers a separate node for each worker. */
  apart: boolean;
  /** The domains of the network in which workers run together, the outermost first. */
  domains?: Domain[];
  /** Whether the workers join a ComputeDomain, which connects their GPUs over NVLink. */
  nvlink?: boolean;
  /** Which pods a scheduler starts together or not at all. */
  gang?: Gang;
  /** The minimum and maximum number of workers of an elastic job. */
  elastic?: [number, number];
  /** The mounted volumes. */
  storage: Storage[];
  /** The objects that the job becomes, in install order. */
  objects: ObjectName[];
  /** The strictest Pod Security Standard that the pods meet. */
  podSecurity: PodSecurity;
  /** When the GPUs are released, as a sentence. */
  release: string;
  /** Other facts that matter for a review, one sentence each. */
  notes: string[];
  /** Commands for the running job. */
  commands: Commands;
  /** The defaults of fields that the spec does not set. */
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
  domains: c.optional(c.array(checkDomain)),
  nvlink: c.optional(c.boolean),
  gang: c.optional(checkGang),
  elastic: c.optional(c.pair(c.number)),
  storage: c.array(checkStorage),
  objects: c.array(checkObjectName),
  podSecurity: checkPodSecurity,
  release: c.string,
  notes: c.array(c.string),
  commands: checkCommands,
  defaults: c.array(checkDefaultTaken),
});

/** The squares of a grid of workers, row by row from the left upper corner of the part. */
export interface Grid {
  /** The number of squares in a row. */
  columns: number;
  /** The distance between two squares. */
  pitch: number;
  /** The number of workers per square. */
  workersEach: number;
  /** The number of workers in all squares. */
  workers: number;
}
export const checkGrid: c.Check<Grid> = c.object({
  columns: c.number,
  pitch: c.number,
  workersEach: c.number,
  workers: c.number,
});

/** A part of a picture. */
export interface PictureItem {
  /** The index in `jobs` of the job it belongs to. */
  job: number;
  /** Identifies the part in all pictures of a job. */
  key: string;
  /** The distance from the left edge of the picture. */
  x: number;
  /** The distance from the upper edge of the picture. */
  y: number;
  /** SVG elements, with texts escaped. */
  svg: string;
  /** The tooltip. */
  tip?: string;
  /** The path of the field of the spec that the part shows. */
  field?: string;
  /** Set for a part that shows many workers as a grid of squares. */
  grid?: Grid;
}
export const checkPictureItem: c.Check<PictureItem> = c.object({
  job: c.number,
  key: c.string,
  x: c.number,
  y: c.number,
  svg: c.string,
  tip: c.optional(c.string),
  field: c.optional(c.string),
  grid: c.optional(checkGrid),
});

/** The picture of the jobs, one below the other. Lengths are in CSS pixels. */
export interface Picture {
  /** The width. */
  width: number;
  /** The height. */
  height: number;
  /** A description for screen readers. */
  description: string;
  /** The parts. Later parts cover earlier ones. */
  items: PictureItem[];
}
export const checkPicture: c.Check<Picture> = c.object({
  width: c.number,
  height: c.number,
  description: c.string,
  items: c.array(checkPictureItem),
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
  /** The picture of the jobs; absent if the page shows none. */
  picture?: Picture;
  /** The rendered objects. */
  documents: RenderedDocument[];
  /** How many further jobs were checked but are not in `jobs`. */
  leftOut: number;
}
export const checkCompiled: c.Check<Compiled> = c.object({
  jobs: c.array(checkReport),
  places: c.array(c.record(c.pair(c.number))),
  picture: c.optional(checkPicture),
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

/** The effect of a change. */
export type Effect = "new" | "gone" | "restarts" | "inPlace" | "refused" | "nothing";
export const checkEffect: c.Check<Effect> = c.oneOf("new", "gone", "restarts", "inPlace", "refused", "nothing");

/** One field that differs. */
export interface Difference {
  /** The path of the field below `spec`, or the object and the path in it. */
  path: string;
  /** The old value. It is absent if the field was not set or its value is secret. */
  old: string | null;
  /** The new value. It is absent if the field is not set any more or its value is secret. */
  new: string | null;
}
export const checkDifference: c.Check<Difference> = c.object({
  path: c.string,
  old: c.nullable(c.string),
  new: c.nullable(c.string),
});

/** The effect of a change on one job. */
export interface Change {
  /** The job's name. */
  job: string;
  /** Its namespace, if it is set. */
  namespace?: string;
  /** The effect as a whole. */
  effect: Effect;
  /** The differences that start a new run. Empty unless the effect is `restarts`. */
  because: Difference[];
  /** The differences that do not affect the run. */
  inPlace: Difference[];
  /** The changes that Kubernetes rejects, one sentence each. They may also accompany `restarts`. */
  refused: string[];
  /** Other facts that matter for a review, one sentence each. */
  notes: string[];
  /** The command that deletes the objects of a job that is removed. */
  delete?: string;
}
export const checkChange: c.Check<Change> = c.object({
  job: c.string,
  namespace: c.optional(c.string),
  effect: checkEffect,
  because: c.array(checkDifference),
  inPlace: c.array(checkDifference),
  refused: c.array(c.string),
  notes: c.array(c.string),
  delete: c.optional(c.string),
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

/** A value of a text that looks like a secret. */
export interface FoundSecret {
  /** The name of its variable in backquotes, or `an access token` or `a private key`. */
  what: string;
  /** The start of the value, in UTF-16 code units. */
  from: number;
  /** The end of the value, in UTF-16 code units. */
  to: number;
}
export const checkFoundSecret: c.Check<FoundSecret> = c.object({
  what: c.string,
  from: c.number,
  to: c.number,
});

export type Secrets = FoundSecret[];
export const checkSecrets: c.Check<Secrets> = c.array(checkFoundSecret);

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
  /** Whether it is in the spec as it was, in another way, or not at all: because it is not needed, or because it is lost. */
  verdict: "kept" | "changed" | "dropped" | "lost";
  /** Paths of the spec's fields that it became. */
  to: string[];
  /** How it changed, why it is not needed, or why it is lost and what to do. */
  note: string;
}
export const checkFieldOutcome: c.Check<FieldOutcome> = c.object({
  path: c.string,
  line: c.number,
  verdict: c.oneOf("kept", "changed", "dropped", "lost"),
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

/** An event in the course of a run. */
export type Scenario = "nothing" | "workerNode" | "launcherNode" | "crash" | "hang" | "eviction" | "deadline" | "change";
export const checkScenario: c.Check<Scenario> = c.oneOf("nothing", "workerNode", "launcherNode", "crash", "hang", "eviction", "deadline", "change");

/** A scenario and the label of its button. */
export interface ScenarioChoice {
  /** The scenario. */
  scenario: Scenario;
  /** The label. */
  label: string;
}
export const checkScenarioChoice: c.Check<ScenarioChoice> = c.object({
  scenario: checkScenario,
  label: c.string,
});

/** Pods that do the same. */
export interface TimelineLane {
  /** Their name: `worker 1`, `14 workers`. */
  name: string;
  /** How much they hold while they run, in the timeline's unit. */
  holds: number;
}
export const checkTimelineLane: c.Check<TimelineLane> = c.object({
  name: c.string,
  holds: c.number,
});

/** The purpose of a phase. */
export type PhaseKind = "start" | "wait" | "check" | "train" | "fault" | "recover" | "save" | "release" | "end";
export const checkPhaseKind: c.Check<PhaseKind> = c.oneOf("start", "wait", "check", "train", "fault", "recover", "save", "release", "end");

/** The origin of a time. */
export type TimeSource = "runtime" | "kubernetes" | "spec" | "example" | "program" | "person";
export const checkTimeSource: c.Check<TimeSource> = c.oneOf("runtime", "kubernetes", "spec", "example", "program", "person");

/** The state of a pod. */
export type PodState = "absent" | "pending" | "starting" | "ready" | "leading" | "training" | "stuck" | "saving" | "dead";
export const checkPodState: c.Check<PodState> = c.oneOf("absent", "pending", "starting", "ready", "leading", "training", "stuck", "saving", "dead");

/** The activity of a pod in a phase. */
export interface Activity {
  /** The state of the pod. */
  state: PodState;
  /** The activity, as the end of a sentence. */
  does: string;
}
export const checkActivity: c.Check<Activity> = c.object({
  state: checkPodState,
  does: c.string,
});

/** A phase of a run. */
export interface Phase {
  /** The purpose of the phase. */
  kind: PhaseKind;
  /** One to four words. */
  title: string;
  /** The events of the phase. Code is in backquotes. */
  text: string;
  /** The seconds from `kubectl apply` until it begins, if it begins by itself. */
  start?: number;
  /** Its length in seconds; absent if it does not end by itself. */
  seconds?: number;
  /** The origin of the length. */
  source: TimeSource;
  /** Why it takes so long. Code is in backquotes. */
  reason: string;
  /** The lines that the log of the launcher gets. */
  log: string[];
  /** The activity of each lane, in their order. */
  pods: Activity[];
  /** The amount that pods hold, without pods on a dead node, in the timeline's unit. */
  held: number;
  /** The amount that the scheduler counts for pods on a dead node. */
  dead: number;
}
export const checkPhase: c.Check<Phase> = c.object({
  kind: checkPhaseKind,
  title: c.string,
  text: c.string,
  start: c.optional(c.number),
  seconds: c.optional(c.number),
  source: checkTimeSource,
  reason: c.string,
  log: c.array(c.string),
  pods: c.array(checkActivity),
  held: c.number,
  dead: c.number,
});

/** The course of a run. */
export interface Timeline {
  /** The event that it shows. */
  scenario: Scenario;
  /** The result, as a sentence. */
  headline: string;
  /** The costs of the result, and the fields that change it, one sentence each. Code is in backquotes. */
  notes: string[];
  /** The unit of what the run holds: `GPU`, or `pod` if it has no GPUs. */
  unit: string;
  /** The pods. Pods that do the same share a lane. */
  lanes: TimelineLane[];
  /** The phases, without gaps. The last one is the state in which the run stays. */
  phases: Phase[];
  /** The index of the phase that begins with the fault. */
  fault?: number;
  /** The index of the phase in which the ranks train again after the fault. */
  again?: number;
}
export const checkTimeline: c.Check<Timeline> = c.object({
  scenario: checkScenario,
  headline: c.string,
  notes: c.array(c.string),
  unit: c.string,
  lanes: c.array(checkTimelineLane),
  phases: c.array(checkPhase),
  fault: c.optional(c.number),
  again: c.optional(c.number),
});

/** The result of `timeline`: what happens to a run, and how it is drawn. */
export interface DrawnTimeline {
  /** The names of all jobs that have a timeline. */
  jobs: string[];
  /** The scenarios, in the order of their buttons. */
  choices: ScenarioChoice[];
  /** The phases and their texts. */
  timeline: Timeline;
  /** The width of the picture. */
  width: number;
  /** The height of the picture. */
  height: number;
  /** SVG elements, with texts escaped. */
  svg: string;
  /** A description of the picture for screen readers. */
  description: string;
  /** For each phase, its distance from the left edge of the picture and its width. */
  spans: [number, number][];
  /** The length of each phase as text; empty if the phase does not end by itself. */
  lengths: string[];
}
export const checkDrawnTimeline: c.Check<DrawnTimeline> = c.object({
  jobs: c.array(c.string),
  choices: c.array(checkScenarioChoice),
  timeline: checkTimeline,
  width: c.number,
  height: c.number,
  svg: c.string,
  description: c.string,
  spans: c.array(c.pair(c.number)),
  lengths: c.array(c.string),
});

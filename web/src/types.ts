// What the core answers, as JSON. Offsets are JavaScript's; those in what was made are of bytes.

export interface Place {
  from: number;
  to: number;
}

export interface Problem {
  code: string;
  severity: "error" | "warning" | "note";
  message: string;
  hint: string | null;
  labels: (Place & { text: string })[];
  fix: (Place & { text: string }) | null;
}

export interface Amount {
  resource: string;
  quantity: string;
}

export interface Workers {
  group?: string;
  origin: string;
  workload: string;
  replicas: number;
  slots: number;
  gpus: number;
  firstRank?: number;
  hosts: [string, string];
  requests: Amount[];
  shm: string;
}

export type Peer = "head" | "workers" | "api" | "others";

export interface Report {
  job: string;
  namespace?: string;
  run: string;
  image: string;
  shape: string;
  launcher: string;
  launch: string[];
  workers: Workers[];
  ranks: number;
  pods: number;
  requests: Amount[];
  cost: { gpus: number; bounds: [number, number]; mostHours?: number };
  head: { host: string; ownPod: boolean; ranks: number };
  links: { from: Peer; to: Peer; over: string }[];
  guarded: boolean;
  nodes: string;
  apart: boolean;
  elastic?: [number, number];
  storage: { name: string; mountPath: string; source: string; outlivesJob: boolean }[];
  objects: { kind: string; name: string }[];
  podSecurity: { level: string; reasons: string[] };
  release: string;
  notes: string[];
  defaults: { path: string; value: string }[];
}

/** Where it stands in what was made. */
export interface Doc extends Place {
  kind: string;
  name: string;
  namespace: string | null;
  job: number | null;
  fields: string[];
}

/** What is wrong, and where nothing is, what comes out. */
export interface Preview {
  problems: Problem[];
  more: number;
  jobs?: Report[];
  places?: Record<string, [number, number]>[];
  documents?: Doc[];
  leftOut?: number;
  /** What was made, in UTF-8. */
  made: Uint8Array;
}

/** A preview without errors. */
export type Sound = Required<Preview>;

export function isSound(preview: Preview): preview is Sound {
  return preview.jobs !== undefined;
}

export interface Change {
  job: string;
  effect: "new" | "gone" | "restarts" | "inPlace" | "nothing";
  because: Difference[];
  inPlace: Difference[];
  refused: string[];
  notes: string[];
}

export interface Difference {
  path: string;
  old: string | null;
  new: string | null;
}

export interface Files {
  files: (Place & { path: string })[];
  made: Uint8Array;
}

export type Codes = Record<string, { title: string; details: string }>;

/** Another system's file as a job, or what is wrong with it. */
export interface ComeOver {
  job?: string;
  secrets?: string;
  fields?: Fate[];
  problems?: { line: number | null; message: string; hint: string | null }[];
}

/** What became of a field of the old file. */
export interface Fate {
  path: string;
  line: number;
  verdict: "kept" | "changed" | "lost";
  to: string[];
  note: string;
}

export type System = { name: string; about: string };

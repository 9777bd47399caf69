import { describe, expect, it } from "vitest";
import { layout } from "./picture";
import type { Report, Workers } from "./wire/types";

const workers: Workers = {
  origin: "spec.workers",
  workload: "mnist-a1b2c3-worker",
  replicas: 4,
  spares: 0,
  slots: 8,
  firstRank: 0,
  gpus: 8,
  hosts: ["mnist-a1b2c3-worker-0.mnist", "mnist-a1b2c3-worker-3.mnist"],
  requests: [],
  shm: "1Gi",
};

const report: Report = {
  job: "mnist",
  run: "a1b2c3",
  image: "a:1",
  shape: "a StatefulSet of workers and a launcher Job",
  launcher: "mpirun (Open MPI)",
  launch: ["mpirun", "python", "train.py"],
  workers: [workers],
  ranks: 32,
  pods: 5,
  requests: [],
  cost: { gpus: 32, bounds: [32, 32] },
  head: { host: "mnist-a1b2c3-launcher.mnist", ownPod: true, ranks: 0 },
  links: [{ from: "head", to: "workers", over: "ssh, port 2222" }],
  guarded: true,
  nodes: "one worker per node",
  apart: true,
  storage: [],
  objects: [],
  podSecurity: { level: "restricted", reasons: [] },
  release: "",
  notes: [],
  defaults: [],
};

const withReplicas = (replicas: number): Report => ({ ...report, workers: [{ ...workers, replicas }] });
const keys = (of: Report, width = 640) => layout(of, width).items.map((item) => item.key);
const shownWorkers = (replicas: number) => keys(withReplicas(replicas)).filter((key) => key.startsWith("worker "));

describe("the picture", () => {
  it("shows each worker of a small group, and a grid for a large one", () => {
    expect(shownWorkers(4)).toEqual(["worker 0 0", "worker 0 1", "worker 0 2", "worker 0 3"]);
    expect(shownWorkers(48)).toHaveLength(48);
    expect(shownWorkers(49)).toEqual([]);
    expect(keys(withReplicas(5_000_000))).toContain("grid 0");
  });

  it("has a launcher only if the launcher has a pod of its own", () => {
    expect(keys(report)).toContain("head");
    expect(keys({ ...report, head: { ...report.head, ownPod: false } })).not.toContain("head");
  });

  it.each([280, 390, 640, 1_200])("fits a width of %i", (width) => {
    const { items, height } = layout(withReplicas(12), width);
    expect(items.every(({ x, y }) => x >= 0 && x < width && y >= 0 && y < height)).toBe(true);
  });

  it("gives each item a key of its own, and a look that changes with what it shows", () => {
    const volume = { name: "data", mountPath: "/data", source: "PersistentVolumeClaim data", outlivesJob: true };
    const { items } = layout({ ...report, workers: [workers, workers], storage: [volume, volume] }, 640);
    expect(new Set(items.map((item) => item.key)).size).toBe(items.length);
    const look = (of: Report) => layout(of, 640).items.find((item) => item.key === "head")?.look;
    expect(look(report)).not.toBe(look({ ...report, launcher: "torchrun" }));
    expect(look(report)).toBe(look(withReplicas(9)));
  });
});

// The icons of kinds of objects, as outlines in a square with sides of 16.
import { s } from "./dom";

const WORKLOAD = "M2 5h9v9H2zM5 5V2h9v9h-3";
const FILE = "M3 1.5h7l3 3v10H3zM5.5 7h5M5.5 10h5";
const PERSON = "M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14.5c0-3 2.5-4.5 5.5-4.5s5.5 1.5 5.5 4.5";
const CYLINDER = "M2.5 4v8.5c0 2.7 11 2.7 11 0V4c0-2.7-11-2.7-11 0zc0 2.7 11 2.7 11 0";
const DEVICE = "M4 4h8v8H4zM6 1.5V4M10 1.5V4M6 12v2.5M10 12v2.5M1.5 6H4M1.5 10H4M12 6h2.5M12 10h2.5";

const OUTLINES: Record<string, string> = {
  TrainingJob: "M8 2.5a5.5 5.5 0 1 0 .01 0M8 .5v4M2 9.5l3.4 2M14 9.5l-3.4 2",
  StatefulSet: WORKLOAD,
  Job: WORKLOAD,
  MPIJob: WORKLOAD,
  JobSet: WORKLOAD,
  TrainJob: WORKLOAD,
  Pod: "M8 1.5l5.6 3.2v6.6L8 14.5l-5.6-3.2V4.7zM2.4 4.7L8 8l5.6-3.3M8 8v6.5",
  Secret: "M8.5 10.5a3 3 0 1 1-6 0 3 3 0 0 1 6 0zM7.6 8.4L14 2M11 5l2.5 2.5",
  Service: "M6.5 1.5h3v3h-3zM1.5 11h3v3h-3zM11.5 11h3v3h-3zM8 4.5V8M3 11V8h10v3",
  NetworkPolicy: "M8 1.5l5.5 2v4c0 3.5-2.5 6-5.5 7-3-1-5.5-3.5-5.5-7v-4z",
  ServiceAccount: PERSON,
  Role: PERSON,
  RoleBinding: PERSON,
  ClusterRole: PERSON,
  ClusterRoleBinding: PERSON,
  PersistentVolume: CYLINDER,
  PersistentVolumeClaim: CYLINDER,
  ResourceClaimTemplate: DEVICE,
  ComputeDomain: DEVICE,
  PodGroup: "M1.5 1.5h13v13h-13zM4 4h3v3H4zM9 4h3v3H9zM4 9h3v3H4zM9 9h3v3H9z",
  PodMonitor: "M1.5 9H5l2-6 3 10 2-4h2.5",
};

/** The icon of a kind. Objects without an icon of their own look like a file. */
export const icon = (kind: string) =>
  s("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: OUTLINES[kind] ?? FILE }));

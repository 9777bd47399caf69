// The table that compares the sizes of the jobs of two specs.
import { number } from "./dom";
import { gpus } from "./total";
import type { Compiled, Report } from "./wire/types";

/** A row of the table of sizes: its label, the value of each side, and their difference. */
export type SizeRow = [string, string, string, string];

const money = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const sum = (reports: Report[], of: (report: Report) => number) => reports.reduce((all, one) => all + of(one), 0);

function differenceOf(one: number | undefined, other: number | undefined, format: (value: number) => string): string {
  if (one === other) return "same";
  if (one === undefined || other === undefined) return "";
  return (other < one ? "−" : "+") + format(Math.abs(other - one));
}

/** Compares the sizes of the jobs of two specs; with a price per GPU hour, their cost too. */
export function sizesOf(left: Compiled, right: Compiled, price: number | undefined): SizeRow[] {
  const rows: SizeRow[] = [];
  type Of = (side: Compiled) => number | undefined;
  const row = (label: string, of: Of, format: (value: number) => string = number) => {
    const [one, other] = [of(left), of(right)];
    const text = (value: number | undefined) => (value === undefined ? "no limit" : format(value));
    rows.push([label, text(one), text(other), differenceOf(one, other, format)]);
  };
  const most: Of = ({ jobs }) => sum(jobs, ({ cost }) => cost.bounds[1]);
  const hours: Of = ({ jobs }) =>
    jobs.some(({ cost }) => cost.bounds[1] && cost.mostHours === undefined)
      ? undefined
      : sum(jobs, ({ cost }) => cost.mostHours ?? 0);
  rows.push(["GPUs", gpus(left.jobs), gpus(right.jobs), differenceOf(most(left), most(right), number)]);
  row("GPU hours until the deadline", hours);
  if (price !== undefined) {
    const times = (of: Of) => (side: Compiled) => {
      const value = of(side);
      return value === undefined ? undefined : value * price;
    };
    row("price per hour", times(most), (value) => money.format(value));
    row("price until the deadline", times(hours), (value) => money.format(value));
  }
  row("workers", ({ jobs }) => sum(jobs, ({ workers }) => workers.reduce((all, one) => all + one.replicas, 0)));
  row("ranks", ({ jobs }) => sum(jobs, ({ ranks }) => ranks));
  row("pods", ({ jobs }) => sum(jobs, ({ pods }) => pods));
  row("objects", ({ documents }) => documents.length);
  const kinds = new Set([...left.documents, ...right.documents].map(({ kind }) => kind));
  const ofKind = (side: Compiled, wanted: string) => side.documents.filter(({ kind }) => kind === wanted).length;
  for (const kind of kinds)
    if (ofKind(left, kind) !== ofKind(right, kind)) row(`of these ${kind}`, (side) => ofKind(side, kind));
  return rows;
}

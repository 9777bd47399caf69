// The size of jobs in one line.
import type { Compiled } from "./compiler";
import { count, number } from "./dom";
import type { Report } from "./wire/types";

/** The GPUs of jobs: `32 GPUs`, or `8 to 32 GPUs` if one is elastic. */
export function gpus(reports: Pick<Report, "cost">[]): string {
  const sum = (end: 0 | 1) => reports.reduce((all, report) => all + report.cost.bounds[end], 0);
  const [least, most] = [sum(0), sum(1)];
  return least === most ? count(most, "GPU") : `${number(least)} to ${count(most, "GPU")}`;
}

/** The total of the jobs: `32 GPUs · 32 ranks · 5 pods`, with the number of jobs if there are several. */
export function total({ jobs, leftOut }: Compiled): string {
  if (!jobs.length) return "";
  const sum = (of: (report: Report) => number) => jobs.reduce((all, report) => all + of(report), 0);
  const all = [
    gpus(jobs),
    count(
      sum(({ ranks }) => ranks),
      "rank",
    ),
    count(
      sum(({ pods }) => pods),
      "pod",
    ),
  ].join(" · ");
  if (leftOut) return `${count(jobs.length + leftOut, "job")}; the first ${jobs.length}: ${all}`;
  return jobs.length > 1 ? `${count(jobs.length, "job")}: ${all}` : all;
}

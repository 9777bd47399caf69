//! `khorovod list`: the jobs of one namespace or of all, with their states.

use std::collections::BTreeMap;

use serde_json::json;

use super::connection::{now, read};
use super::diagnosis::{State, Subject, diagnose};
use super::kubectl::{Connection, Kubectl};
use super::objects::{JOB, Metadata, Objects};
use super::page;
use crate::cli::destination::{Destination, TextOrJson};
use crate::cli::show::Screen;
use crate::cli::{Outcome, output};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod list\n  \
    khorovod list -A                    # of all namespaces\n  \
    khorovod list -A --active           # only jobs that have not ended\n  \
    khorovod list -o json | jq -r '.jobs[].job'")]
pub struct Args {
    /// List the jobs of all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
    /// List only jobs that have not ended, or still hold resources
    #[arg(long)]
    active: bool,
    /// The namespace. Default: that of the context
    #[arg(short, long, value_name = "NAME", help_heading = "Cluster options")]
    namespace: Option<String>,
    #[command(flatten)]
    connection: Connection,
    /// Print the calls of kubectl, and run none of them
    #[arg(long)]
    dry_run: bool,
    /// Print text (the default) or json, or write to a file that ends in .txt or .json
    #[arg(short, long, value_name = "FORMAT|FILE", value_parser = Destination::<TextOrJson>::parser())]
    output: Option<Destination<TextOrJson>>,
}

pub fn run(args: Args, screen: &Screen) -> Outcome {
    let Destination { format, path } = args.output.unwrap_or_else(Destination::stdout);
    let kubectl = Kubectl::new(&args.connection).in_namespace(args.namespace.as_deref());
    // Leave out the ConfigMaps of runs, which are large. Only the ConfigMap `J-current` of each job is needed.
    let current = format!("--selector={JOB},!khorovod.dev/run");
    let selector = format!("--selector={JOB}");
    let all = if args.all_namespaces { &["--all-namespaces"][..] } else { &[] };
    let calls = [
        [&["get", "configmaps", &current, "--output=json"], all].concat(),
        [&["get", "jobs.batch,statefulsets.apps,pods", &selector, "--output=json"], all].concat(),
    ];
    if args.dry_run {
        return output::stdout(&kubectl.lines(&calls));
    }
    let mut objects = Objects::default();
    for call in &calls {
        read(&kubectl, call, &mut objects, screen)?;
    }
    for kind in &objects.unreadable {
        screen.notice(&format!("you may not read {kind} here, so the list may be incomplete"));
    }
    let mut states = states(objects);
    if args.active {
        states.retain(|state| !state.phase.has_ended() || !state.is_released);
    }
    match format {
        TextOrJson::Json => output::text(&format!("{:#}\n", json!({ "jobs": states })), path.as_deref()),
        TextOrJson::Text if states.is_empty() => {
            let place = match (&args.namespace, args.all_namespaces) {
                (_, true) => "in any namespace".to_owned(),
                (Some(name), _) => format!("in namespace {name}"),
                (None, _) => "in the namespace of the context; -A lists those of all namespaces".to_owned(),
            };
            screen.notice(&format!("there is no {}job {place}", if args.active { "active " } else { "" }));
            Ok(())
        }
        TextOrJson::Text => output::text(&page::table(&states, args.all_namespaces, now()), path.as_deref()),
    }
}

/// The states of all jobs, those that have not ended first.
fn states(objects: Objects) -> Vec<State> {
    let mut jobs: BTreeMap<(String, String), Objects> = BTreeMap::new();
    let key = |meta: &Metadata| {
        let name = meta.label(JOB).to_owned();
        (!name.is_empty()).then(|| (meta.namespace.clone().unwrap_or_default(), name))
    };
    let Objects { config_maps, jobs: all_jobs, stateful_sets, pods, .. } = objects;
    for map in config_maps {
        if let Some(key) = key(&map.metadata) {
            jobs.entry(key).or_default().config_maps.push(map);
        }
    }
    for job in all_jobs {
        if let Some(key) = key(&job.metadata) {
            jobs.entry(key).or_default().jobs.push(job);
        }
    }
    for set in stateful_sets {
        if let Some(key) = key(&set.metadata) {
            jobs.entry(key).or_default().stateful_sets.push(set);
        }
    }
    for pod in pods {
        if let Some(key) = key(&pod.metadata) {
            jobs.entry(key).or_default().pods.push(pod);
        }
    }
    let describe = |((namespace, job), objects): (&(String, String), &Objects)| {
        let namespace = Some(namespace.as_str()).filter(|name| !name.is_empty());
        diagnose(objects, Subject { job, namespace, run: None }, now())
    };
    let mut states: Vec<State> = jobs.iter().map(describe).collect();
    states.sort_by_key(|state| state.phase.has_ended());
    states
}

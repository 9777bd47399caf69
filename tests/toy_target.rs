//! A target needs one file: this one adds a target of its own to the compiler, without a change anywhere else.

use khorovod::{Inputs, Keys, Target, Text, problem::Problem};
use khorovod_compiler::job::target::{Facts, SshKeys};
use khorovod_compiler::job::{Case, key};
use khorovod_compiler::kubernetes::{self, Object, pod};
use khorovod_compiler::plan::Plan;
use khorovod_compiler::pods::File;
use khorovod_compiler::report::Description;
use khorovod_compiler::targets::refusal;
use serde_json::json;

/// An operator that runs one kind of pod and creates the ssh keys itself.
#[derive(Debug)]
struct Toy;

static FACTS: Facts = Facts {
    name: "toy",
    ssh_keys: SshKeys::Operator,
    index_role: "toy",
    group_suffix: "-7",
    immutable_fields: &["lifecycle.retries"],
    workload_kinds: &[("Toy", &["toys"])],
    longest_suffix: |parts| parts.worker + parts.digits,
    ..Facts::COMMON
};

impl Target for Toy {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn refuse(&self, case: &Case<'_>, problems: &mut Vec<Problem>) {
        let queue = case.body.scheduling.as_ref().and_then(|at| key(at.local_queue.as_ref()));
        refusal::report(vec![(queue, "a Toy waits in no queue".to_owned(), "remove `localQueue`")], problems);
    }

    fn describe(&self, _: &Plan) -> Description {
        Description { shape: "a Toy", controller: "the toy operator", ..Description::default() }
    }

    fn workloads<'a>(&self, plan: &'a Plan, files: &[File]) -> Vec<Object<'a>> {
        let template = pod::template(plan, pod::PodKind::Worker(&plan.spec.groups[0]), files);
        let body = json!({"toys": plan.workers, "template": kubernetes::json(&template)});
        vec![Object::custom(plan, "example.com/v1", "Toy", body)]
    }
}

const TOY: &dyn Target = &Toy;

fn job(more: &str) -> Text {
    let text = format!(
        "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {{name: mnist, namespace: ml}}\n\
         spec:\n  image: acme/mnist:1\n  command: [python, train.py]\n  workers: {{replicas: 3}}\n{more}"
    );
    Text { name: "job.yaml".to_owned(), text }
}

fn inputs() -> Inputs {
    Inputs { target: TOY, keys: Keys::Missing, ..Inputs::default() }
}

#[test]
fn a_custom_target_renders_its_workload_with_the_shared_objects() {
    let rendered = khorovod::render(&job(""), &inputs()).unwrap_or_else(|problems| panic!("{:?}", problems.list));
    let kinds: Vec<_> = rendered.documents.iter().map(|document| document.kind).collect();
    assert!(kinds.contains(&"Toy") && kinds.contains(&"ConfigMap") && kinds.contains(&"Service"), "{kinds:?}");
    // The operator creates the keys, and no other target's workloads appear.
    assert!(!kinds.iter().any(|kind| ["Secret", "StatefulSet", "Job"].contains(kind)), "{kinds:?}");
    assert!(rendered.text.contains("toys: 3"));
}

#[test]
fn its_facts_reach_host_names_and_reports() {
    let reports = khorovod::reports(&job(""), &inputs()).unwrap_or_else(|problems| panic!("{:?}", problems.list));
    let report = &reports.jobs[0];
    assert_eq!(report.shape, "a Toy");
    assert!(report.workers[0].hosts.0.contains("-worker-7-0.mnist"), "{:?}", report.workers[0].hosts);
    assert!(report.release.starts_with("the toy operator stops the workers"), "{}", report.release);
}

#[test]
fn refused_fields_are_reported_at_their_place() {
    let found = khorovod::check(&job("  scheduling: {localQueue: team}\n"), &inputs());
    let refused: Vec<_> = found.list.iter().filter(|problem| problem.code.name == "target-cannot").collect();
    assert_eq!(refused.len(), 1, "{:?}", found.list);
    assert_eq!(found.sources.position(refused[0].labels[0].span).line, 8);
}

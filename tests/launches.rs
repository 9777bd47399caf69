//! The effect of options and sizes on the plan: the command that starts the ranks, and the limits of a ConfigMap. The
//! examples show each launcher with its defaults.
//! `make mutants` found these cases.

use khorovod::report::Report;
use khorovod::{Inputs, Keys, Rendered, Text};

/// A job with another `spec`.
fn job(spec: &str) -> Text {
    let workers = if spec.contains("workers:") { "" } else { "  workers: {replicas: 2, slotsPerWorker: 2}\n" };
    let own: Vec<_> = spec.lines().map(|line| format!("  {line}\n")).collect();
    let text = format!(
        "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {{name: mnist}}\nspec:\n  image: a:1\n  command: [train]\n{workers}{}",
        own.concat()
    );
    Text { name: "job.yaml".to_owned(), text }
}

fn rendered(target: &str, spec: &str) -> Rendered {
    let inputs = Inputs { keys: Keys::Masked, target: target.parse().unwrap(), ..Inputs::default() };
    khorovod::render(&job(spec), &inputs).unwrap_or_else(|problems| panic!("{spec}: {:?}", problems.list))
}

fn reported(spec: &str) -> Report {
    let inputs = Inputs { keys: Keys::Masked, ..Inputs::default() };
    let reports =
        khorovod::reports(&job(spec), &inputs).unwrap_or_else(|problems| panic!("{spec}: {:?}", problems.list));
    reports.jobs.into_iter().next().expect("one job")
}

/// The words of a job's launch command in its script.
fn launch(spec: &str) -> String {
    let text = rendered("plain", spec).text;
    let line = text.lines().find_map(|line| line.trim().strip_prefix("launch=( ")?.strip_suffix(" )"));
    line.unwrap_or_else(|| panic!("{spec}: no launch"))
        .replace("/horovod/generated/", "")
        .replace(" /bin/bash /etc/khorovod/scripts/rank.sh", "")
}

#[test]
fn options_of_the_user_replace_generated_ones() {
    for (spec, words) in [
        (
            "launcher: {kind: mpirun, args: [--bind-to, core]}",
            "mpirun -np 4 --hostfile hostfile --tag-output --bind-to core train",
        ),
        (
            "launcher: {kind: mpirun, args: [-tag-output]}",
            "mpirun -np 4 --hostfile hostfile --bind-to none -tag-output train",
        ),
        ("launcher: {kind: mpirun, mpi: mpich, args: [-prepend-rank]}", "mpirun -np 4 -f hostfile -prepend-rank train"),
        (
            "launcher: {kind: horovodrun, args: [--verbose]}",
            "horovodrun -np 4 --hostfile hostfile -p 2222 --start-timeout 300 --verbose train",
        ),
        (
            "launcher: {kind: horovodrun, args: [--start-timeout, '60']}",
            "horovodrun -np 4 --hostfile hostfile -p 2222 --start-timeout 60 train",
        ),
        (
            "launcher: horovodrun\ncollective: {interface: eth1}",
            "horovodrun -np 4 --hostfile hostfile -p 2222 --start-timeout 300 --network-interfaces eth1 train",
        ),
        (
            "launcher: horovodrun\ncollective: {interface: ^lo}",
            "horovodrun -np 4 --hostfile hostfile -p 2222 --start-timeout 300 train",
        ),
    ] {
        assert_eq!(launch(spec), words, "{spec}");
    }
}

/// DeepSpeed passes them to its mpirun.
#[test]
fn options_for_deepspeeds_mpirun_are_joined() {
    for (spec, given, others) in [
        ("launcher: deepspeed", "--bind-to none --tag-output", ""),
        ("launcher: {kind: deepspeed, args: [--launcher_args, -x A]}", "--bind-to none --tag-output -x A", ""),
        (
            "launcher: {kind: deepspeed, args: [--launcher_args=-x A, --verbose]}",
            "--bind-to none --tag-output -x A",
            " --verbose",
        ),
        (
            "launcher: {kind: deepspeed, args: [--launcher_args_of_another]}",
            "--bind-to none --tag-output",
            " --launcher_args_of_another",
        ),
        (
            "launcher: deepspeed\ncollective: {interface: eth1}",
            "--bind-to none --tag-output --mca btl_tcp_if_include eth1",
            "",
        ),
        (
            "launcher: {kind: deepspeed, args: [--launcher_args=-x A]}\ncollective: {interface: eth1}",
            "--bind-to none --tag-output --mca btl_tcp_if_include eth1 -x A",
            "",
        ),
        ("launcher: deepspeed\ncollective: {interface: ^lo}", "--bind-to none --tag-output", ""),
        ("launcher: {kind: deepspeed, mpi: mpich}\ncollective: {interface: eth1}", "-prepend-rank", ""),
        (
            "launcher: {kind: deepspeed, args: [--launcher_args=--mca btl_tcp_if_include eth2]}\ncollective: {interface: eth1}",
            "--bind-to none --tag-output --mca btl_tcp_if_include eth2",
            "",
        ),
    ] {
        let launcher = if spec.contains("mpich") { "impi" } else { "openmpi" };
        let given = format!("--launcher_args={given}");
        let given = if given.contains(' ') { format!("'{given}'") } else { given };
        let words = format!(
            "deepspeed --hostfile hostfile --launcher {launcher} --force_multi {given}{others} --no_python train"
        );
        assert_eq!(launch(spec), words, "{spec}");
    }
}

#[test]
fn a_slurm_job_names_no_file_of_a_pod() {
    for kind in ["mpirun", "horovodrun"] {
        let text = rendered("slurm", &format!("launcher: {{kind: {kind}}}")).text;
        let run: Vec<_> = text.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
        assert!(!run.iter().any(|line| line.contains("/horovod/generated/hostfile")), "{kind}: {text}");
    }
}

/// If ranks are numbered host by host, the report has the first rank of each group and the field of the group.
#[test]
fn a_report_has_first_ranks_and_fields() {
    let groups = "workers: {groups: [{name: a, replicas: 2, slotsPerWorker: 2}, {name: b, replicas: 1}]}";
    for (spec, expected) in [
        (String::new(), vec![("spec.workers", Some(0))]),
        ("launcher: {kind: mpirun, runsRanks: true}".to_owned(), vec![("spec.workers", Some(2))]),
        (groups.to_owned(), vec![("spec.workers.groups[0]", Some(0)), ("spec.workers.groups[1]", Some(4))]),
        ("launcher: {kind: mpirun, args: [-x, maps]}".to_owned(), vec![("spec.workers", Some(0))]),
        ("launcher: {kind: mpirun, args: [--map-by, slot]}".to_owned(), vec![("spec.workers", None)]),
        ("placement: {topology: {rankOrder: [rack]}}".to_owned(), vec![("spec.workers", None)]),
        ("placement: {topology: {rankOrder: measured}}".to_owned(), vec![("spec.workers", None)]),
        ("launcher: shell".to_owned(), vec![("spec.workers", None)]),
        ("launcher: torchrun".to_owned(), vec![("spec.workers", None)]),
        ("launcher: jax".to_owned(), vec![("spec.workers", Some(0))]),
        (
            "workers: {replicas: 2, slotsPerWorker: 2, elastic: {minReplicas: 1, maxReplicas: 2}}\nlauncher: horovodrun".to_owned(),
            vec![("spec.workers", None)],
        ),
    ] {
        let workers = reported(&spec).workers;
        let found: Vec<_> = workers.iter().map(|team| (team.origin.as_str(), team.first_rank)).collect();
        assert_eq!(found, expected, "{spec}");
    }
}

#[test]
fn a_host_path_is_reported_as_privileged() {
    let security = reported(
        "security: {podSecurityLevel: privileged}\nstorage: [{name: data, mountPath: /data, hostPath: {path: /srv}}]",
    )
    .pod_security;
    assert_eq!(security.level, "privileged");
    assert_eq!(security.reasons, ["storage data is the host path /srv"]);
}

/// `kubectl apply` stores a copy of each object in an annotation of at most 256 KiB.
#[test]
fn no_object_is_too_large_for_kubectl_apply() {
    let file = |name: &str, kib: usize| format!("{name}: {}", "x".repeat(kib << 10));
    let few = format!("code: {{files: {{{}}}}}", file("a.py", 150));
    let more = format!("code: {{files: {{{}, {}, {}}}}}", file("a.py", 150), file("b.py", 100), file("c.py", 90));
    let maps = |spec: &str| rendered("plain", spec).documents.iter().filter(|one| one.kind == "ConfigMap").count();
    assert_eq!(maps(&more), maps(&few) + 1, "the second and the third share one");
    let workers = [1_000, 2_000, 4_000, 8_000, 16_000].map(|count| format!("workers: {{replicas: {count}}}"));
    for spec in workers.iter().chain([&few, &more]) {
        for one in rendered("plain", spec).documents {
            assert!(one.range.len() < 256 << 10, "{} {} has {} bytes", one.kind, one.name, one.range.len());
        }
    }
    assert!(
        rendered("plain", &workers[0]).text.contains("-worker-999.mnist slots=1\n"),
        "a hostfile that fits is there"
    );
}

/// Defaults depend on the maximum number of pods with ranks.
#[test]
fn the_access_mode_of_a_claim_depends_on_the_number_of_pods() {
    let claim = "storage: [{name: data, mountPath: /data, claim: {size: 1Gi}}]";
    for (more, mode) in [
        ("workers: {replicas: 1}", "ReadWriteOnce"),
        ("workers: {replicas: 1}\nlauncher: {kind: mpirun, runsRanks: false}", "ReadWriteOnce"),
        ("workers: {replicas: 1}\nlauncher: {kind: mpirun, runsRanks: true}", "ReadWriteMany"),
        ("workers: {replicas: 1, elastic: {minReplicas: 1, maxReplicas: 1}}\nlauncher: horovodrun", "ReadWriteOnce"),
        ("workers: {replicas: 1, elastic: {minReplicas: 1, maxReplicas: 2}}\nlauncher: horovodrun", "ReadWriteMany"),
    ] {
        let text = rendered("plain", &format!("{claim}\n{more}")).text;
        assert!(text.contains(&format!("accessModes:\n  - {mode}\n")), "{more}: not {mode}");
    }
}

#[test]
fn only_launchers_that_use_ssh_need_keys() {
    let kinds = ["mpirun", "horovodrun", "deepspeed", "torchrun", "jax", "tensorflow"];
    for keys in [Keys::Missing, Keys::LeftOut] {
        let inputs = Inputs { keys, ..Inputs::default() };
        let asked: Vec<_> = kinds
            .iter()
            .filter(|kind| match khorovod::render(&job(&format!("launcher: {kind}")), &inputs) {
                Ok(rendered) => rendered.warnings.list.iter().any(|problem| problem.code.name == "left-out-keys"),
                Err(problems) => problems.list.iter().any(|problem| problem.code.name == "no-ssh-keys"),
            })
            .collect();
        assert_eq!(asked, [&"mpirun", &"horovodrun", &"deepspeed"], "{:?}", inputs.keys);
    }
}

//! The command as Helm's plugin: the namespace that Helm passes.

use std::process::Command;

use super::common::{JOB, SEED, khorovod, place};
use super::{piped, run};

fn under_helm<'a>(command: &'a mut Command, plugin: &str, namespace: &str) -> &'a mut Command {
    command.env("KHOROVOD_SSH_SEED", SEED).env("HELM_PLUGIN_NAME", plugin).env("HELM_NAMESPACE", namespace)
}

fn in_team(job: &str) -> String {
    job.replace("  name: mnist\n", "  name: mnist\n  namespace: team\n")
}

#[test]
fn helm_namespace_is_the_default_of_jobs() {
    let place = place();
    let render = |plugin: &str, namespace: &str, args: &[&str], job: &str| {
        piped(under_helm(khorovod(place.path()).args(["render", "-"]).args(args), plugin, namespace), job)
    };
    let plain = |args: &[&str], job: &str| {
        piped(khorovod(place.path()).args(["render", "-"]).args(args).env("KHOROVOD_SSH_SEED", SEED), job)
    };
    let (in_ml, in_none) = (plain(&["-n", "ml"], JOB), plain(&[], JOB));
    assert!(in_ml.1.contains("  namespace: ml\n") && in_ml.0 == 0, "{}", in_ml.2);
    assert_eq!(render("khorovod", "ml", &[], JOB), in_ml);
    assert_eq!(render("khorovod", "ml", &["-n", "other"], JOB), plain(&["-n", "other"], JOB));
    // Helm passes `default` if nothing names a namespace.
    for namespace in ["", "default"] {
        assert_eq!(render("khorovod", namespace, &[], JOB), in_none);
    }
    // Helm passes no namespace to a post-renderer: the variable is the user's.
    assert_eq!(render("khorovod-post-render", "ml", &[], JOB), in_none);
    let (code, _, err) = render("khorovod", "Not_A_Name", &[], JOB);
    assert!(code == 1 && err.contains("the default namespace:1:1"), "{err}");
}

#[test]
fn a_namespace_of_the_spec_is_kept_and_noted() {
    let place = place();
    let job = in_team(JOB);
    let run = |args: &[&str], namespace: &str| {
        piped(under_helm(khorovod(place.path()).args(["render", "-"]).args(args), "khorovod", namespace), &job)
    };
    let (code, in_team, err) = run(&[], "ml");
    assert_eq!(code, 0);
    assert!(err.contains("note[other-namespace]: the job stays in the namespace `team`"), "{err}");
    assert!(in_team.contains("  namespace: team\n") && !in_team.contains("  namespace: ml\n"));
    // The user chose a namespace, or both are equal: there is nothing to note.
    assert_eq!(run(&["-n", "other"], "ml").2, "");
    assert_eq!(run(&["--set", "metadata.namespace=other"], "ml").2, "");
    assert_eq!(run(&["--strict"], "team"), (0, in_team, String::new()));
}

#[test]
fn other_commands_use_helm_namespace_too() {
    let place = place();
    let output = |args: &[&str]| run(under_helm(khorovod(place.path()).args(args), "khorovod", "ml")).1;
    assert!(output(&["keygen", "team-keys"]).contains("  namespace: ml\n"));
    assert!(output(&["keygen", "team-keys", "-n", "other"]).contains("  namespace: other\n"));
    let mpijob = "apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata:
  name: mnist
spec:
  mpiReplicaSpecs:
    Launcher: {replicas: 1, template: {spec: {containers: [{name: a, image: a:1, command: [mpirun, python, a.py]}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: a, image: a:1}]}}}
";
    let import = |job: &str| {
        let mut command = khorovod(place.path());
        piped(under_helm(command.args(["import", "mpijob", "-"]), "khorovod", "ml"), job)
    };
    let (code, imported, err) = import(mpijob);
    assert!(code == 0 && imported.contains("  namespace: ml\n"), "{imported}{err}");
    assert!(import(&in_team(mpijob)).1.contains("  namespace: team "));
    let rendered = piped(khorovod(place.path()).args(["render", "-"]).env("KHOROVOD_SSH_SEED", SEED), JOB).1;
    let mut command = khorovod(place.path());
    let restored = piped(under_helm(command.args(["import", "mpijob", "-"]), "khorovod", "ml"), &rendered).1;
    assert!(restored.contains("  namespace: ml\n"), "{restored}");
}

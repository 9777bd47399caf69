//! Every file of every shape is sound shell, and no word of a spec can break out of `job.sh`.

use std::{fs, path::Path, process::Command};

use super::{File, current, files};
use crate::job::fixtures::{group, spec};
use crate::job::valid::*;
use crate::plan::{Plan, Shape};

/// A plan for two workers of two ranks each, under Open MPI.
fn plan() -> Plan {
    let mut plan = Plan::new(spec(|spec| {
        spec.groups = vec![Group { slots: 2, ..group(None, 2, 0) }];
    }));
    plan.name_run("bcdfgh".to_owned());
    plan.launch =
        "mpirun -np 4 --hostfile /horovod/generated/hostfile python train.py".split(' ').map(str::to_owned).collect();
    plan.env.clear();
    plan
}

/// One plan for each set of files there is.
fn plans() -> Vec<Plan> {
    let changed = |change: fn(&mut Plan)| {
        let mut plan = plan();
        change(&mut plan);
        plan
    };
    vec![
        plan(),
        changed(|plan| {
            plan.shape = Shape::IndexedJob;
            plan.hostfile = None;
            plan.teams[0].workload = "mnist-bcdfgh".to_owned();
            plan.spec.launcher.mpi = Mpi::Mpich;
        }),
        changed(|plan| {
            plan.shape = Shape::Torchrun;
            plan.hostfile = None;
            plan.teams[0].workload = "mnist-bcdfgh".to_owned();
            plan.spec.launcher.kind = LauncherKind::Torchrun;
            plan.launch = ["torchrun", "train.py"].map(str::to_owned).to_vec();
        }),
        changed(|plan| {
            plan.spec.launcher.kind = LauncherKind::Horovodrun;
            plan.spec.lifecycle.keep = true;
            plan.spec.elastic =
                Some(Elastic { min_workers: 1, max_workers: 4, cooldown: None, timeout: 600, reset_limit: None });
        }),
        changed(|plan| {
            plan.spec.launcher.kind = LauncherKind::Shell;
            plan.spec.launcher.interactive = true;
            plan.launch.clear();
            plan.spec.security.run_as_user = None;
        }),
        changed(|plan| {
            plan.spec.storage = vec![Volume {
                name: "set".to_owned(),
                mount_path: "/set".to_owned(),
                read_only: false,
                sub_path: None,
                source: VolumeSource::S3(S3 {
                    endpoint: None,
                    bucket: "b".to_owned(),
                    prefix: "p/".to_owned(),
                    region: "eu-west-1".to_owned(),
                    secret: Some("s3-keys".to_owned()),
                    download: true,
                    upload: true,
                    size: None,
                }),
            }];
        }),
    ]
}

fn write(files: &[File], folder: &Path) {
    for file in files {
        fs::write(folder.join(file.name), file.text.as_bytes()).unwrap();
    }
}

fn is_shell(file: &File) -> bool {
    Path::new(file.name).extension().is_some_and(|extension| extension == "sh") || file.text.starts_with("#!/bin/bash")
}

/// Whether a program is there. CI must have it, elsewhere the reason is printed.
fn have(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    assert!(found || std::env::var_os("CI").is_none_or(|ci| ci != "true"), "CI needs {program}");
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

#[test]
fn bash_takes_every_script() {
    for plan in plans() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(&plan);
        write(&files, folder.path());
        for file in files.iter().filter(|file| is_shell(file)) {
            let out = Command::new("bash").arg("-n").arg(folder.path().join(file.name)).output().unwrap();
            assert!(out.status.success(), "{}: {}", file.name, String::from_utf8_lossy(&out.stderr));
        }
    }
}

#[test]
fn shellcheck_finds_nothing() {
    if !have("shellcheck") {
        return;
    }
    for plan in plans() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(&plan);
        write(&files, folder.path());
        let settings = concat!(env!("CARGO_MANIFEST_DIR"), "/pods/scripts/.shellcheckrc");
        fs::copy(settings, folder.path().join(".shellcheckrc")).unwrap();
        let scripts = files.iter().filter(|file| is_shell(file));
        let mut command = Command::new("shellcheck");
        let out = command.arg("--shell=bash").args(scripts.map(|file| folder.path().join(file.name))).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
    }
}

#[test]
fn every_file_a_script_names_is_there() {
    for plan in plans() {
        let files = files(&plan);
        for file in &files {
            for line in file.text.lines() {
                // `. "$scripts/x.sh"` without a test for it, and paths of programs.
                let Some((_, name)) = line.split_once("$scripts/").filter(|_| line.starts_with(". ")) else { continue };
                let name = name.trim_end_matches('"');
                assert!(files.iter().any(|other| other.name == name), "{} names {name}", file.name);
            }
        }
    }
}

#[test]
fn hostile_words_stay_words() {
    let nasty = [
        "",
        " ",
        "it's",
        "\"",
        "$(touch /tmp/x)",
        "`id`",
        "a\nb\n",
        "\t",
        "{{launch}}",
        "&<>",
        "\\",
        "*",
        "~",
        "[0]=x",
        "-n",
        "é\u{2028}",
        "\r\n",
        ")",
        "# no",
    ];
    let mut plan = plan();
    plan.launch = nasty.map(str::to_owned).to_vec();
    let folder = tempfile::tempdir().unwrap();
    write(&files(&plan), folder.path());
    let out = Command::new("bash")
        .args(["-u", "-c", r#". "$0" && printf '%s\0' "${launch[@]}""#])
        .arg(folder.path().join("job.sh"))
        .output()
        .unwrap();
    let words = String::from_utf8(out.stdout).unwrap();
    assert_eq!(words.split_terminator('\0').collect::<Vec<_>>(), nasty, "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn the_files_of_a_plain_job_stay_small() {
    let total: usize = files(&plan()).iter().map(|file| file.text.len()).sum();
    assert!(total < 31 << 10, "{total} bytes in every job");
}

#[test]
fn limits_are_what_may_change_in_place() {
    let mut plan = plan();
    let before: Vec<_> = files(&plan).into_iter().map(|file| file.text).collect();
    plan.spec.lifecycle.deadline = Some(60);
    plan.spec.launcher.retries = 7;
    plan.spec.launcher.wait_timeout = 5;
    let after: Vec<_> = files(&plan).into_iter().map(|file| file.text).collect();
    assert_eq!(before, after);
    let entries = [("run", "bcdfgh"), ("retries", "7"), ("wait-timeout", "5"), ("deadline", "60")];
    assert_eq!(current(&plan), entries.map(|(name, value)| (name, value.to_owned())));
}

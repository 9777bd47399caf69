//! Tests of the report: that its verdicts are true, and that several jobs in one file are reported as an error.

use khorovod::import::{Field, Options, System, import};
use khorovod::{Inputs, Keys, render, targets};
use serde::Deserialize;
use serde_yaml::Value as Yaml;

use super::text;

/// The verdict of each field is true.
#[test]
fn verdicts_are_true() {
    let job = |launcher: &str, worker: &str, around: &str| {
        format!(
            "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {{name: a, labels: {{{around}}}}}\nspec:\n  runPolicy: {{schedulingPolicy: {{queue: q}}}}\n  \
             mpiReplicaSpecs:\n    Launcher: {{template: {{spec: {{{launcher}}}}}}}\n    Worker: {{replicas: 2, template: {{spec: {{{worker}}}}}}}\n"
        )
    };
    let run = "containers: [{image: 'a:1', command: [mpirun, ./a]}]";
    let storage = "containers: [{image: 'a:1', command: [mpirun, ./a], volumeMounts: [{name: out, mountPath: /out}]}], \
                   volumes: [{name: out, hostPath: {path: /out}}, {name: none, emptyDir: {}}]";
    let mounted = "containers: [{image: 'a:1', volumeMounts: [{name: d, mountPath: /d}]}], volumes: [{name: d, hostPath: {path: /d, type: Directory}}]";
    let twice = "containers: [{image: 'a:1', env: [{name: D, value: '1'}, {name: D, value: '2'}], ports: [{containerPort: 8080}]}], \
                 terminationGracePeriodSeconds: 5";
    let filled = "containers: [{image: 'a:1', env: [{name: A, value: '1'}, {name: B, value: '$(A)/x'}, {name: C, value: 'a$$b'}]}]";
    let ffdl = "name: a\ngpus: 1\nframework: {name: horovod, version: '0.13', image_tag: t9, command: python x.py}\n"
        .to_owned();
    let learns = ffdl.replace("python x.py", "'pip install foo && python x.py --id $TRAINING_ID --n $NUM_LEARNERS'");
    let cases = [
        (System::MpiJob, job(storage, mounted, ""), "volumes[0].hostPath.path", "lost", "only the launcher had it"),
        (
            System::MpiJob,
            job(storage, mounted, ""),
            "Launcher.template.spec.volumes[1].emptyDir",
            "lost",
            "no container mounts it",
        ),
        (System::MpiJob, job(run, mounted, ""), "volumes[0].hostPath.type", "lost", "does not check"),
        (System::MpiJob, job(run, twice, ""), "env[0].value", "lost", "a later entry"),
        (System::MpiJob, job(run, twice, ""), "env[1].value", "kept", ""),
        (System::MpiJob, job(run, twice, ""), "ports[0].containerPort", "lost", "opens a port"),
        (System::MpiJob, job(run, twice, ""), "terminationGracePeriodSeconds", "dropped", "itself"),
        (
            System::MpiJob,
            job(run, twice, "kueue.x-k8s.io/queue-name: b"),
            "schedulingPolicy.queue",
            "dropped",
            "Kueue's",
        ),
        (System::MpiJob, job(run, filled, ""), "env[1].value", "lost", "is literal"),
        (System::MpiJob, job(run, filled, ""), "env[2].value", "kept", ""),
        (System::Ffdl, ffdl.clone(), "framework.version", "lost", "`image_tag`"),
        (System::Ffdl, learns.clone(), "framework.command: $TRAINING_ID", "lost", "it is empty"),
        (System::Ffdl, learns, "framework.command: pip install foo", "changed", "in the image"),
    ];
    let waits = job("containers: [{image: 'a:1', command: [sleep, infinity]}]", "containers: [{image: 'a:1'}]", "");
    let shell = job("containers: [{image: 'a:1', command: [python, a.py]}]", "containers: [{image: 'a:1'}]", "");
    let copies = "#SBATCH -N 2\nrsync -a /a /b\nsrun ./a\n".to_owned();
    let words = [
        (System::MpiJob, waits, "command[0]", "changed", "waits by itself"),
        (System::MpiJob, shell, "command[0]", "changed", "unchanged"),
        (System::Slurm, copies, "rsync -a /a /b", "changed", "spec.storage"),
    ];
    for (system, file, path, verdict, note) in cases.into_iter().chain(words) {
        let imported = import(system, &[text(&file)], &Options::default()).unwrap();
        let field = imported.fields.iter().find(|field| field.path.ends_with(path)).unwrap_or_else(|| panic!("{path}"));
        assert!(field.verdict == verdict && field.note.contains(note), "{file}: {field:?}");
    }
    let elastic = |bounds: &str| {
        let file = format!(
            "name: a\nworker: {{number: 2, image: {{repository: a, tag: b}}}}\ndriver: {{args: ['horovodrun {bounds} --host-discovery-script /x.sh ./a']}}\n"
        );
        import(System::ElasticHorovod, &[text(&file)], &Options::default())
    };
    let problems = elastic("-np 3 --min-np 4 --max-np 3").expect_err("bounds");
    assert!(problems.list.iter().any(|problem| problem.message.contains("at least 4 ranks and at most 3")));
    let fields = elastic("-np 2 --min-np 4 --max-np 6").unwrap().fields;
    let least = fields.iter().find(|field| field.path.ends_with("--min-np 4")).unwrap();
    assert!(least.verdict == "changed" && least.note.contains("ranks"), "{least:?}");
}

/// A value is kept only if it has an effect in pods.
#[test]
fn values_for_slurm_alone_are_not_kept() {
    let script = "#SBATCH -N 2\n#SBATCH --gres=gpu:4\n#SBATCH --mail-type=END\n#SBATCH --partition=gpu\n#SBATCH --hint=nomultithread\n\
                  module load cuda\nulimit -n 4096\ncd $SLURM_SUBMIT_DIR\nexport SRUN_CPUS_PER_TASK=8\nexport SLURM_CPU_BIND=none\n\
                  export NCCL_DEBUG=INFO\nsource ~/venv/bin/activate\nsrun --mpi=pmix --cpu-bind=cores python train.py\n";
    let imported = import(System::Slurm, &[text(script)], &Options::default()).unwrap();
    let kept = imported.fields.iter().filter(|field| field.verdict == "kept");
    let kept: Vec<&str> = kept.map(|field| field.path.as_str()).collect();
    let program = "srun --mpi=pmix --cpu-bind=cores python train.py";
    let expected = ["#SBATCH -N 2", "#SBATCH --gres=gpu:4", "export NCCL_DEBUG=INFO", program];
    assert_eq!(kept, expected, "{:#?}", imported.fields);
    for line in ["--mail-type", "--partition", "module load", "ulimit", "SRUN_CPUS_PER_TASK", "SLURM_CPU_BIND"] {
        let field = imported.fields.iter().find(|field| field.path.contains(line)).unwrap_or_else(|| panic!("{line}"));
        assert!(field.verdict == "changed" && field.note.contains("under Slurm"), "{field:?}");
    }
}

/// The launcher's pod has no GPU. If a script runs a program there without a launch, the report has a row with what to do.
#[test]
fn programs_that_train_in_the_launcher_are_reported() {
    let job = |command: &str| {
        format!(
            "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {{name: a}}\nspec: {{mpiReplicaSpecs: {{Launcher: \
             {{template: {{spec: {{containers: [{{image: 'a:1', command: {command}}}]}}}}}}, Worker: {{template: {{spec: \
             {{containers: [{{image: 'a:1', resources: {{limits: {{nvidia.com/gpu: 2}}}}}}]}}}}}}}}}}\n"
        )
    };
    let reported = |command: &str| {
        let imported = import(System::MpiJob, &[text(&job(command))], &Options::default()).unwrap();
        let noted = imported.fields.into_iter().filter(|field| field.note.contains("runsRanks"));
        noted.map(|field| field.path).collect::<Vec<_>>()
    };
    assert_eq!(reported("[python, driver.py, '2']"), ["python driver.py 2"]);
    assert_eq!(reported("[./driver]"), ["the command"]);
    assert_eq!(reported("[bash, -c, 'set -e; mpirun ./a | tee x; python post.py']"), ["python post.py"]);
    assert!(reported("[bash, -c, 'set -e; mpirun ./a | tee x']").is_empty());
    assert!(reported("[mpirun, python, a.py]").is_empty());
}

/// Two jobs in one input are an error, so the second does not overwrite the first. Several files of values are merged.
#[test]
fn several_jobs_are_not_one() {
    let read = |system, one: &str, two: &str| import(system, &[text(one), text(two)], &Options::default());
    let job = "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: NAME}\nspec: {mpiReplicaSpecs: {Launcher: \
               {template: {spec: {containers: [{image: 'a:1', command: [mpirun, ./a]}]}}}}}\n";
    let ffdl = "name: NAME\ngpus: 1\nframework: {name: x, version: y, command: z}\n";
    let ks = "ks generate openmpi NAME --image x:1 --secret s --workers 2 --exec 'mpirun ./a'\n";
    let script = "#SBATCH -J NAME\nsrun ./a\n";
    for (system, file) in
        [(System::MpiJob, job), (System::Ffdl, ffdl), (System::KubeflowOpenmpi, ks), (System::Slurm, script)]
    {
        let files = ["a", "b"].map(|name| file.replace("NAME", name));
        let problems = read(system, &files[0], &files[1]).expect_err(file);
        let [problem] = problems.list.as_slice() else { panic!("{file}: {:#?}", problems.list) };
        assert!(problem.message.starts_with("one "), "{problem:#?}");
        assert_eq!(problem.hint.as_deref(), Some("import them one at a time"));
    }
    let (values, more) = ("worker: {number: 1}\nmaster: {}\n", "worker: {number: 2, image: {repository: a, tag: b}}\n");
    assert!(read(System::StableHorovod, values, more).unwrap().job.contains("replicas: 3"));
}

/// Lines of `ks` have the same meaning with the line ends of Windows.
#[test]
fn lines_of_windows_are_joined_as_others() {
    let lines = "ks generate openmpi a --image x:1 --secret s \\\n  --workers 2 --gpu 2 --exec 'mpirun ./a'\n";
    let read = |lines: &str| import(System::KubeflowOpenmpi, &[text(lines)], &Options::default()).unwrap().job;
    assert_eq!(read(&lines.replace('\n', "\r\n")), read(lines));
}

/// A template of a batch script is not reported as a template of a chart.
#[test]
fn hints_for_templates_depend_on_the_system() {
    let hint = |system, file: &str| {
        let problems = import(system, &[text(file)], &Options::default()).expect_err(file);
        problems.list[0].hint.clone().unwrap_or_default()
    };
    assert!(!hint(System::Slurm, "#SBATCH -N {{ nodes }}\nsrun ./a\n").contains("helm"));
    assert!(hint(System::StableHorovod, "worker: {number: {{ n }}}\n").contains("helm"));
}

/// Imports an MPIJob whose launcher and workers have these fields in their pods. Returns the job and the outcomes.
fn mpi_job(spec: &str, launcher: &str, worker: &str) -> (String, Vec<Field>) {
    let file = format!(
        "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {{name: a}}\nspec:\n  {spec}\n  mpiReplicaSpecs:\n    \
         Launcher: {{template: {{spec: {{{launcher}}}}}}}\n    Worker: {{replicas: 2, template: {{spec: {{{worker}}}}}}}\n"
    );
    let imported = import(System::MpiJob, &[text(&file)], &Options::default());
    let imported = imported.unwrap_or_else(|found| panic!("{file}: {found:#?}"));
    (imported.job, imported.fields)
}

/// Asserts the verdicts of the only fields whose paths end with these texts.
fn assert_verdicts(fields: &[Field], expected: &[(&str, &str)]) {
    for (path, verdict) in expected {
        let found: Vec<_> = fields.iter().filter(|field| field.path.ends_with(path)).collect();
        assert!(found.len() == 1 && found[0].verdict == *verdict, "{path}: {found:#?}");
    }
}

fn yaml(text: &str) -> Yaml {
    serde_yaml::from_str(text).unwrap()
}

fn documents(text: &str) -> Vec<Yaml> {
    serde_yaml::Deserializer::from_str(text).map(|document| Yaml::deserialize(document).unwrap()).collect()
}

/// The placement of the launcher reaches the launcher's pod only.
#[test]
fn placement_of_the_launcher_stays_its_own() {
    let (job, fields) = mpi_job(
        "slotsPerWorker: 2",
        "nodeSelector: {pool: cpu}, priorityClassName: high, tolerations: [{key: cpu, operator: Exists}], \
         containers: [{image: 'a:1', command: [mpirun, ./a]}]",
        "nodeSelector: {zone: b}, containers: [{image: 'a:1', resources: {limits: {nvidia.com/gpu: 2}}}]",
    );
    assert_verdicts(&fields, &[("Launcher.template.spec.nodeSelector.pool", "kept"), ("priorityClassName", "kept")]);
    assert_eq!(yaml(&job)["spec"]["placement"], yaml("nodeSelector: {zone: b}"));
    let objects = render(&text(&job), &Inputs { keys: Keys::Masked, ..Inputs::default() }).unwrap().text;
    let pod = |kind: &str| {
        let objects = documents(&objects);
        let object = objects.iter().find(|object| object["kind"] == kind).unwrap();
        object["spec"]["template"]["spec"].clone()
    };
    let (launcher, worker) = (pod("Job"), pod("StatefulSet"));
    assert_eq!(launcher["nodeSelector"], yaml("pool: cpu"));
    assert_eq!(launcher["priorityClassName"], "high");
    assert_eq!(launcher["tolerations"].as_sequence().unwrap().len(), 3, "{:#?}", launcher["tolerations"]);
    assert_eq!(worker["nodeSelector"], yaml("zone: b"));
    assert!(worker["priorityClassName"].is_null() && worker["tolerations"].is_null());
}

/// The launch line may start more ranks than there are slots, or use fewer workers.
#[test]
fn changed_numbers_of_ranks_are_reported() {
    let launcher = |np| format!("containers: [{{image: 'a:1', command: [mpirun, -np, '{np}', ./a]}}]");
    let worker = "containers: [{image: 'a:1', resources: {limits: {nvidia.com/gpu: 2}}}]";
    let (job, fields) = mpi_job("slotsPerWorker: 2", &launcher(8), worker);
    assert_verdicts(&fields, &[("-np 8", "changed"), ("Worker.replicas", "kept"), ("slotsPerWorker", "kept")]);
    assert!(job.contains("replicas: 2"), "{job}");
    let of_four = worker.replace("gpu: 2", "gpu: 4");
    let (job, fields) = mpi_job("slotsPerWorker: 4", &launcher(4), &of_four);
    assert_verdicts(&fields, &[("-np 4", "kept"), ("Worker.replicas", "changed")]);
    assert!(job.contains("replicas: 1"), "{job}");
    let (job, fields) = mpi_job("slotsPerWorker: 1", &launcher(4), "containers: [{image: 'a:1'}]");
    assert_verdicts(&fields, &[("-np 4", "kept"), ("Worker.replicas", "kept"), ("slotsPerWorker", "changed")]);
    assert!(job.contains("slotsPerWorker: 2"), "{job}");
}

/// Scripts are started again as often as launches are.
#[test]
fn scripts_are_started_again_as_before() {
    let worker = "containers: [{image: 'a:1'}]";
    let (job, _) = mpi_job("slotsPerWorker: 1", "containers: [{image: 'a:1', command: [./drive]}]", worker);
    assert!(job.contains("launcher: shell") && job.contains("retries: 6"), "{job}");
    let (job, _) = mpi_job("slotsPerWorker: 1", "containers: [{image: 'a:1', command: [sleep, infinity]}]", worker);
    assert!(job.contains("interactive: true") && !job.contains("retries"), "{job}");
    let values =
        "worker: {number: 1, image: {repository: a, tag: b}}\nmaster: {args: ['./prepare && mpirun -np 2 ./a']}\n";
    let job = import(System::StableHorovod, &[text(values)], &Options::default()).unwrap().job;
    assert!(job.contains("launcher: shell") && job.contains("retries: 6"), "{job}");
}

/// A value without a field in the new job is never kept.
#[test]
fn only_values_with_an_effect_are_kept() {
    for case in super::cases() {
        for field in case.import().unwrap().fields {
            let has_effect = matches!(field.verdict, "kept" | "changed");
            assert_eq!(has_effect, !field.to.is_empty(), "{}: {field:?}", case.path.display());
            assert!(field.verdict != "dropped" || !field.note.is_empty(), "{}: {field:?}", case.path.display());
        }
    }
}

/// Images of frameworks that FfDL started without mpirun need it here.
#[test]
fn images_that_may_lack_mpi_are_reported() {
    let note = |name: &str| {
        let file = format!("name: a\ngpus: 1\nframework: {{name: {name}, version: '1', command: python x.py}}\n");
        let fields = import(System::Ffdl, &[text(&file)], &Options::default()).unwrap().fields;
        fields.into_iter().find(|field| field.path == "framework.name").unwrap().note
    };
    for name in ["tensorflow", "caffe", "pytorch"] {
        assert!(note(name).contains("Open MPI and OpenSSH"), "{name}: {}", note(name));
    }
    assert!(!note("horovod").contains("OpenSSH"));
}

/// The words of a job that was rendered for the operator come back as they were, in every form in which kubectl and other
/// programs print objects.
#[test]
fn arguments_are_restored_from_the_operator() {
    let job = "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: a}\nspec:\n  image: a:1\n  \
               command: [python, t.py, \"it's\", \"a\\nb\", 'a \"b\" \\ c', é]\n  workers: {replicas: 2}\n";
    let inputs = Inputs { keys: Keys::LeftOut, target: targets::MPI_JOB, ..Inputs::default() };
    let objects = render(&text(job), &inputs).unwrap().text;
    let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": documents(&objects)});
    for form in [serde_yaml::to_string(&list).unwrap(), list.to_string(), objects] {
        let back = import(System::MpiJob, &[text(&form)], &Options::default()).unwrap();
        assert_eq!(yaml(&back.job)["spec"]["command"], yaml(job)["spec"]["command"]);
        assert!(back.fields.iter().all(|field| field.verdict == "kept"), "{:#?}", back.fields);
    }
}

/// A worker that does more than start sshd, the container that an operator calls the main one, and GPUs of a launcher that
/// runs ranks.
#[test]
fn pods_that_do_more_are_reported() {
    let launcher =
        "containers: [{image: 'a:1', command: [mpirun, -np, '6', ./a], resources: {limits: {nvidia.com/gpu: 2}}}]";
    let worker = |command: &str| {
        format!("containers: [{{image: 'a:1', command: {command}, resources: {{limits: {{nvidia.com/gpu: 2}}}}}}]")
    };
    for (command, verdict) in [
        ("[/usr/sbin/sshd, -De]", "dropped"),
        ("[sh, -c, 'mkdir -p /run/sshd; /usr/sbin/sshd; sleep infinity']", "dropped"),
        ("[bash, -c, 'service ssh start && sleep 365d']", "dropped"),
        ("[bash, -c, 'pip install horovod && /usr/sbin/sshd -De']", "lost"),
        ("[/entrypoint.sh]", "lost"),
    ] {
        let (_, fields) = mpi_job("slotsPerWorker: 2\n  runLauncherAsWorker: true", launcher, &worker(command));
        assert_verdicts(&fields, &[("Worker.template.spec.containers[0].command[0]", verdict)]);
        assert_verdicts(
            &fields,
            &[("Launcher.template.spec.containers[0].resources.limits.nvidia.com/gpu", "changed")],
        );
    }
    let beside = "containers: [{name: logs, image: 'log:1'}, {name: main, image: 'a:1'}]";
    let first = "containers: [{name: main, image: 'a:1', command: [mpirun, ./a]}]";
    let (job, fields) = mpi_job("mainContainer: main", first, beside);
    assert!(job.contains("image: a:1") && !job.contains("log:1"), "{job}");
    assert_verdicts(
        &fields,
        &[("Worker.template.spec.containers[0].image", "lost"), ("Worker.template.spec.containers[1].image", "kept")],
    );
}

/// Imports a script of tests/import. Returns the job and the outcomes.
fn script(text: &str, image: Option<&str>) -> (String, Vec<Field>) {
    let options = Options { image: image.map(str::to_owned), ..Options::default() };
    let imported = import(System::Slurm, &[self::text(text)], &options);
    let imported = imported.unwrap_or_else(|found| panic!("{text}: {found:#?}"));
    (imported.job, imported.fields)
}

/// The only field whose path begins with a text.
fn only<'f>(fields: &'f [Field], path: &str) -> &'f Field {
    let found: Vec<_> = fields.iter().filter(|field| field.path.starts_with(path)).collect();
    assert!(found.len() == 1, "{path}: {found:#?} in {fields:#?}");
    found[0]
}

/// Files of a cluster, variables without a value and programs of Slurm do not exist in pods.
#[test]
fn fields_without_counterpart_are_lost() {
    let file = include_str!("slurm/files-of-the-cluster.sbatch");
    let (job, fields) = script(file, None);
    assert_eq!(only(&fields, "train.py, /scratch/me/imagenet, /home/me/ckpt").verdict, "lost");
    // The image has the program.
    let (_, with_image) = script(file, Some("acme/resnet:1"));
    assert_eq!(only(&with_image, "/scratch/me/imagenet, /home/me/ckpt").verdict, "lost");
    let seed = only(&fields, "$SEED");
    assert_eq!((seed.verdict, seed.line), ("lost", 5), "{seed:?}");
    assert!(seed.note.contains("env.SEED"), "{seed:?}");
    assert_eq!(only(&fields, "$LR").verdict, "changed");
    assert_eq!(yaml(&job)["spec"]["launcher"], "mpirun");
    let folder = only(&fields, "cd $SLURM_SUBMIT_DIR");
    assert!(folder.note.contains("under Slurm") && folder.note.contains("in pods"), "{folder:?}");

    let (_, fields) = script(include_str!("slurm/programs-of-slurm.sbatch"), None);
    let programs = only(&fields, "the script: ");
    let all = ["srun", "scontrol", "ml", "SLURM_JOB_NODELIST"].iter().all(|name| programs.path.contains(name));
    assert!(programs.verdict == "lost" && all, "{programs:?}");
    let wraps = "#SBATCH -N 2\nsrun podman-hpc run --rm acme/resnet:1 python train.py\n";
    assert_eq!(only(&script(wraps, None).1, "podman-hpc before the program").verdict, "lost");
}

/// The signal for a checkpoint reaches the ranks under Slurm, too.
#[test]
fn the_signal_goes_back_to_slurm() {
    let (job, _) = script(include_str!("slurm/files-of-the-cluster.sbatch"), None);
    let inputs = Inputs { target: targets::SLURM, ..Inputs::default() };
    let script = render(&text(&job), &inputs).unwrap();
    assert!(script.text.contains("#SBATCH --signal=B:USR1@330\n"), "{}", script.text);
    assert!(script.warnings.list.iter().all(|problem| !problem.message.contains("checkpoint")));
}

/// The report prints the options for the other jobs of an array. They work as they are printed.
#[test]
fn the_other_jobs_of_an_array_can_be_rendered() {
    let (job, fields) = script(include_str!("slurm/array.sbatch"), None);
    let note = &only(&fields, "#SBATCH --array=3-5").note;
    let line = note.split('`').find(|part| part.starts_with("khorovod render")).unwrap_or_else(|| panic!("{note}"));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("FILE"), job).unwrap();
    let line = line.replacen("khorovod", "\"$KHOROVOD\"", 1);
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &line]).current_dir(folder.path()).env("KHOROVOD", env!("CARGO_BIN_EXE_khorovod"));
    let output = command.env("KHOROVOD_SSH_SEED", "00".repeat(32)).output().unwrap();
    let rendered = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(rendered.contains("name: old-4") && rendered.contains("SLURM_ARRAY_TASK_ID"), "{rendered}");
    let values = documents(&rendered);
    let has_index = |value: &Yaml| {
        let text = serde_yaml::to_string(value).unwrap();
        text.contains("name: SLURM_ARRAY_TASK_ID\n") && text.contains("value: '4'")
    };
    assert!(values.iter().any(has_index), "{rendered}");
}

/// Changes that break a job are in the report, each with what to do.
#[test]
fn changes_that_break_a_job_are_reported() {
    let file = include_str!("mpijob/code-beside-the-image.yaml");
    let read = |file: &str| import(System::MpiJob, &[text(file)], &Options::default());
    let imported = read(file).unwrap();
    let fields = &imported.fields;
    let start = only(fields, "train.py");
    assert!(start.verdict == "lost" && start.note.contains("spec.workingDir"), "{start:?}");
    let retries = only(fields, "spec.runPolicy.backoffLimit");
    assert!(retries.verdict == "kept" && imported.job.contains("retriesResetAfter: never"), "{retries:?}");
    let user = only(fields, "the image's user");
    assert!(user.verdict == "changed" && user.note.contains("podSecurityLevel: baseline, runAsUser: 0"), "{user:?}");
    let policy = only(fields, "spec.runPolicy.cleanPodPolicy");
    assert!(policy.verdict == "lost" && policy.note.contains("ownPod"), "{policy:?}");
    let gang = only(fields, "spec.runPolicy.schedulingPolicy.minAvailable");
    assert!(gang.note.contains("always has all pods"), "{gang:?}");
    assert!(imported.job.contains("write `gang: coscheduling`"), "{}", imported.job);
    let slots = only(fields, "spec.slotsPerWorker");
    assert!(slots.verdict == "kept" && slots.note.contains("default"), "{slots:?}");

    let problems = read(&file.replace("cleanPodPolicy: None", "cleanPodPolicy: Bogus")).expect_err("Bogus");
    assert!(problems.list.iter().any(|problem| problem.message.contains("None, Running or All")), "{problems:#?}");
    // Without a gang, the workers are kept.
    let kept = read(&file.replace("    schedulingPolicy: {minAvailable: 3}\n", "")).unwrap();
    assert!(kept.job.contains("keepWorkers: true"), "{}", kept.job);
}

//! Tests of the importers: the job and the report that each file of another system becomes, that each of its fields has a row
//! in the report, and that no damaged file makes an importer panic.
//!
//! `tests/import/SYSTEM/NAME.*` is an old file. A line `# options: ...` in it contains further arguments of `khorovod import`. The
//! same folder has the resulting job, `NAME.job.yaml`, and the report, `NAME.txt`; `make bless` writes both. If `KHOROVOD_CORPUS`
//! names a folder with files of other projects, they are imported too. Those files are not part of the repository.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use khorovod::import::{Imported, Options, System, import};
use khorovod::problem::{Label, Problems};
use khorovod::{Inputs, Keys, Text, render, targets};
use proptest::prelude::*;
use serde::Deserialize;

#[path = "import/effects.rs"]
mod effects;
#[path = "import/executed.rs"]
mod executed;
#[path = "import/operators.rs"]
mod operators;
#[path = "import/outcomes.rs"]
mod outcomes;

/// An old file.
struct Case {
    system: System,
    path: PathBuf,
    text: String,
    /// Further arguments of `khorovod import`.
    options: Vec<String>,
}

impl Case {
    fn new(system: System, path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).unwrap();
        let options = Self::options(&text);
        Self { system, path, text, options }
    }

    fn options(text: &str) -> Vec<String> {
        let line = text.lines().find_map(|line| line.strip_prefix("# options: ")).unwrap_or_default();
        let mut words: Vec<String> = Vec::new();
        for (index, part) in line.split('"').enumerate() {
            match index % 2 {
                0 => words.extend(part.split_whitespace().map(str::to_owned)),
                _ => words.push(part.to_owned()),
            }
        }
        words
    }

    fn import(&self) -> Result<Imported, Problems> {
        let mut options = Options::default();
        for pair in self.options.chunks(2) {
            let value = pair.get(1).cloned();
            match pair[0].as_str() {
                "--name" => options.name = value,
                "--namespace" => options.namespace = value,
                "--image" => options.image = value,
                "--command" => options.command = value,
                "--set" => options.sets.extend(value),
                other => panic!("{}: {other}", self.path.display()),
            }
        }
        import(self.system, &[text(&self.text)], &options)
    }
}

fn text(text: &str) -> Text {
    Text { name: "old".to_owned(), text: text.to_owned() }
}

fn cases() -> Vec<Case> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import");
    let mut cases = Vec::new();
    for system in System::ALL {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(home.join(system.name())).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths
            .retain(|path| !path.to_string_lossy().ends_with(".job.yaml") && !path.to_string_lossy().ends_with(".txt"));
        assert!(!paths.is_empty(), "{} has no file", system.name());
        paths.sort();
        cases.extend(paths.into_iter().map(|path| Case::new(*system, path)));
    }
    cases
}

/// Compares with a file, or writes it if `KHOROVOD_BLESS` is set.
fn hold(path: &Path, text: &str) {
    if std::env::var_os("KHOROVOD_BLESS").is_some() {
        return fs::write(path, text).unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap_or_default(), text, "{}; look at it, then `make bless`", path.display());
}

#[test]
fn old_files_become_jobs_and_a_report() {
    for case in cases() {
        let folder = tempfile::tempdir().unwrap();
        let file = case.path.file_name().unwrap();
        fs::copy(&case.path, folder.path().join(file)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_khorovod"));
        command.env_clear().current_dir(folder.path());
        let output = command.args(["import", case.system.name()]).args(&case.options).arg(file).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{}: {stderr}", case.path.display());
        hold(&case.path.with_extension("job.yaml"), &String::from_utf8(output.stdout).unwrap());
        hold(&case.path.with_extension("txt"), &stderr);
    }
}

#[test]
fn imported_jobs_render_and_contain_no_secret() {
    for case in cases() {
        let imported = case.import().unwrap_or_else(|problems| panic!("{}: {:#?}", case.path.display(), problems.list));
        let inputs = Inputs { keys: Keys::Masked, ..Inputs::default() };
        let whole = format!("{}{}", imported.job, imported.secrets);
        render(&text(&whole), &inputs)
            .unwrap_or_else(|problems| panic!("{}: {:#?}", case.path.display(), problems.list));
        for secret in ["sekret", "PRIVATE KEY"] {
            assert!(!imported.job.contains(secret), "{}: a secret stands in the job", case.path.display());
        }
        assert_eq!(imported.secrets.contains("sekret"), case.text.contains("sekret"), "{}", case.path.display());
    }
}

/// Every leaf of a YAML file by its path, found by an independent reader.
fn leaves(value: &serde_yaml::Value, path: String, found: &mut BTreeSet<String>) {
    match value {
        serde_yaml::Value::Mapping(map) if !map.is_empty() => {
            for (key, value) in map {
                let key = key.as_str().unwrap();
                leaves(value, if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }, found);
            }
        }
        serde_yaml::Value::Sequence(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                leaves(item, format!("{path}[{index}]"), found);
            }
        }
        _ => {
            found.insert(path);
        }
    }
}

#[test]
fn every_field_is_in_the_report() {
    for case in cases() {
        if !case.path.extension().is_some_and(|end| end == "yaml" || end == "yml") {
            continue;
        }
        let imported = case.import().unwrap();
        let mut expected = BTreeSet::new();
        for document in serde_yaml::Deserializer::from_str(&case.text) {
            let document = serde_yaml::Value::deserialize(document).unwrap();
            let word =
                |path: &[&str]| path.iter().fold(&document, |here, step| &here[*step]).as_str().unwrap_or_default();
            let (kind, name) = (word(&["kind"]), word(&["metadata", "name"]));
            let is_job = case.system.kind().is_none_or(|job| job == kind);
            leaves(&document, if is_job { String::new() } else { format!("beside.{kind}/{name}") }, &mut expected);
        }
        let found: BTreeSet<String> = imported.fields.iter().map(|field| field.path.clone()).collect();
        let missing: Vec<_> = expected.difference(&found).collect();
        assert!(missing.is_empty(), "{}: {missing:#?}", case.path.display());
        for field in &imported.fields {
            assert!(field.verdict != "lost" || field.note.len() > 8, "{}: {field:?} says no why", case.path.display());
            assert!(!field.to.is_empty() || !field.note.is_empty(), "{}: {field:?}", case.path.display());
        }
    }
}

/// Lines of a batch script: one that begins a command or holds options has its row. Those of loops, functions and
/// here-documents have the row of their first line.
#[test]
fn every_line_of_a_script_is_in_the_report() {
    let mut tried = 0;
    for case in cases() {
        let blocks = [
            "loop-over-srun",
            "function-with-brace-behind-its-name",
            "programs-of-slurm",
            "script-written-by-the-script",
            "torchrun-in-a-shell",
        ];
        let has_blocks = blocks.iter().any(|name| case.path.file_stem().is_some_and(|stem| stem == *name));
        if case.system != System::Slurm || has_blocks {
            continue;
        }
        let found: BTreeSet<usize> = case.import().unwrap().fields.iter().map(|field| field.line).collect();
        let mut goes_on = false;
        for (index, line) in case.text.lines().enumerate() {
            let has_content = line.starts_with("#SBATCH") || !line.starts_with('#') && !line.trim().is_empty();
            assert!(goes_on || !has_content || found.contains(&(index + 1)), "{}: {line}", case.path.display());
            goes_on = line.ends_with('\\') || line.ends_with("=(") || goes_on && line.starts_with("    ");
            tried += usize::from(has_content);
        }
    }
    assert!(tried > 50, "{tried} lines");
}

/// Commands of public guides, as their readers typed them: each has its row. `tests/migration` lists them.
#[test]
fn every_command_of_a_guide_is_in_the_report() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/migration");
    for system in [System::KubeflowOpenmpi, System::Slurm] {
        let case = Case::new(system, home.join(system.name()).with_extension("txt"));
        let imported = case.import().unwrap_or_else(|problems| panic!("{:#?}", problems.list));
        let found: BTreeSet<usize> = imported.fields.iter().map(|field| field.line).collect();
        let variable = |line: &str| {
            line.trim_start_matches("export ").split_once('=').is_some_and(|(name, _)| !name.contains(' '))
        };
        for (index, line) in case.text.lines().enumerate() {
            let has_row = found.contains(&(index + 1)) || system == System::KubeflowOpenmpi && variable(line);
            assert!(has_row, "{}: {line}", case.path.display());
        }
    }
}

/// Files of other projects, if `KHOROVOD_CORPUS` is set.
fn corpus() -> Vec<Case> {
    let Some(folder) = std::env::var_os("KHOROVOD_CORPUS").map(PathBuf::from) else {
        eprintln!("KHOROVOD_CORPUS names no folder: other people's files are not tried");
        return Vec::new();
    };
    let files: &[(System, &str)] = &[
        (System::Ffdl, "ffdl/manifest_tfmnist.yml"),
        (System::Ffdl, "ffdl/manifest_pytorchmnist.yml"),
        (System::StableHorovod, "charts/stable-horovod/values.yaml"),
        (System::StableHorovod, "charts/horovod-docker-helm/values.yaml"),
        (System::ElasticHorovod, "charts/horovod-docker-helm/values.yaml"),
    ];
    files.iter().map(|(system, path)| Case::new(*system, folder.join(path))).collect()
}

#[test]
fn other_peoples_files_become_jobs() {
    for case in corpus() {
        let imported = case.import().unwrap_or_else(|problems| panic!("{}: {:#?}", case.path.display(), problems.list));
        let inputs = Inputs { keys: Keys::Masked, ..Inputs::default() };
        render(&text(&imported.job), &inputs).unwrap_or_else(|problems| panic!("{:#?}", problems.list));
    }
}

fn mutated() -> impl Strategy<Value = (usize, Vec<(usize, u8, u16)>)> {
    (any::<usize>(), prop::collection::vec((any::<usize>(), 0..6_u8, any::<u16>()), 1..8))
}

/// Cuts, doubles, swaps and overwrites parts of a text.
fn mutate(text: &str, changes: &[(usize, u8, u16)]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (at, what, with) in changes {
        if lines.is_empty() {
            break;
        }
        let (at, other) = (at % lines.len(), usize::from(*with) % lines.len());
        match what {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[other].clone()),
            2 => lines.swap(at, other),
            3 => lines.truncate(at + 1),
            4 => {
                let words = ["[", "{}", "~", "0", "-1", "99999999999", "yes", "\"", "'", "$(x)", "a: b", "\u{7f}", "é"];
                let line = lines[at].split_once(':').map_or(String::new(), |(key, _)| format!("{key}: "));
                lines[at] = format!("{line}{}", words[usize::from(*with) % words.len()]);
            }
            _ => {
                let cut = lines[at].char_indices().nth(usize::from(*with) % 40).map_or(0, |(cut, _)| cut);
                lines[at].truncate(cut);
            }
        }
    }
    lines.join("\n")
}

proptest! {
    #[test]
    fn changed_files_are_imported_or_refused((which, changes) in mutated()) {
        let cases = cases();
        let case = &cases[which % cases.len()];
        let text = mutate(&case.text, &changes);
        let case = Case { system: case.system, path: case.path.clone(), text, options: case.options.clone() };
        match case.import() {
            Ok(imported) => {
                let inputs = Inputs { keys: Keys::Masked, ..Inputs::default() };
                prop_assert!(render(&self::text(&imported.job), &inputs).is_ok(), "{}", imported.job);
            }
            Err(problems) => {
                prop_assert!(problems.any_error());
                for problem in &problems.list {
                    prop_assert!(problem.hint.is_some() || !problem.labels.is_empty(), "{problem:?}");
                }
            }
        }
    }
}

/// A job that was imported from Slurm can be rendered for Slurm.
#[test]
fn imported_scripts_render_as_scripts() {
    for case in cases().iter().filter(|case| case.system == System::Slurm) {
        let inputs = Inputs { target: targets::SLURM, ..Inputs::default() };
        let script =
            render(&text(&case.import().unwrap().job), &inputs).unwrap_or_else(|found| panic!("{:#?}", found.list));
        let count = |text: &str, start: &str| text.lines().filter(|line| line.starts_with(start)).count();
        assert!(script.text.starts_with("#!/bin/bash\n"), "{}", case.path.display());
        assert!(count(&script.text, "#SBATCH --") >= 4, "{}", script.text);
    }
}

/// A problem of the imported job is reported at the field of the old file that causes it.
#[test]
fn problems_of_the_job_point_to_the_old_file() {
    let job = |worker: &str| {
        format!(
            "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {{name: a}}\nspec:\n  slotsPerWorker: 4\n  \
             mpiReplicaSpecs:\n    Launcher: {{template: {{spec: {{containers: [{{image: 'a:1', command: [mpirun, ./a]}}]}}}}}}\n    \
             Worker: {{replicas: 2, template: {{spec: {{containers: [{{image: 'a:1', {worker}}}]}}}}}}\n"
        )
    };
    let cases = [
        (job("resources: {limits: {nvidia.com/gpu: 2}}"), "slots-above-gpus", "spec.slotsPerWorker"),
        (job("workingDir: /a:b"), "invalid-value", "containers[0].workingDir"),
    ];
    for (file, code, field) in cases {
        let problems = import(System::MpiJob, &[text(&file)], &Options::default()).expect_err(&file);
        let problem = &problems.list[0];
        let name = |label: &Label| problems.sources.get(label.span.source).map(|source| source.name.clone());
        // The old field comes first, because users can edit only the old file. A fix would edit the new job.
        let old = problem.labels.iter().find(|label| label.text.contains(field)).unwrap();
        assert_eq!((problem.code.name, name(old).as_deref()), (code, Some("old")), "{file}: {problem:#?}");
        assert_eq!(name(&problem.labels[0]).as_deref(), Some("old"), "{problem:#?}");
        assert_eq!(problem.labels.last().and_then(name).as_deref(), Some("job imported from old"));
        assert!(problem.fix.is_none(), "{problem:#?}");
    }
    // Kubernetes refuses such an MPIJob, too, so the problem is in the old file only.
    let file = job("resources: {limits: {nvidia.com/gpu: 4, memory: 64GB}}");
    let problems = import(System::MpiJob, &[text(&file)], &Options::default()).expect_err(&file);
    let problem = &problems.list[0];
    assert!(problem.message.contains("limits.memory` should be a quantity such as"), "{problem:#?}");
}

/// sbatch names a job after its script.
#[test]
fn a_script_without_a_name_has_that_of_its_file() {
    let name = |file: &str| {
        let old = Text { name: file.to_owned(), text: "#SBATCH -N 2\nsrun ./a\n".to_owned() };
        let job = import(System::Slurm, &[old], &Options::default()).unwrap().job;
        job.lines().find_map(|line| line.trim().strip_prefix("name: ")).unwrap_or_default().to_owned()
    };
    for (file, expected) in [
        ("scripts/train_resnet.sbatch", "train-resnet"),
        ("C.2.slurm", "c-2"),
        ("./run", "run"),
        ("<stdin>", "slurm"),
        ("/dev/fd/63", "slurm"),
    ] {
        let name = name(file);
        assert_eq!(name.split_whitespace().next(), Some(expected), "{file}");
        assert!(name.contains("# the script has no --job-name"), "{file}: {name}");
    }
}

/// Slurm chooses the number of nodes for `--ntasks`, so a number that the script computes from it is a guess.
#[test]
fn a_number_of_nodes_that_slurm_chooses_is_a_guess() {
    let outcomes = |options: &str| {
        let script = format!(
            "#SBATCH {options}\n#SBATCH --gpus-per-node=8\nsrun -N $SLURM_NNODES -n $((SLURM_NNODES * 8)) ./a\n"
        );
        let imported = import(System::Slurm, &[text(&script)], &Options::default()).unwrap();
        imported.fields.iter().filter(|field| field.path == "no --nodes").map(|field| field.verdict).collect::<Vec<_>>()
    };
    assert_eq!(outcomes("--ntasks=384"), ["changed"]);
    assert!(outcomes("--ntasks=16 --nodes=2").is_empty());
    assert!(outcomes("--ntasks=16 --ntasks-per-node=8").is_empty());
    assert!(outcomes("--ntasks=1").is_empty());
}

/// Paths in defaults of variables, options of newer versions of sbatch, and the reason for a security level.
#[test]
fn reports_name_fields_of_the_file() {
    let script =
        "#SBATCH -N 2\n#SBATCH --wait-all-nodes=1\n: \"${APPS:=/fsx/apps}\"\nsrun ./a --apps $APPS\nsrun ./b\n";
    let imported = import(System::Slurm, &[text(script)], &Options::default()).unwrap();
    let paths: Vec<&str> = imported.fields.iter().map(|field| field.path.as_str()).collect();
    assert!(!paths.iter().any(|path| path.contains("apps}, ") || path.ends_with("apps}")), "{paths:#?}");
    let option = imported.fields.iter().find(|field| field.path.contains("wait-all-nodes")).unwrap();
    assert!(option.note.starts_with("under Slurm only"), "{option:?}");
    let job = |context: &str| {
        let file = format!(
            "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {{name: a}}\nspec:\n  mpiReplicaSpecs:\n    \
             Launcher: {{template: {{spec: {{containers: [{{image: 'a:1', command: [mpirun, ./a]{context}}}]}}}}}}\n    \
             Worker: {{replicas: 2, template: {{spec: {{containers: [{{image: 'a:1'}}]}}}}}}\n"
        );
        import(System::MpiJob, &[text(&file)], &Options::default()).unwrap().job
    };
    assert!(job("").contains("often root") && !job(", securityContext: {runAsUser: 1000}").contains("often root"));
}

/// A batch script contains no image. Pods would wait for the placeholder forever.
#[test]
fn a_placeholder_for_the_image_is_a_warning() {
    let imported = |options: &Options| import(System::Slurm, &[text("#SBATCH -N 2\nsrun ./a\n")], options).unwrap();
    let first = imported(&Options::default());
    let codes: Vec<&str> = first.warnings.list.iter().map(|problem| problem.code.name).collect();
    assert_eq!(codes, ["image-placeholder"], "{:#?}", first.warnings);
    let named = imported(&Options { image: Some("ghcr.io/acme/a:1".to_owned()), ..Options::default() });
    assert!(named.warnings.list.is_empty(), "{:#?}", named.warnings);
    // Under Slurm nothing reads it.
    let inputs = Inputs { target: targets::SLURM, ..Inputs::default() };
    assert!(render(&text(&first.job), &inputs).unwrap().warnings.list.is_empty());
}

/// Files of another system, and incomplete files.
#[test]
fn unreadable_files_are_refused_with_a_reason() {
    let old = "apiVersion: kubeflow.org/v1alpha1\nkind: MPIJob\nspec: {gpus: 16}\n";
    let command = "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nspec: {mpiReplicaSpecs: {Launcher: {template: {spec: {containers: \
                   [{image: 'a:1', command: [bash, -c, wandb login 0123456789abcdef0123456789abcdef01234567 && mpirun ./a]}]}}}}}\n";
    let filled = "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nspec: {mpiReplicaSpecs: {Launcher: {template: {spec: {containers: \
                  [{image: 'a:1', command: [mpirun, ./a]}]}}}, Worker: {replicas: '${WORKERS}'}}}\n";
    let cases = [
        (System::MpiJob, old, "v1alpha1"),
        (System::MpiJob, "apiVersion: kubeflow.org/v3\nkind: MPIJob\n", "v3"),
        (System::MpiJob, command, "looks like a secret"),
        (
            System::MpiJob,
            filled,
            "`spec.mpiReplicaSpecs.Worker.replicas` contains `${WORKERS}`, which a program such as envsubst",
        ),
        (
            System::Ffdl,
            "name: a\ngpus: 1\nframework: {name: x, version: y, command: z}\ndata_stores: {id: a}\n",
            "`data_stores`",
        ),
        (
            System::Ffdl,
            "name: a\ngpus: 1\nframework: {name: x, version: y, command: z}\ndata_stores:\n- {connection: {auth_url: test}}\n",
            "`data_stores[0].connection.auth_url` should be a URL",
        ),
        (System::Ffdl, "name: a\ngpus: 0.5\nframework: {name: x, version: y, command: z}\n", "`gpus`"),
        (
            System::Ffdl,
            "name: a\ngpus: 1\nframework: {name: x, version: y, command: z}\ndata_stores:\n- {id: a, connection: {auth_url: \"<store's url>\"}}\n",
            "the placeholder `<store's url>`",
        ),
        (
            System::Slurm,
            "#!/bin/bash -l\n#PBS -l select=2:ngpus=4\ncd ${PBS_O_WORKDIR}\nmpiexec -n 8 ./a\n",
            "its options begin with `#PBS`",
        ),
        (System::Slurm, "#SBATCH -N 1\n#SBATCH hetjob\n#SBATCH -N 5\nsrun ./a : ./b\n", "a heterogeneous job"),
        (System::KubeflowOpenmpi, "IMAGE=<registry>/x:1\nks generate openmpi a --image ${IMAGE}\n", "`<registry>`"),
        (
            System::StableHorovod,
            "worker: {image: {repository: <repo>}}\nmaster: {args: [mpirun -np 2 ./a]}\n",
            "`<repo>`",
        ),
        (System::Slurm, "#SBATCH --ntasks=128 --gpus-per-task=1\nsrun ./a\n", "128 GPUs on one node"),
        (System::StableHorovod, "a: &a {b: 1}\nworker: {<<: *a}\nmaster: {}\n", "`<<`"),
    ];
    for (system, file, expected) in cases {
        let problems = import(system, &[text(file)], &Options::default()).expect_err(file);
        let is_found = problems.list.iter().any(|problem| problem.message.contains(expected));
        assert!(is_found, "{file}: {:#?}", problems.list);
        let hints: Vec<&str> = problems.list.iter().filter_map(|problem| problem.hint.as_deref()).collect();
        assert!(!hints.is_empty() && !hints.iter().any(|hint| hint.contains("`-f ")), "{hints:?}");
    }
}

/// Objects that khorovod or a chart rendered, and files that an editor changed or that are cut off.
#[test]
fn files_of_other_systems_are_recognised() {
    let spec = text(
        "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: a}\nspec: {image: 'a:1', command: [a], workers: {replicas: 2}}\n",
    );
    let made = |target| {
        let inputs = Inputs { keys: Keys::Seed([1; 32]), target, ..Inputs::default() };
        // Without the annotation that holds the spec, as an older version or a cluster's tool may leave them.
        let text = render(&spec, &inputs).unwrap().text;
        text.split_inclusive('\n').filter(|line| !line.contains("khorovod.dev/spec: ")).collect::<String>()
    };
    let chart = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}\n---\napiVersion: batch/v1\nkind: Job\n";
    let cases = [
        (System::Slurm, made(targets::SLURM), "khorovod rendered this script"),
        (System::MpiJob, made(targets::JOB_SET), "khorovod rendered these objects"),
        (System::MpiJob, made(targets::PLAIN), "khorovod rendered these objects"),
        (System::Slurm, made(targets::VOLCANO), "khorovod rendered these objects"),
        (System::MpiJob, "apiVersion: ray.io/v1\nkind: RayJob\n".to_owned(), "`kind: RayJob`"),
        (System::MpiJob, "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n".to_owned(), "`khorovod import pytorchjob`"),
        (System::JobSet, "apiVersion: kubeflow.org/v1\nkind: 'MPIJob'\n".to_owned(), "`khorovod import mpijob`"),
        (System::JobSet, made(targets::JOB_SET), "khorovod rendered these objects"),
        (System::TrainJob, made(targets::TRAIN_JOB), "khorovod rendered these objects"),
        (System::StableHorovod, chart.to_owned(), "helm get values RELEASE"),
        (System::MpiJob, "a:\n\tb: 1\n".to_owned(), "tabs"),
        (System::MpiJob, "apiVersion: [\n".to_owned(), "close the"),
        (System::StableHorovod, "worker: {number: 1}\nmaster: {}\n---\nworker: {}\n".to_owned(), "into its own file"),
        (System::Ffdl, "gpus: 1\nframework: {}\n---\nframework: {}\n".to_owned(), "into its own file"),
    ];
    for (system, file, expected) in cases {
        let problems = import(system, &[text(&file)], &Options::default()).expect_err(&file);
        let [problem] = problems.list.as_slice() else { panic!("{file}: {:#?}", problems.list) };
        assert!(problem.hint.as_deref().unwrap_or_default().contains(expected), "{file}: {problem:#?}");
    }
    // Nothing here uses the old keys.
    let keys =
        "WORKERS=2\nks generate openmpi a --image a:1 --secret ${SECRET} --workers ${WORKERS} --exec 'mpirun ./a'\n";
    import(System::KubeflowOpenmpi, &[text(keys)], &Options::default()).unwrap();
    // Some editors write a byte order mark. The importer ignores it in each encoding.
    let marked = "\u{feff}{components: {a: {image: 'x:1', secret: 's', workers: 2, exec: 'mpirun ./a'}}}\n";
    import(System::KubeflowOpenmpi, &[text(marked)], &Options::default()).unwrap();
}

/// Files other than scripts of Slurm, and incomplete scripts.
#[test]
fn unreadable_scripts_are_refused_with_a_reason() {
    let import = |script: &str| import(System::Slurm, &[text(script)], &Options::default());
    let cases = [
        ("#!/bin/bash\n#SBATCH --nodes=<nodes>\nsrun ./a\n", "import-template"),
        (
            &format!("#SBATCH -N 2\n{}srun ./a\n{}", "if true; then\n".repeat(100_000), "fi\n".repeat(100_000)),
            "import-bad-value",
        ),
        ("#SBATCH -N {{ nodes }}\nsrun ./a\n", "import-template"),
        ("#SBATCH -A <account>\n#SBATCH -N 2\nsrun ./a --data <your data>/x\n", "import-template"),
        ("#!/bin/bash\n#PBS -l nodes=2\nmpirun ./a\n", "import-other-system"),
        ("#!/bin/bash\npython train.py\n", "import-nothing"),
        ("", "import-nothing"),
        ("#!/bin/tcsh\n#SBATCH -N 2\nsetenv A 1\nmpirun ./a\n", "import-bad-value"),
        ("#!/usr/bin/env python3\n#SBATCH -N 2\nimport os\n", "import-bad-value"),
        ("sbatch -N 2 train.sh\n", "import-bad-value"),
        ("sbatch -N 2 --wrap='srun ./a'\nsbatch -N 2 --wrap='srun ./b'\n", "import-bad-value"),
        ("worker: {number: 3}\nmaster: {}\n", "import-other-system"),
        ("#SBATCH --job-name='a\nsrun ./a\n", "import-bad-value"),
        ("#SBATCH --nodes=two\nsrun ./a\n", "import-bad-value"),
        ("#SBATCH --nodes\nsrun ./a\n", "import-bad-value"),
        ("#SBATCH --time=soon\nsrun ./a\n", "import-bad-value"),
        ("#SBATCH -N 2\nhuggingface-cli login hf_abcdefghijklmnopqrstuvwxyz012345\nsrun ./a\n", "import-bad-value"),
        ("#SBATCH -N 2\nsrun ./a --token=hf_abcdefghijklmnopqrstuvwxyz012345\n", "import-bad-value"),
    ];
    for (script, expected) in cases {
        let problems = import(script).expect_err(script);
        assert_eq!(
            problems.list.first().map(|problem| problem.code.name),
            Some(expected),
            "{script}: {:#?}",
            problems.list
        );
        assert!(problems.list.iter().all(|problem| problem.hint.is_some()), "{script}");
    }
    let places = import("#SBATCH -A <account>\n#SBATCH -N 2\nsrun ./a --data <your data>/x\n").expect_err("places");
    assert_eq!(places.list.len(), 2, "every place is told at once: {:#?}", places.list);
    let imported = import("#SBATCH -N 2\nexport HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz012345\nsrun ./a\n").unwrap();
    assert!(!imported.job.contains("hf_abc") && imported.secrets.contains("hf_abc"), "{}", imported.job);
    assert!(imported.fields.iter().all(|field| !field.path.contains("hf_abc")), "{:#?}", imported.fields);
}

//! What is said of fields and files: that verdicts are true, and that several jobs are not taken for one.

use khorovod::import::{Options, System, import};

use super::text;

/// What is said of a field is what became of it.
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
        (System::MpiJob, job(storage, mounted, ""), "volumes[0].hostPath.path", "lost", "the launcher alone had it"),
        (
            System::MpiJob,
            job(storage, mounted, ""),
            "Launcher.template.spec.volumes[1].emptyDir",
            "lost",
            "mounted nowhere",
        ),
        (System::MpiJob, job(run, mounted, ""), "volumes[0].hostPath.type", "lost", "unchecked"),
        (System::MpiJob, job(run, twice, ""), "env[0].value", "lost", "a later entry"),
        (System::MpiJob, job(run, twice, ""), "env[1].value", "kept", ""),
        (System::MpiJob, job(run, twice, ""), "ports[0].containerPort", "lost", "opens a port"),
        (System::MpiJob, job(run, twice, ""), "terminationGracePeriodSeconds", "dropped", "its own"),
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
        (System::Ffdl, learns.clone(), "framework.command: $TRAINING_ID", "changed", "it is empty"),
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

/// The launcher's pod has no GPU: a program that a script runs there by itself is told, with the way out.
#[test]
fn what_trains_in_the_launcher_is_told() {
    let job = |command: &str| {
        format!(
            "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {{name: a}}\nspec: {{mpiReplicaSpecs: {{Launcher: \
             {{template: {{spec: {{containers: [{{image: 'a:1', command: {command}}}]}}}}}}, Worker: {{template: {{spec: \
             {{containers: [{{image: 'a:1', resources: {{limits: {{nvidia.com/gpu: 2}}}}}}]}}}}}}}}}}\n"
        )
    };
    let told = |command: &str| {
        let imported = import(System::MpiJob, &[text(&job(command))], &Options::default()).unwrap();
        let said = imported.fields.into_iter().filter(|field| field.note.contains("runsRanks"));
        said.map(|field| field.path).collect::<Vec<_>>()
    };
    assert_eq!(told("[python, driver.py, '2']"), ["python driver.py 2"]);
    assert_eq!(told("[./driver]"), ["the command"]);
    assert_eq!(told("[bash, -c, 'set -e; mpirun ./a | tee x; python post.py']"), ["python post.py"]);
    assert!(told("[bash, -c, 'set -e; mpirun ./a | tee x']").is_empty());
    assert!(told("[mpirun, python, a.py]").is_empty());
}

/// Two jobs do not become one, the last over the first; values of charts are laid over one another.
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

/// Lines of `ks` as Windows ends them say what they say elsewhere.
#[test]
fn lines_of_windows_are_joined_as_others() {
    let lines = "ks generate openmpi a --image x:1 --secret s \\\n  --workers 2 --gpu 2 --exec 'mpirun ./a'\n";
    let read = |lines: &str| import(System::KubeflowOpenmpi, &[text(lines)], &Options::default()).unwrap().job;
    assert_eq!(read(&lines.replace('\n', "\r\n")), read(lines));
}

/// A template of a batch script is no chart's.
#[test]
fn the_way_out_of_a_template_is_its_own() {
    let hint = |system, file: &str| {
        let problems = import(system, &[text(file)], &Options::default()).expect_err(file);
        problems.list[0].hint.clone().unwrap_or_default()
    };
    assert!(!hint(System::Slurm, "#SBATCH -N {{ nodes }}\nsrun ./a\n").contains("helm"));
    assert!(hint(System::StableHorovod, "worker: {number: {{ n }}}\n").contains("helm"));
}

use serde_json::json;

use super::*;

fn surroundings(folders: &BTreeMap<String, PathBuf>) -> Surroundings<'_> {
    Surroundings { folders, variable: &|name| (name == "TOKEN").then(|| "secret".to_owned()), network: 77, id: "x" }
}

fn objects(pod: &Value) -> Vec<Value> {
    let template = json!({"spec": pod});
    vec![
        json!({"kind": "ConfigMap", "metadata": {"name": "m-1"}, "data": {
            "job.sh": "job=m\nown_job=m-1-launcher\nscales=yes\n", "api.sh": "", "status.sh": "", "sshd_config": "UsePAM no\n"}}),
        json!({"kind": "Secret", "metadata": {"name": "m-1-ssh"}, "data": {"host_key": "a2V5Cg=="}}),
        json!({"kind": "StatefulSet", "metadata": {"name": "m-1-worker", "annotations": {"khorovod.dev/replicas": "2"}},
            "spec": {"serviceName": "m", "template": template}}),
        json!({"kind": "Job", "metadata": {"name": "m-1-launcher"}, "spec": {"template": template}}),
    ]
}

#[test]
fn pods_have_addresses_files_and_variables() {
    let pod = json!({
        "containers": [
            {"name": "proxy", "command": ["proxy"]},
            {"name": "worker", "command": ["/bin/bash", "/etc/khorovod/scripts/worker.sh"], "resources": {"limits": {"nvidia.com/gpu": "4"}},
                "env": [
                    {"name": "A", "value": "1"}, {"name": "B", "value": "$(A) $$(A) $(C) $"},
                    {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                    {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
                "volumeMounts": [{"name": "keys", "mountPath": "/b"}, {"name": "scripts", "mountPath": "/a", "readOnly": true}]}],
        "volumes": [{"name": "scripts", "configMap": {"name": "m-1"}},
            {"name": "keys", "secret": {"secretName": "m-1-ssh", "items": [{"key": "host_key", "path": "k"}]}},
            {"name": "data", "persistentVolumeClaim": {"claimName": "m-data"}}]});
    let none = BTreeMap::new();
    let job = read(&objects(&pod), &surroundings(&none)).unwrap();
    assert_eq!(
        job.pods.iter().map(|pod| pod.name.as_str()).collect::<Vec<_>>(),
        ["m-1-worker-0", "m-1-worker-1", "m-1-launcher"]
    );
    assert_eq!((job.launcher, job.keeps_workers), (2, true));
    assert_eq!(job.notes, ["the container proxy, which is not khorovod's, does not run here"]);
    let second = &job.pods[1];
    assert_eq!((second.address.as_str(), second.gpus), ("127.77.0.2", 4));
    assert_eq!(
        second.names,
        ["m-1-worker-1.m", "m-1-worker-1.m.default.svc", "m-1-worker-1.m.default.svc.cluster.local", "m-1-worker-1"]
    );
    let container = &second.containers[0];
    assert_eq!(container.environment["B"], "1 $(A) $(C) $");
    assert_eq!(
        (container.environment["IP"].as_str(), container.environment["TOKEN"].as_str()),
        ("127.77.0.2", "secret")
    );
    assert_eq!(container.mounts.iter().map(|mount| mount.path.as_str()).collect::<Vec<_>>(), ["/a", "/b"]);
    assert_eq!(second.volumes["keys"], Volume::Files([("k".to_owned(), "key\n".to_owned())].into()));
    assert_eq!(second.volumes["data"], Volume::Kept("m-data".to_owned()));
    let Volume::Files(scripts) = &second.volumes["scripts"] else { panic!("{:?}", second.volumes) };
    assert_eq!(scripts.keys().collect::<Vec<_>>(), ["job.sh", "sshd_config"]);
    assert_eq!(scripts["job.sh"], "job=m\nown_job=''\nscales=''\n");
    assert_eq!(scripts["sshd_config"], "ListenAddress 127.77.0.2\nUsePAM no\n");
}

#[test]
fn settings_that_need_a_cluster_are_refused() {
    let pod = json!({
        "containers": [{"command": ["/etc/khorovod/scripts/x"], "env": [
            {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]}],
        "volumes": [{"name": "more", "secret": {"secretName": "other"}}, {"name": "disk", "csi": {}}]});
    let none = BTreeMap::new();
    let problems = read(&objects(&pod), &surroundings(&none)).unwrap_err();
    assert_eq!(problems.len(), 3, "{problems:#?}");
    assert!(problems[0].contains("set KEY in your shell"), "{problems:#?}");
    assert!(problems[2].contains("--volume more=FOLDER"), "{problems:#?}");
    let folders = ["more", "disk"].map(|name| (name.to_owned(), PathBuf::from("/f"))).into();
    let problems = read(&objects(&pod), &surroundings(&folders)).unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:#?}");
}

//! Where the pods ran, with which rights, and how they ended → the sections of the spec that say so.

use serde_json::{Map, Value as Json};

use super::{Parts, list, put};
use crate::context::Context;

pub fn placement(parts: &Parts, context: &mut Context<'_>) {
    let pod = &parts.pod;
    for (theirs, ours) in [
        ("nodeSelector", "nodeSelector"),
        ("tolerations", "tolerations"),
        ("priorityClassName", "priorityClass"),
        ("runtimeClassName", "runtimeClass"),
        ("hostNetwork", "hostNetwork"),
    ] {
        put(context, &format!("spec.placement.{ours}"), &pod[theirs]);
    }
    if let Some(spread) = list(&pod["topologySpreadConstraints"]).next() {
        put(context, "spec.placement.spread", &spread["topologyKey"]);
    }
    // Ours is the last wish, and names the run.
    let mut affinity = pod["affinity"].clone();
    let terms = affinity.pointer_mut("/podAffinity/preferredDuringSchedulingIgnoredDuringExecution");
    if let Some(terms) = terms.and_then(Json::as_array_mut)
        && let Some(key) = terms.last().and_then(|term| {
            let term = &term["podAffinityTerm"];
            term["labelSelector"]["matchLabels"].get("khorovod.dev/run").and(Some(term["topologyKey"].clone()))
        })
    {
        terms.pop();
        let empty = terms.is_empty();
        put(context, "spec.placement.pack", &key);
        if empty && let Some(map) = affinity["podAffinity"].as_object_mut() {
            map.shift_remove("preferredDuringSchedulingIgnoredDuringExecution");
        }
        if affinity["podAffinity"].as_object().is_some_and(Map::is_empty)
            && let Some(map) = affinity.as_object_mut()
        {
            map.shift_remove("podAffinity");
        }
    }
    if affinity.as_object().is_some_and(|map| !map.is_empty()) {
        context.spec.put("spec.placement.affinity", affinity, "");
    }
}

/// The gang, the end, and who may reach the pods.
pub fn around(parts: &Parts, context: &mut Context<'_>) {
    let policy = &parts.job["spec"]["runPolicy"];
    let gang = parts.beside("PodGroup").next().map(|group| match group["apiVersion"].as_str() {
        Some(version) if version.starts_with("scheduling.volcano.sh") => ("volcano", "volcano"),
        _ => ("coscheduling", "scheduler-plugins-scheduler"),
    });
    if let Some((gang, _)) = gang {
        context.spec.put("spec.scheduling.gang", gang, "");
        put(context, "spec.scheduling.queue", &policy["schedulingPolicy"]["queue"]);
    }
    let scheduler = parts.pod["schedulerName"].as_str();
    if scheduler != gang.map(|(_, scheduler)| scheduler) {
        put(context, "spec.scheduling.scheduler", &parts.pod["schedulerName"]);
    }
    if policy["suspend"] == true {
        context.spec.put("spec.scheduling.suspend", true, "");
    }
    if let Some(seconds) = policy["ttlSecondsAfterFinished"].as_u64() {
        context.spec.put("spec.lifecycle.ttlAfterFinished", format!("{seconds}s"), "");
    }
    if policy["cleanPodPolicy"] == "None" {
        context.spec.put("spec.lifecycle.release", "keep", "");
    }
}

pub fn security(parts: &Parts, context: &mut Context<'_>) {
    let settings = &parts.pod["securityContext"];
    let user = settings.get("runAsUser");
    let has = |key: &str| list(&parts.pod["volumes"]).any(|volume| volume.get(key).is_some());
    let adds = &parts.worker["securityContext"]["capabilities"]["add"];
    let profile = match (parts.pod["hostNetwork"] == true || has("hostPath") || !adds.is_null(), user) {
        (true, _) => "privileged",
        (_, None) => "openshift",
        (_, Some(user)) if has("nfs") || *user == 0 => "baseline",
        _ => "restricted",
    };
    context.spec.put("spec.security.profile", profile, "");
    put(context, "spec.security.runAsUser", &settings["runAsUser"]);
    put(context, "spec.security.fsGroup", &settings["fsGroup"]);
    put(context, "spec.security.serviceAccount", &parts.pod["serviceAccountName"]);
    put(context, "spec.security.readOnlyRootFilesystem", &parts.worker["securityContext"]["readOnlyRootFilesystem"]);
    if parts.beside("NetworkPolicy").next().is_none() {
        context.spec.put("spec.security.networkPolicy", false, "");
    }
}

//! What the launcher was told → `spec.launcher`, the command, and the variables that the spec has words for.

use serde_json::{Value as Json, json};

use super::{Parts, inputs, list, put, text_of};
use crate::context::Context;
use khorovod_compiler::pipeline;

/// Stands for the program while the launch is taken apart.
const PROGRAM: &str = "khorovod-import";

pub fn launcher(parts: &Parts, context: &mut Context<'_>) {
    let leads = parts.job["spec"]["runLauncherAsWorker"] == true;
    context.spec.put("spec.launcher.kind", parts.setting("kind"), "");
    context.spec.put("spec.launcher.mpi", parts.setting("mpi"), "");
    if leads {
        context.spec.put("spec.launcher.runsRanks", true, "");
    } else {
        for name in ["cpu", "memory"] {
            put(context, &format!("spec.launcher.{name}"), &parts.launcher["resources"]["limits"][name]);
        }
    }
    if parts.launcher["image"] != parts.worker["image"] {
        put(context, "spec.launcher.image", &parts.launcher["image"]);
    }
    if let Some(data) = parts.data("retries") {
        let seconds = |key: &str| data.get(key).and_then(Json::as_str).map(|seconds| format!("{seconds}s"));
        let retries = data["retries"].as_str().and_then(|text| text.parse::<u32>().ok());
        context.spec.put("spec.launcher.retries", retries, "");
        for (key, to) in [("wait-timeout", "spec.launcher.waitTimeout"), ("deadline", "spec.lifecycle.deadline")] {
            if let Some(value) = seconds(key) {
                context.spec.put(to, value, "");
            }
        }
        if let Some(value) = seconds("idle-timeout") {
            context.spec.put("spec.launcher.interactive", true, "");
            context.spec.put("spec.launcher.idleTimeout", value, "");
        }
    }
    if parts.setting("port") != "2222" {
        context.spec.put("spec.ssh.port", parts.setting("port").parse::<u32>().ok(), "");
    }
    if parts.setting("user") != "khorovod" {
        context.spec.put("spec.ssh.user", parts.setting("user"), "");
    }
    elastic(parts, context);
}

fn elastic(parts: &Parts, context: &mut Context<'_>) {
    let Ok(least) = parts.setting("min_workers").parse::<u32>() else { return };
    context.spec.put("spec.elastic.minWorkers", least, "");
    context.spec.put("spec.elastic.maxWorkers", parts.setting("max_workers").parse::<u32>().ok(), "");
    let words = parts.settings.get("launch").map_or(&[][..], Vec::as_slice);
    let behind = |option: &str, at: usize| {
        let found = words.iter().position(|word| word == option)?;
        words.get(found + at)?.parse::<u32>().ok()
    };
    if let Some(seconds) = behind("--elastic-timeout", 1) {
        context.spec.put("spec.elastic.timeout", format!("{seconds}s"), "");
    }
    if let Some(limit) = behind("--reset-limit", 1) {
        context.spec.put("spec.elastic.resetLimit", limit, "");
    }
    if let (Some(low), Some(high)) = (behind("--blacklist-cooldown-range", 1), behind("--blacklist-cooldown-range", 2))
    {
        context.spec.put("spec.elastic.cooldown", json!([low, high]), "");
    }
}

/// Variables that `collective` and `observability` stand for.
pub fn knobs(parts: &Parts, context: &mut Context<'_>) {
    if let Some(level) = parts.variable("NCCL_DEBUG") {
        context.spec.put("spec.collective.debug", level, "");
    }
    let tcp = ["OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_btl_tcp_if_exclude"];
    if let Some(name) =
        parts.variable("NCCL_SOCKET_IFNAME").filter(|_| tcp.iter().any(|tcp| parts.variable(tcp).is_some()))
    {
        context.spec.put("spec.collective.interface", name, "");
    }
    if let Some(off) = parts.variable("NCCL_IB_DISABLE") {
        context.spec.put("spec.collective.infiniband", off == "0", "");
    }
    if let Some(bytes) = parts.variable("HOROVOD_FUSION_THRESHOLD") {
        context.spec.put("spec.collective.fusionThreshold", bytes, "");
    }
    if let Some(milliseconds) = parts.variable("HOROVOD_CYCLE_TIME").and_then(|text| text.parse::<u32>().ok()) {
        context.spec.put("spec.collective.cycleTime", milliseconds, "");
    }
    for (name, to) in [("HOROVOD_AUTOTUNE", "autotune"), ("HOROVOD_HIERARCHICAL_ALLREDUCE", "hierarchicalAllreduce")] {
        if let Some(on) = parts.variable(name) {
            context.spec.put(&format!("spec.collective.{to}"), on == "1", "");
        }
    }
    if let Some(path) = parts.variable("HOROVOD_TIMELINE") {
        context.spec.put("spec.collective.timeline", path, "");
    }
    if let Some(path) = parts.variable("TENSORBOARD_LOGDIR") {
        context.spec.put("spec.observability.tensorboard.logdir", path, "");
    }
    if let Some(port) = list(&parts.worker["ports"]).find(|port| port["name"] == "metrics") {
        put(context, "spec.observability.metrics.port", &port["containerPort"]);
        if parts.beside("PodMonitor").next().is_some() {
            context.spec.put("spec.observability.metrics.podMonitor", true, "");
        }
    }
}

/// The program, the launcher's options, and the user's own variables: what is left of the launch and the environment
/// when that which khorovod makes of the rest is taken away.
pub fn launch(parts: &Parts, context: &mut Context<'_>) {
    let words = parts.settings.get("launch").cloned().unwrap_or_default();
    if parts.setting("kind") == "mpirun" && !words.iter().any(|word| word == "--tag-output" || word == "-prepend-rank")
    {
        context.spec.put("spec.observability.logs.rankPrefix", false, "");
    }
    if !words.is_empty() {
        context.spec.put("spec.command", json!([PROGRAM]), "");
    }
    let Ok((mut plans, _)) = pipeline::plans(&text_of(context), &inputs()) else { return };
    let Some((plan, _)) = plans.pop() else { return };
    for variable in list(&parts.worker["env"]) {
        let name = variable["name"].as_str().unwrap_or_default();
        if plan.env.iter().any(|(known, value)| known == name && variable["value"] == **value) {
            continue;
        }
        let value = match variable.get("valueFrom") {
            Some(from) => value_from(from),
            None => variable.get("value").cloned().unwrap_or_else(|| "".into()),
        };
        context.spec.put_key("spec.env", name, value, "");
    }
    if words.is_empty() {
        return;
    }
    let check = words.windows(2).position(|pair| pair[1] == "/etc/khorovod/scripts/rank.sh");
    let mut own = plan.launch.iter().zip(&words).take_while(|(planned, found)| planned == found).count();
    // An option with another value is the user's.
    let value = plan.launch.get(own).is_some_and(|next| !next.starts_with('-') && next != PROGRAM);
    if value && own > 0 && words[own - 1].starts_with('-') {
        own -= 1;
    }
    let (args, command) = match check {
        Some(at) => (&words[own.min(at)..at], &words[at + 2..]),
        // Without a check it is not said where options end.
        None => {
            let options = words[own..].iter().take_while(|word| word.starts_with('-')).count();
            words[own..].split_at(options)
        }
    };
    let args: Vec<_> = args.iter().filter(|word| *word != "--no_python").collect();
    if !args.is_empty() {
        context.spec.put("spec.launcher.args", json!(args), "");
    }
    context.spec.put("spec.command", json!(command), "");
}

fn value_from(from: &Json) -> Json {
    let key = |reference: &Json, kind: &str| json!({kind: reference["name"], "key": reference["key"]});
    match (from.get("secretKeyRef"), from.get("configMapKeyRef")) {
        (Some(secret), _) => key(secret, "secret"),
        (None, Some(map)) => key(map, "configMap"),
        (None, None) => json!({"field": from["fieldRef"]["fieldPath"]}),
    }
}

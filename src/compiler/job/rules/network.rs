//! Rules about ports, the network of the host, and the Pod Security level.

use serde_json::json;

use super::{Case, key, storage};
use crate::job::declare::{self, EnvValue};
use crate::job::read::edits;
use crate::job::types::limits::{AGENTS_PORT, DOWNLOAD_PORT, FIRST_RANK_PORT, RENDEZVOUS_PORT};
use crate::job::types::spec::{LauncherKind, Level, PodSecurityLevel};
use crate::problem::{Fix, Problem, Span, codes};

codes! {
    /// The spec needs more than its Pod Security level allows
    ///
    /// `hostNetwork`, `hostPath` and RDMA (the capability `IPC_LOCK`) need the Pod Security level `privileged`. Inline NFS
    /// volumes and root need `baseline`. A namespace that enforces a stricter level refuses the pods. If the namespace allows the
    /// level, name it in `security: {podSecurityLevel: ...}`. This field does not change what the namespace allows; ask an
    /// administrator for that. The pods get only the permissions that the spec needs.
    Error POD_SECURITY_LEVEL = "pod-security-level";

    /// A port below 1024 needs root
    ///
    /// The pods run as an ordinary user, which cannot listen on these ports. Remove `ssh.port` to use 2222.
    Error PRIVILEGED_PORT = "privileged-port";

    /// The login name `root` for another user
    ///
    /// In every pod, `root` is the name of user 0. The pods run as another user, so ssh would not find the user by this name,
    /// and no worker would start.
    Error SSH_USER = "ssh-user";

    /// Two processes use the same port
    ///
    /// Pods on the network of the host share the ports of the node: the sshd of the node uses port 22, and two workers on
    /// one node cannot use the same port. Metrics need another port than sshd and the rendezvous of torchrun.
    Error PORT_CLASH = "port-clash";

    /// NCCL uses the loopback interface, or may choose it
    ///
    /// With `NCCL_SOCKET_IFNAME=lo` ranks on different hosts never connect. With `NCCL_SOCKET_IFNAME=^docker0` NCCL may choose the loopback interface. Ranks on different hosts then never connect.
    /// Exclude both interfaces with `^lo,docker0`, or do not set the variable.
    Error DOCKER0_ALONE = "loopback-interface";

    /// An interface that pods usually do not have
    ///
    /// Pods usually have only the interfaces `eth0` and `lo`. Names such as `ib0` and `eno1` are interfaces of the node. If no
    /// interface of the pod has the name, the ranks do not connect. Remove the setting, or set `placement.hostNetwork`. You can
    /// leave it if your cluster adds an interface of this name to the pods.
    Note HOST_INTERFACE = "host-interface";
}

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    interface(case, problems);
    // The rules below are about pods.
    if case.spec.target.has_pods {
        pod_security_level(case, problems);
        ports(case, problems);
    }
}

fn pod_security_level(case: &Case<'_>, problems: &mut Vec<Problem>) {
    if !case.could_read(&["security.podSecurityLevel"]) {
        return;
    }
    let have = case.spec.security.pod_security_level;
    let given = field!(case.security.pod_security_level).map(|at| at.span);
    let mut need = |level: PodSecurityLevel, span: Span, what: &str| {
        if have >= level {
            return;
        }
        let word = if level == PodSecurityLevel::Privileged { "privileged" } else { "baseline" };
        let mut problem =
            Problem::new(&POD_SECURITY_LEVEL, span, format!("{what} needs the Pod Security level `{word}`"));
        problem = match given {
            Some(given) => problem
                .and(given, "the chosen level")
                .hint(format!("write `podSecurityLevel: {word}`, or remove {what}")),
            None if case.body.security.is_some() => {
                problem.hint(format!("add `podSecurityLevel: {word}` under `security`, or remove {what}"))
            }
            None => problem.hint(format!("add `security: {{podSecurityLevel: {word}}}`, or remove {what}")),
        };
        // The namespace may not allow the level, so the user chooses whether to apply this fix.
        problems.push(Problem { fix: level_fix(case, given, word), ..problem.by_choice() });
    };
    let placement = field!(case.placement.host_network);
    if let Some(at) = placement.filter(|at| at.value) {
        need(PodSecurityLevel::Privileged, at.key, "`placement.hostNetwork`");
    }
    // An invalid entry of `storage` may have both `nfs` and `hostPath`. In that case only the problem of the entry is reported.
    let host_paths = if case.could_read(&["storage"]) { storage::host_paths(case) } else { Vec::new() };
    for (span, what) in host_paths {
        let level = if what == "nfs" { PodSecurityLevel::Baseline } else { PodSecurityLevel::Privileged };
        need(level, span, &format!("storage by `{what}`"));
    }
    if let Some(workers) = &case.body.workers {
        let groups = workers.groups.iter().flat_map(|at| &at.value).filter_map(|group| group.rdma.as_ref());
        for rdma in workers.rdma.iter().chain(groups) {
            need(PodSecurityLevel::Privileged, rdma.key, "`rdma`");
        }
    }
    let user = field!(case.security.run_as_user);
    if let Some(at) = user.filter(|at| at.0 == 0) {
        need(PodSecurityLevel::Baseline, at.key, "`security.runAsUser: 0`");
    }
}

/// The edit that sets the Pod Security level. `given` is the place of another level.
fn level_fix(case: &Case<'_>, given: Option<Span>, word: &str) -> Option<Fix> {
    if let Some(span) = given {
        return Some(Fix { span, text: word.to_owned() });
    }
    let body = case.document.get("spec")?;
    match body.get("security") {
        Some(security) => {
            edits::field(case.texts, security, declare::Security::SHAPE.keys, "podSecurityLevel", &json!(word))
        }
        None => {
            let value = json!({"podSecurityLevel": word});
            edits::field(case.texts, body, declare::Body::SHAPE.keys, "security", &value)
        }
    }
}

fn ports(case: &Case<'_>, problems: &mut Vec<Problem>) {
    if !case.could_read(&["security.podSecurityLevel", "security.runAsUser", "launcher.kind", "ssh.port"]) {
        return;
    }
    let spec = case.spec;
    let ranks = field!(case.observability.metrics.port);
    let launcher = field!(case.observability.launcher_metrics.port);
    if let (Some(ranks), Some(at)) = (ranks, launcher.filter(|at| ranks.is_some_and(|ranks| ranks.0 == at.0))) {
        let problem = Problem::new(&PORT_CLASH, at.span, format!("the ranks already serve metrics on port {}", at.0));
        problems.push(problem.and(ranks.span, "here").hint("choose another port for the metrics of the launcher"));
    }
    let metrics = [ranks, launcher];
    let s3 = |entry: &declare::Storage| key(entry.s3.as_ref().filter(|at| !at.direction().value.0.1));
    let downloads = case.storage().find_map(|entry| key(entry.download.as_ref()).or_else(|| s3(entry)));
    for at in metrics.into_iter().flatten().chain(field!(case.ssh.port)).filter(|at| at.0 == u32::from(DOWNLOAD_PORT)) {
        if let Some(downloads) = downloads {
            let message = format!("the pods serve downloads to each other at port {}", at.0);
            problems
                .push(Problem::new(&PORT_CLASH, at.span, message).and(downloads, "here").hint("choose another port"));
        }
    }
    if spec.launcher.kind.has_agents() {
        let slots = spec.groups.iter().map(|group| group.slots).max().unwrap_or(1);
        let of_ranks = spec.launcher.kind == LauncherKind::Tensorflow;
        let is_taken = |port: u32| {
            [RENDEZVOUS_PORT, AGENTS_PORT].map(u32::from).contains(&port)
                || of_ranks && (FIRST_RANK_PORT..FIRST_RANK_PORT + slots).contains(&port)
        };
        for at in metrics.into_iter().flatten().filter(|at| is_taken(at.0)) {
            let message = format!("{} already uses port {} of the pods", spec.launcher.kind.name(), at.0);
            problems.push(Problem::new(&PORT_CLASH, at.span, message).hint("choose another port for metrics"));
        }
        return;
    }
    let user = field!(case.ssh.user);
    if let Some(at) = user.filter(|at| at.0 == "root" && spec.security.run_as_user != Some(0)) {
        let user_of_pods = spec
            .security
            .run_as_user
            .map_or_else(|| "as a user that the platform assigns".to_owned(), |id| format!("as user {id}"));
        let problem = Problem::new(&SSH_USER, at.span, format!("`root` is user 0, and the pods run {user_of_pods}"));
        let root = match spec.security.pod_security_level {
            PodSecurityLevel::OpenShift => "",
            _ => "; or run as root: `security: {podSecurityLevel: baseline, runAsUser: 0}`",
        };
        problems.push(problem.hint(format!("remove `user`{root}")));
    }
    let ssh = field!(case.ssh.port);
    let default = declare::Ssh::default().port().value.0;
    let host_network = key(field!(case.placement.host_network)).filter(|_| spec.placement.host_network);
    if let (Some(port), Some(host)) = (ssh, host_network)
        && port.0 == 22
    {
        let problem =
            Problem::new(&PORT_CLASH, port.span, "the sshd of the node uses port 22 on the network of the host");
        problems.push(problem.and(host, "the network of the host").hint(format!("remove `port` to use {default}")));
    } else if let Some(port) = ssh.filter(|port| port.0 < 1024 && spec.security.run_as_user != Some(0)) {
        let problem = Problem::new(&PRIVILEGED_PORT, port.span, format!("only root may listen on port {}", port.0));
        problems.push(problem.hint(format!("write `{default}`, or remove `port`")).fix(port.span, default.to_string()));
    }
    let near = [
        ("pack", field!(case.placement.pack)),
        ("topology", field!(case.placement.topology.required)),
        ("topology", field!(case.placement.topology.preferred)),
    ];
    let one_node =
        near.into_iter().find(|(_, level)| level.is_some_and(|at| Level::new(&at.0).label == "kubernetes.io/hostname"));
    if let (Some(host), Some((name, Some(at)))) = (host_network, one_node) {
        let message = format!("workers on one node cannot share its port {}", spec.ssh.port);
        let problem = Problem::new(&PORT_CLASH, at.span, message);
        problems.push(problem.and(host, "the network of the host").hint(format!("remove `{name}` or `hostNetwork`")));
    }
    for at in metrics.into_iter().flatten().filter(|at| at.0 == u32::from(spec.ssh.port)) {
        let mut problem = Problem::new(&PORT_CLASH, at.span, format!("sshd already listens on port {}", at.0));
        if let Some(ssh) = ssh {
            problem = problem.and(ssh.span, "here");
        }
        problems.push(problem.hint("choose another port for metrics"));
    }
}

fn interface(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let knob = field!(case.collective.interface).map(|at| (at.0.as_str(), at.span));
    let env = case.env().find(|(name, _)| name.0 == "NCCL_SOCKET_IFNAME");
    let env = env.and_then(|(_, at)| match &at.value {
        EnvValue::Literal(text) => Some((text.as_str(), at.span)),
        EnvValue::From(_) => None,
    });
    let workers: u64 = case.spec.groups.iter().map(|group| u64::from(group.replicas)).sum();
    if let Some((value, span)) = env.filter(|(value, _)| matches!(*value, "lo" | "=lo") && workers > 1) {
        let message = format!("`{value}` connects only ranks of the same host, and the job has {workers} workers");
        problems.push(Problem::new(&DOCKER0_ALONE, span, message).hint("remove the variable"));
    }
    let others = ["GLOO_SOCKET_IFNAME", "HOROVOD_GLOO_IFACE", "TP_SOCKET_IFNAME"].into_iter().filter_map(|name| {
        let (_, at) = case.env().find(|(own, _)| own.0 == name)?;
        match &at.value {
            EnvValue::Literal(text) => Some((text.as_str(), at.span)),
            EnvValue::From(_) => None,
        }
    });
    let in_pods = case.spec.target.has_pods && !case.spec.placement.host_network && case.could_read(&["placement"]);
    let of_host =
        |value: &str| ["bond", "en", "hsn", "ib"].iter().any(|start| value.trim_start_matches('=').starts_with(start));
    let mut all = knob.into_iter().chain(env).chain(others);
    if let Some((value, span)) = all.find(|(value, _)| in_pods && of_host(value)) {
        let message = format!("`{value}` is an interface of a node, and pods usually have only `eth0`");
        let hint = "remove it, or set `placement: {hostNetwork: true}`; leave it if your cluster gives the pods this interface";
        problems.push(Problem::new(&HOST_INTERFACE, span, message).hint(hint));
    }
    for (value, span) in knob.into_iter().chain(env) {
        if value == "^docker0" {
            let problem = Problem::new(&DOCKER0_ALONE, span, "`^docker0` alone lets NCCL choose `lo`");
            problems.push(problem.hint("write `\"^lo,docker0\"`, or leave it out").fix(span, "\"^lo,docker0\""));
        }
    }
}

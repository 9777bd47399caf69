//! Finds the programs and devices of this machine, and reports those that a job needs but that are missing.

use std::env;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::pods::Job;
use crate::cli::environment;
use crate::cli::program::{Answer, output_within};

/// The folders of programs for administrators, which are not in the PATH of every user.
const SYSTEM: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/sbin"];

/// A program in PATH or among the programs for administrators.
pub fn program(name: &str) -> Option<PathBuf> {
    let folders = environment::search_path().into_iter().chain(SYSTEM.map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Checks the programs and permissions that every local run needs. Returns a line with the fix for each missing one.
pub fn missing_tools() -> Vec<String> {
    let mut missing = Vec::new();
    for (name, package) in
        [("unshare", "util-linux"), ("pivot_root", "util-linux"), ("mount", "mount"), ("hostname", "hostname")]
    {
        if program(name).is_none() {
            missing.push(not_installed(name, package));
        }
    }
    if missing.is_empty() {
        missing.extend(namespaces().err());
    }
    missing
}

/// The line for a missing program.
pub fn not_installed(name: &str, package: &str) -> String {
    format!("{name} is not installed: install the package {package} (Debian and Ubuntu: apt install {package})")
}

/// Whether this user may create the namespaces of a pod.
fn namespaces() -> Result<(), String> {
    let script = "mount -t tmpfs x /tmp && exec unshare --user --map-user=65532 --map-group=65532 true";
    let outer = "--user --map-root-user --mount --pid --fork --kill-child --mount-proc /bin/sh -c";
    let args: Vec<&str> = outer.split(' ').chain([script]).collect();
    // A machine on which other work runs needs some time to create them.
    let why = match output_within("unshare", &args, Duration::from_secs(60)) {
        Answer::Output(_) => return Ok(()),
        Answer::Failed(why) => why,
        Answer::Missing => "it is not in PATH".to_owned(),
    };
    if why.starts_with("it did not end") {
        return Err(format!("this machine is too busy for a check (unshare: {why}): try again"));
    }
    let setting = |name: &str| fs::read_to_string(format!("/proc/sys/{name}")).map(|text| text.trim().to_owned());
    let is = |name: &str, value: &str| setting(name).is_ok_and(|found| found == value);
    let fix = if why.contains("unrecognized option") {
        "util-linux 2.36 or newer is needed"
    } else if is("user/max_user_namespaces", "0") {
        "run: sudo sysctl -w user.max_user_namespaces=10000"
    } else if is("kernel/unprivileged_userns_clone", "0") {
        "run: sudo sysctl -w kernel.unprivileged_userns_clone=1"
    } else if is("kernel/apparmor_restrict_unprivileged_userns", "1") {
        "run: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
    } else if Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists() {
        "this is a container, which must be started with --privileged"
    } else {
        "ask the administrator of this machine for user namespaces"
    };
    Err(format!("this machine does not let you create namespaces, in which pods run (unshare: {why}): {fix}"))
}

/// The GPUs of this machine for a resource, and the environment variable that selects some of them for a process. None
/// for a resource that has no such variable.
pub fn gpus(resource: &str) -> Option<(Vec<String>, &'static str)> {
    let (folder, prefix, name) = match resource {
        "nvidia.com/gpu" => ("/dev", "nvidia", "CUDA_VISIBLE_DEVICES"),
        "amd.com/gpu" => ("/dev/dri", "renderD", "HIP_VISIBLE_DEVICES"),
        "habana.ai/gaudi" => ("/dev/accel", "accel", "HABANA_VISIBLE_DEVICES"),
        _ => return None,
    };
    // If the user has set the variable, the job uses only these GPUs.
    if let Some(chosen) = env::var(name).ok().filter(|chosen| !chosen.is_empty()) {
        return Some((chosen.split(',').map(|one| one.trim().to_owned()).collect(), name));
    }
    let is_number = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let count = names.filter(|name| name.strip_prefix(prefix).is_some_and(is_number)).count();
    Some(((0..count).map(|index| index.to_string()).collect(), name))
}

/// The number of processors.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The first port that the job needs and another program uses.
pub fn used_port(job: &Job, ssh_port: Option<u16>) -> Option<u16> {
    let is_used = |address: Ipv4Addr, port: u16| TcpListener::bind((address, port)).is_err();
    if let Some(port) = ssh_port {
        let mut addresses = job.pods.iter().filter_map(|pod| pod.address.parse().ok());
        return addresses.any(|address| is_used(address, port)).then_some(port);
    }
    // torchrun and its agents listen on every address of the machine.
    [29400, 29401].into_iter().find(|port| is_used(Ipv4Addr::UNSPECIFIED, *port))
}

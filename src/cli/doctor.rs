//! `khorovod doctor`: checks the ssh seed, kubectl and its cluster, and Helm and its plugins on this machine.

use khorovod::{KubeVersion, show};
use serde_json::{Value as Json, json};

use super::destination::{Destination, TextOrJson};
use super::program::{Answer, output_of};
use super::version::VERSION;
use super::{Failure, Outcome, output, seed};

#[derive(Debug, clap::Args)]
#[command(after_help = "Each line is a check, the result, and what to do. Nothing is changed. A cluster\n\
    is not needed: only commands such as `run` and `status` need one. The exit code\n\
    is 1 if a check failed; warnings do not matter to it.")]
pub struct Args {
    /// Print text (the default) or json, or write to a file that ends in .txt or .json
    #[arg(short, long, value_name = "FORMAT|FILE", value_parser = Destination::<TextOrJson>::parser())]
    output: Option<Destination<TextOrJson>>,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Ok,
    /// Something is missing that only some uses need.
    Skipped,
    Warning,
    Failed,
}

impl Status {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Skipped => "skipped",
            Self::Warning => "warning",
            Self::Failed => "failed",
        }
    }
}

/// One check: what was found, and what to do about it.
struct Check {
    name: &'static str,
    status: Status,
    found: String,
    action: Option<String>,
}

impl Check {
    fn new(name: &'static str, status: Status, found: impl Into<String>) -> Self {
        Self { name, status, found: found.into(), action: None }
    }

    fn action(self, action: impl Into<String>) -> Self {
        Self { action: Some(action.into()), ..self }
    }
}

pub fn run(args: Args) -> Outcome {
    let Destination { format, path } = args.output.unwrap_or_else(Destination::stdout);
    let program = super::environment::kubectl();
    let program = program.to_string_lossy();
    let kubectl = output_of(&program, &["version", "--client", "-o", "json"]);
    let mut checks = vec![this_program(), ssh_seed(), kubectl_client(&kubectl)];
    if matches!(kubectl, Answer::Output(_)) {
        checks.push(cluster(&output_of(&program, &["version", "-o", "json", "--request-timeout=5s"])));
    }
    checks.extend(helm(&output_of("helm", &["version", "--short"])));
    let failed = checks.iter().any(|check| check.status == Status::Failed);
    let text = match format {
        TextOrJson::Text => checks.iter().map(line).collect(),
        TextOrJson::Json => document(&checks),
    };
    output::text(&text, path.as_deref())?;
    if failed { Err(Failure::Problems) } else { Ok(()) }
}

/// The check as lines of text.
fn line(check: &Check) -> String {
    let action = check.action.as_ref().map_or(String::new(), |action| format!("{:21}{action}\n", ""));
    show::clean(&format!("{:<9}{:<12}{}\n{action}", check.status.word(), check.name, check.found)).into_owned()
}

/// The checks as JSON.
fn document(checks: &[Check]) -> String {
    let check = |Check { name, status, found, action }: &Check| json!({"check": name, "status": status.word(), "found": found, "action": action});
    let checks: Vec<Json> = checks.iter().map(check).collect();
    format!("{:#}\n", json!({ "checks": checks }))
}

fn this_program() -> Check {
    let path = std::env::current_exe().map_or(String::new(), |path| format!(", {}", path.display()));
    let system = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    Check::new("khorovod", Status::Ok, format!("{VERSION}, {system}{path}"))
}

/// The seed that `render` would use.
fn ssh_seed() -> Check {
    let check = |status, found: String| Check::new("ssh seed", status, found);
    match seed::Seed::of_machine() {
        Ok(seed::Seed::Known(_)) => match seed::read_given_seed(None) {
            Ok(Some(_)) => check(Status::Ok, format!("in {}", super::environment::SSH_SEED)),
            _ => check(Status::Ok, seed::state("seed").map_or(String::new(), |path| path.display().to_string())),
        },
        Ok(seed::Seed::New(_, path)) => {
            check(Status::Ok, format!("none yet; the first render creates {}", path.display()))
        }
        Ok(seed::Seed::Missing | seed::Seed::LeftOut) => {
            check(Status::Warning, "none, and none is created here".to_owned())
                .action("use --ssh-seed FILE or KHOROVOD_SSH_SEED, or name a Secret in spec.ssh.secretName")
        }
        Err(Failure::Usage(message) | Failure::File(message)) => {
            check(Status::Failed, message).action("replace it by 32 random bytes: head -c 32 /dev/urandom | base64")
        }
        Err(Failure::Problems | Failure::Ended(_)) => check(Status::Failed, "it cannot be read".to_owned()),
    }
}

fn kubectl_client(answer: &Answer) -> Check {
    let check = |status, found: &str| Check::new("kubectl", status, found);
    match answer {
        Answer::Output(text) => check(Status::Ok, &version_of(text, "clientVersion")),
        Answer::Missing => check(Status::Warning, "not in PATH")
            .action("install it to apply what khorovod renders: https://kubernetes.io/docs/tasks/tools/"),
        Answer::Failed(why) => check(Status::Failed, why).action("run `kubectl version --client` to see why"),
    }
}

/// The cluster that kubectl connects to.
fn cluster(answer: &Answer) -> Check {
    let check = |status, found: String| Check::new("cluster", status, found);
    let default = KubeVersion::default();
    match answer {
        Answer::Output(text) => {
            let found = version_of(text, "serverVersion");
            match minor(&found) {
                Some(version) if version != default => check(Status::Ok, found).action(format!(
                    "render for it with `--kube-version {version}`; the default is {default}"
                )),
                _ => check(Status::Ok, found),
            }
        }
        Answer::Failed(why) => check(Status::Skipped, why.clone()).action(
            "only commands such as `run` and `status` need a cluster: check `kubectl config current-context`, or start one with kind or minikube",
        ),
        Answer::Missing => check(Status::Skipped, "kubectl is missing".to_owned()),
    }
}

/// `v1.34.1` in the output of `kubectl version -o json`.
fn version_of(text: &str, key: &str) -> String {
    let parsed: Json = serde_json::from_str(text).unwrap_or_default();
    parsed[key]["gitVersion"].as_str().unwrap_or("of an unknown version").to_owned()
}

/// `1.34` of `v1.34.1-gke.100`.
fn minor(version: &str) -> Option<KubeVersion> {
    let mut parts = version.strip_prefix('v')?.split('.');
    format!("{}.{}", parts.next()?, parts.next()?).parse().ok()
}

/// Helm, and the plugin that Helm 4 needs for post-rendering.
fn helm(answer: &Answer) -> Vec<Check> {
    let version = match answer {
        Answer::Output(text) => text.trim().to_owned(),
        Answer::Missing => {
            return vec![
                Check::new("helm", Status::Skipped, "not in PATH").action("only the chart and post-render need it"),
            ];
        }
        Answer::Failed(why) => {
            return vec![Check::new("helm", Status::Failed, why).action("run `helm version` to see why")];
        }
    };
    let plugins = match output_of("helm", &["plugin", "list"]) {
        Answer::Output(text) => text,
        Answer::Missing | Answer::Failed(_) => String::new(),
    };
    let ours: Vec<&str> = plugins
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| name.starts_with("khorovod"))
        .collect();
    let is_helm_4 = version.starts_with("v4.");
    let plugin = match ours.as_slice() {
        [] if is_helm_4 => Check::new("plugin", Status::Warning, "Helm 4 has no plugin of khorovod")
            .action("to use --post-renderer: helm plugin install plugin/helm4-post-renderer, in a checkout"),
        [] => Check::new("plugin", Status::Skipped, "none; Helm 3 needs none for --post-renderer khorovod"),
        names => Check::new("plugin", Status::Ok, names.join(", ")),
    };
    vec![Check::new("helm", Status::Ok, version), plugin]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(text: &str) -> Answer {
        Answer::Output(text.to_owned())
    }

    #[test]
    fn versions_of_kubectl_and_of_the_cluster() {
        let text = r#"{"clientVersion": {"gitVersion": "v1.33.2"}, "serverVersion": {"gitVersion": "v1.31.4-gke.1"}}"#;
        let client = kubectl_client(&output(text));
        assert_eq!((client.status, client.found.as_str()), (Status::Ok, "v1.33.2"));
        let server = cluster(&output(text));
        assert!(server.found == "v1.31.4-gke.1" && server.action.unwrap().contains("--kube-version 1.31"));
        assert_eq!(cluster(&Answer::Failed("refused".to_owned())).status, Status::Skipped);
        assert_eq!(kubectl_client(&Answer::Missing).status, Status::Warning);
        assert_eq!(kubectl_client(&Answer::Failed("no".to_owned())).status, Status::Failed);
    }

    #[test]
    fn an_unreadable_version_is_not_an_error() {
        assert_eq!(kubectl_client(&output("no JSON")).found, "of an unknown version");
        assert!(minor("of an unknown version").is_none() && minor("v1").is_none());
    }
}

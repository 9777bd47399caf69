//! Calls kubectl as a child process, so that contexts, credential plugins and proxies work as the user has configured
//! them. The main type is [`Kubectl`].

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use khorovod::show;

use crate::cli::output::reason;
use crate::cli::show::Screen;
use crate::cli::{Failure, environment};

// The comments of flattened structs are not doc comments, because clap would print them as the description of the command.

// How kubectl reaches the cluster.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub struct Connection {
    /// The context of the kubeconfig, for kubectl. Default: the current one
    #[arg(long, value_name = "NAME", help_heading = "Cluster options")]
    pub context: Option<String>,
    /// The kubeconfig, for kubectl. Default: that of kubectl
    #[arg(long, value_name = "FILE", help_heading = "Cluster options")]
    pub kubeconfig: Option<PathBuf>,
}

// The namespace of the job, for commands that do not render.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub struct Namespace {
    /// The namespace. Default: that of the spec, if you name one, else that of the context
    #[arg(short, long, value_name = "NAME", help_heading = "Cluster options")]
    pub namespace: Option<String>,
}

/// kubectl, and the options for the cluster that every call gets.
#[derive(Debug, Clone)]
pub struct Kubectl {
    program: OsString,
    options: Vec<String>,
}

/// The output of a call of kubectl.
#[derive(Debug)]
pub struct Answer {
    pub is_success: bool,
    pub stdout: String,
    pub stderr: String,
}

/// If a call takes longer than this, khorovod prints the messages of kubectl while it runs, because kubectl may be
/// asking the user to log in.
const PATIENCE: Duration = Duration::from_secs(2);

impl Kubectl {
    pub fn new(connection: &Connection) -> Self {
        let program = environment::kubectl();
        let mut options = Vec::new();
        if let Some(context) = &connection.context {
            options.push(format!("--context={context}"));
        }
        if let Some(path) = &connection.kubeconfig {
            options.push(format!("--kubeconfig={}", path.display()));
        }
        Self { program, options }
    }

    /// Returns a copy whose calls are for one namespace. Without a name, they are for the namespace of the context.
    pub fn in_namespace(&self, namespace: Option<&str>) -> Self {
        let mut all = self.clone();
        all.options.extend(namespace.map(|name| format!("--namespace={name}")));
        all
    }

    /// A call as a line for a shell.
    pub fn line(&self, args: &[&str]) -> String {
        let program = self.program.to_string_lossy();
        let words =
            [program.as_ref()].into_iter().chain(self.options.iter().map(String::as_str)).chain(args.iter().copied());
        words.map(show::shell_word).collect::<Vec<_>>().join(" ")
    }

    /// Calls as lines for a shell.
    pub fn lines(&self, calls: &[Vec<&str>]) -> String {
        let mut text = String::new();
        for call in calls {
            text.push_str(&self.line(call));
            text.push('\n');
        }
        text
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.options).args(args);
        command
    }

    /// Starts a call whose output is read while it runs.
    pub fn start(&self, args: &[&str]) -> Result<Child, Failure> {
        let mut command = self.command(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().map_err(|error| self.cannot_run(&error))
    }

    /// Runs a call to its end and passes `input` to its standard input. If kubectl runs and fails, the result is `Ok`,
    /// and [`Answer::is_success`] is false.
    pub fn call(&self, args: &[&str], input: Option<&str>, screen: &Screen) -> Result<Answer, Failure> {
        let mut command = self.command(args);
        // A credential plugin may ask for a password at the terminal.
        command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::inherit() });
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|error| self.cannot_run(&error))?;
        if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input.map(str::to_owned)) {
            // Errors are ignored: if kubectl does not read its input, kubectl prints why.
            thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
        }
        let stdout = child.stdout.take().map(|stream| thread::spawn(move || read(stream)));
        let (sender, lines) = mpsc::channel();
        if let Some(stream) = child.stderr.take() {
            thread::spawn(move || {
                BufReader::new(stream).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
            });
        }
        let (mut stderr, start, mut is_passed_on) = (String::new(), Instant::now(), false);
        loop {
            let next = match is_passed_on {
                true => lines.recv().map_err(|_| RecvTimeoutError::Disconnected),
                false => lines.recv_timeout(PATIENCE.saturating_sub(start.elapsed())),
            };
            match next {
                Ok(line) => {
                    if is_passed_on {
                        screen.plain(&show::clean(&line));
                    }
                    stderr.push_str(&line);
                    stderr.push('\n');
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    is_passed_on = true;
                    if !stderr.is_empty() {
                        screen.plain(&show::clean(&stderr));
                    }
                }
            }
        }
        let stdout = stdout.and_then(|thread| thread.join().ok()).unwrap_or_default();
        let status = child.wait().map_err(|error| self.cannot_run(&error))?;
        Ok(Answer { is_success: status.success(), stdout, stderr })
    }

    /// Like [`call`](Self::call), but if kubectl fails, the result is an error.
    pub fn demand(&self, args: &[&str], input: Option<&str>, screen: &Screen) -> Result<String, Failure> {
        let answer = self.call(args, input, screen)?;
        if answer.is_success { Ok(answer.stdout) } else { Err(explain(&answer.stderr)) }
    }

    fn cannot_run(&self, error: &io::Error) -> Failure {
        let program = self.program.to_string_lossy();
        Failure::File(match error.kind() {
            io::ErrorKind::NotFound => format!(
                "{program} is not in PATH, and khorovod reaches the cluster only through it; install it \
                 (https://kubernetes.io/docs/tasks/tools/), or name it in {}",
                environment::KUBECTL
            ),
            _ => format!("cannot run {program}: {}", reason(error)),
        })
    }
}

fn read(mut stream: impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns a failure with the message of kubectl, and what to do.
pub fn explain(stderr: &str) -> Failure {
    let message = message(stderr);
    let has = |words: &[&str]| words.iter().any(|words| stderr.contains(words));
    let advice = if has(&[
        "localhost:8080",
        "current-context",
        "no configuration has been provided",
        "context was not found",
    ]) {
        "kubectl has no cluster: select one with --context or `kubectl config use-context`; `kubectl config get-contexts` lists them"
    } else if has(&["does not exist"]) && has(&["context"]) {
        "`kubectl config get-contexts` lists the contexts"
    } else if has(&["Unable to connect to the server", "was refused", "i/o timeout", "TLS handshake", "no such host"]) {
        "the cluster does not answer: check that it runs, and your network or VPN; `kubectl version` must work first"
    } else if has(&["Unauthorized", "must be logged in", "getting credentials", "provide credentials", "error: EOF"]) {
        "log in to the cluster again; `kubectl auth whoami` must work first"
    } else if has(&["Forbidden", "forbidden: User"]) {
        "ask your cluster administrator for this permission; `kubectl auth can-i --list` prints those that you have"
    } else if has(&["no matches for kind \"PodGroup\" in version \"scheduling.k8s.io/"]) {
        "the API server does not serve this version: render for the version of the cluster with --kube-version, and let its API server serve the kind, as the notes of `khorovod plan` describe; or use another `scheduling.gang`"
    } else if has(&["no matches for kind"]) {
        "install the operator or the scheduler that defines this kind"
    } else if has(&["namespaces \""]) && has(&["not found"]) {
        "create the namespace, or name another one with -n"
    } else {
        return Failure::File(format!("kubectl: {message}"));
    };
    Failure::File(format!("kubectl: {message}; {advice}"))
}

/// The last line that kubectl has printed, without its prefixes.
fn message(stderr: &str) -> String {
    // kubectl also logs each failed attempt to connect, in lines such as `E1126 07:00:00.000000 1234 memcache.go:265]
    // "Unhandled Error" …`.
    let is_log = |line: &str| {
        line.starts_with(['E', 'W', 'I'])
            && line.get(1..5).is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let last = lines
        .clone()
        .rfind(|line| !is_log(line) && !line.starts_with("Warning:") && *line != "ensure CRDs are installed first")
        .or_else(|| lines.clone().next_back());
    let line = last.unwrap_or("it failed without a message").trim_start_matches("error: ");
    show::clean(line).trim_end_matches('.').to_owned()
}

/// The kinds that the user may not list, according to the messages of kubectl.
pub fn forbidden_kinds(stderr: &str) -> Vec<String> {
    let mut kinds = Vec::new();
    for line in stderr.lines().filter(|line| line.contains("(Forbidden)")) {
        // `Error from server (Forbidden): pods is forbidden: User "a" cannot list resource "pods" in API group "" in the namespace "b"`
        if let Some(kind) = line.split_once("(Forbidden): ").and_then(|(_, rest)| rest.split([' ', '.']).next()) {
            kinds.push(kind.to_owned());
        }
    }
    kinds
}

/// Whether kubectl failed only because it may not read some kinds.
pub fn is_only_forbidden(stderr: &str) -> bool {
    let mut lines =
        stderr.lines().filter(|line| line.starts_with("Error from server") || line.starts_with("error:")).peekable();
    lines.peek().is_some() && lines.all(|line| line.contains("(Forbidden)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(stderr: &str) -> String {
        match explain(stderr) {
            Failure::File(text) => text,
            other => panic!("{other:?}"),
        }
    }

    /// Messages of kubectl 1.34.
    #[test]
    fn messages_have_advice() {
        for (stderr, expected) in [
            (
                "The connection to the server localhost:8080 was refused - did you specify the right host or port?\n",
                "kubectl has no cluster",
            ),
            ("error: context \"a\" does not exist\n", "lists the contexts"),
            (
                "E1126 07:00:00.000000    1234 memcache.go:265] \"Unhandled Error\" err=\"dial tcp 10.0.0.1:6443: i/o timeout\"\n\
                 Unable to connect to the server: dial tcp 10.0.0.1:6443: i/o timeout\n",
                "kubectl: Unable to connect to the server: dial tcp 10.0.0.1:6443: i/o timeout; the cluster does not answer",
            ),
            ("error: You must be logged in to the server (Unauthorized)\n", "log in to the cluster again"),
            (
                "Error from server (Forbidden): pods is forbidden: User \"a\" cannot list resource \"pods\"\n",
                "ask your cluster administrator",
            ),
            ("Error from server (NotFound): namespaces \"a\" not found\n", "create the namespace"),
            (
                "error: resource mapping not found for name: \"a-1\" namespace: \"\" from \"STDIN\": no matches for kind \"PodGroup\" in version \"scheduling.k8s.io/v1beta1\"\nensure CRDs are installed first\n",
                "--kube-version",
            ),
            (
                "error: resource mapping not found for name: \"a-1\" namespace: \"\" from \"STDIN\": no matches for kind \"JobSet\" in version \"jobset.x-k8s.io/v1alpha2\"\nensure CRDs are installed first\n",
                "install the operator",
            ),
            ("Warning: old\nerror: something else.\n", "kubectl: something else"),
            ("", "kubectl: it failed without a message"),
        ] {
            let found = text(stderr);
            assert!(found.contains(expected), "{stderr}{found}");
        }
    }

    #[test]
    fn kinds_that_may_not_be_read() {
        let pods = "Error from server (Forbidden): pods is forbidden: User \"a\" cannot list resource \"pods\" in API group \"\"";
        let sets = "Error from server (Forbidden): statefulsets.apps is forbidden: User \"a\" cannot list resource";
        assert_eq!(forbidden_kinds(&format!("{pods}\n{sets}\n")), ["pods", "statefulsets"]);
        assert!(is_only_forbidden(&format!("{pods}\n{sets}\n")));
        assert!(!is_only_forbidden(&format!("{pods}\nerror: the server doesn't have a resource type \"a\"\n")));
        assert!(!is_only_forbidden("Unable to connect to the server: EOF\n"));
    }
}

//! Finds the job that a command line names, and reads the objects of this job from the cluster. The main type is
//! [`Job`].

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use khorovod::import::with_import_hint;
use khorovod::{Inputs, Keys, Text};

use super::diagnosis::{Phase, State, Subject, diagnose};
use super::kubectl::{Connection, Kubectl, Namespace, explain, forbidden_kinds, is_only_forbidden};
use super::objects::{JOB, Objects, Time};
use crate::cli::show::Screen;
use crate::cli::{Failure, input};

/// The kinds of objects that one call of kubectl reads for a job.
pub const KINDS: &str = "configmaps,jobs.batch,statefulsets.apps,pods,persistentvolumeclaims";
/// Keeps a call from waiting forever for an API server.
const TIMEOUT: &str = "--request-timeout=60s";
/// Selects the events that explain why pods do not start. It leaves out events with the reasons below, which are more
/// than half of all events.
const EVENTS: &str =
    "--field-selector=reason!=Scheduled,reason!=Created,reason!=Started,reason!=SuccessfulCreate,reason!=Killing";

// The job that a command is about.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Which {
    /// The name of a job, or its spec: a path with a `/` or the ending .yaml, .yml or .json, or `-`.
    /// Default: job.yaml
    #[arg(value_name = "JOB")]
    job: Option<String>,
    #[command(flatten)]
    namespace: Namespace,
    #[command(flatten)]
    pub connection: Connection,
    /// Print the calls of kubectl, and run none of them
    #[arg(long)]
    pub dry_run: bool,
}

/// A job in a namespace of the cluster.
#[derive(Debug, Clone)]
pub struct Job {
    pub name: String,
    /// The namespace of the job. If it is None, the job is in the namespace of kubectl's context.
    pub namespace: Option<String>,
    /// The name of the run that the spec would start, if the command line names a spec.
    pub run_of_spec: Option<String>,
    /// The word of the command line that names the job. Hints repeat it.
    pub word: String,
    pub kubectl: Kubectl,
}

impl Which {
    /// The jobs that the command line names.
    pub fn jobs(&self, screen: &Screen) -> Result<Vec<Job>, Failure> {
        let base = Kubectl::new(&self.connection);
        let given = self.namespace.namespace.as_deref();
        let word = match &self.job {
            Some(word) => word.as_str(),
            None if Path::new(input::DEFAULT).exists() => input::DEFAULT,
            None => {
                return Err(Failure::Usage(format!(
                    "no JOB given and there is no {} here; name a job or its spec; `khorovod list` lists the jobs of a namespace",
                    input::DEFAULT
                )));
            }
        };
        if !is_spec(word) {
            let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
            if word.is_empty() || word.len() > 63 || !word.chars().all(is_name) {
                return Err(Failure::Usage(format!(
                    "{word} is neither a file nor the name of a job; `khorovod list` lists the jobs"
                )));
            }
            let kubectl = base.in_namespace(given);
            let namespace = given.map(str::to_owned);
            return Ok(vec![Job {
                name: word.to_owned(),
                namespace,
                run_of_spec: None,
                word: word.to_owned(),
                kubectl,
            }]);
        }
        let text = input::read(Path::new(word), screen)?;
        let inputs = Inputs { namespace: given.map(str::to_owned), keys: Keys::Masked, ..Inputs::default() };
        let jobs = named_in(&text, &inputs, word, &base, screen)?;
        match jobs.is_empty() {
            true => Err(Failure::Usage(format!("{word} contains no TrainingJob; name a spec, or a job"))),
            false => Ok(jobs),
        }
    }

    /// The only job that the command line names.
    pub fn job(&self, screen: &Screen) -> Result<Job, Failure> {
        let mut jobs = self.jobs(screen)?;
        match jobs.len() {
            1 => Ok(jobs.remove(0)),
            _ => {
                let names: Vec<_> = jobs.iter().map(|job| job.name.as_str()).collect();
                Err(Failure::Usage(format!("the spec has several jobs; name one of them: {}", names.join(", "))))
            }
        }
    }
}

/// Whether a word of the command line is the path of a spec. A word that is a valid name of a job is always a name,
/// even if a file has the same name. So the files in the current folder cannot change which job a command acts on.
fn is_spec(word: &str) -> bool {
    let path = Path::new(word);
    let has_ending =
        path.extension().is_some_and(|ending| ["yaml", "yml", "json"].iter().any(|known| ending == *known));
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    word == "-" || has_ending || !word.chars().all(is_name) && path.is_file()
}

/// The jobs of a spec.
pub fn named_in(
    text: &Text,
    inputs: &Inputs,
    word: &str,
    base: &Kubectl,
    screen: &Screen,
) -> Result<Vec<Job>, Failure> {
    let reports = khorovod::reports(text, inputs).map_err(|found| {
        screen.problems([&with_import_hint(found, text)]);
        screen.notice("if the job is already in the cluster, you can use its name instead of the file");
        Failure::Problems
    })?;
    let job = |report: khorovod::report::Report| Job {
        kubectl: base.in_namespace(report.namespace.as_deref()),
        name: report.job,
        namespace: report.namespace,
        run_of_spec: Some(report.run),
        word: word.to_owned(),
    };
    Ok(reports.jobs.into_iter().map(job).collect())
}

/// The namespace of kubectl's context; None if it is `default`. kubectl creates objects without `metadata.namespace` in
/// this namespace. A RoleBinding must contain the name of the namespace, so khorovod asks kubectl for this name.
pub fn default_namespace(kubectl: &Kubectl, screen: &Screen) -> Result<Option<String>, Failure> {
    let args = ["config", "view", "--minify", "--output=jsonpath={..namespace}"];
    let answer = kubectl.call(&args, None, screen)?;
    // In a pod, kubectl has no kubeconfig and no context, so this text is empty.
    let name = answer.stdout.trim();
    let is_name = answer.is_success && !name.is_empty() && !name.contains(char::is_whitespace) && name != "default";
    Ok(is_name.then(|| name.to_owned()))
}

/// The current time.
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Time(i64::try_from(since).unwrap_or(i64::MAX))
}

impl Job {
    /// The arguments of the call that reads all objects of the job.
    pub fn get(&self) -> Vec<String> {
        let selector = format!("--selector={JOB}={}", self.name);
        ["get", KINDS, &selector, "--output=json", TIMEOUT].map(str::to_owned).to_vec()
    }

    /// Reads the objects of the job. Kinds that the user may not read are left out, and listed in
    /// [`Objects::unreadable`].
    pub fn objects(&self, screen: &Screen) -> Result<Objects, Failure> {
        let mut objects = Objects::default();
        read(&self.kubectl, &borrowed(&self.get()), &mut objects, screen)?;
        Ok(objects)
    }

    /// Reads the objects of the job and describes the state of a run. Also reads events if a pod of the run is not
    /// Ready.
    pub fn state(&self, run: Option<&str>, screen: &Screen) -> Result<State, Failure> {
        let objects = self.objects(screen)?;
        self.describe(objects, run, screen)
    }

    /// Describes the state of a run from objects that were read before. Reads events if a pod of the run is not Ready.
    pub fn describe(&self, mut objects: Objects, run: Option<&str>, screen: &Screen) -> Result<State, Failure> {
        let subject = Subject { job: &self.name, namespace: self.namespace.as_deref(), run };
        let state = diagnose(&objects, subject, now());
        if state.waits_for.is_empty() {
            return Ok(state);
        }
        read(&self.kubectl, &Self::EVENTS, &mut objects, screen)?;
        Ok(diagnose(&objects, subject, now()))
    }

    /// The arguments of the call that reads events.
    pub const EVENTS: [&'static str; 5] = ["get", "events", EVENTS, "--output=json", TIMEOUT];

    /// The arguments that name the job in the command of a hint, such as `mnist -n team-a`.
    pub fn words(&self) -> String {
        let namespace = self.namespace.as_ref().filter(|_| !is_spec(&self.word));
        namespace.map_or_else(|| self.word.clone(), |namespace| format!("{} -n {namespace}", self.word))
    }

    /// The failure if the cluster has no object of the job.
    pub fn absent(&self, state: &State) -> Failure {
        let place = self
            .namespace
            .as_ref()
            .map_or("the namespace of the context".to_owned(), |name| format!("namespace {name}"));
        let is_file = !is_spec(&self.word) && Path::new(&self.word).is_file();
        let file = if is_file { format!("; for the file of that name, write ./{}", self.word) } else { String::new() };
        let forbidden = if state.notes.is_empty() { String::new() } else { format!(": {}", state.notes.join("; ")) };
        Failure::File(format!(
            "no job {} in {place}{forbidden}; `khorovod list -A` lists the jobs of all namespaces, and `khorovod run` starts one{file}",
            self.name
        ))
    }

    /// Like [`state`](Self::state), for a job that must exist.
    pub fn existing(&self, run: Option<&str>, screen: &Screen) -> Result<State, Failure> {
        let state = self.state(run, screen)?;
        if state.phase == Phase::Absent { Err(self.absent(&state)) } else { Ok(state) }
    }
}

/// Calls kubectl for a list of objects, and adds them.
pub fn read(kubectl: &Kubectl, args: &[&str], objects: &mut Objects, screen: &Screen) -> Result<(), Failure> {
    let answer = kubectl.call(args, None, screen)?;
    // If the user may not read some of the kinds, kubectl fails, but it still prints the objects of the other kinds.
    if !answer.is_success {
        if !is_only_forbidden(&answer.stderr) {
            return Err(explain(&answer.stderr));
        }
        let kinds = forbidden_kinds(&answer.stderr);
        if args.get(1) == Some(&KINDS) && kinds.len() >= KINDS.split(',').count() {
            return Err(explain(&answer.stderr));
        }
        objects.unreadable.extend(kinds);
    }
    objects
        .add(&answer.stdout)
        .map_err(|error| Failure::File(format!("kubectl has printed no list of objects in JSON: {error}")))
}

/// Converts arguments to the type that [`Kubectl::call`] takes.
pub fn borrowed(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::is_spec;

    #[test]
    fn a_word_is_a_spec_or_a_name() {
        for spec in ["job.yaml", "a/b.yml", "-", "Cargo.toml", "x.json", "./LICENSE-MIT"] {
            assert!(is_spec(spec), "{spec}");
        }
        for name in ["mnist", "src", "a.b", "yaml"] {
            assert!(!is_spec(name), "{name}");
        }
    }
}

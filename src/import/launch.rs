//! Converts a launch line (the line that starts the ranks, such as `mpirun -np 8 python train.py`) and the pods of the
//! old job to the launcher, the workers and the command of the new spec.

pub mod command_line;
pub mod each_pod;
pub mod files;
pub mod options;
pub mod prefix;
pub mod program;

pub use options::names_launcher;

use crate::field::{self, set};
use serde_json::Value as Json;

use crate::context::Context;
use crate::field_outcomes::Verdict;
use crate::launch::command_line::{Launch, Line, Note};
use crate::launch::prefix::Step;
use crate::secrets;
use crate::shell_text;
use khorovod_compiler::problem::Span;
use khorovod_compiler::yaml::Node;

/// The path of the hostfile in pods of the MPI Operator (`THEIRS`) and in pods of khorovod (`HOSTFILE`). The path of
/// the openmpi component's hostfile is not replaced, because khorovod's launcher has the hostfile at that path too.
const THEIRS: &str = "/etc/mpi/hostfile";
const HOSTFILE: &str = "/horovod/generated/hostfile";
/// The path of the script that discovers hosts, in pods of the MPI Operator and in pods of khorovod.
const THEIR_FINDER: &str = "/etc/mpi/discover_hosts.sh";
const FINDER: &str = "/horovod/generated/discoverHosts.sh";

/// Shell text with which a worker computes the host name of the first worker from its own host name.
pub const FIRST_WORKER: &str = r"$(hostname -f | sed 's/-[0-9]*\./-0./')";

/// The pods in which the ranks of the old job ran.
#[derive(Debug, Clone)]
pub struct World {
    /// The number of pods, and the field that sets it.
    pub pods: u32,
    pub from: String,
    /// The number of pods without the launcher, if the launcher also ran ranks.
    pub without_launcher: Option<u32>,
    /// GPUs per pod.
    pub gpus: u32,
}

/// The origin of a launch line: the path of its field and its place in the file.
#[derive(Debug, Clone)]
pub struct Place {
    pub path: String,
    pub span: Span,
}

/// Workers and ranks of the new job.
struct Size {
    replicas: u32,
    slots: Option<u32>,
    /// Why `replicas` differs from the number of old pods, for the comment in the spec. May be empty.
    how: String,
}

/// Imports a line that starts ranks.
pub fn line(context: &mut Context<'_>, text: &str, place: &Place, world: &World) {
    let text = text.trim();
    let bare = program::without_flags(text);
    if program::waits(bare) {
        by_hand(
            context,
            "its command only waited until someone started the training by hand; pass that command with `--command LINE`",
            world,
        );
        return context.report(
            format!("{}: the whole command", place.path),
            place.span,
            Verdict::Changed,
            field::LAUNCHER_INTERACTIVE,
            "the launcher waits by itself",
        );
    }
    let (before, launch) = prefix::split(bare);
    match command_line::read(shell_text::without_comment(launch)) {
        Line::Launch(launch) if before.is_empty() => launched(context, bare, *launch, place, world),
        Line::Launch(mut launch) if !command_line::starts_launcher(&program_of(&launch)) => {
            let makes = |step: &Step<'_>| if let Step::Makes(text) = step { Some(format!("{text}; ")) } else { None };
            let made: String = before.iter().filter_map(makes).collect();
            if !made.is_empty() {
                launch.program = format!("{made}{}", program_of(&launch)).into();
            }
            launched(context, bare, *launch, place, world);
            for step in &before {
                taken(context, step, place);
            }
        }
        Line::Launch(_) => script(context, text, "the program that it starts is a launcher, too", place, world),
        Line::Script(why) => script(context, text, &why, place, world),
    }
}

/// Records the outcome of a command before the launcher in the launch line, such as `sleep 10`.
fn taken(context: &mut Context<'_>, step: &Step<'_>, place: &Place) {
    let (text, verdict, to, how) = match step {
        Step::Makes(text) => (text, Verdict::Changed, field::COMMAND, "each rank runs it before the program"),
        Step::Waits(text) => (text, Verdict::Kept, "", "the launcher always waits for its workers"),
        Step::Prints(text) => (text, Verdict::Kept, "", "khorovod logs what it starts"),
    };
    context.report(format!("{}: {}", place.path, secrets::masked(text)), place.span, verdict, to, how);
}

/// Returns the program of the ranks as shell text.
fn program_of(launch: &Launch) -> String {
    program::as_text(&launch.program).unwrap_or_default()
}

/// Sets `retries` to 6: the old system ran the launcher in a Job, and a Job retries 6 times by default. Does nothing
/// for an interactive launcher, because it starts no training by itself.
pub fn default_retries(context: &mut Context<'_>, why: &str) {
    if context.spec.get(field::LAUNCHER_INTERACTIVE).is_none() {
        context.default(set::LIFECYCLE_RETRIES, 6_u32, why);
    }
}

/// Records the outcome of the number of workers. The launch line may use another number than `pods`, the old number.
pub fn replicas_outcome(context: &mut Context<'_>, node: &Node, pods: u32) {
    let replicas = context.spec.get(field::WORKERS_REPLICAS).and_then(Json::as_u64).unwrap_or_default();
    match replicas == u64::from(pods) {
        true => context.kept(node, field::WORKERS_REPLICAS),
        false => {
            let how = format!("{replicas}: the launch line starts ranks on so many workers");
            context.changed(node, field::WORKERS_REPLICAS, &how);
        }
    }
}

/// Imports workers in which people start the ranks by hand.
pub fn by_hand(context: &mut Context<'_>, why: &str, world: &World) {
    workers(context, &Size { replicas: world.pods, slots: None, how: String::new() }, world);
    context.default(set::LAUNCHER_KIND, "shell", why);
    context.default(set::LAUNCHER_INTERACTIVE, true, "ends after `idleTimeout` without a user");
}

/// Refuses a line that contains a secret, because the job would contain it.
pub fn refuse_secret(context: &mut Context<'_>, text: &str, place: &Place) {
    if let Some(word) = secrets::secret_word(text) {
        let message = format!("`{}` contains what looks like a secret, at `{word}`", place.path);
        let hint = "write `$NAME` there, and set the variable in the environment of the old file: it becomes a Secret";
        context.refuse_at(place.span, message, hint);
    }
}

/// Reports variables of a script that nothing in the new job sets. They are empty, unless the image sets them.
pub fn unset(context: &mut Context<'_>, file: &str) {
    let is_script = context.spec.get(field::LAUNCHER_KIND).is_some_and(|kind| kind == "shell");
    let Some(script) = context.spec.get(field::COMMAND).filter(|_| is_script).and_then(Json::as_str) else { return };
    let names = shell_text::unset(script, context.spec.get(field::ENV));
    let script = script.to_owned();
    for name in names.iter().filter(|name| !shell_text::by_launcher(name)) {
        let place = shell_text::first_use(file, name);
        let span = place.map_or(context.whole, |place| Span { start: place.start, end: place.end, ..context.whole });
        match shell_text::has_default(&script, name) {
            true => {
                let how = format!("nothing sets it, so the command uses its default, unless `spec.env.{name}` sets it");
                context.report(format!("${name}"), span, Verdict::Changed, field::COMMAND, &how);
            }
            false => {
                let how = format!("nothing sets it: it is empty, unless the image sets it. Set `spec.env.{name}`");
                context.report(format!("${name}"), span, Verdict::Lost, "", &how);
            }
        }
    }
}

/// Returns the note for the old launcher's command, which describes what the new launcher does instead.
pub fn launcher_note(context: &Context<'_>) -> &'static str {
    let shell = context.spec.get(field::LAUNCHER_KIND).is_some_and(|kind| kind == "shell");
    match shell {
        true if context.spec.get(field::LAUNCHER_INTERACTIVE).is_some() => {
            "it only waited; the launcher waits by itself"
        }
        true => "it runs in the launcher, unchanged",
        false => "khorovod writes the launch itself",
    }
}

/// Reports programs that a script starts without a launcher: such a program runs in the launcher's pod, which has no
/// GPU.
pub fn without_gpu(context: &mut Context<'_>, file: &str) {
    let get = |path: &str| context.spec.get(path);
    let shell = get(field::LAUNCHER_KIND).is_some_and(|kind| kind == "shell");
    if !shell || get(field::WORKERS_GPUS).is_none() || get(field::LAUNCHER_RUNS_RANKS).is_some() {
        return;
    }
    let Some(text) = get(field::COMMAND).and_then(program::as_text) else { return };
    let mut names = program::commands_without_launcher(&text);
    if names.is_empty() && !names_launcher(&text) {
        names.push("the command".to_owned());
    }
    for name in names {
        let at = file.find(&name).map(|start| Span { start, end: start + name.len(), ..context.whole });
        let how = "it runs in the launcher's pod, which has no GPU on Kubernetes: start it with mpirun, or set \
                   spec.launcher.runsRanks";
        context.report(name, at.unwrap_or(context.whole), Verdict::Changed, field::COMMAND, how);
    }
}

fn script(context: &mut Context<'_>, text: &str, why: &str, place: &Place, world: &World) {
    refuse_secret(context, text, place);
    workers(context, &Size { replicas: world.pods, slots: None, how: String::new() }, world);
    let how = format!("the launcher runs it once, unchanged: {why}");
    context.spec.put(set::LAUNCHER_KIND, "shell", &how);
    if text.contains("discover_hosts.sh") || text.contains("discoverHosts.sh") {
        let row = context.outcomes.add(format!("{}: the script that finds hosts", place.path), place.span);
        let here = text.contains(FINDER) || text.contains(THEIR_FINDER);
        let (verdict, how) = match here {
            true => (
                Verdict::Changed,
                format!(
                    "its path is now {FINDER}. To change the number of workers while the job runs, import with \
                     `--command` and only the line of horovodrun: that sets spec.workers.elastic"
                ),
            ),
            false => (Verdict::Lost, format!("khorovod's script is {FINDER}: change the path in the command")),
        };
        context.outcomes.settle_row(row, verdict, if here { field::COMMAND } else { "" }, &how);
    }
    if text.contains(THEIRS) {
        context.report(
            format!("{}: {THEIRS}", place.path),
            place.span,
            Verdict::Changed,
            field::COMMAND,
            &format!("its path is now {HOSTFILE}"),
        );
    }
    context.spec.put(
        set::COMMAND,
        program::program(&text.replace(THEIRS, HOSTFILE).replace(THEIR_FINDER, FINDER)),
        &place.path,
    );
    context.report(
        format!("{}: the whole command", place.path),
        place.span,
        Verdict::Changed,
        field::COMMAND_AND_KIND,
        &how,
    );
}

/// Imports a launch line that is already parsed into `launch`. `text` is the line.
pub fn launched(context: &mut Context<'_>, text: &str, launch: Launch, place: &Place, world: &World) {
    let program = program_of(&launch);
    if command_line::starts_launcher(&program) {
        return script(context, text, "the program that it starts is a launcher, too", place, world);
    }
    refuse_secret(context, &program, place);
    let elastic = launch.discovers_hosts
        || launch.min_np.is_some()
        || launch.max_np.is_some()
        || launch.hosts.is_some_and(|(low, high)| low != high);
    let gpus = context.spec.get(field::WORKERS_GPUS).and_then(Json::as_u64).and_then(|gpus| u32::try_from(gpus).ok());
    let size =
        if elastic && launch.hosts.is_none() { elastic_size(&launch, world) } else { size(&launch, world, gpus) };
    if let (Some(low), Some(high)) = (launch.min_np, launch.max_np)
        && low > high
    {
        let message = format!("`{}` asks for at least {low} ranks and at most {high}", place.path);
        context.refuse_at(place.span, message, "raise `--max-np`, or lower `--min-np`");
    }
    workers(context, &size, world);
    if launch.kind != "mpirun" {
        context.spec.put(set::LAUNCHER_KIND, launch.kind, &place.path);
    }
    if elastic {
        bounds(context, &launch, &size, place, world);
        if launch.kind == "horovodrun" && launch.max_np.is_none() {
            let how = "horovodrun had no maximum; now `maxReplicas` is the maximum: raise it to add workers";
            context.report(
                format!("{}: no --max-np", place.path),
                place.span,
                Verdict::Changed,
                field::ELASTIC_MAX_REPLICAS,
                how,
            );
        }
    }
    for (name, value) in &launch.env {
        context.env(name, value, &place.path);
    }
    for (field, value) in &launch.fields {
        // If the line sets no bounds, the job is not elastic, and fields of `elastic` do not apply.
        if elastic || !field.path.starts_with(field::ELASTIC) {
            context.spec.put(*field, value.clone(), &place.path);
        }
    }
    if !launch.args.is_empty() {
        context.spec.put(set::LAUNCHER_ARGS, launch.args.clone(), &place.path);
    }
    context.spec.put(set::COMMAND, launch.program.clone(), &place.path);
    let slots = size.slots.unwrap_or(world.gpus.max(1));
    let launch_bounds = [(field::ELASTIC_MIN_REPLICAS, launch.min_np), (field::ELASTIC_MAX_REPLICAS, launch.max_np)];
    let ranks = size.replicas.saturating_mul(size.slots.unwrap_or(world.gpus.max(1)));
    for note in launch.notes {
        let row = context.outcomes.add(format!("{}: {}", place.path, note.option), place.span);
        if note.to == field::WORKERS && !elastic && launch.np.is_some_and(|np| np != ranks) {
            let how = format!("{ranks} ranks: `replicas` times `slotsPerWorker`");
            context.outcomes.settle_row(row, Verdict::Changed, note.to, &how);
            continue;
        }
        if let Some(ranks) = by_bounds(context, &note, &launch_bounds, slots) {
            let how = format!("{ranks} ranks: spec.workers.replicas is between the minimum and the maximum");
            context.outcomes.settle_row(row, Verdict::Changed, note.to, &how);
            continue;
        }
        context.outcomes.settle_row(row, note.verdict, note.to, note.why);
    }
}

/// Returns the number of ranks that the minimum or maximum of workers in the new spec allows. None if the launch line
/// asked for the same number.
fn by_bounds(context: &Context<'_>, note: &Note, asked: &[(&str, Option<u32>)], slots: u32) -> Option<u64> {
    let asked = asked.iter().find(|(to, _)| *to == note.to)?.1?;
    let workers = context.spec.get(note.to)?.as_u64()?;
    (workers != u64::from(asked.div_ceil(slots).max(1))).then(|| workers * u64::from(slots))
}

fn workers(context: &mut Context<'_>, size: &Size, world: &World) {
    let comment = if size.how.is_empty() { world.from.clone() } else { format!("{}: {}", world.from, size.how) };
    context.spec.put(set::WORKERS_REPLICAS, size.replicas, &comment);
    if let Some(slots) = size.slots {
        context.spec.put(set::WORKERS_SLOTS_PER_WORKER, slots, "ranks per worker");
    }
}

/// Sets the minimum and maximum of workers of an elastic job.
fn bounds(context: &mut Context<'_>, launch: &Launch, size: &Size, place: &Place, world: &World) {
    let slots = size.slots.unwrap_or(world.gpus.max(1));
    let workers = |ranks: Option<u32>| ranks.map_or(size.replicas, |ranks| ranks.div_ceil(slots).max(1));
    let (low, high) = launch.hosts.unwrap_or((workers(launch.min_np), workers(launch.max_np)));
    let (low, high) = (low.min(size.replicas).max(1), high.max(size.replicas));
    context.spec.put(set::ELASTIC_MIN_REPLICAS, low, &place.path);
    context.spec.put(set::ELASTIC_MAX_REPLICAS, high, &place.path);
}

/// Returns the number of workers of an elastic launch line. An elastic launch waits until there are hosts for `-np`
/// ranks, and then also uses more hosts, up to `--max-np`.
fn elastic_size(launch: &Launch, world: &World) -> Size {
    let gpus = world.gpus.max(1);
    let slots = launch.per_host.filter(|slots| *slots > 0).unwrap_or(gpus);
    let workers = |ranks: u32| ranks.div_ceil(slots).max(1);
    let least = launch.np.or(launch.min_np).map_or(1, workers);
    let most = launch.max_np.map_or(world.pods, workers).max(least);
    let replicas = world.pods.clamp(least, most);
    let how = match replicas.cmp(&world.pods) {
        std::cmp::Ordering::Equal => String::new(),
        std::cmp::Ordering::Less => format!("the launch line used at most {replicas}"),
        std::cmp::Ordering::Greater => format!("the launch line waited for {replicas}"),
    };
    Size { replicas, slots: (slots != gpus).then_some(slots), how }
}

/// Converts the number of ranks of a launch line to workers and ranks per worker. There are at most as many workers as
/// old pods, unless the line lists its hosts. `real_gpus` is the number of GPUs per pod, if the old job requested GPUs.
/// If the line asks for more ranks than all pods have GPUs, the new job has one rank per GPU.
fn size(launch: &Launch, world: &World, real_gpus: Option<u32>) -> Size {
    let gpus = world.gpus.max(1);
    let slots = launch.per_host.filter(|slots| *slots > 0);
    let own = |slots: u32| (slots != gpus).then_some(slots);
    if let Some((_, hosts)) = launch.hosts {
        let how = if hosts == world.pods { String::new() } else { format!("the launch line has {hosts} hosts") };
        let slots = slots.or(launch.np.and_then(|np| np.checked_div(hosts)).filter(|slots| *slots > 0));
        return Size { replicas: hosts.max(1), slots: slots.and_then(own), how };
    }
    let Some(np) = launch.np.filter(|np| *np > 0) else {
        return Size { replicas: world.pods, slots: slots.and_then(own), how: String::new() };
    };
    let exactly = |pods: u32, slots: u32| pods.checked_mul(slots) == Some(np);
    if let Some(slots) = slots {
        let replicas = np.div_ceil(slots).min(world.pods.max(1));
        return Size { replicas, slots: own(slots), how: differs(replicas, np, replicas.saturating_mul(slots), world) };
    }
    if exactly(world.pods, gpus) {
        return Size { replicas: world.pods, slots: None, how: String::new() };
    }
    if let Some(pods) = world.without_launcher.filter(|pods| *pods > 0 && exactly(*pods, gpus)) {
        return Size { replicas: pods, slots: None, how: "the launcher has no GPU".to_owned() };
    }
    if exactly(world.pods, 1) {
        return Size { replicas: np, slots: own(1), how: "one rank per pod, as before".to_owned() };
    }
    if np % gpus == 0 && np / gpus < world.pods {
        return Size { replicas: np / gpus, slots: None, how: differs(np / gpus, np, np, world) };
    }
    if real_gpus.is_some_and(|most| np > world.pods.saturating_mul(most.max(gpus))) {
        let ranks = world.pods.saturating_mul(gpus);
        return Size { replicas: world.pods, slots: None, how: differs(world.pods, np, ranks, world) };
    }
    for pods in [Some(world.pods), world.without_launcher].into_iter().flatten().filter(|pods| *pods > 0) {
        if np % pods == 0 {
            return Size { replicas: pods, slots: own(np / pods), how: format!("{np} ranks on {pods} workers") };
        }
    }
    let how = format!("{np} ranks cannot be divided evenly among {} pods; now each slot has a rank", world.pods);
    Size { replicas: world.pods, slots: None, how }
}

/// Describes how the workers differ from the old pods. `np` is the number of ranks of the launch line, `ranks` the
/// number of ranks of the new job.
fn differs(replicas: u32, np: u32, ranks: u32, world: &World) -> String {
    if ranks < np {
        format!("the pods have fewer slots than the {np} ranks; {ranks} start")
    } else if replicas < world.pods {
        format!("{np} ranks; the other pods ran no rank")
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_become_workers_and_slots() {
        let size = |pods, without_launcher, gpus, np| {
            let world = World { pods, from: String::new(), without_launcher, gpus };
            let size = size(&Launch { np: Some(np), ..Launch::default() }, &world, (gpus > 0).then_some(gpus));
            (size.replicas, size.slots)
        };
        let elastic = |np, min_np, max_np| {
            let world = World { pods: 5, from: String::new(), without_launcher: Some(4), gpus: 0 };
            let size = elastic_size(&Launch { np: Some(np), min_np, max_np, ..Launch::default() }, &world);
            (size.replicas, size.how)
        };
        assert_eq!(elastic(2, Some(1), Some(12)), (5, String::new()));
        assert_eq!(elastic(4, Some(4), Some(4)), (4, "the launch line used at most 4".to_owned()));
        assert_eq!(elastic(8, Some(2), None), (8, "the launch line waited for 8".to_owned()));
        // stable/horovod: three workers and the master, with one slot each.
        assert_eq!(size(4, Some(3), 0, 4), (4, None));
        assert_eq!(size(4, Some(3), 1, 3), (3, None));
        assert_eq!(size(4, Some(3), 8, 32), (4, None));
        assert_eq!(size(4, Some(3), 8, 24), (3, None));
        assert_eq!(size(4, Some(3), 8, 4), (4, Some(1)));
        assert_eq!(size(5, Some(4), 0, 32), (4, Some(8)));
        // The new job never requests more GPUs than the old pods had.
        assert_eq!(size(5, Some(4), 8, 64), (5, None));
        assert_eq!(size(2, None, 2, 8), (2, None));
        assert_eq!(size(2, None, 1, 4), (2, None));
        assert_eq!(size(3, None, 2, 4), (2, None));
        assert_eq!(size(6, Some(5), 0, 4), (4, None));
        // openmpi: the launcher runs no rank.
        assert_eq!(size(4, None, 8, 32), (4, None));
        assert_eq!(size(3, None, 1, 3), (3, None));
        assert_eq!(size(3, None, 0, 7), (3, None));
    }
}

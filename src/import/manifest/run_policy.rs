//! Imports the fields that limit a run, which the jobs of several operators have: deadlines, retries, `suspend` and the
//! gang.

use crate::context::{Context, given};
use crate::field::{self, Field, set};
use khorovod_compiler::yaml::Node;

/// Imports a field of `runPolicy`, or one of the same name in the spec of a job. Ignores other fields.
pub fn field(context: &mut Context<'_>, key: &str, node: &Node) {
    match key {
        "ttlSecondsAfterFinished" => seconds(context, node, set::LIFECYCLE_TTL_AFTER_FINISHED),
        "activeDeadlineSeconds" => seconds(context, node, set::LIFECYCLE_DEADLINE),
        "backoffLimit" => retries(context, node),
        "suspend" => match context.yes(node) {
            true if context.spec.get(field::SCHEDULING_LOCAL_QUEUE).is_some() => {
                context.needless(node, "a job in Kueue's queue starts suspended, and Kueue starts it");
            }
            true => context.keep(node, set::SCHEDULING_SUSPEND, true),
            false => context.needless(node, "this is the default of khorovod, too"),
        },
        "schedulingPolicy" => scheduling(context, node),
        "managedBy" => context.lose(node, "Kueue sets it for a queue of MultiKueue: set spec.scheduling.localQueue"),
        _ => {}
    }
}

/// Imports the number of times that the training may start again.
pub fn retries(context: &mut Context<'_>, node: &Node) {
    let Some(count) = context.count(node) else { return };
    let from = context.outcomes.path(node).to_owned();
    // The operator counts all failures. The count never starts again at 0.
    context.spec.put(set::LIFECYCLE_RETRIES_RESET_AFTER, "never", &from);
    context.spec.put(set::LIFECYCLE_RETRIES, count.min(1000), &from);
    context.kept(node, &[field::LIFECYCLE_RETRIES, field::LIFECYCLE_RETRIES_RESET_AFTER].join(" "));
}

fn seconds(context: &mut Context<'_>, node: &Node, to: Field<String>) {
    if let Some(count) = context.count(node) {
        match count {
            0 if to.path == field::LIFECYCLE_DEADLINE => {
                context.lose(node, "a deadline of 0 would end the job at once");
            }
            _ => context.keep(node, to, format!("{count}s")),
        }
    }
}

fn scheduling(context: &mut Context<'_>, node: &Node) {
    if context.spec.get(field::SCHEDULING_LOCAL_QUEUE).is_some() {
        if let Some((node, class)) = given(node.get("priorityClass"))
            && !class.is_empty()
        {
            context.keep(node, set::PLACEMENT_PRIORITY_CLASS_NAME, class);
        }
        return context.replaced(node, "the job waits in Kueue's queue, which admits all pods or none");
    }
    let how = "assumed Volcano, because a flag of the operator selects the gang scheduler; for scheduler-plugins, write \
               `gang: coscheduling`";
    context.spec.put(set::SCHEDULING_GANG, "volcano", how);
    for entry in node.entries() {
        match entry.key.as_str() {
            "queue" => match context.text(&entry.value) {
                Some(queue) if !queue.is_empty() => context.keep(&entry.value, set::SCHEDULING_VOLCANO_QUEUE, queue),
                _ => context.needless(&entry.value, "it is empty"),
            },
            "priorityClass" => match context.text(&entry.value) {
                Some(class) if !class.is_empty() => {
                    context.keep(&entry.value, set::PLACEMENT_PRIORITY_CLASS_NAME, class);
                }
                _ => context.needless(&entry.value, "it is empty"),
            },
            "minAvailable" => context.changed(&entry.value, field::SCHEDULING_GANG, "a gang always has all pods"),
            "minResources" => context.needless(&entry.value, "a gang counts pods, not resources"),
            _ => {
                context
                    .lose(&entry.value, "spec.scheduling has no such field: set it in the PodGroup with spec.patches");
            }
        }
    }
    context.changed(node, field::SCHEDULING_GANG, how);
}

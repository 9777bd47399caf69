//! The host names and slots of the workers, and the hostfile. See [`hostfile`].

use super::{Plan, Shape, Team};
use crate::job::limits::MAX_CONFIG_MAP;
use crate::job::valid::Group;

/// The role of the pods of a group, which is part of their names: `worker`, or `worker-<group>` if the group has a name.
pub fn role(plan: &Plan, group: &Group) -> String {
    if group.name.is_none() && plan.shape != Shape::StatefulSet {
        return plan.spec.target.index_role.to_owned();
    }
    worker_role(group)
}

/// `worker`, or `worker-<group>`.
pub fn worker_role(group: &Group) -> String {
    group.name.as_ref().map_or("worker".to_owned(), |name| format!("worker-{name}"))
}

/// The worker groups with the names of their workloads.
pub fn teams(plan: &Plan) -> Vec<Team> {
    let (stem, target) = (plan.stem(), plan.spec.target);
    let team = |(index, group): (usize, &Group)| Team {
        group: index,
        workload: match plan.shape {
            Shape::IndexedJob | Shape::Agents if target.own_workloads => stem.clone(),
            _ => format!("{stem}-{}{}", role(plan, group), target.group_suffix),
        },
        replicas: group.replicas,
        spares: group.spares,
        slots: group.slots,
    };
    plan.spec.groups.iter().enumerate().map(team).collect()
}

/// The hostfile, with one line per host. `None` if the job needs none, or if it is too large for the ConfigMap of the scripts.
pub fn hostfile(plan: &Plan) -> Option<String> {
    if !plan.uses_ssh() {
        return None;
    }
    let service = plan.service();
    let longest_line =
        plan.teams.iter().map(|team| team.host(team.replicas, &service).len() + " slots=1024\n".len()).max();
    if longest_line.unwrap_or(0) * (plan.workers as usize + 1) > MAX_CONFIG_MAP / 2 {
        return None;
    }
    let separator = plan.hostfile_mark();
    let mut text = String::new();
    if plan.spec.launcher.runs_ranks
        && let Some(team) = plan.teams.first()
    {
        text.extend([&plan.first_host(), separator, &team.slots.to_string(), "\n"]);
    }
    for team in &plan.teams {
        let count = team.slots.to_string();
        for index in 0..team.replicas {
            text.extend([&team.host(index, &service), separator, &count, "\n"]);
        }
    }
    Some(text)
}

//! The values that the options of a script request. The module `resources` converts them to workers of the new spec.

/// The values of options. A later option overrides an earlier one.
#[derive(Debug, Clone, Default)]
pub struct Resources {
    pub nodes: Option<u32>,
    pub tasks: Option<u32>,
    pub tasks_per_node: Option<u32>,
    pub tasks_per_gpu: Option<u32>,
    pub cpus_per_task: Option<u32>,
    pub cpus_per_gpu: Option<u32>,
    /// Memory, in mebibytes.
    pub mem: Option<u64>,
    pub mem_per_cpu: Option<u64>,
    pub mem_per_gpu: Option<u64>,
    pub tmp: Option<u64>,
    pub gpus: Option<u32>,
    pub gpus_per_node: Option<u32>,
    pub gpus_per_task: Option<u32>,
    /// The kind of GPU: `gpu:a100`.
    pub gres: Option<String>,
    /// The number of hosts in the nodelist.
    pub hosts: Option<u32>,
    /// The time limit, in seconds.
    pub time: Option<u64>,
    pub requeue: Option<bool>,
}

//! The topology of the nodes: its levels, and how close together the workers run.

/// How close together the workers run.
#[derive(Debug, Clone, Default)]
pub struct Topology {
    pub required: Option<Level>,
    pub preferred: Option<Level>,
    pub slices: Option<Slices>,
    /// By which the hosts of the ranks are sorted. `None` keeps the order of the workers.
    pub rank_order: Option<RankOrder>,
}

/// By which the hosts of the ranks are sorted.
#[derive(Debug, Clone)]
pub enum RankOrder {
    /// The domains of their nodes at these levels, the outermost first. The list is not empty.
    Levels(Vec<Level>),
    /// The round-trip times between them, which the launcher measures.
    Measured,
}

impl Topology {
    /// Whether the topology determines where workers run, and not only the order of the ranks.
    pub fn places(&self) -> bool {
        self.required.is_some() || self.preferred.is_some() || self.slices.is_some()
    }

    /// Whether pods must read nodes to sort the ranks. Kubernetes copies the zone and the region to labels of pods, so for these
    /// levels the pods read their own labels.
    pub fn reads_nodes(&self) -> bool {
        self.sorting_levels().iter().any(|level| !POD_LABELS.contains(&level.label.as_str()))
    }

    /// The levels by which the hosts are sorted. Empty if they are not sorted by levels.
    pub fn sorting_levels(&self) -> &[Level] {
        match &self.rank_order {
            Some(RankOrder::Levels(levels)) => levels,
            Some(RankOrder::Measured) | None => &[],
        }
    }
}

/// The labels of nodes that Kubernetes 1.35 and newer copies to pods.
const POD_LABELS: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

/// Slices of workers, each of which runs in one domain.
#[derive(Debug, Clone)]
pub struct Slices {
    pub size: u32,
    pub required: Level,
}

/// A level of the topology of the nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// The level as the spec names it, which is also the name of a tier of Volcano.
    pub name: String,
    /// The label whose values name the domains of the level.
    pub label: String,
}

/// The words for levels, and their node labels.
const LEVELS: [(&str, &str); 6] = [
    ("host", "kubernetes.io/hostname"),
    ("nvlink", "nvidia.com/gpu.clique"),
    ("rack", "topology.kubernetes.io/rack"),
    ("block", "topology.kubernetes.io/block"),
    ("zone", "topology.kubernetes.io/zone"),
    ("region", "topology.kubernetes.io/region"),
];

impl Level {
    /// The level that a word such as `rack`, or a node label, names.
    pub fn new(name: &str) -> Self {
        let label = LEVELS.iter().find(|(word, _)| *word == name).map_or(name, |(_, label)| label);
        Self { name: name.to_owned(), label: label.to_owned() }
    }
}

/// The component that places the workers by [`Topology`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placer {
    /// Kueue, by annotations of pod templates.
    Kueue,
    /// Volcano, by its Job.
    VolcanoJob,
    /// Volcano, by its PodGroup.
    VolcanoGroup,
    /// The scheduler of Kubernetes, by its PodGroup.
    Native,
    /// Any scheduler, by the affinity of pods.
    Affinity,
}

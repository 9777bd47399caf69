//! The timeline of a run as the preview page calls it: a module of its own, which the page loads when the timeline is opened.
//!
//! An adapter. The module of `web/wasm` compiles the spec and returns the facts that a timeline depends on, so this module
//! contains no compiler. The shape of its JSON is [`DrawnTimeline`].

use khorovod::picture::{self, Drawing};
use khorovod::timeline::{Facts, Scenario, Timeline, duration};
use khorovod_web_wire::{DrawnTimeline, ScenarioChoice, json};
use wasm_bindgen::prelude::wasm_bindgen;

/// Computes and draws the timeline of a job: a [`DrawnTimeline`] as JSON, or `null` if there is no job.
/// `all_facts` is the result of the function `facts` of the other module; `scenario` is the name of a [`Scenario`]. The
/// picture has the given width in CSS pixels.
#[wasm_bindgen]
pub fn timeline(all_facts: &str, job: usize, scenario: &str, width: u32) -> String {
    let all_facts: Vec<Facts> = all_facts.lines().filter_map(Facts::from_line).collect();
    json(&all_facts.get(job).or(all_facts.first()).map(|facts| drawn(&all_facts, facts, scenario, width)))
}

fn drawn(all_facts: &[Facts], facts: &Facts, scenario: &str, width: u32) -> DrawnTimeline {
    let scenarios = Scenario::of(facts);
    let scenario = scenarios.iter().copied().find(|one| one.name() == scenario).unwrap_or(Scenario::Nothing);
    let timeline = Timeline::new(facts, scenario);
    let Drawing { width, height, svg, description, spans, .. } = picture::timeline(&timeline, width);
    let choice = |scenario: Scenario| ScenarioChoice { scenario, label: scenario.label(facts) };
    DrawnTimeline {
        jobs: all_facts.iter().map(|facts| facts.job.clone()).collect(),
        choices: scenarios.into_iter().map(choice).collect(),
        lengths: timeline.phases.iter().map(|phase| phase.seconds.map_or(String::new(), duration)).collect(),
        timeline,
        width,
        height,
        svg,
        description,
        spans: spans.into_iter().map(|(x, width)| [x, width]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use khorovod::{Inputs, Keys, Text};
    use serde_json::Value;

    use super::*;

    const JOB: &str = "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: mnist}\n\
        spec: {image: 'a:1', command: [python, train.py], workers: {replicas: 4, gpus: 8}}\n";

    #[test]
    fn a_timeline_has_a_place_for_each_phase() {
        let spec = Text { name: "job.yaml".to_owned(), text: JOB.to_owned() };
        let found = khorovod::timeline_facts(&spec, &Inputs { keys: Keys::Masked, ..Inputs::default() }).unwrap();
        let all_facts = found[0].to_line();
        let drawn: Value = serde_json::from_str(&timeline(&all_facts, 0, "workerNode", 640)).unwrap();
        let phases = drawn["timeline"]["phases"].as_array().unwrap();
        assert_eq!(Some(phases.len()), drawn["spans"].as_array().map(Vec::len));
        assert_eq!((&drawn["timeline"]["scenario"], &drawn["jobs"][0]), (&"workerNode".into(), &"mnist".into()));
        assert_eq!(timeline("", 0, "workerNode", 640), "null");
    }
}

//! Reports of unknown keys of a map: misspelt keys, keys that belong in another map, and names from other systems.

use super::suggestions::{alternatives, nearest};
use super::*;
use super::{edits, other_names, suggestions};
use crate::problem::Fix;
use crate::yaml::flow::flow;

/// The launcher that an unknown key of `launcher` names, as in `{name: torchrun}` or `{torchrun: {}}`.
fn launcher_kind(entry: &Entry) -> Option<&str> {
    const KINDS: &[&str] = &["mpirun", "horovodrun", "torchrun", "deepspeed", "jax", "tensorflow", "shell"];
    let word = match entry.key.as_str() {
        "name" | "program" | "launcher" => entry.value.text()?,
        key => key,
    };
    KINDS.contains(&word).then_some(word)
}

/// Describes the first character of a key that is not ASCII. It may look like an ASCII letter, or be invisible.
fn look_alike(key: &str) -> Option<String> {
    let found = key.chars().find(|c| !c.is_ascii())?;
    let code = format!("U+{:04X}", u32::from(found));
    Some(match found.is_alphabetic() {
        true => format!("`{found}` ({code}), which is not an ASCII letter"),
        false => format!("the character {code}, which is not an ASCII character"),
    })
}

impl Reader<'_, '_> {
    /// The key among `known` that an entry of the map `map` has. Any other key is reported. If a map or a list has a misspelt
    /// key, returns the key that was probably meant, so that the problems in the value are reported too.
    pub fn known<'k>(&mut self, map: &Node, entry: &Entry, known: &[&'k str]) -> Option<&'k str> {
        if let Some(key) = known.iter().find(|key| **key == entry.key) {
            return Some(key);
        }
        let before = self.problems.len();
        self.unknown(entry, known);
        let is_parent = match &entry.value.kind {
            Kind::Map(entries) => !entries.is_empty(),
            Kind::List(items) => !items.is_empty(),
            Kind::Scalar { .. } => false,
        };
        // Other fixes move or replace the value.
        let fix = self.problems.get(before)?.fix.as_ref().filter(|fix| is_parent && fix.span == entry.key_span)?;
        known.iter().copied().find(|key| *key == fix.text && map.entry(key).is_none())
    }

    /// Reports a key that is not among the keys `known`.
    pub fn unknown(&mut self, entry: &Entry, known: &[&str]) {
        let path = self.path();
        let message = match path.as_str() {
            // Only two kinds of documents are read: a TrainingJob has the field `spec`, and an Expectations file does
            // not.
            "the document" if self.index.contains("spec") => format!("a TrainingJob has no field `{}`", entry.key),
            "the document" => format!("an Expectations file has no field `{}`", entry.key),
            _ => format!("`{path}` has no field `{}`", entry.key),
        };
        let problem = Problem::new(&UNKNOWN_FIELD, entry.key_span, message);
        if entry.value.scalar() == Some(Scalar::Null)
            && let Some(fixed) = self.index.missing_space(&entry.key)
        {
            self.guessed.extend(fixed.split_once(':').map(|(key, _)| format!("{path}.{key}")));
            let problem = problem.hint(format!("write a colon and a space between key and value: `{fixed}`"));
            return self.push(problem.fix(entry.key_span, fixed));
        }
        if let Some((key, written)) = suggestions::rewritten(entry, known) {
            self.guessed.push(format!("{path}.{key}"));
            let problem = problem.hint(format!("write `{written}`"));
            // A value with several fields gets only a hint.
            let one = !written.contains(", ") && entry.key_span.start < entry.value.span.end;
            let span = Span { end: entry.value.span.end, ..entry.key_span };
            return self.push(if one { problem.fix(span, written) } else { problem });
        }
        if path.rsplit('.').next() == Some("claim") && ["name", "claimName"].contains(&entry.key.as_str()) {
            self.guessed.push(format!("{path}.size"));
            let name = entry.value.text().or_else(|| entry.value.written()).unwrap_or("NAME");
            return self.push(problem.hint(format!(
                "for an existing claim write `existingClaim: {name}` instead of `claim`; khorovod names new claims after the job and the entry"
            )));
        }
        if path == "spec.launcher"
            && let Some(kind) = launcher_kind(entry)
        {
            self.guessed.push(format!("{path}.kind"));
            let (text, span) = (format!("kind: {kind}"), Span { end: entry.value.span.end, ..entry.key_span });
            let is_together = entry.value.span.source == span.source && span.start < span.end;
            let problem = problem.hint(format!("write `{text}`"));
            return self.push(if is_together { problem.fix(span, text) } else { problem });
        }
        if let [Step::Key(parent, ..)] = self.path.as_slice()
            && ["metadata", "spec"].contains(&entry.key.as_str())
            && self.document.get(&entry.key).is_none()
            && let Some(fix) = edits::to_top(self.texts, &parent.value, entry)
        {
            self.guessed.push(format!("the document.{}", entry.key));
            let hint = "it belongs at the top of the document: write it in the first column";
            return self.push(Problem { fix: Some(fix), ..problem.hint(hint) });
        }
        if path == "the document"
            && self.index.contains("spec")
            && let Some(section) = self.document.entry("spec")
            && let Some(key) = suggestions::field_of_spec(&entry.key, &self.index.keys("spec"))
        {
            return self.of_spec(problem, section, entry, key);
        }
        if path == "spec.workers" && other_names::counts_processes(&entry.key) && self.chooses_gpus(entry) {
            return self.gpus_or_slots(problem, entry);
        }
        if path == "spec.code" {
            self.guessed.extend([format!("{path}.files"), format!("{path}.configMapName")]);
        }
        if path.starts_with("spec.storage[") && ["source", "mode", "store"].contains(&entry.key.as_str()) {
            self.guessed.push(format!("{path}.s3"));
        }
        let written = entry.value.to_exact_json();
        // In these maps, a name of another system has a special hint instead: see `FieldIndex::hint`.
        let is_in_message = path == "spec.code" || path.ends_with("hostPath") || path.ends_with("emptyDir");
        let near = match other_names::field(&entry.key).filter(|_| !is_in_message) {
            Some(_) => match other_names::sibling(&entry.key, &written, known) {
                Some((key, value)) if value != written => return self.rewritten(problem, entry, key, &value),
                same => same.map(|(key, _)| key),
            },
            None => nearest(&entry.key, known.iter().copied()),
        };
        self.guessed.extend(near.map(|near| format!("{path}.{near}")));
        if let Some(near) = near {
            if let Some(Step::Key(parent, ..)) = self.path.last()
                // If the spec and an overlay both have the field, that is correct: the overlay replaces the field of the spec.
                && let Some(other) = parent.value.entry(near).filter(|at| at.key_span.source == entry.key_span.source)
            {
                let hint = format!("did you mean `{near}`? It is set, too: keep one of the two");
                return self.push(problem.and(other.key_span, format!("`{near}` is here")).hint(hint));
            }
            let look_alike = look_alike(&entry.key).map(|what| format!(" The key contains {what}."));
            let hint = format!("did you mean `{near}`?{}", look_alike.unwrap_or_default());
            return self.push(problem.hint(hint).fix(entry.key_span, near));
        }
        if self.dotted(&problem, entry, &path) || self.below_spec(&problem, entry, &path) {
            return;
        }
        let hint = self.index.hint(&entry.key, &path).unwrap_or_else(|| format!("it takes {}", alternatives(known)));
        let hint = match look_alike(&entry.key) {
            Some(what) => format!("{hint}; the key contains {what}"),
            None => hint,
        };
        let fix = self.below(entry, &path);
        // `time` may also be meant for `spec.slurm`.
        let fix_is_choice = entry.key == "time" && fix.is_some();
        self.push(Problem { fix, fix_is_choice, ..problem.hint(hint) });
    }

    /// Reports a field of `spec` that begins in the first column, so that it is a field of the document.
    fn of_spec(&mut self, problem: Problem, section: &Entry, entry: &Entry, key: &str) {
        let meant = if entry.key == key { String::new() } else { format!("did you mean `{key}`? ") };
        let it = if meant.is_empty() { "it" } else { "It" };
        if let Some(other) = section.value.entry(key).filter(|at| at.key_span.source == entry.key_span.source) {
            let hint = format!("{meant}{it} belongs in `spec`, which has `{key}` too: keep one of the two");
            return self.push(problem.and(other.key_span, format!("`{key}` is here")).hint(hint));
        }
        let hint = format!("{meant}{it} belongs in `spec`: indent it as the fields there");
        let fix = edits::into_map(self.texts, section, entry, key);
        self.push(Problem { fix, ..problem.hint(hint) });
    }

    /// Reports a field of `spec` that a map in `spec` has by mistake, such as `workers` in `launcher`. Returns whether it is one. The
    /// fix moves the field, so it is not reported as missing.
    fn below_spec(&mut self, problem: &Problem, entry: &Entry, path: &str) -> bool {
        let [Step::Key(spec, ..), Step::Key(section, ..), ..] = self.path.as_slice() else { return false };
        let is_key = |step: &Step<'_>| matches!(step, Step::Key(..));
        if !path.starts_with("spec.") || !self.path.iter().all(is_key) || !self.index.is_only_in(&entry.key, "spec") {
            return false;
        }
        let hint = "it belongs in `spec`";
        let problem = problem.clone();
        if let Some(other) = spec.value.entry(&entry.key) {
            let hint = format!("{hint}, which has `{}` too: keep one of the two", entry.key);
            let problem = problem.and(other.key_span, format!("`{}` is here", entry.key));
            self.push(problem.hint(hint));
            return true;
        }
        let fix = edits::out_of(self.texts, section, entry);
        self.guessed.push(format!("spec.{}", entry.key));
        let hint = if fix.is_some() { format!("{hint}: indent it as the fields there") } else { hint.to_owned() };
        self.push(Problem { fix, ..problem.hint(hint) });
        true
    }

    /// Reports a key that is the path of a field, such as `lifecycle.stall`. Returns whether it is one.
    fn dotted(&mut self, problem: &Problem, entry: &Entry, path: &str) -> bool {
        let steps: Vec<&str> = entry.key.split('.').collect();
        let is_top = path == "the document";
        let mut homes = vec![if is_top { String::new() } else { path.to_owned() }];
        for step in &steps {
            let home = &homes[homes.len() - 1];
            if !self.index.keys(home).contains(step) {
                return false;
            }
            homes.push(if home.is_empty() { (*step).to_owned() } else { format!("{home}.{step}") });
        }
        let [sections @ .., last] = steps.as_slice() else { return false };
        if sections.is_empty() {
            return false;
        }
        let problem = problem.clone();
        let opened: String = sections.iter().flat_map(|step| [*step, ": {"]).collect();
        let hint = format!("write it nested: `{opened}{last}: …{}`", "}".repeat(sections.len()));
        // The deepest map of the path that the spec has.
        let (mut section, mut found) = (None, 0);
        let mut map = match self.path.last() {
            Some(Step::Key(parent, ..)) => &parent.value,
            None => self.document,
            Some(Step::Index(_)) => return false,
        };
        while let Some(there) = sections.get(found).and_then(|step| map.entry(step)) {
            (section, map, found) = (Some(there), &there.value, found + 1);
        }
        let fix = match section {
            Some(_) if map.entry(steps[found]).is_some() => None,
            Some(section) if found == sections.len() => edits::into_map(self.texts, section, entry, last),
            Some(_) => None,
            // The fix of another path already adds this map.
            None if self.guessed.contains(&homes[1]) => None,
            None => edits::nested(self.texts, entry, &steps),
        };
        // None of these fields is missing.
        self.guessed.extend(homes.into_iter().skip(1));
        self.guessed.push(format!("{path}.{}", steps[0]));
        self.push(Problem { fix, ..problem.hint(hint) });
        true
    }

    /// Whether a number of processes in `workers` may be the number of GPUs, or that of ranks without GPUs.
    fn chooses_gpus(&self, entry: &Entry) -> bool {
        let Some(Step::Key(parent, ..)) = self.path.last() else { return false };
        let is_free = ["gpus", "slotsPerWorker"].iter().all(|key| parent.value.entry(key).is_none());
        is_free && matches!(entry.value.scalar(), Some(Scalar::Int(1..)))
    }

    /// Reports a number of processes in `workers`. The first fix is the likelier one.
    fn gpus_or_slots(&mut self, problem: Problem, entry: &Entry) {
        let number = entry.value.written().unwrap_or_default();
        let hint = format!("write `gpus: {number}` if each rank has a GPU, or `slotsPerWorker: {number}` without GPUs");
        let fix = |key: &str| Some(Fix { span: entry.key_span, text: key.to_owned() });
        let (gpus, slots) = (fix("gpus"), fix("slotsPerWorker"));
        let (fix, other_fix) = if suggestions::uses_gpus(self.document) { (gpus, slots) } else { (slots, gpus) };
        self.push(Problem { fix, other_fix, ..problem.hint(hint).by_choice() });
    }

    /// Reports a field with a name and a value of another system.
    fn rewritten(&mut self, problem: Problem, entry: &Entry, key: &str, value: &Json) {
        self.guessed.push(format!("{}.{key}", self.path()));
        let text = format!("{key}: {}", flow(value));
        let span = Span { end: entry.value.span.end, ..entry.key_span };
        let is_together = entry.value.span.source == span.source && span.start < span.end;
        let problem = problem.hint(format!("write `{text}`"));
        self.push(if is_together { problem.fix(span, text) } else { problem });
    }

    /// The edit that moves a field with a name of another system into a map beside it: `numNodes: 4` becomes
    /// `workers: {replicas: 4}`. If the map `workers` already exists, `replicas: 4` is added to it.
    fn below(&mut self, entry: &Entry, path: &str) -> Option<Fix> {
        let Some(Step::Key(parent, ..)) = self.path.last() else { return None };
        let target = other_names::field(&entry.key)?;
        let (section, key) = target.strip_prefix(path)?.strip_prefix('.')?.split_once('.')?;
        // `storage` is a list, whose items need more than one field.
        let is_field = section != "storage" && !key.contains('.');
        let value = other_names::converted(&entry.key, &entry.value.to_exact_json()).filter(|_| is_field)?;
        let home = format!("{path}.{section}");
        // Another fix may already add the section.
        if parent.value.entry(section).is_none() && self.guessed.contains(&home) {
            return None;
        }
        let order = self.index.keys(&home);
        let fix = edits::moved(self.texts, &parent.value, entry, (section, key), &order, &value)?;
        // The fix adds the section and the field, so neither is missing.
        self.guessed.extend([home, target.to_owned()]);
        Some(fix)
    }
}

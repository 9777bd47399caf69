//! Pictures of jobs: every SVG file is well-formed and needs no other file, it shows the numbers of the plan, its size is
//! bounded, and the page has the same colours.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use khorovod::report::Report;
use khorovod::{Inputs, Keys, Text, picture};
use roxmltree::{Document, Node};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn reports(text: &str, target: &str) -> Vec<Report> {
    let spec = Text { name: "job.yaml".to_owned(), text: text.to_owned() };
    let inputs = Inputs { keys: Keys::Masked, target: target.parse().unwrap(), ..Inputs::default() };
    khorovod::reports(&spec, &inputs).unwrap_or_else(|problems| panic!("{problems}")).jobs
}

/// The reports of a job whose field `workers` has this value.
fn with_workers(workers: &str) -> Vec<Report> {
    let text = format!(
        "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {{name: mnist}}\n\
         spec: {{image: 'a:1', command: [python, train.py], workers: {workers}}}\n"
    );
    reports(&text, "plain")
}

/// The specs of all examples, with the names of their folders.
fn examples() -> Vec<(String, String)> {
    let folders = fs::read_dir(path("examples")).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = folders
        .filter(|folder| folder.is_dir())
        .map(|folder| {
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(folder.join("job.yaml")).unwrap())
        })
        .collect();
    all.sort();
    all
}

fn texts<'a>(document: &'a Document<'_>, tag: &'a str) -> impl Iterator<Item = &'a str> {
    document.descendants().filter(move |node| node.has_tag_name(tag_of(tag))).filter_map(|node| node.text())
}

fn tag_of(tag: &str) -> (&'static str, &str) {
    ("http://www.w3.org/2000/svg", tag)
}

/// The class of an element.
fn class<'a>(node: &Node<'a, '_>) -> &'a str {
    node.attribute("class").unwrap_or_default()
}

/// The number of ranks in a text that ends with `rank 3` or `ranks 8–15`.
fn ranks_in(text: &str) -> Option<u32> {
    let (_, ranks) = text.rsplit_once(' ')?;
    match ranks.split_once('–') {
        Some((first, last)) => Some(last.parse::<u32>().ok()? - first.parse::<u32>().ok()? + 1),
        None => ranks.parse::<u32>().ok().map(|_| 1),
    }
}

#[test]
fn pictures_are_well_formed_and_need_no_other_file() {
    for (name, spec) in examples() {
        let svg = picture::svg(&reports(&spec, "plain"));
        assert_eq!(svg, picture::svg(&reports(&spec, "plain")), "{name}: two pictures of a job differ");
        let document = Document::parse(&svg).unwrap_or_else(|error| panic!("{name}: {error}"));
        let root = document.root_element();
        assert!(root.has_tag_name(tag_of("svg")) && root.attribute("role") == Some("img"), "{name}");
        let first = |tag| texts(&document, tag).next().unwrap_or_default();
        assert!(first("title").starts_with("The training job ") && first("desc").contains(" in total"), "{name}");
        assert_eq!(root.attribute("aria-label"), Some(first("desc")), "{name}");
        let style = first("style");
        assert!(style.contains("prefers-color-scheme: dark") && !style.contains("var("), "{name}: {style}");
        for node in document.descendants() {
            let tags = ["svg", "title", "desc", "style", "g", "rect", "path", "ellipse", "text"];
            assert!(!node.is_element() || tags.contains(&node.tag_name().name()), "{name}: {node:?}");
            let allowed = |attribute: &str| !attribute.contains("href") && !attribute.starts_with("on");
            assert!(node.attributes().all(|attribute| allowed(attribute.name())), "{name}: {node:?}");
        }
        assert!(!style.contains("url(") && !style.contains("@import"), "{name}");
    }
}

#[test]
fn numbers_of_hosts_and_ranks_are_those_of_the_plan() {
    let mut compared = 0;
    for (name, spec) in examples() {
        for report in reports(&spec, "plain") {
            let svg = picture::svg(std::slice::from_ref(&report));
            let document = Document::parse(&svg).unwrap();
            let total = format!("; {} rank", report.ranks);
            assert!(texts(&document, "desc").any(|text| text.replace(',', "").contains(&total)), "{name}: {total}");
            let launchers = document.descendants().filter(|node| class(node).starts_with("pod head")).count();
            assert_eq!(launchers, 1, "{name}: one pod starts the ranks");
            if report.workers.iter().any(|group| group.replicas > 48) {
                continue;
            }
            compared += 1;
            let hosts: u32 = report.workers.iter().map(|group| group.replicas).sum();
            let tips: Vec<&str> = texts(&document, "title").filter(|text| text.contains("rank")).collect();
            assert_eq!(tips.len(), hosts as usize, "{name}: {tips:?}");
            assert_eq!(tips.iter().collect::<BTreeSet<_>>().len(), tips.len(), "{name}: a host is drawn twice");
            for (group, tip) in report.workers.iter().zip(&tips) {
                assert!(tip.starts_with(&group.hosts.0) || report.workers.len() > 1, "{name}: {tip}");
            }
            if report.workers.iter().all(|group| group.first_rank.is_some()) {
                let ranks: u32 = tips.iter().filter_map(|tip| ranks_in(tip)).sum();
                assert_eq!(ranks + report.head.ranks, report.ranks, "{name}: {tips:?}");
            }
        }
    }
    assert!(compared > 20, "only {compared} jobs have few workers");
}

#[test]
fn texts_are_escaped() {
    let mut reports = with_workers("{replicas: 2, gpus: 1}");
    let hostile = "</text><script>a('\"&\u{1b}\u{0}\u{ffff}";
    let report = &mut reports[0];
    hostile.clone_into(&mut report.job);
    hostile.clone_into(&mut report.launcher);
    hostile.clone_into(&mut report.nodes);
    report.workers[0].group = Some(hostile.to_owned());
    hostile.clone_into(&mut report.workers[0].hosts.0);
    let svg = picture::svg(&reports);
    let document = Document::parse(&svg).unwrap();
    assert!(!svg.contains("<script"));
    let visible = "</text><script>a('\"&\u{fffd}\u{fffd}\u{fffd}";
    assert!(texts(&document, "text").any(|text| text.contains(visible)), "{svg}");
    assert!(document.root_element().attribute("aria-label").unwrap().starts_with(visible));
}

#[test]
fn the_size_is_bounded() {
    for (replicas, limit) in [(12, 24_000), (48, 24_000), (1_000, 40_000), (2_000, 80_000), (100_000, 80_000)] {
        let svg = picture::svg(&with_workers(&format!("{{replicas: {replicas}, gpus: 8}}")));
        assert!(svg.len() < limit, "{replicas} workers: {} bytes", svg.len());
        Document::parse(&svg).unwrap();
    }
    let groups: Vec<String> =
        (0..500).map(|index| format!("{{name: g{index}, replicas: {}, gpus: 8}}", index % 60 + 1)).collect();
    let svg = picture::svg(&with_workers(&format!("{{groups: [{}]}}", groups.join(", "))));
    assert!(svg.len() < 250_000, "500 groups: {} bytes", svg.len());
    assert!(svg.contains("400 more groups not shown"), "the rest is counted");

    let one = with_workers("{replicas: 4, gpus: 8}").remove(0);
    let svg = picture::svg(&vec![one; 500]);
    assert!(svg.len() < 200_000 && svg.contains("480 more jobs not shown"), "500 jobs: {} bytes", svg.len());
    Document::parse(&svg).unwrap();
}

#[test]
fn parts_have_unique_keys_and_fit_the_width() {
    let jobs =
        ["{replicas: 1}", "{replicas: 12, gpus: 8}", "{replicas: 40, gpus: 16}", "{replicas: 9999, slotsPerWorker: 3}"];
    for (workers, width) in jobs.into_iter().flat_map(|workers| [0, 280, 390, 640, 1_200].map(|width| (workers, width)))
    {
        let picture = picture::draw(&with_workers(workers), 0, width);
        assert_eq!(picture.width, width.max(280));
        let keys: BTreeSet<&str> = picture.items.iter().map(|item| item.key.as_str()).collect();
        assert_eq!(keys.len(), picture.items.len(), "{keys:?}");
        for item in &picture.items {
            assert!(item.x < picture.width && item.y < picture.height, "{workers} {width}: {item:?}");
        }
    }
}

#[test]
fn a_change_changes_only_the_parts_that_show_it() {
    let parts = |workers: &str| picture::draw(&with_workers(workers), 0, 640).items;
    let (four, nine) = (parts("{replicas: 4, gpus: 8}"), parts("{replicas: 9, gpus: 8}"));
    let of = |parts: &[picture::Item], key: &str| parts.iter().find(|item| item.key == key).unwrap().svg.clone();
    // The launcher's host name contains the name of the run.
    assert_ne!(of(&four, "head"), of(&nine, "head"));
    assert_ne!(of(&four, "team 0"), of(&nine, "team 0"));
    for key in ["api", "ssh", "notes"] {
        assert_eq!(of(&four, key), of(&nine, key), "{key}");
    }
}

/// The parts whose key starts with a word.
fn parts<'a>(picture: &'a picture::Picture, word: &str) -> Vec<&'a picture::Item> {
    picture.items.iter().filter(|item| item.key.starts_with(word)).collect()
}

/// The width of the first rectangle of a part.
fn width_of(item: &picture::Item) -> u32 {
    let (_, rest) = item.svg.split_once("width='").unwrap();
    rest.split_once('\'').unwrap().0.parse().unwrap()
}

#[test]
fn cards_fill_the_width_in_balanced_rows() {
    for (replicas, width, rows) in [
        (1, 640, &[1][..]),
        (4, 640, &[2, 2]),
        (4, 1_000, &[2, 2]),
        (5, 1_000, &[3, 2]),
        (8, 1_000, &[4, 4]),
        (12, 1_000, &[4, 4, 4]),
    ] {
        let picture = picture::draw(&with_workers(&format!("{{replicas: {replicas}, gpus: 8}}")), 0, width);
        let cards = parts(&picture, "worker ");
        let mut found: Vec<(u32, usize)> = Vec::new();
        for card in &cards {
            match found.last_mut() {
                Some((y, number)) if *y == card.y => *number += 1,
                _ => found.push((card.y, 1)),
            }
        }
        assert_eq!(found.iter().map(|(_, number)| *number).collect::<Vec<_>>(), rows, "{replicas} at {width}");
        let right = cards.iter().map(|card| card.x + width_of(card)).max().unwrap();
        assert!(right + 2 * 12 + 4 >= width && right + 2 * 12 <= width, "{replicas} at {width}: {right}");
    }
}

#[test]
fn the_ring_has_every_rank_in_order() {
    let ring = |workers: &str| {
        let picture = picture::draw(&with_workers(workers), 0, 640);
        parts(&picture, "ring").first().map(|item| item.svg.clone())
    };
    let svg = ring("{replicas: 4, gpus: 8}").unwrap();
    let numbers: String = (0..32).map(|rank| rank.to_string()).collect();
    assert!(svg.contains(&format!(">{numbers}</text>")), "{svg}");
    // Each of the four workers has an arc of its own beside its dots.
    let shapes = |class: &str| svg.split("<path ").find(|path| path.contains(class)).unwrap().matches('M').count();
    assert_eq!((shapes("class='dots gpu'"), shapes("class='span'")), (32, 4), "{svg}");
    // The digits go round clockwise from the top: the first is at the right of the centre, the last at its left.
    let (head, _) = svg.split_once(&format!(">{numbers}<")).unwrap();
    let xs: Vec<f64> = head
        .rsplit_once("<text x='")
        .unwrap()
        .1
        .split_once('\'')
        .unwrap()
        .0
        .split(' ')
        .map(|x| x.parse().unwrap())
        .collect();
    assert!(xs[0] > 100.0 && xs[xs.len() - 1] < xs[0], "{xs:?}");
    assert!(ring("{replicas: 2, gpus: 1, slotsPerWorker: 1}").is_some());
    assert_eq!(ring("{replicas: 1, slotsPerWorker: 1}"), None, "one rank has no ring");
    assert!(ring("{replicas: 5000, gpus: 8}").unwrap().len() < 4_000);
}

/// The picture of an example, with replacements in its spec.
fn of_example(name: &str, replacements: &[(&str, &str)], width: u32) -> picture::Picture {
    let mut spec = fs::read_to_string(path(&format!("examples/{name}/job.yaml"))).unwrap();
    for (from, to) in replacements {
        assert!(spec.contains(from), "{name}: {from}");
        spec = spec.replace(from, to);
    }
    picture::draw(&reports(&spec, "plain"), 0, width)
}

/// Left, upper, right and lower edge of the first rectangle of a part.
fn edges(item: &picture::Item) -> [u32; 4] {
    let (_, rest) = item.svg.split_once("height='").unwrap();
    let height: u32 = rest.split_once('\'').unwrap().0.parse().unwrap();
    [item.x, item.y, item.x + width_of(item), item.y + height]
}

fn is_inside(inner: &picture::Item, outer: &picture::Item) -> bool {
    let ([a, b, c, d], [left, top, right, bottom]) = (edges(inner), edges(outer));
    a >= left && b >= top && c <= right && d <= bottom
}

#[test]
fn workers_are_in_the_frames_of_their_racks() {
    for (replicas, size, width) in
        [("16", "4", 640), ("4", "2", 640), ("49", "7", 640), ("16", "4", 300), ("49", "7", 1_000), ("100", "2", 640)]
    {
        let size_of = format!("size: {size}");
        let picture =
            of_example("topology", &[("replicas: 16", &format!("replicas: {replicas}")), ("size: 4", &size_of)], width);
        let (slices, workers) = (parts(&picture, "slice 0 "), parts(&picture, "worker 0 "));
        let [all, size]: [usize; 2] = [replicas, size].map(|number| number.parse().unwrap());
        assert_eq!((slices.len(), workers.len()), (all / size, all), "{replicas} at {width}");
        for (index, worker) in workers.iter().enumerate() {
            let within: Vec<_> =
                slices.iter().filter(|slice| is_inside(worker, slice)).map(|slice| &slice.key).collect();
            assert_eq!(within, [&format!("slice 0 {}", index / size)], "worker {index} of {replicas} at {width}");
        }
        let team = parts(&picture, "team 0")[0];
        assert!(slices.iter().all(|slice| is_inside(slice, team)), "{replicas} at {width}");
        // The whole job is in one block, if possible.
        let block = parts(&picture, "frame 0")[0];
        assert!(is_inside(team, block) && block.svg.contains("one block, preferred"), "{block:?}");
        assert!(slices[0].svg.contains("rack A") && block.svg.contains("'domain preferred'"), "{slices:?}");
    }
    // Racks of too many workers would be too small.
    let many = of_example("topology", &[("replicas: 16", "replicas: 4000")], 640);
    assert!(parts(&many, "slice").is_empty() && parts(&many, "grid 0").len() == 1);
}

#[test]
fn nvlink_and_gangs_have_frames() {
    let nvlink = of_example("nvlink", &[], 640);
    let frame = parts(&nvlink, "frame 0")[0];
    assert!(frame.svg.contains("one NVLink domain, required, connected by a ComputeDomain"), "{frame:?}");
    assert!(frame.svg.contains("'domain nvlink'") && is_inside(parts(&nvlink, "team 0")[0], frame), "{frame:?}");
    assert_eq!(parts(&nvlink, "frame ").len(), 1, "one frame shows both");
    let alone = of_example("nvlink", &[("  placement:\n    topology: {required: nvlink}\n", "")], 640);
    assert!(parts(&alone, "frame 0")[0].svg.contains("NVLink between nodes: a ComputeDomain"));

    let gang = of_example("gang", &[], 640);
    let frame = parts(&gang, "frame 0")[0];
    assert!(frame.svg.contains("gang of Volcano") && frame.svg.contains("(8 pods)"), "{frame:?}");
    assert!(gang.description.contains("; gang of Volcano"), "{}", gang.description);
    let both =
        of_example("gang", &[("  scheduling:", "  placement: {topology: {required: rack}}\n  scheduling:")], 640);
    let [outer, inner] = parts(&both, "frame ")[..] else { panic!("{both:?}") };
    assert!(is_inside(inner, outer) && outer.svg.contains("gang") && inner.svg.contains("one rack"), "{both:?}");
    assert!(parts(&of_example("smallest", &[], 640), "frame ").is_empty());
}

#[test]
fn workers_that_may_come_later_are_dashed() {
    let elastic = fs::read_to_string(path("examples/elastic/job.yaml")).unwrap();
    let spares = fs::read_to_string(path("examples/self-healing/job.yaml")).unwrap();
    for (spec, ghosts, tip) in
        [(elastic, 4, "joins if there is room, up to 8 workers"), (spares, 1, "takes the place of a lost worker")]
    {
        let reports = reports(&spec, "plain");
        let picture = picture::draw(&reports, 0, 640);
        let found: Vec<_> =
            parts(&picture, "worker ").into_iter().filter(|item| item.svg.contains("'ghost'")).collect();
        assert_eq!(found.len(), ghosts);
        assert!(found.iter().all(|item| item.tip.as_ref().unwrap().ends_with(tip)), "{found:?}");
        assert_eq!(parts(&picture, "worker ").len(), reports[0].workers[0].replicas as usize + ghosts);
    }
    let many = &reports(
        &fs::read_to_string(path("examples/self-healing/job.yaml")).unwrap().replace("replicas: 16", "replicas: 600"),
        "plain",
    );
    let picture = picture::draw(many, 0, 640);
    let grid = parts(&picture, "grid 0")[0];
    assert!(grid.svg.contains("class='ghost'") && grid.grid.unwrap().workers == 601, "{grid:?}");
}

#[test]
fn several_jobs_are_below_each_other() {
    let mut jobs = with_workers("{replicas: 2, gpus: 8}");
    jobs.extend(with_workers("{replicas: 3, gpus: 8}"));
    let picture = picture::draw(&jobs, 7, 640);
    let of = |job: usize| picture.items.iter().filter(move |item| item.job == job).map(|item| item.y);
    assert!(of(0).max() < of(1).max() && of(0).max() <= of(1).min());
    assert_eq!(parts(&picture, "worker ").len(), 5);
    assert!(parts(&picture, "more jobs")[0].svg.contains("7 more jobs not shown"));
    assert!(picture.description.matches(" in total").count() == 2, "{}", picture.description);
}

#[test]
fn a_batch_job_has_neither_pods_nor_a_network_policy() {
    let svg = picture::svg(&reports(&fs::read_to_string(path("examples/smallest/job.yaml")).unwrap(), "slurm"));
    assert!(svg.contains("a batch script for Slurm"), "{svg}");
    for word in ["NetworkPolicy", "ssh", "launcher", "kubernetes.io"] {
        assert!(!svg.contains(word), "{word}: {svg}");
    }
}

#[test]
fn the_page_has_the_same_colours() {
    let page = fs::read_to_string(path("web/src/style.css")).unwrap();
    let source = fs::read_to_string(path("src/picture/document.rs")).unwrap();
    let style = fs::read_to_string(path("src/picture/style.css")).unwrap();
    let names: BTreeSet<&str> = style.split("var(--").skip(1).map(|rest| rest.split_once(')').unwrap().0).collect();
    assert!(names.len() > 12, "{names:?}");
    for name in names {
        let start = format!("  --{name}: ");
        let line = page.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no --{name}"));
        let value = line[start.len()..].trim_end_matches(';');
        if let Some(pair) = value.strip_prefix("light-dark(") {
            let (light, dark) = pair.trim_end_matches(')').split_once(", ").unwrap();
            let entry = format!("(\"{name}\", [\"{light}\", \"{dark}\"])");
            assert!(source.contains(&entry), "document.rs has no {entry}");
        } else {
            assert!(source.contains(&value.replace('"', "\\\"")), "document.rs has another value of --{name}: {value}");
        }
    }
}

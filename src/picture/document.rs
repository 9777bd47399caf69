//! A picture as an SVG file that needs no other file: with its style, a title and a description.

use std::fmt::Write;

use super::elements::label;
use super::layout::{self, GAP};
use super::text::{Escaped, count};
use super::{Item, MAX_JOBS, Picture};
use crate::report::Report;

/// The width of a file, which fits a page of documentation.
const WIDTH: u32 = 720;

const STYLE: &str = include_str!("style.css");
/// The rule for the background of a file. On a page, the page draws the background.
const GROUND: &str = ".picture .ground { fill: var(--panel); }";

/// A custom property of [`STYLE`] with its values in light and in dark.
type Property = (&'static str, [&'static str; 2]);

/// The custom properties of [`STYLE`]. A test compares them with those of the page.
const PROPERTIES: [Property; 17] = [
    ("panel", ["#f6f8fa", "#1a222b"]),
    ("paper", ["#ffffff", "#12181f"]),
    ("edge", ["#cfd8e0", "#3a4856"]),
    ("text", ["#1a2530", "#e3eaf0"]),
    ("muted", ["#566472", "#9fb0bf"]),
    ("accent", ["#1b5f8c", "#7fb8de"]),
    ("warning", ["#8a5a00", "#f0bd5a"]),
    ("in", ["#ffffff", "#ffffff"]),
    ("gpu", ["#2c7a4b", "#2f8a55"]),
    ("rank", ["#c9ddec", "#35536b"]),
    ("pod", ["#ffffff", "#202b36"]),
    ("head", ["#dcebf7", "#21405a"]),
    ("team", ["#f0f4f8", "#171f27"]),
    ("volume", ["#efe9f7", "#2a2436"]),
    ("volume-edge", ["#9a83bd", "#8f7bb0"]),
    ("sans", [SANS, SANS]),
    ("mono", [MONO, MONO]),
];
const SANS: &str = "system-ui, -apple-system, \"Segoe UI\", Roboto, \"DejaVu Sans\", sans-serif";
const MONO: &str = "ui-monospace, \"Cascadia Code\", \"SF Mono\", Menlo, Consolas, \"DejaVu Sans Mono\", monospace";

/// Draws jobs as one file, one below the other.
pub fn svg(reports: &[Report]) -> String {
    let shown = &reports[..reports.len().min(MAX_JOBS)];
    let pictures: Vec<Picture> = shown.iter().map(|report| layout::picture(report, WIDTH, shown.len())).collect();
    let mut body = String::new();
    let mut y = 0;
    for picture in &pictures {
        // A single picture needs no group, because the description of the file already describes it.
        if pictures.len() > 1 {
            let name = Escaped(&picture.description);
            let _ = writeln!(body, r#"<g role="group" aria-label="{name}" transform="translate(0 {y})">"#);
        }
        draw(&mut body, picture);
        if pictures.len() > 1 {
            body.push_str("</g>\n");
        }
        y += picture.height + GAP;
    }
    if reports.len() > pictures.len() || reports.is_empty() {
        let hidden = (reports.len() - pictures.len()) as u64;
        let text = if reports.is_empty() { "no job".to_owned() } else { count(hidden, "more job") + " not shown" };
        label(&mut body, GAP, y + 18, "", &text);
        body.push('\n');
        y += 36;
    }
    file(reports, &pictures, y, &body)
}

/// Returns the file: `body` with the pictures, the style, the title and the description.
fn file(reports: &[Report], pictures: &[Picture], height: u32, body: &str) -> String {
    let title = match reports {
        [report] => format!("The training job {}, run {}", report.job, report.run),
        _ => count(reports.len() as u64, "training job"),
    };
    let description = match pictures {
        [picture] => picture.description.clone(),
        _ => pictures.iter().map(|picture| picture.description.as_str()).collect::<Vec<_>>().join(". "),
    };
    let (title, description, style) = (Escaped(&title), Escaped(&description), style());
    // The picture is wider than its frames by a margin on each side.
    let (outer, tall) = (WIDTH + 2 * GAP, height + GAP);
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" class="picture" role="img" aria-label="{description}" width="{outer}" height="{tall}" viewBox="-{GAP} -{GAP} {outer} {tall}">
<title>{title}</title>
<desc>{description}</desc>
<style>
{style}</style>
<rect class="ground" x="-{GAP}" y="-{GAP}" width="{outer}" height="{tall}"/>
{body}</svg>
"#
    )
}

/// Appends the parts of a picture to `body`.
fn draw(body: &mut String, picture: &Picture) {
    for Item { x, y, svg, tip, .. } in &picture.items {
        let tip = tip.as_ref().map_or(String::new(), |tip| format!("<title>{}</title>", Escaped(tip)));
        let _ = writeln!(body, r#"<g transform="translate({x} {y})">{tip}{svg}</g>"#);
    }
}

/// The rules of [`STYLE`] for light, and those that differ in dark. Custom properties are replaced by their values,
/// because few programs other than browsers support custom properties.
fn style() -> String {
    let (mut light, mut dark) = (String::new(), String::new());
    for rule in STYLE.lines().filter(|line| line.starts_with('.')).chain([GROUND]) {
        let [in_light, in_dark] = [0, 1].map(|theme| {
            let with_value =
                |rule: String, (name, values): &Property| rule.replace(&format!("var(--{name})"), values[theme]);
            PROPERTIES.iter().fold(rule.to_owned(), with_value)
        });
        let _ = writeln!(light, "{in_light}");
        if in_dark != in_light {
            let _ = writeln!(dark, "{in_dark}");
        }
    }
    format!("{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n")
}

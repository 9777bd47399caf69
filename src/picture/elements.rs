//! The SVG elements that pictures consist of. Each function appends one element to a text.
//!
//! Attributes are in single quotes, which JSON does not escape.

use std::fmt::Write;

use super::text::Escaped;

/// A line of text. `x` and `y` are where its base line starts; the classes `end` and `middle` make it end or be centred there.
pub fn label(svg: &mut String, x: u32, y: u32, class: &str, text: &str) {
    let _ = write!(svg, r"<text x='{x}' y='{y}' class='{class}'>{}</text>", Escaped(text));
}

/// A rectangle with round corners, at `at` from the left and the upper edge of its item.
pub fn rect(svg: &mut String, at: u32, [width, height]: [u32; 2], radius: u32, class: &str) {
    let place = if at == 0 { String::new() } else { format!(r"x='{at}' y='{at}' ") };
    let _ = write!(svg, r"<rect {place}width='{width}' height='{height}' rx='{radius}' class='{class}'/>");
}

/// A path.
pub fn path(svg: &mut String, class: &str, path: &str) {
    let _ = write!(svg, r"<path d='{path}' class='{class}'/>");
}

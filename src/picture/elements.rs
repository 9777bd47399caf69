//! The SVG elements that pictures consist of. Each function appends one element to a text.
//!
//! Attributes are in single quotes, which JSON does not escape.

use std::fmt::{self, Display, Write};

use super::text::Escaped;

/// A line of text. `x` and `y` are where its base line starts; with the class `end` the text ends there, and with
/// `middle` it is centred there.
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

/// A length, rounded to a tenth of a pixel.
#[derive(Clone, Copy)]
pub struct Tenths(i32);

impl Display for Tenths {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, whole, rest) = (if self.0 < 0 { "-" } else { "" }, self.0.abs() / 10, self.0.abs() % 10);
        if rest == 0 { write!(out, "{sign}{whole}") } else { write!(out, "{sign}{whole}.{rest}") }
    }
}

/// Rounds a length to a tenth of a pixel.
#[expect(clippy::cast_possible_truncation, reason = "a picture is at most 10,000 pixels wide")]
pub fn tenths(length: f64) -> Tenths {
    Tenths((length * 10.0).round() as i32)
}

/// Several numbers in one text element, in which each digit has its own position. One element is faster to draw than
/// many.
#[derive(Default)]
pub struct Numbers {
    digits: String,
    xs: String,
    ys: String,
}

impl Numbers {
    /// The distance between two digits.
    const DIGIT: f64 = 6.6;

    /// Adds a number that is centred at `x`, with its base line at `y`.
    pub fn push(&mut self, number: &str, [x, y]: [f64; 2]) {
        let mut digit_x = x - Self::DIGIT * (number.bytes().map(|_| 1.0).sum::<f64>() - 1.0) / 2.0;
        for _ in number.bytes() {
            let _ = write!(self.xs, "{} ", tenths(digit_x));
            let _ = write!(self.ys, "{} ", tenths(y));
            digit_x += Self::DIGIT;
        }
        self.digits.push_str(number);
    }

    /// Appends the numbers. Screen readers skip them: a description of the picture has them.
    pub fn write(&self, svg: &mut String, class: &str) {
        if !self.digits.is_empty() {
            let Self { digits, xs, ys } = self;
            let (xs, ys) = (xs.trim_end(), ys.trim_end());
            let _ = write!(svg, r"<text x='{xs}' y='{ys}' class='{class} middle' aria-hidden='true'>{digits}</text>");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_a_digit_after_the_point_only_if_they_need_one() {
        let texts = [0.0, -0.04, 0.05, 12.0, -3.16, 99.96].map(|length| tenths(length).to_string());
        assert_eq!(texts, ["0", "0", "0.1", "12", "-3.2", "100"]);
    }
}

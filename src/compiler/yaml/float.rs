//! Converts decimal texts to floats: see [`parse`].
//!
//! The results are the same as those of `str::parse`. `str::parse` is not used, because its tables would add 12 KB to a
//! compressed WebAssembly module. Floats are rare in specs, so the speed of numbers with many digits does not matter
//! here.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the arithmetic is on parts of numbers"
)]

use std::cmp::Ordering;

/// If a number has more digits than this, the further digits decide only whether the number is exactly in the middle
/// between two floats.
const DIGITS: i64 = 800;

/// The float that is nearest to a decimal number such as `-1.5e3`; infinite if the number is too large. Returns `None` for
/// any other text.
pub fn parse(text: &str) -> Option<f64> {
    let is_negative = text.starts_with('-');
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if digits().next().is_none() || !digits().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut exponent = exponent.saturating_sub_unsigned(fraction.len() as u64);
    let (mut number, mut count, mut is_longer) = (Big::default(), 0, false);
    for digit in digits().map(|byte| u32::from(byte - b'0')).skip_while(|digit| *digit == 0) {
        if count < DIGITS {
            number.multiply(10, digit);
            count += 1;
        } else {
            exponent = exponent.saturating_add(1);
            is_longer |= digit > 0;
        }
    }
    if is_longer {
        number.multiply(10, 1);
        exponent = exponent.saturating_sub(1);
    }
    let magnitude = match exponent.saturating_add(count) {
        _ if count == 0 => 0.0,
        310.. => f64::INFINITY,
        ..-330 => 0.0,
        _ => number.times_power_of_ten(exponent),
    };
    Some(if is_negative { -magnitude } else { magnitude })
}

/// Parses an exponent. If it does not fit into 64 bits, returns the largest or the smallest number of 64 bits.
fn parse_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let limit = if text.starts_with('-') { i64::MIN } else { i64::MAX };
    is_number.then(|| text.parse().unwrap_or(limit))
}

/// A natural number of any size: its digits to the base 2³², the lowest first, without zeros at the end.
#[derive(Default, Clone)]
struct Big(Vec<u32>);

impl Big {
    /// Multiplies by a number, then adds another one.
    fn multiply(&mut self, factor: u32, add: u32) {
        let mut carry = u64::from(add);
        for digit in &mut self.0 {
            let product = u64::from(*digit) * u64::from(factor) + carry;
            (*digit, carry) = (low(product), product >> 32);
        }
        if carry > 0 {
            self.0.push(low(carry));
        }
    }

    fn multiply_times(&mut self, factor: u32, times: i64) {
        (0..times).for_each(|_| self.multiply(factor, 0));
    }

    fn bits(&self) -> i64 {
        self.0.last().map_or(0, |last| (self.0.len() as i64) * 32 - i64::from(last.leading_zeros()))
    }

    /// Subtracts `other`, unless `other` is larger than this number. Returns whether it was subtracted.
    fn subtract(&mut self, other: &Self) -> bool {
        let order = self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()));
        if order == Ordering::Less {
            return false;
        }
        let mut borrow = 0;
        for (at, digit) in self.0.iter_mut().enumerate() {
            let difference = i64::from(*digit) - i64::from(other.0.get(at).copied().unwrap_or(0)) - borrow;
            borrow = i64::from(difference < 0);
            *digit = low(difference.rem_euclid(1 << 32) as u64);
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        true
    }

    /// The float that is nearest to this number, which is not 0, times a power of ten.
    fn times_power_of_ten(mut self, exponent: i64) -> f64 {
        let mut divisor = Self(vec![1]);
        self.multiply_times(10, exponent);
        divisor.multiply_times(10, -exponent);
        // The quotient, times 2 to the power of `shift`, has 64 or 65 bits.
        let shift = 64 + divisor.bits() - self.bits();
        self.multiply_times(2, shift);
        divisor.multiply_times(2, -shift);
        divisor.multiply_times(2, 65);
        let mut quotient = 0_u128;
        for _ in 0..=65 {
            quotient = (quotient << 1) | u128::from(self.subtract(&divisor));
            self.multiply(2, 0);
        }
        // A float has 53 bits, and the lowest one has at least the value 2⁻¹⁰⁷⁴.
        let bits = 128 - i64::from(quotient.leading_zeros());
        let dropped = (bits - 53).max(shift - 1074).min(127);
        let (kept, rest, half) = (quotient >> dropped, quotient & ((1 << dropped) - 1), 1 << (dropped - 1));
        let is_above = rest > half || (rest == half && (!self.0.is_empty() || kept % 2 == 1));
        let rounded = (kept as u64 + u64::from(is_above)) as f64;
        // Both factors are exact, and so is their product.
        match dropped - shift {
            power @ 1024.. => rounded * f64::INFINITY * power as f64,
            power @ -1022.. => rounded * f64::from_bits(((power + 1023) as u64) << 52),
            power => rounded * f64::from_bits(1 << (power + 1074)),
        }
    }
}

fn low(number: u64) -> u32 {
    number as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::parse;

    #[track_caller]
    fn is_as_in_std(text: &str) {
        let [own, std] = [parse(text), text.parse::<f64>().ok()].map(|value| value.map(f64::to_bits));
        assert_eq!(own, std, "{text}");
    }

    #[test]
    fn difficult_numbers_are_as_in_std() {
        for text in [
            "0",
            "-0",
            "-0.0",
            "1",
            ".5",
            "5.",
            "+1.5",
            "1e3",
            "1E3",
            "1e+3",
            "1e-3",
            "0e999999999999999999999",
            "00.10",
            "9007199254740993",
            "9007199254740992.9999999999999999999",
            "9007199254740993.0000000000000000000001",
            "1.7976931348623157e308",
            "1.7976931348623158e308",
            "1.7976931348623159e308",
            "1e309",
            "1e310",
            "1e99999999999999999999",
            "4.9e-324",
            "2.4703282292062327e-324",
            "2.4703282292062328e-324",
            "2.2250738585072011e-308",
            "2.2250738585072014e-308",
            "1e-400",
            "1e-99999999999999999999",
            "123456789012345678901234567890",
            "",
            ".",
            "e1",
            "1e",
            "1e+",
            "1.2.3",
            "1e1.0",
            "-",
            "+",
            "--1",
            "1_0",
            "0x1",
            "a",
            "1 ",
        ] {
            is_as_in_std(text);
        }
        // The middle between two floats has up to 767 digits.
        let middle = format!("{:.1075}", f64::from_bits(1)).replace("4940656458412465441", "2470328229206232720");
        is_as_in_std(&middle);
        is_as_in_std(&format!("{}1", "1".repeat(900)));
        is_as_in_std(&format!("0.{}1{}1", "0".repeat(400), "0".repeat(900)));
    }

    proptest! {
        #[test]
        fn floats_are_as_in_std(bits: u64, precision in 0_usize..20) {
            let float = f64::from_bits(bits);
            if float.is_finite() {
                is_as_in_std(&format!("{float:?}"));
                is_as_in_std(&format!("{float:.precision$e}"));
            }
        }

        #[test]
        fn decimals_are_as_in_std(text in "[+-]?[0-9]{0,25}\\.?[0-9]{0,25}(e[+-]?[0-9]{1,3})?") {
            is_as_in_std(&text);
        }
    }
}

//! Patterns of names, in which `*` matches any sequence of characters.

/// Whether a name matches a pattern.
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(mut name) = name.strip_prefix(head).and_then(|name| name.strip_suffix(tail)) else { return false };
    // Match each part at its first position, which leaves the longest rest for the next parts.
    for part in middle.split('*') {
        let Some((_, after)) = name.split_once(part) else { return false };
        name = after;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::matches_pattern;

    #[test]
    fn a_star_matches_any_characters() {
        for (pattern, name, fits) in [
            ("ghcr.io/acme/*", "ghcr.io/acme/mnist:1", true),
            ("ghcr.io/acme/*", "ghcr.io/other/mnist:1", false),
            ("ghcr.io/*", "ghcr.io.evil.example/acme/mnist:1", false),
            ("a/*@sha256:*", "a/b@sha256:0", true),
            ("a/*@sha256:*", "a/b:1", false),
            ("*", "", true),
            ("*é", "éé", true),
        ] {
            assert_eq!(matches_pattern(pattern, name), fits, "{name} {pattern}");
        }
    }
}

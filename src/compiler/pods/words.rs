//! Quotes values of a spec for the shell. Every value in `job.sh` passes through [`word`].

/// Returns `text` as exactly one word of bash. The word has no quotes if it consists only of harmless characters.
pub fn word(text: &str) -> String {
    let is_harmless = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=@%+".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_harmless) {
        return text.to_owned();
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for (index, part) in text.split('\'').enumerate() {
        if index > 0 {
            quoted.push_str(r"'\''");
        }
        quoted.push_str(part);
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn only_harmless_words_are_not_quoted() {
        assert_eq!(word("--hostfile=/horovod/generated/hostfile"), "--hostfile=/horovod/generated/hostfile");
        assert_eq!(word(""), "''");
        assert_eq!(word("a b"), "'a b'");
        assert_eq!(word("it's"), r"'it'\''s'");
        assert_eq!(word("~"), "'~'");
        // Without quotes, shellcheck reports the comma as a separator of array elements (SC2054).
        assert_eq!(word("lo,docker0"), "'lo,docker0'");
        assert_eq!(word("[0]=x"), "'[0]=x'");
    }
}

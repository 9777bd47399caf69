//! The version of Kubernetes that objects are rendered for.

use std::fmt;
use std::str::FromStr;

/// A minor version of Kubernetes 1, as in `1.34`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct KubeVersion {
    /// The number after `1.`.
    pub minor: u32,
}

impl KubeVersion {
    /// Kubernetes `1.minor`.
    pub const fn new(minor: u32) -> Self {
        Self { minor }
    }
}

impl Default for KubeVersion {
    fn default() -> Self {
        Self::new(34)
    }
}

impl fmt::Display for KubeVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.minor)
    }
}

/// The error for a text that is not a version of Kubernetes 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotAKubeVersion;

impl fmt::Display for NotAKubeVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("write it as 1.34")
    }
}

impl std::error::Error for NotAKubeVersion {}

impl FromStr for KubeVersion {
    type Err = NotAKubeVersion;

    /// Takes `1.34`, `v1.34` and what clusters print, such as `v1.34.3-eks-1` and `1.34+`.
    fn from_str(text: &str) -> Result<Self, NotAKubeVersion> {
        let mut parts = text.strip_prefix('v').unwrap_or(text).splitn(3, '.');
        match (parts.next(), parts.next().map(|minor| minor.strip_suffix('+').unwrap_or(minor).parse())) {
            (Some("1"), Some(Ok(minor))) => Ok(Self { minor }),
            _ => Err(NotAKubeVersion),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::KubeVersion;

    #[test]
    fn reads_versions_as_people_and_clusters_write_them() {
        for (text, minor) in [("1.34", 34), ("v1.31", 31), ("v1.33.2-eks-1a", 33), ("1.29+", 29)] {
            assert_eq!(text.parse(), Ok(KubeVersion { minor }));
        }
        for text in ["", "1", "2.0", "1.x", "1.+", "latest"] {
            assert!(text.parse::<KubeVersion>().is_err(), "{text}");
        }
    }
}

//! The versions of GBFS.

/// A version, from the oldest to the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the variant names are the version numbers")]
pub enum SpecVersion {
    V1_0,
    V1_1,
    V2_0,
    V2_1,
    V2_2,
    V2_3,
    V3_0,
    V3_1,
}

impl SpecVersion {
    /// All versions with the numbers that files give them.
    pub(super) const ALL: [(SpecVersion, &str); 8] = [
        (SpecVersion::V1_0, "1.0"),
        (SpecVersion::V1_1, "1.1"),
        (SpecVersion::V2_0, "2.0"),
        (SpecVersion::V2_1, "2.1"),
        (SpecVersion::V2_2, "2.2"),
        (SpecVersion::V2_3, "2.3"),
        (SpecVersion::V3_0, "3.0"),
        (SpecVersion::V3_1, "3.1"),
    ];

    /// Parses a version number. A release candidate (`3.1-RC2`) is judged as the version that it
    /// precedes.
    pub fn parse_version(text: &str) -> Option<SpecVersion> {
        let (number, candidate) = text.split_once("-RC").unwrap_or((text, ""));
        let is_known = candidate.bytes().all(|byte| byte.is_ascii_digit());
        let found = SpecVersion::ALL.iter().find(|(_, name)| *name == number && is_known);
        found.map(|(version, _)| *version)
    }

    /// Returns the version number as files write it.
    pub fn version_number(self) -> &'static str {
        SpecVersion::ALL.iter().find(|(version, _)| *version == self).map_or("", |(_, name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::SpecVersion;

    #[test]
    fn versions_and_release_candidates_are_parsed() {
        assert_eq!(SpecVersion::parse_version("2.3"), Some(SpecVersion::V2_3));
        assert_eq!(SpecVersion::parse_version("3.1-RC2"), Some(SpecVersion::V3_1));
        for text in ["", "2", "2.30", "4.0", "3.1-beta", "v3.0"] {
            assert_eq!(SpecVersion::parse_version(text), None, "{text}");
        }
        assert!(SpecVersion::ALL.iter().all(|(version, name)| version.version_number() == *name));
    }
}

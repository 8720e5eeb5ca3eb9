//! The versions of GBFS.

/// A version, from the oldest to the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the variant names are the version numbers")]
pub enum GbfsVersion {
    V1_0,
    V1_1,
    V2_0,
    V2_1,
    V2_2,
    V2_3,
    V3_0,
    V3_1,
}

impl GbfsVersion {
    /// All versions with the numbers that files give them.
    pub(super) const ALL: [(GbfsVersion, &str); 8] = [
        (GbfsVersion::V1_0, "1.0"),
        (GbfsVersion::V1_1, "1.1"),
        (GbfsVersion::V2_0, "2.0"),
        (GbfsVersion::V2_1, "2.1"),
        (GbfsVersion::V2_2, "2.2"),
        (GbfsVersion::V2_3, "2.3"),
        (GbfsVersion::V3_0, "3.0"),
        (GbfsVersion::V3_1, "3.1"),
    ];

    /// Parses a version number. A release candidate (`3.1-RC2`) is judged as the version that it
    /// precedes.
    pub fn parse_gbfs_version(text: &str) -> Option<GbfsVersion> {
        let (number, candidate) = text.split_once("-RC").unwrap_or((text, ""));
        let is_known = candidate.bytes().all(|byte| byte.is_ascii_digit());
        let found = GbfsVersion::ALL.iter().find(|(_, name)| *name == number && is_known);
        found.map(|(version, _)| *version)
    }

    /// Returns the version number as files write it.
    pub fn version_number(self) -> &'static str {
        GbfsVersion::ALL.iter().find(|(version, _)| *version == self).map_or("", |(_, name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::GbfsVersion;

    #[test]
    fn versions_and_release_candidates_are_parsed() {
        assert_eq!(GbfsVersion::parse_gbfs_version("2.3"), Some(GbfsVersion::V2_3));
        assert_eq!(GbfsVersion::parse_gbfs_version("3.1-RC2"), Some(GbfsVersion::V3_1));
        for text in ["", "2", "2.30", "4.0", "3.1-beta", "v3.0"] {
            assert_eq!(GbfsVersion::parse_gbfs_version(text), None, "{text}");
        }
        assert!(GbfsVersion::ALL.iter().all(|(version, name)| version.version_number() == *name));
    }
}

//! Limits on GBFS files.

/// Limits on one discovery file; data beyond them are refused or dropped, never cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoveryLimits {
    /// Longest body, in bytes; a longer one is refused.
    pub body_bytes: usize,
    /// Most files, over all languages; further ones are dropped with a problem. The specification has about 20.
    pub files: usize,
    /// Longest name of a file or a language, in characters.
    pub name_chars: usize,
    /// Longest address of a file, in characters.
    pub url_chars: usize,
}

impl Default for DiscoveryLimits {
    fn default() -> DiscoveryLimits {
        DiscoveryLimits { body_bytes: 1 << 20, files: 200, name_chars: 64, url_chars: 4_096 }
    }
}

/// Limits on one file other than the discovery file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLimits {
    /// Longest body, in bytes; a longer one is refused.
    pub body_bytes: usize,
    /// Longest record, in bytes; one record at a time is a tree in memory.
    pub record_bytes: usize,
    /// Most records; further ones are dropped with a problem.
    pub records: usize,
    /// Most items of a list within a record.
    pub list: usize,
    /// Longest text, in characters.
    pub text_chars: usize,
}

impl Default for FileLimits {
    fn default() -> FileLimits {
        FileLimits {
            body_bytes: 64 << 20,
            record_bytes: 2 << 20,
            records: 500_000,
            list: 10_000,
            text_chars: 10_000,
        }
    }
}

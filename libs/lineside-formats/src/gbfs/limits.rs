//! How much of a discovery file is taken.

/// Bounds on one discovery file; what exceeds them is refused or dropped, never cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest body, in bytes; a longer one is refused.
    pub body_bytes: usize,
    /// Most files, over all languages; further ones are dropped with a problem. The specification has about 20.
    pub files: usize,
    /// Longest name of a file or a language, in characters.
    pub name_chars: usize,
    /// Longest address of a file, in characters.
    pub url_chars: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { body_bytes: 1 << 20, files: 200, name_chars: 64, url_chars: 4_096 }
    }
}

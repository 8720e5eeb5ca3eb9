//! What the latest report on a feed comes to in one word, for lists of many feeds.

use super::report::Brief;

/// In one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// There are errors, or it cannot be read at all.
    Errors,
    /// There are warnings and no errors.
    Warnings,
    /// There are neither.
    None,
    /// Nothing was looked at, or not to the end, so that there may be errors.
    Unknown,
}

impl Verdict {
    pub(crate) const ALL: [Self; 4] = [Self::Errors, Self::Warnings, Self::None, Self::Unknown];

    /// Of a feed with this report, or with none.
    pub(crate) fn of(brief: Option<&Brief>) -> Self {
        match brief {
            Some(brief) if !brief.is_word() => Self::Unknown,
            Some(brief) if brief.errors > 0 => Self::Errors,
            Some(brief) if !brief.is_all() => Self::Unknown,
            Some(brief) if brief.warnings > 0 => Self::Warnings,
            Some(_) => Self::None,
            None => Self::Unknown,
        }
    }

    /// In addresses.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Errors => "errors",
            Self::Warnings => "warnings",
            Self::None => "none",
            Self::Unknown => "unknown",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.as_str() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_told_apart_from_none() {
        let of = |outcome: &str, errors, warnings, faults| {
            let outcome = outcome.to_owned();
            Verdict::of(Some(&Brief { outcome, errors, warnings, infos: 9, faults }))
        };
        assert_eq!(Verdict::of(None), Verdict::Unknown);
        assert_eq!(of("whole", 0, 0, 0), Verdict::None);
        assert_eq!(of("whole", 0, 2, 0), Verdict::Warnings);
        assert_eq!(of("whole", 1, 2, 0), Verdict::Errors);
        assert_eq!(of("unreadable", 1, 0, 0), Verdict::Errors);
        assert_eq!(of("unfinished", 0, 0, 0), Verdict::Unknown);
        assert_eq!(
            (of("cut_short", 0, 2, 0), of("whole", 0, 0, 1)),
            (Verdict::Unknown, Verdict::Unknown)
        );
        assert_eq!(of("cut_short", 3, 0, 0), Verdict::Errors);
        for verdict in Verdict::ALL {
            assert_eq!(Verdict::parse(verdict.as_str()), Some(verdict));
        }
    }
}

//! The one-word result of a feed's latest report, for lists of many feeds.

use super::validation_report::ReportFindingCounts;

/// The one-word result of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReportVerdict {
    /// There are errors, or the data cannot be read at all.
    Errors,
    /// There are warnings and no errors.
    Warnings,
    /// There are no errors and no warnings.
    None,
    /// There is no report or an incomplete one, so that there may be errors.
    Unknown,
}

impl ReportVerdict {
    pub const ALL: [Self; 4] = [Self::Errors, Self::Warnings, Self::None, Self::Unknown];

    /// Returns the verdict of a feed with this report, or without one.
    pub fn from_summary(brief: Option<&ReportFindingCounts>) -> Self {
        match brief {
            Some(brief) if !brief.is_of_finished_validation() => Self::Unknown,
            Some(brief) if brief.errors > 0 => Self::Errors,
            Some(brief) if !brief.has_all_finding_counts() => Self::Unknown,
            Some(brief) if brief.warnings > 0 => Self::Warnings,
            Some(_) => Self::None,
            None => Self::Unknown,
        }
    }

    /// Returns the word used in addresses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Errors => "errors",
            Self::Warnings => "warnings",
            Self::None => "none",
            Self::Unknown => "unknown",
        }
    }

    pub fn parse_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.as_str() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_verdict_differs_from_no_findings() {
        let verdict_for = |outcome: &str, errors, warnings, faults| {
            let outcome = outcome.to_owned();
            ReportVerdict::from_summary(Some(&ReportFindingCounts {
                outcome,
                errors,
                warnings,
                infos: 9,
                faults,
                unread_files: 0,
            }))
        };
        assert_eq!(ReportVerdict::from_summary(None), ReportVerdict::Unknown);
        assert_eq!(verdict_for("whole", 0, 0, 0), ReportVerdict::None);
        assert_eq!(verdict_for("whole", 0, 2, 0), ReportVerdict::Warnings);
        assert_eq!(verdict_for("whole", 1, 2, 0), ReportVerdict::Errors);
        assert_eq!(verdict_for("unreadable", 1, 0, 0), ReportVerdict::Errors);
        assert_eq!(verdict_for("unfinished", 0, 0, 0), ReportVerdict::Unknown);
        assert_eq!(
            (verdict_for("cut_short", 0, 2, 0), verdict_for("whole", 0, 0, 1)),
            (ReportVerdict::Unknown, ReportVerdict::Unknown)
        );
        assert_eq!(verdict_for("cut_short", 3, 0, 0), ReportVerdict::Errors);
        for verdict in ReportVerdict::ALL {
            assert_eq!(ReportVerdict::parse_word(verdict.as_str()), Some(verdict));
        }
    }
}

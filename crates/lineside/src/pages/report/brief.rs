//! What a report comes to, in a few words: the same wherever reports are listed.

use super::super::words;
use crate::reports::Brief;

/// Errors and warnings, unless there is something else to say.
pub(in crate::pages) fn in_brief(brief: &Brief) -> String {
    let counts = format!(
        "{}, {}",
        words::count(brief.errors, "error", "errors"),
        words::count(brief.warnings, "warning", "warnings")
    );
    match brief.errors + brief.warnings {
        _ if !brief.is_word() => "not looked at to the end".to_owned(),
        _ if brief.outcome == "unreadable" => "unreadable".to_owned(),
        0 if !brief.is_all() => "not looked at to the end".to_owned(),
        _ if !brief.is_all() => format!("{counts} or more"),
        _ => counts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_warnings_are_said_in_one_form() {
        let said = |outcome: &str, errors, warnings, faults| {
            let outcome = outcome.to_owned();
            in_brief(&Brief { outcome, errors, warnings, infos: 9, faults })
        };
        assert_eq!(said("whole", 0, 0, 0), "0 errors, 0 warnings");
        assert_eq!(said("whole", 3, 1, 0), "3 errors, 1 warning");
        assert_eq!(said("cut_short", 3, 0, 0), "3 errors, 0 warnings or more");
        assert_eq!(said("whole", 0, 0, 1), "not looked at to the end");
        assert_eq!(said("unfinished", 0, 0, 0), "not looked at to the end");
        assert_eq!(said("unreadable", 1, 0, 0), "unreadable");
    }
}

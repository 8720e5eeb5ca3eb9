//! The codes that a report may have, and the meaning of the decoders' codes.

use lineside_config::spelling::find_nearest;
use lineside_formats::Format;
use lineside_validate::NoticeKind;
use lineside_validate::rules::{gbfs, gtfs, gtfs_rt, netex, siri};

/// The code of a finding that a real-time message was validated without its schedule.
pub(super) const SCHEDULE_NOT_GIVEN: &str = "schedule_not_given";

/// The code of a finding that one of several files cannot be read.
pub const UNREADABLE_FILE: &str = "unreadable_file";

/// The meaning of each decoder code and its fix, in a sentence. A test compares this table with
/// `docs/rules/decoding.md`.
static DECODERS: &[(&str, &str)] = &[
    (
        "delivery_not_read",
        "The message has a delivery of a SIRI service that Lineside does not read; ignore this, or request only the other services.",
    ),
    (
        "duplicate_in_timetable",
        "A timetable has two objects with the same key and uses only the first; give each its own id.",
    ),
    (
        "entity_too_large",
        "An entity is larger than the limit and was left out; split it, or remove data that riders do not need.",
    ),
    (
        "invalid_boolean",
        "A value is neither true nor false and was left out; write `true` or `false`.",
    ),
    (
        "invalid_date",
        "A date is not valid and was left out; write it as 2026-06-15, with a day that exists.",
    ),
    ("invalid_duration", "A duration is not valid and was left out; write it as PT1M30S."),
    (
        "invalid_email",
        "GTFS validators refuse this e-mail address, so GTFS made from the publication leaves it out; correct it.",
    ),
    (
        "invalid_entity",
        "An entity cannot be decoded and was left out; write it with a protobuf library, by the current schema.",
    ),
    (
        "invalid_float",
        "A value is not a decimal number and was left out; write digits with a point, such as 59.91.",
    ),
    (
        "invalid_integer",
        "A value is not an integer in the range of the field and was left out; write digits only.",
    ),
    (
        "invalid_time",
        "A time of day is not valid, or not written as required, and was left out; write it as 08:05:00.",
    ),
    (
        "invalid_timestamp",
        "A timestamp is not valid and was left out; write it as 2026-06-15T08:05:00+02:00.",
    ),
    ("invalid_timezone", "A time zone is unknown; write a name such as Europe/Oslo."),
    (
        "invalid_url",
        "GTFS validators refuse this URL, so GTFS made from the publication leaves it out; write it with https:// and a host that exists.",
    ),
    (
        "journey_of_the_day_before",
        "A journey begins on the day before its operating day, which GTFS cannot express, and is left out of timetables; assign it to the day on which it begins.",
    ),
    (
        "journey_of_windows",
        "A journey has windows instead of times and is left out of timetables; give it times if it has any.",
    ),
    (
        "journey_without_days",
        "A journey runs on no known day and is left out of timetables; refer to day types that have dates.",
    ),
    (
        "journey_without_line",
        "The line of a journey is not in the files, and the journey is left out of timetables; refer to a line from the journey, its pattern or its route.",
    ),
    (
        "journey_without_times",
        "A journey has no times, or none at its first or last call, and is left out of timetables; give both ends a time.",
    ),
    (
        "lone_ampersand",
        "An ampersand is not escaped, so other readers refuse the whole file; write &amp;.",
    ),
    (
        "missing_name",
        "A stop has no name, so its id is shown instead; give its Quay, its StopPlace or its ScheduledStopPoint a Name.",
    ),
    ("missing_required_field", "A field that readers need is missing; fill it in."),
    (
        "missing_timezone",
        "No frame has a time zone, so times were read as UTC; write it in the default locale.",
    ),
    (
        "missing_url",
        "The organisation, the operator and the line have no `Url`, which GTFS requires; add one to the contact details.",
    ),
    ("not_netex", "A file is not a NeTEx publication and was ignored; remove it from the archive."),
    ("stop_without_location", "A stop has no coordinates, so it is not on maps; add them."),
    ("text_too_long", "A text is longer than the limit and was left out; shorten it."),
    (
        "timestamp_without_zone",
        "A timestamp has no offset from UTC, so the feed's time zone was used; add Z or an offset such as +02:00.",
    ),
    (
        "too_many_calls",
        "A journey has more calls than the limit and is left out of timetables; split it into several.",
    ),
    (
        "too_many_pages",
        "A response has more pages than Lineside requests in a row, and the rest is missing; make the pages larger.",
    ),
    (
        "unexpected_enum_value",
        "A value is not in the specification's list, so readers ignore it; use a value of the list.",
    ),
    (
        "unknown_transport_mode",
        "The transport mode of a line is unknown, so the line counts as a bus; use a mode of the specification.",
    ),
    (
        "unmatched_passing_time",
        "A journey has a time at a point that is not in its pattern, and is left out of timetables; use points of the pattern.",
    ),
    (
        UNREADABLE_FILE,
        "One of several files cannot be read, or only in part; fix it or fetch it again. The other files were validated, except for their references to it.",
    ),
    (
        "unresolved_for_timetable",
        "A reference that a timetable needs has no target; add the object that it names, or correct the reference.",
    ),
    (
        "wrong_namespace",
        "The elements are not in the specification's namespace, so other readers do not find them; declare it at the root.",
    ),
];

/// Returns the meaning of a decoder code and its fix; empty if the code is unknown.
pub(super) fn decoder_code_meaning(code: &str) -> &'static str {
    DECODERS.iter().find(|(other, _)| *other == code).map_or("", |(_, meaning)| meaning)
}

/// Returns the kinds of findings of all formats.
pub fn all_rules() -> impl Iterator<Item = (Format, &'static NoticeKind)> {
    fn rules_of_format(
        format: Format,
        kinds: impl Iterator<Item = &'static NoticeKind>,
    ) -> impl Iterator<Item = (Format, &'static NoticeKind)> {
        kinds.map(move |kind| (format, kind))
    }
    rules_of_format(Format::Gtfs, gtfs::notice_kinds())
        .chain(rules_of_format(Format::GtfsRt, gtfs_rt::notice_kinds()))
        .chain(rules_of_format(Format::Siri, siri::notice_kinds()))
        .chain(rules_of_format(Format::Netex, netex::notice_kinds()))
        .chain(rules_of_format(Format::Gbfs, gbfs::notice_kinds()))
}

/// Returns the codes of decoders, each with its meaning and fix.
pub fn decoder_codes() -> impl Iterator<Item = (&'static str, &'static str)> {
    DECODERS.iter().copied()
}

/// Returns all codes of all formats.
fn all_codes() -> impl Iterator<Item = &'static str> {
    let rules = all_rules().map(|(_, kind)| kind.code);
    rules.chain(DECODERS.iter().map(|(code, _)| *code)).chain([SCHEDULE_NOT_GIVEN])
}

/// Checks that a report can have each of these codes.
///
/// # Errors
/// Returns an error if a code is unknown, with a similar code if there is one.
pub fn ensure_known_codes(codes: &[String]) -> Result<(), String> {
    let Some(code) = codes.iter().find(|code| all_codes().all(|known| known != *code)) else {
        return Ok(());
    };
    Err(match find_nearest(code, all_codes()) {
        Some(known) => format!("unknown code {code:?}; did you mean {known:?}?"),
        None => format!(
            "unknown code {code:?}: /rules of a running server and docs/rules of the repository list all codes"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_code_is_refused_with_the_nearest_one() {
        let check = |code: &str| ensure_known_codes(&["unknown_file".to_owned(), code.to_owned()]);
        assert_eq!(check("unknown_column"), Ok(()));
        assert_eq!(check("E001"), Ok(()));
        assert_eq!(check("invalid_entity"), Ok(()));
        let error = check("unkown_colum").unwrap_err();
        assert_eq!(error, "unknown code \"unkown_colum\"; did you mean \"unknown_column\"?");
        for far in ["drivers", "", "x"] {
            let error = check(far).unwrap_err();
            assert!(
                error.contains(&format!("{far:?}")) && !error.contains("did you mean"),
                "{error}"
            );
        }
    }

    #[test]
    fn the_documentation_lists_the_decoder_codes_with_their_meanings() {
        let page = include_str!("../../../../docs/rules/decoding.md");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        let expected: Vec<String> =
            DECODERS.iter().map(|(code, meaning)| format!("| `{code}` | {meaning} |")).collect();
        assert_eq!(rows, expected);
        assert!(DECODERS.is_sorted(), "the codes are not in alphabetical order");
    }

    /// Returns the codes in a decoder's source: strings with a reason next to them, or the code of a fault.
    fn codes_in(source: &str) -> Vec<&str> {
        let source = source.split("mod tests {").next().unwrap_or_default();
        let parts: Vec<&str> = source.split('"').collect();
        let is_code = |at: &usize| {
            let (before, text) = (parts[at - 1], parts[*at]);
            let after = parts.get(at + 1).copied().unwrap_or_default().trim();
            let reason = parts.get(at + 2).copied().unwrap_or_default();
            let has_reason = after.starts_with(", detail") || after.starts_with(", ||");
            let is_given = before.ends_with("code: ") || has_reason;
            text.contains('_')
                && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
                && (is_given || (after == "," && reason.contains(' ')))
        };
        (1..parts.len()).step_by(2).filter(is_code).map(|at| parts[at]).collect()
    }

    #[test]
    fn every_decoder_code_has_a_meaning() {
        let formats = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../libs/lineside-formats/src");
        let mut folders = ["gtfs_rt", "siri", "netex"].map(|name| formats.join(name)).to_vec();
        let mut seen = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|it| it == "rs") {
                    let source = std::fs::read_to_string(&path).unwrap();
                    seen.extend(codes_in(&source).into_iter().map(str::to_owned));
                }
            }
        }
        assert!(seen.len() > 25, "{seen:?}");
        for code in seen {
            assert!(!decoder_code_meaning(&code).is_empty(), "{code} has no description");
        }
    }
}

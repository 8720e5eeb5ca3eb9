//! The codes that a report may have, and the meaning of the decoders' codes.

use lineside_config::spelling::find_nearest_word;
use lineside_formats::Format;
use lineside_validate::NoticeKind;

use super::formats;

/// The code of a finding that a real-time message was validated without its schedule.
pub(super) const SCHEDULE_NOT_GIVEN: &str = "schedule_not_given";

/// The meaning of that code.
pub(super) const SCHEDULE_NOT_GIVEN_MEANING: &str = "No schedule was given, so the rules that need one did not run. On the command line, name it with --static.";

/// The code of a finding that one of several files cannot be read.
pub const UNREADABLE_FILE: &str = "unreadable_file";

/// A code of a decoder.
#[derive(Clone, Copy, Debug)]
pub struct DecoderCode {
    pub code: &'static str,
    /// What is wrong, and its effect.
    pub meaning: &'static str,
    /// What the producer should do.
    pub remedy: &'static str,
}

/// All decoder codes in alphabetical order. A test compares them with `docs/rules/decoding.md`.
static DECODERS: &[DecoderCode] = &[
    DecoderCode {
        code: "delivery_not_read",
        meaning: "The message has a delivery of a SIRI service that Lineside does not read.",
        remedy: "Ignore this, or request only the other services.",
    },
    DecoderCode {
        code: "duplicate_in_timetable",
        meaning: "A timetable has two objects with the same key and uses only the first.",
        remedy: "Give each its own id.",
    },
    DecoderCode {
        code: "entity_too_large",
        meaning: "An entity is larger than the limit and was left out.",
        remedy: "Split it, or remove data that riders do not need.",
    },
    DecoderCode {
        code: "invalid_boolean",
        meaning: "A value is neither true nor false and was left out.",
        remedy: "Write `true` or `false`.",
    },
    DecoderCode {
        code: "invalid_date",
        meaning: "A date is not valid and was left out.",
        remedy: "Write it as 2026-06-15, with a day that exists.",
    },
    DecoderCode {
        code: "invalid_duration",
        meaning: "A duration is not valid and was left out.",
        remedy: "Write it as PT1M30S.",
    },
    DecoderCode {
        code: "invalid_email",
        meaning: "GTFS validators refuse this e-mail address, so GTFS made from the publication leaves it out.",
        remedy: "Correct the address.",
    },
    DecoderCode {
        code: "invalid_entity",
        meaning: "An entity cannot be decoded and was left out.",
        remedy: "Write it with a protobuf library, by the current schema.",
    },
    DecoderCode {
        code: "invalid_float",
        meaning: "A value is not a decimal number and was left out.",
        remedy: "Write digits with a point, such as 59.91.",
    },
    DecoderCode {
        code: "invalid_integer",
        meaning: "A value is not an integer in the range of the field and was left out.",
        remedy: "Write digits only.",
    },
    DecoderCode {
        code: "invalid_time",
        meaning: "A time of day is not valid, or not written as required, and was left out.",
        remedy: "Write it as 08:05:00.",
    },
    DecoderCode {
        code: "invalid_timestamp",
        meaning: "A timestamp is not valid and was left out.",
        remedy: "Write it as 2026-06-15T08:05:00+02:00.",
    },
    DecoderCode {
        code: "invalid_timezone",
        meaning: "A time zone is unknown.",
        remedy: "Write a name such as Europe/Oslo.",
    },
    DecoderCode {
        code: "invalid_url",
        meaning: "GTFS validators refuse this URL, so GTFS made from the publication leaves it out.",
        remedy: "Write it with https:// and a host that exists.",
    },
    DecoderCode {
        code: "journey_of_the_day_before",
        meaning: "A journey begins on the day before its operating day, which GTFS cannot express, and is left out of timetables.",
        remedy: "Assign it to the day on which it begins.",
    },
    DecoderCode {
        code: "journey_of_windows",
        meaning: "A journey has windows instead of times and is left out of timetables.",
        remedy: "Give the journey times if it has any.",
    },
    DecoderCode {
        code: "journey_without_days",
        meaning: "A journey runs on no known day and is left out of timetables.",
        remedy: "Refer to day types that have dates.",
    },
    DecoderCode {
        code: "journey_without_line",
        meaning: "The line of a journey is not in the files, and the journey is left out of timetables.",
        remedy: "Refer to a line from the journey, its pattern or its route.",
    },
    DecoderCode {
        code: "journey_without_times",
        meaning: "A journey has no times, or none at its first or last call, and is left out of timetables.",
        remedy: "Give both ends a time.",
    },
    DecoderCode {
        code: "lone_ampersand",
        meaning: "An ampersand is not escaped, so other readers refuse the whole file.",
        remedy: "Write &amp;.",
    },
    DecoderCode {
        code: "missing_name",
        meaning: "A stop has no name, so its id is shown instead.",
        remedy: "Give its Quay, its StopPlace or its ScheduledStopPoint a Name.",
    },
    DecoderCode {
        code: "missing_required_field",
        meaning: "A field that readers need is missing.",
        remedy: "Fill in the field.",
    },
    DecoderCode {
        code: "missing_timezone",
        meaning: "No frame has a time zone, so times were read as UTC.",
        remedy: "Write the time zone in the default locale of the frame.",
    },
    DecoderCode {
        code: "missing_url",
        meaning: "The organisation, the operator and the line have no `Url`, which GTFS requires.",
        remedy: "Add a `Url` to the contact details of one of them.",
    },
    DecoderCode {
        code: "not_netex",
        meaning: "A file is not a NeTEx publication and was ignored.",
        remedy: "Remove the file from the archive.",
    },
    DecoderCode {
        code: "stop_without_location",
        meaning: "A stop has no coordinates, so it is not on maps.",
        remedy: "Add the coordinates of the stop.",
    },
    DecoderCode {
        code: "text_too_long",
        meaning: "A text is longer than the limit and was left out.",
        remedy: "Shorten the text.",
    },
    DecoderCode {
        code: "timestamp_without_zone",
        meaning: "A timestamp has no offset from UTC, so the feed's time zone was used.",
        remedy: "Add Z or an offset such as +02:00.",
    },
    DecoderCode {
        code: "too_many_calls",
        meaning: "A journey has more calls than the limit and is left out of timetables.",
        remedy: "Split the journey into several.",
    },
    DecoderCode {
        code: "too_many_pages",
        meaning: "A response has more pages than Lineside requests in a row, and the rest is missing.",
        remedy: "Make the pages larger.",
    },
    DecoderCode {
        code: "unexpected_enum_value",
        meaning: "A value is not in the specification's list, so readers ignore it.",
        remedy: "Use a value of the list.",
    },
    DecoderCode {
        code: "unknown_transport_mode",
        meaning: "The transport mode of a line is unknown, so the line counts as a bus.",
        remedy: "Use a mode of the specification.",
    },
    DecoderCode {
        code: "unmatched_passing_time",
        meaning: "A journey has a time at a point that is not in its pattern, and is left out of timetables.",
        remedy: "Use points of the pattern.",
    },
    DecoderCode {
        code: UNREADABLE_FILE,
        meaning: "One of several files cannot be read, or only in part. The other files were validated, except for their references to it.",
        remedy: "Fix the file or fetch it again.",
    },
    DecoderCode {
        code: "unresolved_for_timetable",
        meaning: "A reference that a timetable needs has no target.",
        remedy: "Add the object that it names, or correct the reference.",
    },
    DecoderCode {
        code: "wrong_namespace",
        meaning: "The elements are not in the specification's namespace, so other readers do not find them.",
        remedy: "Declare it at the root.",
    },
];

/// Returns the meaning of a decoder code; empty if the code is unknown.
pub(super) fn decoder_code_meaning(code: &str) -> &'static str {
    match find_decoder_code(code) {
        Some(known) => known.meaning,
        None if code == SCHEDULE_NOT_GIVEN => SCHEDULE_NOT_GIVEN_MEANING,
        None => "",
    }
}

/// Returns the decoder code with this name.
fn find_decoder_code(code: &str) -> Option<&'static DecoderCode> {
    DECODERS.iter().find(|known| known.code == code)
}

/// Returns the kinds of findings of all formats.
pub fn notice_kinds_of_all_formats() -> impl Iterator<Item = (Format, &'static NoticeKind)> {
    let of_format = |format| {
        (formats::find_checks(Some(format)).kinds)().into_iter().map(move |kind| (format, kind))
    };
    Format::ALL.into_iter().flat_map(of_format)
}

/// Returns the codes of decoders in alphabetical order.
pub fn list_decoder_codes() -> &'static [DecoderCode] {
    DECODERS
}

/// Returns the paragraph on the cause and fix of a finding: the second one of its rule's page, or the remedy of a
/// decoder's code. The `summary` distinguishes kinds with the same code.
pub fn find_cause_and_fix(code: &str, summary: &str) -> Option<&'static str> {
    let mut kinds = notice_kinds_of_all_formats().map(|(_, kind)| kind);
    let Some(kind) = kinds.find(|kind| kind.code == code && kind.page_summary() == summary) else {
        let decoder_code = find_decoder_code(code).filter(|it| it.meaning == summary);
        return decoder_code.map(|it| it.remedy);
    };
    let mut paragraphs = kind.page.split("\n\n").map(str::trim).filter(|it| !it.starts_with('#'));
    paragraphs.nth(1).filter(|it| !it.starts_with("```") && !it.starts_with("Without: "))
}

/// Returns all codes of all formats.
fn all_finding_codes() -> impl Iterator<Item = &'static str> {
    let rules = notice_kinds_of_all_formats().map(|(_, kind)| kind.code);
    rules.chain(DECODERS.iter().map(|known| known.code)).chain([SCHEDULE_NOT_GIVEN])
}

/// Checks that a report can have each of these codes.
///
/// # Errors
/// Returns an error if a code is unknown, with a similar code if there is one.
pub fn ensure_known_codes(codes: &[String]) -> Result<(), String> {
    let Some(code) = codes.iter().find(|code| all_finding_codes().all(|known| known != *code))
    else {
        return Ok(());
    };
    Err(match find_nearest_word(code, all_finding_codes()) {
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

    /// The verbs that begin an instruction in the second paragraph of a rule's page.
    const IMPERATIVES: &[&str] = &[
        "Add",
        "Carry",
        "Check",
        "Choose",
        "Close",
        "Compress",
        "Compute",
        "Copy",
        "Correct",
        "Delete",
        "Describe",
        "End",
        "Fill",
        "Give",
        "Keep",
        "Leave",
        "Let",
        "List",
        "Look",
        "Make",
        "Merge",
        "Move",
        "Name",
        "Publish",
        "Put",
        "Redraw",
        "Refresh",
        "Remove",
        "Repair",
        "Send",
        "Separate",
        "Serve",
        "Set",
        "Shorten",
        "Sort",
        "Split",
        "Swap",
        "Synchronize",
        "Update",
        "Use",
        "Write",
    ];

    fn is_instruction(sentence: &str) -> bool {
        let verb = sentence.split_whitespace().next().unwrap_or_default();
        IMPERATIVES.contains(&verb)
    }

    #[test]
    fn every_rule_explains_how_to_fix_its_findings() {
        let mut unfit: Vec<String> = Vec::new();
        for kind in notice_kinds_of_all_formats().map(|(_, kind)| kind) {
            let text = find_cause_and_fix(kind.code, kind.page_summary()).unwrap_or_default();
            // The lookup might return a kind of another format with the same code and summary.
            let is_own = kind.page.contains(text);
            if !is_own || !text.split(". ").any(is_instruction) {
                unfit.push(format!("{}: {text:?}", kind.code));
            }
        }
        assert!(unfit.is_empty(), "no instruction in {unfit:#?}");
        assert!(!["Nobody can follow it.", ""].into_iter().any(is_instruction));
    }

    #[test]
    fn a_decoder_code_has_a_remedy() {
        for known in DECODERS {
            assert_eq!(find_cause_and_fix(known.code, known.meaning), Some(known.remedy));
        }
        assert_eq!(find_cause_and_fix("stop_without_location", "another meaning"), None);
    }

    #[test]
    fn the_documentation_lists_the_decoder_codes_with_their_meanings() {
        let page = include_str!("../../../../docs/rules/decoding.md");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        let expected: Vec<String> = DECODERS
            .iter()
            .map(|it| format!("| `{}` | {} | {} |", it.code, it.meaning, it.remedy))
            .collect();
        assert_eq!(rows, expected);
        assert!(DECODERS.is_sorted_by_key(|it| it.code), "the codes are not in alphabetical order");
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

//! The scope of a validation: which rules apply. There may be no schedule, and a message may be translated from another
//! format.

/// Codes that compare a message with its schedule, or that would blame the message without one: `E047` needs the blocks
/// of trips to excuse a disagreement.
const SCHEDULE_CODES: &[&str] = &[
    "E003",
    "E004",
    "E006",
    "E009",
    "E010",
    "E011",
    "E013",
    "E015",
    "E016",
    "E019",
    "E023",
    "E024",
    "E028",
    "E029",
    "E030",
    "E034",
    "E035",
    "E045",
    "E046",
    "E047",
    "E051",
    "W005",
    "agency_without_trips",
    "low_match_rate",
    "missing_trips",
    "schedule_version_skew",
    "trip_without_service",
    "vehicle_off_shape",
    "vehicle_on_ended_trip",
    "vehicle_on_future_trip",
];
/// Codes about missing data.
const COMPLETENESS_CODES: &[&str] = &["agency_without_trips", "missing_trips"];
/// Codes about the interval between updates, which do not apply if each fact is published only once.
const INTERVAL_CODES: &[&str] = &["feed_pause", "stale_vehicle", "timestamp_jump"];
/// The code about the age of a trip update. In messages from other formats the timestamp is that of the last news,
/// which may stay valid for long.
const UPDATE_AGE_CODE: &str = "stale_trip_update";

/// The properties of a message that decide which rules apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealtimeRuleScope {
    /// True if the message has a schedule.
    pub has_schedule: bool,
    /// True if the message was translated from another format. None of the reference validator's rules apply; the other
    /// format has its own rules.
    pub is_translated: bool,
    /// True if the message should name everything that runs.
    pub is_whole: bool,
    /// True if every fact in the message is published again with each message, not only once when it changes.
    pub is_repeated: bool,
}

impl Default for RealtimeRuleScope {
    /// Returns the scope of a GTFS-Realtime message with its schedule: all rules.
    fn default() -> RealtimeRuleScope {
        RealtimeRuleScope {
            has_schedule: true,
            is_translated: false,
            is_whole: true,
            is_repeated: true,
        }
    }
}

impl RealtimeRuleScope {
    /// Returns true if the rules with this code apply.
    pub fn applies_to_code(&self, code: &str) -> bool {
        let is_of_reference = code.starts_with(['E', 'W']);
        (self.has_schedule || !SCHEDULE_CODES.contains(&code))
            && (self.is_whole || !COMPLETENESS_CODES.contains(&code))
            && (self.is_repeated || !INTERVAL_CODES.contains(&code))
            && !(self.is_translated && (is_of_reference || code == UPDATE_AGE_CODE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::gtfs_rt::realtime_notice_kinds;

    #[test]
    fn every_listed_code_is_a_notice_code() {
        for code in SCHEDULE_CODES
            .iter()
            .chain(COMPLETENESS_CODES)
            .chain(INTERVAL_CODES)
            .chain([&UPDATE_AGE_CODE])
        {
            assert!(realtime_notice_kinds().any(|kind| kind.code == *code), "{code}");
        }
        assert!(
            realtime_notice_kinds()
                .all(|kind| RealtimeRuleScope::default().applies_to_code(kind.code))
        );
    }

    #[test]
    fn rules_about_the_notation_do_not_apply_to_translated_messages() {
        let translated = RealtimeRuleScope { is_translated: true, ..RealtimeRuleScope::default() };
        let codes = realtime_notice_kinds()
            .map(|kind| kind.code)
            .filter(|code| translated.applies_to_code(code));
        let mut codes: Vec<_> = codes.collect();
        codes.sort_unstable();
        assert_eq!(codes.len(), 14, "{codes:?}");
        assert!(codes.contains(&"low_match_rate") && codes.contains(&"stale_vehicle"));
        let changes = RealtimeRuleScope { is_repeated: false, is_whole: false, ..translated };
        let left = codes.iter().filter(|code| changes.applies_to_code(code)).count();
        assert_eq!(left, 9, "without missing trips, ages and pace");
    }
}

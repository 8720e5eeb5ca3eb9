//! Time zones: names of the IANA database, and offsets from UTC such as `UTC+1` and `+05:30`.

use std::sync::OnceLock;

use jiff::tz::TimeZoneDatabase;

/// Names in the database that the reference validator rejects: named offsets, and names that Java's library lacks.
const LEFT_OUT: [&str; 5] = ["EST", "MST", "HST", "ROC", "Factory"];
/// The largest offset from UTC, in seconds.
const OFFSET_MAX: u32 = 18 * 3_600;

/// Normalizes a zone name: equivalent names become equal. `None` if it is not a zone. Case matters here, unlike
/// elsewhere.
pub fn normalize_timezone_id(text: &str) -> Option<String> {
    if text == "Z" || text.starts_with(['+', '-']) {
        return normalize_utc_offset(text);
    }
    for prefix in ["UTC", "GMT", "UT"] {
        match text.strip_prefix(prefix) {
            Some("") => return Some(text.to_owned()),
            Some(rest) if rest.starts_with(['+', '-']) => {
                let offset = normalize_utc_offset(rest)?;
                let is_zero = offset == "Z";
                return Some(if is_zero { prefix.to_owned() } else { format!("{prefix}{offset}") });
            }
            _ => {}
        }
    }
    is_iana_timezone_name(text).then(|| text.to_owned())
}

/// Returns true if a text is a zone; see [`normalize_timezone_id`].
pub(super) fn is_time_zone(text: &str) -> bool {
    is_iana_timezone_name(text) || normalize_timezone_id(text).is_some()
}

/// Returns true if the bundled database has the name; a machine's database would vary.
fn is_iana_timezone_name(text: &str) -> bool {
    static NAMES: OnceLock<TimeZoneDatabase> = OnceLock::new();
    let zone = NAMES.get_or_init(TimeZoneDatabase::bundled).get(text);
    zone.is_ok_and(|zone| zone.iana_name() == Some(text)) && !LEFT_OUT.contains(&text)
}

/// Normalizes an offset: `Z`, or a sign and `h`, `hh`, `hhmm`, `hh:mm`, `hhmmss` or `hh:mm:ss`, written in the longest
/// form that is needed.
fn normalize_utc_offset(text: &str) -> Option<String> {
    if text == "Z" {
        return Some(text.to_owned());
    }
    let (sign, rest) = text.split_at_checked(1).filter(|(sign, _)| matches!(*sign, "+" | "-"))?;
    let [hours, minutes, seconds] = match *rest.as_bytes() {
        [h] => [parse_two_digits(b'0', h)?, 0, 0],
        [h1, h2] => [parse_two_digits(h1, h2)?, 0, 0],
        [h1, h2, m1, m2] | [h1, h2, b':', m1, m2] => {
            [parse_two_digits(h1, h2)?, parse_two_digits(m1, m2)?, 0]
        }
        [h1, h2, m1, m2, s1, s2] | [h1, h2, b':', m1, m2, b':', s1, s2] => {
            [parse_two_digits(h1, h2)?, parse_two_digits(m1, m2)?, parse_two_digits(s1, s2)?]
        }
        _ => return None,
    };
    let total = hours * 3_600 + minutes * 60 + seconds;
    if minutes > 59 || seconds > 59 || total > OFFSET_MAX {
        return None;
    }
    Some(match (total, seconds) {
        (0, _) => "Z".to_owned(),
        (_, 0) => format!("{sign}{hours:02}:{minutes:02}"),
        _ => format!("{sign}{hours:02}:{minutes:02}:{seconds:02}"),
    })
}

fn parse_two_digits(tens: u8, ones: u8) -> Option<u32> {
    let digit = |byte: u8| char::from(byte).to_digit(10);
    Some(digit(tens)? * 10 + digit(ones)?)
}

#[cfg(test)]
mod tests {
    use super::normalize_timezone_id;

    #[test]
    fn zone_names_and_offsets_are_normalized() {
        for (text, id) in [
            ("Europe/Oslo", "Europe/Oslo"),
            ("US/Pacific", "US/Pacific"),
            ("UTC", "UTC"),
            ("Etc/GMT+5", "Etc/GMT+5"),
            ("Z", "Z"),
            ("UTC+1", "UTC+01:00"),
            ("GMT-0", "GMT"),
            ("UT+01:30", "UT+01:30"),
            ("+0530", "+05:30"),
            ("-18:00", "-18:00"),
            ("GMT0", "GMT0"),
            ("PST8PDT", "PST8PDT"),
        ] {
            assert_eq!(normalize_timezone_id(text).as_deref(), Some(id), "{text}");
        }
    }

    #[test]
    fn invalid_zones_are_refused() {
        for text in [
            "europe/oslo",
            "Europe/Olso",
            "EST",
            "PST",
            "ROC",
            "z",
            "+18:01",
            "UTC+24",
            "UTC-3:30",
            "",
            "+",
            "+5:00",
            "../etc/passwd",
            "Oslo",
            "UTC ",
            "+é",
        ] {
            assert_eq!(normalize_timezone_id(text), None, "{text}");
        }
    }
}

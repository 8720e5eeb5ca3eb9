//! Durations of XML Schema, such as `PT1M30S`.

/// Parses a duration, which may be negative, to whole seconds. A month counts as 30 days and a year as 365; fractions
/// of a second are cut off. Returns `None` if the text is not a duration, or if it exceeds 68 years.
pub(crate) fn parse_duration_seconds(text: &str) -> Option<i32> {
    let (is_negative, text) = match text.strip_prefix('-') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let text = text.strip_prefix('P')?;
    let (days, time) = text.split_once('T').unwrap_or((text, ""));
    if days.is_empty() && time.is_empty() {
        return None;
    }
    let units = [('Y', 365 * 86_400), ('M', 30 * 86_400), ('W', 7 * 86_400), ('D', 86_400)];
    let time = sum_duration_units(time, &[('H', 3_600), ('M', 60), ('S', 1)])?;
    let sum = sum_duration_units(days, &units)?.checked_add(time)?;
    i32::try_from(if is_negative { -sum } else { sum }).ok()
}

/// Sums numbers that each precede their unit, in seconds.
fn sum_duration_units(mut text: &str, units: &[(char, i64)]) -> Option<i64> {
    let mut sum = 0_i64;
    while !text.is_empty() {
        let end = text.find(|it: char| !it.is_ascii_digit() && it != '.')?;
        let unit = text[end..].chars().next()?;
        let (_, seconds) = units.iter().find(|(name, _)| *name == unit)?;
        let whole = text[..end].split('.').next().filter(|digits| !digits.is_empty())?;
        sum = sum.checked_add(whole.parse::<i64>().ok()?.checked_mul(*seconds)?)?;
        text = &text[end + unit.len_utf8()..];
    }
    Some(sum)
}

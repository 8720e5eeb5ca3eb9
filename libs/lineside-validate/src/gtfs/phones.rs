//! Check of telephone numbers: by its length, a number can be dialed in a country.

use std::sync::OnceLock;

/// A line for each country: its code, its calling code, `*` if it is the main country of that code, the possible
/// lengths of its numbers, those that suffice within a town, the trunk digit for national numbers, and the prefixes for
/// international calls. (National numbering plans, published by the ITU and collected by libphonenumber.)
const COUNTRIES: &str = include_str!("phones.txt");
/// The largest number of digits of a calling code.
const CALLING_CODE_DIGITS_MAX: usize = 3;
/// The largest number of characters of a number.
const CHARS_MAX: usize = 250;
/// The largest number of digits of an extension.
const EXTENSION_DIGITS_MAX: usize = 7;
/// Words before an extension, longer ones first.
const EXTENSION_WORDS: [&str; 8] = ["extension", "extn.", "extn", "ext.", "ext", "x", "#", "int"];
/// The keypad digits of the letters from `a` (ITU-T E.161).
const KEYPAD: &[u8; 26] = b"22233344455566677778889999";

struct PhoneNumberingPlan {
    name: &'static str,
    calling_code: &'static str,
    is_first: bool,
    /// Bit n is set if numbers of n digits are possible.
    lengths: u32,
    lengths_in_town: u32,
    trunk: &'static str,
    abroad: Vec<&'static str>,
}

fn numbering_plans() -> &'static [PhoneNumberingPlan] {
    static LIST: OnceLock<Vec<PhoneNumberingPlan>> = OnceLock::new();
    LIST.get_or_init(|| COUNTRIES.lines().filter_map(parse_numbering_plan_line).collect())
}

/// Returns true if numbers of this country can be checked: it is an ISO 3166 code in capitals with a numbering plan.
pub fn has_numbering_plan(code: [u8; 2]) -> bool {
    numbering_plans().iter().any(|country| country.name.as_bytes() == code)
}

fn parse_numbering_plan_line(line: &'static str) -> Option<PhoneNumberingPlan> {
    let mut parts = line.split(' ').map(|part| if part == "-" { "" } else { part });
    let (name, calling_code, is_first) = (parts.next()?, parts.next()?, parts.next()? == "*");
    let mut lengths = || {
        let lengths = parts.next()?.split(',').filter_map(|length| length.parse::<u32>().ok());
        Some(lengths.fold(0, |bits, length| bits | 1_u32.checked_shl(length).unwrap_or(0)))
    };
    let (lengths, lengths_in_town) = (lengths()?, lengths()?);
    let trunk = parts.next()?;
    let abroad = parts.next()?.split(',').filter(|prefix| !prefix.is_empty()).collect();
    Some(PhoneNumberingPlan {
        name,
        calling_code,
        is_first,
        lengths,
        lengths_in_town,
        trunk,
        abroad,
    })
}

impl PhoneNumberingPlan {
    fn is_national_number_length(&self, digits: &str) -> bool {
        has_listed_length(self.lengths, digits)
    }

    /// Returns true if a number without calling code may have these digits, with or without the trunk digit.
    fn may_be_national_number(&self, digits: &str) -> bool {
        let behind_trunk = digits.strip_prefix(self.trunk).filter(|rest| rest.len() < digits.len());
        behind_trunk.is_some_and(|rest| self.is_national_number_length(rest))
            || self.is_national_number_length(digits)
            || has_listed_length(self.lengths_in_town, digits)
    }

    /// Returns true if the digits are longer than all numbers of the country.
    fn exceeds_longest_number(&self, digits: &str) -> bool {
        digits.len() as u32 > 31 - self.lengths.leading_zeros().min(31)
    }
}

fn has_listed_length(lengths: u32, digits: &str) -> bool {
    u32::try_from(digits.len()).is_ok_and(|n| lengths.checked_shr(n).unwrap_or(0) & 1 == 1)
}

/// Returns true if a text can be a number that is dialed in a country. An unknown country has no national numbers.
pub(super) fn is_phone_number(text: &str, country: [u8; 2]) -> bool {
    if text.chars().count() > CHARS_MAX {
        return false;
    }
    let text = trim_to_phone_number(text);
    if !looks_like_phone_number(text) {
        return false;
    }
    let text = strip_phone_extension(text);
    let digits = dialed_digits(text);
    if text.starts_with('+') {
        return is_international_number(&digits);
    }
    let Some(home) = numbering_plans().iter().find(|other| other.name.as_bytes() == country) else {
        return false;
    };
    let behind = home.abroad.iter().find_map(|prefix| digits.strip_prefix(prefix));
    if let Some(rest) = behind.filter(|rest| !rest.starts_with('0')) {
        return is_international_number(rest);
    }
    match digits.strip_prefix(home.calling_code) {
        Some(rest)
            if home.exceeds_longest_number(&digits)
                || (!home.is_national_number_length(&digits)
                    && home.is_national_number_length(rest)) =>
        {
            home.may_be_national_number(rest)
        }
        _ => home.may_be_national_number(&digits),
    }
}

/// Returns true if digits are a calling code and a valid number there.
fn is_international_number(digits: &str) -> bool {
    (1..=CALLING_CODE_DIGITS_MAX).filter_map(|n| digits.split_at_checked(n)).any(|(code, rest)| {
        let first = |other: &&PhoneNumberingPlan| other.is_first && other.calling_code == code;
        numbering_plans()
            .iter()
            .find(first)
            .is_some_and(|country| country.may_be_national_number(rest))
    })
}

/// Returns the part of a text that may be a number: from its first digit or `+` to its last letter or digit.
fn trim_to_phone_number(text: &str) -> &str {
    let Some(start) = text.find(|c: char| c == '+' || c.is_ascii_digit()) else { return "" };
    let text = text[start..].split(';').next().unwrap_or_default();
    text.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '#')
}

/// Returns true if there are at least three digits before any letter, and only digits, letters and the usual
/// separators.
fn looks_like_phone_number(text: &str) -> bool {
    let is_between = |c: char| {
        matches!(
            c,
            '-' | '.' | '(' | ')' | '[' | ']' | '/' | '~' | ' ' | '*' | 'x' | '\u{a0}' | '‐'..='―'
        )
    };
    let body = text.trim_start_matches('+');
    let n_digits = body
        .chars()
        .take_while(|&c| c.is_ascii_digit() || is_between(c))
        .filter(char::is_ascii_digit)
        .count();
    n_digits >= 3
        && body.chars().all(|c| {
            c.is_ascii_alphanumeric() || is_between(c) || matches!(c, '#' | ':' | ',' | '+')
        })
}

/// Returns the number without its extension.
fn strip_phone_extension(text: &str) -> &str {
    let number = text.trim_end_matches('#');
    let before = number.trim_end_matches(|c: char| c.is_ascii_digit());
    let n_digits = number.len() - before.len();
    if !(1..=EXTENSION_DIGITS_MAX).contains(&n_digits) {
        return text;
    }
    let before = before.trim_end_matches([' ', '.', ':', '\u{a0}']);
    let ends_with = |word: &&&str| {
        before
            .len()
            .checked_sub(word.len())
            .and_then(|at| before.get(at..))
            .is_some_and(|end| end.eq_ignore_ascii_case(word))
    };
    match EXTENSION_WORDS.iter().find(ends_with) {
        Some(word) => {
            let main = before[..before.len() - word.len()].trim_end_matches([' ', ',', '-']);
            if looks_like_phone_number(main) { main } else { text }
        }
        None => text,
    }
}

/// Returns the digits, including those for letters if there are at least three letters.
fn dialed_digits(text: &str) -> String {
    let has_words = text.bytes().filter(u8::is_ascii_alphabetic).nth(2).is_some();
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte),
        letter if has_words && letter.is_ascii_alphabetic() => {
            KEYPAD.get(usize::from(letter.to_ascii_lowercase() - b'a')).copied()
        }
        _ => None,
    };
    text.bytes().filter_map(digit).map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phone_numbers_are_recognized_by_length() {
        for (text, country, is_possible) in [
            ("+47 22 33 44 55", *b"NO", true),
            ("22334455", *b"NO", true),
            ("(503) 238-RIDE", *b"US", true),
            ("238-7433", *b"US", true),
            ("1-800-555-0199", *b"US", true),
            ("503-238-7433 ext. 12", *b"US", true),
            ("511", *b"US", false),
            ("911", *b"US", false),
            ("12", *b"US", false),
            ("ask us", *b"NO", false),
            ("+49 30 123456", *b"NO", true),
            ("0049 30 123456", *b"NO", true),
            ("01 45 67 89 01", *b"FR", true),
            ("+33 1 45 67 89 01", *b"US", true),
            ("145", *b"FR", false),
            ("3631", *b"FR", false),
            ("020 7222 1234", *b"GB", true),
            ("+44 (0)20 7222 1234", *b"GB", true),
            ("0343 222 1234", *b"GB", true),
            ("+999 123456", *b"NO", false),
            ("123456789012345678", *b"DE", false),
            ("tel:+4722334455", *b"NO", true),
            ("n/a", *b"US", false),
            ("800 88 555", *b"NO", true),
            ("177", *b"NO", false),
            ("(11) 3396-7800", *b"BR", true),
            ("131 500", *b"AU", true),
            ("1-888-GO-TRANSIT", *b"US", false),
            ("+1 604 953 3333", *b"CA", true),
            ("604.953.3333", *b"CA", true),
            ("022334455", *b"NO", false),
            ("503-238-7433 / 503-238-7434", *b"US", false),
            ("503-238-7433x5", *b"US", true),
            ("+", *b"US", false),
            ("555", *b"US", false),
            ("0800 11 77 99", *b"DE", true),
            ("503 238 743", *b"US", false),
            ("15032387433", *b"US", true),
            ("011 47 22334455", *b"US", true),
            ("4722334455", *b"NO", true),
            ("02 12345678", *b"IT", true),
            ("1300 369 003", *b"AU", true),
            ("+55 11 3396 7800", *b"US", true),
            ("03-1234-5678", *b"JP", true),
        ] {
            assert_eq!(is_phone_number(text, country), is_possible, "{text}");
        }
    }

    #[test]
    fn every_country_of_the_table_is_parsed() {
        assert_eq!(numbering_plans().len(), COUNTRIES.lines().count());
        assert!(numbering_plans().iter().all(|country| country.lengths != 0));
    }
}

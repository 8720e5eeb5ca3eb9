//! Language tags: well-formedness by BCP 47 (RFC 5646), and normalization.

/// Grandfathered tags with their replacements (IANA language subtag registry; those without a
/// successor become private use, as in the reference validator).
const GRANDFATHERED: [(&str, &str); 26] = [
    ("art-lojban", "jbo"),
    ("cel-gaulish", "xtg-x-cel-gaulish"),
    ("en-gb-oed", "en-GB-x-oed"),
    ("i-ami", "ami"),
    ("i-bnn", "bnn"),
    ("i-default", "en-x-i-default"),
    ("i-enochian", "und-x-i-enochian"),
    ("i-hak", "hak"),
    ("i-klingon", "tlh"),
    ("i-lux", "lb"),
    ("i-mingo", "see-x-i-mingo"),
    ("i-navajo", "nv"),
    ("i-pwn", "pwn"),
    ("i-tao", "tao"),
    ("i-tay", "tay"),
    ("i-tsu", "tsu"),
    ("no-bok", "nb"),
    ("no-nyn", "nn"),
    ("sgn-be-fr", "sfb"),
    ("sgn-be-nl", "vgt"),
    ("sgn-ch-de", "sgg"),
    ("zh-guoyu", "cmn"),
    ("zh-hakka", "hak"),
    ("zh-min", "nan-x-zh-min"),
    ("zh-min-nan", "nan"),
    ("zh-xiang", "hsn"),
];

/// Languages whose code was changed in ISO 639 of 1989.
const RENAMED: [(&str, &str); 3] = [("iw", "he"), ("in", "id"), ("ji", "yi")];

/// The subtags of a tag, from first to last.
struct LanguageTagParser<'a> {
    rest: std::iter::Peekable<std::str::Split<'a, char>>,
    tag: String,
}

impl LanguageTagParser<'_> {
    /// Takes the next subtag if it is of this kind, and writes it in this form.
    fn consume_subtag_if(
        &mut self,
        is: impl Fn(&[u8]) -> bool,
        write: impl Fn(&str) -> String,
    ) -> bool {
        let Some(subtag) = self.rest.next_if(|subtag| is(subtag.as_bytes())) else { return false };
        if !self.tag.is_empty() {
            self.tag.push('-');
        }
        self.tag.push_str(&write(subtag));
        true
    }

    /// Takes an extension or private-use part: its letter and its subtags.
    fn consume_extension_subtags(
        &mut self,
        is_letter: fn(&[u8]) -> bool,
        length_min: usize,
    ) -> Option<bool> {
        if !self.consume_subtag_if(is_letter, str::to_ascii_lowercase) {
            return Some(false);
        }
        let mut n = 0;
        while self.consume_subtag_if(
            |s| is_alphanumeric_subtag(s, length_min..=8),
            str::to_ascii_lowercase,
        ) {
            n += 1;
        }
        (n > 0).then_some(true)
    }
}

/// Normalizes a well-formed tag, such as `nb-NO`: equivalent tags become equal. `None` if the tag
/// is not well-formed.
pub fn normalize_language_tag(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    if let Some((_, successor)) = GRANDFATHERED.iter().find(|(tag, _)| *tag == lower) {
        return Some((*successor).to_owned());
    }
    let mut subtags = LanguageTagParser { rest: text.split('-').peekable(), tag: String::new() };
    if subtags.consume_subtag_if(|s| is_alphabetic_subtag(s, 2..=8), str::to_ascii_lowercase) {
        if let Some((_, code)) = RENAMED.iter().find(|(code, _)| *code == subtags.tag) {
            subtags.tag = (*code).to_owned();
        }
        // An extended language subtag replaces the language; further ones are dropped.
        for n in 0..3 {
            let group = std::mem::take(&mut subtags.tag);
            let is_taken = subtags
                .consume_subtag_if(|s| is_alphabetic_subtag(s, 3..=3), str::to_ascii_lowercase);
            if !is_taken || n > 0 {
                subtags.tag = group;
            }
            if !is_taken {
                break;
            }
        }
        subtags.consume_subtag_if(|s| is_alphabetic_subtag(s, 4..=4), capitalize_subtag);
        subtags.consume_subtag_if(is_region_subtag, str::to_ascii_uppercase);
        while subtags.consume_subtag_if(is_variant_subtag, str::to_ascii_lowercase) {}
        while subtags.consume_extension_subtags(
            |s| is_alphabetic_subtag(s, 1..=1) && s != b"x" && s != b"X",
            2,
        )? {}
    }
    subtags.consume_extension_subtags(|s| s.eq_ignore_ascii_case(b"x"), 1)?;
    (subtags.rest.next().is_none()).then_some(subtags.tag)
}

fn is_alphabetic_subtag(subtag: &[u8], length: std::ops::RangeInclusive<usize>) -> bool {
    length.contains(&subtag.len()) && subtag.iter().all(u8::is_ascii_alphabetic)
}

fn is_alphanumeric_subtag(subtag: &[u8], length: std::ops::RangeInclusive<usize>) -> bool {
    length.contains(&subtag.len()) && subtag.iter().all(u8::is_ascii_alphanumeric)
}

fn is_region_subtag(subtag: &[u8]) -> bool {
    is_alphabetic_subtag(subtag, 2..=2)
        || (subtag.len() == 3 && subtag.iter().all(u8::is_ascii_digit))
}

fn is_variant_subtag(subtag: &[u8]) -> bool {
    is_alphanumeric_subtag(subtag, 5..=8)
        || (is_alphanumeric_subtag(subtag, 4..=4) && subtag.first().is_some_and(u8::is_ascii_digit))
}

fn capitalize_subtag(subtag: &str) -> String {
    let mut subtag = subtag.to_ascii_lowercase();
    if let Some(first) = subtag.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    subtag
}

#[cfg(test)]
mod tests {
    use super::normalize_language_tag;

    #[test]
    fn well_formed_tags_are_normalized() {
        for (text, tag) in [
            ("en", "en"),
            ("EN-us", "en-US"),
            ("zh-hant-tw", "zh-Hant-TW"),
            ("es-419", "es-419"),
            ("zh-yue", "yue"),
            ("zh-cmn-hans", "cmn-Hans"),
            ("de-1996", "de-1996"),
            ("sl-rozaj-biske-1994", "sl-rozaj-biske-1994"),
            ("en-u-ca-gregory", "en-u-ca-gregory"),
            ("x-foo", "x-foo"),
            ("fr-FR-x-a", "fr-FR-x-a"),
            ("i-klingon", "tlh"),
            ("iw", "he"),
            ("mul", "mul"),
            ("english", "english"),
            ("qaa-qaa-qab-qac", "qaa"),
        ] {
            assert_eq!(normalize_language_tag(text).as_deref(), Some(tag), "{text}");
        }
    }

    #[test]
    fn malformed_tags_are_refused() {
        for text in [
            "en_US",
            "e",
            "",
            "en-",
            "-en",
            "en--US",
            "abcdefghi",
            "en-US-en",
            "en-x",
            "de-u",
            "en-a",
            "a-b",
            "en-1-abc",
            "english!",
            "nb-NO-",
            "日本語",
            "en us",
        ] {
            assert_eq!(normalize_language_tag(text), None, "{text}");
        }
    }
}

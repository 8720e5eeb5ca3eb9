//! The choice of a translation by the reader's preferred languages.

use axum::http::{HeaderMap, header};
use lineside_http::QueryParameters;

/// The fallback if none of a reader's languages is available: the language of the pages.
const LANGUAGE_DEFAULT: &str = "en";
/// The most languages of one reader that are used.
const LANGUAGES_MAX: usize = 16;

/// A reader's languages, the best first, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PreferredLanguages(Vec<String>);

impl PreferredLanguages {
    /// Reads the languages of `?lang=`, then of `Accept-Language` (RFC 9110 §12.5.4).
    pub(super) fn from_request(parameters: &QueryParameters, headers: &HeaderMap) -> Self {
        let accepted = headers.get_all(header::ACCEPT_LANGUAGE).iter();
        let items =
            accepted.filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(','));
        let mut weighed: Vec<(u16, &str)> = items
            .take(LANGUAGES_MAX)
            .map(parse_weight)
            .filter(|(weight, language)| *weight > 0 && !language.is_empty() && *language != "*")
            .collect();
        weighed.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
        let lang = parameters.find_value("lang");
        let all = lang.into_iter().chain(weighed.into_iter().map(|(_, language)| language));
        Self(all.map(str::to_ascii_lowercase).collect())
    }

    /// Returns the best of several translations, each with an optional language. A translation without a language suits
    /// everybody, and is preferred to languages that the reader did not request.
    pub(super) fn pick_best_translation<'a, T>(
        &self,
        translations: &'a [T],
        language: impl Fn(&'a T) -> Option<&'a str>,
    ) -> Option<&'a T> {
        let language_of = |it: &'a T| language(it).unwrap_or_default().to_ascii_lowercase();
        let fits = |preferred: &String| {
            let is_same = |it: &&'a T| language_of(it) == *preferred;
            let is_like =
                |it: &&'a T| primary_subtag(&language_of(it)) == primary_subtag(preferred);
            let is_same_family =
                |it: &&'a T| macrolanguage(&language_of(it)) == macrolanguage(preferred);
            let like = || translations.iter().find(is_like);
            translations
                .iter()
                .find(is_same)
                .or_else(like)
                .or_else(|| translations.iter().find(is_same_family))
        };
        let requested_language = self.0.iter().find_map(fits);
        let for_all = || translations.iter().find(|it| language_of(it).is_empty());
        let default_language = || fits(&LANGUAGE_DEFAULT.to_owned());
        requested_language.or_else(for_all).or_else(default_language).or(translations.first())
    }
}

fn primary_subtag(language: &str) -> &str {
    language.split(['-', '_']).next().unwrap_or_default()
}

/// Returns the language under which producers may also file another: both kinds of Norwegian are often `no` (BCP 47,
/// macrolanguages).
fn macrolanguage(language: &str) -> &str {
    match primary_subtag(language) {
        "nb" | "nn" => "no",
        other => other,
    }
}

/// Parses a language and its weight in thousandths.
fn parse_weight(item: &str) -> (u16, &str) {
    let mut parts = item.split(';').map(str::trim);
    let language = parts.next().unwrap_or_default();
    let weight = parts.find_map(|part| part.strip_prefix("q="));
    let weight = weight.map_or(1.0, |weight| weight.parse::<f32>().unwrap_or(0.0));
    (((weight.clamp(0.0, 1.0)) * 1000.0) as u16, language)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(accept: &str, lang: &str, translations: &[(&str, &str)], expect: &str) {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_LANGUAGE, HeaderValue::from_str(accept).unwrap());
        let languages =
            PreferredLanguages::from_request(&QueryParameters::parse_query(lang), &headers);
        let best = languages
            .pick_best_translation(translations, |it| Some(it.0).filter(|it| !it.is_empty()));
        assert_eq!(best.map(|it| it.1), Some(expect), "{accept} {lang}");
    }

    #[test]
    fn the_preferred_language_of_the_reader_is_chosen() {
        let all = [("fr", "travaux"), ("de", "Bauarbeiten"), ("en", "works"), ("nb-NO", "arbeid")];
        check("de-CH, fr;q=0.8", "", &all, "Bauarbeiten");
        check("es, fr;q=0.3, de;q=0.9", "", &all, "Bauarbeiten");
        check("nb", "", &all, "arbeid");
        check("NB-no", "", &all, "arbeid");
        check("de", "lang=fr", &all, "travaux");
        let norway = [("EN", "lift"), ("NO", "heis")];
        check("nb-NO", "", &norway, "heis");
        check("nn, en;q=0.5", "", &norway, "heis");
        check("no", "", &[("en", "lift"), ("nn", "heisen"), ("nb", "heis")], "heisen");
        check("nn", "", &[("nb", "heis"), ("nn", "heisen")], "heisen");
        check("es", "", &all, "works");
        check("de;q=0, *", "", &all, "works");
        check("ja", "", &[("fr", "travaux"), ("", "chantier")], "chantier");
        check("ja", "", &[("fr", "travaux"), ("it", "lavori")], "travaux");
        check(";;q=x,,", "lang=", &all, "works");
    }
}

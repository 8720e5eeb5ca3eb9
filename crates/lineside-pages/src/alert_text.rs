//! The translated texts of alerts.

use std::collections::BTreeSet;

use lineside_formats::gtfs_rt::proto;

use super::languages::PreferredLanguages;

/// Languages of the texts of alerts, each with its English name.
const LANGUAGE_NAMES: [(&str, &str); 24] = [
    ("cs", "Czech"),
    ("da", "Danish"),
    ("de", "German"),
    ("el", "Greek"),
    ("en", "English"),
    ("es", "Spanish"),
    ("et", "Estonian"),
    ("fi", "Finnish"),
    ("fr", "French"),
    ("hr", "Croatian"),
    ("hu", "Hungarian"),
    ("it", "Italian"),
    ("ja", "Japanese"),
    ("lt", "Lithuanian"),
    ("lv", "Latvian"),
    ("nb", "Norwegian Bokmål"),
    ("nl", "Dutch"),
    ("nn", "Norwegian Nynorsk"),
    ("no", "Norwegian"),
    ("pl", "Polish"),
    ("pt", "Portuguese"),
    ("sl", "Slovenian"),
    ("sv", "Swedish"),
    ("zh", "Chinese"),
];

/// Returns the English name of a language; its code if the name is not known.
pub(super) fn language_name(code: &str) -> &str {
    let known = LANGUAGE_NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(code));
    known.map_or(code, |(_, name)| name)
}

/// A text and its language, if stated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LocalizedText {
    pub(super) text: String,
    pub(super) language: Option<String>,
}

impl LocalizedText {
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn language(&self) -> Option<&str> {
        self.language.as_deref()
    }
}

/// Returns a text of an alert in the reader's preferred language; `None` if it is empty.
pub(super) fn localized_alert_text(
    text: &Option<proto::TranslatedString>,
    languages: &PreferredLanguages,
) -> Option<LocalizedText> {
    pick_translation(text.as_ref()?, languages).filter(|text| !text.text.is_empty())
}

fn pick_translation(
    text: &proto::TranslatedString,
    languages: &PreferredLanguages,
) -> Option<LocalizedText> {
    let best = languages.pick_best_translation(&text.translation, |it| it.language.as_deref())?;
    let language = best.language.clone().filter(|language| !language.is_empty());
    Some(LocalizedText { text: best.text.clone(), language })
}

/// Returns the languages of an alert's texts, sorted.
fn alert_languages(alert: &proto::Alert) -> BTreeSet<&str> {
    let texts = [&alert.header_text, &alert.description_text].into_iter().flatten();
    let languages =
        texts.flat_map(|text| &text.translation).filter_map(|it| it.language.as_deref());
    languages.filter(|language| !language.is_empty()).collect()
}

/// Returns the languages of texts of alerts that a reader does not see: in those the page is available, too.
pub(super) fn list_unshown_languages<'a>(
    alerts: impl Iterator<Item = &'a proto::Alert>,
    languages: &PreferredLanguages,
) -> BTreeSet<String> {
    let (mut all, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for alert in alerts {
        all.extend(alert_languages(alert).into_iter().map(str::to_owned));
        let texts = [&alert.header_text, &alert.description_text].into_iter();
        let texts = texts.filter_map(|text| localized_alert_text(text, languages));
        seen.extend(texts.filter_map(|text| text.language().map(str::to_owned)));
    }
    all.difference(&seen).cloned().collect()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use lineside_formats::gtfs_rt::proto::translated_string::Translation;
    use lineside_http::QueryParameters;

    use super::*;

    #[test]
    fn other_languages_are_those_that_the_reader_does_not_see() {
        let translation = ["de", "en", "fr"].map(|language| Translation {
            text: format!("in {language}"),
            language: Some(language.to_owned()),
        });
        let header = proto::TranslatedString { translation: translation.to_vec() };
        let alert = proto::Alert { header_text: Some(header), ..proto::Alert::default() };
        let others = |query: &str| {
            let parameters = QueryParameters::parse_query(query);
            let languages = PreferredLanguages::from_request(&parameters, &HeaderMap::new());
            list_unshown_languages([&alert].into_iter(), &languages)
        };
        assert_eq!(others(""), BTreeSet::from(["de", "fr"].map(str::to_owned)));
        assert_eq!(others("lang=de"), BTreeSet::from(["en", "fr"].map(str::to_owned)));
    }
}

//! Query parameters: read in one place, bounded, refused by name.

use std::borrow::Cow;
use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::request::Parts;
use lineside_ingest::BoundingBox;

use super::errors::Refusal;
use super::limits;

/// The parameters of a request, in their order; names may repeat.
#[derive(Debug, Default)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl<S: Sync> FromRequestParts<S> for Parameters {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self::parse(parts.uri.query().unwrap_or_default()))
    }
}

/// A place on the map in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place {
    pub(crate) lat: f64,
    pub(crate) lon: f64,
}

impl Parameters {
    pub(crate) fn parse(query: &str) -> Self {
        Self(url::form_urlencoded::parse(query.as_bytes()).into_owned().collect())
    }

    /// All values of a name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The value of a name; an empty one counts as none, as forms send it.
    pub(crate) fn one(&self, name: &str) -> Option<&str> {
        let value = self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim());
        value.filter(|value| !value.is_empty())
    }

    /// All values of a name, in whatever capitals it is written.
    pub(crate) fn all_of_any_case<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let fits = move |(key, _): &&(String, String)| key.eq_ignore_ascii_case(name);
        self.0.iter().filter(fits).map(|(_, value)| value.as_str())
    }

    /// The value of a name in whatever capitals; an empty one counts as none.
    pub(crate) fn one_of_any_case(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    /// A text to search for.
    pub(crate) fn search(&self, name: &'static str) -> Result<Option<&str>, Refusal> {
        match self.one(name) {
            Some(text) if text.chars().count() > limits::SEARCH_CHARS_MAX => {
                let most = limits::SEARCH_CHARS_MAX;
                Err(bad(name, format!("is longer than {most} characters")))
            }
            text => Ok(text),
        }
    }

    /// A whole number of at most `most`.
    pub(crate) fn number(&self, name: &'static str, most: usize) -> Result<Option<usize>, Refusal> {
        let Some(text) = self.one(name) else { return Ok(None) };
        let number = text.parse::<usize>().ok().filter(|number| *number <= most);
        number.map(Some).ok_or_else(|| bad(name, format!("expected a number from 0 to {most}")))
    }

    /// A whole number from 1 to `most`.
    pub(crate) fn count(&self, name: &'static str, most: usize) -> Result<Option<usize>, Refusal> {
        match self.number(name, most)? {
            Some(0) => Err(bad(name, format!("expected a number from 1 to {most}"))),
            number => Ok(number),
        }
    }

    /// One of a few words, each with what it stands for.
    pub(crate) fn choice<T: Copy>(
        &self,
        name: &'static str,
        choices: impl IntoIterator<Item = (&'static str, T)>,
    ) -> Result<Option<T>, Refusal> {
        let Some(text) = self.one(name) else { return Ok(None) };
        let mut words = Vec::new();
        for (word, value) in choices {
            if word == text {
                return Ok(Some(value));
            }
            words.push(word);
        }
        Err(bad(name, format!("expected one of {}", words.join(", "))))
    }

    /// `bbox=min_lon,min_lat,max_lon,max_lat`.
    pub(crate) fn bounding_box(&self) -> Result<Option<BoundingBox>, Refusal> {
        let Some(text) = self.one("bbox") else { return Ok(None) };
        let expected = "expected min_lon,min_lat,max_lon,max_lat in degrees";
        BoundingBox::parse(text).map(Some).ok_or_else(|| bad("bbox", expected))
    }

    /// `near=lat,lon`.
    pub(crate) fn near(&self) -> Result<Option<Place>, Refusal> {
        let Some(text) = self.one("near") else { return Ok(None) };
        match degrees(text)[..] {
            [Some(lat), Some(lon)] if is_lat(lat) && is_lon(lon) => Ok(Some(Place { lat, lon })),
            _ => Err(bad("near", "expected lat,lon in degrees")),
        }
    }
}

/// A parameter that is not as expected.
pub(crate) fn bad(name: &'static str, reason: impl Into<Cow<'static, str>>) -> Refusal {
    Refusal::BadParameter { name, reason: reason.into() }
}

fn degrees(text: &str) -> Vec<Option<f64>> {
    text.split(',').map(|number| number.trim().parse().ok()).collect()
}

fn is_lon(degrees: f64) -> bool {
    (-180.0..=180.0).contains(&degrees)
}

fn is_lat(degrees: f64) -> bool {
    (-90.0..=90.0).contains(&degrees)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_repeat_and_are_decoded() {
        let parameters = Parameters::parse("channel=feed/a&x=1&channel=route%2Fb%2F4%252F1");
        assert_eq!(parameters.all("channel").collect::<Vec<_>>(), ["feed/a", "route/b/4%2F1"]);
    }

    #[test]
    fn a_word_outside_the_choice_is_refused_with_the_choice() {
        let parameters = Parameters::parse("state=good");
        let refusal = parameters.choice("state", [("ok", 1), ("late", 2)]);
        assert_eq!(refusal, Err(bad("state", "expected one of ok, late")));
    }

    #[test]
    fn a_long_search_is_refused() {
        let query = format!("q={}", "x".repeat(limits::SEARCH_CHARS_MAX + 1));
        assert!(Parameters::parse(&query).search("q").is_err());
        assert_eq!(Parameters::parse("q=central").search("q"), Ok(Some("central")));
    }
}

//! Query parameters: parsing and bounds, with refusals that name the parameter.

use std::borrow::Cow;
use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::request::Parts;
use lineside_model::BoundingBox;

use super::errors::Refusal;
use super::limits;

/// The query parameters of a request, in their order; names may repeat.
#[derive(Debug, Default)]
pub struct QueryParameters(Vec<(String, String)>);

impl<S: Sync> FromRequestParts<S> for QueryParameters {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self::parse_query(parts.uri.query().unwrap_or_default()))
    }
}

/// A position on the map in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MapCoordinates {
    pub lat: f64,
    pub lon: f64,
}

impl QueryParameters {
    /// Returns true if a request asks for the page for embedding.
    pub fn asks_for_embedded_page(&self) -> bool {
        self.find_value("embed").is_some_and(|embed| embed != "0")
    }

    pub fn parse_query(query: &str) -> Self {
        Self(url::form_urlencoded::parse(query.as_bytes()).into_owned().collect())
    }

    pub fn values_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the first value of a name; an empty value counts as none, because forms send it.
    pub fn find_value(&self, name: &str) -> Option<&str> {
        let value = self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim());
        value.filter(|value| !value.is_empty())
    }

    /// Returns all values of a name, case-insensitively.
    pub fn values_ignoring_case<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let fits = move |(key, _): &&(String, String)| key.eq_ignore_ascii_case(name);
        self.0.iter().filter(fits).map(|(_, value)| value.as_str())
    }

    /// Returns the first value of a name, case-insensitively; an empty value counts as none.
    pub fn find_value_ignoring_case(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    /// Returns a search text of at most [`limits::SEARCH_CHARS_MAX`] characters.
    pub fn parse_search_text(&self, name: &'static str) -> Result<Option<&str>, Refusal> {
        match self.find_value(name) {
            Some(text) if text.chars().count() > limits::SEARCH_CHARS_MAX => {
                let chars_max = limits::SEARCH_CHARS_MAX;
                Err(bad_parameter_refusal(name, format!("longer than {chars_max} characters")))
            }
            text => Ok(text),
        }
    }

    /// Parses a whole number from 0 to `parameter_max`.
    pub fn parse_number(
        &self,
        name: &'static str,
        parameter_max: usize,
    ) -> Result<Option<usize>, Refusal> {
        let Some(text) = self.find_value(name) else { return Ok(None) };
        let number = text.parse::<usize>().ok().filter(|number| *number <= parameter_max);
        number.map(Some).ok_or_else(|| {
            bad_parameter_refusal(name, format!("expected a number from 0 to {parameter_max}"))
        })
    }

    /// Parses a whole number from 1 to `parameter_max`.
    pub fn parse_positive_number(
        &self,
        name: &'static str,
        parameter_max: usize,
    ) -> Result<Option<usize>, Refusal> {
        match self.parse_number(name, parameter_max)? {
            Some(0) => Err(bad_parameter_refusal(
                name,
                format!("expected a number from 1 to {parameter_max}"),
            )),
            number => Ok(number),
        }
    }

    /// Parses one of a few words into its value.
    pub fn parse_choice<T: Copy>(
        &self,
        name: &'static str,
        choices: impl IntoIterator<Item = (&'static str, T)>,
    ) -> Result<Option<T>, Refusal> {
        let Some(text) = self.find_value(name) else { return Ok(None) };
        let mut choice_names = Vec::new();
        for (choice, value) in choices {
            if choice == text {
                return Ok(Some(value));
            }
            choice_names.push(choice);
        }
        Err(bad_parameter_refusal(name, format!("expected one of {}", choice_names.join(", "))))
    }

    /// Parses `bbox=min_lon,min_lat,max_lon,max_lat`.
    pub fn parse_bounding_box(&self) -> Result<Option<BoundingBox>, Refusal> {
        let Some(text) = self.find_value("bbox") else { return Ok(None) };
        let expected = "expected min_lon,min_lat,max_lon,max_lat in degrees";
        BoundingBox::parse(text).map(Some).ok_or_else(|| bad_parameter_refusal("bbox", expected))
    }

    /// Parses `near=lat,lon`.
    pub fn parse_near_position(&self) -> Result<Option<MapCoordinates>, Refusal> {
        let Some(text) = self.find_value("near") else { return Ok(None) };
        match parse_comma_separated_numbers(text)[..] {
            [Some(lat), Some(lon)] if is_latitude(lat) && is_longitude(lon) => {
                Ok(Some(MapCoordinates { lat, lon }))
            }
            _ => Err(bad_parameter_refusal("near", "expected lat,lon in degrees")),
        }
    }
}

/// Builds the refusal of an invalid parameter.
pub fn bad_parameter_refusal(name: &'static str, reason: impl Into<Cow<'static, str>>) -> Refusal {
    Refusal::BadParameter { name, reason: reason.into() }
}

fn parse_comma_separated_numbers(text: &str) -> Vec<Option<f64>> {
    text.split(',').map(|number| number.trim().parse().ok()).collect()
}

fn is_longitude(degrees: f64) -> bool {
    (-180.0..=180.0).contains(&degrees)
}

fn is_latitude(degrees: f64) -> bool {
    (-90.0..=90.0).contains(&degrees)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_repeat_and_are_decoded() {
        let parameters =
            QueryParameters::parse_query("channel=feed/a&x=1&channel=route%2Fb%2F4%252F1");
        assert_eq!(
            parameters.values_of("channel").collect::<Vec<_>>(),
            ["feed/a", "route/b/4%2F1"]
        );
    }

    #[test]
    fn an_invalid_choice_is_refused_with_the_valid_ones() {
        let parameters = QueryParameters::parse_query("state=good");
        let refusal = parameters.parse_choice("state", [("ok", 1), ("late", 2)]);
        assert_eq!(refusal, Err(bad_parameter_refusal("state", "expected one of ok, late")));
    }

    #[test]
    fn a_long_search_is_refused() {
        let query = format!("q={}", "x".repeat(limits::SEARCH_CHARS_MAX + 1));
        assert!(QueryParameters::parse_query(&query).parse_search_text("q").is_err());
        assert_eq!(
            QueryParameters::parse_query("q=central").parse_search_text("q"),
            Ok(Some("central"))
        );
    }
}

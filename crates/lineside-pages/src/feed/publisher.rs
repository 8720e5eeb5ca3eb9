//! The publisher, licence and contact of a feed, with links if they are addresses.

use maud::{Markup, html};

use super::super::words;
use super::FeedView;

/// Agencies whose names the page shows.
const AGENCIES_SHOWN_MAX: usize = 5;

/// Licences of open data and the addresses of their texts, by the beginning of their SPDX name, in lower case without
/// punctuation.
const LICENCES: [(&str, &str); 12] = [
    ("ccby40", "https://creativecommons.org/licenses/by/4.0/"),
    ("ccby30", "https://creativecommons.org/licenses/by/3.0/"),
    ("ccbysa40", "https://creativecommons.org/licenses/by-sa/4.0/"),
    ("ccbysa30", "https://creativecommons.org/licenses/by-sa/3.0/"),
    ("cc0", "https://creativecommons.org/publicdomain/zero/1.0/"),
    ("cc010", "https://creativecommons.org/publicdomain/zero/1.0/"),
    ("odbl10", "https://opendatacommons.org/licenses/odbl/1-0/"),
    ("odcby10", "https://opendatacommons.org/licenses/by/1-0/"),
    ("pddl10", "https://opendatacommons.org/licenses/pddl/1-0/"),
    ("etalab20", "https://www.etalab.gouv.fr/licence-ouverte-open-licence/"),
    ("nlod20", "https://data.norge.no/nlod/en/2.0/"),
    ("oglukv3", "https://www.nationalarchives.gov.uk/doc/open-government-licence/version/3/"),
];

impl FeedView {
    /// Renders the card with publisher and licence.
    pub(super) fn render_publisher(&self) -> Markup {
        let config = self.feed.config();
        // A real-time feed's timetable names the publisher of both.
        let timetable = self.timetable.clone().or_else(|| self.network.timetable());
        let info = timetable.as_ref().and_then(|timetable| timetable.feed_info());
        let name = config.publisher.as_deref().or(info.map(|info| &*info.publisher_name));
        let email = info.and_then(|info| info.contact_email.as_deref());
        let contact = info.and_then(|info| info.contact_url.as_deref());
        let own = self.timetable.as_ref();
        html! {
            section.card #publisher aria-labelledby="publisher-title" {
                h2 #publisher-title { "Publisher and licence" }
                dl.facts.card-body {
                    dt { "Publisher" } dd { (render_text_or_link(name.unwrap_or("unknown"), info.map(|info| &*info.publisher_url))) }
                    @if let Some(timetable) = own {
                        @let n = timetable.agencies().len();
                        @if n > 0 {
                            dt { "Agencies" } dd {
                                @for (at, agency) in timetable.agencies().take(AGENCIES_SHOWN_MAX).enumerate() { @if at > 0 { ", " } (agency.name) }
                                @if n > AGENCIES_SHOWN_MAX { " and " (words::format_number((n - AGENCIES_SHOWN_MAX) as u64)) " more" }
                            }
                        }
                    }
                    dt { "Licence" } dd { (render_licence(config.licence.as_deref())) }
                    @if email.is_some() || contact.is_some() {
                        dt { "Contact" } dd {
                            @if let Some(email) = email { (render_mail_link(email)) }
                            @if email.is_some() && contact.is_some() { ", " }
                            @if let Some(contact) = contact { (render_text_or_link(without_scheme(contact), Some(contact))) }
                        }
                    }
                    dt { "Source" } dd.mono { (render_source_link(&config.url.publishable_name())) }
                    dt { "Feed id" } dd.mono { (config.id) }
                    (self.render_secret_names())
                }
            }
        }
    }

    /// Renders the names of the secrets that are sent to the source; never their values.
    fn render_secret_names(&self) -> Markup {
        let config = self.feed.config();
        let pairs = config.headers.iter().chain(&config.query).map(|(name, _)| name.as_str());
        let basic = config.basic.as_ref().map(|_| "user and password");
        let oauth2 = config.oauth2.as_ref().map(|_| "OAuth2 token");
        let names: Vec<&str> = pairs.chain(basic).chain(oauth2).collect();
        html! { @if !names.is_empty() { dt { "Sent along" } dd { (names.join(", ")) span.soft { " (values hidden)" } } } }
    }
}

/// Returns true if a text is a web address that a page may link to.
fn is_http_url(text: &str) -> bool {
    let is_http = text.starts_with("https://") || text.starts_with("http://");
    is_http && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

/// Renders a text, as a link if its address is a web address.
fn render_text_or_link(text: &str, address: Option<&str>) -> Markup {
    html! {
        @match address.filter(|address| is_http_url(address)) {
            Some(address) => a rel="noopener nofollow" href=(address) { (text) },
            None => (text),
        }
    }
}

/// Returns a web address as readers know it: without its scheme and final slash.
fn without_scheme(address: &str) -> &str {
    let bare = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"));
    bare.map_or(address, |bare| bare.trim_end_matches('/'))
}

/// Renders the source's address; as plain text if it contains a hidden key.
fn render_source_link(address: &str) -> Markup {
    render_text_or_link(address, Some(address).filter(|address| !address.contains("***")))
}

fn render_mail_link(address: &str) -> Markup {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+' | '@');
    let is_address = address.split('@').count() == 2 && address.chars().all(is_plain);
    html! { @if is_address { a href=(format!("mailto:{address}")) { (address) } } @else { (address) } }
}

/// Renders a licence with a link to its text, if its name or address is known.
fn render_licence(name: Option<&str>) -> Markup {
    let Some(name) = name else { return html! { span.soft { "unknown" } } };
    render_text_or_link(name, licence_url(name))
}

fn licence_url(name: &str) -> Option<&str> {
    if is_http_url(name) {
        return Some(name);
    }
    let key: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    LICENCES.iter().find(|(known, _)| *known == key).map(|(_, address)| *address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_licences_link_to_their_text_and_scripts_are_never_linked() {
        let cc = "https://creativecommons.org/licenses/by/4.0/";
        assert_eq!(licence_url("CC-BY-4.0"), Some(cc));
        assert_eq!(licence_url("CC BY 4.0"), Some(cc));
        assert_eq!(licence_url("https://example.org/licence"), Some("https://example.org/licence"));
        assert_eq!(licence_url("ask us"), None);
        assert_eq!(licence_url("javascript:alert(1)"), None);
        assert!(
            !render_text_or_link("x", Some("javascript:alert(1)")).into_string().contains("href")
        );
        assert!(render_mail_link("a@example.org").into_string().contains("mailto:a@example.org"));
        assert!(!render_mail_link("a@example.org?cc=b").into_string().contains("mailto"));
    }
}

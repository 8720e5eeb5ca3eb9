//! The notice about a completed action: the redirect names the action in the address, and the next page shows it.

use lineside_http::QueryParameters;
use lineside_model::FeedId;
use maud::{Markup, html};
use serde_json::{Map, Value};
use url::Url;

use crate::login;

/// An action that an admin has completed on a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CompletedAction {
    Poll,
    Pause,
    Resume,
    Apply,
    Add,
    Remove,
    Revert,
    Undo,
}

/// The placeholder of the feed's id in a sentence.
const ID: &str = "{}";

impl CompletedAction {
    pub(super) const ALL: [Self; 8] = [
        Self::Poll,
        Self::Pause,
        Self::Resume,
        Self::Apply,
        Self::Add,
        Self::Remove,
        Self::Revert,
        Self::Undo,
    ];
    /// Actions from the list that stay on the list.
    const IN_THE_LIST: [Self; 3] = [Self::Poll, Self::Pause, Self::Resume];

    /// Returns the action's name in addresses.
    pub(super) fn query_value(self) -> &'static str {
        match self {
            Self::Poll => "poll",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Apply => "apply",
            Self::Add => "add",
            Self::Remove => "remove",
            Self::Revert => "revert",
            Self::Undo => "undo",
        }
    }

    fn notice_text(self) -> &'static str {
        match self {
            Self::Poll => "Polling {} now.",
            Self::Pause => "{} is paused. Its last data stays available.",
            Self::Resume => "{} is polled again.",
            Self::Apply => "{} is changed.",
            Self::Add => "{} is added.",
            Self::Remove => "{} is removed. You can undo this in the history.",
            Self::Revert => "{} is reset to the configuration file.",
            Self::Undo => "The change to {} is undone.",
        }
    }

    /// Returns the sentences for the actions of the list, for the page's script.
    pub(super) fn list_notice_texts() -> Map<String, Value> {
        let sentence =
            |done: Self| (done.query_value().to_owned(), Value::from(done.notice_text()));
        Self::IN_THE_LIST.into_iter().map(sentence).collect()
    }

    /// Returns the address `next` with the parameters that make the page show the notice. `next` is an address of this
    /// server.
    pub(super) fn url_with_notice(self, next: &str, id: &FeedId) -> String {
        let base = Url::parse("http://lineside.invalid/").expect("a constant that is a URL");
        // `sanitize_redirect_target` replaces addresses of other servers.
        let Ok(mut url) = base.join(&login::sanitize_redirect_target(Some(next))) else {
            return next.to_owned();
        };
        let is_notice_parameter = |name: &str| name == "done" || name == "feed";
        let others = url.query_pairs().into_owned().filter(|(name, _)| !is_notice_parameter(name));
        let others: Vec<(String, String)> = others.collect();
        let pairs = [("done", self.query_value()), ("feed", id.as_str())];
        url.query_pairs_mut().clear().extend_pairs(others).extend_pairs(pairs);
        url[url::Position::BeforePath..].to_owned()
    }
}

/// Renders the notice from the address; the page's script fills it too.
pub(super) fn render_action_notice(parameters: &QueryParameters) -> Markup {
    let word = parameters.find_value("done");
    let done = CompletedAction::ALL.into_iter().find(|done| Some(done.query_value()) == word);
    let id = parameters.find_value("feed").and_then(|id| FeedId::new(id).ok());
    let sentence = done.zip(id).map(|(done, id)| done.notice_text().replace(ID, id.as_str()));
    html! {
        p.said #said role="status" aria-live="polite" { (sentence.unwrap_or_default()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_confirms_the_action() {
        let id = FeedId::new("city").unwrap();
        let next = CompletedAction::Pause
            .url_with_notice("/ops?sort=-lag&done=poll&feed=other#feed-city", &id);
        assert_eq!(next, "/ops?sort=-lag&done=pause&feed=city#feed-city");
        let notice =
            render_action_notice(&QueryParameters::parse_query("sort=-lag&done=pause&feed=city"))
                .into_string();
        assert!(notice.contains("city is paused"), "{notice}");
    }

    #[test]
    fn a_forged_address_shows_no_notice() {
        for query in ["done=x&feed=city", "done=pause&feed=a+b", "feed=city", "done=pause"] {
            let notice = render_action_notice(&QueryParameters::parse_query(query)).into_string();
            assert!(notice.ends_with("\"polite\"></p>"), "{query}: {notice}");
        }
        let id = FeedId::new("city").unwrap();
        for foreign_url in ["//example.org/", "https://example.org/", "/login"] {
            assert_eq!(
                CompletedAction::Poll.url_with_notice(foreign_url, &id),
                "/ops?done=poll&feed=city"
            );
        }
    }
}

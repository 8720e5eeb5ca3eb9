//! Grouping of feeds by credential: a producer counts feeds with the same credential as one client.

use std::collections::HashMap;

use crate::{feed_config::FeedConfig, source::SourceLocation};

/// Headers that describe the request, not the client.
const NO_CREDENTIALS: [&str; 8] = [
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "content-type",
    "et-client-name",
    "referer",
    "user-agent",
];

/// Returns the possible credentials of a feed as secret pairs of name and value.
fn list_possible_credentials(feed: &FeedConfig) -> Vec<(String, String)> {
    let headers = feed.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
    let headers = headers.filter(|(name, _)| !NO_CREDENTIALS.contains(&name.as_str()));
    let query = feed.query.iter().map(|(name, value)| (format!("?{name}"), value));
    let mut marks: Vec<(String, String)> =
        headers.chain(query).map(|(name, value)| (name, value.reveal().to_owned())).collect();
    if let Some(basic) = &feed.basic {
        marks.push(("@".to_owned(), format!("{}:{}", basic.user, basic.password.reveal())));
    }
    if let Some(oauth2) = &feed.oauth2 {
        marks.push((oauth2.token_url.to_string(), oauth2.client_id.clone()));
    }
    if let SourceLocation::Http(url) = &feed.url {
        if !url.username().is_empty() || url.password().is_some() {
            marks.push((
                "@".to_owned(),
                format!("{}:{}", url.username(), url.password().unwrap_or("")),
            ));
        }
        let keys =
            url.query_pairs().filter(|(name, _)| SourceLocation::is_secret_query_parameter(name));
        marks.extend(keys.map(|(name, value)| (format!("?{name}"), value.into_owned())));
    }
    marks
}

/// Groups feeds that share a credential, also indirectly; those without one form a group too.
pub(super) fn group_by_credential<'a>(feeds: &[&'a FeedConfig]) -> Vec<Vec<&'a FeedConfig>> {
    let mut groups: Vec<Vec<&FeedConfig>> = Vec::new();
    let mut group_by_mark: HashMap<(String, String), usize> = HashMap::new();
    for feed in feeds {
        let mut marks = list_possible_credentials(feed);
        if marks.is_empty() {
            marks.push(Default::default());
        }
        let mut known: Vec<usize> =
            marks.iter().filter_map(|mark| group_by_mark.get(mark).copied()).collect();
        known.sort_unstable();
        known.dedup();
        let into = known.first().copied().unwrap_or(groups.len());
        if into == groups.len() {
            groups.push(Vec::new());
        }
        for other in known.into_iter().skip(1) {
            let moved = std::mem::take(&mut groups[other]);
            groups[into].extend(moved);
            group_by_mark
                .values_mut()
                .filter(|group| **group == other)
                .for_each(|group| *group = into);
        }
        groups[into].push(feed);
        group_by_mark.extend(marks.into_iter().map(|mark| (mark, into)));
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// Returns true if the feed has no credential.
pub(super) fn has_no_credential(feed: &FeedConfig) -> bool {
    list_possible_credentials(feed).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed_id::FeedId;
    use crate::source::Secret;

    type Pairs = [(&'static str, &'static str)];

    fn feed(id: &str, url: &str, headers: &Pairs, query: &Pairs) -> FeedConfig {
        let mut feed =
            FeedConfig::new(FeedId::new(id).unwrap(), SourceLocation::parse(url).unwrap());
        let pairs = |pairs: &Pairs| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), Secret::new(*value))).collect()
        };
        (feed.headers, feed.query) = (pairs(headers), pairs(query));
        feed
    }

    #[track_caller]
    fn check(feeds: &[FeedConfig], expect: &[&[&str]]) {
        let feeds: Vec<&FeedConfig> = feeds.iter().collect();
        let mut found: Vec<Vec<&str>> = group_by_credential(&feeds)
            .into_iter()
            .map(|group| group.into_iter().map(|feed| feed.id.as_str()).collect())
            .collect();
        found.iter_mut().for_each(|group| group.sort_unstable());
        assert_eq!(found, expect);
    }

    #[test]
    fn feeds_with_the_same_credentials_share_a_group() {
        let url = "https://a.example/x";
        check(
            &[
                feed("a", url, &[("X-Key", "one")], &[]),
                feed("b", url, &[("x-key", "two")], &[("line", "4")]),
                feed("c", url, &[("x-key", "one"), ("accept", "text/xml")], &[]),
                feed("d", url, &[("accept", "text/xml")], &[]),
                feed("e", url, &[], &[]),
            ],
            &[&["a", "c"], &["b"], &["d", "e"]],
        );
    }

    #[test]
    fn a_feed_with_two_credentials_merges_two_groups() {
        let url = "https://a.example/x";
        check(
            &[
                feed("a", url, &[("x-key", "one")], &[]),
                feed("b", url, &[], &[("key", "two")]),
                feed("c", url, &[("x-key", "one")], &[("key", "two")]),
                feed("d", "https://a.example/y?key=two", &[], &[]),
            ],
            &[&["a", "b", "c", "d"]],
        );
    }

    #[test]
    fn a_user_in_the_url_is_a_credential() {
        check(
            &[
                feed("a", "https://me:pw@a.example/x", &[], &[]),
                feed("b", "https://me:pw@a.example/y", &[], &[]),
                feed("c", "https://you:pw@a.example/y", &[], &[]),
            ],
            &[&["a", "b"], &["c"]],
        );
    }
}

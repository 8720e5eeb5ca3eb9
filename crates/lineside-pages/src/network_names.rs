//! The names of networks.

use lineside_http::app::App;
use lineside_ingest::Network;

/// Returns the text before ": " if all names begin with the same text.
pub(super) fn common_prefix(names: &[String]) -> Option<&str> {
    let (prefix, _) = names.first()?.split_once(": ")?;
    let is_shared = |name: &String| name.split_once(": ").is_some_and(|(own, _)| own == prefix);
    (names.len() > 1 && names.iter().all(is_shared)).then_some(prefix)
}

/// Returns the network's name: the common part before a colon in the configured names of its feeds, or the name of its
/// schedule, or the schedule's only agency, or its id.
pub(super) fn network_name(app: &App, network: &Network) -> String {
    if let Some(shared) = shared_feed_name_prefix(network) {
        return shared;
    }
    let id = network.id().as_str();
    let schedule = app.ingest().find_feed(id);
    let configured = schedule.and_then(|feed| feed.config().name.clone());
    configured.or_else(|| only_agency_name(network)).unwrap_or_else(|| id.to_owned())
}

pub(super) fn only_agency_name(network: &Network) -> Option<String> {
    let timetable = network.timetable()?;
    let mut agencies = timetable.agencies();
    let first = agencies.next().filter(|agency| !agency.name.is_empty())?;
    agencies.next().is_none().then(|| first.name.to_owned())
}

/// Returns the common part before a colon in the configured names of a network's feeds.
pub(super) fn shared_feed_name_prefix(network: &Network) -> Option<String> {
    let names: Vec<String> =
        network.feeds().iter().filter_map(|feed| feed.config().name.clone()).collect();
    common_prefix(&names).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feeds_of_one_network_share_the_name_before_the_colon() {
        let names = |all: &[&str]| all.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let shared = names(&["Lindhaven: timetable", "Lindhaven: alerts"]);
        assert_eq!(common_prefix(&shared), Some("Lindhaven"));
        assert_eq!(common_prefix(&names(&["Lindhaven: timetable"])), None);
        assert_eq!(common_prefix(&names(&["North: timetable", "South: alerts"])), None);
        assert_eq!(common_prefix(&names(&["North", "North: alerts"])), None);
        assert_eq!(common_prefix(&[]), None);
    }
}

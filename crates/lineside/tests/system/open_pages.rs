//! The channels that open pages follow, and their content.

use lineside_testkit::WAIT_MAX;
use serde_json::Value;

use crate::support::events::{ReceivedByChannel, Stream};
use crate::support::timetable::{Lines, message, now};
use crate::support::town::Town;

/// Returns the channels that the data of a page name.
fn channels(page: &str) -> Vec<String> {
    let islands = page.split("<script type=\"application/json\" id=\"").skip(1);
    let data = islands.filter_map(|rest| {
        let (_, rest) = rest.split_once('>')?;
        let (json, _) = rest.split_once("</script>")?;
        serde_json::from_str::<Value>(json).ok()
    });
    let names = data.flat_map(|data| {
        let several = data["channels"].as_array().cloned().unwrap_or_default();
        several.into_iter().chain([data["channel"].clone()])
    });
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

fn on_time(lines: Lines) -> Vec<u8> {
    message(now(), vec![lines.behind("a1", 0)])
}

#[tokio::test]
async fn the_channels_of_a_page_exist_and_carry_the_states_it_shows() {
    let town = Town::start_town(["", ""], on_time).await;
    for (path, feeds) in [
        ("/", &["town", "town-trips"][..]),
        ("/feeds/town", &["town"]),
        ("/feeds/town-trips", &["town-trips"]),
        ("/stops/town/S", &["town", "town-trips"]),
        ("/routes/town/A", &["town", "town-trips"]),
        ("/trips/town/a1", &["town-trips"]),
        ("/alerts/town", &["town", "town-trips"]),
    ] {
        let names = channels(&town.page(path).await);
        assert!(!names.is_empty(), "{path} names no channel");
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for name in &names {
            query.append_pair("channel", name);
        }
        // `open` asserts the status: a single unknown channel would refuse all.
        let mut stream = Stream::open(&town.url(""), &query.finish()).await;
        let mut received_by_channel = ReceivedByChannel::default();
        let has_feed = |received_by_channel: &ReceivedByChannel, feed: &str| {
            let mut records = received_by_channel
                .0
                .values()
                .flat_map(|channel_state| channel_state.records.keys());
            records.any(|(record_feed, kind, _)| record_feed == feed && kind == "feed")
        };
        while !feeds.iter().all(|feed| has_feed(&received_by_channel, feed)) {
            let event = stream.next_within(WAIT_MAX).await;
            received_by_channel.apply(
                &event.unwrap_or_else(|| panic!("{path}: {names:?} do not tell all states")),
            );
        }
    }
}

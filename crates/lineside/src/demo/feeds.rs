//! The configuration of the city's feeds.

use std::sync::Arc;
use std::time::Duration;

use lineside_formats::Format;
use lineside_model::{FeedConfig, SiriMode, SiriService, SiriSourceSettings, SourceLocation};
use lineside_sim::{CityFeed, SiriFeedKind};

use super::{DemoCity, DemoSiriMode};

/// Poll interval of the city's feeds.
const POLL: Duration = Duration::from_secs(2);
/// Describes the city's unusual place in time.
const DESCRIPTION: &str =
    "A simulated city that starts at about 07:30 with a working day's timetable.";
/// The feeds of every demo, with their descriptions.
const CITY: [(CityFeed, &str); 5] = [
    (CityFeed::City, "schedule"),
    (CityFeed::Vehicles, "vehicle positions"),
    (CityFeed::Trips, "trip updates"),
    (CityFeed::Alerts, "alerts"),
    (CityFeed::Bikes, "bikes"),
];
/// The feeds with the same data in SIRI.
const TWIN: [(CityFeed, &str); 4] = [
    (CityFeed::Twin, "schedule of the twin"),
    (CityFeed::TwinTimetables, "estimated timetables (SIRI)"),
    (CityFeed::TwinVehicles, "vehicle monitoring (SIRI)"),
    (CityFeed::TwinSituations, "situations (SIRI)"),
];

/// Returns the feeds of a demo.
pub(crate) fn list_demo_feeds(siri: Option<DemoSiriMode>) -> Vec<CityFeed> {
    demo_feeds_with_names(siri).map(|(feed, _)| feed).collect()
}

fn demo_feeds_with_names(
    siri: Option<DemoSiriMode>,
) -> impl Iterator<Item = (CityFeed, &'static str)> {
    let twin = TWIN.into_iter().filter(move |_| siri.is_some());
    CITY.into_iter().chain(twin)
}

impl DemoCity {
    /// Returns the feeds of this demo's city.
    pub(crate) fn list_city_feeds(&self) -> Vec<CityFeed> {
        list_demo_feeds(self.siri)
    }

    /// Returns the configurations of this demo's feeds.
    pub(crate) fn city_feed_configs(&self) -> Vec<FeedConfig> {
        demo_feeds_with_names(self.siri).map(|(feed, what)| self.feed_config(feed, what)).collect()
    }

    fn feed_config(&self, feed: CityFeed, what: &str) -> FeedConfig {
        let id = |feed: CityFeed| {
            lineside_model::FeedId::new(feed.as_str()).expect("the city's feeds have valid ids")
        };
        let url = format!("http://{}/{}", self.address, feed.file_name());
        let url = SourceLocation::parse(&url).expect("the address of the city's server is valid");
        let city = self.origin.city().city_name();
        let mut config = FeedConfig::new(id(feed), url);
        config.name = Some(format!("{city}: {what}"));
        config.publisher = Some(format!("{city} Transit (simulated)"));
        config.licence = Some("CC0-1.0".to_owned());
        config.theme = Some(if feed == CityFeed::Bikes { "bike" } else { "multimodal" }.to_owned());
        config.description = Some(DESCRIPTION.to_owned());
        config.static_feed = schedule_of_feed(feed).map(id);
        // GBFS files have a `ttl` and need no interval; but only a configured format makes the server poll each file.
        config.poll = Some(POLL).filter(|_| feed != CityFeed::Bikes);
        config.format = (feed == CityFeed::Bikes).then_some(Format::Gbfs);
        config.siri = feed.siri_service().map(|service| Arc::new(self.siri_source(service)));
        config
    }

    fn siri_source(&self, service: SiriFeedKind) -> SiriSourceSettings {
        let service = match service {
            SiriFeedKind::Timetables => SiriService::Timetables,
            SiriFeedKind::Vehicles => SiriService::Vehicles,
            SiriFeedKind::Situations => SiriService::Situations,
        };
        let mode = match self.siri {
            Some(DemoSiriMode::Subscribe) => SiriMode::Subscribe,
            _ => SiriMode::Request,
        };
        SiriSourceSettings { services: vec![service], mode, ..SiriSourceSettings::default() }
    }
}

/// Returns the schedule that a feed belongs to.
fn schedule_of_feed(feed: CityFeed) -> Option<CityFeed> {
    match feed {
        CityFeed::Vehicles | CityFeed::Trips | CityFeed::Alerts => Some(CityFeed::City),
        CityFeed::TwinTimetables | CityFeed::TwinVehicles | CityFeed::TwinSituations => {
            Some(CityFeed::Twin)
        }
        CityFeed::City | CityFeed::Twin | CityFeed::Bikes => None,
    }
}

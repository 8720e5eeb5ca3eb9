//! The city's feeds as an operator would configure them.

use std::sync::Arc;
use std::time::Duration;

use lineside_formats::Format;
use lineside_ingest::{FeedConfig, Location, SiriMode, SiriService, SiriSource};
use lineside_sim::{FeedId, Service};

use super::{Asking, Demo};

/// How often the server asks the city.
const POLL: Duration = Duration::from_secs(2);
/// The feeds that are always there, and what they are called.
const CITY: [(FeedId, &str); 5] = [
    (FeedId::City, "schedule"),
    (FeedId::Vehicles, "vehicle positions"),
    (FeedId::Trips, "trip updates"),
    (FeedId::Alerts, "alerts"),
    (FeedId::Bikes, "bikes"),
];
/// Those that tell the same in SIRI.
const TWIN: [(FeedId, &str); 4] = [
    (FeedId::Twin, "schedule of the twin"),
    (FeedId::TwinTimetables, "estimated timetables (SIRI)"),
    (FeedId::TwinVehicles, "vehicle monitoring (SIRI)"),
    (FeedId::TwinSituations, "situations (SIRI)"),
];

/// The feeds of a demo.
pub(super) fn served(siri: Option<Asking>) -> Vec<FeedId> {
    named(siri).map(|(feed, _)| feed).collect()
}

fn named(siri: Option<Asking>) -> impl Iterator<Item = (FeedId, &'static str)> {
    let twin = TWIN.into_iter().filter(move |_| siri.is_some());
    CITY.into_iter().chain(twin)
}

impl Demo {
    /// The feeds that its city has.
    pub(super) fn served(&self) -> Vec<FeedId> {
        served(self.siri)
    }

    /// Those as configured.
    pub(super) fn feeds(&self) -> Vec<FeedConfig> {
        named(self.siri).map(|(feed, what)| self.feed(feed, what)).collect()
    }

    fn feed(&self, feed: FeedId, what: &str) -> FeedConfig {
        let id = |feed: FeedId| {
            lineside_ingest::FeedId::new(feed.as_str()).expect("the city's feeds have plain names")
        };
        let url = format!("http://{}/{}", self.address, feed.file_name());
        let url = Location::parse(&url).expect("an address of this machine is an address");
        let city = self.origin.city().name();
        let mut config = FeedConfig::new(id(feed), url);
        config.name = Some(format!("{city}: {what}"));
        config.publisher = Some(format!("{city} Transit (simulated)"));
        config.licence = Some("CC0-1.0".to_owned());
        config.theme = Some("city".to_owned());
        config.static_feed = network_of(feed).map(id);
        // Bikes say themselves how long their files hold, and are asked file by file only where that is configured.
        config.poll = Some(POLL).filter(|_| feed != FeedId::Bikes);
        config.format = (feed == FeedId::Bikes).then_some(Format::Gbfs);
        config.siri = feed.service().map(|service| Arc::new(self.source(service)));
        config
    }

    fn source(&self, service: Service) -> SiriSource {
        let service = match service {
            Service::Timetables => SiriService::Timetables,
            Service::Vehicles => SiriService::Vehicles,
            Service::Situations => SiriService::Situations,
        };
        let mode = match self.siri {
            Some(Asking::Subscribe) => SiriMode::Subscribe,
            _ => SiriMode::Request,
        };
        SiriSource { services: vec![service], mode, ..SiriSource::default() }
    }
}

/// The schedule that a feed belongs to.
fn network_of(feed: FeedId) -> Option<FeedId> {
    match feed {
        FeedId::Vehicles | FeedId::Trips | FeedId::Alerts => Some(FeedId::City),
        FeedId::TwinTimetables | FeedId::TwinVehicles | FeedId::TwinSituations => {
            Some(FeedId::Twin)
        }
        FeedId::City | FeedId::Twin | FeedId::Bikes => None,
    }
}

//! A look at one delivery: whose it is, and what is said of it.

use std::collections::HashSet;

use jiff::Timestamp;
use lineside_formats::siri::{Location, Time, Unread};

use super::kinds;
use crate::{
    notice::{Kind, Notices, Sample},
    rules::patience::Patience,
};

/// How far clocks may be apart, in milliseconds.
const AHEAD_MAX_MS: i64 = 300_000;

/// A delivery as it is looked at.
pub(super) struct Look<'a> {
    pub(super) delivery: &'static str,
    /// When it was made, in milliseconds since 1970.
    pub(super) made: Option<i64>,
    pub(super) out: &'a mut Notices,
    patience: &'a Patience<'a>,
    seen: HashSet<String>,
}

impl<'a> Look<'a> {
    pub(super) fn new(
        delivery: &'static str,
        made: Option<Time>,
        patience: &'a Patience<'a>,
        out: &'a mut Notices,
    ) -> Look<'a> {
        Look { delivery, made: made.map(Time::as_millis), out, patience, seen: HashSet::new() }
    }

    /// The records of a list that there is time for.
    pub(super) fn some_of<'b, T>(
        &self,
        all: &'b [T],
    ) -> impl Iterator<Item = &'b T> + use<'a, 'b, T> {
        let patience = self.patience;
        all.iter().take_while(move |_| patience.lasts())
    }

    /// Says something of what has this name.
    pub(super) fn say(
        &mut self,
        kind: &'static Kind,
        id: Option<&str>,
        fill: impl FnOnce(&mut Sample),
    ) {
        let delivery = self.delivery;
        self.out.add(kind, |sample| {
            sample.put("delivery", delivery).put("id", id);
            fill(sample);
        });
    }

    /// Says that an element is missing unless it is there. What cannot be read of it is `unread`: that is told as such.
    pub(super) fn ask(&mut self, is_there: bool, unread: &Unread, id: Option<&str>, element: &str) {
        if !is_there && !unread.has(element) {
            self.missing(id, element);
        }
    }

    /// Says that an element is missing.
    pub(super) fn missing(&mut self, id: Option<&str>, element: &str) {
        self.say(&kinds::MISSING, id, |sample| _ = sample.put("element", element));
    }

    /// Whether a name comes for the first time in this delivery.
    pub(super) fn is_first(&mut self, name: String) -> bool {
        self.seen.insert(name)
    }

    /// Says that of a time that lies after the one at which the delivery was made.
    pub(super) fn not_in_future(&mut self, at: Option<Time>, id: Option<&str>, element: &str) {
        if let (Some(at), Some(made)) = (at.map(Time::as_millis), self.made)
            && at > made.saturating_add(AHEAD_MAX_MS)
        {
            self.say(&kinds::IN_FUTURE, id, |sample| {
                sample.put("element", element).put("time", text(at)).put("before", text(made));
            });
        }
    }

    /// Says that of news that held no longer when they were sent.
    pub(super) fn not_expired(&mut self, until: Option<Time>, id: Option<&str>, element: &str) {
        if let (Some(until), Some(made)) = (until.map(Time::as_millis), self.made)
            && until < made
        {
            self.say(&kinds::EXPIRED, id, |sample| {
                sample.put("element", element).put("time", text(until)).put("before", text(made));
            });
        }
    }

    /// Looks at a place on Earth.
    pub(super) fn location(&mut self, location: &Location, id: Option<&str>) {
        let (Some(longitude), Some(latitude)) = (location.longitude, location.latitude) else {
            return;
        };
        let kind = if longitude.abs() > 180.0 || latitude.abs() > 90.0 {
            &kinds::OUT_OF_RANGE
        } else if longitude.abs() < 1.0 && latitude.abs() < 1.0 {
            &kinds::NEAR_ORIGIN
        } else {
            return;
        };
        self.say(kind, id, |sample| {
            sample.put("longitude", longitude).put("latitude", latitude);
        });
    }
}

/// A time as reports write it.
pub(super) fn text(millis: i64) -> String {
    Timestamp::from_millisecond(millis).map(|at| at.to_string()).unwrap_or_default()
}

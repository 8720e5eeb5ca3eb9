//! The check of one delivery, and the notices about it.

use std::collections::HashSet;

use jiff::Timestamp;
use lineside_formats::siri::{Location, SiriTime, UnreadableElements};

use super::kinds;
use crate::{
    notice::{NoticeKind, NoticeSample, Notices},
    rules::time_limit::CallbackTimeLimit,
};

/// The largest accepted lead of a time over the delivery's own, in milliseconds.
const AHEAD_MAX_MS: i64 = 300_000;

/// The state of a check of a delivery.
pub(super) struct SiriDeliveryCheck<'a> {
    pub(super) delivery: &'static str,
    /// The creation time of the delivery, in milliseconds since 1970.
    pub(super) created_at: Option<i64>,
    pub(super) out: &'a mut Notices,
    time_limit: &'a CallbackTimeLimit<'a>,
    seen: HashSet<String>,
}

impl<'a> SiriDeliveryCheck<'a> {
    pub(super) fn new(
        delivery: &'static str,
        created_at: Option<SiriTime>,
        time_limit: &'a CallbackTimeLimit<'a>,
        out: &'a mut Notices,
    ) -> SiriDeliveryCheck<'a> {
        SiriDeliveryCheck {
            delivery,
            created_at: created_at.map(SiriTime::as_millis),
            out,
            time_limit,
            seen: HashSet::new(),
        }
    }

    /// Returns the records of a list while there is time.
    pub(super) fn records_within_time_limit<'b, T>(
        &self,
        all: &'b [T],
    ) -> impl Iterator<Item = &'b T> + use<'a, 'b, T> {
        let time_limit = self.time_limit;
        all.iter().take_while(move |_| time_limit.has_time_for_record())
    }

    /// Reports a notice about the record with this id.
    pub(super) fn report_record_notice(
        &mut self,
        kind: &'static NoticeKind,
        id: Option<&str>,
        fill: impl FnOnce(&mut NoticeSample),
    ) {
        let delivery = self.delivery;
        self.out.count_notice_with_sample(kind, |sample| {
            sample.set_field("delivery", delivery).set_field("id", id);
            fill(sample);
        });
    }

    /// Reports a missing element, unless it is in `unread`: the decoder reports unreadable elements.
    pub(super) fn report_element_unless_present(
        &mut self,
        is_there: bool,
        unread: &UnreadableElements,
        id: Option<&str>,
        element: &str,
    ) {
        if !is_there && !unread.has_unreadable_element(element) {
            self.report_missing_element(id, element);
        }
    }

    pub(super) fn report_missing_element(&mut self, id: Option<&str>, element: &str) {
        self.report_record_notice(&kinds::MISSING, id, |sample| {
            _ = sample.set_field("element", element)
        });
    }

    /// Returns true if a name occurs for the first time in this delivery.
    pub(super) fn is_first_occurrence(&mut self, name: String) -> bool {
        self.seen.insert(name)
    }

    /// Reports a time that is later than the delivery.
    pub(super) fn report_if_after_delivery(
        &mut self,
        at: Option<SiriTime>,
        id: Option<&str>,
        element: &str,
    ) {
        if let (Some(at), Some(created_at)) = (at.map(SiriTime::as_millis), self.created_at)
            && at > created_at.saturating_add(AHEAD_MAX_MS)
        {
            self.report_record_notice(&kinds::IN_FUTURE, id, |sample| {
                sample
                    .set_field("element", element)
                    .set_field("time", format_millis_as_utc(at))
                    .set_field("before", format_millis_as_utc(created_at));
            });
        }
    }

    /// Reports a record that had expired when the delivery was made.
    pub(super) fn report_if_expired(
        &mut self,
        until: Option<SiriTime>,
        id: Option<&str>,
        element: &str,
    ) {
        if let (Some(until), Some(created_at)) = (until.map(SiriTime::as_millis), self.created_at)
            && until < created_at
        {
            self.report_record_notice(&kinds::EXPIRED, id, |sample| {
                sample
                    .set_field("element", element)
                    .set_field("time", format_millis_as_utc(until))
                    .set_field("before", format_millis_as_utc(created_at));
            });
        }
    }

    pub(super) fn check_location_range(&mut self, location: &Location, id: Option<&str>) {
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
        self.report_record_notice(kind, id, |sample| {
            sample.set_field("longitude", longitude).set_field("latitude", latitude);
        });
    }
}

/// Returns a time as reports write it.
pub(super) fn format_millis_as_utc(millis: i64) -> String {
    Timestamp::from_millisecond(millis).map(|at| at.to_string()).unwrap_or_default()
}

//! Agencies and the feed information.

use jiff::civil::Date;

use super::{AgencyIdx, TextId, Timetable};

/// A row of `agency.txt`.
#[derive(Clone, Copy, Debug)]
pub struct Agency<'a> {
    /// Its index.
    pub idx: AgencyIdx,
    /// `agency_id`; empty if the only agency has none.
    pub id: &'a str,
    /// `agency_name`.
    pub name: &'a str,
    /// `agency_url`.
    pub url: Option<&'a str>,
    /// `agency_timezone`, as written.
    pub timezone: &'a str,
    /// `agency_lang`.
    pub lang: Option<&'a str>,
    /// `agency_phone`.
    pub phone: Option<&'a str>,
}

#[derive(Debug)]
pub(crate) struct AgencyRow {
    pub(crate) id: TextId,
    pub(crate) name: TextId,
    pub(crate) url: TextId,
    pub(crate) timezone: TextId,
    pub(crate) lang: TextId,
    pub(crate) phone: TextId,
}

/// The row of `feed_info.txt`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeedInfo {
    /// `feed_publisher_name`.
    pub publisher_name: Box<str>,
    /// `feed_publisher_url`.
    pub publisher_url: Box<str>,
    /// `feed_lang`.
    pub lang: Box<str>,
    /// `feed_version`.
    pub version: Option<Box<str>>,
    /// `feed_start_date`.
    pub start_date: Option<Date>,
    /// `feed_end_date`.
    pub end_date: Option<Date>,
    /// `feed_contact_email`.
    pub contact_email: Option<Box<str>>,
    /// `feed_contact_url`.
    pub contact_url: Option<Box<str>>,
}

impl Timetable {
    /// Returns the agencies, in the order of the file.
    pub fn agencies(&self) -> impl ExactSizeIterator<Item = Agency<'_>> {
        (0..self.agencies.len() as u32).map(|number| self.agency(AgencyIdx::new(number)))
    }

    /// Returns an agency of this timetable.
    pub fn agency(&self, idx: AgencyIdx) -> Agency<'_> {
        let row = &self.agencies[idx.get()];
        Agency {
            idx,
            id: self.strings.get(row.id),
            name: self.strings.get(row.name),
            url: self.strings.get_non_empty(row.url),
            timezone: self.strings.get(row.timezone),
            lang: self.strings.get_non_empty(row.lang),
            phone: self.strings.get_non_empty(row.phone),
        }
    }

    /// Returns the content of `feed_info.txt`, if the feed has the file.
    pub fn feed_info(&self) -> Option<&FeedInfo> {
        self.feed_info.as_ref()
    }
}

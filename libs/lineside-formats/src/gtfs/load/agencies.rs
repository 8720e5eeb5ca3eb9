//! Loads `agency.txt`, which has the time zone, and `feed_info.txt`.

use jiff::tz::TimeZone;

use super::{LimitedFileSet, TWICE, TimetableLoader};
use crate::{
    Error, Problem,
    gtfs::{
        FeedInfo,
        timetable::{AgencyRow, TextId},
        values,
    },
};

impl TimetableLoader {
    pub(super) fn load_agencies(&mut self, source: &mut LimitedFileSet<'_>) -> Result<(), Error> {
        let Some(mut rows) = source.open_table_reader("agency.txt", &mut self.problems)? else {
            return self.store_zero_rows_if_present("agency.txt", source);
        };
        let [id, name, url, timezone, lang, phone] = [
            "agency_id",
            "agency_name",
            "agency_url",
            "agency_timezone",
            "agency_lang",
            "agency_phone",
        ]
        .map(|name| rows.find_column(name));
        while let Some(row) = rows.next_row(&mut self.problems)? {
            let mut text = |column| self.strings.intern(row.get(column));
            let agency = AgencyRow {
                id: text(id),
                name: text(name),
                url: text(url),
                timezone: text(timezone),
                lang: text(lang),
                phone: text(phone),
            };
            let number = self.agencies.len() as u32;
            let id_of = |other: u32| self.strings.get(self.agencies[other as usize].id);
            if self.agency_ids.insert(row.get(id), number, id_of).is_err() {
                row.report_column_fault(id, TWICE, &mut self.problems);
                continue;
            }
            self.agencies.push(agency);
        }
        let count = rows.row_count();
        drop(rows);
        self.store_table_row_count("agency.txt", count);
        self.set_agency_timezone();
        Ok(())
    }

    /// Sets the time zone: all agencies must share one; the first known one is used.
    fn set_agency_timezone(&mut self) {
        let zone = |text: TextId| {
            let name = self.strings.get(text);
            TimeZone::get(name).ok().map(|zone| (name, zone))
        };
        if let Some((name, timezone)) =
            self.agencies.iter().find_map(|agency| zone(agency.timezone))
        {
            self.timezone_name = name.into();
            self.timezone = timezone;
        } else {
            let detail = "no agency has a known time zone; times are interpreted as UTC";
            self.problems.push(
                Problem::new("agency.txt", "invalid_timezone", detail)
                    .with_field("agency_timezone"),
            );
        }
        if self.agencies.windows(2).any(|pair| pair[0].timezone != pair[1].timezone) {
            let detail = format!(
                "agencies have different time zones; {} is used for all",
                self.timezone_name
            );
            let problem = Problem::new("agency.txt", "inconsistent_agency_timezone", detail);
            self.problems.push(problem.with_field("agency_timezone"));
        }
    }

    pub(super) fn load_feed_info(&mut self, source: &mut LimitedFileSet<'_>) -> Result<(), Error> {
        let Some(mut rows) = source.open_table_reader("feed_info.txt", &mut self.problems)? else {
            return self.store_zero_rows_if_present("feed_info.txt", source);
        };
        let [name, url, lang, version] =
            ["feed_publisher_name", "feed_publisher_url", "feed_lang", "feed_version"]
                .map(|name| rows.find_column(name));
        let [email, contact] =
            ["feed_contact_email", "feed_contact_url"].map(|name| rows.find_column(name));
        // The reader has already reported invalid dates, so they are dropped silently here.
        let [start, end] = ["feed_start_date", "feed_end_date"].map(|name| rows.find_column(name));
        while let Some(row) = rows.next_row(&mut self.problems)? {
            let optional_text =
                |column| Some(row.get(column)).filter(|text| !text.is_empty()).map(Box::from);
            self.feed_info.get_or_insert_with(|| FeedInfo {
                publisher_name: row.get(name).into(),
                publisher_url: row.get(url).into(),
                lang: row.get(lang).into(),
                version: optional_text(version),
                start_date: values::parse_gtfs_date(row.cell_bytes(start)).ok(),
                end_date: values::parse_gtfs_date(row.cell_bytes(end)).ok(),
                contact_email: optional_text(email),
                contact_url: optional_text(contact),
            });
        }
        let count = rows.row_count();
        drop(rows);
        self.store_table_row_count("feed_info.txt", count);
        Ok(())
    }
}

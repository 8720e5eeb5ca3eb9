//! The schedule as a GTFS zip, written row by row: no file is ever complete in memory.

mod stops;
mod table;
mod trips;

use std::fmt::Write as _;
use std::io::{self, Seek, Write};

use table::GtfsArchive;

use crate::city::City;
use crate::network::TransportMode;
use crate::time::format_compact_date;
use crate::timetable::services::{Service, list_service_exceptions};

/// The URL of the city's transport, on a domain that is reserved for examples (RFC 2606) and that validators accept.
pub(crate) const SITE: &str = "https://lindhaven.example.org";

/// An agency and the modes that it runs.
pub(crate) struct Agency {
    pub(crate) id: &'static str,
    name: &'static str,
    path: &'static str,
    modes: &'static [TransportMode],
}

pub(crate) const AGENCIES: [Agency; 3] = [
    Agency {
        id: "LT",
        name: "Lindhaven Transport",
        path: "city",
        modes: &[TransportMode::Metro, TransportMode::Tram, TransportMode::Bus],
    },
    Agency { id: "SR", name: "Sandrey Railways", path: "rail", modes: &[TransportMode::Rail] },
    Agency { id: "BF", name: "Bay Ferries", path: "ferries", modes: &[TransportMode::Ferry] },
];

/// Returns the `agency_id` of a mode.
pub(crate) fn agency_id_of_mode(mode: TransportMode) -> &'static str {
    AGENCIES
        .iter()
        .find(|agency| agency.modes.contains(&mode))
        .map_or(AGENCIES[0].id, |agency| agency.id)
}

/// Differences from the true schedule, for faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FaultyScheduleOptions {
    /// The days by which all dates are in the past.
    pub(crate) days_old: i32,
    /// True if trips, stops and routes have ids that the real-time feeds do not know.
    pub(crate) foreign_ids: bool,
}

impl FaultyScheduleOptions {
    /// Returns an id of a trip, stop or route as this variant writes it.
    fn id_in_schedule_variant<'a>(self, id: &'a str) -> std::borrow::Cow<'a, str> {
        if self.foreign_ids { format!("{FOREIGN}{id}").into() } else { id.into() }
    }
}

/// The prefix of foreign ids.
pub(crate) const FOREIGN: &str = "x:";

impl City {
    /// Writes the GTFS zip. The same city gives the same bytes.
    ///
    /// # Errors
    /// Returns the errors of the writer.
    pub fn write_gtfs<W: Write + Seek>(&self, writer: W) -> io::Result<W> {
        self.write_gtfs_variant(writer, FaultyScheduleOptions::default())
    }

    pub(crate) fn write_gtfs_variant<W: Write + Seek>(
        &self,
        writer: W,
        variant: FaultyScheduleOptions,
    ) -> io::Result<W> {
        let mut archive = GtfsArchive::new(writer);
        self.write_agency(&mut archive)?;
        self.write_feed_info(&mut archive, variant)?;
        self.write_attributions(&mut archive)?;
        self.write_calendar(&mut archive, variant)?;
        self.write_calendar_dates(&mut archive, variant)?;
        self.write_stops(&mut archive, variant)?;
        self.write_transfers(&mut archive, variant)?;
        self.write_routes(&mut archive, variant)?;
        self.write_shapes(&mut archive)?;
        self.write_trips(&mut archive, variant)?;
        self.write_frequencies(&mut archive, variant)?;
        self.write_stop_times(&mut archive, variant)?;
        archive.finish_archive()
    }

    fn write_agency<W: Write + Seek>(&self, archive: &mut GtfsArchive<W>) -> io::Result<()> {
        let mut table = archive.begin_table(
            "agency.txt",
            "agency_id,agency_name,agency_url,agency_timezone,agency_lang,agency_phone,agency_email",
        )?;
        let zone = self.time_zone();
        for (i, agency) in AGENCIES.iter().enumerate() {
            let phone = format!("+44 20 7946 0{:03}", 100 + i);
            let email = format!("{}@lindhaven.example.org", agency.path);
            table
                .write_text_cell(agency.id)
                .write_text_cell(agency.name)
                .write_text_cell(&format!("{SITE}/{}", agency.path))
                .write_text_cell(zone)
                .write_text_cell("en")
                .write_text_cell(&phone)
                .write_text_cell(&email)
                .end_row()?;
        }
        table.flush_table()
    }

    fn write_feed_info<W: Write + Seek>(
        &self,
        archive: &mut GtfsArchive<W>,
        variant: FaultyScheduleOptions,
    ) -> io::Result<()> {
        let mut table = archive.begin_table(
            "feed_info.txt",
            "feed_publisher_name,feed_publisher_url,feed_lang,feed_start_date,feed_end_date,feed_version,\
             feed_contact_email,feed_contact_url",
        )?;
        let (first, last) = self.city_time().calendar_day_range();
        let version = match variant.days_old {
            0 => self.feed_version().to_owned(),
            days => format!("{}-old{days}", self.feed_version()),
        };
        table
            .write_text_cell("Lindhaven Transport Authority")
            .write_text_cell(SITE)
            .write_text_cell("en")
            .write_text_cell(&format_compact_date(
                self.city_time().calendar_date(first - variant.days_old),
            ))
            .write_text_cell(&format_compact_date(
                self.city_time().calendar_date(last - variant.days_old),
            ))
            .write_text_cell(&version)
            .write_text_cell("data@lindhaven.example.org")
            .write_text_cell(&format!("{SITE}/data"))
            .end_row()?;
        table.flush_table()
    }

    fn write_attributions<W: Write + Seek>(&self, archive: &mut GtfsArchive<W>) -> io::Result<()> {
        let mut table = archive.begin_table(
            "attributions.txt",
            "attribution_id,organization_name,is_producer,is_operator,is_authority,attribution_url,attribution_email",
        )?;
        table
            .write_text_cell("authority")
            .write_text_cell("Lindhaven Transport Authority")
            .write_text_cell("1")
            .write_text_cell("0")
            .write_text_cell("1")
            .write_text_cell(SITE)
            .write_text_cell("data@lindhaven.example.org")
            .end_row()?;
        for agency in &AGENCIES {
            table
                .write_text_cell(&agency.id.to_lowercase())
                .write_text_cell(agency.name)
                .write_text_cell("0")
                .write_text_cell("1")
                .write_text_cell("0")
                .write_text_cell(&format!("{SITE}/{}", agency.path))
                .write_text_cell("")
                .end_row()?;
        }
        table.flush_table()
    }

    fn write_calendar<W: Write + Seek>(
        &self,
        archive: &mut GtfsArchive<W>,
        variant: FaultyScheduleOptions,
    ) -> io::Result<()> {
        use jiff::civil::Weekday::{
            Friday, Monday, Saturday, Sunday, Thursday, Tuesday, Wednesday,
        };
        let mut table = archive.begin_table(
            "calendar.txt",
            "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date",
        )?;
        let (first, last) = self.city_time().calendar_day_range();
        let (first, last) = (first - variant.days_old, last - variant.days_old);
        for service in Service::ALL.into_iter().filter(|s| *s != Service::Festival) {
            let mut days = String::new();
            for day in [Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday] {
                let runs = service.runs_on_weekday(self.city_time().city_weekday_for_real(day));
                write!(days, "{}{}", if days.is_empty() { "" } else { "," }, u8::from(runs))
                    .map_err(io::Error::other)?;
            }
            table
                .write_text_cell(service.service_id())
                .write_raw_cells(&days)
                .write_text_cell(&format_compact_date(self.city_time().calendar_date(first)))
                .write_text_cell(&format_compact_date(self.city_time().calendar_date(last)))
                .end_row()?;
        }
        table.flush_table()
    }

    fn write_calendar_dates<W: Write + Seek>(
        &self,
        archive: &mut GtfsArchive<W>,
        variant: FaultyScheduleOptions,
    ) -> io::Result<()> {
        let mut table =
            archive.begin_table("calendar_dates.txt", "service_id,date,exception_type")?;
        for exception in list_service_exceptions(self.city_time()) {
            table
                .write_text_cell(exception.service.service_id())
                .write_text_cell(&format_compact_date(
                    self.city_time().calendar_date(exception.day - variant.days_old),
                ))
                .write_text_cell(if exception.added { "1" } else { "2" })
                .end_row()?;
        }
        table.flush_table()
    }

    fn write_routes<W: Write + Seek>(
        &self,
        archive: &mut GtfsArchive<W>,
        variant: FaultyScheduleOptions,
    ) -> io::Result<()> {
        let mut table = archive.begin_table(
            "routes.txt",
            "route_id,agency_id,route_short_name,route_long_name,route_type,route_url,route_color,route_text_color,\
             route_sort_order",
        )?;
        for (i, route) in self.network().routes.iter().enumerate() {
            table
                .write_text_cell(&variant.id_in_schedule_variant(&route.id))
                .write_text_cell(agency_id_of_mode(route.mode))
                .write_text_cell(&route.short_name)
                .write_text_cell(&route.long_name)
                .write_unquoted_cell(route.mode.route_type())
                .write_text_cell(&format!("{SITE}/lines/{}", route.id))
                .write_text_cell(&route.color)
                .write_text_cell("FFFFFF")
                .write_unquoted_cell(i + 1)
                .end_row()?;
        }
        table.flush_table()
    }
}

//! The schedule as a GTFS zip, written row by row: no file is ever whole in memory.

mod stops;
mod table;
mod trips;

use std::fmt::Write as _;
use std::io::{self, Seek, Write};

use table::Archive;

use crate::city::City;
use crate::network::Mode;
use crate::time::compact;
use crate::timetable::services::{Service, exceptions};

/// Addresses of the city's transport, on a domain that is reserved for examples (RFC 2606) and that validators accept.
pub(crate) const SITE: &str = "https://lindhaven.example.org";

/// Who runs what.
pub(crate) struct Agency {
    pub(crate) id: &'static str,
    name: &'static str,
    path: &'static str,
    modes: &'static [Mode],
}

pub(crate) const AGENCIES: [Agency; 3] = [
    Agency {
        id: "LT",
        name: "Lindhaven Transport",
        path: "city",
        modes: &[Mode::Metro, Mode::Tram, Mode::Bus],
    },
    Agency { id: "SR", name: "Sandrey Railways", path: "rail", modes: &[Mode::Rail] },
    Agency { id: "BF", name: "Bay Ferries", path: "ferries", modes: &[Mode::Ferry] },
];

/// The `agency_id` of a mode.
pub(crate) fn agency_of(mode: Mode) -> &'static str {
    AGENCIES
        .iter()
        .find(|agency| agency.modes.contains(&mode))
        .map_or(AGENCIES[0].id, |agency| agency.id)
}

/// How the schedule is to differ from the true one; what faults are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Variant {
    /// All dates lie so many days in the past.
    pub(crate) days_old: i32,
    /// Trips, stops and routes carry ids that the real-time feeds do not know.
    pub(crate) foreign_ids: bool,
}

impl Variant {
    /// An id of trips, stops or routes as this variant writes it.
    fn id<'a>(self, id: &'a str) -> std::borrow::Cow<'a, str> {
        if self.foreign_ids { format!("{FOREIGN}{id}").into() } else { id.into() }
    }
}

/// Begins every id that does not match.
pub(crate) const FOREIGN: &str = "x:";

impl City {
    /// Writes the GTFS zip. The same city gives the same bytes.
    ///
    /// # Errors
    /// Only those of the writer.
    pub fn write_gtfs<W: Write + Seek>(&self, writer: W) -> io::Result<W> {
        self.write_gtfs_variant(writer, Variant::default())
    }

    pub(crate) fn write_gtfs_variant<W: Write + Seek>(
        &self,
        writer: W,
        variant: Variant,
    ) -> io::Result<W> {
        let mut archive = Archive::new(writer);
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
        archive.finish()
    }

    fn write_agency<W: Write + Seek>(&self, archive: &mut Archive<W>) -> io::Result<()> {
        let mut table = archive.table(
            "agency.txt",
            "agency_id,agency_name,agency_url,agency_timezone,agency_lang,agency_phone,agency_email",
        )?;
        let zone = self.time_zone();
        for (i, agency) in AGENCIES.iter().enumerate() {
            let phone = format!("+44 20 7946 0{:03}", 100 + i);
            let email = format!("{}@lindhaven.example.org", agency.path);
            table
                .text(agency.id)
                .text(agency.name)
                .text(&format!("{SITE}/{}", agency.path))
                .text(zone)
                .text("en")
                .text(&phone)
                .text(&email)
                .end()?;
        }
        table.close()
    }

    fn write_feed_info<W: Write + Seek>(
        &self,
        archive: &mut Archive<W>,
        variant: Variant,
    ) -> io::Result<()> {
        let mut table = archive.table(
            "feed_info.txt",
            "feed_publisher_name,feed_publisher_url,feed_lang,feed_start_date,feed_end_date,feed_version,\
             feed_contact_email,feed_contact_url",
        )?;
        let (first, last) = self.time().calendar();
        let version = match variant.days_old {
            0 => self.version().to_owned(),
            days => format!("{}-old{days}", self.version()),
        };
        table
            .text("Lindhaven Transport Authority")
            .text(SITE)
            .text("en")
            .text(&compact(self.time().date(first - variant.days_old)))
            .text(&compact(self.time().date(last - variant.days_old)))
            .text(&version)
            .text("data@lindhaven.example.org")
            .text(&format!("{SITE}/data"))
            .end()?;
        table.close()
    }

    fn write_attributions<W: Write + Seek>(&self, archive: &mut Archive<W>) -> io::Result<()> {
        let mut table = archive.table(
            "attributions.txt",
            "attribution_id,organization_name,is_producer,is_operator,is_authority,attribution_url,attribution_email",
        )?;
        table
            .text("authority")
            .text("Lindhaven Transport Authority")
            .text("1")
            .text("0")
            .text("1")
            .text(SITE)
            .text("data@lindhaven.example.org")
            .end()?;
        for agency in &AGENCIES {
            table
                .text(&agency.id.to_lowercase())
                .text(agency.name)
                .text("0")
                .text("1")
                .text("0")
                .text(&format!("{SITE}/{}", agency.path))
                .text("")
                .end()?;
        }
        table.close()
    }

    fn write_calendar<W: Write + Seek>(
        &self,
        archive: &mut Archive<W>,
        variant: Variant,
    ) -> io::Result<()> {
        use jiff::civil::Weekday::{
            Friday, Monday, Saturday, Sunday, Thursday, Tuesday, Wednesday,
        };
        let mut table = archive.table(
            "calendar.txt",
            "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date",
        )?;
        let (first, last) = self.time().calendar();
        let (first, last) = (first - variant.days_old, last - variant.days_old);
        for service in Service::ALL.into_iter().filter(|s| *s != Service::Festival) {
            let mut days = String::new();
            for day in [Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday] {
                let runs = service.runs_on(self.time().weekday_on(day));
                write!(days, "{}{}", if days.is_empty() { "" } else { "," }, u8::from(runs))
                    .map_err(io::Error::other)?;
            }
            table
                .text(service.id())
                .raw(&days)
                .text(&compact(self.time().date(first)))
                .text(&compact(self.time().date(last)))
                .end()?;
        }
        table.close()
    }

    fn write_calendar_dates<W: Write + Seek>(
        &self,
        archive: &mut Archive<W>,
        variant: Variant,
    ) -> io::Result<()> {
        let mut table = archive.table("calendar_dates.txt", "service_id,date,exception_type")?;
        for exception in exceptions(self.time()) {
            table
                .text(exception.service.id())
                .text(&compact(self.time().date(exception.day - variant.days_old)))
                .text(if exception.added { "1" } else { "2" })
                .end()?;
        }
        table.close()
    }

    fn write_routes<W: Write + Seek>(
        &self,
        archive: &mut Archive<W>,
        variant: Variant,
    ) -> io::Result<()> {
        let mut table = archive.table(
            "routes.txt",
            "route_id,agency_id,route_short_name,route_long_name,route_type,route_url,route_color,route_text_color,\
             route_sort_order",
        )?;
        for (i, route) in self.network().routes.iter().enumerate() {
            table
                .text(&variant.id(&route.id))
                .text(agency_of(route.mode))
                .text(&route.short_name)
                .text(&route.long_name)
                .number(route.mode.route_type())
                .text(&format!("{SITE}/lines/{}", route.id))
                .text(&route.color)
                .text("FFFFFF")
                .number(i + 1)
                .end()?;
        }
        table.close()
    }
}

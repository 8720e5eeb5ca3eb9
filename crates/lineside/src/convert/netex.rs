//! A schedule in NeTEx as one in GTFS, and as places for a map.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};

use lineside_formats::{
    Error, Format, Losses, Problems,
    gtfs::{StopTimeRow, Tables, ZipTables},
    netex::{self, Counts, Limits, Source},
    sniff_schedule,
};

use super::{Converted, Refusal, Target, schedule};

pub(super) fn convert(file: File, to: Target, out: &File) -> Result<Converted, Refusal> {
    if to == Target::Geojson {
        let zip = tempfile::tempfile()?;
        let (counts, mut problems, mut losses) = write_zip(file, &zip, Gaps::Kept)?;
        let (map, dataset) = schedule::convert(zip, out)?;
        problems.merge(netex::problems_of_tables(map.problems, &dataset.timetable));
        losses.merge(schedule::unplaced(&dataset));
        let why = schedule::NO_PLACE;
        losses.push_many("ServiceJourney", why, dataset.timetable.trips().len() as u64);
        losses.push_many("DayType", why, counts.day_types as u64);
        return Ok(Converted { from: Format::Netex, problems, losses, ..map });
    }
    let (counts, problems, losses) = write_zip(file, out, Gaps::Filled)?;
    Ok(Converted {
        from: Format::Netex,
        files: Vec::new(),
        counts: vec![
            ("Line", counts.lines as u64),
            ("ServiceJourney", counts.service_journeys as u64),
            ("Quay", counts.quays as u64),
            ("StopPlace", counts.stop_places as u64),
            ("ScheduledStopPoint", counts.scheduled_stop_points as u64),
        ],
        problems,
        losses,
        matched: None,
    })
}

/// A schedule as a GTFS zip, whichever of the two it came as.
pub(super) fn as_gtfs(schedule: File) -> Result<File, Refusal> {
    match sniff_schedule(&schedule)? {
        Some(Format::Netex) => {}
        Some(_) => return Ok(schedule),
        None => {
            return Err(Refusal::Schedule("its content is neither".to_owned()));
        }
    }
    let zip = tempfile::tempfile()?;
    write_zip(schedule, &zip, Gaps::Kept).map_err(Refusal::of_schedule)?;
    Ok(zip)
}

/// What a zip has in place of values that GTFS requires and the publication lacks.
#[derive(Clone, Copy)]
enum Gaps {
    /// Stand-ins, for other software that would refuse the zip.
    Filled,
    /// Nothing: this program reads the zip, and shows no stop at a made-up place.
    Kept,
}

/// Tables whose incomplete rows stay incomplete.
struct IncompleteTables<'a, T>(&'a mut T);

impl<T: Tables> Tables for IncompleteTables<'_, T> {
    fn begin(&mut self, table: &'static str, columns: &[&str]) -> Result<(), Error> {
        self.0.begin(table, columns)
    }

    fn row(&mut self, cells: &[&str]) -> Result<(), Error> {
        self.0.row(cells)
    }

    fn go_on(&mut self) -> Result<(), Error> {
        self.0.go_on()
    }

    fn stop_time(&mut self, row: &StopTimeRow<'_>) -> Result<(), Error> {
        self.0.stop_time(row)
    }
}

fn write_zip(file: File, out: &File, gaps: Gaps) -> Result<(Counts, Problems, Losses), Error> {
    let limits = Limits::default();
    let mut source = Source::of_reader(BufReader::new(file), &limits.files)?;
    let (publication, mut problems) = netex::decode(&mut source, &limits)?;
    let mut tables = ZipTables::new(BufWriter::new(out));
    let losses = match gaps {
        Gaps::Filled => netex::write_gtfs(&publication, &mut tables, &mut problems)?,
        Gaps::Kept => {
            netex::write_gtfs(&publication, &mut IncompleteTables(&mut tables), &mut problems)?
        }
    };
    tables.finish()?.flush().map_err(Error::io)?;
    Ok((publication.counts(), problems, losses))
}

//! A schedule in NeTEx as one in GTFS, and as places for a map.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};

use lineside_formats::{
    Error, Format, Losses, Problems,
    gtfs::ZipTables,
    netex::{self, Counts, Limits, Source},
    sniff_schedule,
};

use super::{Converted, Refusal, Target, schedule};

pub(super) fn convert(file: File, to: Target, out: &File) -> Result<Converted, Refusal> {
    if to == Target::Geojson {
        let zip = tempfile::tempfile()?;
        let (counts, mut problems, mut losses) = write_zip(file, &zip)?;
        let (map, dataset) = schedule::convert(zip, out)?;
        problems.merge(netex::problems_of_tables(map.problems, &dataset.timetable));
        losses.merge(schedule::unplaced(&dataset));
        let why = schedule::NO_PLACE;
        losses.push_many("ServiceJourney", why, dataset.timetable.trips().len() as u64);
        losses.push_many("DayType", why, counts.day_types as u64);
        return Ok(Converted { from: Format::Netex, problems, losses, ..map });
    }
    let (counts, problems, losses) = write_zip(file, out)?;
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
    write_zip(schedule, &zip).map_err(Refusal::of_schedule)?;
    Ok(zip)
}

fn write_zip(file: File, out: &File) -> Result<(Counts, Problems, Losses), Error> {
    let limits = Limits::default();
    let mut source = Source::of_reader(BufReader::new(file), &limits.files)?;
    let (publication, mut problems) = netex::decode(&mut source, &limits)?;
    let mut tables = ZipTables::new(BufWriter::new(out));
    let losses = netex::write_gtfs(&publication, &mut tables, &mut problems)?;
    tables.finish()?.flush().map_err(Error::io)?;
    Ok((publication.counts(), problems, losses))
}

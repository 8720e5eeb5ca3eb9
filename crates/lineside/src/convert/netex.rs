//! A schedule in NeTEx as one in GTFS, and as places for a map.

use std::io::Cursor;

use bytes::Bytes;
use lineside_formats::{
    Error, Format, Losses, Problems,
    gtfs::ZipTables,
    netex::{self, Counts, Limits, Source},
    sniff,
};

use super::{Converted, Refusal, Target, schedule};

pub(super) fn convert(body: &Bytes, to: Target) -> Result<Converted, Refusal> {
    let (zip, counts, mut problems, mut losses) = zip_of(body)?;
    if to == Target::Geojson {
        let map = schedule::convert(zip)?;
        problems.merge(map.problems);
        losses.merge(map.losses);
        return Ok(Converted { from: Format::Netex, problems, losses, ..map });
    }
    Ok(Converted {
        from: Format::Netex,
        files: vec![(String::new(), zip)],
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
pub(super) fn as_gtfs(schedule: Bytes) -> Result<Bytes, Error> {
    match sniff(&schedule) {
        Some(Format::Netex) => zip_of(&schedule).map(|(zip, ..)| zip),
        _ => Ok(schedule),
    }
}

fn zip_of(body: &Bytes) -> Result<(Bytes, Counts, Problems, Losses), Error> {
    let limits = Limits::default();
    let (publication, mut problems) =
        netex::decode(&mut Source::new(body, &limits.files)?, &limits)?;
    let mut tables = ZipTables::new(Cursor::new(Vec::new()));
    let losses = netex::write_gtfs(&publication, &mut tables, &mut problems)?;
    let zip = Bytes::from(tables.finish()?.into_inner());
    Ok((zip, publication.counts(), problems, losses))
}

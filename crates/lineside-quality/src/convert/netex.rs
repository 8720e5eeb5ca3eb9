//! Conversion of a NeTEx schedule to GTFS, and to GeoJSON.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};

use lineside_formats::{
    ConversionReport, Error, Format, Problems,
    gtfs::{StopTimeRow, TableWriter, ZipTableWriter},
    netex::{self, PublicationLimits, PublicationSource, RecordCounts},
    sniff_schedule_format,
};

use super::{ConversionError, ConversionOutput, ConversionTargetFormat, schedule_geojson};

pub(super) fn convert_netex_to_gtfs_or_geojson(
    file: File,
    to: ConversionTargetFormat,
    out: &File,
) -> Result<ConversionOutput, ConversionError> {
    if to == ConversionTargetFormat::Geojson {
        let zip = tempfile::tempfile()?;
        let (counts, mut problems, mut losses) =
            convert_netex_to_gtfs_zip(file, &zip, MissingValueHandling::Empty)?;
        let (map, dataset) = schedule_geojson::write_geojson_and_load_dataset(zip, out)?;
        problems.merge(netex::drop_already_reported_problems(map.problems, &dataset.timetable));
        losses.merge(schedule_geojson::report_stops_without_position(&dataset));
        let why = schedule_geojson::NO_PLACE;
        losses.record_dropped_objects(
            "ServiceJourney",
            why,
            dataset.timetable.trips().len() as u64,
        );
        losses.record_dropped_objects("DayType", why, counts.day_types as u64);
        return Ok(ConversionOutput {
            from: Format::Netex,
            problems,
            conversion_report: losses,
            ..map
        });
    }
    let (counts, problems, losses) =
        convert_netex_to_gtfs_zip(file, out, MissingValueHandling::Filled)?;
    Ok(ConversionOutput {
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
        conversion_report: losses,
        matched: None,
    })
}

/// Returns a schedule in GTFS or NeTEx as a GTFS zip.
pub(super) fn open_as_gtfs_zip(schedule: File) -> Result<File, ConversionError> {
    match sniff_schedule_format(&schedule)? {
        Some(Format::Netex) => {}
        Some(_) => return Ok(schedule),
        None => {
            return Err(ConversionError::Schedule("the file is neither".to_owned()));
        }
    }
    let zip = tempfile::tempfile()?;
    convert_netex_to_gtfs_zip(schedule, &zip, MissingValueHandling::Empty)
        .map_err(ConversionError::from_schedule_error)?;
    Ok(zip)
}

/// Handling of values that GTFS requires and the publication lacks.
#[derive(Clone, Copy)]
enum MissingValueHandling {
    /// Placeholders, because other software would refuse the zip.
    Filled,
    /// Left empty: this program reads the zip, and must not show a stop at an invented position.
    Empty,
}

/// A table writer that leaves incomplete rows incomplete.
struct KeepIncompleteRows<'a, T>(&'a mut T);

impl<T: TableWriter> TableWriter for KeepIncompleteRows<'_, T> {
    fn begin_table(&mut self, table: &'static str, columns: &[&str]) -> Result<(), Error> {
        self.0.begin_table(table, columns)
    }

    fn write_row(&mut self, cells: &[&str]) -> Result<(), Error> {
        self.0.write_row(cells)
    }

    fn check_cancelled(&mut self) -> Result<(), Error> {
        self.0.check_cancelled()
    }

    fn write_stop_time(&mut self, row: &StopTimeRow<'_>) -> Result<(), Error> {
        self.0.write_stop_time(row)
    }
}

fn convert_netex_to_gtfs_zip(
    file: File,
    out: &File,
    gaps: MissingValueHandling,
) -> Result<(RecordCounts, Problems, ConversionReport), Error> {
    let limits = PublicationLimits::default();
    let mut source = PublicationSource::from_reader(BufReader::new(file), &limits.files)?;
    let (publication, mut problems) = netex::decode_publication(&mut source, &limits)?;
    let mut tables = ZipTableWriter::new(BufWriter::new(out));
    let losses = match gaps {
        MissingValueHandling::Filled => {
            netex::write_gtfs(&publication, &mut tables, &mut problems)?
        }
        MissingValueHandling::Empty => {
            netex::write_gtfs(&publication, &mut KeepIncompleteRows(&mut tables), &mut problems)?
        }
    };
    tables.finish_archive()?.flush().map_err(Error::from_io)?;
    Ok((publication.record_counts(), problems, losses))
}

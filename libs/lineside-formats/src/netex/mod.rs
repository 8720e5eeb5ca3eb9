//! NeTEx: timetables in XML, as one file, or a folder or zip of several, in the Nordic, French, Swiss and European
//! (EPIP) profiles.
//!
//! [`decode_publication`] reads each file once and returns records in NeTEx's terms. It visits frames of any kind and
//! depth, and skips elements that a timetable does not need. References are resolved after all files are read, so
//! objects may be in any file. Only [`write_gtfs`] converts terms: it writes the records as rows of GTFS, to a zip or
//! to the loader. [`load_timetable`] builds the timetable from these rows, so departure boards equal the converted zip.
//!
//! A fault is a [`Problem`](crate::Problem) that names file and id. Data that GTFS cannot express are a
//! [`DroppedObjectsByReason`](crate::DroppedObjectsByReason).

mod calendar;
mod days;
mod elements;
mod geo;
mod journeys;
mod limits;
mod network;
mod reader;
mod record;
mod sites;
mod source;
mod to_gtfs;
mod values;

use crate::{
    ConversionReport, Error, Problems,
    gtfs::{self, FileSet, Timetable, TimetableBuilder},
};

pub(crate) use self::source::is_publication_delivery;
pub use self::{
    elements::{AttributeLookup, PublicationVisitor, VisitAction, visit_publication_elements},
    limits::PublicationLimits,
    record::{Publication, RecordCounts},
    source::{PublicationSource, looks_like_netex},
};

/// Decodes all XML files of a publication.
///
/// Memory: the records, and one file at a time.
///
/// # Errors
///
/// Returns an error if no file is NeTEx; if a file cannot be read, is truncated or not well-formed, declares a document
/// type, or uses custom entities; or if a limit is exceeded. All other faults are problems.
pub fn decode_publication(
    files: &mut dyn FileSet,
    limits: &PublicationLimits,
) -> Result<(Publication, Problems), Error> {
    reader::decode_xml_files(files, limits, &|| true, None)
}

/// The readable part of a publication.
#[derive(Debug)]
pub struct PartialPublication {
    /// The records; of a damaged file those before the damage.
    pub publication: Publication,
    /// The problems of the files.
    pub problems: Problems,
    /// The errors of files that could not be read, each with the file's name.
    pub refused: Vec<Error>,
}

/// Decodes the files that can be read, like [`decode_publication`]. `should_continue` is called about every thousand
/// elements; once it returns false, decoding fails.
///
/// # Errors
///
/// Returns an error if no file can be read, if none is NeTEx, if a limit is exceeded, or if `should_continue` returned
/// false.
pub fn decode_readable_files(
    files: &mut dyn FileSet,
    limits: &PublicationLimits,
    should_continue: &dyn Fn() -> bool,
) -> Result<PartialPublication, Error> {
    let mut refused = Vec::new();
    let (publication, problems) =
        reader::decode_xml_files(files, limits, should_continue, Some(&mut refused))?;
    Ok(PartialPublication { publication, problems, refused })
}

/// Writes a publication as GTFS, and returns the data that GTFS cannot express. Dangling references are problems.
///
/// # Errors
///
/// Returns an error if the tables cannot be written.
pub fn write_gtfs(
    publication: &Publication,
    tables: &mut dyn gtfs::TableWriter,
    problems: &mut Problems,
) -> Result<ConversionReport, Error> {
    to_gtfs::write_gtfs_tables(publication, tables, problems)
}

/// Filters the loader's problems of the tables that [`write_gtfs`] wrote: removes those that were already reported for
/// the publication.
pub fn drop_already_reported_problems(mut problems: Problems, timetable: &Timetable) -> Problems {
    let n = timetable.agencies().filter(|agency| agency.url.is_none()).count() as u64;
    problems.retract_field_problems("agency.txt", "missing_required_field", "agency_url", n);
    problems.retract_field_problems("stops.txt", "stop_without_location", "stop_lat", u64::MAX);
    problems.retract_field_problems("agency.txt", "invalid_url", "agency_url", u64::MAX);
    problems.retract_field_problems("agency.txt", "invalid_email", "agency_email", u64::MAX);
    problems
}

/// A publication loaded as a timetable.
#[derive(Debug)]
pub struct LoadedPublication {
    /// The timetable, equal to that of the GTFS zip.
    pub timetable: Timetable,
    /// The number of records by kind.
    pub counts: RecordCounts,
    /// The problems of the publication's files, and of the tables made from them.
    pub problems: Problems,
    /// The data that GTFS cannot express.
    pub losses: ConversionReport,
}

/// Loads a publication as a timetable.
///
/// # Errors
///
/// Returns the errors of [`decode_publication`], and an error if a limit of the timetable is exceeded.
pub fn load_timetable(
    files: &mut dyn FileSet,
    limits: &PublicationLimits,
) -> Result<LoadedPublication, Error> {
    let (publication, mut problems) = decode_publication(files, limits)?;
    let mut tables = TimetableBuilder::new(gtfs::DatasetLimits::default());
    let losses = write_gtfs(&publication, &mut tables, &mut problems)?;
    let counts = publication.record_counts();
    drop(publication);
    let (timetable, more) = tables.build_timetable()?;
    problems.merge(drop_already_reported_problems(more, &timetable));
    Ok(LoadedPublication { timetable, counts, problems, losses })
}

//! NeTEx: timetables in XML, one file, a folder or a zip of many, in the Nordic, French, Swiss and European (EPIP)
//! profiles.
//!
//! [`decode_publication`] goes once over each file and keeps records in NeTEx's own terms: frames of any kind and depth are walked
//! through, what a timetable does not need is passed over while it streams. References are looked up when all files are
//! read, so it does not matter which file holds what. [`write_gtfs`] is the one place where words change: it writes the
//! records as rows of GTFS, into a zip or to the loader, and [`load_timetable`] makes of them the timetable that a GTFS zip gives.
//! So there is one timetable and one loader of it, and what boards show is what the converted zip says.
//!
//! What is wrong is a [`Problem`](crate::Problem) that names file and id; what GTFS cannot say is a
//! [`DroppedField`](crate::DroppedField).

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
    elements::{Attributes, PublicationVisitor, VisitAction, visit_elements},
    limits::PublicationLimits,
    record::{Publication, RecordCounts},
    source::{PublicationSource, looks_like_netex},
};

/// Reads all XML files of a publication.
///
/// Memory: the records, and one file at a time.
///
/// # Errors
///
/// If nothing of it is NeTEx; if a file cannot be read, is cut off, is not well-formed, declares a document type, or
/// uses entities of its own; or if a limit is passed. Everything else is a problem.
pub fn decode_publication(
    files: &mut dyn FileSet,
    limits: &PublicationLimits,
) -> Result<(Publication, Problems), Error> {
    reader::decode_files(files, limits, &|| true, None)
}

/// Of a publication what can be read.
#[derive(Debug)]
pub struct PartialPublication {
    /// The records; of a file that cannot be read those before where it breaks off.
    pub publication: Publication,
    /// What is wrong in the files.
    pub problems: Problems,
    /// Why files cannot be read that could not, each named.
    pub refused: Vec<Error>,
}

/// The same as [`decode_publication`] of the files that can be read, as long as `goes_on` says so: it is asked at every thousandth
/// element or so, and once it says no, that is an error.
///
/// # Errors
///
/// If no file can be read, or none is NeTEx; if a limit is passed.
pub fn decode_readable_files(
    files: &mut dyn FileSet,
    limits: &PublicationLimits,
    goes_on: &dyn Fn() -> bool,
) -> Result<PartialPublication, Error> {
    let mut refused = Vec::new();
    let (publication, problems) = reader::decode_files(files, limits, goes_on, Some(&mut refused))?;
    Ok(PartialPublication { publication, problems, refused })
}

/// Writes a publication as GTFS, and tells what of it GTFS cannot say. References that lead nowhere are problems.
///
/// # Errors
///
/// If the tables cannot be written.
pub fn write_gtfs(
    publication: &Publication,
    tables: &mut dyn gtfs::TableWriter,
    problems: &mut Problems,
) -> Result<ConversionReport, Error> {
    to_gtfs::write_tables(publication, tables, problems)
}

/// What is wrong about the tables that [`write_gtfs`] wrote, by what the loader of their timetable says: without what is
/// told of the publication already, in its own words.
pub fn drop_known_table_problems(mut problems: Problems, timetable: &Timetable) -> Problems {
    let n = timetable.agencies().filter(|agency| agency.url.is_none()).count() as u64;
    problems.retract_field_problems("agency.txt", "missing_required_field", "agency_url", n);
    problems.retract_field_problems("stops.txt", "stop_without_location", "stop_lat", u64::MAX);
    problems.retract_field_problems("agency.txt", "invalid_url", "agency_url", u64::MAX);
    problems.retract_field_problems("agency.txt", "invalid_email", "agency_email", u64::MAX);
    problems
}

/// What a publication comes to as a timetable.
#[derive(Debug)]
pub struct LoadedPublication {
    /// The timetable, as a GTFS zip would give it.
    pub timetable: Timetable,
    /// How much of what was read.
    pub counts: RecordCounts,
    /// What was wrong: in the files of the publication, and in the tables that were made of it.
    pub problems: Problems,
    /// What GTFS cannot say.
    pub losses: ConversionReport,
}

/// Reads a publication into a timetable.
///
/// # Errors
///
/// As [`decode_publication`], and if a limit of the timetable is passed.
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
    problems.merge(drop_known_table_problems(more, &timetable));
    Ok(LoadedPublication { timetable, counts, problems, losses })
}

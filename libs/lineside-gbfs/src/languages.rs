//! Merges files about one thing: its translations, which are files of their own before version 3, and the hours of a
//! system.

use std::collections::HashMap;

use smol_str::SmolStr;

use super::{
    file::{FileContent, FileKind, ListRecord},
    hours::format_opening_hours,
    record::GbfsRecord,
    record::writer::WritableGbfsVersion,
    records::{Calendar, RentalHours},
};

/// Returns the name of a file in a version's output. Fields of later versions remain in it. Files that list versions or
/// systems return `None`, because the server writes its own.
pub fn output_file_name(kind: FileKind, version: WritableGbfsVersion) -> Option<&'static str> {
    match kind {
        FileKind::VehicleAvailability | FileKind::Versions | FileKind::Manifest => None,
        _ => kind.file_name(version.major_version()),
    }
}

impl FileContent {
    /// Adds the texts of the file in another language, matching records by id. Records that only `other` has are
    /// ignored, and so are zones, because they have no ids.
    pub fn add_texts_of_language(&mut self, other: &FileContent) {
        match (self, other) {
            (FileContent::SystemInformation(mine), FileContent::SystemInformation(other)) => {
                mine.add_language(other);
            }
            (FileContent::VehicleTypes(mine), FileContent::VehicleTypes(other)) => {
                merge_languages_by_id(mine, other)
            }
            (FileContent::StationInformation(mine), FileContent::StationInformation(other)) => {
                merge_languages_by_id(mine, other);
            }
            (FileContent::Regions(mine), FileContent::Regions(other)) => {
                merge_languages_by_id(mine, other)
            }
            (FileContent::PricingPlans(mine), FileContent::PricingPlans(other)) => {
                merge_languages_by_id(mine, other)
            }
            (FileContent::Alerts(mine), FileContent::Alerts(other)) => {
                merge_languages_by_id(mine, other)
            }
            _ => {}
        }
    }

    /// Adds what version 3 requires in a system's information and earlier versions state elsewhere: its language, and
    /// its opening hours. `hours` are the files of hours and of days, and `None` if one of them could not be read.
    pub fn add_fields_required_by_v3(
        &mut self,
        language: &str,
        hours: Option<(&[RentalHours], &[Calendar])>,
    ) {
        let FileContent::SystemInformation(system) = self else { return };
        if system.languages.0.is_empty() {
            system.languages.0.push(SmolStr::new(language));
        }
        if let (None, Some((hours, calendar))) = (&system.opening_hours, hours) {
            system.opening_hours = format_opening_hours(hours, calendar).map(SmolStr::new);
        }
    }
}

fn merge_languages_by_id<T: ListRecord + GbfsRecord>(mine: &mut [T], other: &[T]) {
    let by_id: HashMap<&str, &T> =
        other.iter().filter_map(|it| Some((it.record_id()?, it))).collect();
    for record in mine {
        if let Some(other) = record.record_id().and_then(|id| by_id.get(id)) {
            record.add_language(other);
        }
    }
}

//! Encodes files as version 2.3 or 3.0.

use super::{
    file::{FileContent, FileHeader},
    record::writer::{RecordWriter, WritableGbfsVersion},
    record::{FieldValue, GbfsRecord},
    records::{StationInformation, StationStatus, VehicleStatus},
    values::{GbfsTime, Id},
};
use lineside_formats::ConversionReport;

/// An encoded file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedGbfsFile {
    /// The bytes of the file.
    pub body: Vec<u8>,
    /// The values that this version cannot express, by field.
    pub lost: ConversionReport,
}

/// Encodes a file; `None` if this version has no file of the kind. If the version allows only one language, texts in
/// `language` are preferred.
pub fn encode_gbfs_file(
    content: &FileContent,
    head: &FileHeader,
    version: WritableGbfsVersion,
    language: &str,
) -> Option<EncodedGbfsFile> {
    let name = content.file_kind().file_name(version.major_version())?;
    let mut writing = RecordWriter::new(version, language, Vec::new());
    writing.write_file_envelope(head, |writing| writing.write_file_content(content, name));
    Some(EncodedGbfsFile { body: writing.text, lost: writing.lost })
}

/// Encodes a discovery file with these files and URLs by language. From version 3 on one file has all languages, so
/// only the files of the first are written.
pub fn encode_discovery_file<'a>(
    languages: &[(String, Vec<(&'a str, String)>)],
    head: &FileHeader,
    version: WritableGbfsVersion,
) -> Vec<u8> {
    let mut writing = RecordWriter::new(version, "", Vec::new());
    let feeds = |writing: &mut RecordWriter, files: &[(&'a str, String)]| {
        writing.write_key("feeds");
        writing.write_list(files.iter(), |(name, url), writing| {
            writing.write_object(|writing| {
                writing.write_key("name");
                writing.write_json_value(name);
                writing.write_key("url");
                writing.write_json_value(&url);
            });
        });
    };
    writing.write_file_envelope(head, |writing| match version {
        WritableGbfsVersion::Three => {
            feeds(writing, languages.first().map_or(&[], |(_, files)| files))
        }
        WritableGbfsVersion::Two => {
            for (language, files) in languages {
                writing.write_key(language);
                writing.write_object(|writing| feeds(writing, files));
            }
        }
    });
    writing.text
}

/// Encodes a station's information as an object with the fields of version 3.
pub fn encode_station_information(station: &StationInformation) -> Vec<u8> {
    encode_json_object(|writing| station.write_fields(writing))
}

/// Encodes a station's status as an object with the fields of version 3. It has no id, because it is merged with the
/// station's information.
pub fn encode_station_status(status: &StationStatus) -> Vec<u8> {
    let nameless = StationStatus { station_id: Id::default(), ..status.clone() };
    encode_json_object(|writing| nameless.write_fields(writing))
}

/// Encodes a vehicle as an object with the fields of version 3.
pub fn encode_vehicle(vehicle: &VehicleStatus) -> Vec<u8> {
    encode_json_object(|writing| vehicle.write_fields(writing))
}

fn encode_json_object(write: impl FnOnce(&mut RecordWriter)) -> Vec<u8> {
    let mut writing = RecordWriter::new(WritableGbfsVersion::Three, "", Vec::new());
    writing.write_object(write);
    writing.text
}

impl RecordWriter {
    fn write_file_envelope(&mut self, head: &FileHeader, data: impl FnOnce(&mut RecordWriter)) {
        let version = self.version.as_str();
        self.write_object(|writing| {
            if let Some(at) = head.last_updated {
                writing.write_key("last_updated");
                GbfsTime(at).write_value(writing);
            }
            writing.write_key("ttl");
            writing.write_json_value(&head.ttl.unwrap_or(0));
            writing.write_key("version");
            writing.write_json_value(version);
            writing.write_key("data");
            writing.write_object(data);
        });
    }

    fn write_file_content(&mut self, content: &FileContent, name: &'static str) {
        match content {
            FileContent::SystemInformation(it) => it.write_fields(self),
            FileContent::GeofencingZones(zones) => {
                self.write_key(name);
                self.write_object(|writing| {
                    writing.write_key("type");
                    writing.write_json_value("FeatureCollection");
                    writing.write_key("features");
                    writing
                        .write_list(zones.zones.iter(), |zone, writing| zone.write_value(writing));
                });
                if self.version == WritableGbfsVersion::Three {
                    self.write_key("global_rules");
                    self.write_list(zones.global_rules.iter(), |rule, writing| {
                        rule.write_value(writing)
                    });
                } else {
                    zones
                        .global_rules
                        .iter()
                        .for_each(|_| self.count_dropped_field("global_rules"));
                }
            }
            FileContent::VehicleTypes(all) => self.write_record_list(content, all),
            FileContent::StationInformation(all) => self.write_record_list(content, all),
            FileContent::StationStatus(all) => self.write_record_list(content, all),
            FileContent::VehicleStatus(all) => self.write_record_list(content, all),
            FileContent::VehicleAvailability(all) => self.write_record_list(content, all),
            FileContent::Regions(all) => self.write_record_list(content, all),
            FileContent::PricingPlans(all) => self.write_record_list(content, all),
            FileContent::Alerts(all) => self.write_record_list(content, all),
            FileContent::Hours(all) => self.write_record_list(content, all),
            FileContent::Calendar(all) => self.write_record_list(content, all),
            FileContent::Versions(all) => self.write_record_list(content, all),
            FileContent::Manifest(all) => self.write_record_list(content, all),
        }
    }

    fn write_record_list<T: FieldValue>(&mut self, content: &FileContent, records: &[T]) {
        self.write_key(content.file_kind().record_list_key(self.version.major_version()));
        self.write_list(records.iter(), |record, writing| record.write_value(writing));
    }
}

//! Files as version 2.3 or 3.0 has them.

use super::{
    file::{Content, Head},
    record::{Leaf, Record},
    records::{StationInformation, StationStatus, VehicleStatus},
    values::{Id, Time},
    writing::{Version, Writing},
};
use crate::Losses;

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its bytes.
    pub body: Vec<u8>,
    /// What this version cannot say, by field.
    pub lost: Losses,
}

/// Writes a file; `None` if this version has none of the kind. Where a version has only one language, it is `language`
/// as far as texts are in it.
pub fn encode_file(
    content: &Content,
    head: &Head,
    version: Version,
    language: &str,
) -> Option<Written> {
    let name = content.kind().name(version.major())?;
    let mut writing = Writing::new(version, language, Vec::new());
    writing.frame(head, |writing| writing.content(content, name));
    Some(Written { body: writing.text, lost: writing.lost })
}

/// Writes a discovery file with these files and addresses, by the language that they are in; from version 3 on, where one
/// file has all languages, those of the first.
pub fn encode_discovery<'a>(
    languages: &[(String, Vec<(&'a str, String)>)],
    head: &Head,
    version: Version,
) -> Vec<u8> {
    let mut writing = Writing::new(version, "", Vec::new());
    let feeds = |writing: &mut Writing, files: &[(&'a str, String)]| {
        writing.key("feeds");
        writing.list(files.iter(), |(name, url), writing| {
            writing.object(|writing| {
                writing.key("name");
                writing.json(name);
                writing.key("url");
                writing.json(&url);
            });
        });
    };
    writing.frame(head, |writing| match version {
        Version::Three => feeds(writing, languages.first().map_or(&[], |(_, files)| files)),
        Version::Two => {
            for (language, files) in languages {
                writing.key(language);
                writing.object(|writing| feeds(writing, files));
            }
        }
    });
    writing.text
}

/// A station's information as an object with the fields of version 3.
pub fn station_object(station: &StationInformation) -> Vec<u8> {
    object(|writing| station.write_fields(writing))
}

/// A station's status as an object with the fields of version 3, without its id: what stands in one object with its
/// information.
pub fn status_object(status: &StationStatus) -> Vec<u8> {
    let nameless = StationStatus { station_id: Id::default(), ..status.clone() };
    object(|writing| nameless.write_fields(writing))
}

/// A vehicle as an object with the fields of version 3.
pub fn vehicle_object(vehicle: &VehicleStatus) -> Vec<u8> {
    object(|writing| vehicle.write_fields(writing))
}

fn object(write: impl FnOnce(&mut Writing)) -> Vec<u8> {
    let mut writing = Writing::new(Version::Three, "", Vec::new());
    writing.object(write);
    writing.text
}

impl Writing {
    fn frame(&mut self, head: &Head, data: impl FnOnce(&mut Writing)) {
        let version = self.version.as_str();
        self.object(|writing| {
            if let Some(at) = head.last_updated {
                writing.key("last_updated");
                Time(at).write(writing);
            }
            writing.key("ttl");
            writing.json(&head.ttl.unwrap_or(0));
            writing.key("version");
            writing.json(version);
            writing.key("data");
            writing.object(data);
        });
    }

    fn content(&mut self, content: &Content, name: &'static str) {
        match content {
            Content::SystemInformation(it) => it.write_fields(self),
            Content::GeofencingZones(zones) => {
                self.key(name);
                self.object(|writing| {
                    writing.key("type");
                    writing.json("FeatureCollection");
                    writing.key("features");
                    writing.list(zones.zones.iter(), |zone, writing| zone.write(writing));
                });
                if self.version == Version::Three {
                    self.key("global_rules");
                    self.list(zones.global_rules.iter(), |rule, writing| rule.write(writing));
                } else {
                    zones.global_rules.iter().for_each(|_| self.lose_field("global_rules"));
                }
            }
            Content::VehicleTypes(all) => self.all(content, all),
            Content::StationInformation(all) => self.all(content, all),
            Content::StationStatus(all) => self.all(content, all),
            Content::VehicleStatus(all) => self.all(content, all),
            Content::VehicleAvailability(all) => self.all(content, all),
            Content::Regions(all) => self.all(content, all),
            Content::PricingPlans(all) => self.all(content, all),
            Content::Alerts(all) => self.all(content, all),
            Content::Hours(all) => self.all(content, all),
            Content::Calendar(all) => self.all(content, all),
            Content::Versions(all) => self.all(content, all),
            Content::Manifest(all) => self.all(content, all),
        }
    }

    fn all<T: Leaf>(&mut self, content: &Content, records: &[T]) {
        self.key(content.kind().list(self.version.major()));
        self.list(records.iter(), |record, writing| record.write(writing));
    }
}

//! Places and stop points: `StopPlace`, `Quay`, `ScheduledStopPoint`, and which is where.

use super::{
    reader::Reader,
    record::{Place, StopAssignment, StopPoint},
};
use crate::{Error, gtfs::Text};

impl Reader<'_, '_> {
    pub(super) fn stop_place(&mut self) -> Result<(), Error> {
        self.count_bytes(size_of::<Place>())?;
        let mut place = Place { id: self.id(), file: self.file, ..Place::default() };
        while let Some(name) = self.xml.next_child()? {
            match name {
                "quays" => {
                    while let Some(name) = self.xml.next_child()? {
                        match name {
                            "Quay" => self.within(|reader| reader.quay(place.id))?,
                            // A quay that stands beside it, and mostly does not name it itself.
                            "QuayRef" => {
                                let quay = self.reference()?;
                                self.count_bytes(size_of::<(Text, Text)>())?;
                                self.out.place_of_quay.push((quay, place.id));
                            }
                            _ => self.xml.skip()?,
                        }
                    }
                }
                "ParentSiteRef" => place.parent = self.reference()?,
                name => self.place_field(name, &mut place)?,
            }
        }
        self.out.stop_places.push(place);
        Ok(())
    }

    /// Reads a `Quay`, which stands in the stop place `parent` or alone.
    pub(super) fn quay(&mut self, parent: Text) -> Result<(), Error> {
        self.count_bytes(size_of::<Place>())?;
        let mut quay = Place { id: self.id(), parent, file: self.file, ..Place::default() };
        while let Some(name) = self.xml.next_child()? {
            match name {
                "SiteRef" | "ParentSiteRef" if quay.parent == Text::EMPTY => {
                    quay.parent = self.reference()?;
                }
                // How the French profile names its stop place; others name zones of fares so.
                "ParentZoneRef" => {
                    let zone = self.reference()?;
                    self.count_bytes(size_of::<(Text, Text)>())?;
                    self.out.place_of_quay.push((quay.id, zone));
                }
                "Label" => quay.label = self.text_kept()?,
                name => self.place_field(name, &mut quay)?,
            }
        }
        self.out.quays.push(quay);
        Ok(())
    }

    fn place_field(&mut self, name: &str, place: &mut Place) -> Result<(), Error> {
        match name {
            "Name" => place.name = self.text_kept()?,
            "PublicCode" => place.public_code = self.text_kept()?,
            "Centroid" | "Location" => {
                let n_unread = self.n_unread();
                let point = self.location()?;
                self.keep_unread(place.id, n_unread)?;
                place.point = place.point.or(point);
            }
            "AccessibilityAssessment" => place.wheelchair = self.wheelchair()?,
            _ => self.xml.skip()?,
        }
        Ok(())
    }

    /// What an assessment says about wheelchairs, or else about everybody who walks badly.
    fn wheelchair(&mut self) -> Result<Option<bool>, Error> {
        let (mut overall, mut wheelchair) = (None, None);
        while let Some(name) = self.xml.next_child()? {
            match name {
                "MobilityImpairedAccess" => overall = self.limitation()?,
                "limitations" => {
                    while self.xml.next_child()?.is_some() {
                        while let Some(name) = self.xml.next_child()? {
                            if name == "WheelchairAccess" {
                                wheelchair = self.limitation()?;
                            } else {
                                self.xml.skip()?;
                            }
                        }
                    }
                }
                _ => self.xml.skip()?,
            }
        }
        Ok(wheelchair.or(overall))
    }

    /// Whether something is so; nothing where it is so in part, or nobody knows.
    fn limitation(&mut self) -> Result<Option<bool>, Error> {
        Ok(match &*self.text()? {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        })
    }

    pub(super) fn stop_point(&mut self) -> Result<(), Error> {
        self.count_bytes(size_of::<StopPoint>())?;
        let mut point = StopPoint { id: self.id(), file: self.file, ..StopPoint::default() };
        while let Some(name) = self.xml.next_child()? {
            match name {
                "Name" => point.name = self.text_kept()?,
                "PublicCode" => point.public_code = self.text_kept()?,
                "Location" => {
                    let n_unread = self.n_unread();
                    point.point = self.location()?;
                    self.keep_unread(point.id, n_unread)?;
                }
                _ => self.xml.skip()?,
            }
        }
        self.out.stop_points.push(point);
        Ok(())
    }

    pub(super) fn stop_assignment(&mut self) -> Result<(), Error> {
        self.count_bytes(size_of::<StopAssignment>())?;
        let mut assignment = StopAssignment { file: self.file, ..StopAssignment::default() };
        while let Some(name) = self.xml.next_child()? {
            match name {
                "ScheduledStopPointRef" => assignment.stop_point = self.reference()?,
                "QuayRef" => assignment.quay = self.reference()?,
                "StopPlaceRef" => assignment.stop_place = self.reference()?,
                _ => self.xml.skip()?,
            }
        }
        self.out.stop_assignments.push(assignment);
        Ok(())
    }
}

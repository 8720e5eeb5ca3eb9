//! Reads locations: `StopPlace`, `Quay`, `ScheduledStopPoint`, and the relations between them.

use super::{
    reader::PublicationReader,
    record::{PassengerStopAssignment, ScheduledStopPoint, StopPlaceOrQuay},
};
use crate::{Error, gtfs::TextId};

impl PublicationReader<'_, '_> {
    pub(super) fn read_stop_place(&mut self) -> Result<(), Error> {
        self.count_record_bytes(size_of::<StopPlaceOrQuay>())?;
        let mut place = StopPlaceOrQuay {
            id: self.intern_element_id(),
            file: self.file,
            ..StopPlaceOrQuay::default()
        };
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "quays" => {
                    while let Some(name) = self.xml.open_next_child()? {
                        match name {
                            "Quay" => {
                                self.read_nested_object(|reader| reader.read_quay(place.id))?
                            }
                            // A quay outside of the place, which usually does not refer to the place.
                            "QuayRef" => {
                                let quay = self.read_reference()?;
                                self.count_record_bytes(size_of::<(TextId, TextId)>())?;
                                self.out.place_of_quay.push((quay, place.id));
                            }
                            _ => self.xml.skip_element()?,
                        }
                    }
                }
                "ParentSiteRef" => place.parent = self.read_reference()?,
                name => self.read_common_stop_field(name, &mut place)?,
            }
        }
        self.out.stop_places.push(place);
        Ok(())
    }

    /// Reads a `Quay`, which is inside the stop place `parent` or alone.
    pub(super) fn read_quay(&mut self, parent: TextId) -> Result<(), Error> {
        self.count_record_bytes(size_of::<StopPlaceOrQuay>())?;
        let mut quay = StopPlaceOrQuay {
            id: self.intern_element_id(),
            parent,
            file: self.file,
            ..StopPlaceOrQuay::default()
        };
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "SiteRef" | "ParentSiteRef" if quay.parent == TextId::EMPTY => {
                    quay.parent = self.read_reference()?;
                }
                // The French profile refers to the stop place by this element; others use it for fare zones.
                "ParentZoneRef" => {
                    let zone = self.read_reference()?;
                    self.count_record_bytes(size_of::<(TextId, TextId)>())?;
                    self.out.place_of_quay.push((quay.id, zone));
                }
                "Label" => quay.label = self.read_interned_text()?,
                name => self.read_common_stop_field(name, &mut quay)?,
            }
        }
        self.out.quays.push(quay);
        Ok(())
    }

    fn read_common_stop_field(
        &mut self,
        name: &str,
        place: &mut StopPlaceOrQuay,
    ) -> Result<(), Error> {
        match name {
            "Name" => place.name = self.read_interned_text()?,
            "PublicCode" => place.public_code = self.read_interned_text()?,
            "Centroid" | "Location" => {
                let n_unread = self.unreadable_value_count();
                let point = self.read_location()?;
                self.mark_unreadable_record(place.id, n_unread)?;
                place.point = place.point.or(point);
            }
            "AccessibilityAssessment" => place.wheelchair = self.read_wheelchair_access()?,
            _ => self.xml.skip_element()?,
        }
        Ok(())
    }

    /// Reads the accessibility for wheelchairs, or else for all persons with impaired mobility.
    fn read_wheelchair_access(&mut self) -> Result<Option<bool>, Error> {
        let (mut overall, mut wheelchair) = (None, None);
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "MobilityImpairedAccess" => overall = self.read_limitation_status()?,
                "limitations" => {
                    while self.xml.open_next_child()?.is_some() {
                        while let Some(name) = self.xml.open_next_child()? {
                            if name == "WheelchairAccess" {
                                wheelchair = self.read_limitation_status()?;
                            } else {
                                self.xml.skip_element()?;
                            }
                        }
                    }
                }
                _ => self.xml.skip_element()?,
            }
        }
        Ok(wheelchair.or(overall))
    }

    /// Reads a boolean; `None` if it is partial or unknown.
    fn read_limitation_status(&mut self) -> Result<Option<bool>, Error> {
        Ok(match &*self.read_text()? {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        })
    }

    pub(super) fn read_scheduled_stop_point(&mut self) -> Result<(), Error> {
        self.count_record_bytes(size_of::<ScheduledStopPoint>())?;
        let mut point = ScheduledStopPoint {
            id: self.intern_element_id(),
            file: self.file,
            ..ScheduledStopPoint::default()
        };
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "Name" => point.name = self.read_interned_text()?,
                "PublicCode" => point.public_code = self.read_interned_text()?,
                "Location" => {
                    let n_unread = self.unreadable_value_count();
                    point.point = self.read_location()?;
                    self.mark_unreadable_record(point.id, n_unread)?;
                }
                _ => self.xml.skip_element()?,
            }
        }
        self.out.stop_points.push(point);
        Ok(())
    }

    pub(super) fn read_passenger_stop_assignment(&mut self) -> Result<(), Error> {
        self.count_record_bytes(size_of::<PassengerStopAssignment>())?;
        let mut assignment =
            PassengerStopAssignment { file: self.file, ..PassengerStopAssignment::default() };
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "ScheduledStopPointRef" => assignment.stop_point = self.read_reference()?,
                "QuayRef" => assignment.quay = self.read_reference()?,
                "StopPlaceRef" => assignment.stop_place = self.read_reference()?,
                _ => self.xml.skip_element()?,
            }
        }
        self.out.stop_assignments.push(assignment);
        Ok(())
    }
}

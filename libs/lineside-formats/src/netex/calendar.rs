//! Reads validity: day types and their assignments, periods, operating days and availability conditions.

use super::{
    days::{ALL_WEEK, EpochDay},
    reader::PublicationReader,
    record::{AvailabilityCondition, DayType, DayTypeAssignment, OperatingDay, OperatingPeriod},
};
use crate::{Error, gtfs::TextId};

/// Elements other than weekdays that restrict the days of a day type.
const NARROWING: [&str; 7] = [
    "HolidayTypes",
    "WeeksOfMonth",
    "MonthOfYear",
    "DayOfMonth",
    "DayOfYear",
    "DaysOfYear",
    "SeasonTypes",
];

impl PublicationReader<'_, '_> {
    pub(super) fn read_day_type(&mut self) -> Result<(), Error> {
        self.count_record_bytes(size_of::<DayType>())?;
        let n_unread = self.unreadable_value_count();
        let mut day_type =
            DayType { id: self.intern_element_id(), file: self.file, ..DayType::default() };
        while let Some(name) = self.xml.open_next_child()? {
            if name == "properties" {
                while self.xml.open_next_child()?.is_some() {
                    self.read_property_of_day(&mut day_type)?;
                }
            } else {
                self.xml.skip_element()?;
            }
        }
        self.mark_unreadable_record(day_type.id, n_unread)?;
        self.out.day_types.push(day_type);
        Ok(())
    }

    /// Reads the properties of a day type's days. Weekdays are converted; the days of other restrictions are not known.
    fn read_property_of_day(&mut self, day_type: &mut DayType) -> Result<(), Error> {
        while let Some(name) = self.xml.open_next_child()? {
            if name == "DaysOfWeek" {
                let text = self.read_text()?;
                let named = parse_weekdays(&text);
                day_type.weekdays |= named;
                day_type.has_unsupported_properties |= named == 0 && !text.trim_ascii().is_empty();
            } else if let Some(kind) = NARROWING.iter().find(|kind| **kind == name) {
                let text = self.read_text()?;
                if text.trim_ascii() == "AnyDay" {
                    continue;
                }
                day_type.has_unsupported_properties = true;
                let id = self.out.texts.get(day_type.id).to_owned();
                self.out.untranslated.record_dropped_object(
                    *kind,
                    "only the weekdays are defined",
                    Some(&id),
                );
            } else {
                self.xml.skip_element()?;
            }
        }
        Ok(())
    }

    pub(super) fn read_day_type_assignment(&mut self) -> Result<(), Error> {
        self.count_record_bytes(size_of::<DayTypeAssignment>())?;
        let n_unread = self.unreadable_value_count();
        let mut assignment = DayTypeAssignment { file: self.file, ..DayTypeAssignment::default() };
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "DayTypeRef" => assignment.day_type = self.read_reference()?,
                "Date" => assignment.date = self.read_date()?,
                "OperatingPeriodRef" | "UicOperatingPeriodRef" => {
                    assignment.period = self.read_reference()?;
                }
                "OperatingDayRef" => assignment.operating_day = self.read_reference()?,
                "isAvailable" => assignment.excludes = self.read_boolean()? == Some(false),
                _ => self.xml.skip_element()?,
            }
        }
        // An unreadable exclusion can only lead to more days, so it does not count.
        if !assignment.excludes {
            self.mark_unreadable_record(assignment.day_type, n_unread)?;
        }
        self.out.day_assignments.push(assignment);
        Ok(())
    }

    pub(super) fn read_operating_period(&mut self) -> Result<(), Error> {
        self.count_record_bytes(size_of::<OperatingPeriod>())?;
        let n_unread = self.unreadable_value_count();
        let mut period =
            OperatingPeriod { id: self.intern_element_id(), ..OperatingPeriod::default() };
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "FromDate" => period.from = self.read_date()?,
                "ToDate" => period.to = self.read_date()?,
                "FromOperatingDayRef" => period.from_day = self.read_reference()?,
                "ToOperatingDayRef" => period.to_day = self.read_reference()?,
                "ValidDayBits" => period.bits = self.read_interned_text()?,
                _ => self.xml.skip_element()?,
            }
        }
        self.mark_unreadable_record(period.id, n_unread)?;
        self.out.periods.push(period);
        Ok(())
    }

    pub(super) fn read_operating_day(&mut self) -> Result<(), Error> {
        self.count_record_bytes(size_of::<OperatingDay>())?;
        let n_unread = self.unreadable_value_count();
        let (id, mut date) = (self.intern_element_id(), None);
        while let Some(name) = self.xml.open_next_child()? {
            if name == "CalendarDate" {
                date = self.read_date()?
            } else {
                self.xml.skip_element()?
            }
        }
        self.mark_unreadable_record(id, n_unread)?;
        self.out.operating_days.push(OperatingDay { id, date });
        Ok(())
    }

    /// Reads an `AvailabilityCondition` or a `ValidBetween` and returns its id. A condition without an id gets one, so
    /// that the enclosing object can refer to it.
    pub(super) fn read_availability_condition(&mut self) -> Result<TextId, Error> {
        self.count_record_bytes(size_of::<AvailabilityCondition>())?;
        let n_unread = self.unreadable_value_count();
        let mut condition = AvailabilityCondition {
            id: self.intern_element_id(),
            ..AvailabilityCondition::default()
        };
        if condition.id == TextId::EMPTY {
            let id = format!("condition {} of file {}", self.out.conditions.len(), self.file);
            condition.id = self.out.texts.intern(&id);
        }
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "FromDate" => condition.from = self.read_date()?,
                "ToDate" => condition.to = self.read_date()?,
                "ValidDayBits" => condition.bits = self.read_interned_text()?,
                "IsAvailable" => condition.excludes = self.read_boolean()? == Some(false),
                "dayTypes" => condition.day_types = self.read_references("DayTypeRef")?,
                "operatingDays" => {
                    condition.operating_days = self.read_references("OperatingDayRef")?
                }
                _ => self.xml.skip_element()?,
            }
        }
        let id = condition.id;
        self.mark_unreadable_record(id, n_unread)?;
        self.out.conditions.push(condition);
        Ok(id)
    }

    /// Reads an `AvailabilityCondition` outside of journeys. Journeys may refer to it; directly in a frame it is the
    /// frame's validity.
    pub(super) fn read_standalone_condition(&mut self) -> Result<(), Error> {
        let n_unread = self.unreadable_value_count();
        self.read_availability_condition()?;
        let known = self.out.conditions.last().filter(|_| self.is_frame_validity_element());
        if let Some(&AvailabilityCondition { from, to, .. }) = known {
            self.record_frame_validity(from, to, n_unread);
        }
        Ok(())
    }

    /// Reads a `ServiceCalendar`: the validity of its day types, and its other members.
    pub(super) fn read_service_calendar(&mut self) -> Result<(), Error> {
        let (mut from, mut to, mut n_unread) = (None, None, self.unreadable_value_count());
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "FromDate" => from = self.read_date()?,
                "ToDate" => to = self.read_date()?,
                _ => {
                    let before = self.unreadable_value_count();
                    self.read_child_members()?;
                    n_unread += self.unreadable_value_count() - before;
                }
            }
        }
        self.record_frame_validity(from, to, n_unread);
        Ok(())
    }

    /// Reads the `ValidBetween` of a frame.
    pub(super) fn read_frame_validity(&mut self) -> Result<(), Error> {
        let (mut from, mut to, n_unread) = (None, None, self.unreadable_value_count());
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "FromDate" => from = self.read_date()?,
                "ToDate" => to = self.read_date()?,
                _ => self.xml.skip_element()?,
            }
        }
        self.record_frame_validity(from, to, n_unread);
        Ok(())
    }

    /// Records the validity of a frame; `n_unread` is the count of unreadable values before it.
    fn record_frame_validity(
        &mut self,
        from: Option<EpochDay>,
        to: Option<EpochDay>,
        n_unread: u64,
    ) {
        if let (Some(from), Some(to)) = (from, to) {
            self.widen_frame_validity(from, to);
        } else if self.unreadable_value_count() > n_unread {
            self.out.unread_validity.insert(self.file);
        }
    }

    fn widen_frame_validity(&mut self, from: EpochDay, to: EpochDay) {
        let widen = |known: Option<(EpochDay, EpochDay)>| match known {
            Some((first, last)) => (first.min(from), last.max(to)),
            None => (from, to),
        };
        self.out.validity = Some(widen(self.out.validity));
        let of_file = self.out.validity_of_file.get(&self.file).copied();
        self.out.validity_of_file.insert(self.file, widen(of_file));
    }
}

/// Returns the weekdays in a list of names of days or groups of days.
fn parse_weekdays(text: &str) -> u8 {
    const NAMES: [(&str, u8); 10] = [
        ("Monday", 1),
        ("Tuesday", 1 << 1),
        ("Wednesday", 1 << 2),
        ("Thursday", 1 << 3),
        ("Friday", 1 << 4),
        ("Saturday", 1 << 5),
        ("Sunday", 1 << 6),
        ("Weekdays", 0b1_1111),
        ("Weekend", 0b110_0000),
        ("Everyday", ALL_WEEK),
    ];
    let of = |word: &str| NAMES.iter().find(|(name, _)| *name == word).map_or(0, |(_, bits)| *bits);
    text.split_ascii_whitespace().fold(0, |bits, word| bits | of(word))
}

#[cfg(test)]
mod tests {
    use super::{ALL_WEEK, parse_weekdays};

    #[test]
    fn weekdays_are_read_by_name_and_by_group() {
        assert_eq!(parse_weekdays("Monday"), 1);
        assert_eq!(parse_weekdays("Monday Sunday"), 0b100_0001);
        assert_eq!(parse_weekdays("Weekdays  Saturday"), 0b11_1111);
        assert_eq!(parse_weekdays("Everyday"), ALL_WEEK);
        assert_eq!(parse_weekdays("none"), 0);
    }
}

//! The tables that map elements to fields, one per record, in the order of SIRI's schema. XML and JSON are both read
//! and written through these tables only.

use smol_str::SmolStr;

use super::{
    ArrivalBoardingActivity, CallStatus, DepartureBoardingActivity, DurationSeconds, LanguageText,
    Occupancy, Severity, SiriTime, SituationProgress, UnreadableElements,
    reader::MessageReader,
    sink::MessageSink,
    source::MessageSource,
    values::{JsonValueForm, TextValue},
};
use crate::Error;

/// The result of a read. A fault of one element is a problem of the reader, not an error.
pub(super) type ReadResult<T> = Result<T, Error>;

/// A record with named elements.
pub(super) trait SiriRecord: Default {
    /// True if the record is a payload, whose fields may be inside elements of an envelope.
    const IS_PAYLOAD: bool = false;

    /// Returns the field for the version in an attribute.
    fn version_mut(&mut self) -> Option<&mut Option<SmolStr>> {
        None
    }

    /// Returns the field for unreadable elements; `None` if the enclosing record stores them.
    fn unread_mut(&mut self) -> Option<&mut UnreadableElements> {
        None
    }

    /// Reads the most recently opened child, if the table has its name.
    fn read_child<'a, S: MessageSource<'a>>(
        &mut self,
        tag: &str,
        from: &mut MessageReader<'a, S>,
    ) -> ReadResult<bool>;

    /// Writes all fields, in the order of the table.
    fn write_children<W: MessageSink>(&self, sink: &mut W);

    /// Writes all fields, in the order that they have in an element with that name.
    fn write_children_of<W: MessageSink>(&self, _element: &str, sink: &mut W) {
        self.write_children(sink);
    }

    /// Writes each field once, with a sample value.
    fn write_samples<W: MessageSink>(sink: &mut W);

    /// Returns a record in which `fill` percent of the fields have a value.
    #[cfg(test)]
    fn random(rng: &mut fastrand::Rng, fill: u8) -> Self;
}

/// A record whose problems name its id.
pub(super) trait IdentifiedRecord {
    /// Returns the producer's id of the record.
    fn record_id(&self) -> Option<&str>;

    /// Returns a missing field without which the record is meaningless.
    fn missing_field(&self) -> Option<&'static str>;
}

/// A field: reads and writes one kind of element.
pub(super) trait RecordElement: Default {
    fn read_element<'a, S: MessageSource<'a>>(
        &mut self,
        tag: &'static str,
        from: &mut MessageReader<'a, S>,
    ) -> ReadResult<()>;

    fn write_element<W: MessageSink>(&self, name: &'static str, sink: &mut W);

    /// Writes the element with a sample value.
    fn write_sample<W: MessageSink>(name: &'static str, sink: &mut W);

    /// Returns true if there is nothing to write.
    fn is_absent(&self) -> bool;

    /// Returns a field with a random value.
    #[cfg(test)]
    fn random(rng: &mut fastrand::Rng, fill: u8) -> Self;
}

macro_rules! leaves {
    ($($Leaf:ty),+ $(,)?) => {
        $(impl RecordElement for Option<$Leaf> {
            #[inline]
            fn read_element<'a, S: MessageSource<'a>>(
                &mut self,
                name: &'static str,
                reader: &mut MessageReader<'a, S>,
            ) -> Result<(), Error> {
                reader.read_value(name, self)
            }

            fn write_element<W: MessageSink>(&self, name: &'static str, sink: &mut W) {
                if let Some(value) = self {
                    value.with_text(|text, form| sink.write_leaf(name, text, form));
                }
            }

            fn write_sample<W: MessageSink>(name: &'static str, sink: &mut W) {
                sink.write_leaf(name, <$Leaf as TextValue>::sample(name), $crate::siri::values::JsonValueForm::Quoted);
            }

            fn is_absent(&self) -> bool {
                self.is_none()
            }

            #[cfg(test)]
            fn random(rng: &mut fastrand::Rng, _: u8) -> Self {
                Some(super::values::TextValue::random(rng))
            }
        })+
    };
}

leaves!(
    SmolStr,
    SiriTime,
    DurationSeconds,
    bool,
    u32,
    f64,
    CallStatus,
    Occupancy,
    ArrivalBoardingActivity,
    DepartureBoardingActivity,
    Severity,
    SituationProgress,
);

impl RecordElement for Vec<SmolStr> {
    fn read_element<'a, S: MessageSource<'a>>(
        &mut self,
        name: &'static str,
        reader: &mut MessageReader<'a, S>,
    ) -> Result<(), Error> {
        reader.count_record_bytes(size_of::<SmolStr>())?;
        let text = reader.source.read_element_text()?;
        if let Some(value) = reader.parse_text_value(name, &text) {
            self.reserve_exact(usize::from(self.is_empty()));
            self.push(value);
        }
        Ok(())
    }

    fn write_element<W: MessageSink>(&self, name: &'static str, sink: &mut W) {
        sink.write_list(name, self, |sink, text| {
            sink.write_leaf(name, text, JsonValueForm::Quoted)
        });
    }

    fn write_sample<W: MessageSink>(name: &'static str, sink: &mut W) {
        sink.write_leaf(name, SmolStr::sample(name), JsonValueForm::Quoted);
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }

    #[cfg(test)]
    fn random(rng: &mut fastrand::Rng, _: u8) -> Self {
        (0..rng.usize(1..3)).map(|_| super::values::TextValue::random(rng)).collect()
    }
}

impl RecordElement for Vec<LanguageText> {
    fn read_element<'a, S: MessageSource<'a>>(
        &mut self,
        name: &'static str,
        reader: &mut MessageReader<'a, S>,
    ) -> Result<(), Error> {
        reader.count_record_bytes(size_of::<LanguageText>())?;
        let (language, text) = reader.source.read_element_text_and_language()?;
        if let Some(value) = reader.parse_text_value(name, &text) {
            // Nearly all texts are in one language.
            self.reserve_exact(usize::from(self.is_empty()));
            let lang = language.and_then(|language| reader.parse_text_value(name, &language));
            self.push(LanguageText { lang, value });
        }
        Ok(())
    }

    fn write_element<W: MessageSink>(&self, name: &'static str, sink: &mut W) {
        sink.write_list(name, self, |sink, text| {
            sink.write_localized_text(name, text.lang.as_deref(), &text.value);
        });
    }

    fn write_sample<W: MessageSink>(name: &'static str, sink: &mut W) {
        sink.write_localized_text(name, Some("nb"), SmolStr::sample(name));
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }

    #[cfg(test)]
    fn random(rng: &mut fastrand::Rng, _: u8) -> Self {
        let mut text = || {
            let lang = rng.bool().then(|| SmolStr::new_static("nb"));
            LanguageText { lang, value: super::values::TextValue::random(rng) }
        };
        vec![text(), text()]
    }
}

/// An element whose presence is its meaning, whatever it contains; only the text `false` means false.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PresenceFlag(pub bool);

impl RecordElement for PresenceFlag {
    fn read_element<'a, S: MessageSource<'a>>(
        &mut self,
        _: &'static str,
        reader: &mut MessageReader<'a, S>,
    ) -> Result<(), Error> {
        self.0 = reader.source.read_element_text()?.trim_ascii() != "false";
        Ok(())
    }

    fn write_element<W: MessageSink>(&self, name: &'static str, sink: &mut W) {
        if self.0 {
            sink.write_presence_element(name);
        }
    }

    fn write_sample<W: MessageSink>(name: &'static str, sink: &mut W) {
        sink.write_presence_element(name);
    }

    fn is_absent(&self) -> bool {
        !self.0
    }

    #[cfg(test)]
    fn random(_: &mut fastrand::Rng, _: u8) -> Self {
        PresenceFlag(true)
    }
}

/// Implements a field for a record: optional, boxed, or as a list.
macro_rules! elements {
    ($Name:ty, $read:ident) => {
        impl $crate::siri::record::RecordElement for Option<$Name> {
            fn read_element<'a, S: $crate::siri::source::MessageSource<'a>>(
                &mut self,
                name: &'static str,
                reader: &mut $crate::siri::reader::MessageReader<'a, S>,
            ) -> Result<(), $crate::Error> {
                reader.read_record(name, self.get_or_insert_default())
            }

            $crate::siri::record::elements!(@others $Name, |this| this.as_ref(), |record| Some(record));
        }

        impl $crate::siri::record::RecordElement for Option<Box<$Name>> {
            fn read_element<'a, S: $crate::siri::source::MessageSource<'a>>(
                &mut self,
                name: &'static str,
                reader: &mut $crate::siri::reader::MessageReader<'a, S>,
            ) -> Result<(), $crate::Error> {
                if self.is_none() {
                    reader.count_record_bytes(size_of::<$Name>())?;
                }
                reader.read_record(name, &mut **self.get_or_insert_default())
            }

            $crate::siri::record::elements!(@others $Name, |this| this.as_deref(), |record| Some(Box::new(record)));
        }

        impl $crate::siri::record::RecordElement for Vec<$Name> {
            fn read_element<'a, S: $crate::siri::source::MessageSource<'a>>(
                &mut self,
                name: &'static str,
                reader: &mut $crate::siri::reader::MessageReader<'a, S>,
            ) -> Result<(), $crate::Error> {
                reader.count_record_bytes(size_of::<$Name>())?;
                // Records are large, so they are filled in place.
                self.push(<$Name>::default());
                match self.last_mut() {
                    Some(record) => reader.$read(name, record),
                    None => Ok(()),
                }
            }

            fn write_element<W: $crate::siri::sink::MessageSink>(&self, name: &'static str, sink: &mut W) {
                sink.write_list(name, self, |sink, record| sink.write_record(name, record));
            }

            $crate::siri::record::elements!(@sample $Name);

            fn is_absent(&self) -> bool {
                self.is_empty()
            }

            #[cfg(test)]
            fn random(rng: &mut fastrand::Rng, fill: u8) -> Self {
                let n = rng.usize(1..3);
                (0..n).map(|_| $crate::siri::record::SiriRecord::random(rng, fill)).collect()
            }
        }
    };
    (@sample $Name:ty) => {
        fn write_sample<W: $crate::siri::sink::MessageSink>(name: &'static str, sink: &mut W) {
            sink.begin_element(name);
            <$Name as $crate::siri::record::SiriRecord>::write_samples(sink);
            sink.end_element(name);
        }
    };
    (@others $Name:ty, |$this:ident| $as_ref:expr, |$record:ident| $wrapped:expr) => {
        fn write_element<W: $crate::siri::sink::MessageSink>(&self, name: &'static str, sink: &mut W) {
            let $this = self;
            if let Some(record) = $as_ref {
                let record: &$Name = record;
                sink.write_record(name, record);
            }
        }

        $crate::siri::record::elements!(@sample $Name);

        fn is_absent(&self) -> bool {
            self.is_none()
        }

        #[cfg(test)]
        fn random(rng: &mut fastrand::Rng, fill: u8) -> Self {
            let $record: $Name = $crate::siri::record::SiriRecord::random(rng, fill);
            $wrapped
        }
    };
}

/// Declares records with the names of their elements: `field: Type = "Element"`, or `= "List" > "Element"` for a list
/// inside an element. After the name of the record: `payload`, `delivery` (has a head and a version), `answer` (is
/// both), `versioned`, `named`, `journey` (is named, and has another order if monitored) or `call` (has another order
/// if recorded). `..head: Type` reads elements that the table does not name; `?unread` stores unreadable elements.
macro_rules! records {
    ($(
        $(#[$about:meta])*
        pub struct $Name:ident $(: $kind:ident)? {
            $(..$base:ident: $Base:ty,)?
            $(?$unread:ident,)?
            $($(#[$meaning:meta])* $field:ident: $Type:ty = $name:literal $(| $alias:literal)* $(> $inner:literal)?,)*
        }
    )+) => { $(
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $Name {
            $(
                /// The common head of such records.
                pub $base: $Base,
            )?
            $(
                /// Unreadable elements, except those of nested records that store their own.
                pub $unread: $crate::siri::UnreadableElements,
            )?
            $($(#[$meaning])* pub $field: $Type,)*
        }

        impl $crate::siri::record::SiriRecord for $Name {
            $(records!(@properties $kind);)?

            $(fn unread_mut(&mut self) -> Option<&mut $crate::siri::UnreadableElements> {
                $crate::siri::record::SiriRecord::unread_mut(&mut self.$base)
            })?

            $(fn unread_mut(&mut self) -> Option<&mut $crate::siri::UnreadableElements> {
                Some(&mut self.$unread)
            })?

            fn read_child<'a, S: $crate::siri::source::MessageSource<'a>>(
                &mut self,
                name: &str,
                reader: &mut $crate::siri::reader::MessageReader<'a, S>,
            ) -> Result<bool, $crate::Error> {
                match name {
                    $($name $(| $alias)* => records!(@read self, $field, reader, $name $(> $inner)?),)*
                    _ => return records!(@otherwise self, name, reader $(, $base)?),
                }
                Ok(true)
            }

            fn write_children<W: $crate::siri::sink::MessageSink>(&self, sink: &mut W) {
                $($crate::siri::record::SiriRecord::write_children(&self.$base, sink);)?
                self.write_fields(|_| true, sink);
            }

            fn write_samples<W: $crate::siri::sink::MessageSink>(sink: &mut W) {
                $(<$Base as $crate::siri::record::SiriRecord>::write_samples(sink);)?
                $(records!(@sample $Type, sink, $name $(> $inner)?);)*
            }

            #[cfg(test)]
            fn random(rng: &mut fastrand::Rng, fill: u8) -> Self {
                $Name {
                    $($unread: Default::default(),)?
                    $($base: <$Base as $crate::siri::record::SiriRecord>::random(rng, fill),)?
                    $($field: if rng.u8(..100) < fill {
                        $crate::siri::record::RecordElement::random(rng, fill)
                    } else {
                        Default::default()
                    },)*
                }
            }
        }

        impl $Name {
            /// Writes the fields of the table whose element names `takes` accepts.
            fn write_fields<W: $crate::siri::sink::MessageSink>(
                &self,
                mut takes: impl FnMut(&'static str) -> bool,
                sink: &mut W,
            ) {
                $(if takes($name) {
                    records!(@write self, $field, sink, $name $(> $inner)?);
                })*
            }
        }

        records!(@elements $Name $(, $kind)?);
    )+ };
    (@properties payload) => { const IS_PAYLOAD: bool = true; };
    (@properties delivery) => {
        fn version_mut(&mut self) -> Option<&mut Option<smol_str::SmolStr>> {
            Some(&mut self.head.version)
        }
    };
    (@properties answer) => {
        const IS_PAYLOAD: bool = true;
        records!(@properties delivery);
    };
    (@properties versioned) => {
        fn version_mut(&mut self) -> Option<&mut Option<smol_str::SmolStr>> {
            Some(&mut self.version)
        }
    };
    (@properties named) => {};
    (@properties journey) => {
        fn write_children_of<W: $crate::siri::sink::MessageSink>(&self, element: &str, sink: &mut W) {
            match element {
                "MonitoredVehicleJourney" => self.write_as_monitored_journey(sink),
                _ => self.write_children(sink),
            }
        }
    };
    (@properties call) => {
        fn write_children_of<W: $crate::siri::sink::MessageSink>(&self, element: &str, sink: &mut W) {
            match element {
                "RecordedCall" => self.write_as_recorded_call(sink),
                _ => self.write_children(sink),
            }
        }
    };
    (@read $self:ident, $field:ident, $reader:ident, $name:literal) => {
        $crate::siri::record::RecordElement::read_element(&mut $self.$field, $name, $reader)?
    };
    (@read $self:ident, $field:ident, $reader:ident, $name:literal > $inner:literal) => {
        $reader.read_wrapped_list($name, $inner, |reader| {
            $crate::siri::record::RecordElement::read_element(&mut $self.$field, $inner, reader)
        })?
    };
    (@write $self:ident, $field:ident, $sink:ident, $name:literal) => {
        $crate::siri::record::RecordElement::write_element(&$self.$field, $name, $sink)
    };
    (@write $self:ident, $field:ident, $sink:ident, $name:literal > $inner:literal) => {
        if !$crate::siri::record::RecordElement::is_absent(&$self.$field) {
            $sink.begin_element($name);
            $crate::siri::record::RecordElement::write_element(&$self.$field, $inner, $sink);
            $sink.end_element($name);
        }
    };
    (@sample $Type:ty, $sink:ident, $name:literal) => {
        <$Type as $crate::siri::record::RecordElement>::write_sample($name, $sink)
    };
    (@sample $Type:ty, $sink:ident, $name:literal > $inner:literal) => {
        $sink.begin_element($name);
        <$Type as $crate::siri::record::RecordElement>::write_sample($inner, $sink);
        $sink.end_element($name);
    };
    (@otherwise $self:ident, $child:ident, $reader:ident) => { Ok(false) };
    (@otherwise $self:ident, $child:ident, $reader:ident, $base:ident) => {
        $crate::siri::record::SiriRecord::read_child(&mut $self.$base, $child, $reader)
    };
    (@elements $Name:ident, journey) => { $crate::siri::record::elements!($Name, read_identified_record); };
    (@elements $Name:ident, named) => { $crate::siri::record::elements!($Name, read_identified_record); };
    (@elements $Name:ident $(, $kind:ident)?) => { $crate::siri::record::elements!($Name, read_record); };
}

pub(super) use {elements, records};

#[cfg(test)]
mod tests {
    use super::super::{SiriCall, VehicleJourney};

    /// The sizes matter because a feed has hundreds of thousands of calls.
    #[test]
    fn records_are_compact() {
        assert!(size_of::<SiriCall>() <= 512, "{}", size_of::<SiriCall>());
        assert!(size_of::<VehicleJourney>() <= 1_600, "{}", size_of::<VehicleJourney>());
    }
}

//! The one place that says which element belongs to which field: a table per record, in the order in which SIRI's schema
//! has the elements. XML and JSON are both read and written through it.

use smol_str::SmolStr;

use super::{
    ArrivalBoardingActivity, CallStatus, DepartureBoardingActivity, Occupancy, Progress, Seconds,
    Severity, Text, Time, Unread,
    reader::Reader,
    sink::Sink,
    source::Source,
    values::{Leaf, TextForm},
};
use crate::Error;

/// What reading comes to; what is wrong with one element is a problem of the reader's and no error.
pub(super) type Read<T> = Result<T, Error>;

/// What holds named elements.
pub(super) trait Record: Default {
    /// Whether it is what a message is sent for, so that the elements of an envelope may stand around its fields.
    const IS_PAYLOAD: bool = false;

    /// Where the version goes that an attribute names.
    fn version_mut(&mut self) -> Option<&mut Option<SmolStr>> {
        None
    }

    /// Where it is kept what of it is there and cannot be read; `None` where that is for what it stands in to keep.
    fn unread_mut(&mut self) -> Option<&mut Unread> {
        None
    }

    /// Reads the child that was opened last, if the table has its name.
    fn read_child<'a, S: Source<'a>>(&mut self, tag: &str, from: &mut Reader<'a, S>) -> Read<bool>;

    /// Writes all fields, in the order of the table.
    fn write_children<W: Sink>(&self, sink: &mut W);

    /// Writes all fields in the order that they have in an element of that name.
    fn write_children_of<W: Sink>(&self, _element: &str, sink: &mut W) {
        self.write_children(sink);
    }

    /// Writes each field once, with something in it.
    fn write_samples<W: Sink>(sink: &mut W);

    /// A record with something in `fill` of 100 fields.
    #[cfg(test)]
    fn random(rng: &mut fastrand::Rng, fill: u8) -> Self;
}

/// A record that problems are told of by its id.
pub(super) trait Named {
    /// What its producer calls it.
    fn id(&self) -> Option<&str>;

    /// A field without which it means nothing, if it is missing.
    fn missing(&self) -> Option<&'static str>;
}

/// A field: how one element is read into it, and how it is written.
pub(super) trait Element: Default {
    fn read<'a, S: Source<'a>>(&mut self, tag: &'static str, from: &mut Reader<'a, S>) -> Read<()>;

    fn write<W: Sink>(&self, name: &'static str, sink: &mut W);

    /// Writes one with something in it.
    fn write_sample<W: Sink>(name: &'static str, sink: &mut W);

    /// Whether there is nothing to write.
    fn is_absent(&self) -> bool;

    /// A field with something in it.
    #[cfg(test)]
    fn random(rng: &mut fastrand::Rng, fill: u8) -> Self;
}

macro_rules! leaves {
    ($($Leaf:ty),+ $(,)?) => {
        $(impl Element for Option<$Leaf> {
            #[inline]
            fn read<'a, S: Source<'a>>(
                &mut self,
                name: &'static str,
                reader: &mut Reader<'a, S>,
            ) -> Result<(), Error> {
                reader.read_leaf(name, self)
            }

            fn write<W: Sink>(&self, name: &'static str, sink: &mut W) {
                if let Some(value) = self {
                    value.with_text(|text, form| sink.leaf(name, text, form));
                }
            }

            fn write_sample<W: Sink>(name: &'static str, sink: &mut W) {
                sink.leaf(name, <$Leaf as Leaf>::sample(name), $crate::siri::values::TextForm::Quoted);
            }

            fn is_absent(&self) -> bool {
                self.is_none()
            }

            #[cfg(test)]
            fn random(rng: &mut fastrand::Rng, _: u8) -> Self {
                Some(super::values::Leaf::random(rng))
            }
        })+
    };
}

leaves!(
    SmolStr,
    Time,
    Seconds,
    bool,
    u32,
    f64,
    CallStatus,
    Occupancy,
    ArrivalBoardingActivity,
    DepartureBoardingActivity,
    Severity,
    Progress,
);

impl Element for Vec<SmolStr> {
    fn read<'a, S: Source<'a>>(
        &mut self,
        name: &'static str,
        reader: &mut Reader<'a, S>,
    ) -> Result<(), Error> {
        reader.count_bytes(size_of::<SmolStr>())?;
        let text = reader.source.text()?;
        if let Some(value) = reader.leaf_of(name, &text) {
            self.reserve_exact(usize::from(self.is_empty()));
            self.push(value);
        }
        Ok(())
    }

    fn write<W: Sink>(&self, name: &'static str, sink: &mut W) {
        sink.list(name, self, |sink, text| sink.leaf(name, text, TextForm::Quoted));
    }

    fn write_sample<W: Sink>(name: &'static str, sink: &mut W) {
        sink.leaf(name, SmolStr::sample(name), TextForm::Quoted);
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }

    #[cfg(test)]
    fn random(rng: &mut fastrand::Rng, _: u8) -> Self {
        (0..rng.usize(1..3)).map(|_| super::values::Leaf::random(rng)).collect()
    }
}

impl Element for Vec<Text> {
    fn read<'a, S: Source<'a>>(
        &mut self,
        name: &'static str,
        reader: &mut Reader<'a, S>,
    ) -> Result<(), Error> {
        reader.count_bytes(size_of::<Text>())?;
        let (language, text) = reader.source.text_in_language()?;
        if let Some(value) = reader.leaf_of(name, &text) {
            // Nearly all texts come in one language.
            self.reserve_exact(usize::from(self.is_empty()));
            let lang = language.and_then(|language| reader.leaf_of(name, &language));
            self.push(Text { lang, value });
        }
        Ok(())
    }

    fn write<W: Sink>(&self, name: &'static str, sink: &mut W) {
        sink.list(name, self, |sink, text| {
            sink.text_in_language(name, text.lang.as_deref(), &text.value);
        });
    }

    fn write_sample<W: Sink>(name: &'static str, sink: &mut W) {
        sink.text_in_language(name, Some("nb"), SmolStr::sample(name));
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }

    #[cfg(test)]
    fn random(rng: &mut fastrand::Rng, _: u8) -> Self {
        let mut text = || {
            let lang = rng.bool().then(|| SmolStr::new_static("nb"));
            Text { lang, value: super::values::Leaf::random(rng) }
        };
        vec![text(), text()]
    }
}

/// An element that says something by being there, whatever is in it; false is said by `false` alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flag(pub bool);

impl Element for Flag {
    fn read<'a, S: Source<'a>>(
        &mut self,
        _: &'static str,
        reader: &mut Reader<'a, S>,
    ) -> Result<(), Error> {
        self.0 = reader.source.text()?.trim_ascii() != "false";
        Ok(())
    }

    fn write<W: Sink>(&self, name: &'static str, sink: &mut W) {
        if self.0 {
            sink.flag(name);
        }
    }

    fn write_sample<W: Sink>(name: &'static str, sink: &mut W) {
        sink.flag(name);
    }

    fn is_absent(&self) -> bool {
        !self.0
    }

    #[cfg(test)]
    fn random(_: &mut fastrand::Rng, _: u8) -> Self {
        Flag(true)
    }
}

/// Makes a record a field: once, in a box, or as a list.
macro_rules! elements {
    ($Name:ty, $read:ident) => {
        impl $crate::siri::record::Element for Option<$Name> {
            fn read<'a, S: $crate::siri::source::Source<'a>>(
                &mut self,
                name: &'static str,
                reader: &mut $crate::siri::reader::Reader<'a, S>,
            ) -> Result<(), $crate::Error> {
                reader.read_record(name, self.get_or_insert_default())
            }

            $crate::siri::record::elements!(@others $Name, |this| this.as_ref(), |record| Some(record));
        }

        impl $crate::siri::record::Element for Option<Box<$Name>> {
            fn read<'a, S: $crate::siri::source::Source<'a>>(
                &mut self,
                name: &'static str,
                reader: &mut $crate::siri::reader::Reader<'a, S>,
            ) -> Result<(), $crate::Error> {
                if self.is_none() {
                    reader.count_bytes(size_of::<$Name>())?;
                }
                reader.read_record(name, &mut **self.get_or_insert_default())
            }

            $crate::siri::record::elements!(@others $Name, |this| this.as_deref(), |record| Some(Box::new(record)));
        }

        impl $crate::siri::record::Element for Vec<$Name> {
            fn read<'a, S: $crate::siri::source::Source<'a>>(
                &mut self,
                name: &'static str,
                reader: &mut $crate::siri::reader::Reader<'a, S>,
            ) -> Result<(), $crate::Error> {
                reader.count_bytes(size_of::<$Name>())?;
                // Records are large, so they are filled where they stay.
                self.push(<$Name>::default());
                match self.last_mut() {
                    Some(record) => reader.$read(name, record),
                    None => Ok(()),
                }
            }

            fn write<W: $crate::siri::sink::Sink>(&self, name: &'static str, sink: &mut W) {
                sink.list(name, self, |sink, record| sink.record(name, record));
            }

            $crate::siri::record::elements!(@sample $Name);

            fn is_absent(&self) -> bool {
                self.is_empty()
            }

            #[cfg(test)]
            fn random(rng: &mut fastrand::Rng, fill: u8) -> Self {
                let n = rng.usize(1..3);
                (0..n).map(|_| $crate::siri::record::Record::random(rng, fill)).collect()
            }
        }
    };
    (@sample $Name:ty) => {
        fn write_sample<W: $crate::siri::sink::Sink>(name: &'static str, sink: &mut W) {
            sink.begin(name);
            <$Name as $crate::siri::record::Record>::write_samples(sink);
            sink.end(name);
        }
    };
    (@others $Name:ty, |$this:ident| $as_ref:expr, |$record:ident| $wrapped:expr) => {
        fn write<W: $crate::siri::sink::Sink>(&self, name: &'static str, sink: &mut W) {
            let $this = self;
            if let Some(record) = $as_ref {
                let record: &$Name = record;
                sink.record(name, record);
            }
        }

        $crate::siri::record::elements!(@sample $Name);

        fn is_absent(&self) -> bool {
            self.is_none()
        }

        #[cfg(test)]
        fn random(rng: &mut fastrand::Rng, fill: u8) -> Self {
            let $record: $Name = $crate::siri::record::Record::random(rng, fill);
            $wrapped
        }
    };
}

/// Declares records with the names of their elements: `field: Type = "Element"`, or `= "List" > "Element"` where a list
/// has an element of its own around it. After the name of the record: `payload`, `delivery` (it has a head, with
/// version), `answer` (it is both), `versioned`, `named`, `journey` (it is named, and has another order where it is
/// monitored) or `call` (it has another order where it is recorded); `..head: Type` takes what the table does not name;
/// `?unread` keeps what cannot be read.
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
                /// What every such record begins with.
                pub $base: $Base,
            )?
            $(
                /// What is there and cannot be read, down to records that keep it themselves.
                pub $unread: $crate::siri::Unread,
            )?
            $($(#[$meaning])* pub $field: $Type,)*
        }

        impl $crate::siri::record::Record for $Name {
            $(records!(@properties $kind);)?

            $(fn unread_mut(&mut self) -> Option<&mut $crate::siri::Unread> {
                $crate::siri::record::Record::unread_mut(&mut self.$base)
            })?

            $(fn unread_mut(&mut self) -> Option<&mut $crate::siri::Unread> {
                Some(&mut self.$unread)
            })?

            fn read_child<'a, S: $crate::siri::source::Source<'a>>(
                &mut self,
                name: &str,
                reader: &mut $crate::siri::reader::Reader<'a, S>,
            ) -> Result<bool, $crate::Error> {
                match name {
                    $($name $(| $alias)* => records!(@read self, $field, reader, $name $(> $inner)?),)*
                    _ => return records!(@otherwise self, name, reader $(, $base)?),
                }
                Ok(true)
            }

            fn write_children<W: $crate::siri::sink::Sink>(&self, sink: &mut W) {
                $($crate::siri::record::Record::write_children(&self.$base, sink);)?
                self.write_fields(|_| true, sink);
            }

            fn write_samples<W: $crate::siri::sink::Sink>(sink: &mut W) {
                $(<$Base as $crate::siri::record::Record>::write_samples(sink);)?
                $(records!(@sample $Type, sink, $name $(> $inner)?);)*
            }

            #[cfg(test)]
            fn random(rng: &mut fastrand::Rng, fill: u8) -> Self {
                $Name {
                    $($unread: Default::default(),)?
                    $($base: <$Base as $crate::siri::record::Record>::random(rng, fill),)?
                    $($field: if rng.u8(..100) < fill {
                        $crate::siri::record::Element::random(rng, fill)
                    } else {
                        Default::default()
                    },)*
                }
            }
        }

        impl $Name {
            /// Writes those of the table's fields that are taken by the names of their elements.
            fn write_fields<W: $crate::siri::sink::Sink>(
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
        fn write_children_of<W: $crate::siri::sink::Sink>(&self, element: &str, sink: &mut W) {
            match element {
                "MonitoredVehicleJourney" => self.write_monitored(sink),
                _ => self.write_children(sink),
            }
        }
    };
    (@properties call) => {
        fn write_children_of<W: $crate::siri::sink::Sink>(&self, element: &str, sink: &mut W) {
            match element {
                "RecordedCall" => self.write_recorded(sink),
                _ => self.write_children(sink),
            }
        }
    };
    (@read $self:ident, $field:ident, $reader:ident, $name:literal) => {
        $crate::siri::record::Element::read(&mut $self.$field, $name, $reader)?
    };
    (@read $self:ident, $field:ident, $reader:ident, $name:literal > $inner:literal) => {
        $reader.read_wrapped($name, $inner, |reader| {
            $crate::siri::record::Element::read(&mut $self.$field, $inner, reader)
        })?
    };
    (@write $self:ident, $field:ident, $sink:ident, $name:literal) => {
        $crate::siri::record::Element::write(&$self.$field, $name, $sink)
    };
    (@write $self:ident, $field:ident, $sink:ident, $name:literal > $inner:literal) => {
        if !$crate::siri::record::Element::is_absent(&$self.$field) {
            $sink.begin($name);
            $crate::siri::record::Element::write(&$self.$field, $inner, $sink);
            $sink.end($name);
        }
    };
    (@sample $Type:ty, $sink:ident, $name:literal) => {
        <$Type as $crate::siri::record::Element>::write_sample($name, $sink)
    };
    (@sample $Type:ty, $sink:ident, $name:literal > $inner:literal) => {
        $sink.begin($name);
        <$Type as $crate::siri::record::Element>::write_sample($inner, $sink);
        $sink.end($name);
    };
    (@otherwise $self:ident, $child:ident, $reader:ident) => { Ok(false) };
    (@otherwise $self:ident, $child:ident, $reader:ident, $base:ident) => {
        $crate::siri::record::Record::read_child(&mut $self.$base, $child, $reader)
    };
    (@elements $Name:ident, journey) => { $crate::siri::record::elements!($Name, read_named); };
    (@elements $Name:ident, named) => { $crate::siri::record::elements!($Name, read_named); };
    (@elements $Name:ident $(, $kind:ident)?) => { $crate::siri::record::elements!($Name, read_record); };
}

pub(super) use {elements, records};

#[cfg(test)]
mod tests {
    use super::super::{Call, VehicleJourney};

    /// A feed has hundreds of thousands of calls.
    #[test]
    fn records_are_compact() {
        assert!(size_of::<Call>() <= 512, "{}", size_of::<Call>());
        assert!(size_of::<VehicleJourney>() <= 1_600, "{}", size_of::<VehicleJourney>());
    }
}

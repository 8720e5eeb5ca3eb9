//! One cell: what the reference validator says about its text by itself, and its value.

use lineside_formats::gtfs::{
    fields::{FieldSpec, Kind, Sign},
    values,
};

use super::{UNRECOGNIZED, column::Cell, decimals, leniency, simple};
use crate::notice::{Kind as NoticeKind, Notices, Sample};

/// Where a cell stands, for what is said about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) file: &'static str,
    pub(super) line: u32,
    pub(super) field: &'static FieldSpec,
}

impl Place {
    /// A notice of the cell with its text.
    #[cold]
    pub(super) fn say(&self, kind: &'static NoticeKind, text: &str, out: &mut Notices) {
        self.say_with(kind, out, |sample| {
            sample.put("fieldValue", text);
        });
    }

    #[cold]
    pub(super) fn say_with(
        &self,
        kind: &'static NoticeKind,
        out: &mut Notices,
        more: impl FnOnce(&mut Sample),
    ) {
        out.add(kind, |sample| {
            sample.put("filename", self.file).put("csvRowNumber", self.line);
            sample.put("fieldName", self.field.name);
            more(sample);
        });
    }

    #[cold]
    fn out_of_range(&self, range: &str, value: f64, out: &mut Notices) {
        self.say_with(&simple::NUMBER_OUT_OF_RANGE, out, |sample| {
            sample.put("fieldType", range).put("fieldValue", value);
        });
    }
}

/// The value of a cell's text, which is trimmed and not empty, and whether the cell spoils its row.
/// A number out of its range is said and kept, but spoils the row as well. `may_be_odd` is whether
/// the row holds other signs than the printable ones of ASCII.
#[inline]
pub(super) fn read<'a>(
    place: Place,
    text: &'a str,
    may_be_odd: bool,
    country: Option<[u8; 2]>,
    out: &mut Notices,
) -> (Cell<'a>, bool) {
    let bytes = text.as_bytes();
    let fine = |cell| (cell, false);
    let bad = |kind, out: &mut Notices| {
        place.say(kind, text, out);
        (Cell::Empty, true)
    };
    match place.field.kind {
        Kind::Text => fine(Cell::Text(text)),
        Kind::Id | Kind::Ref(_) => {
            let is_odd = || !bytes.iter().all(|&byte| (32..127).contains(&byte));
            if may_be_odd && is_odd() && leniency::is_plain_id(place.file, place.field) {
                place.say(&simple::NON_ASCII_OR_NON_PRINTABLE_CHAR, text, out);
            }
            fine(Cell::Text(text))
        }
        Kind::Time | Kind::LocalTime => match values::time(bytes) {
            Ok(seconds) => fine(Cell::Number(seconds)),
            Err(_) => bad(&simple::INVALID_TIME, out),
        },
        Kind::Date => match values::date(bytes) {
            Ok(date) => fine(Cell::Number(super::day_of(date))),
            Err(_) => bad(&simple::INVALID_DATE, out),
        },
        Kind::Integer(_) => match whole(bytes) {
            Some(number) => (Cell::Number(number), is_out_of_range(place, f64::from(number), out)),
            None => bad(&simple::INVALID_INTEGER, out),
        },
        Kind::Float(_) | Kind::Latitude | Kind::Longitude => match decimals::float(text) {
            Some(number) => (Cell::Float(number), is_out_of_range(place, number, out)),
            None => bad(&simple::INVALID_FLOAT, out),
        },
        Kind::Enum(listed) => enumerated(place, bytes, text, |n| listed.contains(&n), out),
        Kind::RouteType => enumerated(place, bytes, text, simple::is_route_type, out),
        Kind::Color => match values::color(bytes) {
            Ok([red, green, blue]) => fine(Cell::Number(i32::from_be_bytes([0, red, green, blue]))),
            Err(_) => bad(&simple::INVALID_COLOR, out),
        },
        Kind::Url | Kind::Email | Kind::Phone => {
            let wrong = simple::wrong_address(place.field.kind, text, country);
            if let Some(kind) = wrong {
                place.say(kind, text, out);
            }
            (Cell::Text(text), wrong.is_some())
        }
        Kind::Currency | Kind::Amount | Kind::Language | Kind::Timezone => {
            match simple::wrong_name(place.field.kind, text) {
                Some(kind) => bad(kind, out),
                None => fine(Cell::Text(text)),
            }
        }
    }
}

/// What stands for a cell whose value is none, in a row that is kept all the same: nothing, as if the
/// cell were empty. Only a time is there: whoever is late for it is late for something.
#[cold]
pub(super) fn unread(field: &FieldSpec, text: &str) -> Cell<'static> {
    match field.kind {
        Kind::Time | Kind::LocalTime if !text.is_empty() => Cell::Number(UNRECOGNIZED),
        _ => Cell::Empty,
    }
}

/// Says that a number is none that the field takes, if it is. Tells whether.
#[inline]
fn is_out_of_range(place: Place, number: f64, out: &mut Notices) -> bool {
    let (is_in, range) = match place.field.kind {
        Kind::Latitude => (number.abs() <= 90.0, "latitude within [-90, 90]"),
        Kind::Longitude => (number.abs() <= 180.0, "longitude within [-180, 180]"),
        Kind::Integer(sign) => (in_range(sign, number), range_name(sign, true)),
        Kind::Float(sign) => (in_range(sign, number), range_name(sign, false)),
        _ => return false,
    };
    if !is_in {
        place.out_of_range(range, number, out);
    }
    !is_in
}

#[inline]
fn enumerated<'a>(
    place: Place,
    bytes: &[u8],
    text: &'a str,
    is_listed: impl Fn(u16) -> bool,
    out: &mut Notices,
) -> (Cell<'a>, bool) {
    let number = match *bytes {
        [digit @ b'0'..=b'9'] => i32::from(digit - b'0'),
        _ => match whole(bytes) {
            Some(number) => number,
            None => {
                place.say(&simple::INVALID_INTEGER, text, out);
                return (Cell::Empty, true);
            }
        },
    };
    if u16::try_from(number).is_ok_and(is_listed) {
        return (Cell::Number(number), false);
    }
    place.say_with(&simple::UNEXPECTED_ENUM_VALUE, out, |sample| {
        sample.put("fieldValue", number);
    });
    (Cell::Number(UNRECOGNIZED), false)
}

/// A whole number of 32 bits, as programs commonly read it: a sign and digits.
#[inline]
fn whole(bytes: &[u8]) -> Option<i32> {
    if (1..=9).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_digit) {
        return Some(bytes.iter().fold(0, |number, byte| number * 10 + i32::from(byte - b'0')));
    }
    values::integer(bytes).ok().and_then(|number| i32::try_from(number).ok())
}

/// The reference validator counts -0 below 0, and what is no number above all.
fn in_range(sign: Sign, number: f64) -> bool {
    let order = number.total_cmp(&0.0);
    match sign {
        Sign::Any => true,
        Sign::NonNegative => order.is_ge(),
        Sign::Positive => order.is_gt(),
        Sign::NonZero => order.is_ne(),
    }
}

fn range_name(sign: Sign, is_whole: bool) -> &'static str {
    match (sign, is_whole) {
        (Sign::Any, _) => "number",
        (Sign::NonNegative, true) => "non-negative integer",
        (Sign::NonNegative, false) => "non-negative float",
        (Sign::Positive, true) => "positive integer",
        (Sign::Positive, false) => "positive float",
        (Sign::NonZero, true) => "non-zero integer",
        (Sign::NonZero, false) => "non-zero float",
    }
}

//! Parsing of a cell, with the reference validator's notices about its text.

use lineside_formats::gtfs::{
    fields::{AllowedNumberSign, FieldKind, FieldSpec},
    values,
};

use super::{UNRECOGNIZED, column::CellValue, decimals, leniency, simple};
use crate::notice::{NoticeKind, NoticeSample, Notices};

/// The location of a cell, for notices.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellLocation {
    pub(super) file: &'static str,
    pub(super) line: u32,
    pub(super) field: &'static FieldSpec,
}

impl CellLocation {
    /// Reports a notice about the cell with its text.
    #[cold]
    pub(super) fn report_cell_text(
        &self,
        kind: &'static NoticeKind,
        text: &str,
        out: &mut Notices,
    ) {
        self.report_cell_notice(kind, out, |sample| {
            sample.set_field("fieldValue", text);
        });
    }

    #[cold]
    pub(super) fn report_cell_notice(
        &self,
        kind: &'static NoticeKind,
        out: &mut Notices,
        more: impl FnOnce(&mut NoticeSample),
    ) {
        out.count_notice_with_sample(kind, |sample| {
            sample.set_field("filename", self.file).set_field("csvRowNumber", self.line);
            sample.set_field("fieldName", self.field.name);
            more(sample);
        });
    }

    #[cold]
    fn report_number_out_of_range(&self, range: &str, value: f64, out: &mut Notices) {
        self.report_cell_notice(&simple::NUMBER_OUT_OF_RANGE, out, |sample| {
            sample.set_field("fieldType", range).set_field("fieldValue", value);
        });
    }
}

/// Parses the trimmed, non-empty text of a cell. Returns its value, and true if the cell invalidates its row. A number
/// out of range is reported and returned, and invalidates the row too. `may_be_odd` is true if the row has characters
/// other than printable ASCII.
#[inline]
pub(super) fn parse_cell<'a>(
    place: CellLocation,
    text: &'a str,
    may_be_odd: bool,
    country: Option<[u8; 2]>,
    out: &mut Notices,
) -> (CellValue<'a>, bool) {
    let bytes = text.as_bytes();
    let fine = |cell| (cell, false);
    let bad = |kind, out: &mut Notices| {
        place.report_cell_text(kind, text, out);
        (CellValue::Empty, true)
    };
    match place.field.kind {
        FieldKind::Text => fine(CellValue::Text(text)),
        FieldKind::Id | FieldKind::Ref(_) => {
            let is_odd = || !bytes.iter().all(|&byte| (32..127).contains(&byte));
            if may_be_odd && is_odd() && leniency::must_id_be_ascii(place.file, place.field) {
                place.report_cell_text(&simple::NON_ASCII_OR_NON_PRINTABLE_CHAR, text, out);
            }
            fine(CellValue::Text(text))
        }
        FieldKind::Time | FieldKind::LocalTime => match values::parse_gtfs_time(bytes) {
            Ok(seconds) => fine(CellValue::Number(seconds)),
            Err(_) => bad(&simple::INVALID_TIME, out),
        },
        FieldKind::Date => match values::parse_gtfs_date(bytes) {
            Ok(date) => fine(CellValue::Number(super::day_number_from_date(date))),
            Err(_) => bad(&simple::INVALID_DATE, out),
        },
        FieldKind::Integer(_) => match parse_whole_number(bytes) {
            Some(number) => {
                (CellValue::Number(number), report_if_out_of_range(place, f64::from(number), out))
            }
            None => bad(&simple::INVALID_INTEGER, out),
        },
        FieldKind::Float(_) | FieldKind::Latitude | FieldKind::Longitude => {
            match decimals::parse_float_like_reference(text) {
                Some(number) => {
                    (CellValue::Float(number), report_if_out_of_range(place, number, out))
                }
                None => bad(&simple::INVALID_FLOAT, out),
            }
        }
        FieldKind::Enum(listed) => {
            parse_enum_cell(place, bytes, text, |n| listed.contains(&n), out)
        }
        FieldKind::RouteType => parse_enum_cell(place, bytes, text, simple::is_route_type, out),
        FieldKind::Color => match values::parse_color(bytes) {
            Ok([red, green, blue]) => {
                fine(CellValue::Number(i32::from_be_bytes([0, red, green, blue])))
            }
            Err(_) => bad(&simple::INVALID_COLOR, out),
        },
        FieldKind::Url | FieldKind::Email | FieldKind::Phone => {
            let wrong = simple::find_contact_field_fault(place.field.kind, text, country);
            if let Some(kind) = wrong {
                place.report_cell_text(kind, text, out);
            }
            (CellValue::Text(text), wrong.is_some())
        }
        FieldKind::Currency | FieldKind::Amount | FieldKind::Language | FieldKind::Timezone => {
            match simple::find_code_field_fault(place.field.kind, text) {
                Some(kind) => bad(kind, out),
                None => fine(CellValue::Text(text)),
            }
        }
    }
}

/// Returns the value of an unreadable cell in a row that stays: empty. Only a time counts as present, because delays in
/// messages then still have a scheduled time to refer to.
#[cold]
pub(super) fn value_for_unreadable_cell(field: &FieldSpec, text: &str) -> CellValue<'static> {
    match field.kind {
        FieldKind::Time | FieldKind::LocalTime if !text.is_empty() => {
            CellValue::Number(UNRECOGNIZED)
        }
        _ => CellValue::Empty,
    }
}

/// Reports a number that is out of the field's range. Returns true if it is.
#[inline]
fn report_if_out_of_range(place: CellLocation, number: f64, out: &mut Notices) -> bool {
    let (is_in, range) = match place.field.kind {
        FieldKind::Latitude => (number.abs() <= 90.0, "latitude within [-90, 90]"),
        FieldKind::Longitude => (number.abs() <= 180.0, "longitude within [-180, 180]"),
        FieldKind::Integer(sign) => (is_in_sign_range(sign, number), number_range_name(sign, true)),
        FieldKind::Float(sign) => (is_in_sign_range(sign, number), number_range_name(sign, false)),
        _ => return false,
    };
    if !is_in {
        place.report_number_out_of_range(range, number, out);
    }
    !is_in
}

#[inline]
fn parse_enum_cell<'a>(
    place: CellLocation,
    bytes: &[u8],
    text: &'a str,
    is_listed: impl Fn(u16) -> bool,
    out: &mut Notices,
) -> (CellValue<'a>, bool) {
    let number = match *bytes {
        [digit @ b'0'..=b'9'] => i32::from(digit - b'0'),
        _ => match parse_whole_number(bytes) {
            Some(number) => number,
            None => {
                place.report_cell_text(&simple::INVALID_INTEGER, text, out);
                return (CellValue::Empty, true);
            }
        },
    };
    if u16::try_from(number).is_ok_and(is_listed) {
        return (CellValue::Number(number), false);
    }
    place.report_cell_notice(&simple::UNEXPECTED_ENUM_VALUE, out, |sample| {
        sample.set_field("fieldValue", number);
    });
    (CellValue::Number(UNRECOGNIZED), false)
}

/// Parses a signed integer of 32 bits.
#[inline]
fn parse_whole_number(bytes: &[u8]) -> Option<i32> {
    if (1..=9).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_digit) {
        return Some(bytes.iter().fold(0, |number, byte| number * 10 + i32::from(byte - b'0')));
    }
    values::parse_integer(bytes).ok().and_then(|number| i32::try_from(number).ok())
}

/// Returns true if a number is in range. As in the reference validator, -0 is below 0, and NaN is above all numbers.
fn is_in_sign_range(sign: AllowedNumberSign, number: f64) -> bool {
    let order = number.total_cmp(&0.0);
    match sign {
        AllowedNumberSign::Any => true,
        AllowedNumberSign::NonNegative => order.is_ge(),
        AllowedNumberSign::Positive => order.is_gt(),
        AllowedNumberSign::NonZero => order.is_ne(),
    }
}

fn number_range_name(sign: AllowedNumberSign, is_whole: bool) -> &'static str {
    match (sign, is_whole) {
        (AllowedNumberSign::Any, _) => "number",
        (AllowedNumberSign::NonNegative, true) => "non-negative integer",
        (AllowedNumberSign::NonNegative, false) => "non-negative float",
        (AllowedNumberSign::Positive, true) => "positive integer",
        (AllowedNumberSign::Positive, false) => "positive float",
        (AllowedNumberSign::NonZero, true) => "non-zero integer",
        (AllowedNumberSign::NonZero, false) => "non-zero float",
    }
}

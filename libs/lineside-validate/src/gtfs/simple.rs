//! The notices about archives, headers, rows and cells that the reader reports, and the checks of
//! URLs, tags, zones and currencies.

use lineside_formats::gtfs::{addresses, fields::FieldKind};

use super::{GtfsTable, phones};
use crate::notice::{NoticeKind, Notices, Severity};

macro_rules! kinds {
    ($($name:ident $code:literal $severity:ident [$($field:ident)*])*) => {
        $(pub(crate) static $name: NoticeKind = NoticeKind {
            code: $code,
            severity: Severity::$severity,
            fields: &[$((stringify!($field), notice_field_meaning(stringify!($field)))),*],
            page: include_str!(concat!("../rules/gtfs/basics/", $code, ".md")),
        };)*

        /// All kinds of notices that the reader reports.
        pub(crate) static KINDS: &[&NoticeKind] = &[$(&$name),*];
    };
}

kinds! {
    CSV_PARSING_FAILED "csv_parsing_failed" Error [filename lineIndex message]
    DUPLICATED_COLUMN "duplicated_column" Error [filename fieldName firstIndex secondIndex]
    EMPTY_COLUMN_NAME "empty_column_name" Error [filename index]
    EMPTY_FILE "empty_file" Error [filename]
    EMPTY_ROW "empty_row" Warning [filename csvRowNumber]
    INVALID_CHARACTER "invalid_character" Error [filename csvRowNumber fieldName fieldValue]
    INVALID_COLOR "invalid_color" Error [filename csvRowNumber fieldName fieldValue]
    INVALID_CURRENCY "invalid_currency" Error [filename csvRowNumber fieldName fieldValue]
    INVALID_DATE "invalid_date" Error [filename csvRowNumber fieldName fieldValue]
    INVALID_EMAIL "invalid_email" Error [filename csvRowNumber fieldName fieldValue]
    INVALID_FLOAT "invalid_float" Error [filename csvRowNumber fieldName fieldValue]
    INVALID_INPUT_FILES_IN_SUBFOLDER "invalid_input_files_in_subfolder" Error [message]
    INVALID_INTEGER "invalid_integer" Error [filename csvRowNumber fieldName fieldValue]
    INVALID_LANGUAGE_CODE "invalid_language_code" Error [filename csvRowNumber fieldName fieldValue]
    INVALID_PHONE_NUMBER "invalid_phone_number" Error [filename csvRowNumber fieldName fieldValue]
    INVALID_ROW_LENGTH "invalid_row_length" Error [filename csvRowNumber rowLength headerCount]
    INVALID_TIME "invalid_time" Error [filename csvRowNumber fieldName fieldValue]
    INVALID_TIMEZONE "invalid_timezone" Error [filename csvRowNumber fieldName fieldValue]
    INVALID_URL "invalid_url" Error [filename csvRowNumber fieldName fieldValue]
    LEADING_OR_TRAILING_WHITESPACES "leading_or_trailing_whitespaces" Warning
        [filename csvRowNumber fieldName fieldValue]
    MISSING_RECOMMENDED_FIELD "missing_recommended_field" Warning [filename csvRowNumber fieldName]
    MISSING_REQUIRED_COLUMN "missing_required_column" Error [filename fieldName]
    MISSING_REQUIRED_FIELD "missing_required_field" Error [filename csvRowNumber fieldName]
    MISSING_REQUIRED_FILE "missing_required_file" Error [filename]
    NEW_LINE_IN_VALUE "new_line_in_value" Error [filename csvRowNumber fieldName fieldValue]
    NON_ASCII_OR_NON_PRINTABLE_CHAR "non_ascii_or_non_printable_char" Warning
        [filename csvRowNumber fieldName fieldValue]
    NUMBER_OUT_OF_RANGE "number_out_of_range" Error
        [filename csvRowNumber fieldName fieldType fieldValue]
    TOO_MANY_ROWS "too_many_rows" Error [filename rowNumber]
    UNEXPECTED_ENUM_VALUE "unexpected_enum_value" Warning
        [filename csvRowNumber fieldName fieldValue]
    UNKNOWN_COLUMN "unknown_column" Info [filename fieldName index]
    UNKNOWN_FILE "unknown_file" Info [filename]
}

/// Returns the meaning of a field of these notices.
const fn notice_field_meaning(field: &str) -> &'static str {
    match field.as_bytes() {
        b"filename" => "The file.",
        b"csvRowNumber" => "The line of the row, counted from 1 with the header.",
        b"rowNumber" => "The line after which no rows were read.",
        b"lineIndex" => "The line on which the row begins, counted from 1 with the header.",
        b"fieldName" => "The column.",
        b"fieldValue" => "The value of the cell.",
        b"fieldType" => "The allowed range of numbers.",
        b"index" => "The position of the column, counted from 1.",
        b"firstIndex" => "The first position of the name, counted from 1.",
        b"secondIndex" => "The second position of the name, counted from 1.",
        b"rowLength" => "The number of cells in the row.",
        b"headerCount" => "The number of columns in the header.",
        b"message" => "A description of the fault.",
        _ => "",
    }
}

/// Reports a notice that consists only of a field's location.
pub(crate) fn report_field_notice(
    kind: &'static NoticeKind,
    table: &GtfsTable,
    row: u32,
    field: &'static str,
    out: &mut Notices,
) {
    out.count_notice_with_sample(kind, |sample| {
        sample
            .set_field("filename", table.file_name())
            .set_field("csvRowNumber", table.line_number(row));
        sample.set_field("fieldName", field);
    });
}

pub(super) const NESTED: &str = "The GTFS files are in a subdirectory, where most readers do not find them; move them to the \
    top level.";

/// Returns true if a number is one of the reference's route types. The extended types, which only
/// some readers know, are not.
pub(super) fn is_route_type(number: u16) -> bool {
    matches!(number, 0..=7 | 11 | 12)
}

/// Returns the notice about an invalid URL, email address or telephone number.
pub(super) fn find_contact_field_fault(
    kind: FieldKind,
    text: &str,
    country: Option<[u8; 2]>,
) -> Option<&'static NoticeKind> {
    match kind {
        FieldKind::Url if !addresses::is_url(text) => Some(&INVALID_URL),
        FieldKind::Email if !addresses::is_email_address(text) => Some(&INVALID_EMAIL),
        // Without a country, a number without calling code cannot be checked.
        FieldKind::Phone
            if country.is_some_and(|country| !phones::is_phone_number(text, country)) =>
        {
            Some(&INVALID_PHONE_NUMBER)
        }
        _ => None,
    }
}

/// Returns the notice about an invalid currency, amount, language or time zone.
pub(super) fn find_code_field_fault(kind: FieldKind, text: &str) -> Option<&'static NoticeKind> {
    match kind {
        FieldKind::Currency if !is_currency_code(text) => Some(&INVALID_CURRENCY),
        FieldKind::Amount if super::decimal_place_count(text).is_none() => Some(&INVALID_FLOAT),
        FieldKind::Language if super::normalize_language_tag(text).is_none() => {
            Some(&INVALID_LANGUAGE_CODE)
        }
        FieldKind::Timezone if !super::timezones::is_time_zone(text) => Some(&INVALID_TIMEZONE),
        _ => None,
    }
}

fn is_currency_code(text: &str) -> bool {
    super::currency_decimals(text).is_some()
}

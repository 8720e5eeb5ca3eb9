//! Reading of a file's rows into typed columns, with notices about single rows and cells.

use std::io::{self, Read};

use lineside_formats::{
    Error,
    gtfs::{
        fields::{FieldPresence, FileSpec},
        rows::{CsvRecord, CsvSplitter, RecordSearchResult},
    },
};

use super::{
    cells::{self, CellLocation},
    column::CellValue,
    files::GtfsFile,
    header::{self, TableRowLayout},
    leniency::{self, RowRetentionRule},
    simple,
    table::{FileReadStatus, GtfsTable},
    table_builder::TableBuilder,
};
use crate::{ValidationContext, notice::Notices};

/// The largest row in bytes; a longer one is unreadable.
pub(super) const ROW_BYTES_MAX: usize = 1 << 20;
/// The largest number of cells in a row that the reference validator accepts.
const CELLS_MAX: usize = 512;
/// The largest cell in UTF-16 code units that the reference validator accepts, in all files except
/// `areas.txt`.
const CELL_CHARS_MAX: usize = 4_096;
/// The first character of comment lines, which are skipped.
pub(super) const COMMENT_START: u8 = b'#';
/// The largest number of rows in a file that the reference validator accepts.
const ROWS_MAX: u32 = 1_000_000_000;
/// The byte order mark of UTF-8.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// The byte order marks of UTF-16.
const UTF16_MARKS: [&[u8]; 2] = [b"\xFF\xFE", b"\xFE\xFF"];

/// Reads a file of this size in bytes; 0 if unknown.
///
/// # Errors
///
/// Returns an error if the file cannot be inflated.
pub(super) fn read_table(
    reader: impl Read,
    size: u64,
    spec: &'static FileSpec,
    retention: RowRetentionRule,
    context: &ValidationContext,
    out: &mut Notices,
) -> Result<GtfsTable, Error> {
    let mut splitter = new_csv_splitter(reader);
    let layout = match read_header_record(&mut splitter, spec, retention, out)? {
        HeaderReadResult::Rows(layout) => layout,
        HeaderReadResult::Nothing(table) => return Ok(table),
    };
    let mut rows = TableBuilder::new(&layout, 2, size);
    read_rows(&layout, &mut splitter, &mut rows, context, out)?;
    Ok(rows.finish_table(&layout))
}

/// Returns a splitter of a file, or a part of one, into records as in the reference validator.
pub(super) fn new_csv_splitter<R: Read>(reader: R) -> CsvSplitter<R> {
    CsvSplitter::new(reader, ROW_BYTES_MAX).with_comment_prefix(COMMENT_START)
}

/// Returns a splitter of a part in memory: the first `n` bytes of a buffer.
pub(super) fn new_csv_splitter_over_buffer(buffer: Vec<u8>, n: usize) -> CsvSplitter<io::Empty> {
    CsvSplitter::from_buffer(buffer, n, ROW_BYTES_MAX).with_comment_prefix(COMMENT_START)
}

/// The result of reading the header.
pub(super) enum HeaderReadResult {
    /// The layout for reading the rows.
    Rows(TableRowLayout),
    /// The rows cannot be read; the table is empty.
    Nothing(GtfsTable),
}

/// Reads the header.
///
/// # Errors
///
/// Returns an error if the file cannot be inflated.
pub(super) fn read_header_record<R: Read>(
    splitter: &mut CsvSplitter<R>,
    spec: &'static FileSpec,
    retention: RowRetentionRule,
    out: &mut Notices,
) -> Result<HeaderReadResult, Error> {
    let has_mark = splitter
        .peek_bytes(BYTE_ORDER_MARK.len())
        .map_err(Error::from_io)?
        .starts_with(BYTE_ORDER_MARK);
    splitter.skip_bytes(if has_mark { BYTE_ORDER_MARK.len() } else { 0 });
    let start = splitter.peek_bytes(2).map_err(Error::from_io)?;
    let is_wide = UTF16_MARKS.iter().any(|mark| start.starts_with(mark));
    let nothing = |status| {
        Ok(HeaderReadResult::Nothing(
            GtfsTable::empty_with_status(spec, status).with_utf16_flag(is_wide),
        ))
    };
    match splitter.find_next_record().map_err(Error::from_io)? {
        RecordSearchResult::Record => {}
        RecordSearchResult::End => {
            out.count_notice_with_sample(&simple::EMPTY_FILE, |sample| {
                sample.set_field("filename", spec.name);
            });
            return nothing(FileReadStatus::Empty);
        }
        RecordSearchResult::TooLong(line) => {
            report_parsing_failed(spec, line, "the header is longer than 1 MiB", out);
            return nothing(FileReadStatus::BadHeader);
        }
    }
    if let Some(message) = why_row_is_too_large(spec, splitter) {
        report_parsing_failed(spec, splitter.record_line(), message, out);
        return nothing(FileReadStatus::BadHeader);
    }
    match header::parse_header(spec, retention, &splitter.current_record(), out) {
        Some(layout) => Ok(HeaderReadResult::Rows(layout)),
        None => nothing(FileReadStatus::BadHeader),
    }
}

/// Reads rows to the end of the file, or up to a row that makes the rest unreadable.
///
/// # Errors
///
/// Returns an error if the file cannot be inflated.
pub(super) fn read_rows<R: Read>(
    layout: &TableRowLayout,
    splitter: &mut CsvSplitter<R>,
    rows: &mut TableBuilder,
    context: &ValidationContext,
    out: &mut Notices,
) -> Result<(), Error> {
    let spec = layout.spec;
    let is_strict = layout.retention.drops_row_for_any_fault();
    loop {
        match splitter.find_next_record().map_err(Error::from_io)? {
            RecordSearchResult::Record => {}
            RecordSearchResult::End => return Ok(()),
            RecordSearchResult::TooLong(_) if !is_strict => {
                rows.count_dropped_row();
                continue;
            }
            RecordSearchResult::TooLong(line) => {
                report_parsing_failed(spec, line, "a row is longer than 1 MiB", out);
                rows.has_ended = true;
                return Ok(());
            }
        }
        if is_strict && let Some(message) = why_row_is_too_large(spec, splitter) {
            report_parsing_failed(spec, splitter.record_line(), message, out);
            rows.has_ended = true;
            return Ok(());
        }
        let line = u32::try_from(splitter.record_line()).unwrap_or(u32::MAX);
        if line > ROWS_MAX {
            out.count_notice_with_sample(&simple::TOO_MANY_ROWS, |sample| {
                sample.set_field("filename", spec.name).set_field("rowNumber", line);
            });
            rows.has_ended = true;
            return Ok(());
        }
        read_row_into_columns(layout, splitter, line, rows, context, out);
    }
}

fn read_row_into_columns<R: Read>(
    layout: &TableRowLayout,
    splitter: &CsvSplitter<R>,
    line: u32,
    rows: &mut TableBuilder,
    context: &ValidationContext,
    out: &mut Notices,
) {
    let record = splitter.current_record();
    if record.len() != layout.n_columns || record.len() == 1 {
        match check_row_length(layout, &record, line, out) {
            RowLengthCheck::Right => {}
            RowLengthCheck::Empty => return,
            RowLengthCheck::Wrong if layout.retention.drops_row_for_any_fault() => {
                rows.count_dropped_row();
                return;
            }
            RowLengthCheck::Wrong => {}
        }
    }
    // Rare features are searched for once in the whole row.
    let oddities = UnusualTextFeatures::unusual_features_of_row(splitter);
    let texts = record.to_record_text();
    let mut spoiled = false;
    rows.reserve_row();
    for (plan, column) in layout.cells.iter().zip(&mut rows.columns) {
        let place = CellLocation { file: layout.spec.name, line, field: plan.field };
        let raw = texts.field_text(plan.position);
        if oddities.any {
            let is_odd = UnusualTextFeatures::report_unusual_cell_features(
                place,
                plan.position,
                raw,
                splitter,
                out,
            );
            spoiled |= is_odd && layout.retention.drops_row_for_any_fault();
        }
        let text = trim_cell(raw);
        let (mut cell, bad) = if text.is_empty() {
            (CellValue::Empty, report_missing_value(place, out))
        } else {
            cells::parse_cell(place, text, oddities.has_odd_signs, context.country, out)
        };
        if bad {
            match plan.is_needed {
                true => spoiled = true,
                false => cell = cells::value_for_unreadable_cell(plan.field, text),
            }
        }
        column.push_cell(cell);
    }
    for &field in &layout.absent {
        report_missing_value(CellLocation { file: layout.spec.name, line, field }, out);
    }
    if spoiled {
        rows.remove_dropped_row();
    } else {
        rows.count_kept_row(line, splitter.raw_record_bytes().len());
    }
}

enum RowLengthCheck {
    Right,
    Empty,
    Wrong,
}

/// Reports a wrong length of a row.
#[cold]
fn check_row_length(
    layout: &TableRowLayout,
    record: &CsvRecord<'_>,
    line: u32,
    out: &mut Notices,
) -> RowLengthCheck {
    let n_cells = record.len();
    if n_cells == 1 && record.field_bytes(0).trim_ascii().is_empty() {
        out.count_notice_with_sample(&simple::EMPTY_ROW, |sample| {
            sample.set_field("filename", layout.spec.name).set_field("csvRowNumber", line);
        });
        return RowLengthCheck::Empty;
    }
    if n_cells == layout.n_columns {
        return RowLengthCheck::Right;
    }
    out.count_notice_with_sample(&simple::INVALID_ROW_LENGTH, |sample| {
        sample.set_field("filename", layout.spec.name).set_field("csvRowNumber", line);
        sample.set_field("rowLength", n_cells).set_field("headerCount", layout.n_columns);
    });
    RowLengthCheck::Wrong
}

fn report_parsing_failed(spec: &'static FileSpec, line: u64, message: &str, out: &mut Notices) {
    out.count_notice_with_sample(&simple::CSV_PARSING_FAILED, |sample| {
        sample
            .set_field("filename", spec.name)
            .set_field("lineIndex", line)
            .set_field("message", message);
    });
}

/// Returns the reason why a row is too large, as a message.
#[inline]
fn why_row_is_too_large<R: Read>(
    spec: &'static FileSpec,
    splitter: &CsvSplitter<R>,
) -> Option<&'static str> {
    // The rare case is in a separate function, so that the common one is fast.
    let is_small = splitter.raw_record_bytes().len() <= CELL_CHARS_MAX
        && splitter.current_record().len() <= CELLS_MAX;
    if is_small { None } else { why_record_is_too_large(spec, &splitter.current_record()) }
}

#[cold]
fn why_record_is_too_large(
    spec: &'static FileSpec,
    record: &CsvRecord<'_>,
) -> Option<&'static str> {
    if record.len() > CELLS_MAX {
        return Some("a row has more than 512 values");
    }
    if spec.name == GtfsFile::Areas.file_name() {
        return None;
    }
    let is_long = |position| {
        let cell = record.field_bytes(position);
        let text = std::str::from_utf8(cell).unwrap_or_default();
        cell.len() > CELL_CHARS_MAX && text.encode_utf16().nth(CELL_CHARS_MAX).is_some()
    };
    (0..record.len()).any(is_long).then_some("a value is longer than 4096 characters")
}

/// Trims white space and control characters.
#[inline]
pub(super) fn trim_cell(text: &str) -> &str {
    match text.as_bytes() {
        [first, .., last] if *first > b' ' && *last > b' ' => text,
        [only] if *only > b' ' => text,
        _ => text.trim_matches(|c: char| c <= ' '),
    }
}

/// Reports an empty cell in a required or recommended field. Returns true if that invalidates the
/// row.
#[inline]
fn report_missing_value(place: CellLocation, out: &mut Notices) -> bool {
    match place.field.presence {
        FieldPresence::Required if leniency::is_missing_value_reported(place.file, place.field) => {
            place.report_cell_notice(&simple::MISSING_REQUIRED_FIELD, out, |_| {});
            true
        }
        FieldPresence::Recommended => {
            place.report_cell_notice(&simple::MISSING_RECOMMENDED_FIELD, out, |_| {});
            false
        }
        FieldPresence::Required | FieldPresence::Conditional | FieldPresence::Optional => false,
    }
}

/// The unusual features that a row's texts may have, determined once for the whole row.
struct UnusualTextFeatures {
    any: bool,
    /// True if the row has characters other than printable ASCII.
    has_odd_signs: bool,
}

impl UnusualTextFeatures {
    #[inline]
    fn unusual_features_of_row<R: Read>(splitter: &CsvSplitter<R>) -> UnusualTextFeatures {
        let raw = splitter.raw_record_bytes();
        // A scan without early exit is vectorized.
        let is_sign = |byte: &u8| byte.wrapping_sub(b' ') < 95;
        if splitter.is_known_unquoted() {
            let line = &raw[..raw.len().saturating_sub(1)];
            if line.iter().fold(true, |all, byte| all & is_sign(byte)) {
                return UnusualTextFeatures { any: false, has_odd_signs: false };
            }
        }
        UnusualTextFeatures {
            any: UnusualTextFeatures::may_row_be_unusual(splitter),
            has_odd_signs: true,
        }
    }

    fn may_row_be_unusual<R: Read>(splitter: &CsvSplitter<R>) -> bool {
        let line = splitter.raw_record_bytes().trim_ascii_end();
        splitter.is_latin1()
            || memchr::memchr2(b'\n', b'\r', line).is_some()
            || (memchr::memchr(b'"', line).is_some()
                && memchr::memchr3(b' ', b'\t', 0, line).is_some())
            || memchr::memmem::find(line, "\u{FFFD}".as_bytes()).is_some()
    }

    /// Reports the unusual features of a cell. Returns true if they invalidate the row.
    #[cold]
    fn report_unusual_cell_features<R: Read>(
        place: CellLocation,
        position: usize,
        text: &str,
        splitter: &CsvSplitter<R>,
        out: &mut Notices,
    ) -> bool {
        let mut spoiled = false;
        if splitter.latin1_fields().contains(&position) || text.contains('\u{FFFD}') {
            place.report_cell_text(&simple::INVALID_CHARACTER, text, out);
            spoiled = true;
        }
        if text.contains(['\n', '\r']) {
            place.report_cell_text(&simple::NEW_LINE_IN_VALUE, text, out);
            spoiled = true;
        }
        // White space is part of a value only within quotes.
        if trim_cell(text).len() < text.len()
            && is_quoted_cell(splitter.raw_record_bytes(), position)
        {
            place.report_cell_text(&simple::LEADING_OR_TRAILING_WHITESPACES, text, out);
        }
        spoiled
    }
}

/// Returns true if the cell at a position is quoted.
fn is_quoted_cell(raw: &[u8], position: usize) -> bool {
    let (mut at, mut within, mut starts) = (0, false, true);
    for &byte in raw {
        if starts && at == position && byte != b' ' {
            return byte == b'"';
        }
        match byte {
            b'"' => within = !within,
            b',' if !within => {
                at += 1;
                starts = true;
                continue;
            }
            b' ' if starts => continue,
            _ => {}
        }
        starts = false;
    }
    false
}

//! Reading of a file's rows into typed columns, with notices about single rows and cells.

use std::io::{self, Read};

use lineside_formats::{
    Error,
    gtfs::{
        fields::{FieldPresence, FileSpec},
        rows::{CsvRecord, CsvSplitter, NextRecord},
    },
};

use super::{
    cells::{self, CellLocation},
    column::CellValue,
    files::GtfsFile,
    header::{self, RowLayout},
    leniency::{self, RowRetention},
    simple,
    table::{GtfsTable, ReadStatus},
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
    retention: RowRetention,
    context: &ValidationContext,
    out: &mut Notices,
) -> Result<GtfsTable, Error> {
    let mut splitter = record_splitter(reader);
    let layout = match read_header_record(&mut splitter, spec, retention, out)? {
        HeaderOutcome::Rows(layout) => layout,
        HeaderOutcome::Nothing(table) => return Ok(table),
    };
    let mut rows = TableBuilder::new(&layout, 2, size);
    read_rows(&layout, &mut splitter, &mut rows, context, out)?;
    Ok(rows.finish_table(&layout))
}

/// Returns a splitter of a file, or a part of one, into records as in the reference validator.
pub(super) fn record_splitter<R: Read>(reader: R) -> CsvSplitter<R> {
    CsvSplitter::new(reader, ROW_BYTES_MAX).with_comment_prefix(COMMENT_START)
}

/// Returns a splitter of a part in memory: the first `n` bytes of a buffer.
pub(super) fn record_splitter_over(buffer: Vec<u8>, n: usize) -> CsvSplitter<io::Empty> {
    CsvSplitter::from_buffer(buffer, n, ROW_BYTES_MAX).with_comment_prefix(COMMENT_START)
}

/// The result of reading the header.
pub(super) enum HeaderOutcome {
    /// The layout for reading the rows.
    Rows(RowLayout),
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
    retention: RowRetention,
    out: &mut Notices,
) -> Result<HeaderOutcome, Error> {
    let has_mark = splitter
        .peek_bytes(BYTE_ORDER_MARK.len())
        .map_err(Error::from_io)?
        .starts_with(BYTE_ORDER_MARK);
    splitter.skip_bytes(if has_mark { BYTE_ORDER_MARK.len() } else { 0 });
    let start = splitter.peek_bytes(2).map_err(Error::from_io)?;
    let is_wide = UTF16_MARKS.iter().any(|mark| start.starts_with(mark));
    let nothing = |status| {
        Ok(HeaderOutcome::Nothing(GtfsTable::without_rows(spec, status).with_wide_text(is_wide)))
    };
    match splitter.find_record().map_err(Error::from_io)? {
        NextRecord::Record => {}
        NextRecord::End => {
            out.add_notice(&simple::EMPTY_FILE, |sample| {
                sample.set_field("filename", spec.name);
            });
            return nothing(ReadStatus::Empty);
        }
        NextRecord::TooLong(line) => {
            report_parsing_failed(spec, line, "the header is longer than 1 MiB", out);
            return nothing(ReadStatus::BadHeader);
        }
    }
    if let Some(message) = describe_too_large(spec, splitter) {
        report_parsing_failed(spec, splitter.record_line(), message, out);
        return nothing(ReadStatus::BadHeader);
    }
    match header::read_header(spec, retention, &splitter.current_record(), out) {
        Some(layout) => Ok(HeaderOutcome::Rows(layout)),
        None => nothing(ReadStatus::BadHeader),
    }
}

/// Reads rows to the end of the file, or up to a row that makes the rest unreadable.
///
/// # Errors
///
/// Returns an error if the file cannot be inflated.
pub(super) fn read_rows<R: Read>(
    layout: &RowLayout,
    splitter: &mut CsvSplitter<R>,
    rows: &mut TableBuilder,
    context: &ValidationContext,
    out: &mut Notices,
) -> Result<(), Error> {
    let spec = layout.spec;
    let is_strict = layout.retention.is_strict();
    loop {
        match splitter.find_record().map_err(Error::from_io)? {
            NextRecord::Record => {}
            NextRecord::End => return Ok(()),
            NextRecord::TooLong(_) if !is_strict => {
                rows.count_left_out_row();
                continue;
            }
            NextRecord::TooLong(line) => {
                report_parsing_failed(spec, line, "a row is longer than 1 MiB", out);
                rows.has_ended = true;
                return Ok(());
            }
        }
        if is_strict && let Some(message) = describe_too_large(spec, splitter) {
            report_parsing_failed(spec, splitter.record_line(), message, out);
            rows.has_ended = true;
            return Ok(());
        }
        let line = u32::try_from(splitter.record_line()).unwrap_or(u32::MAX);
        if line > ROWS_MAX {
            out.add_notice(&simple::TOO_MANY_ROWS, |sample| {
                sample.set_field("filename", spec.name).set_field("rowNumber", line);
            });
            rows.has_ended = true;
            return Ok(());
        }
        read_row(layout, splitter, line, rows, context, out);
    }
}

fn read_row<R: Read>(
    layout: &RowLayout,
    splitter: &CsvSplitter<R>,
    line: u32,
    rows: &mut TableBuilder,
    context: &ValidationContext,
    out: &mut Notices,
) {
    let record = splitter.current_record();
    if record.len() != layout.n_columns || record.len() == 1 {
        match check_row_length(layout, &record, line, out) {
            RowLength::Right => {}
            RowLength::Empty => return,
            RowLength::Wrong if layout.retention.is_strict() => {
                rows.count_left_out_row();
                return;
            }
            RowLength::Wrong => {}
        }
    }
    // Rare features are searched for once in the whole row.
    let oddities = TextOddities::from_row(splitter);
    let texts = record.to_record_text();
    let mut spoiled = false;
    rows.reserve_row();
    for (plan, column) in layout.cells.iter().zip(&mut rows.columns) {
        let place = CellLocation { file: layout.spec.name, line, field: plan.field };
        let raw = texts.field_text(plan.position);
        if oddities.any {
            let is_odd = TextOddities::report_oddities(place, plan.position, raw, splitter, out);
            spoiled |= is_odd && layout.retention.is_strict();
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
                false => cell = cells::placeholder_cell(plan.field, text),
            }
        }
        column.push_cell(cell);
    }
    for &field in &layout.absent {
        report_missing_value(CellLocation { file: layout.spec.name, line, field }, out);
    }
    if spoiled {
        rows.drop_row();
    } else {
        rows.keep_row(line, splitter.raw_bytes().len());
    }
}

enum RowLength {
    Right,
    Empty,
    Wrong,
}

/// Reports a wrong length of a row.
#[cold]
fn check_row_length(
    layout: &RowLayout,
    record: &CsvRecord<'_>,
    line: u32,
    out: &mut Notices,
) -> RowLength {
    let n_cells = record.len();
    if n_cells == 1 && record.field_bytes(0).trim_ascii().is_empty() {
        out.add_notice(&simple::EMPTY_ROW, |sample| {
            sample.set_field("filename", layout.spec.name).set_field("csvRowNumber", line);
        });
        return RowLength::Empty;
    }
    if n_cells == layout.n_columns {
        return RowLength::Right;
    }
    out.add_notice(&simple::INVALID_ROW_LENGTH, |sample| {
        sample.set_field("filename", layout.spec.name).set_field("csvRowNumber", line);
        sample.set_field("rowLength", n_cells).set_field("headerCount", layout.n_columns);
    });
    RowLength::Wrong
}

fn report_parsing_failed(spec: &'static FileSpec, line: u64, message: &str, out: &mut Notices) {
    out.add_notice(&simple::CSV_PARSING_FAILED, |sample| {
        sample
            .set_field("filename", spec.name)
            .set_field("lineIndex", line)
            .set_field("message", message);
    });
}

/// Returns the reason why a row is too large, as a message.
#[inline]
fn describe_too_large<R: Read>(
    spec: &'static FileSpec,
    splitter: &CsvSplitter<R>,
) -> Option<&'static str> {
    // The rare case is in a separate function, so that the common one is fast.
    let is_small = splitter.raw_bytes().len() <= CELL_CHARS_MAX
        && splitter.current_record().len() <= CELLS_MAX;
    if is_small { None } else { describe_too_large_record(spec, &splitter.current_record()) }
}

#[cold]
fn describe_too_large_record(
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
        FieldPresence::Required if leniency::is_required(place.file, place.field) => {
            place.report_with(&simple::MISSING_REQUIRED_FIELD, out, |_| {});
            true
        }
        FieldPresence::Recommended => {
            place.report_with(&simple::MISSING_RECOMMENDED_FIELD, out, |_| {});
            false
        }
        FieldPresence::Required | FieldPresence::Conditional | FieldPresence::Optional => false,
    }
}

/// The unusual features that a row's texts may have, determined once for the whole row.
struct TextOddities {
    any: bool,
    /// True if the row has characters other than printable ASCII.
    has_odd_signs: bool,
}

impl TextOddities {
    #[inline]
    fn from_row<R: Read>(splitter: &CsvSplitter<R>) -> TextOddities {
        let raw = splitter.raw_bytes();
        // A scan without early exit is vectorized.
        let is_sign = |byte: &u8| byte.wrapping_sub(b' ') < 95;
        if splitter.is_plain() {
            let line = &raw[..raw.len().saturating_sub(1)];
            if line.iter().fold(true, |all, byte| all & is_sign(byte)) {
                return TextOddities { any: false, has_odd_signs: false };
            }
        }
        TextOddities { any: TextOddities::may_occur_in(splitter), has_odd_signs: true }
    }

    fn may_occur_in<R: Read>(splitter: &CsvSplitter<R>) -> bool {
        let line = splitter.raw_bytes().trim_ascii_end();
        splitter.is_latin1()
            || memchr::memchr2(b'\n', b'\r', line).is_some()
            || (memchr::memchr(b'"', line).is_some()
                && memchr::memchr3(b' ', b'\t', 0, line).is_some())
            || memchr::memmem::find(line, "\u{FFFD}".as_bytes()).is_some()
    }

    /// Reports the unusual features of a cell. Returns true if they invalidate the row.
    #[cold]
    fn report_oddities<R: Read>(
        place: CellLocation,
        position: usize,
        text: &str,
        splitter: &CsvSplitter<R>,
        out: &mut Notices,
    ) -> bool {
        let mut spoiled = false;
        if splitter.latin1_fields().contains(&position) || text.contains('\u{FFFD}') {
            place.report_text(&simple::INVALID_CHARACTER, text, out);
            spoiled = true;
        }
        if text.contains(['\n', '\r']) {
            place.report_text(&simple::NEW_LINE_IN_VALUE, text, out);
            spoiled = true;
        }
        // White space is part of a value only within quotes.
        if trim_cell(text).len() < text.len() && is_quoted_cell(splitter.raw_bytes(), position) {
            place.report_text(&simple::LEADING_OR_TRAILING_WHITESPACES, text, out);
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

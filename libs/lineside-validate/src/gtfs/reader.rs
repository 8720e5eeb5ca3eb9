//! One file's rows into typed columns; what is wrong about a row or a cell by itself is said.

use std::io::{self, Read};

use lineside_formats::{
    Error,
    gtfs::{
        fields::{FileSpec, Presence},
        rows::{Found, Record, Splitter},
    },
};

use super::{
    cells::{self, Place},
    column::Cell,
    files::File,
    growing::Growing,
    header::{self, Layout},
    leniency::{self, Keeps},
    simple,
    table::{Status, Table},
};
use crate::{Context, notice::Notices};

/// Bytes of one row; a longer one counts as one that cannot be read.
pub(super) const ROW_BYTES_MAX: usize = 1 << 20;
/// Cells of one row, beyond which the reference validator gives up.
const CELLS_MAX: usize = 512;
/// Characters of one cell, in code units of UTF-16, beyond which it gives up, in all files but
/// `areas.txt`.
const CELL_CHARS_MAX: usize = 4_096;
/// Lines that begin with it count as remarks, and nobody looks at them.
pub(super) const REMARK: u8 = b'#';
/// Rows of one file, as the reference validator bounds them.
const ROWS_MAX: u32 = 1_000_000_000;
/// How much of a file is looked at for the mark of UTF-8.
pub(super) const MARK: &[u8] = b"\xEF\xBB\xBF";
/// The marks of UTF-16, in either order of bytes.
const WIDE_MARKS: [&[u8]; 2] = [b"\xFF\xFE", b"\xFE\xFF"];

/// Reads a file of so many bytes; 0 if nobody knows.
///
/// # Errors
///
/// If it cannot be inflated.
pub(super) fn read(
    reader: impl Read,
    size: u64,
    spec: &'static FileSpec,
    keeps: Keeps,
    context: &Context,
    out: &mut Notices,
) -> Result<Table, Error> {
    let mut splitter = splitter(reader);
    let layout = match begin(&mut splitter, spec, keeps, out)? {
        Begun::Rows(layout) => layout,
        Begun::Nothing(table) => return Ok(table),
    };
    let mut rows = Growing::new(&layout, 2, size);
    read_rows(&layout, &mut splitter, &mut rows, context, out)?;
    Ok(rows.finish(&layout))
}

/// Splits a file, or a part of one, into records as the reference validator does.
pub(super) fn splitter<R: Read>(reader: R) -> Splitter<R> {
    Splitter::new(reader, ROW_BYTES_MAX).with_remarks(REMARK)
}

/// The same of a part that is in memory already: the first `n` bytes of a buffer.
pub(super) fn splitter_over(buffer: Vec<u8>, n: usize) -> Splitter<io::Empty> {
    Splitter::over(buffer, n, ROW_BYTES_MAX).with_remarks(REMARK)
}

/// What a look at the header tells.
pub(super) enum Begun {
    /// How the rows are to be read.
    Rows(Layout),
    /// That they are not: the table is this.
    Nothing(Table),
}

/// Reads the header.
///
/// # Errors
///
/// If the file cannot be inflated.
pub(super) fn begin<R: Read>(
    splitter: &mut Splitter<R>,
    spec: &'static FileSpec,
    keeps: Keeps,
    out: &mut Notices,
) -> Result<Begun, Error> {
    let has_mark = splitter.peek(MARK.len()).map_err(Error::io)?.starts_with(MARK);
    splitter.skip(if has_mark { MARK.len() } else { 0 });
    let start = splitter.peek(2).map_err(Error::io)?;
    let is_wide = WIDE_MARKS.iter().any(|mark| start.starts_with(mark));
    let nothing = |status| Ok(Begun::Nothing(Table::without_rows(spec, status).wide(is_wide)));
    match splitter.find().map_err(Error::io)? {
        Found::Record => {}
        Found::End => {
            out.add(&simple::EMPTY_FILE, |sample| {
                sample.put("filename", spec.name);
            });
            return nothing(Status::Empty);
        }
        Found::TooLong(line) => {
            parsing_failed(spec, line, "the header is longer than 1 MiB", out);
            return nothing(Status::BadHeader);
        }
    }
    if let Some(message) = what_is_too_large(spec, splitter) {
        parsing_failed(spec, splitter.record_line(), message, out);
        return nothing(Status::BadHeader);
    }
    match header::read(spec, keeps, &splitter.record(), out) {
        Some(layout) => Ok(Begun::Rows(layout)),
        None => nothing(Status::BadHeader),
    }
}

/// Reads rows until there are no more, or none that can be read.
///
/// # Errors
///
/// If the file cannot be inflated.
pub(super) fn read_rows<R: Read>(
    layout: &Layout,
    splitter: &mut Splitter<R>,
    rows: &mut Growing,
    context: &Context,
    out: &mut Notices,
) -> Result<(), Error> {
    let spec = layout.spec;
    let is_strict = layout.keeps.is_strict();
    loop {
        match splitter.find().map_err(Error::io)? {
            Found::Record => {}
            Found::End => return Ok(()),
            Found::TooLong(_) if !is_strict => {
                rows.leave_out();
                continue;
            }
            Found::TooLong(line) => {
                parsing_failed(spec, line, "a row is longer than 1 MiB", out);
                rows.has_ended = true;
                return Ok(());
            }
        }
        if is_strict && let Some(message) = what_is_too_large(spec, splitter) {
            parsing_failed(spec, splitter.record_line(), message, out);
            rows.has_ended = true;
            return Ok(());
        }
        let line = u32::try_from(splitter.record_line()).unwrap_or(u32::MAX);
        if line > ROWS_MAX {
            out.add(&simple::TOO_MANY_ROWS, |sample| {
                sample.put("filename", spec.name).put("rowNumber", line);
            });
            rows.has_ended = true;
            return Ok(());
        }
        read_row(layout, splitter, line, rows, context, out);
    }
}

fn read_row<R: Read>(
    layout: &Layout,
    splitter: &Splitter<R>,
    line: u32,
    rows: &mut Growing,
    context: &Context,
    out: &mut Notices,
) {
    let record = splitter.record();
    if record.len() != layout.n_columns || record.len() == 1 {
        match say_length(layout, &record, line, out) {
            Length::Right => {}
            Length::Empty => return,
            Length::Wrong if layout.keeps.is_strict() => {
                rows.leave_out();
                return;
            }
            Length::Wrong => {}
        }
    }
    // What hardly any row has is looked for once in the whole of it.
    let oddities = Oddities::of(splitter);
    let texts = record.text();
    let mut spoiled = false;
    rows.expect_row();
    for (plan, column) in layout.cells.iter().zip(&mut rows.columns) {
        let place = Place { file: layout.spec.name, line, field: plan.field };
        let raw = texts.field(plan.position);
        if oddities.any {
            let is_odd = Oddities::say(place, plan.position, raw, splitter, out);
            spoiled |= is_odd && layout.keeps.is_strict();
        }
        let text = trimmed(raw);
        let (mut cell, bad) = if text.is_empty() {
            (Cell::Empty, say_missing(place, out))
        } else {
            cells::read(place, text, oddities.has_odd_signs, context.country, out)
        };
        if bad {
            match plan.is_needed {
                true => spoiled = true,
                false => cell = cells::unread(plan.field, text),
            }
        }
        column.push(cell);
    }
    for &field in &layout.absent {
        say_missing(Place { file: layout.spec.name, line, field }, out);
    }
    if spoiled {
        rows.drop_row();
    } else {
        rows.keep_row(line, splitter.raw().len());
    }
}

enum Length {
    Right,
    Empty,
    Wrong,
}

/// Says what is wrong about the length of a row.
#[cold]
fn say_length(layout: &Layout, record: &Record<'_>, line: u32, out: &mut Notices) -> Length {
    let n_cells = record.len();
    if n_cells == 1 && record.field(0).trim_ascii().is_empty() {
        out.add(&simple::EMPTY_ROW, |sample| {
            sample.put("filename", layout.spec.name).put("csvRowNumber", line);
        });
        return Length::Empty;
    }
    if n_cells == layout.n_columns {
        return Length::Right;
    }
    out.add(&simple::INVALID_ROW_LENGTH, |sample| {
        sample.put("filename", layout.spec.name).put("csvRowNumber", line);
        sample.put("rowLength", n_cells).put("headerCount", layout.n_columns);
    });
    Length::Wrong
}

fn parsing_failed(spec: &'static FileSpec, line: u64, message: &str, out: &mut Notices) {
    out.add(&simple::CSV_PARSING_FAILED, |sample| {
        sample.put("filename", spec.name).put("lineIndex", line).put("message", message);
    });
}

/// What makes a row too large to be read, in words.
#[inline]
fn what_is_too_large<R: Read>(
    spec: &'static FileSpec,
    splitter: &Splitter<R>,
) -> Option<&'static str> {
    // What hardly any row is stays out of the way of the others.
    let is_small = splitter.raw().len() <= CELL_CHARS_MAX && splitter.record().len() <= CELLS_MAX;
    if is_small { None } else { what_of_it_is_too_large(spec, &splitter.record()) }
}

#[cold]
fn what_of_it_is_too_large(spec: &'static FileSpec, record: &Record<'_>) -> Option<&'static str> {
    if record.len() > CELLS_MAX {
        return Some("a row has more than 512 values");
    }
    if spec.name == File::Areas.name() {
        return None;
    }
    let is_long = |position| {
        let cell = record.field(position);
        let text = std::str::from_utf8(cell).unwrap_or_default();
        cell.len() > CELL_CHARS_MAX && text.encode_utf16().nth(CELL_CHARS_MAX).is_some()
    };
    (0..record.len()).any(is_long).then_some("a value is longer than 4096 characters")
}

/// Without the white space and control characters around it.
#[inline]
pub(super) fn trimmed(text: &str) -> &str {
    match text.as_bytes() {
        [first, .., last] if *first > b' ' && *last > b' ' => text,
        [only] if *only > b' ' => text,
        _ => text.trim_matches(|c: char| c <= ' '),
    }
}

/// Says that a cell is empty, if it should not be. Tells whether that spoils the row.
#[inline]
fn say_missing(place: Place, out: &mut Notices) -> bool {
    match place.field.presence {
        Presence::Required if leniency::is_required(place.file, place.field) => {
            place.say_with(&simple::MISSING_REQUIRED_FIELD, out, |_| {});
            true
        }
        Presence::Recommended => {
            place.say_with(&simple::MISSING_RECOMMENDED_FIELD, out, |_| {});
            false
        }
        Presence::Required | Presence::Conditional | Presence::Optional => false,
    }
}

/// What may be odd about the texts of a row, of which a look at the whole row tells that there is
/// none.
struct Oddities {
    any: bool,
    /// Whether it holds other signs than the printable ones of ASCII.
    has_odd_signs: bool,
}

impl Oddities {
    #[inline]
    fn of<R: Read>(splitter: &Splitter<R>) -> Oddities {
        let raw = splitter.raw();
        // Looks at all bytes instead of stopping at one, which goes many at a time.
        let is_sign = |byte: &u8| byte.wrapping_sub(b' ') < 95;
        if splitter.is_plain() {
            let line = &raw[..raw.len().saturating_sub(1)];
            if line.iter().fold(true, |all, byte| all & is_sign(byte)) {
                return Oddities { any: false, has_odd_signs: false };
            }
        }
        Oddities { any: Oddities::may_be_in(splitter), has_odd_signs: true }
    }

    fn may_be_in<R: Read>(splitter: &Splitter<R>) -> bool {
        let line = splitter.raw().trim_ascii_end();
        splitter.is_latin1()
            || memchr::memchr2(b'\n', b'\r', line).is_some()
            || (memchr::memchr(b'"', line).is_some()
                && memchr::memchr3(b' ', b'\t', 0, line).is_some())
            || memchr::memmem::find(line, "\u{FFFD}".as_bytes()).is_some()
    }

    /// Says what is odd about one cell. Tells whether that spoils the row.
    #[cold]
    fn say<R: Read>(
        place: Place,
        position: usize,
        text: &str,
        splitter: &Splitter<R>,
        out: &mut Notices,
    ) -> bool {
        let mut spoiled = false;
        if splitter.latin1_fields().contains(&position) || text.contains('\u{FFFD}') {
            place.say(&simple::INVALID_CHARACTER, text, out);
            spoiled = true;
        }
        if text.contains(['\n', '\r']) {
            place.say(&simple::NEW_LINE_IN_VALUE, text, out);
            spoiled = true;
        }
        // White space counts as part of a value only within quotes.
        if trimmed(text).len() < text.len() && is_quoted(splitter.raw(), position) {
            place.say(&simple::LEADING_OR_TRAILING_WHITESPACES, text, out);
        }
        spoiled
    }
}

/// Whether the cell at a position stands in quotes.
fn is_quoted(raw: &[u8], position: usize) -> bool {
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

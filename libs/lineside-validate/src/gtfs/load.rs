//! Reads a schedule's files into tables, and says what is wrong about each by itself.

use std::io::Read;

use lineside_formats::{
    Error,
    gtfs::{
        fields::{FieldSpec, FileSpec, Kind, LOCATIONS, Presence},
        rows::{Found, Record, Splitter},
    },
};

use super::{
    cells::{self, Place},
    column::{Cell, Column},
    dict::Dict,
    feed::{ALWAYS, Feed},
    files::File,
    leniency, simple,
    source::Source,
    table::{self, Status, Table},
    zones::{self, Zones},
};
use crate::{Context, notice::Notices};

/// Bytes of one row; a longer one counts as one that cannot be read.
const ROW_BYTES_MAX: usize = 1 << 20;
/// Cells of one row, beyond which the reference validator gives up.
const CELLS_MAX: usize = 512;
/// Characters of one cell, in code units of UTF-16, beyond which it gives up, in all files but
/// `areas.txt`.
const CELL_CHARS_MAX: usize = 4_096;
/// Lines that begin with it count as remarks, and nobody looks at them.
const REMARK: u8 = b'#';
/// Rows of one file, as the reference validator bounds them.
const ROWS_MAX: u32 = 1_000_000_000;
/// How much of a file is looked at for the mark of UTF-8.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// Reads all files of a schedule, on as many threads as the context allows, each file by one.
///
/// # Errors
///
/// If a file cannot be opened or inflated; what is wrong inside of files is said in notices.
pub fn load(source: &dyn Source, context: &Context, notices: &mut Notices) -> Result<Feed, Error> {
    let names = source.list();
    let mut jobs: Vec<(File, &str, u64)> = Vec::new();
    let mut zones = Zones::NONE;
    for (name, size) in &names {
        match File::of_name(name) {
            Some(file) if !jobs.iter().any(|(other, ..)| *other == file) => {
                jobs.push((file, name, *size));
            }
            _ if name.eq_ignore_ascii_case(LOCATIONS) => {
                zones = read_zones(source, name, notices)?;
            }
            _ => notices.add(&simple::UNKNOWN_FILE, |sample| {
                sample.put("filename", name.as_str());
            }),
        }
    }
    if source.has_nested() {
        notices.add(&simple::INVALID_INPUT_FILES_IN_SUBFOLDER, |sample| {
            sample.put("message", simple::NESTED);
        });
    }
    // The largest first, so that no thread is left alone with it at the end.
    jobs.sort_by_key(|&(_, _, size)| std::cmp::Reverse(size));
    let read = |job: &(File, &str, u64), out: &mut Notices| read_file(source, *job, context, out);
    let mut tables: Vec<Option<Table>> = File::ALL.iter().map(|_| None).collect();
    for (job, result) in jobs.iter().zip(crate::rules::in_turn(&jobs, context, notices, read)) {
        tables[job.0 as usize] = Some(result?);
    }
    for file in File::ALL {
        if tables[file as usize].is_none() && ALWAYS.contains(&file) {
            notices.add(&simple::MISSING_REQUIRED_FILE, |sample| {
                sample.put("filename", file.name());
            });
        }
    }
    let tables = File::ALL.into_iter().zip(tables);
    let tables = tables
        .map(|(file, table)| {
            table.unwrap_or_else(|| Table::without_rows(file.spec(), Status::Missing))
        })
        .collect();
    Ok(Feed::new(tables, zones, names.into_iter().map(|(name, _)| name).collect()))
}

fn read_zones(source: &dyn Source, name: &str, out: &mut Notices) -> Result<Zones, Error> {
    let mut read = Ok(Zones::NONE);
    source.read(name, &mut |reader| {
        if let Some(reader) = reader {
            read = zones::read(reader, out);
        }
    })?;
    read.map_err(|error| error.in_file(name))
}

fn read_file(
    source: &dyn Source,
    (file, name, _): (File, &str, u64),
    context: &Context,
    out: &mut Notices,
) -> Result<Table, Error> {
    let mut table = Ok(Table::without_rows(file.spec(), Status::Missing));
    source.read(name, &mut |reader| {
        if let Some(reader) = reader {
            table = TableReader::read(reader, file.spec(), context, out);
        }
    })?;
    table.map_err(|error| error.in_file(name))
}

/// Where a field's cells stand in a row, and where they go.
struct Plan {
    position: usize,
    field: &'static FieldSpec,
    column: Column,
}

/// A file that is being read.
struct TableReader<'a, R> {
    splitter: Splitter<R>,
    spec: &'static FileSpec,
    n_columns: usize,
    plans: Vec<Plan>,
    n_rows: u32,
    /// The lines of the rows, once they are not simply numbered.
    lines: Option<Vec<u32>>,
    has_bad_rows: bool,
    /// Fields that each row should have, of columns that the file lacks.
    absent: Vec<&'static FieldSpec>,
    context: &'a Context,
}

impl<'a, R: Read> TableReader<'a, R> {
    fn read(
        reader: R,
        spec: &'static FileSpec,
        context: &'a Context,
        out: &mut Notices,
    ) -> Result<Table, Error> {
        let mut splitter = Splitter::new(reader, ROW_BYTES_MAX).with_remarks(REMARK);
        let has_mark = splitter.peek(MARK.len()).map_err(Error::io)?.starts_with(MARK);
        splitter.skip(if has_mark { MARK.len() } else { 0 });
        match splitter.find().map_err(Error::io)? {
            Found::Record => {}
            Found::End => {
                out.add(&simple::EMPTY_FILE, |sample| {
                    sample.put("filename", spec.name);
                });
                return Ok(Table::without_rows(spec, Status::Empty));
            }
            Found::TooLong(line) => {
                parsing_failed(spec, line, "the header is longer than 1 MiB", out);
                return Ok(Table::without_rows(spec, Status::BadHeader));
            }
        }
        if let Some(message) = what_is_too_large(spec, &splitter) {
            parsing_failed(spec, splitter.record_line(), message, out);
            return Ok(Table::without_rows(spec, Status::BadHeader));
        }
        let Some((n_columns, plans)) = read_header(spec, &splitter.record(), out) else {
            return Ok(Table::without_rows(spec, Status::BadHeader));
        };
        let has = |field: &FieldSpec| plans.iter().any(|plan| plan.field.name == field.name);
        let recommended = |field: &&FieldSpec| field.presence == Presence::Recommended;
        let absent = spec.fields.iter().filter(recommended).filter(|field| !has(field)).collect();
        let mut reader = TableReader {
            splitter,
            spec,
            n_columns,
            plans,
            n_rows: 0,
            lines: None,
            has_bad_rows: false,
            absent,
            context,
        };
        reader.read_rows(out)?;
        Ok(reader.finish())
    }

    fn read_rows(&mut self, out: &mut Notices) -> Result<(), Error> {
        loop {
            match self.splitter.find().map_err(Error::io)? {
                Found::Record => {}
                Found::End => return Ok(()),
                Found::TooLong(line) => {
                    parsing_failed(self.spec, line, "a row is longer than 1 MiB", out);
                    self.has_bad_rows = true;
                    return Ok(());
                }
            }
            if let Some(message) = what_is_too_large(self.spec, &self.splitter) {
                parsing_failed(self.spec, self.splitter.record_line(), message, out);
                self.has_bad_rows = true;
                return Ok(());
            }
            let line = u32::try_from(self.splitter.record_line()).unwrap_or(u32::MAX);
            if line > ROWS_MAX {
                out.add(&simple::TOO_MANY_ROWS, |sample| {
                    sample.put("filename", self.spec.name).put("rowNumber", line);
                });
                self.has_bad_rows = true;
                return Ok(());
            }
            self.read_row(line, out);
        }
    }

    fn read_row(&mut self, line: u32, out: &mut Notices) {
        let record = self.splitter.record();
        let n_cells = record.len();
        if n_cells == 1 && record.field(0).trim_ascii().is_empty() {
            out.add(&simple::EMPTY_ROW, |sample| {
                sample.put("filename", self.spec.name).put("csvRowNumber", line);
            });
            return;
        }
        if n_cells != self.n_columns {
            let n_columns = self.n_columns;
            out.add(&simple::INVALID_ROW_LENGTH, |sample| {
                sample.put("filename", self.spec.name).put("csvRowNumber", line);
                sample.put("rowLength", n_cells).put("headerCount", n_columns);
            });
            self.has_bad_rows = true;
            return;
        }
        // What hardly any row has is looked for once in the whole of it.
        let oddities = Oddities::of(&self.splitter);
        let mut spoiled = false;
        for plan in &mut self.plans {
            let place = Place { file: self.spec.name, line, field: plan.field };
            let raw = std::str::from_utf8(record.field(plan.position)).unwrap_or_default();
            let text = trimmed(raw);
            if oddities.any {
                spoiled |= oddities.say(place, plan.position, raw, &self.splitter, out);
            }
            let cell = if text.is_empty() {
                spoiled |= say_missing(place, out);
                Cell::Empty
            } else {
                let (cell, bad) = cells::read(place, text, self.context.country, out);
                spoiled |= bad;
                cell
            };
            plan.column.push(cell);
        }
        for &field in &self.absent {
            say_missing(Place { file: self.spec.name, line, field }, out);
        }
        if spoiled {
            self.has_bad_rows = true;
            for plan in &mut self.plans {
                plan.column.truncate(self.n_rows as usize);
            }
            return;
        }
        match &mut self.lines {
            Some(lines) => lines.push(line),
            None if line == self.n_rows + 2 => {}
            None => {
                let mut lines: Vec<u32> = (2..self.n_rows + 2).collect();
                lines.push(line);
                self.lines = Some(lines);
            }
        }
        self.n_rows += 1;
    }

    fn finish(self) -> Table {
        let mut columns: Vec<Option<Column>> = self.spec.fields.iter().map(|_| None).collect();
        for mut plan in self.plans {
            let at = self.spec.fields.iter().position(|field| field.name == plan.field.name);
            plan.column.shrink();
            if let Some(at) = at {
                columns[at] = Some(plan.column);
            }
        }
        let status = if self.has_bad_rows { Status::BadRows } else { Status::Parsed };
        Table::new(self.spec, status, columns, self.n_rows, self.lines)
    }
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
    let record = splitter.record();
    if record.len() > CELLS_MAX {
        return Some("a row has more than 512 values");
    }
    if splitter.raw().len() <= CELL_CHARS_MAX || spec.name == File::Areas.name() {
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
fn trimmed(text: &str) -> &str {
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
}

impl Oddities {
    fn of<R: Read>(splitter: &Splitter<R>) -> Oddities {
        let raw = splitter.raw();
        let line = raw.trim_ascii_end();
        let any = splitter.is_latin1()
            || memchr::memchr2(b'\n', b'\r', line).is_some()
            || (memchr::memchr(b'"', line).is_some()
                && memchr::memchr3(b' ', b'\t', 0, line).is_some())
            || memchr::memmem::find(line, "\u{FFFD}".as_bytes()).is_some();
        Oddities { any }
    }

    /// Says what is odd about one cell. Tells whether that spoils the row.
    #[cold]
    fn say<R: Read>(
        &self,
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

/// Reads the header: how many columns there are, and where the fields of the reference stand.
/// `None` if it is wrong.
fn read_header(
    spec: &'static FileSpec,
    record: &Record<'_>,
    out: &mut Notices,
) -> Option<(usize, Vec<Plan>)> {
    let mut is_fine = true;
    let mut seen: Vec<(&str, usize)> = Vec::new();
    for position in 0..record.len() {
        let name = trimmed(std::str::from_utf8(record.field(position)).unwrap_or_default());
        if name.is_empty() {
            out.add(&simple::EMPTY_COLUMN_NAME, |sample| {
                sample.put("filename", spec.name).put("index", position + 1);
            });
            is_fine = false;
            continue;
        }
        match seen.iter().find(|(other, _)| *other == name) {
            Some((_, first)) => {
                out.add(&simple::DUPLICATED_COLUMN, |sample| {
                    sample.put("filename", spec.name).put("fieldName", name);
                    sample.put("firstIndex", first + 1).put("secondIndex", position + 1);
                });
                is_fine = false;
            }
            None => seen.push((name, position)),
        }
        if spec.find_field(name).is_none() {
            out.add(&simple::UNKNOWN_COLUMN, |sample| {
                sample.put("filename", spec.name).put("fieldName", name);
                sample.put("index", position + 1);
            });
        }
    }
    let mut plans = Vec::new();
    for field in spec.fields {
        match seen.iter().find(|(name, _)| *name == field.name) {
            Some(&(_, position)) => {
                plans.push(Plan { position, field, column: column_of(field.kind) });
            }
            None if leniency::is_required(spec.name, field) || field.column_required => {
                out.add(&simple::MISSING_REQUIRED_COLUMN, |sample| {
                    sample.put("filename", spec.name).put("fieldName", field.name);
                });
                is_fine = false;
            }
            None => {}
        }
    }
    is_fine.then_some((record.len(), plans))
}

fn column_of(kind: Kind) -> Column {
    if table::is_small(kind) {
        Column::Small(Vec::new())
    } else if table::is_number(kind) {
        Column::Number(Vec::new())
    } else if table::is_float(kind) {
        Column::Float(Vec::new())
    } else {
        Column::Text { codes: Vec::new(), dict: Dict::new(seed()) }
    }
}

/// Differs from run to run, so that nobody can write ids whose hashes all meet.
fn seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one("texts")
}

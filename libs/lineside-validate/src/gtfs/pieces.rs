//! A large file read by several threads: one inflates it and cuts it at the ends of rows, all of
//! them read the pieces, and the rows are put together in the order of the file.

use std::{
    collections::BTreeMap,
    io::{self, Cursor, Read},
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
};

use lineside_formats::{
    Error,
    gtfs::{fields::FileSpec, rows::Found},
};

use super::{
    cutter::{Cutter, Next, Piece},
    growing::Growing,
    header::Layout,
    leniency::Keeps,
    reader::{self, Begun},
    table::Table,
};
use crate::{Context, notice::Notices};

/// Threads that read one file: more of them would wait for the one that inflates it.
const THREADS_MAX: usize = 8;
/// Pieces under way for each thread.
const PIECES_PER_THREAD: usize = 2;

/// Reads a file of so many bytes as [`reader::read`] does, on as many threads as the context allows. It takes as much
/// memory more as the pieces under way, which are bounded.
///
/// # Errors
///
/// If it cannot be inflated.
pub(super) fn read(
    file: &mut dyn Read,
    size: u64,
    piece_bytes: usize,
    spec: &'static FileSpec,
    keeps: Keeps,
    context: &Context,
    out: &mut Notices,
) -> Result<Table, Error> {
    let mut cutter = Cutter::new(file, piece_bytes);
    let first = match cutter.next(None).map_err(Error::io)? {
        Next::Piece(piece) if has_header(&piece) => piece,
        Next::Piece(Piece { bytes, .. }) => {
            let rest = Cursor::new(bytes).chain(cutter.into_rest());
            return reader::read(rest, size, spec, keeps, context, out);
        }
        Next::Rest(bytes, _) => {
            let rest = Cursor::new(bytes).chain(cutter.into_rest());
            return reader::read(rest, size, spec, keeps, context, out);
        }
        Next::End => return reader::read(io::empty(), 0, spec, keeps, context, out),
    };
    let mut splitter = reader::splitter(first.bytes.as_slice());
    let layout = match reader::begin(&mut splitter, spec, keeps, out)? {
        Begun::Rows(layout) => layout,
        Begun::Nothing(table) => return Ok(table),
    };
    let mut rows = Growing::new(&layout, 2, size);
    reader::read_rows(&layout, &mut splitter, &mut rows, context, out)?;
    if !rows.has_ended {
        let rest = read_pieces(&mut cutter, &layout, &mut rows, context, out)?;
        if let (Some((bytes, line)), false) = (rest, rows.has_ended) {
            let mut splitter =
                reader::splitter(Cursor::new(bytes).chain(cutter.into_rest())).from_line(line);
            reader::read_rows(&layout, &mut splitter, &mut rows, context, out)?;
        }
    }
    Ok(rows.finish(&layout))
}

/// Whether the header is in a file's first piece: a million empty lines may be before it.
fn has_header(first: &Piece) -> bool {
    matches!(reader::splitter(first.bytes.as_slice()).find(), Ok(Found::Record))
}

/// Reads pieces as long as the file can be cut into them. Gives what is left of it then.
fn read_pieces(
    cutter: &mut Cutter<'_>,
    layout: &Layout,
    rows: &mut Growing,
    context: &Context,
    out: &mut Notices,
) -> Result<Option<(Vec<u8>, u64)>, Error> {
    let empty = out.sibling();
    // Room that one piece's rows had is for those of another: the system clears what it gives out.
    let spare: Mutex<Vec<Growing>> = Mutex::default();
    let work = |(number, piece): (usize, Piece)| {
        let mut notices = empty.clone();
        let rows = spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let part = read_piece(layout, &piece, rows, context, &mut notices);
        Part { number, part, notices, bytes: piece.bytes }
    };
    // What each works on, and what waits for it; all of them may be done before the first is.
    let n_threads = context.threads.min(THREADS_MAX);
    let n_max = PIECES_PER_THREAD * n_threads;
    let (pieces, waiting) = sync_channel(n_threads);
    let (done, parts) = sync_channel(n_max);
    let waiting = Mutex::new(waiting);
    let mut gathered = Gathered {
        rows,
        out,
        early: BTreeMap::new(),
        n_cut: 0,
        n_appended: 0,
        n_max,
        failed: None,
        spare: &spare,
        buffers: Vec::new(),
    };
    let rest = thread::scope(|scope| {
        for _ in 1..n_threads {
            let (done, work, waiting) = (done.clone(), &work, &waiting);
            scope.spawn(move || {
                while let Some(piece) = next_of(waiting) {
                    if done.send(work(piece)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        let others = Others { waiting: &waiting, parts };
        let rest = cut(cutter, &pieces, &others, work, &mut gathered);
        drop(pieces);
        while gathered.is_open() {
            let Some(part) = others.next_part(work) else { break };
            gathered.take(part);
        }
        rest
    });
    match gathered.failed.take() {
        Some(error) if !gathered.rows.has_ended => Err(error),
        _ => Ok(rest),
    }
}

/// Cuts pieces and hands them out; does those itself that nobody else has time for. Gives what cannot
/// be cut, and the line with which that begins.
fn cut(
    cutter: &mut Cutter<'_>,
    pieces: &SyncSender<(usize, Piece)>,
    others: &Others<'_>,
    work: impl Fn((usize, Piece)) -> Part + Copy,
    gathered: &mut Gathered<'_>,
) -> Option<(Vec<u8>, u64)> {
    loop {
        while let Ok(part) = others.parts.try_recv() {
            gathered.take(part);
        }
        if gathered.rows.has_ended || gathered.failed.is_some() {
            return None;
        }
        if gathered.n_cut - gathered.n_appended >= gathered.n_max {
            gathered.take(others.next_part(work)?);
            continue;
        }
        match cutter.next(gathered.buffers.pop()) {
            Ok(Next::Piece(piece)) => {
                let number = gathered.n_cut;
                gathered.n_cut += 1;
                match pieces.try_send((number, piece)) {
                    Ok(()) => {}
                    Err(TrySendError::Full(piece) | TrySendError::Disconnected(piece)) => {
                        gathered.take(work(piece));
                    }
                }
            }
            Ok(Next::Rest(bytes, line)) => return Some((bytes, line)),
            Ok(Next::End) => return None,
            Err(error) => {
                gathered.failed = Some(Error::io(error));
                return None;
            }
        }
    }
}

/// What the thread that cuts has to do with the others.
struct Others<'a> {
    waiting: &'a Mutex<Receiver<(usize, Piece)>>,
    parts: Receiver<Part>,
}

impl Others<'_> {
    /// What was read from some piece that is under way: from one that waits for somebody, by who asks, else
    /// from one that another thread is done with. Nobody idles while pieces wait.
    fn next_part(&self, work: impl Fn((usize, Piece)) -> Part) -> Option<Part> {
        let piece = self.waiting.try_lock().ok().and_then(|waiting| waiting.try_recv().ok());
        match piece {
            Some(piece) => Some(work(piece)),
            None => self.parts.recv().ok(),
        }
    }
}

fn next_of(waiting: &Mutex<Receiver<(usize, Piece)>>) -> Option<(usize, Piece)> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

fn read_piece(
    layout: &Layout,
    piece: &Piece,
    spare: Option<Growing>,
    context: &Context,
    notices: &mut Notices,
) -> Result<Growing, Error> {
    let (line, size) = (u32::try_from(piece.line).unwrap_or(u32::MAX), piece.bytes.len() as u64);
    let mut rows = spare.unwrap_or_else(|| Growing::new(layout, line, size));
    rows.begin_anew(line, size);
    let mut splitter = reader::splitter(piece.bytes.as_slice()).from_line(piece.line);
    reader::read_rows(layout, &mut splitter, &mut rows, context, notices)?;
    Ok(rows)
}

/// What was read from a piece.
struct Part {
    number: usize,
    part: Result<Growing, Error>,
    notices: Notices,
    /// What held the piece, to be used again.
    bytes: Vec<u8>,
}

/// What was read from all pieces so far.
struct Gathered<'a> {
    rows: &'a mut Growing,
    out: &'a mut Notices,
    /// What was read from pieces before the turn of which it is.
    early: BTreeMap<usize, Part>,
    n_cut: usize,
    n_appended: usize,
    /// How many may be cut before they are appended.
    n_max: usize,
    failed: Option<Error>,
    /// What rows of pieces were in and other rows may be; no more than there are pieces under way.
    spare: &'a Mutex<Vec<Growing>>,
    buffers: Vec<Vec<u8>>,
}

impl Gathered<'_> {
    /// Whether something is still to be read, of what was cut.
    fn is_open(&self) -> bool {
        self.n_appended < self.n_cut && !self.rows.has_ended
    }

    /// Takes what was read from a piece, and all of which it is the turn. What follows a row after
    /// which a file cannot be read does not count.
    fn take(&mut self, part: Part) {
        self.early.insert(part.number, part);
        while let Some(Part { part, notices, bytes, .. }) = self.early.remove(&self.n_appended) {
            self.n_appended += 1;
            self.buffers.push(bytes);
            if self.rows.has_ended {
                continue;
            }
            self.out.merge(notices);
            match part {
                Ok(part) => {
                    self.rows.append(&part);
                    self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(part);
                }
                Err(error) => self.failed = Some(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::{super::files::File, *};

    const PARTS: [&str; 18] = [
        "t,s,1\n",
        "t,s,2\n",
        "tt,\"s\",3\n",
        "u,\"a\nb\",4\n",
        "u,\"say \"\"x\"\"\",5\r\n",
        "u,s,x\n",
        "\n",
        ",,\n",
        "u,s\n",
        "u,a\"b,6\n",
        " u , s ,7\n",
        "ü,s,8\n",
        "u,s,-1\n",
        "",
        "v,s,9\n",
        "w,s,10\n",
        "w,a#b,11\n",
        "w,\"#,\"\"b\",12\n",
    ];
    /// What makes a file one that cannot be cut, or not to its end.
    const ODD_PARTS: [&str; 5] =
        ["# \"remark\n", "v,s,11\r", "\u{FEFF}v,s,12\n", "v,\"open,13\n", "\r"];

    /// All that can be seen of a file that was read.
    fn seen(table: &Result<Table, Error>, out: &Notices) -> String {
        let Ok(table) = table else { return format!("{table:?}") };
        let trips = table.texts("trip_id");
        let stops = table.texts("stop_id");
        let sequences = table.numbers("stop_sequence");
        let row = |row| {
            let (trip, stop) = (trips.code(row), stops.get(row));
            (table.line(row), trip, trips.get(row), stop, sequences.get(row))
        };
        let rows: Vec<_> = table.rows().map(row).collect();
        let found: Vec<_> =
            out.iter().map(|found| (found.kind.code, found.total, &found.samples)).collect();
        format!("{:?} {rows:?} {found:?}", table.status())
    }

    /// Reads a text by one thread and by three, in pieces of so many bytes.
    fn check(text: &str, piece_bytes: usize) {
        let spec = File::StopTimes.spec();
        let context = Context { today: date(2026, 1, 1), country: None, threads: 3 };
        for keeps in [Keeps::Sound, Keeps::With(&["trip_id", "stop_sequence"])] {
            let (mut out, mut whole) = (Notices::new(5), text.as_bytes());
            let table = reader::read(whole, text.len() as u64, spec, keeps, &context, &mut out);
            let expected = seen(&table, &out);
            let mut out = Notices::new(5);
            let table = read(&mut whole, 0, piece_bytes, spec, keeps, &context, &mut out);
            assert_eq!(seen(&table, &out), expected, "{text:?} in pieces of {piece_bytes}");
        }
    }

    #[test]
    fn pieces_are_read_as_the_whole_is() {
        let mut random = fastrand::Rng::with_seed(7);
        for round in 0..400 {
            let mut text = String::from("trip_id,stop_id,stop_sequence\n");
            if round % 5 == 0 {
                text.insert(0, '\u{FEFF}');
            }
            for _ in 0..random.usize(..40) {
                let is_odd = round % 2 == 1 && random.u8(..16) == 0;
                text += random
                    .choice(if is_odd { &ODD_PARTS[..] } else { &PARTS[..] })
                    .copied()
                    .unwrap_or_default();
            }
            check(&text, random.usize(40..300));
        }
    }

    #[test]
    fn the_mark_of_utf8_within_a_file_is_part_of_a_value() {
        for rows in ["\u{FEFF}v,s,1\n".repeat(40), "v,\"s\",1\n\u{FEFF}w,s,2\n".repeat(20)] {
            for piece_bytes in 40..120 {
                check(&format!("trip_id,stop_id,stop_sequence\n{rows}"), piece_bytes);
            }
        }
    }

    #[test]
    fn what_is_no_table_is_said_as_of_the_whole() {
        for text in [
            "",
            "\n\n\n\n\n\n\n\n",
            "trip_id\n",
            "\n\n\n\n\n\n\n\n\n\ntrip_id,stop_id,stop_sequence\na,b,1\n",
        ] {
            check(text, 8);
        }
    }

    #[test]
    fn nothing_after_a_row_that_is_too_large_counts() {
        let rows = "t,s,1\nx,y\n".repeat(50);
        let large = format!("t,{},2\n", "s".repeat(4_097));
        check(&format!("trip_id,stop_id,stop_sequence\n{rows}{large}{rows}"), 5_000);
        check(&format!("trip_id,stop_id,stop_sequence\n{rows}{large}{rows}"), 600);
    }

    #[test]
    fn a_file_that_breaks_off_is_an_error() {
        struct Broken(usize);
        impl Read for Broken {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                if self.0 == 0 {
                    return Err(io::Error::other("broken"));
                }
                self.0 -= 1;
                let row = &b"trip_id,stop_id,stop_sequence\n"[..];
                row.take(buffer.len() as u64).read(buffer)
            }
        }
        let context = Context { today: date(2026, 1, 1), country: None, threads: 2 };
        let spec = File::StopTimes.spec();
        let (keeps, mut out) = (Keeps::Sound, Notices::new(0));
        let read = read(&mut Broken(40), 1_200, 100, spec, keeps, &context, &mut out);
        assert!(read.is_err());
    }
}

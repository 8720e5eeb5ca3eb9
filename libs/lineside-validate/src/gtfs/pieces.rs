//! A large file read by several threads: one inflates it and cuts it at the ends of rows, all of
//! them read the pieces, and the rows are put together in the order of the file.

use std::{
    collections::BTreeMap,
    io::{self, Cursor, Read},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
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
/// Pieces under way for each thread, and those of them that wait for somebody: as many that nobody runs out of them while who cuts reads
/// one itself, or puts rows into the table.
const PIECES_PER_THREAD: usize = 8;
const WAITING_PER_THREAD: usize = PIECES_PER_THREAD / 2;

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
        Next::Piece(piece) => {
            let rest = piece.bytes().chain(cutter.into_rest());
            return reader::read(rest, size, spec, keeps, context, out);
        }
        Next::Rest(bytes, _) => {
            let rest = Cursor::new(bytes).chain(cutter.into_rest());
            return reader::read(rest, size, spec, keeps, context, out);
        }
        Next::End => return reader::read(io::empty(), 0, spec, keeps, context, out),
    };
    let mut splitter = reader::splitter(first.bytes());
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
    matches!(reader::splitter(first.bytes()).find(), Ok(Found::Record))
}

/// Reads pieces as long as the file can be cut into them. Gives what is left of it then.
fn read_pieces(
    cutter: &mut Cutter<'_>,
    layout: &Layout,
    rows: &mut Growing,
    context: &Context,
    out: &mut Notices,
) -> Result<Option<(Vec<u8>, u64)>, Error> {
    let n_threads = context.threads.min(THREADS_MAX);
    let empty = out.sibling();
    let together = Together {
        layout,
        context,
        empty: &empty,
        table: Mutex::new(Grown { rows, out, failed: None }),
        turn: AtomicUsize::new(0),
        is_over: AtomicBool::new(false),
        early: Mutex::default(),
        spare: Pool::default(),
        buffers: Pool::default(),
    };
    // All of them may be done before the first is.
    let n_max = PIECES_PER_THREAD * n_threads;
    let (pieces, waiting) = sync_channel(WAITING_PER_THREAD * n_threads);
    let (done, ends) = sync_channel(n_max);
    let waiting = Mutex::new(waiting);
    let rest = thread::scope(|scope| {
        for _ in 1..n_threads {
            let (done, together, waiting) = (done.clone(), &together, &waiting);
            scope.spawn(move || {
                while let Some(piece) = next_of(waiting) {
                    let _end = End { done: &done, is_over: &together.is_over };
                    together.read(piece);
                }
            });
        }
        drop(done);
        let mut cutting = Cutting { together: &together, waiting: &waiting, ends, n_cut: 0, n_max };
        let rest = cutting.cut(cutter, pieces);
        while cutting.is_open() {
            cutting.help_or_wait();
        }
        rest
    });
    let grown = together.table.into_inner().unwrap_or_else(PoisonError::into_inner);
    match grown.failed {
        Some(error) if !grown.rows.has_ended => Err(error),
        _ if grown.rows.has_ended => Ok(None),
        _ => rest.map_err(Error::io),
    }
}

/// What the thread that cuts knows of the others.
struct Cutting<'t, 'r> {
    together: &'t Together<'r>,
    waiting: &'t Mutex<Receiver<(usize, Piece)>>,
    /// Has one for each piece that another thread is done with.
    ends: Receiver<()>,
    n_cut: usize,
    /// How many may be cut before their rows are in the table.
    n_max: usize,
}

impl Cutting<'_, '_> {
    /// Cuts pieces and hands them out; reads those itself that nobody else has time for. Gives what cannot
    /// be cut, and the line with which that begins.
    fn cut(
        &mut self,
        cutter: &mut Cutter<'_>,
        pieces: SyncSender<(usize, Piece)>,
    ) -> io::Result<Option<(Vec<u8>, u64)>> {
        loop {
            while self.ends.try_recv().is_ok() {}
            if self.together.is_over.load(Ordering::Relaxed) {
                return Ok(None);
            }
            if self.n_cut - self.together.turn.load(Ordering::Acquire) >= self.n_max {
                self.help_or_wait();
                continue;
            }
            match cutter.next(self.together.buffers.take())? {
                Next::Piece(piece) => {
                    let number = self.n_cut;
                    self.n_cut += 1;
                    match pieces.try_send((number, piece)) {
                        Ok(()) => {}
                        Err(TrySendError::Full(piece) | TrySendError::Disconnected(piece)) => {
                            self.together.read(piece);
                        }
                    }
                }
                Next::Rest(bytes, line) => return Ok(Some((bytes, line))),
                Next::End => return Ok(None),
            }
        }
    }

    /// Whether something is still to be read, of what was cut.
    fn is_open(&self) -> bool {
        !self.together.is_over.load(Ordering::Relaxed)
            && self.together.turn.load(Ordering::Acquire) < self.n_cut
    }

    /// Reads a piece that waits for somebody: nobody idles while there is one. Else puts into the table what was read, or waits until
    /// another thread is done with a piece.
    fn help_or_wait(&self) {
        let piece = self.waiting.try_lock().ok().and_then(|waiting| waiting.try_recv().ok());
        match piece {
            Some(piece) => self.together.read(piece),
            // Whose turn it is, is then under way with another thread, who says when it is done.
            None if !self.together.put_in_turn() => {
                let _ = self.ends.recv();
            }
            None => {}
        }
    }
}

/// Says, when it is dropped, that a thread is done with a piece; and that nothing counts any more if it broke down, for nobody would ever
/// have the turn again.
struct End<'t> {
    done: &'t SyncSender<()>,
    is_over: &'t AtomicBool,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.is_over.store(true, Ordering::Relaxed);
        }
        // Nobody listens any more once nothing counts.
        let _ = self.done.send(());
    }
}

fn next_of(waiting: &Mutex<Receiver<(usize, Piece)>>) -> Option<(usize, Piece)> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// What all threads that read one file have together.
struct Together<'r> {
    layout: &'r Layout,
    context: &'r Context,
    /// No notices yet.
    empty: &'r Notices,
    /// Held by who puts rows into it.
    table: Mutex<Grown<'r>>,
    /// The number of the piece whose rows are the next in the table. Changed by who holds that.
    turn: AtomicUsize,
    /// Whether nothing that follows counts.
    is_over: AtomicBool,
    /// What was read from pieces before the turn of which it was.
    early: Mutex<BTreeMap<usize, Part>>,
    /// What rows of pieces were in and other rows may be, for the system clears what it gives out; no more than there are pieces under way.
    spare: Pool<Growing>,
    /// What held pieces.
    buffers: Pool<Vec<u8>>,
}

/// The rows of a file so far, and what was said about them.
struct Grown<'r> {
    rows: &'r mut Growing,
    out: &'r mut Notices,
    failed: Option<Error>,
}

/// What was read from a piece.
struct Part {
    rows: Result<Growing, Error>,
    notices: Notices,
}

impl Together<'_> {
    /// Reads a piece: into the table if it is its turn, which saves that its rows are put together twice.
    fn read(&self, (number, piece): (usize, Piece)) {
        let Piece { buffer, n, line } = piece;
        let mut splitter = reader::splitter_over(buffer, n).from_line(line);
        if let Ok(mut table) = self.table.try_lock() {
            self.put_early(&mut table);
            if self.turn.load(Ordering::Relaxed) == number {
                let Grown { rows, out, failed } = &mut *table;
                if !self.is_over.load(Ordering::Relaxed) {
                    *failed =
                        reader::read_rows(self.layout, &mut splitter, rows, self.context, out)
                            .err();
                }
                self.pass_on(&table);
                self.put_early(&mut table);
                drop(table);
                self.buffers.give(splitter.into_buffer());
                return;
            }
        }
        let (line, size) = (u32::try_from(line).unwrap_or(u32::MAX), n as u64);
        let spare = self.spare.take();
        let mut rows = spare.unwrap_or_else(|| Growing::new(self.layout, line, size));
        rows.begin_anew(line, size);
        let mut notices = self.empty.clone();
        let read =
            reader::read_rows(self.layout, &mut splitter, &mut rows, self.context, &mut notices);
        let part = Part { rows: read.map(|()| rows), notices };
        self.early.lock().unwrap_or_else(PoisonError::into_inner).insert(number, part);
        self.buffers.give(splitter.into_buffer());
    }

    /// Puts all into the table of which it is the turn. Tells whether that was something.
    fn put_in_turn(&self) -> bool {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        self.put_early(&mut table)
    }

    fn put_early(&self, table: &mut Grown<'_>) -> bool {
        let next = || {
            let turn = self.turn.load(Ordering::Relaxed);
            self.early.lock().unwrap_or_else(PoisonError::into_inner).remove(&turn)
        };
        let mut was_some = false;
        while let Some(part) = next() {
            was_some = true;
            if !self.is_over.load(Ordering::Relaxed) {
                table.out.merge(part.notices);
                match part.rows {
                    Ok(rows) => {
                        table.rows.append(&rows);
                        self.spare.give(rows);
                    }
                    Err(error) => table.failed = Some(error),
                }
            }
            self.pass_on(table);
        }
        was_some
    }

    /// Gives the turn to the next piece. What follows a row after which a file cannot be read does not count.
    fn pass_on(&self, table: &Grown<'_>) {
        if table.rows.has_ended || table.failed.is_some() {
            self.is_over.store(true, Ordering::Relaxed);
        }
        self.turn.fetch_add(1, Ordering::Release);
    }
}

/// Room that was used and may be used again.
struct Pool<T>(Mutex<Vec<T>>);

impl<T> Default for Pool<T> {
    fn default() -> Pool<T> {
        Pool(Mutex::default())
    }
}

impl<T> Pool<T> {
    fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn give(&self, room: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(room);
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

    /// Reads a text by one thread and by two to four, in pieces of so many bytes.
    fn check(text: &str, piece_bytes: usize) {
        let spec = File::StopTimes.spec();
        let threads = 2 + piece_bytes % 3;
        let context = Context { today: date(2026, 1, 1), country: None, threads };
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

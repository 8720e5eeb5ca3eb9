//! Reading of a large file by several threads: one inflates it and cuts it at row ends, all of them parse the pieces,
//! and the rows are appended in file order.

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
    gtfs::{fields::FileSpec, rows::RecordSearchResult},
};

use super::{
    cutter::{FilePiece, FilePieceCutter, NextFilePiece},
    header::TableRowLayout,
    leniency::RowRetentionRule,
    reader::{self, HeaderReadResult},
    table::GtfsTable,
    table_builder::TableBuilder,
};
use crate::{ValidationContext, notice::Notices};

/// The largest number of threads that read one file: more would wait for the inflating one.
const THREADS_MAX: usize = 8;
/// The number of pieces in progress for each thread, and of queued ones among these: enough for all threads while the
/// cutting thread parses a piece itself or appends rows.
const PIECES_PER_THREAD: usize = 8;
const WAITING_PER_THREAD: usize = PIECES_PER_THREAD / 2;

/// Reads a file of this size like [`reader::read_table`], on as many threads as the context allows. The pieces in
/// progress take additional memory, which is bounded.
///
/// # Errors
///
/// Returns an error if the file cannot be inflated.
pub(super) fn read_table_with_threads(
    file: &mut dyn Read,
    size: u64,
    piece_bytes: usize,
    spec: &'static FileSpec,
    retention: RowRetentionRule,
    context: &ValidationContext,
    out: &mut Notices,
) -> Result<GtfsTable, Error> {
    let mut cutter = FilePieceCutter::new(file, piece_bytes);
    let first = match cutter.cut_next_piece(None).map_err(Error::from_io)? {
        NextFilePiece::Piece(piece) if is_header_in_first_piece(&piece) => piece,
        NextFilePiece::Piece(piece) => {
            let rest = piece.row_bytes().chain(cutter.into_remaining_reader());
            return reader::read_table(rest, size, spec, retention, context, out);
        }
        NextFilePiece::Rest(bytes, _) => {
            let rest = Cursor::new(bytes).chain(cutter.into_remaining_reader());
            return reader::read_table(rest, size, spec, retention, context, out);
        }
        NextFilePiece::End => {
            return reader::read_table(io::empty(), 0, spec, retention, context, out);
        }
    };
    let mut splitter = reader::new_csv_splitter(first.row_bytes());
    let layout = match reader::read_header_record(&mut splitter, spec, retention, out)? {
        HeaderReadResult::Rows(layout) => layout,
        HeaderReadResult::Nothing(table) => return Ok(table),
    };
    let mut rows = TableBuilder::new(&layout, 2, size);
    reader::read_rows(&layout, &mut splitter, &mut rows, context, out)?;
    if !rows.has_ended {
        let rest = read_pieces_in_parallel(&mut cutter, &layout, &mut rows, context, out)?;
        if let (Some((bytes, line)), false) = (rest, rows.has_ended) {
            let mut splitter =
                reader::new_csv_splitter(Cursor::new(bytes).chain(cutter.into_remaining_reader()))
                    .starting_at_line(line);
            reader::read_rows(&layout, &mut splitter, &mut rows, context, out)?;
        }
    }
    Ok(rows.finish_table(&layout))
}

/// Returns true if the first piece contains the header: a million empty lines may precede it.
fn is_header_in_first_piece(first: &FilePiece) -> bool {
    matches!(
        reader::new_csv_splitter(first.row_bytes()).find_next_record(),
        Ok(RecordSearchResult::Record)
    )
}

/// Reads pieces as long as the file can be cut. Returns the rest.
fn read_pieces_in_parallel(
    cutter: &mut FilePieceCutter<'_>,
    layout: &TableRowLayout,
    rows: &mut TableBuilder,
    context: &ValidationContext,
    out: &mut Notices,
) -> Result<Option<(Vec<u8>, u64)>, Error> {
    let n_threads = context.threads.min(THREADS_MAX);
    let empty = out.new_empty_like();
    let together = SharedPieceReader {
        layout,
        context,
        empty: &empty,
        table: Mutex::new(TableSoFar { rows, out, failed: None }),
        next_piece: AtomicUsize::new(0),
        is_stopped: AtomicBool::new(false),
        early: Mutex::default(),
        spare: BufferPool::default(),
        buffers: BufferPool::default(),
    };
    // All of them may be done before the first one is.
    let n_max = PIECES_PER_THREAD * n_threads;
    let (pieces, waiting) = sync_channel(WAITING_PER_THREAD * n_threads);
    let (done, ends) = sync_channel(n_max);
    let waiting = Mutex::new(waiting);
    let rest = thread::scope(|scope| {
        for _ in 1..n_threads {
            let (done, together, waiting) = (done.clone(), &together, &waiting);
            scope.spawn(move || {
                while let Some(piece) = receive_piece(waiting) {
                    let _end = PieceDoneSignal { done: &done, is_stopped: &together.is_stopped };
                    together.read_piece_into_rows(piece);
                }
            });
        }
        drop(done);
        let mut cutting =
            PieceCuttingThread { shared: &together, waiting: &waiting, ends, n_cut: 0, n_max };
        let rest = cutting.cut_and_queue_pieces(cutter, pieces);
        while cutting.has_unappended_pieces() {
            cutting.read_queued_piece_or_wait();
        }
        rest
    });
    let grown = together.table.into_inner().unwrap_or_else(PoisonError::into_inner);
    match grown.failed {
        Some(error) if !grown.rows.has_ended => Err(error),
        _ if grown.rows.has_ended => Ok(None),
        _ => rest.map_err(Error::from_io),
    }
}

/// The state of the cutting thread.
struct PieceCuttingThread<'t, 'r> {
    shared: &'t SharedPieceReader<'r>,
    waiting: &'t Mutex<Receiver<(usize, FilePiece)>>,
    /// Receives one item for each piece that another thread has finished.
    ends: Receiver<()>,
    n_cut: usize,
    /// The largest number of pieces that are cut and not yet in the table.
    n_max: usize,
}

impl PieceCuttingThread<'_, '_> {
    /// Cuts pieces and queues them; reads a piece itself if the queue is full. Returns the rest that cannot be cut,
    /// with its first line.
    fn cut_and_queue_pieces(
        &mut self,
        cutter: &mut FilePieceCutter<'_>,
        pieces: SyncSender<(usize, FilePiece)>,
    ) -> io::Result<Option<(Vec<u8>, u64)>> {
        loop {
            while self.ends.try_recv().is_ok() {}
            if self.shared.is_stopped.load(Ordering::Relaxed) {
                return Ok(None);
            }
            if self.n_cut - self.shared.next_piece.load(Ordering::Acquire) >= self.n_max {
                self.read_queued_piece_or_wait();
                continue;
            }
            match cutter.cut_next_piece(self.shared.buffers.take_buffer())? {
                NextFilePiece::Piece(piece) => {
                    let number = self.n_cut;
                    self.n_cut += 1;
                    match pieces.try_send((number, piece)) {
                        Ok(()) => {}
                        Err(TrySendError::Full(piece) | TrySendError::Disconnected(piece)) => {
                            self.shared.read_piece_into_rows(piece);
                        }
                    }
                }
                NextFilePiece::Rest(bytes, line) => return Ok(Some((bytes, line))),
                NextFilePiece::End => return Ok(None),
            }
        }
    }

    /// Returns true if some pieces that were cut are not yet in the table.
    fn has_unappended_pieces(&self) -> bool {
        !self.shared.is_stopped.load(Ordering::Relaxed)
            && self.shared.next_piece.load(Ordering::Acquire) < self.n_cut
    }

    /// Reads a queued piece, so that no thread is idle while there is one. Otherwise appends finished rows to the
    /// table, or waits until another thread finishes a piece.
    fn read_queued_piece_or_wait(&self) {
        let piece = self.waiting.try_lock().ok().and_then(|waiting| waiting.try_recv().ok());
        match piece {
            Some(piece) => self.shared.read_piece_into_rows(piece),
            // Another thread reads the next piece, and signals when it is done.
            None if !self.shared.append_finished_pieces() => {
                let _ = self.ends.recv();
            }
            None => {}
        }
    }
}

/// Signals on drop that a thread has finished a piece. If the thread panicked, also ends the reading, because its piece
/// would never get its turn.
struct PieceDoneSignal<'t> {
    done: &'t SyncSender<()>,
    is_stopped: &'t AtomicBool,
}

impl Drop for PieceDoneSignal<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.is_stopped.store(true, Ordering::Relaxed);
        }
        // The receiver is gone once the reading has ended.
        let _ = self.done.send(());
    }
}

fn receive_piece(waiting: &Mutex<Receiver<(usize, FilePiece)>>) -> Option<(usize, FilePiece)> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// The state that all threads reading a file share.
struct SharedPieceReader<'r> {
    layout: &'r TableRowLayout,
    context: &'r ValidationContext,
    /// An empty collection of notices.
    empty: &'r Notices,
    /// Locked while rows are appended.
    table: Mutex<TableSoFar<'r>>,
    /// The number of the next piece to be appended. Changed only with `table` locked.
    next_piece: AtomicUsize,
    /// True if everything that follows is ignored.
    is_stopped: AtomicBool,
    /// Pieces that were read before their turn.
    early: Mutex<BTreeMap<usize, PieceRows>>,
    /// Cleared builders for reuse, because the system zeroes new memory; at most as many as pieces in progress.
    spare: BufferPool<TableBuilder>,
    /// Buffers of pieces for reuse.
    buffers: BufferPool<Vec<u8>>,
}

/// The rows of a file so far, with the notices about them.
struct TableSoFar<'r> {
    rows: &'r mut TableBuilder,
    out: &'r mut Notices,
    failed: Option<Error>,
}

/// The result of reading a piece.
struct PieceRows {
    rows: Result<TableBuilder, Error>,
    notices: Notices,
}

impl SharedPieceReader<'_> {
    /// Reads a piece: directly into the table if it is its turn, which saves appending its rows later.
    fn read_piece_into_rows(&self, (number, piece): (usize, FilePiece)) {
        let FilePiece { buffer, n, line } = piece;
        let mut splitter = reader::new_csv_splitter_over_buffer(buffer, n).starting_at_line(line);
        if let Ok(mut table) = self.table.try_lock() {
            self.append_pieces_to_table(&mut table);
            if self.next_piece.load(Ordering::Relaxed) == number {
                let TableSoFar { rows, out, failed } = &mut *table;
                if !self.is_stopped.load(Ordering::Relaxed) {
                    *failed =
                        reader::read_rows(self.layout, &mut splitter, rows, self.context, out)
                            .err();
                }
                self.advance_to_next_piece(&table);
                self.append_pieces_to_table(&mut table);
                drop(table);
                self.buffers.return_buffer(splitter.into_buffer());
                return;
            }
        }
        let (line, size) = (u32::try_from(line).unwrap_or(u32::MAX), n as u64);
        let spare = self.spare.take_buffer();
        let mut rows = spare.unwrap_or_else(|| TableBuilder::new(self.layout, line, size));
        rows.clear_for_next_part(line, size);
        let mut notices = self.empty.clone();
        let read =
            reader::read_rows(self.layout, &mut splitter, &mut rows, self.context, &mut notices);
        let part = PieceRows { rows: read.map(|()| rows), notices };
        self.early.lock().unwrap_or_else(PoisonError::into_inner).insert(number, part);
        self.buffers.return_buffer(splitter.into_buffer());
    }

    /// Appends all pieces whose turn it is. Returns true if there were any.
    fn append_finished_pieces(&self) -> bool {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        self.append_pieces_to_table(&mut table)
    }

    fn append_pieces_to_table(&self, table: &mut TableSoFar<'_>) -> bool {
        let next = || {
            let next_piece = self.next_piece.load(Ordering::Relaxed);
            self.early.lock().unwrap_or_else(PoisonError::into_inner).remove(&next_piece)
        };
        let mut was_some = false;
        while let Some(part) = next() {
            was_some = true;
            if !self.is_stopped.load(Ordering::Relaxed) {
                table.out.merge_notices(part.notices);
                match part.rows {
                    Ok(rows) => {
                        table.rows.append_rows_of_part(&rows);
                        self.spare.return_buffer(rows);
                    }
                    Err(error) => table.failed = Some(error),
                }
            }
            self.advance_to_next_piece(table);
        }
        was_some
    }

    /// Passes the turn to the next piece. Everything after a fatal row is ignored.
    fn advance_to_next_piece(&self, table: &TableSoFar<'_>) {
        if table.rows.has_ended || table.failed.is_some() {
            self.is_stopped.store(true, Ordering::Relaxed);
        }
        self.next_piece.fetch_add(1, Ordering::Release);
    }
}

/// A pool of buffers for reuse.
struct BufferPool<T>(Mutex<Vec<T>>);

impl<T> Default for BufferPool<T> {
    fn default() -> BufferPool<T> {
        BufferPool(Mutex::default())
    }
}

impl<T> BufferPool<T> {
    fn take_buffer(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn return_buffer(&self, room: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(room);
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::{super::files::GtfsFile, *};

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
    /// Parts that prevent a file from being cut, or from being cut to its end.
    const ODD_PARTS: [&str; 5] =
        ["# \"remark\n", "v,s,11\r", "\u{FEFF}v,s,12\n", "v,\"open,13\n", "\r"];

    /// Returns everything observable of a file that was read.
    fn seen(table: &Result<GtfsTable, Error>, out: &Notices) -> String {
        let Ok(table) = table else { return format!("{table:?}") };
        let trips = table.text_column("trip_id");
        let stops = table.text_column("stop_id");
        let sequences = table.number_column("stop_sequence");
        let row = |row| {
            let (trip, stop) = (trips.text_code_of_row(row), stops.get(row));
            (table.line_number(row), trip, trips.get(row), stop, sequences.get(row))
        };
        let rows: Vec<_> = table.row_numbers().map(row).collect();
        let found: Vec<_> =
            out.iter().map(|found| (found.kind.code, found.total, &found.samples)).collect();
        format!("{:?} {rows:?} {found:?}", table.read_status())
    }

    /// Compares reading a text on one thread and on two to four, in pieces of this size.
    fn check(text: &str, piece_bytes: usize) {
        let spec = GtfsFile::StopTimes.file_spec();
        let threads = 2 + piece_bytes % 3;
        let context = ValidationContext { today: date(2026, 1, 1), country: None, threads };
        for retention in [
            RowRetentionRule::Faultless,
            RowRetentionRule::WithFields(&["trip_id", "stop_sequence"]),
        ] {
            let (mut out, mut whole) = (Notices::new(5), text.as_bytes());
            let table =
                reader::read_table(whole, text.len() as u64, spec, retention, &context, &mut out);
            let expected = seen(&table, &out);
            let mut out = Notices::new(5);
            let table = read_table_with_threads(
                &mut whole,
                0,
                piece_bytes,
                spec,
                retention,
                &context,
                &mut out,
            );
            assert_eq!(seen(&table, &out), expected, "{text:?} in pieces of {piece_bytes}");
        }
    }

    #[test]
    fn reading_in_pieces_equals_reading_the_whole_file() {
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
    fn a_byte_order_mark_inside_a_file_is_part_of_a_value() {
        for rows in ["\u{FEFF}v,s,1\n".repeat(40), "v,\"s\",1\n\u{FEFF}w,s,2\n".repeat(20)] {
            for piece_bytes in 40..120 {
                check(&format!("trip_id,stop_id,stop_sequence\n{rows}"), piece_bytes);
            }
        }
    }

    #[test]
    fn a_file_that_is_not_a_table_is_reported_as_in_one_piece() {
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
    fn rows_after_an_oversized_row_are_ignored() {
        let rows = "t,s,1\nx,y\n".repeat(50);
        let large = format!("t,{},2\n", "s".repeat(4_097));
        check(&format!("trip_id,stop_id,stop_sequence\n{rows}{large}{rows}"), 5_000);
        check(&format!("trip_id,stop_id,stop_sequence\n{rows}{large}{rows}"), 600);
    }

    #[test]
    fn a_read_error_is_returned() {
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
        let context = ValidationContext { today: date(2026, 1, 1), country: None, threads: 2 };
        let spec = GtfsFile::StopTimes.file_spec();
        let (retention, mut out) = (RowRetentionRule::Faultless, Notices::new(0));
        let read = read_table_with_threads(
            &mut Broken(40),
            1_200,
            100,
            spec,
            retention,
            &context,
            &mut out,
        );
        assert!(read.is_err());
    }
}

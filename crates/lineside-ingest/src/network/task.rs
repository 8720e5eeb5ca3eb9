//! The task of a network: takes what its feeds' tasks bring, one at a time, and lets the boards move on.
//!
//! The writer moves to a thread that may be kept busy and back for each input, so no lock is held and no other task
//! waits for a large message.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use lineside_formats::{Problems, gtfs_rt::Shallow};
use lineside_sync::{Clock, UnixMillis};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::NetworkWriter;
use crate::{
    dataset::Dataset,
    limits::BOARD_LOOK,
    record::FeedRecord,
    status::{FeedStatus, Rules},
};

/// The way to a network's writer. Bound: [`INPUTS_MAX`](crate::limits::INPUTS_MAX).
pub(crate) type NetworkQueue = mpsc::Sender<Input>;

/// What a feed's task brings.
#[derive(Debug)]
pub(crate) enum Input {
    /// A real-time message. The status comes back judged, with the records counted.
    Message {
        number: usize,
        message: Box<Shallow>,
        problems: Problems,
        status: Box<FeedStatus>,
        rules: Rules,
        now: UnixMillis,
        /// The present on the clock of the feed's data.
        data_now: UnixMillis,
        reply: oneshot::Sender<FeedStatus>,
    },
    /// A new schedule.
    Dataset {
        number: usize,
        dataset: Arc<Dataset>,
        record: FeedRecord,
        now: UnixMillis,
        reply: oneshot::Sender<()>,
    },
    /// How a feed is doing.
    Status { number: usize, record: FeedRecord, now: UnixMillis },
    /// What a feed said is too old.
    Expire { number: usize, record: FeedRecord, now: UnixMillis },
}

/// Runs a network until `stop`.
pub(crate) async fn run(
    writer: NetworkWriter,
    mut inputs: mpsc::Receiver<Input>,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
) {
    let mut writer = writer;
    loop {
        let work: Box<dyn FnOnce(&mut NetworkWriter) + Send> = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            input = inputs.recv() => match input {
                Some(input) => Box::new(move |writer| take(writer, input)),
                None => return,
            },
            () = clock.sleep(BOARD_LOOK) => {
                if !writer.is_tick_due() {
                    continue;
                }
                Box::new(|writer| { writer.tick(); })
            }
        };
        match tokio::task::spawn_blocking(move || guarded(writer, work)).await {
            Ok(back) => writer = back,
            // The runtime is shutting down.
            Err(_) => return,
        }
    }
}

/// A fault of ours in one input must not be the end of the network: it starts anew, empty, and says so.
fn guarded(
    mut writer: NetworkWriter,
    work: Box<dyn FnOnce(&mut NetworkWriter) + Send>,
) -> NetworkWriter {
    let network = Arc::clone(writer.network());
    if catch_unwind(AssertUnwindSafe(|| work(&mut writer))).is_err() {
        tracing::error!(network = %network.id(), "the network's writer broke and starts anew");
        writer.start_anew();
    }
    writer
}

fn take(writer: &mut NetworkWriter, input: Input) {
    match input {
        Input::Message { number, message, problems, status, rules, now, data_now, reply } => {
            let mut status = *status;
            let applied = writer.apply_message(number, &message, problems, now, |n_records| {
                status.entities = n_records as u64;
                status.judge(now, data_now, &rules);
                Some(FeedRecord::of(&status))
            });
            status.problems = Arc::new(applied.problems);
            // The feed's task may be gone already.
            let _ = reply.send(status);
        }
        Input::Dataset { number, dataset, record, now, reply } => {
            writer.apply_dataset_of(Some((number, record)), dataset, now);
            let _ = reply.send(());
        }
        Input::Status { number, record, now } => writer.apply_feed_record(number, record, now),
        Input::Expire { number, record, now } => writer.expire(number, record, now),
    }
}

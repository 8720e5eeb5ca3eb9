//! The task of a network: applies inputs of its feeds' tasks one at a time and advances the boards.
//!
//! For each input the writer moves to a blocking thread and back, so no lock is held and no other task waits for a
//! large message.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use lineside_formats::{Problems, gtfs_rt::SplitFeedMessage};
use lineside_sync::{Clock, UnixMillis};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::{
    dataset::Dataset,
    fetch_failure::FetchError,
    limits::{BOARD_CHECK_INTERVAL, INPUTS_MAX},
    network_writer::NetworkWriter,
    normalize::GbfsFileRecords,
    record::FeedStatusRecord,
    status::{FeedStatus, HealthRules},
};

/// The queue of inputs to a network's writer.
///
/// Bounded: [`INPUTS_MAX`] inputs wait for the writer. A feed's task waits for the reply to its input, so the queue is
/// full only if the network has more feeds than that, or if a feed changes that often while a schedule is applied. The
/// feed then waits for space and polls nothing meanwhile.
#[derive(Clone, Debug)]
pub(crate) struct NetworkQueue {
    inputs: mpsc::Sender<NetworkInput>,
}

/// The inputs of a network's writer, in order for each feed.
pub(crate) type NetworkInputReceiver = mpsc::Receiver<NetworkInput>;

/// The network's task has ended or is ending.
#[derive(Debug)]
pub(crate) struct NetworkTaskEnded;

impl NetworkQueue {
    /// Creates the queue and its receiver. Each feed has a clone: the inputs of one feed stay in order.
    pub(crate) fn new() -> (NetworkQueue, NetworkInputReceiver) {
        let (inputs, receiver) = mpsc::channel(INPUTS_MAX);
        (NetworkQueue { inputs }, receiver)
    }

    /// Sends `input` as soon as there is space. Cancel safety: an input that was not sent is dropped.
    pub(crate) async fn send_input(&self, input: NetworkInput) -> Result<(), NetworkTaskEnded> {
        self.inputs.send(input).await.map_err(|_| NetworkTaskEnded)
    }
}

/// An input from a feed's task.
#[derive(Debug)]
pub(crate) enum NetworkInput {
    /// A realtime message. The reply is the status after applying the health rules, with the records counted, unless
    /// every entity was rejected.
    Message {
        number: usize,
        message: Box<SplitFeedMessage>,
        problems: Problems,
        status: Box<FeedStatus>,
        rules: HealthRules,
        now: UnixMillis,
        /// The present on the clock of the feed's data.
        data_now: UnixMillis,
        reply: oneshot::Sender<Result<FeedStatus, FetchError>>,
    },
    /// A new schedule.
    Dataset {
        number: usize,
        dataset: Arc<Dataset>,
        record: FeedStatusRecord,
        now: UnixMillis,
        reply: oneshot::Sender<()>,
    },
    /// A file of a GBFS system.
    File { number: usize, file: GbfsFileRecords, now: UnixMillis },
    /// A change of a feed's status.
    Status { number: usize, record: FeedStatusRecord, now: UnixMillis },
    /// The data of a feed have expired.
    Expire { number: usize, record: FeedStatusRecord, now: UnixMillis },
    /// The data of a feed are of another format than the next ones.
    Clear { number: usize, now: UnixMillis },
}

/// Runs a network until `stop` and returns its writer; `None` if the runtime's shutdown lost it.
pub(crate) async fn run_network_task(
    writer: NetworkWriter,
    mut inputs: NetworkInputReceiver,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
) -> Option<NetworkWriter> {
    let mut writer = writer;
    loop {
        let work: Box<dyn FnOnce(&mut NetworkWriter) + Send> = tokio::select! {
            biased;
            () = stop.cancelled() => return Some(writer),
            // Cancel safe: an input that was not returned is still in the queue.
            input = inputs.recv() => match input {
                Some(input) => Box::new(move |writer| {
                    apply_network_input(writer, input);
                    // If inputs arrive faster than the interval below, boards advance only here.
                    writer.advance_boards_if_due();
                }),
                None => return Some(writer),
            },
            () = clock.sleep(BOARD_CHECK_INTERVAL) => {
                if !writer.is_board_advance_due() {
                    continue;
                }
                Box::new(|writer| { writer.advance_boards_if_due(); })
            }
        };
        match tokio::task::spawn_blocking(move || run_on_writer_catching_panic(writer, work)).await
        {
            Ok(back) => writer = back,
            // The runtime is shutting down.
            Err(_) => return None,
        }
    }
}

/// Runs work on the writer. A panic must not end the network: it restarts empty, and the error is logged.
fn run_on_writer_catching_panic(
    mut writer: NetworkWriter,
    work: Box<dyn FnOnce(&mut NetworkWriter) + Send>,
) -> NetworkWriter {
    let network = Arc::clone(writer.network());
    if catch_unwind(AssertUnwindSafe(|| work(&mut writer))).is_err() {
        tracing::error!(network = %network.id(), "the network's writer panicked and starts empty");
        writer.clear_all_but_schedule();
    }
    writer
}

fn apply_network_input(writer: &mut NetworkWriter, input: NetworkInput) {
    match input {
        NetworkInput::Message {
            number,
            message,
            problems,
            status,
            rules,
            now,
            data_now,
            reply,
        } => {
            let mut status = *status;
            let applied =
                writer.apply_decoded_message(number, &message, problems, now, |n_records| {
                    status.entities = n_records as u64;
                    status.update_state(now, data_now, &rules);
                    Some(FeedStatusRecord::from_status(&status))
                });
            let result = if applied.is_refused {
                Err(FetchError::from_entity_problems(&applied.problems))
            } else {
                status.problems = Arc::new(applied.problems);
                Ok(status)
            };
            // The feed's task may have ended.
            let _ = reply.send(result);
        }
        NetworkInput::Dataset { number, dataset, record, now, reply } => {
            writer.apply_dataset_with_status(Some((number, record)), dataset, now);
            let _ = reply.send(());
        }
        NetworkInput::File { number, file, now } => writer.apply_gbfs_file(number, file, now),
        NetworkInput::Status { number, record, now } => {
            writer.publish_feed_status(number, record, now)
        }
        NetworkInput::Expire { number, record, now } => {
            writer.remove_expired_records(number, record, now)
        }
        NetworkInput::Clear { number, now } => writer.remove_feed_data(number, now),
    }
}

#[cfg(test)]
mod tests {
    use lineside_formats::Problems;
    use lineside_hub::Epoch;
    use lineside_sync::ScaledClock;
    use lineside_testkit::TestSchedule;

    use super::*;
    use crate::catalog::Network;
    use crate::feed_id::FeedId;
    use crate::{dataset::Dataset, status::FeedState};

    fn writer(clock: &Arc<dyn Clock>) -> NetworkWriter {
        let id = FeedId::new("city").unwrap();
        let epoch = Epoch::from_bits(1);
        let network = Network::new(id.clone(), [], 1, epoch, Arc::clone(clock));
        let schedule =
            TestSchedule::new("Europe/Paris").stop("A", "A", 48.8, 2.3).trip("T", "A 08:00");
        let timetable = schedule.timetable();
        let problems = Problems::default();
        let dataset = Dataset::from_timetable(id, timetable, problems, 1, clock.wall_time());
        let mut writer = NetworkWriter::new(Arc::new(network), None, 1);
        writer.apply_dataset(Arc::new(dataset), clock.wall_time());
        writer
    }

    fn record_number(n: u64) -> FeedStatusRecord {
        let reason = format!("poll {n}");
        let since = UnixMillis(0);
        FeedStatusRecord {
            state: FeedState::Ok,
            reason,
            since,
            state_before_pause: None,
            unreliable_since: None,
        }
    }

    #[tokio::test]
    async fn boards_advance_even_if_inputs_arrive_constantly() {
        let start = UnixMillis::from_seconds(1_772_607_600);
        let clock: Arc<dyn Clock> = Arc::new(ScaledClock::new(start, 600.0));
        let writer = writer(&clock);
        let network = Arc::clone(writer.network());
        let (queue, inputs) = NetworkQueue::new();
        let stop = CancellationToken::new();
        let task = tokio::spawn(run_network_task(writer, inputs, Arc::clone(&clock), stop.clone()));
        let first = network.state().board_at;
        for n in 0..10_000 {
            let input = NetworkInput::Status {
                number: 0,
                record: record_number(n),
                now: clock.wall_time(),
            };
            queue.send_input(input).await.unwrap();
            if network.state().board_at > first + 60 {
                break;
            }
        }
        assert!(network.state().board_at > first + 60);
        stop.cancel();
        task.await.unwrap();
    }

    #[tokio::test]
    async fn a_full_queue_delays_a_feed_and_loses_no_input() {
        let (queue, mut inputs) = NetworkQueue::new();
        let status =
            |n| NetworkInput::Status { number: n, record: record_number(0), now: UnixMillis(0) };
        let feed = queue.clone();
        let sends = tokio::spawn(async move {
            for n in 0..2 * INPUTS_MAX {
                feed.send_input(status(n)).await.unwrap();
            }
        });
        for expected in 0..2 * INPUTS_MAX {
            let input = inputs.recv().await;
            assert!(
                matches!(input, Some(NetworkInput::Status { number, .. }) if number == expected)
            );
        }
        sends.await.unwrap();
        drop(inputs);
        assert!(queue.send_input(status(0)).await.is_err());
    }

    #[tokio::test]
    async fn a_writer_that_panics_starts_empty() {
        let clock: Arc<dyn Clock> = Arc::new(ScaledClock::new(UnixMillis(0), 1.0));
        let writer = writer(&clock);
        let revision = writer.network().state().revision;
        let mut writer =
            run_on_writer_catching_panic(writer, Box::new(|_| panic!("a panic for this test")));
        assert_eq!(writer.network().state().revision, revision + 1);
        assert!(writer.network().timetable().is_some());
        writer.publish_feed_status(0, record_number(1), clock.wall_time());
        assert_eq!(writer.network().state().revision, revision + 2);
    }
}

//! The peers: a task for each subscriber, with tokio's channels.

use std::{hint::black_box, sync::Arc, time::Instant};

use lineside_sync::ring::{Ring, RingBounds, RingCursor, SharedRing};
use tokio::{
    runtime::{Builder, Runtime},
    sync::{broadcast, mpsc, watch},
};

use super::{EVENT_BYTES, Event, FanOut, Finish};

const WORKERS: usize = 2;
const KEPT: usize = 64;

fn runtime() -> anyhow::Result<Runtime> {
    Ok(Builder::new_multi_thread().worker_threads(WORKERS).build()?)
}

/// Runs `publish` as a task among the others.
fn as_task(
    runtime: &Runtime,
    publish: impl FnOnce() + Send + 'static,
) -> anyhow::Result<(Instant, Instant)> {
    let task = runtime.spawn(async move {
        let start = Instant::now();
        publish();
        (start, Instant::now())
    });
    Ok(runtime.block_on(task)?)
}

/// An unbounded channel for each subscriber.
pub(super) struct PerSubscriber {
    runtime: Runtime,
    finish: Arc<Finish>,
    senders: Arc<[mpsc::UnboundedSender<Event>]>,
}

impl PerSubscriber {
    pub(super) fn new(rows: usize) -> anyhow::Result<PerSubscriber> {
        let (runtime, finish) = (runtime()?, Finish::new(rows));
        let subscribe = |_| {
            let (sender, mut receiver) = mpsc::unbounded_channel();
            let finish = finish.clone();
            runtime.spawn(async move {
                while let Some(event) = receiver.recv().await {
                    black_box::<Event>(event);
                    finish.arrive(1);
                }
            });
            sender
        };
        let senders = (0..rows).map(subscribe).collect();
        Ok(PerSubscriber { runtime, finish, senders })
    }
}

impl FanOut for PerSubscriber {
    fn publish(&mut self, event: Event) -> anyhow::Result<(Instant, Instant)> {
        let senders = self.senders.clone();
        as_task(&self.runtime, move || {
            for sender in &*senders {
                // All receivers live until the runtime ends.
                let _sent = sender.send(event.clone());
            }
        })
    }

    fn finish(&self) -> &Finish {
        &self.finish
    }
}

/// One channel that all subscribers receive from.
pub(super) struct Broadcast {
    runtime: Runtime,
    finish: Arc<Finish>,
    sender: broadcast::Sender<Event>,
}

impl Broadcast {
    pub(super) fn new(rows: usize) -> anyhow::Result<Broadcast> {
        let (runtime, finish) = (runtime()?, Finish::new(rows));
        let (sender, _) = broadcast::channel(KEPT);
        for _ in 0..rows {
            let (finish, mut receiver) = (finish.clone(), sender.subscribe());
            runtime.spawn(async move {
                while let Ok(event) = receiver.recv().await {
                    black_box::<Event>(event);
                    finish.arrive(1);
                }
            });
        }
        Ok(Broadcast { runtime, finish, sender })
    }
}

impl FanOut for Broadcast {
    fn publish(&mut self, event: Event) -> anyhow::Result<(Instant, Instant)> {
        let sender = self.sender.clone();
        as_task(&self.runtime, move || {
            let _sent = sender.send(event);
        })
    }

    fn finish(&self) -> &Finish {
        &self.finish
    }
}

/// A log with a cursor for each subscriber, and a watch with the log's end.
pub(super) struct WatchAndLog {
    runtime: Runtime,
    finish: Arc<Finish>,
    log: Arc<SharedRing<Ring<[u8; EVENT_BYTES]>>>,
    top: Arc<watch::Sender<u64>>,
}

impl WatchAndLog {
    pub(super) fn new(rows: usize) -> anyhow::Result<WatchAndLog> {
        let (runtime, finish) = (runtime()?, Finish::new(rows));
        let (log, top) = (Arc::new(SharedRing::new(Ring::new(0))), watch::Sender::new(0));
        for _ in 0..rows {
            let (finish, log, mut top) = (finish.clone(), Arc::clone(&log), top.subscribe());
            runtime.spawn(async move {
                let (mut cursor, mut taken) = (RingCursor::cursor_at_offset(0), Vec::new());
                while top.changed().await.is_ok() {
                    let _nothing = log.take_entries_after(&mut cursor, usize::MAX, &mut taken);
                    finish.arrive(taken.len());
                    taken.clear();
                }
            });
        }
        Ok(WatchAndLog { runtime, finish, log, top: Arc::new(top) })
    }
}

impl FanOut for WatchAndLog {
    fn publish(&mut self, event: Event) -> anyhow::Result<(Instant, Instant)> {
        let (log, top) = (self.log.clone(), self.top.clone());
        as_task(&self.runtime, move || {
            let offset = log.append_next(event, RingBounds { entries: KEPT, ..RingBounds::NONE });
            top.send_replace(offset);
        })
    }

    fn finish(&self) -> &Finish {
        &self.finish
    }
}

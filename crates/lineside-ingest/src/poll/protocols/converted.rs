//! Conversion of a feed's bytes by an external program into a supported format.
//!
//! The producer's bytes are stored and served besides the converted ones, which are handled like any other body. Bytes
//! are converted once: again only if they change, if the program is reconfigured, and after a start, because the
//! program may have been replaced.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use lineside_formats::{Format, Problem, Problems};
use lineside_sync::{Clock, UnixMillis};
use tokio::sync::Semaphore;

use crate::{
    feed_config::{FeedConfig, FormatConverter},
    fetch::{FetchedBody, Redactor, SourceRequest},
    fetch_failure::{FailureCode, FetchError},
    limits::{REALTIME_CONVERSIONS_MAX, SCHEDULE_CONVERSIONS_MAX},
    poll::{
        PollerContext,
        accept::{accept_local_body, hash_body, new_snapshot},
        observe::UnobservedMessage,
        persist::prepare_snapshot,
        polled_feed::PolledFeed,
        protocol::{BoxFuture, PollSuccess, Protocol},
    },
    snapshot::Snapshot,
    snapshot_writer::{SnapshotWriter, SourceFacts},
    source::Secret,
    subprocess::{self, ProgramOutput, RunFailure},
};

/// Limits concurrent converter programs. Slow schedule conversions do not delay realtime ones.
///
/// Bounded: a feed's task waits for one slot at a time and fetches nothing meanwhile; its next fetch gets the newest
/// content.
#[derive(Clone, Debug)]
pub(crate) struct ConverterSlots {
    schedules: Arc<Semaphore>,
    real_time: Arc<Semaphore>,
}

impl ConverterSlots {
    pub(crate) fn new() -> ConverterSlots {
        ConverterSlots {
            schedules: Arc::new(Semaphore::new(SCHEDULE_CONVERSIONS_MAX)),
            real_time: Arc::new(Semaphore::new(REALTIME_CONVERSIONS_MAX)),
        }
    }

    fn for_format(&self, format: Format) -> Arc<Semaphore> {
        Arc::clone(if format.is_schedule() { &self.schedules } else { &self.real_time })
    }
}

/// Result of a converter's run for the body of a reply.
#[derive(Debug)]
pub(in crate::poll) struct ConverterReply {
    /// The hash of the input.
    hash: u128,
    /// The result of the program; `None` if the input was converted before.
    run: Option<Result<ProgramOutput, RunFailure>>,
}

/// The protocol of a source whose bodies are converted by a program.
#[derive(Debug)]
pub(in crate::poll) struct ConvertedProtocol {
    /// Requests the source and decodes the converted bodies.
    inner: Box<dyn Protocol>,
    slots: ConverterSlots,
    /// Stores the producer's original bytes.
    snapshot_writer: SnapshotWriter,
    /// The hash of the last input that was converted and accepted.
    converted_hash: Option<u128>,
}

impl ConvertedProtocol {
    pub(in crate::poll) fn new(
        inner: Box<dyn Protocol>,
        polled: &PolledFeed,
        shared: &PollerContext,
    ) -> ConvertedProtocol {
        let feed = &polled.feed;
        let key = feed.conversion_input_key();
        let writer = SnapshotWriter::new(&shared.snapshots, &shared.clock, key, feed.config());
        ConvertedProtocol {
            inner,
            slots: shared.converter_slots.clone(),
            snapshot_writer: writer,
            converted_hash: None,
        }
    }

    async fn accept_conversion(
        &mut self,
        polled: &mut PolledFeed,
        body: FetchedBody,
        converted: Option<ConverterReply>,
    ) -> Result<PollSuccess, FetchError> {
        polled.status.bytes += body.bytes.len() as u64;
        let converter = polled.feed.config().converter.clone();
        let (Some(ConverterReply { hash, run }), Some(converter)) = (converted, converter) else {
            return Err(FetchError::new(FailureCode::Empty, "the body is empty"));
        };
        let Some(run) = run else {
            polled.confirm_snapshot();
            return Ok(PollSuccess::Same);
        };
        match run {
            Ok(output) => self.accept_output(polled, output, body, hash, &converter).await,
            Err(RunFailure { reason, stderr }) => {
                let shown = redact_program_output(polled, &stderr, &converter);
                let last = shown.lines().rev().find(|line| !line.trim().is_empty());
                let last = last.map(|line| format!(": {}", line.trim())).unwrap_or_default();
                let message = format!("{} {reason}{last}", describe_converter(&converter));
                Err(FetchError::new(FailureCode::Convert, message).with_head(shown))
            }
        }
    }

    /// Accepts the program's output, and then stores its input.
    async fn accept_output(
        &mut self,
        polled: &mut PolledFeed,
        ran: ProgramOutput,
        body: FetchedBody,
        hash: u128,
        converter: &FormatConverter,
    ) -> Result<PollSuccess, FetchError> {
        tracing::debug!(feed = %polled.feed.id(), took = ?ran.took, "the feed's data were converted");
        let stderr_text = redact_program_output(polled, &ran.stderr, converter);
        polled.output_problems = parse_complaints(&stderr_text);
        let fetched_body = FetchedBody {
            bytes: ran.output,
            content_type: None,
            last_modified: body.last_modified,
            file_name: None,
            status: None,
        };
        let accepted = accept_local_body(&mut *self.inner, polled, fetched_body).await;
        polled.output_problems = Problems::new();
        let outcome = accepted.map_err(|failure| {
            let message = format!(
                "the output of {} cannot be used: {}: {}",
                describe_converter(converter),
                failure.code,
                failure.detail
            );
            FetchError::new(FailureCode::Convert, message).with_head(stderr_text)
        })?;
        self.converted_hash = Some(hash);
        self.persist_original(polled, body, hash, polled.clock.wall_time()).await;
        Ok(outcome)
    }

    /// Stores the producer's original bytes and then serves them.
    async fn persist_original(
        &mut self,
        polled: &PolledFeed,
        body: FetchedBody,
        hash: u128,
        now: UnixMillis,
    ) {
        let before = polled.feed.conversion_input().map(|input| Arc::clone(input.snapshot()));
        if let Some(before) = before.as_ref().filter(|before| before.hash == hash) {
            return self.snapshot_writer.confirm_snapshot(before, SourceFacts::default(), now);
        }
        let id = polled.feed.id().as_str();
        let snapshot = new_snapshot(id, body, Format::Raw, hash, now, before.as_deref());
        if let Some(input) =
            prepare_snapshot(snapshot, Arc::clone(polled.feed.shared_config())).await
        {
            self.snapshot_writer
                .save_snapshot(&Arc::clone(input.snapshot()), SourceFacts::default(), now)
                .await;
            polled.feed.set_conversion_input(Some(input));
        }
    }
}

impl Protocol for ConvertedProtocol {
    fn as_protocol(&mut self) -> &mut dyn Protocol {
        self
    }

    fn reads_format(&self, format: Format) -> bool {
        self.inner.reads_format(format)
    }

    fn next_request<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
    ) -> BoxFuture<'a, Result<SourceRequest, FetchError>> {
        self.inner.next_request(polled)
    }

    /// Runs the program once there is a slot. Runs nothing if the input has been converted before.
    fn start_conversion(
        &self,
        polled: &mut PolledFeed,
        body: &FetchedBody,
    ) -> Option<BoxFuture<'static, ConverterReply>> {
        let config = Arc::clone(polled.feed.shared_config());
        let converter = config.converter.clone().filter(|_| !body.bytes.is_empty())?;
        let (slot, clock) = (self.slots.for_format(converter.to), Arc::clone(&polled.clock));
        let is_applied =
            !polled.has_new_source && !polled.is_expired && !self.inner.must_decode_again(polled);
        let (known_hash, input) = (self.converted_hash.filter(|_| is_applied), body.bytes.clone());
        Some(Box::pin(async move {
            let hash = hash_body(&input).await;
            if known_hash == Some(hash) {
                return ConverterReply { hash, run: None };
            }
            let run = run_converter(&converter, input, &config, slot, clock).await;
            ConverterReply { hash, run: Some(run) }
        }))
    }

    fn accept_reply<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        body: FetchedBody,
        converted: Option<ConverterReply>,
    ) -> BoxFuture<'a, Result<PollSuccess, FetchError>> {
        Box::pin(self.accept_conversion(polled, body, converted))
    }

    fn decode_body<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        body: Bytes,
        format: Format,
        now: UnixMillis,
    ) -> BoxFuture<'a, Result<Option<UnobservedMessage>, FetchError>> {
        self.inner.decode_body(polled, body, format, now)
    }

    fn must_decode_again(&self, polled: &PolledFeed) -> bool {
        self.inner.must_decode_again(polled)
    }

    fn decode_restored<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        snapshot: &'a Snapshot,
        is_too_old: bool,
    ) -> BoxFuture<'a, Result<(), FetchError>> {
        self.inner.decode_restored(polled, snapshot, is_too_old)
    }

    fn restored_message<'a>(
        &'a self,
        polled: &'a PolledFeed,
        snapshot: &'a Snapshot,
    ) -> BoxFuture<'a, Option<UnobservedMessage>> {
        self.inner.restored_message(polled, snapshot)
    }

    fn record_outcome<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        outcome: PollSuccess,
    ) -> BoxFuture<'a, ()> {
        self.inner.record_outcome(polled, outcome)
    }

    fn judge_failure(
        &mut self,
        polled: &mut PolledFeed,
        failure: FetchError,
    ) -> Result<PollSuccess, FetchError> {
        self.inner.judge_failure(polled, failure)
    }

    fn refresh_content<'a>(&'a mut self, polled: &'a mut PolledFeed) -> BoxFuture<'a, ()> {
        self.inner.refresh_content(polled)
    }

    fn next_request_wait(&mut self, polled: &mut PolledFeed) -> Option<Duration> {
        self.inner.next_request_wait(polled)
    }

    fn reconfigure(&mut self, polled: &mut PolledFeed, before: &FeedConfig) {
        self.inner.reconfigure(polled, before);
    }
}

/// Runs the program once there is a slot.
async fn run_converter(
    converter: &FormatConverter,
    input: Bytes,
    config: &FeedConfig,
    slot: Arc<Semaphore>,
    clock: Arc<dyn Clock>,
) -> Result<ProgramOutput, RunFailure> {
    let program = &converter.program;
    let permit = tokio::select! {
        biased;
        permit = slot.acquire_owned() => permit.ok(),
        () = clock.sleep(program.timeout) => None,
    };
    let Some(_permit) = permit else {
        let why = "was not run: all converter slots were in use for longer than its timeout";
        return Err(RunFailure::from(why.to_owned()));
    };
    subprocess::run_strict(program, input, config.max_bytes, config.id.as_str(), &*clock).await
}

/// Returns a program's output with the feed's secrets and the program's own arguments redacted: the producer may
/// echo some.
fn redact_program_output(
    polled: &PolledFeed,
    stderr: &subprocess::StderrCapture,
    converter: &FormatConverter,
) -> String {
    let arguments = converter.program.argument_secrets();
    let arguments: Vec<&Secret> = arguments.iter().collect();
    stderr.redact_text(&Redactor::for_feed(polled.feed.config(), &arguments))
}

/// Names a converter in the operator's terms.
fn describe_converter(converter: &FormatConverter) -> String {
    format!("the converter from {} to {}", converter.from, converter.to.as_str())
}

/// Converts a program's standard error output with a good result to problems, one per line.
fn parse_complaints(stderr: &str) -> Problems {
    let mut problems = Problems::new();
    for line in stderr.lines().map(str::trim).filter(|line| !line.is_empty()) {
        problems.push(Problem::new("converter", "converter_message", line));
    }
    problems
}

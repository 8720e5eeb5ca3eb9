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
    fetch::{FetchedBody, SecretRedactor, SourceRequest},
    fetch_failure::{FailureCode, FetchError},
    limits::{REALTIME_CONVERSIONS_MAX, SCHEDULE_CONVERSIONS_MAX},
    poll::{
        SharedPollerContext,
        accept::{accept_body_if_changed, body_to_snapshot, hash_body},
        observe::MessageToObserve,
        persist::prepare_snapshot,
        polled_feed::PolledFeed,
        protocol::{BoxFuture, PollSuccess, SourceProtocol},
    },
    snapshot::FeedBodySnapshot,
    snapshot_writer::{SnapshotExtraMetadata, SnapshotWriter},
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

    fn slots_for_format(&self, format: Format) -> Arc<Semaphore> {
        Arc::clone(if format.is_schedule() { &self.schedules } else { &self.real_time })
    }
}

/// Result of a converter's run for the body of a reply.
#[derive(Debug)]
pub(in crate::poll) struct ConverterResult {
    /// The hash of the input.
    hash: u128,
    /// The result of the program; `None` if the input was converted before.
    run: Option<Result<ProgramOutput, RunFailure>>,
}

/// The protocol of a source whose bodies are converted by a program.
#[derive(Debug)]
pub(in crate::poll) struct ConvertedProtocol {
    /// Requests the source and decodes the converted bodies.
    inner: Box<dyn SourceProtocol>,
    slots: ConverterSlots,
    /// Stores the producer's original bytes.
    snapshot_writer: SnapshotWriter,
    /// The hash of the last input that was converted and accepted.
    converted_hash: Option<u128>,
}

impl ConvertedProtocol {
    pub(in crate::poll) fn new(
        inner: Box<dyn SourceProtocol>,
        polled: &PolledFeed,
        shared: &SharedPollerContext,
    ) -> ConvertedProtocol {
        let feed = &polled.feed;
        let key = feed.converter_input_key();
        let writer = SnapshotWriter::new(&shared.snapshots, &shared.clock, key, feed.config());
        ConvertedProtocol {
            inner,
            slots: shared.converter_slots.clone(),
            snapshot_writer: writer,
            converted_hash: None,
        }
    }

    async fn accept_converter_result(
        &mut self,
        polled: &mut PolledFeed,
        body: FetchedBody,
        converted: Option<ConverterResult>,
    ) -> Result<PollSuccess, FetchError> {
        polled.status.bytes += body.bytes.len() as u64;
        let converter = polled.feed.config().converter.clone();
        let (Some(ConverterResult { hash, run }), Some(converter)) = (converted, converter) else {
            return Err(FetchError::new(FailureCode::Empty, "the body is empty"));
        };
        let Some(run) = run else {
            polled.record_not_modified();
            return Ok(PollSuccess::Same);
        };
        match run {
            Ok(output) => {
                self.accept_converter_output(polled, output, body, hash, &converter).await
            }
            Err(RunFailure { reason, stderr }) => {
                let shown = redact_program_output(polled, &stderr, &converter);
                let last = shown.lines().rev().find(|line| !line.trim().is_empty());
                let last = last.map(|line| format!(": {}", line.trim())).unwrap_or_default();
                let message = format!("{} {reason}{last}", describe_converter(&converter));
                Err(FetchError::new(FailureCode::Convert, message).with_program_output(shown))
            }
        }
    }

    /// Accepts the program's output, and then stores its input.
    async fn accept_converter_output(
        &mut self,
        polled: &mut PolledFeed,
        ran: ProgramOutput,
        body: FetchedBody,
        hash: u128,
        converter: &FormatConverter,
    ) -> Result<PollSuccess, FetchError> {
        tracing::debug!(feed = %polled.feed.id(), took = ?ran.took, "the feed's data were converted");
        let stderr_text = redact_program_output(polled, &ran.stderr, converter);
        polled.output_problems = stderr_lines_to_problems(&stderr_text);
        let fetched_body = FetchedBody {
            bytes: ran.output,
            content_type: None,
            last_modified: body.last_modified,
            file_name: None,
            status: None,
        };
        let accepted = accept_body_if_changed(&mut *self.inner, polled, fetched_body).await;
        polled.output_problems = Problems::new();
        let outcome = accepted.map_err(|failure| {
            let message = format!(
                "the output of {} cannot be used: {}: {}",
                describe_converter(converter),
                failure.code,
                failure.detail
            );
            FetchError::new(FailureCode::Convert, message).with_program_output(stderr_text)
        })?;
        self.converted_hash = Some(hash);
        self.store_original_body(polled, body, hash, polled.clock.wall_time()).await;
        Ok(outcome)
    }

    /// Stores the producer's original bytes and then serves them.
    async fn store_original_body(
        &mut self,
        polled: &PolledFeed,
        body: FetchedBody,
        hash: u128,
        now: UnixMillis,
    ) {
        let before =
            polled.feed.converter_input_snapshot().map(|input| Arc::clone(input.snapshot()));
        if let Some(before) = before.as_ref().filter(|before| before.hash == hash) {
            return self.snapshot_writer.confirm_snapshot(
                before,
                SnapshotExtraMetadata::default(),
                now,
            );
        }
        let id = polled.feed.id().as_str();
        let snapshot = body_to_snapshot(id, body, Format::Raw, hash, now, before.as_deref());
        if let Some(input) =
            prepare_snapshot(snapshot, Arc::clone(polled.feed.shared_config())).await
        {
            self.snapshot_writer
                .save_and_wait_with_limit(
                    &Arc::clone(input.snapshot()),
                    SnapshotExtraMetadata::default(),
                    now,
                )
                .await;
            polled.feed.set_converter_input(Some(input));
        }
    }
}

impl SourceProtocol for ConvertedProtocol {
    fn as_dyn_protocol(&mut self) -> &mut dyn SourceProtocol {
        self
    }

    fn can_decode_format(&self, format: Format) -> bool {
        self.inner.can_decode_format(format)
    }

    fn next_source_request<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
    ) -> BoxFuture<'a, Result<SourceRequest, FetchError>> {
        self.inner.next_source_request(polled)
    }

    /// Runs the program once there is a slot. Runs nothing if the input has been converted before.
    fn start_conversion(
        &self,
        polled: &mut PolledFeed,
        body: &FetchedBody,
    ) -> Option<BoxFuture<'static, ConverterResult>> {
        let config = Arc::clone(polled.feed.shared_config());
        let converter = config.converter.clone().filter(|_| !body.bytes.is_empty())?;
        let (slot, clock) = (self.slots.slots_for_format(converter.to), Arc::clone(&polled.clock));
        let is_applied = !polled.has_new_source
            && !polled.is_expired
            && !self.inner.must_decode_unchanged_body(polled);
        let (known_hash, input) = (self.converted_hash.filter(|_| is_applied), body.bytes.clone());
        Some(Box::pin(async move {
            let hash = hash_body(&input).await;
            if known_hash == Some(hash) {
                return ConverterResult { hash, run: None };
            }
            let run = run_converter_in_slot(&converter, input, &config, slot, clock).await;
            ConverterResult { hash, run: Some(run) }
        }))
    }

    fn accept_reply<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        body: FetchedBody,
        converted: Option<ConverterResult>,
    ) -> BoxFuture<'a, Result<PollSuccess, FetchError>> {
        Box::pin(self.accept_converter_result(polled, body, converted))
    }

    fn decode_and_apply_body<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        body: Bytes,
        format: Format,
        now: UnixMillis,
    ) -> BoxFuture<'a, Result<Option<MessageToObserve>, FetchError>> {
        self.inner.decode_and_apply_body(polled, body, format, now)
    }

    fn must_decode_unchanged_body(&self, polled: &PolledFeed) -> bool {
        self.inner.must_decode_unchanged_body(polled)
    }

    fn decode_restored_body<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        snapshot: &'a FeedBodySnapshot,
        is_too_old: bool,
    ) -> BoxFuture<'a, Result<(), FetchError>> {
        self.inner.decode_restored_body(polled, snapshot, is_too_old)
    }

    fn restored_message_to_observe<'a>(
        &'a self,
        polled: &'a PolledFeed,
        snapshot: &'a FeedBodySnapshot,
    ) -> BoxFuture<'a, Option<MessageToObserve>> {
        self.inner.restored_message_to_observe(polled, snapshot)
    }

    fn record_successful_poll<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        outcome: PollSuccess,
    ) -> BoxFuture<'a, ()> {
        self.inner.record_successful_poll(polled, outcome)
    }

    fn reinterpret_failure(
        &mut self,
        polled: &mut PolledFeed,
        failure: FetchError,
    ) -> Result<PollSuccess, FetchError> {
        self.inner.reinterpret_failure(polled, failure)
    }

    fn update_content_between_polls<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
    ) -> BoxFuture<'a, ()> {
        self.inner.update_content_between_polls(polled)
    }

    fn time_until_next_request(&mut self, polled: &mut PolledFeed) -> Option<Duration> {
        self.inner.time_until_next_request(polled)
    }

    fn apply_changed_config(&mut self, polled: &mut PolledFeed, before: &FeedConfig) {
        self.inner.apply_changed_config(polled, before);
    }
}

/// Runs the program once there is a slot.
async fn run_converter_in_slot(
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
    subprocess::run_program_requiring_success(
        program,
        input,
        config.max_bytes,
        config.id.as_str(),
        &*clock,
    )
    .await
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
    stderr.to_redacted_text(&SecretRedactor::for_feed(polled.feed.config(), &arguments))
}

/// Names a converter in the operator's terms.
fn describe_converter(converter: &FormatConverter) -> String {
    format!("the converter from {} to {}", converter.from, converter.to.as_str())
}

/// Converts a program's standard error output with a good result to problems, one per line.
fn stderr_lines_to_problems(stderr: &str) -> Problems {
    let mut problems = Problems::new();
    for line in stderr.lines().map(str::trim).filter(|line| !line.is_empty()) {
        problems.push(Problem::new("converter", "converter_message", line));
    }
    problems
}

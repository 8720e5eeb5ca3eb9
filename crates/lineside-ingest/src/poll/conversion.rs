//! Conversion of a feed's bytes by an external program into a supported format.
//!
//! The producer's bytes are stored and served besides the converted ones, which are handled like any other body. Bytes
//! are converted once: again only if they change, if the program is reconfigured, and after a start, because the
//! program may have been replaced.

use std::sync::Arc;

use bytes::Bytes;
use lineside_formats::{Format, Problem, Problems};
use lineside_sync::{Clock, UnixMillis};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{
    FeedPoller, HEALTH_CHECK_INTERVAL, accept::hash_body, reconfigure::answer_poll_request,
};
use crate::{
    catalog::Feed,
    feed_config::{FeedConfig, FormatConverter},
    fetch::{FetchedBody, Redactor},
    fetch_failure::{FailureCode, FetchError},
    limits::{REALTIME_CONVERSIONS_MAX, SCHEDULE_CONVERSIONS_MAX},
    snapshot::{Snapshot, default_file_name, media_type},
    snapshot_store::SnapshotStore,
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

/// The conversion state of a feed's task.
#[derive(Debug)]
pub(super) struct FeedConversionState {
    slots: ConverterSlots,
    /// Stores the producer's original bytes.
    snapshot_writer: SnapshotWriter,
    /// The hash of the last input that was converted and accepted.
    converted_hash: Option<u128>,
    /// The program's standard error output with a good result, until the result is applied.
    stderr_problems: Problems,
}

impl FeedConversionState {
    pub(super) fn new(
        slots: &ConverterSlots,
        feed: &Feed,
        snapshots: &Arc<dyn SnapshotStore>,
        clock: &Arc<dyn Clock>,
    ) -> FeedConversionState {
        let writer =
            SnapshotWriter::new(snapshots, clock, feed.conversion_input_key(), feed.config());
        FeedConversionState {
            slots: slots.clone(),
            snapshot_writer: writer,
            converted_hash: None,
            stderr_problems: Problems::new(),
        }
    }

    /// Applies a new configuration; `before` is the old one.
    pub(super) fn reconfigure(
        &mut self,
        feed: &Feed,
        before: &FeedConfig,
        snapshots: &dyn SnapshotStore,
    ) {
        let config = feed.config();
        if !config.has_same_source(before) {
            self.snapshot_writer.reconfigure(config);
        }
        if config.converter != before.converter {
            self.converted_hash = None;
        }
        match (&before.converter, &config.converter) {
            (None, Some(_)) => feed.keep_as_conversion_input(),
            (Some(_), None) => {
                feed.set_conversion_input(None);
                snapshots.forget_snapshot(&feed.conversion_input_key());
            }
            _ => {}
        }
    }

    /// Takes the problems of the last conversion, which are reported once with its result.
    pub(super) fn take_output_problems(&mut self) -> Problems {
        std::mem::take(&mut self.stderr_problems)
    }
}

impl FeedPoller {
    /// Accepts the body of a reply. `None` if the feed was retired before the conversion.
    pub(super) async fn accept_reply(
        &mut self,
        body: FetchedBody,
        retire: &CancellationToken,
    ) -> Option<Result<&'static str, FetchError>> {
        let (bytes, status) = (body.bytes.clone(), body.status);
        let accepted = match self.feed.config().converter.clone() {
            None => self.accept_body(body).await,
            Some(converter) => self.accept_converted(body, &converter, retire).await?,
        };
        Some(accepted.map_err(|failure| {
            // An unusable body must not become "not modified" at the next poll.
            self.fetcher.forget_version();
            // A failed conversion shows the program's output instead of the reply's beginning.
            let is_from_reply = failure.code != FailureCode::Convert;
            let head = is_from_reply.then(|| self.fetcher.redact_head(&bytes, None));
            // A decoder's message may quote the bytes.
            let failure = match self.fetcher.redirected_host() {
                Some(host) => failure.without_detail(&format!(
                    "the response of {host}, to which the URL redirects, cannot be used"
                )),
                None => failure,
            };
            failure.with_reply(status, bytes.len() as u64, head)
        }))
    }

    async fn accept_converted(
        &mut self,
        body: FetchedBody,
        converter: &FormatConverter,
        retire: &CancellationToken,
    ) -> Option<Result<&'static str, FetchError>> {
        self.status.bytes += body.bytes.len() as u64;
        if body.bytes.is_empty() {
            return Some(Err(FetchError::new(FailureCode::Empty, "the body is empty")));
        }
        let hash = hash_body(&body.bytes).await;
        let is_old_news = !self.has_new_source && !self.is_expired && !self.wants_full_answer();
        if self.conversions.converted_hash == Some(hash) && is_old_news {
            self.confirm_snapshot();
            return Some(Ok("same"));
        }
        let Some(ran) = self.run_converter(body.bytes.clone(), converter, retire).await else {
            self.fetcher.forget_version();
            return None;
        };
        Some(match ran {
            Ok(ran) => self.accept_converter_output(ran, body, hash, converter).await,
            Err(RunFailure { reason, stderr }) => {
                let shown = self.redact_program_output(&stderr, converter);
                let last = shown.lines().rev().find(|line| !line.trim().is_empty());
                let last = last.map(|line| format!(": {}", line.trim())).unwrap_or_default();
                let message = format!("{} {reason}{last}", describe_converter(converter));
                Err(FetchError::new(FailureCode::Convert, message).with_head(shown))
            }
        })
    }

    /// Runs the program once there is a slot. `None` if the feed is retired meanwhile.
    async fn run_converter(
        &mut self,
        input: Bytes,
        converter: &FormatConverter,
        retire: &CancellationToken,
    ) -> Option<Result<ProgramOutput, RunFailure>> {
        let config = Arc::clone(self.feed.shared_config());
        let (slot, clock) =
            (self.conversions.slots.for_format(converter.to), Arc::clone(&self.clock));
        let program = converter.program.clone();
        let run = async move {
            let permit = tokio::select! {
                biased;
                permit = slot.acquire_owned() => permit.ok(),
                () = clock.sleep(program.timeout) => None,
            };
            let Some(_permit) = permit else {
                let why =
                    "was not run: all converter slots were in use for longer than its timeout";
                return Err(RunFailure::from(why.to_owned()));
            };
            let (max, id) = (config.max_bytes, config.id.as_str());
            subprocess::run_strict(&program, input, max, id, &*clock).await
        };
        let mut run = Box::pin(run);
        loop {
            tokio::select! {
                biased;
                () = retire.cancelled() => return None,
                ran = &mut run => return Some(ran),
                Some(ask) = self.poll_requests.recv() => answer_poll_request(ask, Ok(())),
                // Data age meanwhile, as between polls.
                () = self.clock.sleep(HEALTH_CHECK_INTERVAL) => self.refresh_health().await,
            }
        }
    }

    /// Returns a program's output with the feed's secrets and the program's own arguments redacted: the producer may
    /// echo some.
    fn redact_program_output(
        &self,
        stderr: &subprocess::StderrCapture,
        converter: &FormatConverter,
    ) -> String {
        let arguments = converter.program.argument_secrets();
        let arguments: Vec<&Secret> = arguments.iter().collect();
        stderr.redact_text(&Redactor::for_feed(self.feed.config(), &arguments))
    }

    /// Accepts the program's output, and then stores its input.
    async fn accept_converter_output(
        &mut self,
        ran: ProgramOutput,
        body: FetchedBody,
        hash: u128,
        converter: &FormatConverter,
    ) -> Result<&'static str, FetchError> {
        tracing::debug!(feed = %self.feed.id(), took = ?ran.took, "the feed's data were converted");
        let stderr_text = self.redact_program_output(&ran.stderr, converter);
        self.conversions.stderr_problems = parse_complaints(&stderr_text);
        let fetched_body = FetchedBody {
            bytes: ran.output,
            content_type: None,
            last_modified: body.last_modified,
            file_name: None,
            status: None,
        };
        let accepted = self.accept_local_body(fetched_body).await;
        self.conversions.stderr_problems = Problems::new();
        let outcome = accepted.map_err(|failure| {
            let message = format!(
                "the output of {} cannot be used: {}: {}",
                describe_converter(converter),
                failure.code,
                failure.detail
            );
            FetchError::new(FailureCode::Convert, message).with_head(stderr_text)
        })?;
        self.conversions.converted_hash = Some(hash);
        self.persist_original(body, hash, self.clock.wall_time()).await;
        Ok(outcome)
    }

    /// Stores the producer's original bytes and then serves them.
    async fn persist_original(&mut self, body: FetchedBody, hash: u128, now: UnixMillis) {
        let before = self.feed.conversion_input().map(|input| Arc::clone(input.snapshot()));
        if let Some(before) = before.as_ref().filter(|before| before.hash == hash) {
            return self.conversions.snapshot_writer.confirm_snapshot(
                before,
                SourceFacts::default(),
                now,
            );
        }
        let (id, format) = (self.feed.id().as_str(), Format::Raw);
        let snapshot = Snapshot {
            hash,
            format,
            content_type: body
                .content_type
                .unwrap_or_else(|| media_type(format, &body.bytes).to_owned()),
            file_name: body.file_name.unwrap_or_else(|| default_file_name(id, format, &body.bytes)),
            fetched_at: now,
            last_modified: Snapshot::changed_at(body.last_modified, now, before.as_deref()),
            bytes: body.bytes,
        };
        if let Some(input) =
            super::persist::prepare_snapshot(snapshot, Arc::clone(self.feed.shared_config())).await
        {
            self.conversions
                .snapshot_writer
                .save_snapshot(&Arc::clone(input.snapshot()), SourceFacts::default(), now)
                .await;
            self.feed.set_conversion_input(Some(input));
        }
    }
}

/// Names a converter in the operator's terms.
fn describe_converter(converter: &FormatConverter) -> String {
    format!("the converter from {} to {}", converter.from, converter.to.as_str())
}

/// Converts a program's standard error output with a good result to problems, one per line.
fn parse_complaints(stderr: &str) -> Problems {
    let mut problems = Problems::new();
    for line in stderr.lines().map(str::trim).filter(|line| !line.is_empty()) {
        problems.push(Problem::new("converter", "converter_said", line));
    }
    problems
}

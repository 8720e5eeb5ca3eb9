//! One run of a validator on the served version of a feed.

use lineside_config::ExternalValidatorConfig;
use lineside_fetch::{OutputRedactor, run_external_validator};
use lineside_model::FeedId;
use lineside_store::BlobHash;

use crate::context::ServerContext;
use crate::external_validators::external_report::{
    ExternalReport, program_fingerprint, run_to_result_or_failure,
};

/// Maximum size of a result, in bytes; the reference validator's, with 1,000 samples of each code, has at most about 20
/// MiB.
const OUTPUT_MAX: u64 = 32 << 20;

/// Runs a validator on the served version; returns `None` if there is none in its format any more.
///
/// Cancel safety: dropping the future ends the program.
pub(crate) async fn run_external_validator_on_served(
    context: &ServerContext,
    id: &FeedId,
    validator: &ExternalValidatorConfig,
) -> Option<ExternalReport> {
    let feed = context.ingest().find_feed(id.as_str())?;
    let served = feed.served_snapshot()?;
    let snapshot = served.snapshot();
    let (bytes, format, content_hash) =
        (snapshot.bytes.clone(), snapshot.format, format!("{:032x}", snapshot.hash));
    drop(served);
    if format != validator.format {
        return None;
    }
    let (program, began) = (&validator.program, context.wall_time_now());
    let input = bytes.clone();
    let ran = run_external_validator(
        program,
        input,
        format,
        feed.config(),
        OUTPUT_MAX,
        &**context.clock(),
    )
    .await;
    let times = (began, context.wall_time_now());
    let cover = OutputRedactor::for_program(program, feed.config());
    let reading = move || {
        let version = BlobHash::from_content(&bytes).to_string();
        let result = run_to_result_or_failure(ran, &version, times, &cover);
        (version, result)
    };
    let (version, result) = tokio::task::spawn_blocking(reading).await.ok()?;
    let before = context.external_validators().find_latest_report(id.as_str(), &validator.name);
    let (result, failed) = match result {
        Ok(result) => (Some(result), None),
        Err(failed) => (before.and_then(|before| before.said.clone()), Some(failed)),
    };
    let (validator, fingerprint) = (validator.name.to_string(), program_fingerprint(program));
    Some(ExternalReport {
        validator,
        version,
        tag: content_hash,
        mark: fingerprint,
        said: result,
        failed,
    })
}

/// Returns true if the feed still exists and the validator's configuration is unchanged.
pub(crate) fn is_run_still_configured(
    context: &ServerContext,
    feed: &FeedId,
    validator: &ExternalValidatorConfig,
) -> bool {
    context.ingest().find_feed(feed.as_str()).is_some()
        && context.config().external_validators.iter().any(|it| **it == *validator)
}

//! One run of a validator on the served version of a feed.

use lineside_ingest::{FeedId, OutputRedactor, run_validator};
use lineside_store::BlobHash;

use super::external_report::{ExternalReport, interpret_run, program_fingerprint};
use crate::app::App;
use crate::config::ExternalValidatorConfig;

/// Maximum size of a result, in bytes; the reference validator's, with 1,000 samples of each code, has at most about 20
/// MiB.
const OUTPUT_MAX: u64 = 32 << 20;

/// Runs a validator on the served version; returns `None` if there is none in its format any more.
///
/// Cancel safety: dropping the future ends the program.
pub(super) async fn validate_served_version(
    app: &App,
    id: &FeedId,
    validator: &ExternalValidatorConfig,
) -> Option<ExternalReport> {
    let feed = app.ingest().find_feed(id.as_str())?;
    let served = feed.current()?;
    let snapshot = served.snapshot();
    let (bytes, format, content_hash) =
        (snapshot.bytes.clone(), snapshot.format, format!("{:032x}", snapshot.hash));
    drop(served);
    if format != validator.format {
        return None;
    }
    let (program, began) = (&validator.program, app.now());
    let input = bytes.clone();
    let ran =
        run_validator(program, input, format, feed.config(), OUTPUT_MAX, &**app.clock()).await;
    let times = (began, app.now());
    let cover = OutputRedactor::for_program(program, feed.config());
    let reading = move || {
        let version = BlobHash::from_content(&bytes).to_string();
        let result = interpret_run(ran, &version, times, &cover);
        (version, result)
    };
    let (version, result) = tokio::task::spawn_blocking(reading).await.ok()?;
    let before = app.external_validators().find_report(id.as_str(), &validator.name);
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
pub(super) fn is_still_configured(
    app: &App,
    feed: &FeedId,
    validator: &ExternalValidatorConfig,
) -> bool {
    app.ingest().find_feed(feed.as_str()).is_some()
        && app.config().external_validators.iter().any(|it| **it == *validator)
}

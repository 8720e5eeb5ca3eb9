//! A test of a feed's source before the feed is configured: one request and its result.

use std::collections::BTreeMap;
use std::time::Duration;

use lineside_config::times::format_rfc3339;
use lineside_ingest::{SourceTestFailure, SourceTestResult};
use lineside_model::FeedConfig;
use lineside_sync::real_time::run_with_timeout;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;

/// Timeout of a test.
const TEST_MAX: Duration = Duration::from_secs(30);

/// The result of one request to a source.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SourceTestReply {
    /// True if a feed could be served from the source.
    ok: bool,
    /// The HTTP status of the reply; null if none came, and for local files.
    status: Option<u16>,
    /// The format that was configured or detected.
    format: Option<&'static str>,
    /// `Content-Type` of the reply.
    content_type: Option<String>,
    /// Size of the body in bytes, decompressed.
    bytes: Option<u64>,
    /// Seconds from the request to the end of the body.
    seconds: Option<f64>,
    /// Number of records of each kind, such as `trips`.
    contents: BTreeMap<&'static str, u64>,
    /// Records or values that could not be read.
    problems: Option<u64>,
    /// The time that the data give as their own.
    data_time: Option<String>,
    /// The code of the failure: as in `Lineside-Status`, or `busy`, `rate_limited`; null on success.
    code: Option<String>,
    /// The failure in words.
    detail: Option<String>,
}

impl SourceTestReply {
    fn from_successful_test(test: SourceTestResult) -> Self {
        Self {
            ok: true,
            status: test.status,
            format: test.format.map(lineside_formats::Format::as_str),
            content_type: test.content_type,
            bytes: Some(test.bytes),
            seconds: Some(test.took.as_secs_f64()),
            contents: test.contents.into_iter().collect(),
            problems: Some(test.problems),
            data_time: test.data_time.and_then(format_rfc3339),
            code: None,
            detail: None,
        }
    }

    fn from_failed_test(
        code: String,
        detail: String,
        status: Option<u16>,
        bytes: Option<u64>,
    ) -> Self {
        Self {
            ok: false,
            status,
            format: None,
            content_type: None,
            bytes,
            seconds: None,
            contents: BTreeMap::new(),
            problems: None,
            data_time: None,
            code: Some(code),
            detail: Some(detail),
        }
    }
}

/// Requests the source of a feed once, at most for [`TEST_MAX`].
pub async fn test_source_with_timeout(
    app: &App,
    config: FeedConfig,
) -> Option<Result<SourceTestResult, SourceTestFailure>> {
    run_with_timeout(TEST_MAX, app.ingest().test_source(config)).await
}

/// Tests the source of a feed and returns the result as a part of a reply.
pub(crate) async fn run_source_test(app: &App, config: FeedConfig) -> SourceTestReply {
    let failed = |code: &str, detail: String| {
        SourceTestReply::from_failed_test(code.to_owned(), detail, None, None)
    };
    match test_source_with_timeout(app, config).await {
        Some(Ok(test)) => SourceTestReply::from_successful_test(test),
        Some(Err(SourceTestFailure::Failed(failure))) => SourceTestReply::from_failed_test(
            failure.code.to_string(),
            failure.detail,
            failure.status,
            Some(failure.bytes).filter(|bytes| *bytes > 0),
        ),
        Some(Err(why @ SourceTestFailure::Busy)) => failed("busy", why.to_string()),
        Some(Err(why @ SourceTestFailure::RateLimited(_))) => {
            failed("rate_limited", why.to_string())
        }
        None => failed("timeout", source_test_timeout_message()),
    }
}

/// Returns the error for a source that took longer than [`TEST_MAX`].
pub fn source_test_timeout_message() -> String {
    format!("the source took longer than {} s", TEST_MAX.as_secs())
}

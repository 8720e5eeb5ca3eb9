//! `/validate`: anybody may upload a file or submit an address, and gets a report under a secret link.
//!
//! The form works without scripts, and so does waiting: the response states when to reload.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{DefaultBodyLimit, FromRequest as _, Multipart, Path, Request, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use futures_util::{Stream, TryStreamExt as _};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use jiff::tz::TimeZone;
use lineside_config::format_size;
use lineside_http::app::App;
use lineside_http::page_paths::VALIDATE;
use lineside_http::{Refusal, admin, limits, run_blocking};
use lineside_quality::check::{
    ParsedReportJson, describe_record_counts, format_date_for_people, sample_report,
};
use lineside_quality::reports::FeedValidationReport;
use lineside_quality::uploads::{
    AdmittedUpload, ReachedUploadLimit, UploadService, UploadSource, UploadStatus,
    sanitize_file_name,
};
use lineside_sync::UnixMillis;
use lineside_sync::real_time::{RealTimeStopwatch, run_with_timeout};
use maud::{Markup, html};
use tokio::fs::File;
use tokio::io::AsyncWriteExt as _;
use url::Url;

use super::forms::read_form;
use super::layout::{self, NavSection, PageLayout};
use super::report::render_upload_findings;
use super::{states, words};
use crate::not_found;
use crate::report_style::STYLE;

/// The most bytes of a submitted address.
const URL_BYTES_MAX: usize = 2_048;
/// Bytes of a form besides its file.
const FORM_BYTES_MAX: u64 = 64 << 10;
/// The timeouts for a whole upload, and for the next piece of it.
const UPLOAD_TIME_MAX: Duration = Duration::from_secs(10 * 60);
const CHUNK_TIME_MAX: Duration = Duration::from_secs(30);
/// The least average bytes per second of an upload, once it has lasted [`PIECE_TIME_MAX`].
const UPLOAD_RATE_MIN: u64 = 8 << 10;
/// Seconds between reloads while a report is pending.
const REFRESH_S: &str = "2";
/// Seconds until a retry when all upload slots are taken.
const RETRY_S: &str = "30";
const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");

/// Returns the routes. The responses are not cached: the link is as secret as a password.
pub(super) fn router() -> Router<App> {
    Router::new()
        .route(VALIDATE, get(get_upload_form).post(post_upload))
        .route(SAMPLE, get(get_sample_page))
        .route("/validate/{link}", get(get_result_page))
        .route("/validate/{link}/report.json", get(get_result_json))
}

async fn get_upload_form(State(app): State<App>) -> Response {
    reply_with_page(
        StatusCode::OK,
        "Validate a feed",
        &render_form(&app.config().uploads, None),
        None,
    )
}

/// Receives an upload, and redirects to its future report.
async fn post_upload(State(app): State<App>, request: Request) -> Response {
    let rules = app.config().uploads.clone();
    if !rules.enabled {
        return reply_with_page(
            StatusCode::NOT_FOUND,
            "Validate a feed",
            &render_form(&rules, None),
            None,
        );
    }
    if admin::is_request_from_own_page(&app, request.headers()) == Some(false) {
        // Visitors of another site would not know what they upload, nor from which network it is validated.
        let message = "The form came from a page that is not of this server. Send this one.";
        let main = render_form(&rules, Some(message));
        return reply_with_page(StatusCode::FORBIDDEN, "Validate a feed", &main, None);
    }
    let address = admin::client_address(&app, request.headers(), request.extensions());
    let upload = match receive_upload(&app, request, address, &rules).await {
        Ok((slot, source)) => {
            slot.submit_for_validation(source, rules.clone()).map_err(UploadRejection::from)
        }
        Err(not) => Err(not),
    };
    match upload {
        Ok(link) => Redirect::to(&format!("{VALIDATE}/{link}")).into_response(),
        Err(UploadRejection { status, message }) => {
            let mut reply = reply_with_page(
                status,
                "Validate a feed",
                &render_form(&rules, Some(&message)),
                None,
            );
            if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
                reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_S));
            }
            reply
        }
    }
}

/// The reason for a rejected upload.
struct UploadRejection {
    status: StatusCode,
    message: String,
}

fn reject_upload(status: StatusCode, words: impl Into<String>) -> UploadRejection {
    UploadRejection { status, message: words.into() }
}

impl From<ReachedUploadLimit> for UploadRejection {
    fn from(full: ReachedUploadLimit) -> Self {
        match full {
            ReachedUploadLimit::Total => reject_upload(
                StatusCode::SERVICE_UNAVAILABLE,
                "As many files wait here as may at once. Please try again in a minute.",
            ),
            ReachedUploadLimit::Address => reject_upload(
                StatusCode::TOO_MANY_REQUESTS,
                "Two files from your address wait here already. Please wait for their reports.",
            ),
        }
    }
}

async fn receive_upload(
    app: &App,
    mut request: Request,
    address: IpAddr,
    rules: &lineside_config::UploadsConfig,
) -> Result<(AdmittedUpload, UploadSource), UploadRejection> {
    let kind = UploadBodyKind::from_headers(request.headers());
    // The slot is reserved before anything is read: without a free slot, no file needs to be sent.
    let slot = app.upload_service().admit_upload(address)?;
    if kind == UploadBodyKind::Parts {
        // The limit covers the whole body, including unexpected fields.
        let bytes_max = usize::try_from(rules.max_bytes.saturating_add(FORM_BYTES_MAX));
        DefaultBodyLimit::max(bytes_max.unwrap_or(usize::MAX)).apply(&mut request);
        let form = Multipart::from_request(request, app).await;
        let form =
            form.map_err(|error| reject_upload(StatusCode::BAD_REQUEST, error.body_text()))?;
        let reading = run_with_timeout(
            UPLOAD_TIME_MAX,
            read_multipart_form(form, app.upload_service(), &slot, rules),
        );
        let read = slot.transfer().run_until_aborted(reading).await.flatten();
        return Ok((slot, read.ok_or_else(upload_timeout_rejection)??));
    }
    if kind == UploadBodyKind::File {
        let body = request.into_body().into_data_stream();
        let body = body
            .map_err(|_| reject_upload(StatusCode::BAD_REQUEST, "The file did not come whole."));
        let reading =
            stream_file_to_disk(body, sanitize_file_name(""), app.upload_service(), &slot, rules);
        let read = slot
            .transfer()
            .run_until_aborted(run_with_timeout(UPLOAD_TIME_MAX, reading))
            .await
            .flatten();
        return Ok((slot, read.ok_or_else(upload_timeout_rejection)??));
    }
    let read = read_form(request, limits::REQUEST_BODY_BYTES_MAX).await;
    let address = read.ok().and_then(|(_, form)| form.find_value("url").map(str::to_owned));
    let address = address.ok_or_else(|| reject_upload(StatusCode::BAD_REQUEST, NO_FORM))?;
    Ok((slot, parse_source_url(&address)?))
}

/// The error for a body that is declared as a form but is none: some clients declare every body as a form by default.
const NO_FORM: &str = "This form has no field \"url\". A file comes in a form of several parts, as curl -F file=@gtfs.zip sends it, or by itself, \
    with the header content-type: application/octet-stream.";

/// The kind of a request's body, by its content type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UploadBodyKind {
    /// A form with an address.
    Fields,
    /// A form with a file.
    Parts,
    /// A file without a form.
    File,
}

impl UploadBodyKind {
    fn from_headers(headers: &HeaderMap) -> UploadBodyKind {
        let kind = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
        let is = |name: &str| {
            kind.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
        };
        match () {
            () if is("multipart/form-data") => UploadBodyKind::Parts,
            () if is("application/x-www-form-urlencoded") => UploadBodyKind::Fields,
            () => UploadBodyKind::File,
        }
    }
}

fn upload_timeout_rejection() -> UploadRejection {
    reject_upload(StatusCode::REQUEST_TIMEOUT, "The form did not come in time.")
}

/// Awaits the next piece, with a timeout.
async fn receive_within_timeout<T, E: Into<UploadRejection>>(
    coming: impl Future<Output = Result<T, E>>,
) -> Result<T, UploadRejection> {
    let received_chunk =
        run_with_timeout(CHUNK_TIME_MAX, coming).await.ok_or_else(upload_timeout_rejection)?;
    received_chunk.map_err(Into::into)
}

impl From<MultipartError> for UploadRejection {
    fn from(error: MultipartError) -> Self {
        match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => reject_upload(
                StatusCode::PAYLOAD_TOO_LARGE,
                "The form is larger than a file may be here.",
            ),
            _ => reject_upload(StatusCode::BAD_REQUEST, "The form did not come whole."),
        }
    }
}

/// Reads the file or the address of a form; an empty field counts as absent.
async fn read_multipart_form(
    mut form: Multipart,
    service: &Arc<UploadService>,
    slot: &AdmittedUpload,
    rules: &lineside_config::UploadsConfig,
) -> Result<UploadSource, UploadRejection> {
    let (mut url, mut file) = (String::new(), None);
    while let Some(mut part) = receive_within_timeout(form.next_field()).await? {
        match part.name() {
            Some("file") if file.is_none() && part.file_name().is_some_and(|it| !it.is_empty()) => {
                let name = sanitize_file_name(part.file_name().unwrap_or_default());
                file = Some(stream_file_to_disk(part, name, service, slot, rules).await?);
            }
            Some("url") => url = read_url_field(part).await?,
            _ => while receive_within_timeout(part.chunk()).await?.is_some() {},
        }
    }
    match file {
        Some(_) if !url.trim().is_empty() => Err(reject_upload(
            StatusCode::BAD_REQUEST,
            "A file and an address were given. Send one of them alone: it is not clear which is meant.",
        )),
        Some(file) => Ok(file),
        None => parse_source_url(&url),
    }
}

async fn read_url_field(mut part: Field<'_>) -> Result<String, UploadRejection> {
    let mut bytes = Vec::new();
    while let Some(piece) = receive_within_timeout(part.chunk()).await? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > URL_BYTES_MAX {
            let message = format!("An address has at most {URL_BYTES_MAX} characters.");
            return Err(reject_upload(StatusCode::BAD_REQUEST, message));
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Streams a file to the disk, piece by piece: it is never in memory as a whole.
async fn stream_file_to_disk<E: Into<UploadRejection>>(
    body: impl Stream<Item = Result<Bytes, E>>,
    name: String,
    service: &Arc<UploadService>,
    slot: &AdmittedUpload,
    rules: &lineside_config::UploadsConfig,
) -> Result<UploadSource, UploadRejection> {
    let mut body = pin!(body);
    let no_room = |error: &dyn std::fmt::Display| {
        tracing::error!(%error, "a visitor's file cannot be taken");
        reject_upload(
            StatusCode::SERVICE_UNAVAILABLE,
            "This server has no room for the file at the moment.",
        )
    };
    let service = Arc::clone(service);
    let created_folder = run_blocking(move || service.create_upload_folder()).await;
    let created_folder =
        created_folder.map_err(|refusal| reject_upload(refusal.status(), refusal.message()))?;
    let (folder, file) = created_folder.map_err(|error| no_room(&error))?;
    let mut file = File::from_std(file);
    let mut length: u64 = 0;
    let coming = RealTimeStopwatch::start_stopwatch();
    while let Some(piece) = receive_within_timeout(body.try_next()).await? {
        length += piece.len() as u64;
        slot.transfer().count_received_bytes(piece.len());
        if is_too_slow(length, coming.elapsed()) {
            return Err(upload_timeout_rejection());
        }
        if length > rules.max_bytes {
            let message = format!(
                "The file is larger than {}, which is the most that is taken here.",
                format_size(rules.max_bytes)
            );
            return Err(reject_upload(StatusCode::PAYLOAD_TOO_LARGE, message));
        }
        file.write_all(&piece).await.map_err(|error| no_room(&error))?;
    }
    file.flush().await.map_err(|error| no_room(&error))?;
    if length == 0 {
        return Err(reject_upload(StatusCode::BAD_REQUEST, "The file is empty."));
    }
    Ok(UploadSource::File { folder, name })
}

/// Returns true if the average rate is below [`RATE_MIN`].
fn is_too_slow(length: u64, elapsed: Duration) -> bool {
    elapsed > CHUNK_TIME_MAX && length / UPLOAD_RATE_MIN < elapsed.as_secs()
}

/// Parses an http or https address.
fn parse_source_url(text: &str) -> Result<UploadSource, UploadRejection> {
    let text = text.trim();
    if text.is_empty() {
        return Err(reject_upload(StatusCode::BAD_REQUEST, "Choose a file, or name an address."));
    }
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    match url {
        Some(url) if text.len() <= URL_BYTES_MAX => {
            // The query of an address may contain a key.
            let name = sanitize_file_name(url.path());
            Ok(UploadSource::Address { url, name })
        }
        _ => Err(reject_upload(
            StatusCode::BAD_REQUEST,
            "This is no address: it has to begin with https:// or http://.",
        )),
    }
}

async fn find_upload_status(app: &App, link: String) -> Result<Option<UploadStatus>, Refusal> {
    let (desk, rules) = (app.upload_service().clone(), app.config().uploads.clone());
    run_blocking(move || desk.find_upload_status(&link, &rules)).await
}

async fn get_result_page(State(app): State<App>, Path(link): Path<String>) -> Response {
    let report = format!("{VALIDATE}/{link}/report.json");
    let wait = |message: &str| {
        let main = html! {
            h1 { "Validating" }
            p role="status" { (message) }
            p.soft { "This page shows the report when it is ready. Keep its address; nobody else knows it." }
        };
        reply_with_page(StatusCode::OK, "Validating", &main, Some(REFRESH_S))
    };
    match find_upload_status(&app, link).await {
        Err(refusal) => refusal.into_response(),
        Ok(None) => mark_no_store(not_found::reply_with_not_found_page(
            "The report has expired, or the address is incomplete.",
        )),
        Ok(Some(UploadStatus::Transferring)) => wait("The file is being fetched."),
        Ok(Some(UploadStatus::Waiting(0))) => wait("Your file is next in the queue."),
        Ok(Some(UploadStatus::Waiting(1))) => wait("One file is ahead of yours."),
        Ok(Some(UploadStatus::Waiting(n))) => wait(&format!("{n} files are ahead of yours.")),
        Ok(Some(UploadStatus::Running)) => wait("Checking… Large files take a few seconds."),
        Ok(Some(UploadStatus::Failed { name, reason })) => {
            let main = html! {
                div.page-head {
                    h1 { "No report on " (name) }
                    p { "This file could not be checked: " (reason) "." }
                }
                p { a href=(VALIDATE) { "Try another" } }
            };
            reply_with_page(StatusCode::UNPROCESSABLE_ENTITY, "No report", &main, None)
        }
        Ok(Some(UploadStatus::Done(bytes))) => match run_blocking(move || {
            ParsedReportJson::from_json(&bytes)
        })
        .await
        {
            Err(refusal) => refusal.into_response(),
            Ok(Ok(found)) => {
                let kept = (report.as_str(), app.config().uploads.retention);
                reply_with_page(StatusCode::OK, "Report", &render_report(found, Some(kept)), None)
            }
            Ok(Err(error)) => {
                tracing::error!(%error, "a visitor's report cannot be read again");
                Refusal::Internal.into_response()
            }
        },
    }
}

async fn get_result_json(State(app): State<App>, Path(link): Path<String>) -> Response {
    match find_upload_status(&app, link).await {
        Err(refusal) => refusal.into_response(),
        Ok(Some(UploadStatus::Done(bytes))) => {
            let kind = (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            mark_no_store(([kind], bytes).into_response())
        }
        Ok(Some(UploadStatus::Failed { reason, .. })) => {
            mark_no_store(Refusal::NotValidated(reason).into_response())
        }
        Ok(Some(_)) => {
            let retry_after = (header::RETRY_AFTER, HeaderValue::from_static(REFRESH_S));
            mark_no_store((StatusCode::ACCEPTED, [retry_after]).into_response())
        }
        Ok(None) => mark_no_store(Refusal::UnknownPath.into_response()),
    }
}

fn reply_with_page(
    status: StatusCode,
    title: &str,
    main: &Markup,
    refresh_seconds: Option<&'static str>,
) -> Response {
    let page = PageLayout {
        styles: &[STYLE],
        scripts: &["validate.js"],
        ..PageLayout::new(title, NavSection::Validate)
    };
    let mut reply = mark_no_store(layout::reply_with_page(
        status,
        page.render_document(&html! { div.page { (main) } }),
    ));
    if let Some(seconds) = refresh_seconds {
        let refresh = HeaderName::from_static("refresh");
        reply.headers_mut().insert(refresh, HeaderValue::from_static(seconds));
    }
    reply
}

/// Marks a response as private: not for caches and search engines.
fn mark_no_store(mut reply: Response) -> Response {
    let headers = reply.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    headers.insert(ROBOTS, HeaderValue::from_static("noindex"));
    reply
}

/// The address of a report on a small schedule with some errors.
const SAMPLE: &str = "/validate/sample";

/// Returns the report on the sample. Checking it takes some milliseconds.
async fn get_sample_page(State(app): State<App>) -> Response {
    let now = app.now();
    match run_blocking(move || sample_report(now)).await {
        Ok(Some(found)) => {
            reply_with_page(StatusCode::OK, "Sample report", &render_report(found, None), None)
        }
        Ok(None) => Refusal::Internal.into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

fn render_form(rules: &lineside_config::UploadsConfig, refused: Option<&str>) -> Markup {
    let keep = words::describe_duration(rules.retention.as_secs());
    html! {
        div.page-head {
            h1 { "Validate a feed" }
            p { "GTFS, GTFS-Realtime, SIRI, NeTEx or GBFS. The format is detected automatically." }
        }
        @if !rules.enabled {
            p { "This server accepts no files from visitors. Run " code { "lineside check" } " on your own machine instead." }
        } @else {
            form.card.card-body.stack.login method="post" action=(VALIDATE) enctype="multipart/form-data" {
                @if let Some(words) = refused {
                    p.note role="alert" { (words) }
                }
                div.field.drop-zone data-drop {
                    label for="file" { "Drop a file here, or choose one" }
                    input #file type="file" name="file";
                    p.soft.small { "At most " (words::format_bytes(rules.max_bytes).replace(".0 ", " ")) "." }
                }
                div.field {
                    label for="url" { "Or an address on the internet" }
                    input.input #url type="url" name="url" placeholder="https://example.org/gtfs.zip" maxlength=(URL_BYTES_MAX) autocomplete="off";
                }
                div { button.button type="submit" { "Validate" } }
            }
            p { a href=(SAMPLE) { "See a sample report" } " · " a href="/rules" { "All rules" } }
            p.soft {
                "Your report is at a private link for " (keep) ". Nobody else is told the link, and the file is deleted as soon as it is checked. "
                "In a build, use " code { "lineside check" } "; with " code { "--static gtfs.zip" } " it also validates real-time data against their schedule."
            }
        }
    }
}

/// Renders a time of a report in the style of other pages.
fn render_time(at: &str) -> Markup {
    match at.parse::<jiff::Timestamp>() {
        Ok(moment) => {
            words::render_time_with_zone(UnixMillis(moment.as_millisecond()), &TimeZone::UTC)
        }
        Err(_) => html! { (at) },
    }
}

/// Renders a report. `kept` is the address and the lifetime of its JSON; `None` for a report that is generated for each
/// request.
fn render_report(found: ParsedReportJson, retention: Option<(&str, Duration)>) -> Markup {
    let counts = found.counts.iter().map(|(kind, n)| (kind.as_str(), *n));
    let counts = describe_record_counts(counts, &found.unread).join(", ");
    html! {
        div.page-head {
            h1 { (found.input) }
            p {
                @if let Some(format) = found.format { strong { (states::format_display_name(Some(format))) } ", checked " } @else { "Checked " }
                (render_time(&found.at)) " by Lineside " (found.validator)
                @if !found.today.is_empty() { ", as of " (format_date_for_people(&found.today)) }
                "."
            }
            @if !counts.is_empty() { p.soft { (counts) } }
        }
        (render_upload_findings(&FeedValidationReport::for_unattached_file(found)))
        p.soft {
            @if let Some((address, keep)) = retention { a href=(address) { "report.json" } " · kept for " (words::describe_duration(keep.as_secs())) " · " }
            a href=(VALIDATE) { "Validate a file" }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trickling_upload_is_too_slow_and_a_slow_one_is_not() {
        let seconds = Duration::from_secs;
        assert!(!is_too_slow(1, seconds(30)));
        assert!(is_too_slow(100, seconds(31)));
        assert!(!is_too_slow(10 << 20, seconds(600)));
    }

    #[test]
    fn a_body_that_is_not_a_form_is_a_file() {
        for (content_type, kind) in [
            ("multipart/form-data; boundary=x", UploadBodyKind::Parts),
            ("application/x-www-form-urlencoded;charset=utf-8", UploadBodyKind::Fields),
            ("Application/X-WWW-Form-Urlencoded", UploadBodyKind::Fields),
            ("application/zip", UploadBodyKind::File),
            ("", UploadBodyKind::File),
        ] {
            let headers = [(header::CONTENT_TYPE, HeaderValue::from_static(content_type))];
            assert_eq!(
                UploadBodyKind::from_headers(&headers.into_iter().collect()),
                kind,
                "{content_type}"
            );
        }
        assert_eq!(UploadBodyKind::from_headers(&HeaderMap::new()), UploadBodyKind::File);
    }
}

//! GBFS systems in versions 2.3 and 3.0, independent of their producers' version: each file has its own address, is
//! converted once per change of its inputs, and cached with the producer's bytes.
//!
//! A system of version 2 in several languages has a file for each. Version 3 merges them into one file; version 2 keeps
//! them apart, and without a language serves the first that has the file.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode};
use lineside_formats::{Error, Format};
use lineside_gbfs::{
    FileContent, FileHeader, FileKind, FileLimits, WritableGbfsVersion, decode_gbfs_file,
    encode_discovery_file, encode_gbfs_file, output_file_name,
    records::{Calendar, Dataset, RentalHours, VersionEntry},
};
use lineside_ingest::{Feed, GbfsFeedFile};
use lineside_model::ServedSnapshot;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use xxhash_rust::xxh3::Xxh3;

use super::blocking::run_blocking;
use super::errors::{Problem, Refusal};
use super::limits::MANIFEST_FRESH_FOR;
use super::lookup;
use super::prepared_replies::{PreparedReplies, producer_reply_headers};
use super::reply::{ReplyPreferences, Representation};
use crate::app::App;
use crate::prepared_replies::ConvertedFile;
use crate::prepared_replies::freshness_headers;

/// Default language if neither the discovery file nor the system names one.
const LANGUAGE_DEFAULT: &str = "en";
const DISCOVERY: &str = "gbfs";
const VERSIONS: &str = "gbfs_versions";
/// Conversions cached for one file whose bytes several languages share.
const CONVERSIONS_MAX: usize = 8;
const JSON_TYPE: HeaderValue = HeaderValue::from_static("application/json");

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(get_gbfs_manifest))
        .routes(routes!(get_gbfs_file))
        .routes(routes!(get_localized_gbfs_file))
}

/// Lists all GBFS systems, each with the versions in which it is served
#[utoipa::path(
    get, path = "/gbfs/manifest.json", tag = "formats",
    responses((status = 200, description = "A manifest of version 3.0", content_type = "application/json"))
)]
async fn get_gbfs_manifest(
    State(app): State<App>,
    headers: HeaderMap,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let base = app.base_url(&headers);
    let feeds = app.ingest().feeds();
    let systems: Vec<Arc<Feed>> = feeds
        .into_iter()
        .filter(|feed| feed.format().is_some_and(Format::is_shared_mobility))
        .collect();
    let changed = systems.iter().filter_map(|feed| Some(feed.snapshot()?.fetched_at)).max();
    let changed = changed.unwrap_or(app.started_at());
    let written = run_blocking(move || {
        let datasets = systems.iter().map(|feed| Dataset {
            system_id: system_id(feed).into(),
            versions: list_gbfs_versions(feed, &base),
            ..Dataset::default()
        });
        let head = FileHeader {
            last_updated: Some(changed.unix_seconds()),
            ttl: u32::try_from(MANIFEST_FRESH_FOR.as_secs()).ok(),
            version: None,
        };
        let content = FileContent::Manifest(datasets.collect());
        encode_gbfs_file(&content, &head, WritableGbfsVersion::Three, LANGUAGE_DEFAULT)
    });
    let written = written.await?.ok_or(Refusal::Internal)?;
    let reply = Representation::new(JSON_TYPE, written.body)
        .with_modified_time(Some(changed), app.now())
        .with_freshness(MANIFEST_FRESH_FOR)
        .mark_single_use();
    Ok(reply.into_reply(&preferences, &app).await)
}

/// Returns a file of a GBFS system in version 2.3 or 3.0
///
/// `gbfs.json` is the discovery file, which lists the others with their addresses here. Fields that version 2.3 lacks
/// are left out; errors in the producer's file are reported with the feed.
#[utoipa::path(
    get, path = "/gbfs/{feed}/{version}/{file}", tag = "formats",
    params(
        ("feed" = String, Path, description = "The system's id"),
        ("version" = String, Path, description = "`2` for 2.3, `3` for 3.0"),
        ("file" = String, Path, description = "The file's name in that version, with or without `.json`")
    ),
    responses(
        (status = 200, description = "The file", content_type = "application/json"),
        (status = 304, description = "The client's copy is current"),
        (status = 404, description = "`unknown_feed`, `other_format`, or `unknown_file`", body = Problem),
        (status = 503, description = "`no_data` or `stale`", body = Problem)
    )
)]
async fn get_gbfs_file(
    State(app): State<App>,
    Path((id, version, name)): Path<(String, String, String)>,
    headers: HeaderMap,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    reply_with_gbfs_file(&app, (&id, &version, None, &name), &headers, &preferences).await
}

/// Returns a file of a GBFS system in version 2.3, in one of its languages
#[utoipa::path(
    get, path = "/gbfs/{feed}/{version}/{language}/{file}", tag = "formats",
    params(
        ("feed" = String, Path, description = "The system's id"),
        ("version" = String, Path, description = "`2`: in version 3 one file has all languages"),
        ("language" = String, Path, description = "A language of the discovery file"),
        ("file" = String, Path, description = "The file's name, with or without `.json`")
    ),
    responses(
        (status = 200, description = "The file", content_type = "application/json"),
        (status = 304, description = "The client's copy is current"),
        (status = 404, description = "`unknown_feed`, `other_format`, or `unknown_file`", body = Problem),
        (status = 503, description = "`no_data` or `stale`", body = Problem)
    )
)]
async fn get_localized_gbfs_file(
    State(app): State<App>,
    Path((id, version, language, name)): Path<(String, String, String, String)>,
    headers: HeaderMap,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    reply_with_gbfs_file(&app, (&id, &version, Some(&language), &name), &headers, &preferences)
        .await
}

async fn reply_with_gbfs_file(
    app: &App,
    (id, version, language, name): (&str, &str, Option<&str>, &str),
    headers: &HeaderMap,
    preferences: &ReplyPreferences,
) -> Result<Response, Refusal> {
    let feed = lookup::find_gbfs_system(app, id, "GBFS")?;
    let plain = name.strip_suffix(".json").unwrap_or(name);
    let unknown = || Refusal::UnknownFile {
        feed: lookup::shorten_id(id),
        version: lookup::shorten_id(version),
        file: lookup::shorten_id(plain),
    };
    let version = WritableGbfsVersion::version_from_major_number(version).ok_or_else(unknown)?;
    if version == WritableGbfsVersion::Three && language.is_some() {
        return Err(unknown());
    }
    let base = app.base_url(headers);
    let reply = async {
        match (plain, language) {
            (DISCOVERY, None) => {
                reply_with_generated_file(
                    app,
                    &feed,
                    preferences,
                    discovery_writer(&feed, version, base),
                )
                .await
            }
            (VERSIONS, None) => {
                reply_with_generated_file(
                    app,
                    &feed,
                    preferences,
                    versions_file_writer(&feed, version, base),
                )
                .await
            }
            _ => {
                let kind = FileKind::kind_from_file_name(plain);
                let kind = kind.filter(|kind| output_file_name(*kind, version) == Some(plain));
                let kind = kind.ok_or_else(unknown)?;
                let mut parts = list_gbfs_files(&feed, kind).into_iter();
                let part = match language {
                    Some(_) => parts.find(|part| part.language.as_deref() == language),
                    None => parts.next(),
                };
                let part = part.ok_or_else(unknown)?;
                let manifest_url = format!("{base}/gbfs/manifest.json");
                let to = GbfsConversion { kind, version, manifest_url };
                reply_with_converted_file(app, &feed, &part, to, preferences).await
            }
        }
    };
    lookup::count_feed_reply(&feed, preferences, reply.await)
}

/// Returns the file of a kind in the first language that has it.
fn find_gbfs_file(system: &Feed, kind: FileKind) -> Option<GbfsFeedFile> {
    list_gbfs_files(system, kind).into_iter().next()
}

/// Returns the files of a kind in the order of the discovery file, one for each language.
fn list_gbfs_files(system: &Feed, kind: FileKind) -> Vec<GbfsFeedFile> {
    let parts = system.gbfs_files();
    let same = parts.iter().filter(|part| FileKind::kind_from_file_name(&part.name) == Some(kind));
    same.cloned().collect()
}

/// Replies with a body of this server's own, as fresh as the discovery file.
async fn reply_with_generated_file(
    app: &App,
    feed: &Feed,
    preferences: &ReplyPreferences,
    body: impl FnOnce(FileHeader) -> Vec<u8> + Send + 'static,
) -> Result<Response, Refusal> {
    let status = feed.status();
    let served = lookup::find_served_snapshot(app, feed, &status)?;
    let snapshot = served.snapshot();
    let ttl = lineside_gbfs::parse_file_ttl(&snapshot.bytes)
        .ok()
        .flatten()
        .map_or(0, |ttl| ttl.as_secs());
    let head = FileHeader {
        last_updated: Some(snapshot.fetched_at.unix_seconds()),
        ttl: u32::try_from(ttl).ok(),
        version: None,
    };
    let body = run_blocking(move || body(head)).await?;
    let reply = Representation::new(JSON_TYPE, body)
        .with_producer_modified_time(Some(snapshot.modified_at()))
        .mark_single_use()
        .into_reply(preferences, app);
    let mut reply = reply.await;
    reply.headers_mut().extend(freshness_headers(app, feed, &status, snapshot));
    Ok(reply)
}

fn discovery_writer(
    feed: &Arc<Feed>,
    version: WritableGbfsVersion,
    base: String,
) -> impl FnOnce(FileHeader) -> Vec<u8> + use<> {
    let feed = Arc::clone(feed);
    move |head| {
        let own = format!("{base}/gbfs/{}/{}", feed.id(), version.major_version());
        let (parts, default_language) = (feed.gbfs_files(), system_language(&feed));
        let language_code = |part: &GbfsFeedFile| {
            part.language.as_ref().map_or(default_language.clone(), ToString::to_string)
        };
        let mut languages: Vec<(String, Vec<(&str, String)>)> = Vec::new();
        for part in parts.iter() {
            let kind = FileKind::kind_from_file_name(&part.name);
            let Some(name) = kind.and_then(|kind| output_file_name(kind, version)) else {
                continue;
            };
            // A file of version 3 has all languages.
            let language = if version == WritableGbfsVersion::Three {
                &default_language
            } else {
                &language_code(part)
            };
            let at =
                languages.iter().position(|(known, _)| known == language).unwrap_or_else(|| {
                    languages.push((language.clone(), Vec::new()));
                    languages.len() - 1
                });
            let url = match at {
                0 => format!("{own}/{name}.json"),
                _ => format!("{own}/{language}/{name}.json"),
            };
            let files = &mut languages[at].1;
            if files.iter().all(|(known, _)| *known != name) {
                files.push((name, url));
            }
        }
        if languages.is_empty() {
            languages.push((default_language, Vec::new()));
        }
        for (_, files) in &mut languages {
            files.push((VERSIONS, format!("{own}/{VERSIONS}.json")));
        }
        encode_discovery_file(&languages, &head, version)
    }
}

fn versions_file_writer(
    feed: &Arc<Feed>,
    version: WritableGbfsVersion,
    base: String,
) -> impl FnOnce(FileHeader) -> Vec<u8> + use<> {
    let content = FileContent::Versions(list_gbfs_versions(feed, &base));
    move |head| {
        let written = encode_gbfs_file(&content, &head, version, LANGUAGE_DEFAULT);
        written.map(|it| it.body).unwrap_or_default()
    }
}

fn list_gbfs_versions(feed: &Feed, base: &str) -> Vec<VersionEntry> {
    let entry = |version: WritableGbfsVersion| VersionEntry {
        version: Some(version.as_str().into()),
        url: Some(
            format!("{base}/gbfs/{}/{}/{DISCOVERY}.json", feed.id(), version.major_version())
                .into(),
        ),
    };
    WritableGbfsVersion::ALL.map(entry).into()
}

/// Returns the language of a system's files: that of the discovery file, else of the system information, else
/// [`LANGUAGE_USUAL`].
fn system_language(system: &Feed) -> String {
    let parts = system.gbfs_files();
    let first_language =
        parts.first().and_then(|part| part.language.as_ref()).map(ToString::to_string);
    let known = || match find_gbfs_file(system, FileKind::SystemInformation).and_then(|part| {
        decode_file_snapshot(&part, FileKind::SystemInformation, LANGUAGE_DEFAULT)?.ok()
    })? {
        (FileContent::SystemInformation(it), _) => it.languages.0.first().map(ToString::to_string),
        _ => None,
    };
    first_language.or_else(known).unwrap_or_else(|| LANGUAGE_DEFAULT.to_owned())
}

/// Returns the system's own `system_id`, else the feed's id.
fn system_id(system: &Feed) -> String {
    let stated_id = find_gbfs_file(system, FileKind::SystemInformation).and_then(|part| {
        decode_file_snapshot(&part, FileKind::SystemInformation, LANGUAGE_DEFAULT)?.ok()
    });
    match stated_id {
        Some((FileContent::SystemInformation(it), _)) if !it.system_id.is_empty() => {
            it.system_id.to_string()
        }
        _ => system.id().to_string(),
    }
}

/// Decodes a file of a system; `None` before its first download.
fn decode_file_snapshot(
    part: &GbfsFeedFile,
    kind: FileKind,
    language: &str,
) -> Option<Result<(FileContent, FileHeader), Error>> {
    let snapshot = part.feed.snapshot()?;
    let read = decode_gbfs_file(kind, &snapshot.bytes, language, &FileLimits::default());
    Some(read.map(|(file, _)| (file.content, file.head)))
}

/// The target of a file's conversion.
struct GbfsConversion {
    kind: FileKind,
    version: WritableGbfsVersion,
    /// Address of this server's manifest, which depends on the host that the client uses.
    manifest_url: String,
}

impl GbfsConversion {
    /// Returns true if the converted file has a `manifest_url`.
    fn has_manifest_url(&self) -> bool {
        self.kind == FileKind::SystemInformation && self.version == WritableGbfsVersion::Three
    }
}

/// Replies with a producer's file, converted to the requested version.
async fn reply_with_converted_file(
    app: &App,
    system: &Arc<Feed>,
    part: &GbfsFeedFile,
    to: GbfsConversion,
    preferences: &ReplyPreferences,
) -> Result<Response, Refusal> {
    let status = part.feed.status();
    let served = lookup::find_served_snapshot(app, &part.feed, &status)?;
    let snapshot = served.snapshot();
    let conversion = convert_gbfs_file(system, &served, part, to).await?;
    let reply =
        Representation::with_hash(JSON_TYPE, conversion.body.clone(), conversion.input_hash)
            .with_producer_modified_time(Some(snapshot.modified_at()))
            .into_reply(preferences, app);
    let mut reply = reply.await;
    if reply.status() != StatusCode::NOT_MODIFIED {
        reply.headers_mut().extend(producer_reply_headers(part.feed.config()));
    }
    reply.headers_mut().extend(freshness_headers(app, &part.feed, &status, snapshot));
    Ok(reply)
}

/// Returns the conversion of a file, made once for these bytes. Concurrent requests wait for it.
async fn convert_gbfs_file(
    system: &Arc<Feed>,
    served: &ServedSnapshot,
    part: &GbfsFeedFile,
    to: GbfsConversion,
) -> Result<Arc<ConvertedFile>, Refusal> {
    let GbfsConversion { kind, version, .. } = to;
    let prepared = PreparedReplies::for_snapshot(served, served.config())?;
    let mut made = prepared.converted_files(version).lock().await;
    let companions = CompanionFiles::for_gbfs_file(system, part, kind, version);
    let input_hash = companions.hash_conversion_inputs(served.snapshot().hash, &to);
    let is_its = |conversion: &&Arc<ConvertedFile>| {
        conversion.input_hash == input_hash && conversion.language == part.language
    };
    if let Some(conversion) = made.iter().find(is_its) {
        return Ok(Arc::clone(conversion));
    }
    let (system, bytes) = (Arc::clone(system), served.snapshot().bytes.clone());
    let own = part.language.clone();
    let body = run_blocking(move || {
        let language = own.map_or_else(|| system_language(&system), |own| own.to_string());
        let (file, _) = decode_gbfs_file(kind, &bytes, &language, &FileLimits::default())?;
        let mut content = file.content;
        companions.merge_companions(&mut content, &file.head, &language);
        if to.has_manifest_url() {
            content.adapt_contacts_to_v3(Some(&to.manifest_url));
        }
        Ok(encode_gbfs_file(&content, &file.head, version, &language).map(|it| it.body))
    });
    let unreadable = |error: Error| Refusal::NoData {
        feed: served.config().id.to_string(),
        reason: error.to_string(),
    };
    let body = body.await?.map_err(unreadable)?.ok_or(Refusal::Internal)?;
    let conversion =
        Arc::new(ConvertedFile { input_hash, language: part.language.clone(), body: body.into() });
    made.retain(|it| it.language != conversion.language);
    if made.len() == CONVERSIONS_MAX {
        made.remove(0);
    }
    made.push(Arc::clone(&conversion));
    Ok(conversion)
}

/// The other files that a conversion needs: the system information for the language, in version 3 the file in other
/// languages, and the opening hours, which version 3 has in the system information.
struct CompanionFiles {
    kind: FileKind,
    files: Vec<(FileKind, GbfsFeedFile)>,
    has_hours: bool,
}

impl CompanionFiles {
    fn for_gbfs_file(
        system: &Feed,
        part: &GbfsFeedFile,
        kind: FileKind,
        version: WritableGbfsVersion,
    ) -> Self {
        let is_version_three = version == WritableGbfsVersion::Three;
        let has_hours = kind == FileKind::SystemInformation && is_version_three;
        let hours = [FileKind::Hours, FileKind::Calendar].into_iter().filter(|_| has_hours);
        let kinds = hours.chain([FileKind::SystemInformation]);
        let mut parts: Vec<_> =
            kinds.filter_map(|kind| Some((kind, find_gbfs_file(system, kind)?))).collect();
        let others =
            list_gbfs_files(system, kind).into_iter().filter(|it| it.language != part.language);
        parts.extend(others.filter(|_| is_version_three).map(|other| (kind, other)));
        Self { kind, files: parts, has_hours }
    }

    fn hash_conversion_inputs(&self, own: u128, to: &GbfsConversion) -> u128 {
        let mut hash = Xxh3::new();
        hash.update(&own.to_le_bytes());
        hash.update(&[to.version.major_version()]);
        if to.has_manifest_url() {
            hash.update(to.manifest_url.as_bytes());
        }
        for (_, part) in &self.files {
            let its = part.feed.snapshot().map_or(0, |snapshot| snapshot.hash);
            hash.update(&its.to_le_bytes());
        }
        hash.digest128()
    }

    fn merge_companions(&self, content: &mut FileContent, head: &FileHeader, language: &str) {
        for (_, other) in self.files.iter().filter(|(kind, _)| *kind == self.kind) {
            let its = other.language.as_deref().unwrap_or(language);
            if its != language
                && let Some(Ok((other, _))) = decode_file_snapshot(other, self.kind, its)
            {
                content.add_texts_of_language(&other);
            }
        }
        // A system of version 3 states its hours itself, or not at all.
        let is_new = head.version.as_deref().is_some_and(|version| version.starts_with('3'));
        let hours = if self.has_hours && !is_new { self.opening_hours(language) } else { None };
        content.add_fields_required_by_v3(
            language,
            hours.as_ref().map(|(hours, days)| (&hours[..], &days[..])),
        );
    }

    /// Returns the contents of the files of hours and calendars; `None` if one of them cannot be read.
    fn opening_hours(&self, language: &str) -> Option<(Vec<RentalHours>, Vec<Calendar>)> {
        let (mut hours, mut calendar) = (Vec::new(), Vec::new());
        let kinds = [FileKind::Hours, FileKind::Calendar];
        for (kind, part) in self.files.iter().filter(|(kind, _)| kinds.contains(kind)) {
            match decode_file_snapshot(part, *kind, language) {
                Some(Ok((FileContent::Hours(all), _))) => hours = all,
                Some(Ok((FileContent::Calendar(all), _))) => calendar = all,
                _ => return None,
            }
        }
        Some((hours, calendar))
    }
}

//! GBFS systems in version 2.3 and 3.0, whichever their producers have: each file under its own address, made once per
//! change of what it comes of, and kept with those bytes.
//!
//! Of a system that is in several languages it is the first one that has the file.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use lineside_formats::gbfs::{
    self, Content, FileKind, FileLimits, Head, Version, decode_file, encode_discovery, encode_file,
    opening_hours,
    records::{Dataset, VersionEntry},
};
use lineside_formats::{Error, Format};
use lineside_ingest::{Feed, Held, Part};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use xxhash_rust::xxh3::Xxh3;

use super::aside::aside;
use super::errors::{Problem, Refusal};
use super::found;
use super::limits::MANIFEST_FRESH_FOR;
use super::prepared::{Prepared, of_producer};
use super::proxy::freshness;
use super::reply::{Representation, Wants};
use crate::app::App;

/// Where neither the discovery file nor the system says in which language it is.
const LANGUAGE_USUAL: &str = "en";
const DISCOVERY: &str = "gbfs";
const VERSIONS: &str = "gbfs_versions";
const KIND: HeaderValue = HeaderValue::from_static("application/json");

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(manifest)).routes(routes!(file))
}

/// A file of a system in one version, as it goes out.
#[derive(Debug)]
pub(super) struct Form {
    /// Of all bytes that it was made of.
    of: u128,
    body: Bytes,
}

/// Files that can go out. What is only of later versions than ours stays in; of versions and systems we say ourselves
/// which there are.
fn goes_out(kind: FileKind, version: Version) -> Option<&'static str> {
    match kind {
        FileKind::VehicleAvailability | FileKind::Versions | FileKind::Manifest => None,
        _ => kind.name(version.major()),
    }
}

/// All GBFS systems, each with the versions that it is served in
#[utoipa::path(
    get, path = "/gbfs/manifest.json", tag = "formats",
    responses((status = 200, description = "A manifest of version 3.0", content_type = "application/json"))
)]
async fn manifest(
    State(app): State<App>,
    headers: HeaderMap,
    wants: Wants,
) -> Result<Response, Refusal> {
    let base = app.base_url(&headers);
    let feeds = app.ingest().feeds();
    let systems: Vec<Arc<Feed>> =
        feeds.into_iter().filter(|feed| feed.format() == Some(Format::Gbfs)).collect();
    let changed = systems.iter().filter_map(|feed| Some(feed.snapshot()?.fetched_at)).max();
    let changed = changed.unwrap_or(app.started());
    let written = aside(move || {
        let datasets = systems.iter().map(|feed| Dataset {
            system_id: system_id(feed).into(),
            versions: versions(feed, &base),
            ..Dataset::default()
        });
        let head = Head {
            last_updated: Some(changed.seconds()),
            ttl: u32::try_from(MANIFEST_FRESH_FOR.as_secs()).ok(),
            version: None,
        };
        let content = Content::Manifest(datasets.collect());
        encode_file(&content, &head, Version::Three, LANGUAGE_USUAL)
    });
    let written = written.await?.ok_or(Refusal::Internal)?;
    let reply = Representation::new(KIND, written.body)
        .modified(Some(changed), app.now())
        .fresh_for(MANIFEST_FRESH_FOR)
        .passing();
    Ok(reply.reply(&wants, &app).await)
}

/// A file of a GBFS system in version 2.3 or 3.0
///
/// `gbfs.json` is the discovery file, which lists the others with their addresses here. What version 2.3 cannot say is
/// left out of it; what is wrong in the producer's file is told with the feed.
#[utoipa::path(
    get, path = "/gbfs/{feed}/{version}/{file}", tag = "formats",
    params(
        ("feed" = String, Path, description = "The system's id"),
        ("version" = String, Path, description = "`2` for 2.3, `3` for 3.0"),
        ("file" = String, Path, description = "The file's name in that version, with or without `.json`")
    ),
    responses(
        (status = 200, description = "The file", content_type = "application/json"),
        (status = 304, description = "The client has it already"),
        (status = 404, description = "`unknown_feed`, `other_format`, or `unknown_file`", body = Problem),
        (status = 503, description = "`no_data` or `too_old`", body = Problem)
    )
)]
async fn file(
    State(app): State<App>,
    Path((id, version, name)): Path<(String, String, String)>,
    headers: HeaderMap,
    wants: Wants,
) -> Result<Response, Refusal> {
    let feed = found::system(&app, &id, "GBFS")?;
    let plain = name.strip_suffix(".json").unwrap_or(&name);
    let unknown = || Refusal::UnknownFile {
        feed: found::shortened(&id),
        version: found::shortened(&version),
        file: found::shortened(plain),
    };
    let version = Version::of_major(&version).ok_or_else(unknown)?;
    let base = app.base_url(&headers);
    let reply = async {
        match plain {
            DISCOVERY => own(&app, &feed, &wants, discovery(&feed, version, base)).await,
            VERSIONS => own(&app, &feed, &wants, version_list(&feed, version, base)).await,
            _ => {
                let kind = FileKind::of_name(plain);
                let kind = kind.filter(|kind| goes_out(*kind, version) == Some(plain));
                let kind = kind.ok_or_else(unknown)?;
                let part = find(&feed, kind).ok_or_else(unknown)?;
                converted(&app, &feed, &part, (kind, version), &wants).await
            }
        }
    };
    found::counted(&feed, &wants, reply.await)
}

/// The file of a kind, in the first language that has it.
fn find(system: &Feed, kind: FileKind) -> Option<Part> {
    let parts = system.parts();
    parts.iter().find(|part| FileKind::of_name(&part.name) == Some(kind)).cloned()
}

/// A reply of our own making, as fresh as the discovery file.
async fn own(
    app: &App,
    feed: &Feed,
    wants: &Wants,
    body: impl FnOnce(Head) -> Vec<u8> + Send + 'static,
) -> Result<Response, Refusal> {
    let status = feed.status();
    let held = found::held(app, feed, &status)?;
    let snapshot = held.snapshot();
    let ttl = gbfs::ttl(&snapshot.bytes).ok().flatten().map_or(0, |ttl| ttl.as_secs());
    let head = Head {
        last_updated: Some(snapshot.fetched_at.seconds()),
        ttl: u32::try_from(ttl).ok(),
        version: None,
    };
    let body = aside(move || body(head)).await?;
    let reply = Representation::new(KIND, body)
        .modified_as_said(Some(snapshot.modified()))
        .passing()
        .reply(wants, app);
    let mut reply = reply.await;
    reply.headers_mut().extend(freshness(app, feed, &status, snapshot));
    Ok(reply)
}

fn discovery(
    feed: &Arc<Feed>,
    version: Version,
    base: String,
) -> impl FnOnce(Head) -> Vec<u8> + use<> {
    let feed = Arc::clone(feed);
    move |head| {
        let mut names: Vec<&str> = Vec::new();
        for part in feed.parts().iter() {
            let kind = FileKind::of_name(&part.name);
            let name = kind.and_then(|kind| goes_out(kind, version));
            names.extend(name.filter(|name| !names.contains(name)));
        }
        names.push(VERSIONS);
        let url = |name: &str| format!("{base}/gbfs/{}/{}/{name}.json", feed.id(), version.major());
        let files = names.into_iter().map(|name| (name, url(name)));
        encode_discovery(files, &head, version, &language(&feed))
    }
}

fn version_list(
    feed: &Arc<Feed>,
    version: Version,
    base: String,
) -> impl FnOnce(Head) -> Vec<u8> + use<> {
    let content = Content::Versions(versions(feed, &base));
    move |head| {
        let written = encode_file(&content, &head, version, LANGUAGE_USUAL);
        written.map(|it| it.body).unwrap_or_default()
    }
}

fn versions(feed: &Feed, base: &str) -> Vec<VersionEntry> {
    let entry = |version: Version| VersionEntry {
        version: Some(version.as_str().into()),
        url: Some(format!("{base}/gbfs/{}/{}/{DISCOVERY}.json", feed.id(), version.major()).into()),
    };
    Version::ALL.map(entry).into()
}

/// The language that a system's files are in, as far as one is known.
fn language(system: &Feed) -> String {
    let parts = system.parts();
    let said = parts.first().and_then(|part| part.language.as_ref()).map(ToString::to_string);
    let known = || match find(system, FileKind::SystemInformation)
        .and_then(|part| read(&part, FileKind::SystemInformation, LANGUAGE_USUAL)?.ok())?
    {
        (Content::SystemInformation(it), _) => it.languages.0.first().map(ToString::to_string),
        _ => None,
    };
    said.or_else(known).unwrap_or_else(|| LANGUAGE_USUAL.to_owned())
}

/// What a system calls itself, else what we do.
fn system_id(system: &Feed) -> String {
    let said = find(system, FileKind::SystemInformation)
        .and_then(|part| read(&part, FileKind::SystemInformation, LANGUAGE_USUAL)?.ok());
    match said {
        Some((Content::SystemInformation(it), _)) if !it.system_id.is_empty() => {
            it.system_id.to_string()
        }
        _ => system.id().to_string(),
    }
}

/// What a file says; none before it came.
fn read(part: &Part, kind: FileKind, language: &str) -> Option<Result<(Content, Head), Error>> {
    let snapshot = part.feed.snapshot()?;
    let read = decode_file(kind, &snapshot.bytes, language, &FileLimits::default());
    Some(read.map(|(file, _)| (file.content, file.head)))
}

/// A file of the producer's, in our version.
async fn converted(
    app: &App,
    system: &Arc<Feed>,
    part: &Part,
    (kind, version): (FileKind, Version),
    wants: &Wants,
) -> Result<Response, Refusal> {
    let status = part.feed.status();
    let held = found::held(app, &part.feed, &status)?;
    let snapshot = held.snapshot();
    let form = form(system, &held, part, (kind, version)).await?;
    let reply = Representation::hashed(KIND, form.body.clone(), form.of)
        .modified_as_said(Some(snapshot.modified()))
        .reply(wants, app);
    let mut reply = reply.await;
    if reply.status() != StatusCode::NOT_MODIFIED {
        reply.headers_mut().extend(of_producer(part.feed.config()));
    }
    reply.headers_mut().extend(freshness(app, &part.feed, &status, snapshot));
    Ok(reply)
}

/// The form of a file, made if none was made of these bytes. Who comes meanwhile waits for it.
async fn form(
    system: &Arc<Feed>,
    held: &Held,
    part: &Part,
    (kind, version): (FileKind, Version),
) -> Result<Arc<Form>, Refusal> {
    let prepared = Prepared::of(held, held.config())?;
    let mut made = prepared.form(version).lock().await;
    let beside = Beside::of(system, kind, version);
    let of = beside.hash(held.snapshot().hash, version);
    if let Some(form) = made.as_ref().filter(|form| form.of == of) {
        return Ok(Arc::clone(form));
    }
    let (system, bytes) = (Arc::clone(system), held.snapshot().bytes.clone());
    let own = part.language.clone();
    let body = aside(move || {
        let language = own.map_or_else(|| language(&system), |own| own.to_string());
        let (file, _) = decode_file(kind, &bytes, &language, &FileLimits::default())?;
        let content = beside.added_to(file.content, &language);
        Ok(encode_file(&content, &file.head, version, &language).map(|it| it.body))
    });
    let unreadable = |error: Error| Refusal::NoData {
        feed: held.config().id.to_string(),
        reason: error.to_string(),
    };
    let body = body.await?.map_err(unreadable)?.ok_or(Refusal::Internal)?;
    let form = Arc::new(Form { of, body: body.into() });
    *made = Some(Arc::clone(&form));
    Ok(form)
}

/// What other files say of this one: its language, and the hours of a system, which version 3 has in its information.
struct Beside {
    parts: Vec<(FileKind, Part)>,
    has_hours: bool,
}

impl Beside {
    fn of(system: &Feed, kind: FileKind, version: Version) -> Self {
        let has_hours = kind == FileKind::SystemInformation && version == Version::Three;
        let hours = [FileKind::Hours, FileKind::Calendar].into_iter().filter(|_| has_hours);
        let kinds = hours.chain([FileKind::SystemInformation]);
        let parts = kinds.filter_map(|kind| Some((kind, find(system, kind)?))).collect();
        Self { parts, has_hours }
    }

    /// Of all that a form is made of.
    fn hash(&self, own: u128, version: Version) -> u128 {
        let mut hash = Xxh3::new();
        hash.update(&own.to_le_bytes());
        hash.update(&[version.major()]);
        for (_, part) in &self.parts {
            let its = part.feed.snapshot().map_or(0, |snapshot| snapshot.hash);
            hash.update(&its.to_le_bytes());
        }
        hash.digest128()
    }

    fn added_to(&self, content: Content, language: &str) -> Content {
        let Content::SystemInformation(mut system) = content else { return content };
        if system.languages.0.is_empty() {
            system.languages.0.push(language.into());
        }
        if system.opening_hours.is_none() && self.has_hours {
            let (mut hours, mut calendar) = (Vec::new(), Vec::new());
            for (kind, part) in &self.parts {
                match read(part, *kind, language) {
                    Some(Ok((Content::Hours(all), _))) => hours = all,
                    Some(Ok((Content::Calendar(all), _))) => calendar = all,
                    _ => {}
                }
            }
            system.opening_hours = Some(opening_hours(&hours, &calendar).into());
        }
        Content::SystemInformation(system)
    }
}

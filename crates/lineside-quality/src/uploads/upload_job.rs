//! The validation of one uploaded file, from its source to its report.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_config::UploadsConfig;
use lineside_config::{self, format_size};
use lineside_fetch::{fetch_once_into_writer, run_program};
use lineside_model::{ExternalProgram, FeedConfig, FeedId, SourceLocation};
use tempfile::TempDir;
use url::Url;

use super::upload_folders::FILE;
use super::upload_transfer::{ByteCountingWriter, UploadTransfer};
use super::{TOO_SLOW, UploadService, UploadStage, joined_report};

/// Time limit for fetching an address.
const FETCH_TIME_MAX: Duration = Duration::from_secs(120);
/// Number of findings of each kind in a report.
const SAMPLES: &str = "100";
/// The last message of a program that runs out of memory.
const OUT_OF_MEMORY: &str = "memory allocation of";
/// The folder for the report, next to the uploaded file.
const REPORT_FOLDER: &str = "found";

#[derive(Debug)]
pub enum UploadSource {
    /// A file in a separate folder, with its name.
    File { folder: TempDir, name: String },
    /// A public address, with the name of its file.
    Address { url: Url, name: String },
}

impl UploadSource {
    pub(super) fn file_name(&self) -> &str {
        match self {
            UploadSource::File { name, .. } | UploadSource::Address { name, .. } => name,
        }
    }
}

/// Validates an upload in its turn, and stores the report.
pub(super) async fn validate_and_store_upload(
    service: Arc<UploadService>,
    link: String,
    source: UploadSource,
    transfer: Arc<UploadTransfer>,
    rules: UploadsConfig,
) {
    let created = fetch_and_validate(&service, &link, source, transfer, &rules).await;
    let stored_report = match created {
        Ok(report) => store_report(&service, &link, report, rules.retention).await,
        Err(why) => Err(why),
    };
    match stored_report {
        Ok(()) => {
            service.jobs.lock().by_link.remove(&link);
        }
        Err(why) => {
            service.set_upload_stage(&link, UploadStage::Failed(why));
            let keep = i64::try_from(rules.retention.as_millis()).unwrap_or(i64::MAX);
            let before =
                lineside_sync::UnixMillis(service.clock.wall_time().0.saturating_sub(keep));
            service.jobs.lock().remove_old_failures(before);
        }
    }
}

async fn store_report(
    service: &Arc<UploadService>,
    link: &str,
    report: Bytes,
    time: Duration,
) -> Result<(), String> {
    let (service, link) = (Arc::clone(service), link.to_owned());
    let writing = tokio::task::spawn_blocking(move || {
        service.reports.write_report(&link, &report, service.clock.wall_time(), time)
    });
    let written = writing.await.map_err(io::Error::other).and_then(|written| written);
    written.map_err(|error| {
        tracing::error!(%error, "the report on an upload cannot be stored");
        "the report could not be stored: this is an error of the server, not of your file"
            .to_owned()
    })
}

async fn fetch_and_validate(
    service: &Arc<UploadService>,
    link: &str,
    source: UploadSource,
    transfer: Arc<UploadTransfer>,
    rules: &UploadsConfig,
) -> Result<Bytes, String> {
    let (folder, name) = match source {
        UploadSource::File { folder, name } => (folder, name),
        UploadSource::Address { url, name } => {
            let fetching = Box::pin(download_public_url(service, url, &transfer, rules));
            (transfer.run_until_aborted(fetching).await.ok_or(TOO_SLOW)??, name)
        }
    };
    service
        .mark_waiting_for_validation(link)
        .map_err(|_| "the queue for uploads is full; try again later".to_owned())?;
    let _permit = service.validation_slot.acquire().await.map_err(|closed| closed.to_string())?;
    service.set_upload_stage(link, UploadStage::Running);
    let program = ExternalProgram {
        command: build_check_command(&service.program, folder.path(), &name, rules.memory),
        timeout: rules.timeout,
        memory: rules.memory,
    };
    let ran =
        run_program(&program, Bytes::new(), joined_report::BYTES_MAX, "", &*service.clock).await;
    let reading = tokio::task::spawn_blocking(move || {
        joined_report::read_and_join_report_files(&folder.path().join(REPORT_FOLDER))
    });
    let found = reading.await.map_err(io::Error::other).and_then(|found| found);
    match (found, ran) {
        // The report is valid even with exit code 3, after an internal error in a rule.
        (Ok(report), _) => Ok(report),
        (Err(_), Err(not)) => Err(failure_message(&not.reason, &not.stderr, &name, rules.memory)),
        (Err(error), Ok(_)) => {
            tracing::error!(%error, "the report on an upload cannot be read");
            Err("its report could not be read: this is an error of the server, not of your file"
                .to_owned())
        }
    }
}

/// Returns the command of the validator. `--public-only` is set because the file may list further addresses, and a
/// stranger wrote it.
fn build_check_command(program: &Path, folder: &Path, name: &str, memory: u64) -> Vec<String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut command = vec![text(program), "check".to_owned(), text(&folder.join(FILE))];
    command.push(format!("--name={name}"));
    command.push(format!("--memory={memory}"));
    command.push(format!("--output={}", text(&folder.join(REPORT_FOLDER))));
    command.extend(["--public-only", "--fail-on=never", "--samples", SAMPLES].map(str::to_owned));
    command
}

/// Returns the reason why there is no report, for the visitor. The program's own message about the file explains more
/// than its exit.
fn failure_message(why: &str, stderr: &str, name: &str, memory: u64) -> String {
    let last = stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
    let file_message = last.and_then(|line| line.split_once(&format!("{name}: ")));
    match file_message {
        Some((_, reason)) => reason.replace("--memory allows", "uploads.memory allows"),
        None if stderr.contains(OUT_OF_MEMORY) => {
            let memory = format_size(memory);
            format!("it takes more memory than uploads.memory allows ({memory})")
        }
        None => format!("the validator {why}"),
    }
}

/// Fetches an address like a stranger: a public one only, within limits of size and time.
async fn download_public_url(
    service: &Arc<UploadService>,
    url: Url,
    transfer: &Arc<UploadTransfer>,
    rules: &UploadsConfig,
) -> Result<TempDir, String> {
    let at = Arc::clone(service);
    let readying = tokio::task::spawn_blocking(move || at.create_upload_folder())
        .await
        .map_err(io::Error::other);
    let (folder, file) = readying.and_then(|created| created).map_err(|error| {
        tracing::error!(%error, "the folder for an upload cannot be created");
        "this server has no space for the file right now".to_owned()
    })?;
    let id = FeedId::new("visitor").map_err(|error| error.to_string())?;
    let location = SourceLocation::parse(url.as_str()).map_err(|error| error.to_string())?;
    let config = FeedConfig {
        max_bytes: rules.max_bytes,
        timeout: FETCH_TIME_MAX,
        public_only: true,
        ..FeedConfig::new(id, location)
    };
    let writer = ByteCountingWriter { file, transfer: Arc::clone(transfer) };
    match fetch_once_into_writer(&config, Arc::clone(&service.clock), Box::new(writer)).await {
        Ok(()) => Ok(folder),
        Err(failure) => {
            delete_folder_in_background(folder);
            Err(fetch_failure_message(&failure.detail))
        }
    }
}

/// Returns the reason why an address could not be fetched, for the visitor.
fn fetch_failure_message(detail: &str) -> String {
    let detail = detail.strip_prefix("not requested: ").unwrap_or(detail);
    format!("it could not be fetched: {detail}")
}

/// Deletes a folder in the background: a large file takes long.
fn delete_folder_in_background(folder: TempDir) {
    tokio::task::spawn_blocking(move || drop(folder));
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::UploadStatus;
    use super::*;
    use crate::check::ParsedReportJson;

    /// Returns the status of a file after this shell script has run as the validator.
    async fn validate(script: &str, rules: &UploadsConfig) -> Option<UploadStatus> {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let service = UploadService::open_with_validator_program(None, program).unwrap();
        let mut slot = service.admit_upload([203, 0, 113, 1].into()).unwrap();
        slot.is_submitted = true;
        let (upload_folder, _) = service.create_upload_folder().unwrap();
        let source = UploadSource::File { folder: upload_folder, name: "gtfs.zip".to_owned() };
        let transfer = Arc::clone(&slot.transfer);
        validate_and_store_upload(
            Arc::clone(&service),
            slot.link.clone(),
            source,
            transfer,
            rules.clone(),
        )
        .await;
        service.find_upload_status(&slot.link, rules)
    }

    #[tokio::test]
    async fn a_failed_rule_is_reported_beside_the_findings() {
        let script = r#"for it; do case "$it" in --output=*) folder="${it#--output=}";; esac; done
            mkdir "$folder"
            echo '{"summary": {"input": "a.xml"}, "notices": []}' > "$folder/report.json"
            echo '{"notices": [{"sampleNotices": [{"validator": "netex", "message": "it failed"}]}]}' > "$folder/system_errors.json"
            echo '{"outline": [], "places": {}}' > "$folder/places.json"
            echo '[]' > "$folder/unread.json"
            exit 3"#;
        let found = validate(script, &UploadsConfig::default()).await;
        let Some(UploadStatus::Done(report)) = found else {
            panic!("unexpected status: {found:?}")
        };
        let read = ParsedReportJson::from_json(&report).unwrap();
        assert_eq!(read.input, "a.xml");
        assert_eq!(read.faults, [("netex".to_owned(), "it failed".to_owned())]);
        let nothing = validate("echo done", &UploadsConfig::default()).await;
        assert!(
            matches!(&nothing, Some(UploadStatus::Failed { reason, .. }) if reason.contains("error of the server")),
            "{nothing:?}"
        );
    }

    #[tokio::test]
    async fn a_check_beyond_the_timeout_is_ended_and_reported() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("endless");
        std::fs::write(&program, "#!/bin/sh\nsleep 600\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let service = UploadService::open_with_validator_program(None, program).unwrap();
        let rules = UploadsConfig { timeout: Duration::from_secs(1), ..UploadsConfig::default() };
        let slot = service.admit_upload([203, 0, 113, 1].into()).unwrap();
        let (upload_folder, _) = service.create_upload_folder().unwrap();
        let at = upload_folder.path().to_owned();
        let source = UploadSource::File { folder: upload_folder, name: "gtfs.zip".to_owned() };
        let link = slot.link.clone();
        let transfer = Arc::clone(&slot.transfer);
        validate_and_store_upload(
            Arc::clone(&service),
            link.clone(),
            source,
            transfer,
            rules.clone(),
        )
        .await;
        let Some(UploadStatus::Failed { reason, .. }) = service.find_upload_status(&link, &rules)
        else {
            panic!("unexpected status: {:?}", service.find_upload_status(&link, &rules));
        };
        assert!(reason.contains("did not end within 1s"), "{reason}");
        while at.exists() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn stopping_ends_the_program_and_deletes_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let (program, number) = (folder.path().join("endless"), folder.path().join("number"));
        let script = format!("#!/bin/sh\necho $$ > '{}'\nexec sleep 600\n", number.display());
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let service = UploadService::open_with_validator_program(None, program).unwrap();
        let bring = |address: u8| {
            let slot = service.admit_upload([203, 0, 113, address].into()).unwrap();
            let (upload_folder, _) = service.create_upload_folder().unwrap();
            let at = upload_folder.path().to_owned();
            let source = UploadSource::File { folder: upload_folder, name: "gtfs.zip".to_owned() };
            slot.submit_for_validation(source, UploadsConfig::default()).unwrap();
            at
        };
        let (first_upload, second_upload) = (bring(1), bring(2));
        // An incoming file stays open until its sender is gone.
        let (coming, _) = service.create_upload_folder().unwrap();
        let pid = loop {
            let text = std::fs::read_to_string(&number).unwrap_or_default();
            if text.ends_with('\n') {
                break text.trim().to_owned();
            }
            tokio::task::yield_now().await;
        };
        service.stop_and_delete_files().await;
        assert!(![&*first_upload, &*second_upload, coming.path()].iter().any(|it| it.exists()));
        assert!(!first_upload.parent().unwrap().exists());
        // The process may not have been reaped yet.
        let runs = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            stat.is_ok_and(|stat| !stat.contains(") Z "))
        };
        while runs() {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn a_fetch_failure_is_explained_once() {
        let told = fetch_failure_message("not requested: the host is not on the public internet");
        assert_eq!(told, "it could not be fetched: the host is not on the public internet");
        assert_eq!(fetch_failure_message("no answer"), "it could not be fetched: no answer");
    }

    #[test]
    fn a_failure_message_names_no_server_path() {
        let said = "lineside: gtfs.zip: this is not a zip\n";
        let message_for =
            |why: &str, stderr: &str, name: &str| failure_message(why, stderr, name, 4 << 30);
        assert_eq!(message_for("ended with exit code 3", said, "gtfs.zip"), "this is not a zip");
        let stderr =
            "lineside: gtfs.zip: it would take about 9GiB of memory, and --memory allows 4GiB\n";
        let bound = message_for("ended with exit code 3", stderr, "gtfs.zip");
        assert_eq!(bound, "it would take about 9GiB of memory, and uploads.memory allows 4GiB");
        let bound = message_for(
            "was ended by SIGABRT",
            "memory allocation of 512 bytes failed\n",
            "gtfs.zip",
        );
        assert!(bound.contains("uploads.memory allows (4GiB)"), "{bound}");
        let broken = message_for("did not end within 120s and was stopped", "", "gtfs.zip");
        assert_eq!(broken, "the validator did not end within 120s and was stopped");
        let other =
            message_for("ended with exit code 101", "thread panicked at /tmp/x", "gtfs.zip");
        assert!(!other.contains("/tmp"), "{other}");
    }
}

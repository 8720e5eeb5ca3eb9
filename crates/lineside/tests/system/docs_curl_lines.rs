//! Every command line in the documentation for a running demo works as printed.

use std::path::Path;
use std::process::Command;

use crate::docs_commands::documents;
use crate::support::shared_demo;

/// The address in the documentation.
const PRINTED: &str = "http://127.0.0.1:8080";
/// curl's exit code after `--max-time` ended an endless stream.
const CURL_TIMED_OUT: i32 = 28;

#[test]
fn every_curl_line_in_the_documentation_works() {
    let server = shared_demo();
    let folder = tempfile::tempdir().unwrap();
    let mut n_tested = 0;
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        for line in text.lines().map(str::trim).filter(|line| line.starts_with("curl ")) {
            if line.contains(PRINTED) {
                check(&document, line, &server, folder.path());
                n_tested += 1;
            }
        }
    }
    assert!(n_tested >= 8, "only {n_tested} lines were found");
}

fn check(document: &Path, line: &str, server: &str, folder: &Path) {
    let command = line.replace(PRINTED, server);
    let endless = line.contains("curl -N");
    // Finite replies get time to end; endless ones have begun by then.
    let seconds = if endless { 10 } else { 60 };
    let options = format!("curl --silent --show-error --fail --max-time {seconds} ");
    let command = command.replacen("curl ", &options, 1);
    let output = Command::new("sh").args(["-c", &command]).current_dir(folder).output().unwrap();
    let ended_well =
        output.status.success() || (endless && output.status.code() == Some(CURL_TIMED_OUT));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(ended_well, "{}: {line}\n{} {error}", document.display(), output.status);
    let writes_elsewhere =
        line.contains("--output") || line.contains(" -o ") || line.contains(" -O");
    assert!(
        writes_elsewhere || !output.stdout.is_empty(),
        "{}: {line} printed nothing",
        document.display()
    );
    if endless {
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(stdout.contains("data: {\"channel\":"), "{}: {line}\n{stdout}", document.display());
    }
}

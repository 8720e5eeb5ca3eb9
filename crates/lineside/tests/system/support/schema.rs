//! Validates every kind of written message against the schemas of SIRI, if they are available.
//!
//! `LINESIDE_SIRI_XSD` names the folder with `siri.xsd` of version 2.1, which is not part of the project: it is in the
//! folder `xsd` of github.com/SIRI-CEN/SIRI. `xmllint` (Debian's `libxml2-utils`) reads it. Without either of them
//! nothing is validated, and the test reports that.

#![expect(clippy::print_stdout, reason = "a test that holds nothing says so")]

use std::path::{Path, PathBuf};
use std::process::Command;

use lineside_formats::siri::is_soap_envelope;

/// Unavoidable errors of the schema: estimated timetables without a journey, and a delivery of no service.
const ALLOWED_ERRORS: [&str; 2] = [
    "EstimatedTimetableDelivery': Missing child element(s).",
    "ServiceDelivery': Missing child element(s).",
];

/// The files of the envelope's schema, which share a namespace.
const ENVELOPE: [&str; 5] = [
    "siri_wsConsumer-Framework.xsd",
    "siri_wsConsumer-Services.xsd",
    "siri_wsProducer-DiscoveryCapability.xsd",
    "siri_wsProducer-Framework.xsd",
    "siri_wsProducer-Services.xsd",
];

/// Validates named messages against the schemas; `what` names them all.
pub(crate) fn hold(what: &str, messages: &[(String, String)]) {
    assert!(!messages.is_empty(), "{what}: there is nothing to be held against the schema");
    let Some(folder) = std::env::var_os("LINESIDE_SIRI_XSD").map(PathBuf::from) else {
        println!("skipped: {what} and the schema, because LINESIDE_SIRI_XSD names no folder");
        return;
    };
    let work = tempfile::tempdir().unwrap();
    let envelope = work.path().join("envelope.xsd");
    std::fs::write(&envelope, envelope_schema(&folder)).unwrap();
    let mut plain = Vec::new();
    let mut enveloped = Vec::new();
    for (at, (name, message)) in messages.iter().enumerate() {
        let path = work.path().join(format!("{at}-{}.xml", name.replace('/', "-")));
        if is_soap_envelope(message.as_bytes()) {
            std::fs::write(&path, message_body(message)).unwrap();
            enveloped.push(path);
        } else {
            std::fs::write(&path, message).unwrap();
            plain.push(path);
        }
    }
    let complaints =
        [complaints(&folder.join("siri.xsd"), &plain), complaints(&envelope, &enveloped)];
    let all: Vec<String> = complaints.into_iter().flatten().flatten().collect();
    assert!(all.is_empty(), "{what}:\n{}", all.join("\n"));
}

/// Returns the content of an envelope.
fn message_body(message: &str) -> &str {
    let (_, rest) = message.split_once("<S:Body>").unwrap();
    rest.split_once("</S:Body>").unwrap().0
}

fn envelope_schema(folder: &Path) -> String {
    let include = |file| {
        let path = folder.join("wsdl_model").join(file);
        format!("<xsd:include schemaLocation=\"{}\"/>", path.display())
    };
    let files: String = ENVELOPE.into_iter().map(include).collect();
    format!(
        "<xsd:schema xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\" \
         targetNamespace=\"http://wsdl.siri.org.uk\">{files}</xsd:schema>"
    )
}

/// Returns the schema's errors; `None` if `xmllint` is missing.
fn complaints(schema: &Path, files: &[PathBuf]) -> Option<Vec<String>> {
    if files.is_empty() {
        return None;
    }
    let mut command = Command::new("xmllint");
    command.args(["--nonet", "--noout", "--schema"]).arg(schema).args(files);
    let Ok(output) = command.output() else {
        println!("skipped: the schema, because xmllint is not there");
        return None;
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    let verdict_lines = stderr.lines().filter(|line| line.ends_with("validates"));
    let verdict_lines =
        verdict_lines.chain(stderr.lines().filter(|line| line.ends_with("fails to validate")));
    assert_eq!(verdict_lines.count(), files.len(), "{stderr}");
    let errors = stderr.lines().filter(|line| line.contains("validity error"));
    let errors = errors.filter(|line| !ALLOWED_ERRORS.iter().any(|known| line.contains(known)));
    Some(errors.map(str::to_owned).collect())
}

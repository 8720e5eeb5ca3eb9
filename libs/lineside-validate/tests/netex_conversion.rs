//! Converts real NeTEx publications to GTFS zips, which must have no errors that make other software reject them.
//!
//! The publications are in a folder next to the repository; without it, nothing is compared.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::BTreeMap,
    fs,
    io::Cursor,
    path::{Path, PathBuf},
};

use jiff::civil::Date;
use lineside_formats::{
    Problems,
    gtfs::{DatasetLimits, TextFiles, ZipTables},
    netex,
};
use lineside_validate::{
    Notices, Severity, ValidationContext, gtfs::ZipSource, rules::gtfs::validate_feed,
};

/// Returns the files in a folder and its subfolders; subfolders that `is_one` accepts are returned themselves.
fn find_paths(root: &Path, is_one: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() && !is_one(&path) {
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    found.sort();
    found
}

/// Reads the XML files in a folder and its subfolders.
fn read_folder(folder: &Path) -> TextFiles {
    let paths = find_paths(folder, &|_| false);
    paths.iter().fold(TextFiles::new(), |files, path| {
        files.with_file(&path.display().to_string(), fs::read(path).unwrap())
    })
}

/// Converts a publication to a GTFS zip.
fn convert(path: &Path) -> Vec<u8> {
    let limits = netex::PublicationLimits::default();
    let (publication, _) = if path.is_dir() {
        netex::decode_publication(&mut read_folder(path), &limits).unwrap()
    } else {
        let body = fs::read(path).unwrap();
        netex::decode_publication(
            &mut netex::PublicationSource::new(&body, &limits.files).unwrap(),
            &limits,
        )
        .unwrap()
    };
    let mut tables = ZipTables::new(Cursor::new(Vec::new()));
    netex::write_gtfs(&publication, &mut tables, &mut Problems::new()).unwrap();
    tables.finish_archive().unwrap().into_inner()
}

/// Returns the codes of errors in a GTFS zip.
fn find_errors(zip: &[u8]) -> Vec<&'static str> {
    let limits = DatasetLimits::default();
    let source = ZipSource::new(zip, &limits).unwrap();
    let today = Date::constant(2026, 11, 27);
    let context = ValidationContext { today, country: None, threads: 1 };
    let mut notices = Notices::new(1);
    let (_, faults) = validate_feed(&source, &context, &mut notices).unwrap();
    assert!(faults.is_empty(), "{faults:?}");
    let errors = notices.iter().filter(|found| found.kind.severity == Severity::Error);
    errors.map(|found| found.kind.code).collect()
}

#[test]
fn converted_publications_are_valid_gtfs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/netex");
    // The export of `transit_model` is one publication in many files.
    let is_publication = |path: &Path| path.file_name().is_some_and(|name| name == "output");
    let publications = find_paths(&root, &is_publication);
    if publications.is_empty() {
        eprintln!("skipped: no publications at {}", root.display());
        return;
    }
    eprintln!("{} publications", publications.len());
    let wrong: BTreeMap<String, Vec<&str>> = publications
        .iter()
        .map(|path| (path.display().to_string(), find_errors(&convert(path))))
        .filter(|(_, errors)| !errors.is_empty())
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

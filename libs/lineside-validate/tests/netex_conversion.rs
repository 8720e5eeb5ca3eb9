//! Converts NeTEx publications to GTFS zips, which must have no errors that make other software reject them.
//!
//! Small publications are files of the tests of lineside-formats and of the fuzzers. Real ones are in a folder next to
//! the repository; without it, they are not compared.

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
    gtfs::{DatasetLimits, TextFiles, ZipTableWriter},
    netex,
};
use lineside_validate::{
    Notices, Severity, ValidationContext, gtfs::ZipFileSource, rules::gtfs::validate_schedule,
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

/// Reads the files of a publication.
fn read_files(paths: impl IntoIterator<Item = PathBuf>) -> TextFiles {
    paths.into_iter().fold(TextFiles::new(), |files, path| {
        files.with_file(&path.display().to_string(), fs::read(path).unwrap())
    })
}

/// Converts a publication, a file or a folder, to a GTFS zip.
fn convert(path: &Path) -> Vec<u8> {
    if path.is_dir() {
        return convert_files(read_files(find_paths(path, &|_| false)));
    }
    let limits = netex::PublicationLimits::default();
    let body = fs::read(path).unwrap();
    let mut source = netex::PublicationSource::new(&body, &limits.files).unwrap();
    write_zip(&netex::decode_publication(&mut source, &limits).unwrap().0)
}

/// Converts a publication in several files to a GTFS zip.
fn convert_files(mut files: TextFiles) -> Vec<u8> {
    let limits = netex::PublicationLimits::default();
    write_zip(&netex::decode_publication(&mut files, &limits).unwrap().0)
}

fn write_zip(publication: &netex::Publication) -> Vec<u8> {
    let mut tables = ZipTableWriter::new(Cursor::new(Vec::new()));
    netex::write_gtfs(publication, &mut tables, &mut Problems::new()).unwrap();
    tables.finish_archive().unwrap().into_inner()
}

/// Returns the codes of errors in a GTFS zip.
fn find_errors(zip: &[u8]) -> Vec<&'static str> {
    let limits = DatasetLimits::default();
    let source = ZipFileSource::new(zip, &limits).unwrap();
    let today = Date::constant(2026, 11, 27);
    let context = ValidationContext { today, country: None, threads: 1 };
    let mut notices = Notices::new(1);
    let (_, faults) = validate_schedule(&source, &context, &mut notices).unwrap();
    assert!(faults.is_empty(), "{faults:?}");
    let errors = notices.iter().filter(|found| found.kind.severity == Severity::Error);
    errors.map(|found| found.kind.code).collect()
}

/// Returns the errors in the conversions of these publications, by path.
fn find_wrong(publications: &[PathBuf]) -> BTreeMap<String, Vec<&'static str>> {
    let errors =
        publications.iter().map(|path| (path.display().to_string(), find_errors(&convert(path))));
    errors.filter(|(_, errors)| !errors.is_empty()).collect()
}

#[test]
fn small_converted_publications_are_valid_gtfs() {
    let libs = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let profiles = libs.join("lineside-formats/tests/netex/profiles");
    let seeds = libs.join("../fuzz/seeds/netex");
    let names =
        ["town.xml", "journeys.xml", "calendars.xml", "lambert.xml", "parts.zip", "utf-16.xml"];
    let seeds = names.into_iter().map(|name| seeds.join(name));
    let publications: Vec<PathBuf> = seeds.chain([profiles.join("epip.xml")]).collect();
    let mut wrong = find_wrong(&publications);
    let french = read_files(find_paths(&profiles, &|_| false).into_iter().filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("france_"))
    }));
    let errors = find_errors(&convert_files(french));
    if !errors.is_empty() {
        wrong.insert("French profile".to_owned(), errors);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
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
    let wrong = find_wrong(&publications);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

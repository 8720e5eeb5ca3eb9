//! Zips from untrusted senders: each is read, or refused with a reason.

use std::io::{Cursor, Read, Write};

use lineside_formats::{
    Error, ErrorKind,
    gtfs::{self, DatasetLimits, FileSet, Timetable, ZipFiles},
};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::town;

/// Returns the town's files as a zip, with each name mapped by `rename`.
fn zip_of_town(rename: impl Fn(&str) -> String) -> Vec<u8> {
    let mut files = town();
    let mut entries = Vec::new();
    for name in files.file_names() {
        let mut bytes = Vec::new();
        files.open_file(&name).unwrap().unwrap().read_to_end(&mut bytes).unwrap();
        entries.push((rename(&name), bytes));
    }
    zip_of(&entries)
}

fn zip_of(entries: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, bytes) in entries {
        writer.start_file(name.as_str(), options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn load(bytes: &[u8]) -> Result<(Timetable, Vec<String>), Error> {
    let limits = DatasetLimits::default();
    let (timetable, problems) =
        gtfs::load_timetable(&mut ZipFiles::new(Cursor::new(bytes), &limits)?, &limits)?;
    Ok((timetable, problems.retained_problems().iter().map(ToString::to_string).collect()))
}

fn check_refused(bytes: &[u8], kind: ErrorKind, words: &str) {
    let error = load(bytes).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn a_plain_zip_loads_without_problems() {
    let (timetable, problems) = load(&zip_of_town(str::to_owned)).unwrap();
    assert_eq!((timetable.trips().len(), problems), (2, vec![]));
}

#[test]
fn tables_in_one_subdirectory_are_read_with_a_problem() {
    let expected =
        "archive: the tables are in the subdirectory \"feed/v1\" instead of at the top level";
    let (timetable, problems) = load(&zip_of_town(|name| format!("feed/v1/{name}"))).unwrap();
    assert_eq!((timetable.trips().len(), problems), (2, vec![expected.to_owned()]));
    let (_, problems) = load(&zip_of_town(|name| format!("feed\\v1\\{name}"))).unwrap();
    assert_eq!(problems, [expected]);
}

#[test]
fn table_names_are_case_insensitive() {
    for rename in [str::to_uppercase, |name: &str| name.replacen("st", "St", 1)] {
        let bytes = zip_of_town(rename);
        let (timetable, problems) = load(&bytes).unwrap();
        assert_eq!((timetable.trips().len(), problems), (2, vec![]));
        assert_eq!(lineside_formats::sniff_format(&bytes), Some(lineside_formats::Format::Gtfs));
    }
}

#[test]
fn files_added_by_macos_are_ignored() {
    let mut files = town();
    let mut entries: Vec<(String, Vec<u8>)> = Vec::new();
    for name in files.file_names() {
        let mut bytes = Vec::new();
        files.open_file(&name).unwrap().unwrap().read_to_end(&mut bytes).unwrap();
        entries.push((format!("__MACOSX/._{name}"), b"\0\x05\x16\x07".to_vec()));
        entries.push((format!("feed/._{name}"), b"\0\x05\x16\x07".to_vec()));
        entries.push((format!("feed/{name}"), bytes));
    }
    entries.push((".DS_Store".into(), b"\0\0\0\x01Bud1".to_vec()));
    let (timetable, problems) = load(&zip_of(&entries)).unwrap();
    assert_eq!((timetable.trips().len(), problems.len()), (2, 1));
}

#[test]
fn a_body_that_is_not_a_zip_is_refused_with_the_reason() {
    check_refused(b"", ErrorKind::Empty, "is empty");
    check_refused(b"<!DOCTYPE html><p>sorry", ErrorKind::Html, "web page");
    check_refused(
        b"stop_id,stop_name\na,A\n",
        ErrorKind::NotAZip,
        "the bytes are not a zip archive",
    );
    check_refused(b"\x1F\x8B\x08\0\0\0\0\0\0\x03", ErrorKind::NotAZip, "compressed with gzip");
    let whole = zip_of_town(str::to_owned);
    for length in [4, 100, whole.len() / 2, whole.len() - 1] {
        let words = "the zip archive is truncated: the directory at its end is missing";
        assert_eq!(load(&whole[..length]).unwrap_err().to_string(), words);
        check_refused(&whole[..length], ErrorKind::Truncated, words);
    }
}

#[test]
fn a_zip_without_tables_is_refused() {
    check_refused(&zip_of(&[]), ErrorKind::Empty, "no files");
    let zip = |name: &str| zip_of(&[(name.to_owned(), b"x".to_vec())]);
    check_refused(&zip("readme.md"), ErrorKind::MissingFile, "readme.md");
    check_refused(&zip("feed/gtfs.ZIP"), ErrorKind::MissingFile, "another archive (feed/gtfs.ZIP)");
    check_refused(&zip("stops.txt"), ErrorKind::MissingFile, "routes.txt: is missing");
    let two = zip_of(&[("a/stops.txt".into(), vec![]), ("b/stops.txt".into(), vec![])]);
    check_refused(&two, ErrorKind::MissingFile, "several datasets in subdirectories: a, b");
}

#[test]
fn zip_bombs_are_refused() {
    let zeros = vec![b'0'; (DatasetLimits::RATIO_FREE_BYTES + 1) as usize];
    let bomb = zip_of_town(str::to_owned);
    let mut archive = zip::ZipArchive::new(Cursor::new(bomb)).unwrap();
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for entry in 0..archive.len() {
        let file = archive.by_index_raw(entry).unwrap();
        if file.name().unwrap() != "stops.txt" {
            writer.raw_copy_file(file).unwrap();
        }
    }
    writer.start_file("stops.txt", SimpleFileOptions::default()).unwrap();
    writer.write_all(b"stop_id\n").unwrap();
    writer.write_all(&zeros).unwrap();
    let bomb = writer.finish().unwrap().into_inner();
    assert!(bomb.len() < 100_000);
    check_refused(&bomb, ErrorKind::Bomb, "stops.txt");

    // The sizes in the directory are the sender's, so a bomb that declares a small size is refused as well.
    let mut liar = bomb;
    let size = ((zeros.len() + 8) as u32).to_le_bytes();
    let at: Vec<usize> = (0..liar.len() - 4).filter(|&at| liar[at..at + 4] == size).collect();
    assert!(!at.is_empty());
    for at in at {
        liar[at..at + 4].copy_from_slice(&100_u32.to_le_bytes());
    }
    assert!(load(&liar).is_err());
}

#[test]
fn a_file_that_inflates_beyond_its_declared_size_is_refused() {
    let mut archive = zip_of_town(str::to_owned);
    let entries: Vec<usize> =
        (0..archive.len() - 4).filter(|&at| archive[at..at + 4] == *b"PK\x01\x02").collect();
    let last = entries[entries.len() - 1];
    // The inflated size is 24 bytes into each entry of the directory.
    archive[last + 24..last + 28].copy_from_slice(&1_u32.to_le_bytes());
    check_refused(&archive, ErrorKind::Decode, "declared");
}

#[test]
fn entries_that_share_bytes_are_refused() {
    let mut bytes = zip_of_town(str::to_owned);
    // The local header offset is 42 bytes into each entry of the central directory: copies the first entry's to the
    // second.
    let entries: Vec<usize> =
        (0..bytes.len() - 4).filter(|&at| bytes[at..at + 4] == *b"PK\x01\x02").collect();
    let first = bytes[entries[0] + 42..entries[0] + 46].to_vec();
    bytes[entries[1] + 42..entries[1] + 46].copy_from_slice(&first);
    check_refused(&bytes, ErrorKind::Bomb, "share the same bytes");
}

#[test]
fn too_many_and_too_large_entries_are_refused() {
    let bytes = zip_of_town(str::to_owned);
    let load = |limits: &DatasetLimits| {
        ZipFiles::new(Cursor::new(&bytes), limits)
            .and_then(|mut files| gtfs::load_timetable(&mut files, limits))
    };
    let error = load(&DatasetLimits { entries: 3, ..DatasetLimits::default() }).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string()),
        (ErrorKind::TooLarge, "the archive has 6 entries; the limit is 3".into())
    );
    let error = load(&DatasetLimits { total_bytes: 200, ..DatasetLimits::default() }).unwrap_err();
    assert_eq!((error.kind(), error.file_name()), (ErrorKind::TooLarge, Some("stops.txt")));
}

#[test]
fn damaged_required_files_are_refused() {
    let whole = zip_of_town(str::to_owned);
    let start = |name: &str| {
        let mut archive = zip::ZipArchive::new(Cursor::new(&whole)).unwrap();
        let file = archive.by_name(name).unwrap();
        file.data_start().unwrap() as usize
    };
    for name in ["stops.txt", "stop_times.txt"] {
        let mut damaged = whole.clone();
        for byte in &mut damaged[start(name)..][..20] {
            *byte ^= 0x55;
        }
        let error = load(&damaged).unwrap_err();
        assert_eq!(error.file_name(), Some(name), "{error}");
    }
}

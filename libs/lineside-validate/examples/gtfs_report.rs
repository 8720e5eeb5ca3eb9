//! Prints the report on a zipped schedule: `gtfs_report <zip> [YYYY-MM-DD [threads]]`.

#![expect(clippy::print_stdout, reason = "an example talks to its terminal")]

use std::{error::Error, fs};

use jiff::civil::Date;
use lineside_formats::gtfs::DatasetLimits;
use lineside_validate::{
    Notices, ValidationContext, gtfs::ZipFileSource, report, rules::gtfs::validate_schedule,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("which zip?")?;
    let today: Date = arguments.next().as_deref().unwrap_or("2026-01-01").parse()?;
    let threads: usize = arguments.next().as_deref().unwrap_or("2").parse()?;
    let bytes = fs::read(path)?;
    let limits = DatasetLimits::default();
    let source = ZipFileSource::new(&bytes, &limits)?;
    let context = ValidationContext { today, country: None, threads };
    let mut notices = Notices::new(3);
    let (_, errors) = validate_schedule(&source, &context, &mut notices)?;
    println!("{}", serde_json::to_string_pretty(&report::notices_as_report(&notices))?);
    for error in errors {
        println!("{error:?}");
    }
    Ok(())
}

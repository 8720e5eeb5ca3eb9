//! Compares the memory that checks of publications take with the estimate.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fmt::Write as _, process::Command};

use jiff::civil::date;
use lineside_formats::{
    Error, Problems,
    gtfs::TableWriter,
    netex::{PublicationLimits, PublicationSource, decode_readable_files, write_gtfs},
};
use lineside_validate::{
    CancelToken, Notices, ValidationContext,
    rules::netex::{
        WholeOrPartialPublication, estimate_max_memory, validate_publication_cancellable,
    },
};

/// Just above seven eighths of a power of two, after which hash tables have just grown. A multiple of the numbers of
/// nested elements.
const ROWS: usize = 230_040;
/// The memory of a check apart from the publication.
const FIXED: u64 = 4 << 20;

/// The shapes that take the most memory for each of their bytes.
const SHAPES: [&str; 16] = [
    "places with ids",
    "quays with ids",
    "lines with ids",
    "journeys with ids",
    "quays",
    "times of one journey",
    "conditions without ids",
    "demand types",
    "references",
    "points",
    "duplicates",
    "faults",
    "deep",
    "long texts",
    "Latin-1",
    "journeys that run",
];

/// Returns a publication with an element for each row.
fn rows(row: impl Fn(usize, &mut String)) -> String {
    let mut text = String::with_capacity(ROWS * 500);
    text += "<PublicationDelivery>";
    for n in 0..ROWS {
        row(n, &mut text);
    }
    text += "</PublicationDelivery>";
    text.shrink_to_fit();
    text
}

fn publication(shape: &str) -> Vec<u8> {
    let each = |format: fn(usize) -> String| rows(|n, text| *text += &format(n));
    let text = match shape {
        "places with ids" => each(|n| format!("<StopPlace id=\"{n:x}\"/>")),
        "quays with ids" => each(|n| {
            format!("<Quay id=\"{n:x}\"><SiteRef ref=\"P{n:x}\"/><Name>n{n:x}</Name></Quay>")
        }),
        "lines with ids" => each(|n| format!("<Line id=\"{n:x}\"/>")),
        "journeys with ids" => each(|n| format!("<ServiceJourney id=\"{n:x}\"/>")),
        "quays" => each(|_| "<Quay/>".repeat(4)),
        "times of one journey" => {
            each(|n| if n == 0 { "<ServiceJourney><calls>" } else { "<Call/><Call/>" }.to_owned())
                .replace("</Pub", "</calls></ServiceJourney></Pub")
        }
        "conditions without ids" => each(|_| {
            "<ServiceJourney><validityConditions><ValidBetween/><ValidBetween/></validityConditions>\
             </ServiceJourney>"
                .to_owned()
        }),
        "demand types" => each(|n| {
            format!(
                "<TimeDemandType id=\"{n:x}\"><runTimes><a><TimingLinkRef ref=\"{n:x}\"/>\
                 <RunTime>PT1S</RunTime></a></runTimes><waitTimes><a><WaitTime>PT1S</WaitTime></a>\
                 </waitTimes></TimeDemandType>"
            )
        }),
        "references" => each(|n| format!("<a ref=\"{n:x}\" version=\"1\"/>")),
        "points" => each(|n| {
            format!(
                "<ServicePattern id=\"{n:x}\"><pointsInSequence><StopPointInJourneyPattern><ScheduledStopPointRef \
                 ref=\"p{n:x}\" version=\"1\"/></StopPointInJourneyPattern></pointsInSequence></ServicePattern>"
            )
        }),
        "duplicates" => each(|n| format!("<DayType version=\"1\" id=\"{:x}\"/>", n / 2)),
        "faults" => each(|n| {
            format!(
                "<Operator id=\"{n:x}\"/><Route id=\"{n:x}\"/><TimetabledPassingTime id=\"{n:x}\">\
                 <ArrivalTime>x</ArrivalTime></TimetabledPassingTime>"
            )
        }),
        "deep" => {
            each(|n| if n % 180 < 90 { format!("<a id=\"{n:x}\">") } else { "</a>".to_owned() })
        }
        "long texts" => rows(|n, text| {
            if n % 400 == 0 {
                let long = "x".repeat(15_000);
                write!(text, "<Line id=\"{n}{long}\"><Name>{n}y{long}</Name></Line>").unwrap();
                write!(text, "<a version=\"\" ref=\"{n}z{long}\"/>").unwrap();
            }
        }),
        "Latin-1" => {
            let text = each(|n| format!("<Quay id=\"{n:x}\"><Name>{n:x}\u{E9}</Name></Quay>"));
            let text = format!("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>{text}");
            return text.chars().map(|sign| sign as u8).collect();
        }
        "journeys that run" => running(),
        _ => panic!("unknown shape {shape:?}"),
    };
    text.into_bytes()
}

/// Returns journeys that each have their own condition, day and stop.
fn running() -> String {
    rows(|n, text| {
        if n == 0 {
            *text += "<Line id=\"L\"><TransportMode>bus</TransportMode></Line>";
        }
        let day = format!("{}-{:02}-{:02}", 2000 + n % 90, 1 + n / 90 % 12, 1 + n / 1_080 % 28);
        write!(
            text,
            "<ServiceJourney id=\"{n:x}\"><validityConditions><ValidBetween><FromDate>{day}</FromDate>\
             <ToDate>{day}</ToDate></ValidBetween></validityConditions><LineRef ref=\"L\"/><calls><Call>\
             <ScheduledStopPointRef ref=\"s{n:x}\"/><Departure><Time>08:00:00</Time></Departure></Call></calls>\
             </ServiceJourney>"
        )
        .unwrap();
    })
}

/// Returns a memory value of this process, in bytes.
fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// A writer that discards all tables.
struct Nowhere;

impl TableWriter for Nowhere {
    fn begin_table(&mut self, _: &'static str, _: &[&str]) -> Result<(), Error> {
        Ok(())
    }

    fn write_row(&mut self, _: &[&str]) -> Result<(), Error> {
        Ok(())
    }
}

/// Checks a publication as the program does. Returns the peak memory and the estimate.
fn measure_memory(shape: &str) -> (u64, u64) {
    let body = publication(shape);
    let limits = PublicationLimits::default();
    let source = || PublicationSource::new(&body, &limits.files).unwrap();
    let estimate = estimate_max_memory(&mut source()).unwrap();
    let context = ValidationContext { today: date(2026, 6, 15), country: None, threads: 1 };
    // Resets the peak, so that the memory for generating the publication does not count.
    _ = std::fs::write("/proc/self/clear_refs", "5");
    let before = memory("VmRSS:");
    let read = decode_readable_files(&mut source(), &limits, &|| true).unwrap();
    assert!(read.refused.is_empty(), "{:?}", read.refused);
    write_gtfs(&read.publication, &mut Nowhere, &mut Problems::new()).unwrap();
    drop(read);
    let (cancel, mut notices) = (CancelToken::default(), Notices::new(1));
    let mut files = source();
    validate_publication_cancellable(
        &mut files,
        WholeOrPartialPublication::Whole,
        &limits,
        &context,
        &cancel,
        &mut notices,
    )
    .unwrap();
    (memory("VmHWM:").saturating_sub(before), estimate)
}

/// The variable with the shape, for the test that runs itself in another process.
const SHAPE: &str = "LINESIDE_SHAPE";

/// Measures each publication in a process of its own, because the peak is per process.
#[test]
fn a_publication_uses_no_more_memory_than_estimated() {
    if let Ok(shape) = std::env::var(SHAPE) {
        let (took, estimate) = measure_memory(&shape);
        assert!(took > FIXED, "{shape} is too small for a comparison: {took}");
        assert!(
            took <= estimate + FIXED,
            "{shape} needed {took} bytes; the estimate is {estimate}"
        );
        println!("{shape}: {took} bytes; the estimate is {estimate}");
        return;
    }
    for shape in SHAPES {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let test = "a_publication_uses_no_more_memory_than_estimated";
        let ran =
            command.args(["--exact", test, "--nocapture"]).env(SHAPE, shape).output().unwrap();
        let output = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success() && output.contains("the estimate is"), "{output}");
        println!("{output}");
    }
}

//! Measures decoding a SIRI message: `cargo run --release --example siri_decode -- <file> [rounds]`.
//!
//! For comparison it runs, in turn over the same bytes, quick-xml's events alone, with and without namespaces, which is
//! the minimum work. The fastest round of each counts.
#![expect(clippy::print_stdout, reason = "a command that reports")]
#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::{
    env, fs,
    hint::black_box,
    time::{Duration, Instant},
};

use jiff::tz::TimeZone;
use lineside_formats::siri::{MessageLimits, decode_siri_message};
use quick_xml::{NsReader, Reader, events::Event};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = env::args().skip(1);
    let path = arguments.next().ok_or("the path of a message is missing")?;
    let rounds: u32 = arguments.next().map_or(Ok(30), |rounds| rounds.parse())?;
    let body = fs::read(&path)?;
    let text = std::str::from_utf8(&body)?;
    let (message, problems) =
        decode_siri_message(&body, &TimeZone::UTC, &MessageLimits::default())?;
    println!("{} payloads, {} problems", message.payloads.len(), problems.total_count());

    let (mut bare, mut resolved, mut ours) = (Duration::MAX, Duration::MAX, Duration::MAX);
    let mut n_events = 0;
    for _ in 0..rounds {
        bare = bare.min(measure_time(|| n_events = count_events(text)));
        resolved = resolved.min(measure_time(|| n_events = count_resolved_events(text)));
        ours = ours.min(measure_time(|| {
            drop(black_box(decode_siri_message(&body, &TimeZone::UTC, &MessageLimits::default())))
        }));
    }
    println!("{} bytes, {n_events} events", body.len());
    println!("events: {bare:?}; with namespaces: {resolved:?}; records: {ours:?}");
    let ratio = |least: Duration| ours.as_secs_f64() / least.as_secs_f64();
    println!(
        "records take {:.2} times the events, {:.2} with namespaces",
        ratio(bare),
        ratio(resolved)
    );
    Ok(())
}

fn measure_time(run: impl FnOnce()) -> Duration {
    let started = Instant::now();
    run();
    started.elapsed()
}

fn count_events(text: &str) -> usize {
    let mut reader = Reader::from_str(text);
    let mut n = 0;
    while let Ok(event) = reader.read_event() {
        if matches!(black_box(event), Event::Eof) {
            break;
        }
        n += 1;
    }
    n
}

fn count_resolved_events(text: &str) -> usize {
    let mut reader = NsReader::from_str(text);
    let mut n = 0;
    while let Ok(event) = reader.read_resolved_event() {
        if matches!(black_box(event).1, Event::Eof) {
            break;
        }
        n += 1;
    }
    n
}

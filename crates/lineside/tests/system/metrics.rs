//! `/metrics`: what happens is counted, and how long it took.

use std::time::Duration;

use crate::support::events::Stream;
use crate::support::http::get;
use crate::support::shared_demo;

const PATIENCE: Duration = Duration::from_secs(20);

/// The value of a line that begins with this name and labels.
async fn figure(series: &str) -> f64 {
    let text = get(&format!("{}/metrics", shared_demo())).await.text().await.unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("no {series} in\n{text}")).parse().unwrap()
}

/// Reads on until a publication comes that holds no state.
async fn next_change(stream: &mut Stream) {
    loop {
        let event = stream.next_within(PATIENCE).await.expect("the city goes on");
        if event.data["data"].get("state").is_none() {
            return;
        }
    }
}

/// What a channel's log holds at most: so much may come that lay there when the stream began.
const RING: usize = 1_024;

#[tokio::test]
async fn every_stage_from_the_fetch_to_the_delivery_is_timed() {
    let delivered = "lineside_wire_delivery_seconds_count";
    let before = figure(delivered).await;
    let mut stream = Stream::open(&shared_demo(), "channel=feed/city").await;
    // What was published before this stream began is given with its state and not counted.
    for _ in 0..RING {
        next_change(&mut stream).await;
        if figure(delivered).await >= before + 2.0 {
            break;
        }
    }
    assert!(figure(delivered).await >= before + 2.0);
    let whole = figure("lineside_wire_delivery_seconds_bucket{le=\"+Inf\"}").await;
    assert!(whole >= before + 2.0);
    for stage in ["fetch", "decode", "apply", "publish"] {
        let of = |what| format!("lineside_ingest_stage_seconds_{what}{{stage=\"{stage}\"}}");
        let (count, sum) = (figure(&of("count")).await, figure(&of("sum")).await);
        assert!(count >= 1.0 && sum > 0.0, "{stage}: {count}, {sum}");
    }
}

#[tokio::test]
async fn requests_are_counted_by_how_they_were_answered() {
    let refused = "lineside_http_requests_total{status=\"4xx\"}";
    let nowhere = format!("{}/nowhere", shared_demo());
    assert_eq!(get(&nowhere).await.status(), 404);
    let before = figure(refused).await;
    for _ in 0..3 {
        get(&nowhere).await;
    }
    assert!(figure(refused).await >= before + 3.0);
}

#[tokio::test]
async fn why_streams_end_is_there_from_the_start() {
    for reason in ["client", "shutdown", "slow"] {
        figure(&format!("lineside_wire_closed_total{{reason=\"{reason}\"}}")).await;
    }
}

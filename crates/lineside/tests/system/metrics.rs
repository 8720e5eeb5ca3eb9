//! `/metrics`: counters and durations.

use std::collections::BTreeMap;

use lineside::Config;
use lineside_testkit::{WAIT_MAX, wait_for};
use prometheus_client::encoding::prometheus_protobuf::prometheus_data_model::{
    Histogram, MetricFamily, MetricType,
};
use prost::Message as _;

use crate::support::events::Stream;
use crate::support::http::{get, get_with};
use crate::support::{serve, shared_demo};

/// Returns the value of the series with this name and labels.
async fn metric_value(series: &str) -> f64 {
    let text = get(&format!("{}/metrics", shared_demo())).await.text().await.unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("no {series} in\n{text}")).parse().unwrap()
}

/// Reads until a publication without a state arrives.
async fn next_change(stream: &mut Stream) {
    loop {
        let event = stream.next_within(WAIT_MAX).await.expect("the city continues");
        if event.data["data"].get("state").is_none() {
            return;
        }
    }
}

/// Maximum length of a channel's log: this many publications may precede the stream.
const RING: usize = 1_024;

#[tokio::test]
async fn every_stage_from_fetch_to_delivery_is_timed() {
    let delivered = "lineside_wire_delivery_seconds_count";
    let before = metric_value(delivered).await;
    let mut stream = Stream::open(&shared_demo(), "channel=feed/city").await;
    // Publications before the start of the stream come with its state and are not counted.
    for _ in 0..RING {
        next_change(&mut stream).await;
        if metric_value(delivered).await >= before + 2.0 {
            break;
        }
    }
    assert!(metric_value(delivered).await >= before + 2.0);
    let whole = metric_value("lineside_wire_delivery_seconds_bucket{le=\"+Inf\"}").await;
    assert!(whole >= before + 2.0);
    for stage in ["fetch", "decode", "apply", "publish"] {
        let metric = |what| format!("lineside_ingest_stage_seconds_{what}{{stage=\"{stage}\"}}");
        let (count, sum) =
            (metric_value(&metric("count")).await, metric_value(&metric("sum")).await);
        assert!(count >= 1.0 && sum > 0.0, "{stage}: {count}, {sum}");
    }
}

#[tokio::test]
async fn requests_are_counted_by_status() {
    let refused = "lineside_http_requests_total{status=\"4xx\"}";
    let nowhere = format!("{}/nowhere", shared_demo());
    assert_eq!(get(&nowhere).await.status(), 404);
    let before = metric_value(refused).await;
    for _ in 0..3 {
        get(&nowhere).await;
    }
    assert!(metric_value(refused).await >= before + 3.0);
}

#[tokio::test]
async fn counters_of_closed_streams_exist_from_the_start() {
    for reason in ["client", "shutdown", "slow"] {
        metric_value(&format!("lineside_wire_closed_total{{reason=\"{reason}\"}}")).await;
    }
}

#[tokio::test]
async fn classic_parsers_receive_the_classic_text_compressed() {
    let url = format!("{}/metrics", shared_demo());
    let plain = [("accept", "text/plain;version=0.0.4")];
    let response = get_with(&url, &plain).await;
    assert_eq!(response.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let text = response.text().await.unwrap();
    assert!(!text.contains("# EOF") && !text.contains("# UNIT"));
    let typed = |name: &str, kind: &str| text.contains(&format!("\n# TYPE {name} {kind}\n"));
    assert!(typed("lineside_ingest_fetches_total", "counter"));
    for counter in
        text.lines().filter(|line| line.starts_with("# TYPE ") && line.ends_with(" counter"))
    {
        assert!(counter.contains("_total "), "{counter}");
    }
    let packed = get_with(&url, &[plain[0], ("accept-encoding", "gzip")]).await;
    assert_eq!(packed.headers()["content-encoding"], "gzip");
    assert!(packed.bytes().await.unwrap().len() * 3 < text.len());
}

/// Returns the metrics as Prometheus protobuf messages, as a scraper with native histograms gets them.
async fn families(server: &str) -> BTreeMap<String, MetricFamily> {
    let accept = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,\
                  application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1";
    let response = get_with(&format!("{server}/metrics"), &[("accept", accept)]).await;
    let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
    assert!(kind.starts_with("application/vnd.google.protobuf;"), "{kind}");
    assert_eq!(response.headers()["vary"], "Accept, Accept-Encoding");
    let mut body = response.bytes().await.unwrap();
    let mut families = BTreeMap::new();
    while !body.is_empty() {
        let family = MetricFamily::decode_length_delimited(&mut body).unwrap();
        assert!(family.name.starts_with("lineside_"), "{}", family.name);
        families.insert(family.name.clone(), family);
    }
    families
}

/// Returns the number of values in the native buckets of a histogram, and their approximate sum.
fn native_count_and_sum(histogram: &Histogram) -> (u64, f64) {
    let mut indexes = Vec::new();
    let mut next = 0;
    for span in &histogram.positive_span {
        indexes.extend((next + span.offset..).take(span.length as usize));
        next += span.offset + span.length.cast_signed();
    }
    assert_eq!(indexes.len(), histogram.positive_delta.len());
    let (mut count, mut sum, mut here) = (histogram.zero_count, 0.0, 0);
    for (index, delta) in indexes.into_iter().zip(&histogram.positive_delta) {
        here += delta;
        count += u64::try_from(here).expect("no bucket has less than nothing");
        let end = (f64::from(index) * (-f64::from(histogram.schema)).exp2()).exp2();
        sum += here as f64 * end;
    }
    (count, sum)
}

#[tokio::test]
async fn native_histograms_equal_the_classic_ones() {
    let server = shared_demo();
    get(&format!("{server}/proxy/city")).await;
    // The city is live: a value that is recorded during a scrape may be in only some of the numbers.
    let fetch = async || {
        let families = families(&server).await;
        let mut values = 0;
        for family in families.values().filter(|family| family.r#type() == MetricType::Histogram) {
            for metric in &family.metric {
                let histogram = metric.histogram.as_ref().expect("a histogram");
                let agreed = native_agrees(histogram);
                values += agreed
                    .ok_or_else(|| format!("{} {:?}: {histogram:?}", family.name, metric.label))?;
            }
        }
        if values > 0 { Ok(()) } else { Err("there is no value".to_owned()) }
    };
    wait_for("both say the same", fetch).await;
}

/// Returns the number of values in a histogram, if its native and classic buckets agree.
fn native_agrees(histogram: &Histogram) -> Option<u64> {
    let (count, sum) = native_count_and_sum(histogram);
    let classic = histogram.bucket.last().expect("an end");
    assert!(classic.upper_bound.is_infinite() && histogram.zero_threshold > 0.0, "{histogram:?}");
    let counts = [histogram.sample_count, classic.cumulative_count];
    // Each value counts as its bucket's upper bound: never less, and at most 7.7 % more.
    let exact = histogram.sample_sum;
    let is_near = sum >= exact * 0.999_999 && sum <= exact * 1.077;
    (counts == [count; 2] && is_near).then_some(count)
}

#[tokio::test]
async fn text_and_protobuf_have_the_same_metrics() {
    let mut config = Config::default();
    config.server.listen = "127.0.0.1:0".parse().unwrap();
    let running = serve(config).await;
    let server = format!("http://{}", running.listen_address());
    for path in ["/", "/api/v1/feeds", "/api/v1/stops", "/nowhere", "/proxy/nothing"] {
        get(&format!("{server}{path}")).await;
    }
    let text = get(&format!("{server}/metrics")).await.text().await.unwrap();
    let families = families(&server).await;
    let times = &families["lineside_http_request_seconds"];
    let mut values = 0;
    // Except those that the scrapes themselves change.
    for metric in times.metric.iter().filter(|metric| metric.label[0].value != "health") {
        let label = &metric.label[0];
        let histogram = metric.histogram.as_ref().expect("a histogram");
        let find_value = |what: &str, rest: &str| -> f64 {
            let series = format!(
                "lineside_http_request_seconds_{what}{{{rest}{}=\"{}\"}} ",
                label.name, label.value
            );
            let value = text.lines().find_map(|line| line.strip_prefix(series.as_str()));
            value.unwrap_or_else(|| panic!("no {series} in\n{text}")).parse().unwrap()
        };
        assert_eq!(find_value("count", ""), histogram.sample_count as f64);
        assert_eq!(find_value("sum", ""), histogram.sample_sum);
        assert_eq!(find_value("bucket", "le=\"+Inf\","), histogram.sample_count as f64);
        for (bound, bucket) in [("0.00001", 0), ("0.01", 9), ("50.0", 20)] {
            let bucket = &histogram.bucket[bucket];
            assert_eq!(bucket.upper_bound, bound.parse::<f64>().unwrap());
            assert_eq!(
                find_value("bucket", &format!("le=\"{bound}\",")),
                bucket.cumulative_count as f64
            );
        }
        values += histogram.sample_count;
    }
    assert_eq!(values, 5);
    running.shut_down().await;
}

//! Complete runs against a scripted server: its faults are detected, and no others.

#![expect(clippy::unwrap_used, reason = "a failed expectation fails the test")]

mod server;

use std::process::Command;
use std::thread;
use std::time::Duration;

use lineside_load::{
    ApiKey, LoadTestError, LoadTestPlan, LoadTestReport, MessageFormat, PublishPlan,
    SessionTransport, TargetServer,
};

use server::{Script, Server};

const SESSIONS: usize = 20;
const PUBLICATIONS: u64 = 20;

/// Returns a plan of twenty sessions and twenty publications in a fifth of a second.
fn plan(url: &str) -> LoadTestPlan {
    LoadTestPlan {
        target: TargetServer::parse_and_resolve_url(url).unwrap(),
        sessions: SESSIONS,
        channels: vec!["app/load/1".to_owned()],
        transport: SessionTransport::WebSocket,
        format: MessageFormat::Json,
        duration: Duration::from_millis(200),
        ramp: None,
        publishing: Some(PublishPlan { rate: 100.0, bytes: 200, key: ApiKey("secret".to_owned()) }),
        processes: 1,
        server_process: None,
        awake: false,
    }
}

fn run(plan: &LoadTestPlan) -> Result<LoadTestReport, LoadTestError> {
    let no_worker = || -> std::io::Result<Command> { panic!("one process is enough") };
    lineside_load::run_load_test(plan, &no_worker, &mut |_| {})
}

/// Runs a changed plan against a server with a script.
#[track_caller]
fn report(script: Script, change: impl Fn(&mut LoadTestPlan)) -> LoadTestReport {
    let server = Server::start(script);
    let mut plan = plan(&server.url);
    change(&mut plan);
    run(&plan).unwrap()
}

#[track_caller]
fn nothing_is_lost(report: &LoadTestReport) {
    assert!(!report.has_failures_or_losses(), "{report}");
    assert_eq!(report.connect.ready, SESSIONS as u64);
    assert_eq!(report.deliveries.publications, PUBLICATIONS);
    assert_eq!(report.deliveries.deliveries, PUBLICATIONS * SESSIONS as u64);
    let latency = report.latency_ms.unwrap();
    let rising = [latency.first, latency.p50, latency.p99, latency.p99_9, latency.worst];
    assert!(
        rising.is_sorted() && latency.first > 0.0 && latency.last <= latency.worst,
        "{latency:?}"
    );
    assert_eq!(report.slices.iter().map(|slice| slice.deliveries).sum::<u64>(), 400);
}

#[test]
fn every_session_receives_every_publication_over_every_transport() {
    let ways = [
        (SessionTransport::WebSocket, MessageFormat::Json),
        (SessionTransport::WebSocket, MessageFormat::Protobuf),
        (SessionTransport::Sse, MessageFormat::Json),
    ];
    for bytes in [0, 200, 60_000] {
        thread::scope(|scope| {
            for (transport, format) in ways {
                for tears in [false, true] {
                    scope.spawn(move || {
                        let script = Script { splits_frames: tears, ..Script::default() };
                        nothing_is_lost(&report(script, |plan| {
                            (plan.transport, plan.format) = (transport, format);
                            plan.publishing.as_mut().unwrap().bytes = bytes;
                        }));
                    });
                }
            }
        });
    }
}

#[test]
fn a_missing_delivery_is_detected() {
    for transport in [SessionTransport::WebSocket, SessionTransport::Sse] {
        for offset in [1, 7, PUBLICATIONS] {
            let script = Script { forgets: Some((3, offset)), ..Script::default() };
            let report = report(script, |plan| plan.transport = transport);
            let found = (report.deliveries.missing, report.deliveries.duplicates);
            assert_eq!(found, (1, 0), "{transport} {offset}");
            assert!(report.has_failures_or_losses());
        }
    }
}

#[test]
fn a_repeated_delivery_is_detected() {
    let script = Script { repeats: Some((5, 9)), ..Script::default() };
    let report = report(script, |_| {});
    assert_eq!((report.deliveries.missing, report.deliveries.duplicates), (0, 1));
    assert!(report.has_failures_or_losses());
}

#[test]
fn a_closed_session_is_reported_with_its_reason() {
    let script = Script { closes: Some((0, 10)), ..Script::default() };
    let report = report(script, |_| {});
    let reasons: Vec<_> = report.deliveries.closed.iter().collect();
    assert_eq!(
        reasons,
        [(&"the server closed the connection with code 3008 (slow)".to_owned(), &1)]
    );
    assert_eq!(report.deliveries.missing, 0, "publications after its end do not count as missing");
    assert!(report.has_failures_or_losses() && report.to_string().contains("(slow)"));
}

#[test]
fn pings_of_both_kinds_are_answered() {
    for format in [MessageFormat::Json, MessageFormat::Protobuf] {
        let server = Server::start(Script { pings: true, ..Script::default() });
        let plan = LoadTestPlan { format, ..plan(&server.url) };
        nothing_is_lost(&run(&plan).unwrap());
        // Sessions answer the pings before the last publication before it is delivered.
        assert!(server.pongs() >= 2 * (PUBLICATIONS as usize - 1) * SESSIONS, "{}", server.pongs());
    }
}

#[test]
fn a_session_is_ready_after_its_state() {
    let server = Server::start(Script::default());
    let mut plan = plan(&server.url);
    plan.channels = vec!["feed/city".to_owned(), "app/load/1".to_owned()];
    plan.transport = SessionTransport::Sse;
    let report = run(&plan).unwrap();
    nothing_is_lost(&report);
    assert!(report.connect.bytes > 200_000 * SESSIONS as u64);
    let (first, complete) =
        (report.connect.first_byte_ms.unwrap(), report.connect.complete_ms.unwrap());
    assert!(first.last <= complete.last, "{first:?} {complete:?}");
}

#[test]
fn an_unreachable_server_is_reported_with_the_reason() {
    let full = Server::start(Script { full: true, ..Script::default() });
    let refusal = run(&plan(&full.url)).unwrap_err();
    let LoadTestError::Unreachable(why) = &refusal else { panic!("{refusal:?}") };
    assert!(why.contains("503 Service Unavailable: all taken (retry after 7 s)"), "{why}");

    let plan = LoadTestPlan { publishing: None, ..plan("http://127.0.0.1:1") };
    let refusal = run(&plan).unwrap_err();
    assert!(
        matches!(&refusal, LoadTestError::Unreachable(why) if why.contains("no server listens there; start")),
        "{refusal:?}"
    );
}

#[test]
fn a_wrong_api_key_is_refused_before_any_session_connects() {
    let server = Server::start(Script::default());
    let mut plan = plan(&server.url);
    plan.publishing.as_mut().unwrap().key = ApiKey("guess".to_owned());
    let refusal = run(&plan).unwrap_err();
    assert!(
        matches!(&refusal, LoadTestError::Usage(why) if why.contains("LINESIDE_API_KEY")),
        "{refusal:?}"
    );
}

#[test]
fn sessions_connect_at_the_requested_rate() {
    let paced = report(Script::default(), |plan| plan.ramp = Some(100.0));
    nothing_is_lost(&paced);
    assert!(paced.connect.seconds >= 0.19, "{}", paced.connect.seconds);
}

#[test]
fn the_report_is_written_as_json_and_svg() {
    let report = report(Script::default(), |_| {});
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!(json["deliveries"]["missing"], 0);
    assert!(json["latency_ms"]["p99_9"].as_f64().unwrap() > 0.0);
    // The server is a thread of this process, which is found by its port.
    assert_eq!(json["server_process"]["process"], std::process::id());
    let picture = report.render_svg();
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
    assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
    assert!(report.to_string().contains("400 (20 publications)"), "{report}");
}

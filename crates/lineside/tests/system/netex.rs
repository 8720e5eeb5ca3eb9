//! A schedule in NeTEx is on boards and maps like one in GTFS, and is exported as both.

use std::io::Cursor;

use jiff::{ToSpan, Zoned};
use lineside_formats::gtfs::{self, DatasetLimits, ZipFiles};
use lineside_testkit::{wait_for_some, wait_for_status};
use serde_json::json;

use crate::support::http::{get, get_json, get_with, header};
use crate::support::site::serve;

/// Returns a town with a trip every hour of these days.
fn town() -> String {
    let today = Zoned::now().date();
    let (from, to) = (today.saturating_sub(3.days()), today.saturating_add(3.days()));
    let journeys: String = (0..24)
        .map(|hour| {
            format!(
                "<ServiceJourney id='T:SJ:{hour}'><dayTypes><DayTypeRef ref='D'/></dayTypes><JourneyPatternRef ref='JP'/>\
                 <passingTimes><TimetabledPassingTime><DepartureTime>{hour:02}:30:00</DepartureTime></TimetabledPassingTime>\
                 <TimetabledPassingTime><ArrivalTime>{hour:02}:40:00</ArrivalTime></TimetabledPassingTime></passingTimes>\
                 </ServiceJourney>"
            )
        })
        .collect();
    let quay = |id: &str, name: &str, latitude: &str| {
        format!(
            "<Quay id='{id}'><Name>{name}</Name><Centroid><Location><Longitude>10.7</Longitude>\
             <Latitude>{latitude}</Latitude></Location></Centroid></Quay>"
        )
    };
    format!(
        "<?xml version='1.0'?><PublicationDelivery xmlns='http://www.netex.org.uk/netex' version='1.15:NO-NeTEx:1.5'>\
         <ParticipantRef>TST</ParticipantRef><dataObjects><GeneralFrame><members>\
         <Operator id='O'><Name>Town Lines</Name><ContactDetails><Url>https://town.example</Url></ContactDetails></Operator>\
         {}{}<ScheduledStopPoint id='a'/><ScheduledStopPoint id='b'/>\
         <PassengerStopAssignment><ScheduledStopPointRef ref='a'/><QuayRef ref='T:Quay:1'/></PassengerStopAssignment>\
         <PassengerStopAssignment><ScheduledStopPointRef ref='b'/><QuayRef ref='T:Quay:2'/></PassengerStopAssignment>\
         <Line id='T:Line:1'><Name>Center – Harbor</Name><TransportMode>tram</TransportMode><PublicCode>12</PublicCode>\
         <OperatorRef ref='O'/></Line><Route id='R'><LineRef ref='T:Line:1'/></Route>\
         <DestinationDisplay id='DD'><FrontText>Old Harbor</FrontText></DestinationDisplay>\
         <JourneyPattern id='JP'><RouteRef ref='R'/><DestinationDisplayRef ref='DD'/><pointsInSequence>\
         <StopPointInJourneyPattern id='1'><ScheduledStopPointRef ref='a'/></StopPointInJourneyPattern>\
         <StopPointInJourneyPattern id='2'><ScheduledStopPointRef ref='b'/></StopPointInJourneyPattern></pointsInSequence></JourneyPattern>\
         <DayType id='D'/><OperatingPeriod id='P'><FromDate>{from}</FromDate><ToDate>{to}</ToDate></OperatingPeriod>\
         <DayTypeAssignment><OperatingPeriodRef ref='P'/><DayTypeRef ref='D'/></DayTypeAssignment>\
         <Notice id='N:1'/><Notice id='N:&lt;2>'/>{journeys}</members></GeneralFrame></dataObjects></PublicationDelivery>",
        quay("T:Quay:1", "Center", "59.91"),
        quay("T:Quay:2", "Harbor", "59.90"),
    )
}

#[tokio::test]
async fn a_publication_over_the_memory_limit_keeps_the_previous_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("town.xml");
    let text = town();
    std::fs::write(&file, &text).unwrap();
    let feeds = format!(
        "[limits]\nload_memory = \"1MiB\"\n[[feed]]\nid = \"town\"\nurl = {:?}\npoll = \"1s\"\n",
        file.display().to_string()
    );
    let server = serve(folder.path(), &feeds).await;
    let zip = format!("{}/gtfs/town.zip", server.url);
    let tag = header(&wait_for_status(&zip, 200).await, "etag").to_owned();
    let notices = "<Notice id='N:more'><Text>more and more</Text></Notice>".repeat(40_000);
    let new = folder.path().join("new.xml");
    std::fs::write(&new, text.replace("</members>", &format!("{notices}</members>"))).unwrap();
    std::fs::rename(&new, &file).unwrap();
    let feed = format!("{}/api/v1/feeds/town", server.url);
    let is_refused = async || {
        let feed = get_json(&feed).await;
        (feed["last_error"]["code"] == "too_large").then_some(())
    };
    wait_for_some("it is refused", is_refused).await;
    assert_eq!(header(&wait_for_status(&zip, 200).await, "etag"), tag);
    assert_eq!(get(&format!("{}/proxy/town", server.url)).await.text().await.unwrap(), text);
}

#[tokio::test]
async fn a_netex_file_is_served_as_a_schedule() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("town.xml");
    let text = town();
    std::fs::write(&file, &text).unwrap();
    let feeds =
        format!("[[feed]]\nid = \"town\"\nurl = {:?}\npoll = \"1s\"\n", file.display().to_string());
    let server = serve(folder.path(), &feeds).await;
    let url = &server.url;

    let zip = wait_for_status(&format!("{url}/gtfs/town.zip"), 200).await;
    assert_eq!(header(&zip, "content-type"), "application/zip");
    assert_eq!(header(&zip, "lineside-status"), "fresh");
    let tag = header(&zip, "etag").to_owned();
    let second = get_with(&format!("{url}/gtfs/town.zip"), &[("if-none-match", &tag)]).await;
    assert_eq!(second.status(), 304);
    let bytes = zip.bytes().await.unwrap();
    let limits = DatasetLimits::default();
    let mut files = ZipFiles::new(Cursor::new(&bytes), &limits).unwrap();
    let (timetable, problems) = gtfs::load_timetable(&mut files, &limits).unwrap();
    assert_eq!((timetable.trips().len(), problems.total_count()), (24, 0));

    let original = get(&format!("{url}/proxy/town")).await;
    assert_eq!(header(&original, "content-type"), "application/xml");
    assert_ne!(header(&original, "etag"), tag, "the zip is another representation");
    assert_eq!(original.text().await.unwrap(), text);

    let feed = get_json(&format!("{url}/api/v1/feeds/town")).await;
    assert_eq!((feed["format"].as_str(), feed["entities"].as_u64()), (Some("netex"), Some(24)));
    assert_eq!((feed["state"].as_str(), feed["problems"].as_u64()), (Some("ok"), Some(0)));
    assert_eq!(feed["losses"]["total"], 2, "{feed}");
    assert_eq!(
        feed["losses"]["losses"][0],
        json!({ "kind": "Notice", "why": "GTFS has no notes for trips", "count": 2, "examples": ["N:1", "N:<2>"] })
    );
    let page = get(&format!("{url}/feeds/town")).await.text().await.unwrap();
    assert!(page.contains("GTFS has no notes for trips") && page.contains("N:&lt;2&gt;"), "{page}");
    let board = get_json(&format!("{url}/api/v1/stops/town/T:Quay:1/departures")).await;
    let departure = &board["items"][0];
    assert_eq!(departure["route_short_name"], "12", "{board}");
    assert_eq!(departure["headsign"], "Old Harbor");
    let page = get(&format!("{url}/stops/town/T:Quay:1")).await.text().await.unwrap();
    assert!(page.contains("Center") && page.contains("Old Harbor"), "{page}");
    let stops = get_json(&format!("{url}/geojson/town/stops.geojson")).await;
    assert_eq!(stops["features"].as_array().map(Vec::len), Some(2));

    // A truncated file leaves the last good schedule, as NeTEx and as the zip.
    std::fs::write(&file, &text[..text.len() / 2]).unwrap();
    let stale = async || {
        let response = get(&format!("{url}/gtfs/town.zip")).await;
        let status = header(&response, "lineside-status").to_owned();
        status.starts_with("stale; reason=truncated").then_some(response)
    };
    let stale_reply = wait_for_some("the feed is stale", stale).await;
    assert_eq!(stale_reply.bytes().await.unwrap(), bytes);
    server.stop("-TERM");
}

#[tokio::test]
async fn a_netex_folder_is_a_schedule_and_is_reloaded_on_changes() {
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("town");
    std::fs::create_dir_all(files.join("lines")).unwrap();
    std::fs::write(files.join("lines/12.xml"), town()).unwrap();
    std::fs::write(files.join("readme.txt"), "about these files").unwrap();
    let feeds = format!(
        "[[feed]]\nid = \"town\"\nurl = {:?}\npoll = \"1s\"\n",
        files.display().to_string()
    );
    let server = serve(folder.path(), &feeds).await;
    let url = format!("{}/api/v1/feeds/town", server.url);
    let trips = async |n: u64| {
        let feed = get_json(&url).await;
        let is_read = feed["entities"].as_u64() == Some(n) && feed["state"] == "ok";
        is_read.then(|| assert_eq!(feed["format"], "netex"))
    };
    wait_for_some("the folder is read", async || trips(24).await).await;
    let fewer = town().replace("<ServiceJourney id='T:SJ:0'>", "<Unknown>");
    let fewer = fewer.replacen("</ServiceJourney>", "</Unknown>", 1);
    std::fs::write(files.join("lines/12.xml"), fewer).unwrap();
    wait_for_some("the folder is read again", async || trips(23).await).await;
    server.stop("-TERM");
}

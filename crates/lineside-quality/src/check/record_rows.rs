//! Collects the records that findings are about, as text, in formats without tables: elements of NeTEx and SIRI,
//! entities of GTFS-Realtime, records of GBFS.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;

use lineside_formats::gtfs::FileSet;
use lineside_formats::gtfs_rt::proto::{FeedEntity, FeedMessage};
use serde_json::{Map, Value};

use super::raw_rows::{FINDINGS_MAX, ROW_BYTES_MAX, ROWS_MAX, SourceRow, truncate_line};

/// Bytes of a file that are read per step of a search.
const CHUNK_BYTES: usize = 256 << 10;
/// Maximum number of bytes of a tag before or after its id.
const TAG_BYTES_MAX: usize = 8 << 10;
/// The start of an element's id attribute in NeTEx, after white space.
const ID: &[u8] = b"id=\"";
/// The elements of SIRI deliveries that are shown as records.
const SIRI_RECORDS: [&str; 4] =
    ["EstimatedVehicleJourney", "VehicleActivity", "MonitoredStopVisit", "PtSituationElement"];

/// The code of one kind of finding with its first findings.
type SamplesByCode<'a> = (&'a str, &'a [Map<String, Value>]);

/// The rows of a report, without duplicates.
#[derive(Default)]
struct DistinctSourceRows(Vec<SourceRow>);

impl DistinctSourceRows {
    fn push(&mut self, code: &str, file: String, line: u64, text: String) {
        let is_known = |row: &SourceRow| row.code == code && row.file == file && row.text == text;
        if self.0.len() < ROWS_MAX && !self.0.iter().any(is_known) {
            let (code, header) = (code.to_owned(), String::new());
            self.0.push(SourceRow { code, file, line, header, text });
        }
    }
}

/// Returns the findings whose records are shown, each with its code.
fn first_samples_with_codes<'a>(
    found: impl IntoIterator<Item = SamplesByCode<'a>>,
) -> impl Iterator<Item = (&'a str, &'a Map<String, Value>)> {
    found.into_iter().flat_map(|(code, samples)| {
        samples.iter().take(FINDINGS_MAX).map(move |sample| (code, sample))
    })
}

/// Returns the entities of a message that findings name, as JSON.
pub fn gtfs_rt_rows_of_findings<'a>(
    message: &FeedMessage,
    found: impl IntoIterator<Item = SamplesByCode<'a>>,
) -> Vec<SourceRow> {
    let mut found = first_samples_with_codes(found).peekable();
    if found.peek().is_none() {
        return Vec::new();
    }
    let entities: HashMap<&str, &FeedEntity> =
        message.entity.iter().map(|entity| (entity.id.as_str(), entity)).collect();
    let mut rows = DistinctSourceRows::default();
    for (code, sample) in found {
        for name in ["entityId", "otherEntityId", "id"] {
            let id = sample.get(name).and_then(Value::as_str);
            let Some(entity) = id.and_then(|id| entities.get(id)) else { continue };
            let text = serde_json::to_vec(entity).unwrap_or_default();
            rows.push(code, format!("entity {}", entity.id), 0, truncate_line(&text));
        }
    }
    rows.0
}

/// Returns the records of a GBFS system that findings point to, as JSON.
pub fn gbfs_rows_of_findings<'a, 'b>(
    files: impl IntoIterator<Item = (&'b str, &'b [u8])>,
    found: impl IntoIterator<Item = SamplesByCode<'a>>,
) -> Vec<SourceRow> {
    let mut wanted_samples: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for (code, sample) in first_samples_with_codes(found) {
        let text = |name: &str| sample.get(name).and_then(Value::as_str);
        if let (Some(file), Some(path)) = (text("filename"), text("path")) {
            let name = file.strip_suffix(".json").unwrap_or(file);
            wanted_samples.entry(name).or_default().push((code, path));
        }
    }
    let mut rows = DistinctSourceRows::default();
    for (name, body) in files {
        let Some(wanted_samples) =
            wanted_samples.remove(name.strip_suffix(".json").unwrap_or(name))
        else {
            continue;
        };
        let Ok(file) = serde_json::from_slice::<Value>(body) else { continue };
        for (code, path) in wanted_samples {
            if let Some((pointer_path, record)) = outermost_list_item_at(&file, path) {
                let text = serde_json::to_vec(record).unwrap_or_default();
                rows.push(code, format!("{name}.json, {pointer_path}"), 0, truncate_line(&text));
            }
        }
    }
    rows.0
}

/// Returns the outermost list item on the path of a JSON pointer, with its own pointer.
fn outermost_list_item_at<'a, 'p>(
    file: &'a Value,
    pointer: &'p str,
) -> Option<(&'p str, &'a Value)> {
    let is_index = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut end = 0;
    for part in pointer.split('/').skip(1) {
        end += 1 + part.len();
        if is_index(part) {
            let pointer_path = pointer.get(..end)?;
            return Some((pointer_path, file.pointer(pointer_path)?));
        }
    }
    None
}

/// Returns the records of a SIRI message in XML whose ids findings name.
pub(super) fn siri_rows_of_findings<'a>(
    body: &[u8],
    found: impl IntoIterator<Item = SamplesByCode<'a>>,
) -> Vec<SourceRow> {
    let Ok(text) = std::str::from_utf8(body) else { return Vec::new() };
    let mut rows = DistinctSourceRows::default();
    for (code, sample) in first_samples_with_codes(found) {
        let Some(id) = sample.get("id").and_then(Value::as_str) else { continue };
        let Some(at) = text.find(&format!(">{}<", escape_xml(id))) else { continue };
        let Some((start, name)) = find_enclosing_record(text, at) else { continue };
        let line = count_line_breaks(&text.as_bytes()[..start]) + 1;
        let element = text.get(start..).unwrap_or_default();
        rows.push(
            code,
            name.to_owned(),
            line,
            truncate_line(&strip_indentation(element.as_bytes())),
        );
    }
    rows.0
}

/// Returns the start of the record around an offset, and the name of its element.
fn find_enclosing_record(text: &str, at: usize) -> Option<(usize, &'static str)> {
    let before = text.get(..at)?;
    before.rmatch_indices('<').find_map(|(start, _)| {
        let tag = before.get(start + 1..)?;
        let end =
            tag.find(|c: char| c == '>' || c.is_whitespace() || c == '/').unwrap_or(tag.len());
        let local = tag.get(..end)?.rsplit(':').next()?;
        let name = SIRI_RECORDS.into_iter().find(|name| *name == local)?;
        Some((start, name))
    })
}

/// Returns the elements of a NeTEx publication whose ids findings name. A file that cannot be read gives none.
pub(super) fn netex_rows_of_findings<'a>(
    files: &mut dyn FileSet,
    found: impl IntoIterator<Item = SamplesByCode<'a>>,
) -> Vec<SourceRow> {
    // For each file, the codes of the findings of each id.
    let mut wanted_ids: BTreeMap<&str, HashMap<Vec<u8>, Vec<&str>>> = BTreeMap::new();
    for (code, sample) in first_samples_with_codes(found).take(ROWS_MAX) {
        let text = |name: &str| sample.get(name).and_then(Value::as_str);
        if let (Some(file), Some(id)) = (text("filename"), text("id")) {
            let codes =
                wanted_ids.entry(file).or_default().entry(escape_xml(id).into_bytes()).or_default();
            if !codes.contains(&code) {
                codes.push(code);
            }
        }
    }
    let mut rows = DistinctSourceRows::default();
    for (name, mut ids) in wanted_ids {
        if let Ok(Some(mut file)) = files.open_file(name) {
            find_elements_by_ids(&mut *file, &mut ids, &mut |codes, line, text| {
                for code in codes {
                    rows.push(code, name.to_owned(), line, text.clone());
                }
            });
        }
    }
    rows.0
}

/// Reads a file through a sliding window until all `ids` are found as ids of elements.
fn find_elements_by_ids<'a>(
    file: &mut dyn Read,
    ids: &mut HashMap<Vec<u8>, Vec<&'a str>>,
    on_record: &mut dyn FnMut(Vec<&'a str>, u64, String),
) {
    let (mut window, mut line) = (Vec::with_capacity(2 * CHUNK_BYTES), 1);
    let mut searched = 0;
    while !ids.is_empty() {
        let before = window.len();
        let read = (&mut *file).take(CHUNK_BYTES as u64).read_to_end(&mut window);
        let is_end = read.is_err() || window.len() == before;
        // An element near the end of the window is searched with the next chunk, so that its tag is complete.
        let until = if is_end { window.len() } else { window.len().saturating_sub(TAG_BYTES_MAX) };
        while let Some(at) = find_id_attribute(&window, searched, until) {
            let value = at + ID.len();
            searched = value;
            let rest = window.get(value..).unwrap_or_default();
            let end = rest.iter().take(TAG_BYTES_MAX).position(|byte| *byte == b'"');
            let Some(codes) = end.and_then(|end| ids.remove(rest.get(..end)?)) else { continue };
            let tag = window.get(..at).unwrap_or_default();
            let start = tag.iter().rposition(|byte| *byte == b'<').unwrap_or(at);
            let text = truncate_line(&strip_indentation(window.get(start..).unwrap_or_default()));
            on_record(codes, line + count_line_breaks(&window[..start]), text);
        }
        if is_end {
            return;
        }
        searched = searched.max(until);
        let done = searched.saturating_sub(TAG_BYTES_MAX);
        line += count_line_breaks(&window[..done]);
        window.drain(..done);
        searched -= done;
    }
}

/// Returns the offset of the next `id` attribute between two offsets.
fn find_id_attribute(window: &[u8], from: usize, until: usize) -> Option<usize> {
    let part = window.get(from..until)?;
    let is_attribute = |at: usize| at > 0 && window[at - 1].is_ascii_whitespace();
    let hits = part.windows(ID.len()).enumerate().filter(|(_, bytes)| *bytes == ID);
    hits.map(|(at, _)| from + at).find(|at| is_attribute(*at))
}

fn count_line_breaks(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Returns the beginning of an element without its indentation.
fn strip_indentation(element: &[u8]) -> Vec<u8> {
    // Indented text needs about four times the bytes that are shown.
    let text = element.get(..element.len().min(4 * ROW_BYTES_MAX)).unwrap_or_default();
    let mut joined = Vec::with_capacity(text.len());
    for part in text.split(|byte| matches!(byte, b'\n' | b'\r')) {
        let part = part.trim_ascii();
        // Inside a tag, a line break separates attributes.
        if joined.last().is_some_and(|byte| *byte != b'>') && !part.is_empty() {
            joined.push(b' ');
        }
        joined.extend_from_slice(part);
    }
    joined
}

/// Escapes a text for the content and the attributes of XML.
fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use lineside_formats::gtfs::TextFiles;
    use serde_json::json;

    use super::*;

    fn samples(samples: Value) -> Vec<Map<String, Value>> {
        serde_json::from_value(samples).unwrap()
    }

    #[test]
    fn an_entity_is_shown_as_json() {
        let entity = |id: &str| FeedEntity { id: id.to_owned(), ..FeedEntity::default() };
        let message =
            FeedMessage { entity: vec![entity("1"), entity("2")], ..FeedMessage::default() };
        let samples = samples(json!([{"entityId": "2"}, {"entityId": "9"}, {"entityId": "1"}]));
        let rows = gtfs_rt_rows_of_findings(&message, [("E003", samples.as_slice())]);
        let found_rows: Vec<_> =
            rows.iter().map(|row| (row.code.as_str(), row.file.as_str())).collect();
        assert_eq!(found_rows, [("E003", "entity 2")], "of the first {FINDINGS_MAX} findings");
        assert!(rows[0].text.contains("\"id\":\"2\""), "{}", rows[0].text);
    }

    #[test]
    fn a_gbfs_record_is_the_item_that_the_json_pointer_is_in() {
        let body =
            br#"{"data": {"stations": [{"station_id": "a"}, {"station_id": "b", "lat": 99}]}}"#;
        let samples = samples(json!([
            {"filename": "station_information.json", "path": "/data/stations/1/lat"},
            {"filename": "station_information", "path": "/data"},
        ]));
        let files = [("station_information", &body[..])];
        let rows = gbfs_rows_of_findings(files, [("number_out_of_range", samples.as_slice())]);
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!(rows[0].file, "station_information.json, /data/stations/1");
        assert_eq!(
            serde_json::from_str::<Value>(&rows[0].text).unwrap(),
            json!({"station_id": "b", "lat": 99})
        );
    }

    #[test]
    fn a_siri_record_is_the_element_that_contains_the_id() {
        let body = "<Siri>\n<s:VehicleActivity><A/>\n  <VehicleRef>v&amp;1</VehicleRef></s:VehicleActivity></Siri>";
        let samples = samples(json!([{"id": "v&1"}, {"id": "v2"}]));
        let rows = siri_rows_of_findings(
            body.as_bytes(),
            [("vehicle_without_location", samples.as_slice())],
        );
        assert_eq!((rows.len(), rows[0].file.as_str(), rows[0].line), (1, "VehicleActivity", 2));
        assert!(
            rows[0].text.starts_with("<s:VehicleActivity><A/><VehicleRef>v&amp;1<"),
            "{rows:?}"
        );
    }

    #[test]
    fn netex_elements_are_found_across_window_boundaries() {
        let element =
            |n: usize| format!("<Line version=\"1\"\n  id=\"l:{n}\"><Name>{n}</Name></Line>\n");
        let xml: String = (0..20_000).map(element).collect();
        for n in [0, 4_999, 5_000, 5_001, 19_999] {
            let samples = samples(
                json!([{"filename": "a.xml", "id": format!("l:{n}")}, {"filename": "a.xml", "id": "l"}]),
            );
            let mut files = TextFiles::default().with_file("a.xml", xml.clone());
            let rows = netex_rows_of_findings(&mut files, [("code", samples.as_slice())]);
            assert_eq!(rows.len(), 1, "{n}");
            assert_eq!(rows[0].line, 2 * n as u64 + 1);
            let own = format!("<Line version=\"1\" id=\"l:{n}\"><Name>{n}</Name>");
            assert!(rows[0].text.starts_with(&own), "{}", rows[0].text);
            assert!(rows[0].text.len() <= ROW_BYTES_MAX + 3);
        }
    }
}

//! The keys of a `[[feed]]` on requests to a SIRI producer.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::sync::Arc;

use lineside_formats::Format;
use lineside_model::{
    FormatConverter, IdTable, Secret, SiriAnswers, SiriEnvelope, SiriIdMapping, SiriMode,
    SiriService, SiriSourceSettings, SourceLocation,
};
use serde::Deserialize;
use toml::Spanned;

use super::config_checker::{ConfigChecker, expected_message};
use super::value::SecretText;

/// Maximum number of stops that a feed requests: each is a part of each request.
const STOPS_MAX: usize = 1_000;
/// Maximum size of a table of ids, in bytes.
const TABLE_BYTES_MAX: u64 = 64 << 20;

/// `siri = { services, mode, requestor_ref, answers, envelope, ids, stops }`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "{ services = [\"et\"], mode = \"request\", … }")]
pub(super) struct SiriTable {
    services: Option<Spanned<Vec<String>>>,
    mode: Option<Spanned<String>>,
    requestor_ref: Option<Spanned<SecretText>>,
    answers: Option<Spanned<String>>,
    envelope: Option<Spanned<String>>,
    ids: Option<Spanned<SiriIdsValue>>,
    #[serde(default)]
    stops: Option<Spanned<Vec<String>>>,
}

/// A keyword, or the file of a table.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "\"same\", \"prefix:…\", \"netex\" or { file = \"…\" }")]
enum SiriIdsValue {
    Word(String),
    Table(SiriIdsFile),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SiriIdsFile {
    file: String,
}

impl ConfigChecker<'_> {
    pub(super) fn check_siri(
        &mut self,
        key: &str,
        table: Option<Spanned<SiriTable>>,
    ) -> Option<Arc<SiriSourceSettings>> {
        let table = table?;
        let whole = table.span();
        let SiriTable { services, mode, requestor_ref, answers, envelope, ids, stops } =
            table.into_inner();
        let defaults = SiriSourceSettings::default();
        let mode = self.check_keyword(&format!("{key}.mode"), mode, SiriMode::parse, SiriMode::ALL);
        let envelope = self.check_keyword(
            &format!("{key}.envelope"),
            envelope,
            SiriEnvelope::parse,
            SiriEnvelope::ALL,
        );
        let (mode, envelope) =
            (mode.unwrap_or(SiriMode::Request), envelope.unwrap_or(defaults.envelope));
        let at = Spanned::new(whole.clone(), ());
        let services_at = services.as_ref().map_or(whole, Spanned::span);
        let services = match services {
            Some(service_names) => {
                self.check_siri_services(&format!("{key}.services"), &service_names)
            }
            None => defaults.services,
        };
        let stops = stops.map_or_else(Vec::new, |stops| {
            self.check_monitored_stops(&format!("{key}.stops"), stops)
        });
        let has_stops = services.contains(&SiriService::Stops);
        if has_stops && mode != SiriMode::Lite && stops.is_empty() {
            let reason = "the service sm requires stops: expected stops = [\"…\"]";
            self.add_error(&at, &format!("{key}.stops"), reason);
        }
        let request_count = services.len() + usize::from(has_stops) * stops.len().saturating_sub(1);
        let is_soap = mode == SiriMode::Request && envelope == SiriEnvelope::Soap;
        if request_count > 1 && (mode == SiriMode::Lite || is_soap) {
            let what = if mode == SiriMode::Lite { "SIRI Lite" } else { "SOAP" };
            let reason =
                format!("{what} requests only one service and one stop: configure a feed for each");
            let at = Spanned::new(services_at, ());
            self.add_error(&at, &format!("{key}.services"), reason);
        }
        let requestor_ref =
            requestor_ref.and_then(|it| self.check_secret(&format!("{key}.requestor_ref"), &it));
        let answers =
            self.check_siri_answers(&format!("{key}.answers"), answers, mode, &requestor_ref);
        let ids = ids.map_or(defaults.ids, |ids| self.check_siri_ids(&format!("{key}.ids"), ids));
        Some(Arc::new(SiriSourceSettings {
            services,
            mode,
            requestor_ref,
            answers,
            envelope,
            ids,
            stops,
        }))
    }

    fn check_siri_answers(
        &mut self,
        key: &str,
        text: Option<Spanned<String>>,
        mode: SiriMode,
        requestor_ref: &Option<Secret>,
    ) -> Option<SiriAnswers> {
        let at = Spanned::new(text.as_ref()?.span(), ());
        let answers = self.check_keyword(key, text, SiriAnswers::parse, SiriAnswers::ALL)?;
        if mode == SiriMode::Subscribe {
            self.add_error(&at, key, "a subscription always receives changes: remove it");
        } else if answers == SiriAnswers::Changes && requestor_ref.is_none() {
            let reason = "a producer sends changes only to a named requestor: add requestor_ref";
            self.add_error(&at, key, reason);
        }
        Some(answers)
    }

    fn check_keyword<T: Copy + std::fmt::Display>(
        &mut self,
        key: &str,
        text: Option<Spanned<String>>,
        parse: impl Fn(&str) -> Option<T>,
        all: &[T],
    ) -> Option<T> {
        let text = text?;
        let parsed = parse(text.get_ref());
        if parsed.is_none() {
            self.add_error(&text, key, expected_message(&format_choices(all), text.get_ref()));
        }
        parsed
    }

    fn check_siri_services(
        &mut self,
        key: &str,
        service_names: &Spanned<Vec<String>>,
    ) -> Vec<SiriService> {
        let mut services = BTreeSet::new();
        for service_name in service_names.get_ref() {
            match SiriService::parse(service_name) {
                Some(service) => {
                    services.insert(service);
                }
                None => {
                    let reason = expected_message(&format_choices(SiriService::ALL), service_name);
                    self.add_error(service_names, key, reason);
                }
            }
        }
        if service_names.get_ref().is_empty() {
            self.add_error(
                service_names,
                key,
                format!("expected {}", format_choices(SiriService::ALL)),
            );
        }
        services.into_iter().collect()
    }

    fn check_monitored_stops(&mut self, key: &str, stops: Spanned<Vec<String>>) -> Vec<String> {
        if stops.get_ref().len() > STOPS_MAX {
            self.add_error(&stops, key, format!("more than {STOPS_MAX} stops"));
        }
        if stops.get_ref().iter().any(String::is_empty) {
            self.add_error(&stops, key, "a stop cannot be empty");
        }
        stops.into_inner()
    }

    fn check_siri_ids(&mut self, key: &str, ids: Spanned<SiriIdsValue>) -> SiriIdMapping {
        let ids_name = match ids.get_ref() {
            SiriIdsValue::Table(table) => {
                let path = self.base.join(&table.file);
                return match read_id_table(&path) {
                    Ok(read) => SiriIdMapping::Table(table.file.as_str().into(), Arc::new(read)),
                    Err(reason) => {
                        self.add_error(&ids, key, format!("{}: {reason}", path.display()));
                        SiriIdMapping::Same
                    }
                };
            }
            SiriIdsValue::Word(ids_name) => ids_name.as_str(),
        };
        SiriIdMapping::parse(ids_name).unwrap_or_else(|| {
            let what = "\"same\", \"prefix:…\", \"netex\" or { file = \"…\" }";
            self.add_error(&ids, key, expected_message(what, ids_name));
            SiriIdMapping::Same
        })
    }
}

fn format_choices<T: std::fmt::Display>(all: &[T]) -> String {
    let choice_texts: Vec<String> = all.iter().map(|it| format!("{:?}", it.to_string())).collect();
    format!("one of {}", choice_texts.join(", "))
}

/// Reads a table of ids. Returns an error message if it is invalid.
pub fn read_id_table(path: &std::path::Path) -> Result<IdTable, String> {
    let file = fs::File::open(path).map_err(|error| format!("cannot be read: {error}"))?;
    let mut text = Vec::new();
    let read = file.take(TABLE_BYTES_MAX + 1).read_to_end(&mut text);
    read.map_err(|error| format!("cannot be read: {error}"))?;
    IdTable::parse(&text).map_err(|error| error.to_string())
}

/// Returns the key and the reason of a conflict between a feed's `siri` table and its other keys; `None` if there is
/// none.
pub fn find_siri_conflict(
    siri: Option<&SiriSourceSettings>,
    url: Option<&SourceLocation>,
    format: Option<Format>,
    converter: Option<&FormatConverter>,
) -> Option<(&'static str, String)> {
    let siri = siri?;
    let is_siri = converter.is_some_and(|converter| converter.from == "siri");
    if let Some(other) = format.filter(|it| *it != Format::Siri && !is_siri) {
        let reason = format!("only for SIRI feeds, but the format is {:?}", other.as_str());
        return Some(("siri", reason));
    }
    if siri.mode != SiriMode::Lite && url.is_some_and(SourceLocation::is_local_path) {
        let reason = "a local file cannot be requested: use an http(s) URL";
        return Some(("siri.mode", reason.to_owned()));
    }
    let converter = converter?;
    // A pushed delivery holds only a part of the data, so no program could make a whole feed of it.
    if siri.mode == SiriMode::Subscribe {
        let reason = "a converter needs complete responses: expected \"request\" or \"lite\"";
        return Some(("siri.mode", reason.to_owned()));
    }
    // Changes can be merged into the known state only while they are still SIRI.
    if siri.mode == SiriMode::Lite && siri.requestor_ref.is_some() && converter.to != Format::Siri {
        let reason = "with a requestor, SIRI Lite only sends changes, and a converter needs complete responses: remove it";
        return Some(("siri.requestor_ref", reason.to_owned()));
    }
    None
}

/// Returns an error if a feed subscribes and producers do not know this server's address.
pub(crate) fn find_missing_public_url(
    siri: Option<&SiriSourceSettings>,
    is_reached: bool,
) -> Option<(&'static str, String)> {
    siri.filter(|it| it.mode == SiriMode::Subscribe && !is_reached)?;
    let reason = "producers send deliveries to server.public_url, which is missing: add public_url to [server]";
    Some(("siri.mode", reason.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lineside_model::IdKind;

    use super::super::Config;
    use super::*;

    fn parse(siri: &str) -> Result<Arc<SiriSourceSettings>, String> {
        let text =
            format!("[[feed]]\nid = \"a\"\nurl = \"https://a.example/siri\"\nsiri = {siri}\n");
        let config = Config::parse(Path::new("lineside.toml"), &text);
        let mut config = config.map_err(|errors| errors.to_string())?;
        Ok(config.feeds.remove(0).siri.unwrap())
    }

    #[test]
    fn siri_keys_are_read() {
        let siri = parse(
            "{ services = [\"sm\", \"et\", \"et\"], requestor_ref = \"hunter2\", \
             ids = \"prefix:no:\", stops = [\"S\"] }",
        )
        .unwrap();
        assert_eq!(siri.services, [SiriService::Timetables, SiriService::Stops]);
        assert_eq!((siri.mode, siri.envelope), (SiriMode::Request, SiriEnvelope::Xml));
        assert_eq!(siri.ids.map_to_schedule_id(IdKind::Stop, "7"), "no:7");
        assert!(!format!("{siri:?}").contains("hunter2"));
        let lite = parse("{ mode = \"lite\", ids = \"netex\" }").unwrap();
        assert_eq!(
            (lite.services.as_slice(), lite.mode, &lite.ids),
            (&[SiriService::Timetables][..], SiriMode::Lite, &SiriIdMapping::Netex)
        );
        let answers = |answers_key: &str| {
            parse(&format!("{{ requestor_ref = \"hunter2\", answers = {answers_key:?} }}"))
                .unwrap()
                .answers
        };
        assert_eq!((siri.answers, answers("changes")), (None, Some(SiriAnswers::Changes)));
        assert_eq!(answers("whole"), Some(SiriAnswers::Whole));
    }

    #[test]
    fn an_id_table_is_read_relative_to_the_configuration_file() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("ids.csv"), "kind,siri,gtfs\nstop,A,1\n").unwrap();
        let text = "[[feed]]\nid = \"a\"\nurl = \"https://a.example/siri\"\n\
                    siri = { ids = { file = \"ids.csv\" } }\n";
        let path = dir.path().join("lineside.toml");
        let config = Config::parse(&path, text).unwrap();
        let siri = config.feeds[0].siri.as_ref().unwrap();
        assert_eq!(siri.ids.map_to_schedule_id(IdKind::Stop, "A"), "1");
        fs::write(dir.path().join("ids.csv"), "kind,siri,gtfs\nquay,A,1\n").unwrap();
        let error = Config::parse(&path, text).unwrap_err().to_string();
        assert!(
            error.contains("feed[0].siri.ids: ") && error.contains("line 2: \"quay\""),
            "{error}"
        );
    }

    #[test]
    fn errors_name_their_key() {
        for (siri, expected_message) in [
            (
                "{ services = [\"fm\"] }",
                "siri.services: expected one of \"et\", \"vm\", \"sx\", \"sm\"",
            ),
            ("{ services = [] }", "siri.services: expected one of"),
            (
                "{ mode = \"push\" }",
                "siri.mode: expected one of \"request\", \"lite\", \"subscribe\"",
            ),
            ("{ services = [\"sm\"] }", "siri.stops: the service sm requires stops"),
            (
                "{ services = [\"et\", \"vm\"], mode = \"lite\" }",
                "siri.services: SIRI Lite requests only one service",
            ),
            (
                "{ services = [\"et\", \"vm\"], envelope = \"soap\" }",
                "siri.services: SOAP requests only one service",
            ),
            ("{ ids = \"other\" }", "siri.ids: expected \"same\", \"prefix:…\""),
            ("{ ids = { file = \"none.csv\" } }", "siri.ids: none.csv: cannot be read"),
            ("{ answers = \"all\" }", "siri.answers: expected one of \"whole\", \"changes\""),
            ("{ answers = \"changes\" }", "siri.answers: a producer sends changes only"),
            (
                "{ mode = \"subscribe\", requestor_ref = \"x\", answers = \"whole\" }",
                "siri.answers: a subscription always receives changes",
            ),
            (
                "{ mode = \"subscribe\" }",
                "siri.mode: producers send deliveries to server.public_url, which is missing",
            ),
            ("{ requestor = \"x\" }", "siri.requestor: unknown field `requestor`"),
        ] {
            let error = parse(siri).unwrap_err();
            assert!(
                error.contains("lineside.toml line 4, feed[0].")
                    && error.contains(expected_message),
                "{siri}: {error}"
            );
        }
    }
}

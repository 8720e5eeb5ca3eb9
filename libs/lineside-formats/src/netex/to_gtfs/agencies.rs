//! Writes `agency.txt`, the organisations of the lines, and `feed_info.txt`.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use super::{GtfsWriter, find_record_by_id, first_non_empty};
use crate::{
    Error, Problem,
    gtfs::{TextId, addresses},
    netex::{
        days,
        record::{Line, LineNetwork, Organisation},
    },
};

/// The `agency_url` in zips if the publication has none, because GTFS software refuses a feed without it. The domain is
/// reserved for examples (RFC 2606).
pub(super) const AGENCY_URL_STAND_IN: &str = "https://example.org/agency-url-unknown";

pub(super) type AgencyIdByLine = HashMap<TextId, TextId>;

impl GtfsWriter<'_, '_> {
    /// Writes the agencies of the lines: the authority of a line's network, which is the name that riders know, or else
    /// its operator.
    pub(super) fn write_agencies(&mut self) -> Result<AgencyIdByLine, Error> {
        let columns = ["agency_id", "agency_name", "agency_url", "agency_timezone", "agency_lang"];
        let [id, name, url, timezone, lang] = columns;
        self.tables.begin_table(
            "agency.txt",
            &[id, name, url, timezone, lang, "agency_phone", "agency_email"],
        )?;
        if self.publication.timezone.is_none() && !self.publication.has_unread_timezone {
            let detail = "no frame has a time zone; times are interpreted as UTC";
            self.problems.push(Problem::new("publication", "missing_timezone", detail));
        }
        let networks = self.index_networks_by_line();
        let fallback = match self.publication.organisations.as_slice() {
            [only] => only.id,
            _ => self.publication.participant,
        };
        let (mut agencies, mut written) = (AgencyIdByLine::new(), HashSet::new());
        for line in &self.publication.lines {
            let agency = first_non_empty(&[self.find_line_agency_id(line, &networks), fallback]);
            agencies.entry(line.id).or_insert(agency);
            if written.insert(agency) {
                self.write_agency(agency, line)?;
            }
        }
        Ok(agencies)
    }

    /// Returns the networks that refer to lines, by line id.
    fn index_networks_by_line(&self) -> HashMap<TextId, u32> {
        let mut networks = HashMap::new();
        for (number, network) in (0..).zip(&self.publication.networks) {
            for &line in self.publication.references_in(&network.lines) {
                networks.entry(line).or_insert(number);
            }
        }
        networks
    }

    fn find_line_agency_id(&self, line: &Line, networks: &HashMap<TextId, u32>) -> TextId {
        let all = &self.publication.networks;
        let authority = |network: &LineNetwork| network.authority;
        let of_group = find_record_by_id(all, &self.index.networks, line.group).map(authority);
        let of_network = find_record_by_id(all, networks, line.id).map(authority);
        let group_organisations = [of_group.unwrap_or_default(), of_network.unwrap_or_default()];
        let candidates =
            [line.authority, group_organisations[0], group_organisations[1], line.operator];
        // An organisation that is in no file is only used if there is no other.
        let is_known = |id: &TextId| self.index.organisations.contains_key(id);
        candidates.into_iter().find(is_known).unwrap_or_else(|| first_non_empty(&candidates))
    }

    fn write_agency(&mut self, id: TextId, line: &Line) -> Result<(), Error> {
        let timezone = self.publication.timezone.as_deref().unwrap_or("UTC");
        let language = self.publication.language.as_deref().unwrap_or_default();
        let organisations = &self.publication.organisations;
        let organisation = find_record_by_id(organisations, &self.index.organisations, id);
        let is_unresolved = organisation.is_none() && id != self.publication.participant;
        if is_unresolved {
            self.report_dangling_reference(line.file, "OperatorRef", line.id, id);
        }
        let missing = Organisation::default();
        let Organisation { name, short_name, phone, email, .. } = *organisation.unwrap_or(&missing);
        let operator = find_record_by_id(organisations, &self.index.organisations, line.operator);
        let url_of = |it: Option<&Organisation>| it.map_or(TextId::EMPTY, |it| it.url);
        let urls = [url_of(organisation), url_of(operator), line.url];
        let urls = urls.map(|url| add_missing_url_scheme(self.resolve_text(url)));
        let good_url = urls.iter().find(|url| addresses::is_url(url));
        let url = good_url.or(urls.iter().find(|url| !url.is_empty())).unwrap_or(&urls[0]);
        let name = self.resolve_text(first_non_empty(&[name, short_name, id]));
        let (phone, email) = (self.resolve_text(phone), self.resolve_text(email));
        let good_email = if addresses::is_email_address(email) { email } else { "" };
        let id_text = self.resolve_text(id);
        let with = |url, email| [id_text, name, url, timezone, language, phone, email];
        let row = with(url, email);
        if good_url.is_some() && good_email == email {
            return self.tables.write_row(&row);
        }
        let record = if organisation.is_some() { id } else { line.id };
        for (code, value, is_bad) in [
            ("invalid_url", &**url, good_url.is_none() && !url.is_empty()),
            ("invalid_email", email, good_email != email),
        ] {
            if is_bad {
                self.report_invalid_url(line.file, code, record, value);
            }
        }
        let completed = with(good_url.map_or(AGENCY_URL_STAND_IN, |url| url), good_email);
        if !url.is_empty() {
            return self.tables.write_row_with_placeholders(&row, &completed);
        }
        let detail = "neither the organisation nor the operator nor the line has a Url, which GTFS \
            requires; the GTFS zip has a placeholder at example.org";
        // The missing organisation is already reported.
        if !is_unresolved {
            self.report_record_problem(line.file, "missing_url", detail, record);
        }
        self.tables.write_row_with_placeholders(&row, &completed)
    }

    /// Reports a URL that GTFS validators refuse and that the GTFS zip therefore lacks.
    #[cold]
    fn report_invalid_url(&mut self, file: u32, code: &'static str, of: TextId, value: &str) {
        let (file, of) = (self.publication.file_name(file), self.resolve_text(of));
        self.problems.push_lazily(file, code, || {
            let detail = "GTFS validators reject it; the GTFS zip omits it";
            Problem::new(file, code, detail).with_record(of).with_value(value)
        });
    }

    /// Writes the publisher and the validity, if all values that GTFS requires are known.
    pub(super) fn write_feed_info(&mut self) -> Result<(), Error> {
        let publication = self.publication;
        let urls = publication
            .organisations
            .iter()
            .map(|organisation| self.resolve_text(organisation.url));
        let url = urls.map(add_missing_url_scheme).find(|url| addresses::is_url(url));
        let publisher = self.resolve_text(publication.participant);
        let (Some(url), Some(language)) = (url, publication.language.as_deref()) else {
            return Ok(());
        };
        if publisher.is_empty() {
            return Ok(());
        }
        let dates = publication
            .validity
            .map(|(from, to)| (days::format_gtfs_date(from), days::format_gtfs_date(to)));
        let (from, to) = dates.unwrap_or_default();
        let columns = ["feed_publisher_name", "feed_publisher_url", "feed_lang"];
        let [name, address, lang] = columns;
        self.tables.begin_table(
            "feed_info.txt",
            &[name, address, lang, "feed_start_date", "feed_end_date"],
        )?;
        self.tables.write_row(&[publisher, &url, language, &from, &to])
    }
}

/// Returns the URL with its scheme, which producers often omit.
fn add_missing_url_scheme(url: &str) -> Cow<'_, str> {
    if url.is_empty() || url.contains("://") {
        Cow::Borrowed(url)
    } else {
        Cow::Owned(format!("https://{url}"))
    }
}

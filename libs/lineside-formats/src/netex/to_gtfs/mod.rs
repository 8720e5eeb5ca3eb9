//! Converts NeTEx to GTFS. No other module converts between their terms.
//!
//! Tables are written one after the other directly from the records. Only data that rows share are held in memory: the
//! stops of stop points, and the services.

mod agencies;
mod calls;
mod modes;
mod stop_names;
mod routes;
mod services;
mod placeholder_points;
mod stops;
mod trips;
mod unread_days;

use std::collections::{HashMap, HashSet};

use self::{calls::DemandTypeRunTimes, services::JourneyServices};
use super::record::Publication;
use crate::{
    ConversionReport, Error, Problem, Problems,
    gtfs::{TableWriter, TextId},
};

pub(super) fn write_gtfs_tables(
    publication: &Publication,
    tables: &mut dyn TableWriter,
    problems: &mut Problems,
) -> Result<ConversionReport, Error> {
    let mut writer = GtfsWriter {
        publication,
        index: RecordIndex::new(publication),
        tables,
        problems,
        losses: publication.untranslated.clone(),
        stop_of: HashMap::new(),
    };
    let agencies = writer.write_agencies()?;
    writer.write_feed_info()?;
    writer.write_stops()?;
    writer.write_routes(&agencies)?;
    let mut services = JourneyServices::new(publication);
    writer.report_dangling_day_references(&services);
    let trips = writer.select_exportable_journeys(&mut services)?;
    writer.write_calendar_tables(&services)?;
    writer.write_trips(&trips, &services)?;
    writer.write_frequencies(&trips)?;
    // Stop times come last, so a loader that reads tables as they come knows all objects that they refer to.
    writer.write_stop_times(&trips)?;
    Ok(writer.losses)
}

/// A writer of one dataset.
struct GtfsWriter<'p, 'o> {
    publication: &'p Publication,
    index: RecordIndex,
    tables: &'o mut dyn TableWriter,
    problems: &'o mut Problems,
    losses: ConversionReport,
    /// The `stop_id` of each stop point.
    stop_of: HashMap<TextId, TextId>,
}

/// The index of records by id. Of several records with one id the first applies.
struct RecordIndex {
    organisations: HashMap<TextId, u32>,
    networks: HashMap<TextId, u32>,
    lines: HashMap<TextId, u32>,
    routes: HashMap<TextId, u32>,
    displays: HashMap<TextId, u32>,
    train_numbers: HashMap<TextId, u32>,
    stop_places: HashMap<TextId, u32>,
    quays: HashMap<TextId, u32>,
    place_of_quay: HashMap<TextId, TextId>,
    patterns: HashMap<TextId, u32>,
    demand_types: HashMap<TextId, u32>,
    demand_type_times: Vec<DemandTypeRunTimes>,
    line_of_route: HashMap<TextId, TextId>,
}

impl RecordIndex {
    fn new(publication: &Publication) -> RecordIndex {
        RecordIndex {
            organisations: index_by_id(&publication.organisations, |it| it.id),
            networks: index_by_id(&publication.networks, |it| it.id),
            lines: index_by_id(&publication.lines, |it| it.id),
            routes: index_by_id(&publication.routes, |it| it.id),
            displays: index_by_id(&publication.displays, |it| it.id),
            train_numbers: index_by_id(&publication.train_numbers, |it| it.id),
            stop_places: index_by_id(&publication.stop_places, |it| it.id),
            quays: index_by_id(&publication.quays, |it| it.id),
            place_of_quay: map_quays_to_stop_places(publication),
            patterns: index_by_id(&publication.patterns, |it| it.id),
            demand_types: index_by_id(&publication.demand_types, |it| it.id),
            demand_type_times: calls::compute_demand_type_times(publication),
            line_of_route: publication.line_of_route.iter().copied().collect(),
        }
    }
}

/// Returns the stop place of each quay: the one that contains it, else the one that it refers to, else the first that
/// refers to it. A place that contains other places is not a station.
fn map_quays_to_stop_places(publication: &Publication) -> HashMap<TextId, TextId> {
    let own = publication.quays.iter().filter(|quay| quay.parent != TextId::EMPTY);
    let mut places: HashMap<TextId, TextId> = own.map(|quay| (quay.id, quay.parent)).collect();
    let groups: HashSet<TextId> =
        publication.stop_places.iter().map(|place| place.parent).collect();
    let known: HashSet<TextId> = publication.stop_places.iter().map(|place| place.id).collect();
    let is_station = |place: &TextId| known.contains(place) && !groups.contains(place);
    for &(quay, place) in publication.place_of_quay.iter().filter(|(_, it)| is_station(it)) {
        places.entry(quay).or_insert(place);
    }
    places
}

/// Returns the index of each record by its id.
fn index_by_id<T>(records: &[T], id_of: impl Fn(&T) -> TextId) -> HashMap<TextId, u32> {
    let mut index = HashMap::with_capacity(records.len());
    for (number, record) in (0..).zip(records) {
        let id = id_of(record);
        if id != TextId::EMPTY {
            index.entry(id).or_insert(number);
        }
    }
    index
}

fn find_record_by_id<'r, T>(
    records: &'r [T],
    index: &HashMap<TextId, u32>,
    id: TextId,
) -> Option<&'r T> {
    records.get(*index.get(&id)? as usize)
}

impl<'p> GtfsWriter<'p, '_> {
    fn resolve_text(&self, text: TextId) -> &'p str {
        self.publication.resolve_text(text)
    }

    /// Reports a dangling reference `to` in a field of the record `of`.
    #[cold]
    fn report_dangling_reference(
        &mut self,
        file: u32,
        field: &'static str,
        of: TextId,
        to: TextId,
    ) {
        let (file, of, to) =
            (self.publication.file_name(file), self.resolve_text(of), self.resolve_text(to));
        self.problems.push_lazily(file, "unresolved_for_timetable", || {
            let detail = "refers to an object that is in no file";
            let problem = Problem::new(file, "unresolved_for_timetable", detail).with_record(of);
            problem.with_field(field).with_value(to)
        });
    }

    #[cold]
    fn report_record_problem(&mut self, file: u32, code: &'static str, detail: &str, of: TextId) {
        let (file, of) = (self.publication.file_name(file), self.resolve_text(of));
        self.problems.push_lazily(file, code, || Problem::new(file, code, detail).with_record(of));
    }
}

fn first_non_empty(texts: &[TextId]) -> TextId {
    texts.iter().copied().find(|&text| text != TextId::EMPTY).unwrap_or_default()
}

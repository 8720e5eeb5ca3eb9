//! NeTEx's words to those of GTFS: the one place where they change.
//!
//! Tables are written one after the other, each from the records, so nothing of GTFS is held in memory but what rows
//! have in common: which stop a stop point is, and which services there are.

mod agencies;
mod calls;
mod modes;
mod names;
mod routes;
mod services;
mod stand_in_points;
mod stops;
mod trips;
mod unread;

use std::collections::{HashMap, HashSet};

use self::{calls::Pace, services::Services};
use super::record::Publication;
use crate::{
    Error, Losses, Problem, Problems,
    gtfs::{Tables, Text},
};

/// Writes all tables.
pub(super) fn write(
    publication: &Publication,
    tables: &mut dyn Tables,
    problems: &mut Problems,
) -> Result<Losses, Error> {
    let mut writer = Writer {
        publication,
        index: Index::new(publication),
        tables,
        problems,
        losses: publication.untranslated.clone(),
        stop_of: HashMap::new(),
    };
    let agencies = writer.write_agencies()?;
    writer.write_feed_info()?;
    writer.write_stops()?;
    writer.write_routes(&agencies)?;
    let mut services = Services::new(publication);
    writer.check_days(&services);
    let trips = writer.choose_trips(&mut services)?;
    writer.write_services(&services)?;
    writer.write_trips(&trips, &services)?;
    writer.write_frequencies(&trips)?;
    // Whoever loads the tables as they come has by now all that stop times refer to.
    writer.write_stop_times(&trips)?;
    Ok(writer.losses)
}

/// A dataset that is being written.
struct Writer<'p, 'o> {
    publication: &'p Publication,
    index: Index,
    tables: &'o mut dyn Tables,
    problems: &'o mut Problems,
    losses: Losses,
    /// The `stop_id` of each stop point.
    stop_of: HashMap<Text, Text>,
}

/// Records by their ids. Of several of one id the first counts.
struct Index {
    organisations: HashMap<Text, u32>,
    networks: HashMap<Text, u32>,
    lines: HashMap<Text, u32>,
    routes: HashMap<Text, u32>,
    displays: HashMap<Text, u32>,
    train_numbers: HashMap<Text, u32>,
    stop_places: HashMap<Text, u32>,
    quays: HashMap<Text, u32>,
    place_of_quay: HashMap<Text, Text>,
    patterns: HashMap<Text, u32>,
    demand_types: HashMap<Text, u32>,
    /// Of each demand type.
    paces: Vec<Pace>,
    line_of_route: HashMap<Text, Text>,
}

impl Index {
    fn new(publication: &Publication) -> Index {
        Index {
            organisations: by_id(&publication.organisations, |it| it.id),
            networks: by_id(&publication.networks, |it| it.id),
            lines: by_id(&publication.lines, |it| it.id),
            routes: by_id(&publication.routes, |it| it.id),
            displays: by_id(&publication.displays, |it| it.id),
            train_numbers: by_id(&publication.train_numbers, |it| it.id),
            stop_places: by_id(&publication.stop_places, |it| it.id),
            quays: by_id(&publication.quays, |it| it.id),
            place_of_quay: places_of_quays(publication),
            patterns: by_id(&publication.patterns, |it| it.id),
            demand_types: by_id(&publication.demand_types, |it| it.id),
            paces: calls::paces(publication),
            line_of_route: publication.line_of_route.iter().copied().collect(),
        }
    }
}

/// The stop place of each quay: that in which it stands, or that it names, or else the first that lists it. One that
/// consists of others is nobody's station.
fn places_of_quays(publication: &Publication) -> HashMap<Text, Text> {
    let own = publication.quays.iter().filter(|quay| quay.parent != Text::EMPTY);
    let mut places: HashMap<Text, Text> = own.map(|quay| (quay.id, quay.parent)).collect();
    let groups: HashSet<Text> = publication.stop_places.iter().map(|place| place.parent).collect();
    let known: HashSet<Text> = publication.stop_places.iter().map(|place| place.id).collect();
    let is_station = |place: &Text| known.contains(place) && !groups.contains(place);
    for &(quay, place) in publication.place_of_quay.iter().filter(|(_, it)| is_station(it)) {
        places.entry(quay).or_insert(place);
    }
    places
}

/// The number of each record by its id.
fn by_id<T>(records: &[T], id_of: impl Fn(&T) -> Text) -> HashMap<Text, u32> {
    let mut index = HashMap::with_capacity(records.len());
    for (number, record) in (0..).zip(records) {
        let id = id_of(record);
        if id != Text::EMPTY {
            index.entry(id).or_insert(number);
        }
    }
    index
}

/// The record of an id.
fn find<'r, T>(records: &'r [T], index: &HashMap<Text, u32>, id: Text) -> Option<&'r T> {
    records.get(*index.get(&id)? as usize)
}

impl<'p> Writer<'p, '_> {
    fn text(&self, text: Text) -> &'p str {
        self.publication.text(text)
    }

    /// Tells of a reference that leads nowhere: in which file, of which record, and to what.
    #[cold]
    fn leads_nowhere(&mut self, file: u32, field: &'static str, of: Text, to: Text) {
        let (file, of, to) = (self.publication.file(file), self.text(of), self.text(to));
        self.problems.push_with(file, "unresolved_for_timetable", || {
            let detail = "refers to something that is in no file";
            let problem = Problem::new(file, "unresolved_for_timetable", detail).in_record(of);
            problem.in_field(field).with_value(to)
        });
    }

    /// Tells what is wrong about a record.
    #[cold]
    fn complain(&mut self, file: u32, code: &'static str, detail: &str, of: Text) {
        let (file, of) = (self.publication.file(file), self.text(of));
        self.problems.push_with(file, code, || Problem::new(file, code, detail).in_record(of));
    }
}

/// The first text that is not empty.
fn first_given(texts: &[Text]) -> Text {
    texts.iter().copied().find(|&text| text != Text::EMPTY).unwrap_or_default()
}

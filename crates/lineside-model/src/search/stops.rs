//! The search index of a schedule.

use lineside_formats::gtfs::{RouteIdx, StopIdx, Timetable};
use rstar::{AABB, PointDistance, RTree, RTreeObject};

use super::{
    fold::{
        compare_names_naturally, fold_for_search, has_whole_words, has_words_by_prefix,
        parse_query_words,
    },
    routes::{RouteQuery, is_generic_word},
    spelling::SpellingCorrector,
};
use crate::{bounds::BoundingBox, limits::SPELLING_COMPARISONS_MAX};

/// Mean radius of the earth in meters.
const EARTH_RADIUS: f64 = 6_371_008.8;
/// Number of nearest candidates examined per requested hit: the order of distances in degrees differs from that in
/// meters.
const NEAR_CANDIDATES: usize = 4;
/// Stops farther away than this, in meters, follow the nearer ones that match the same words.
const NEAR_METERS_MAX: f64 = 100_000.0;

/// Rank of stops that no route serves, of stops far away, and of stops that are not stations. Each exceeds the sum of
/// the ranks after it, so that the first difference decides.
const RANK_UNSERVED: f64 = 100_000.0;
const RANK_FAR: f64 = 10_000.0;
const RANK_NO_STATION: f64 = 1000.0;

/// A search for stops; all given conditions must hold.
#[derive(Clone, Debug, Default)]
pub struct StopSearchQuery {
    /// Words, each the beginning of a word of the name; or the whole id or code.
    pub text: Option<String>,
    /// The box that must contain the stop.
    pub bbox: Option<BoundingBox>,
    /// Latitude and longitude of a point: of equally good matches the nearest comes first.
    pub near: Option<(f64, f64)>,
    /// The maximum number of hits.
    pub limit: usize,
}

pub fn correct_misspelled_words(
    words: &[String],
    has_prefix: impl Fn(&str) -> bool,
    mut compare: impl FnMut(&mut SpellingCorrector),
) -> Option<Vec<String>> {
    let mut is_changed = false;
    let mut correct = |word: &String| {
        let matcher =
            SpellingCorrector::new(word).filter(|_| !is_generic_word(word) && !has_prefix(word));
        let best = matcher.and_then(|mut matcher| {
            compare(&mut matcher);
            matcher.into_best()
        });
        is_changed |= best.is_some();
        best.unwrap_or_else(|| word.clone())
    };
    let corrected: Vec<String> = words.iter().map(&mut correct).collect();
    is_changed.then_some(corrected)
}

/// The search index of a dataset: positions and words of stops, and names of routes.
#[derive(Debug)]
pub struct StopAndRouteSearchIndex {
    /// Concatenated folded names.
    names: String,
    /// Start and end of each stop's name in `names`.
    spans: Vec<(StopIdx, u32, u32)>,
    /// Start of each word in `names` with the index of its span, in the order of the words.
    words: Vec<(u32, u32)>,
    /// Indexes of the spans, in the order of their names.
    by_name: Vec<u32>,
    positions: RTree<StopPosition>,
    routes: Vec<Box<str>>,
}

/// A page of a network's stops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopSearchPage {
    pub stops: Vec<StopIdx>,
    /// The number of all matching stops.
    pub total: usize,
    /// The corrected query, if the original one has no hits.
    pub corrected: Option<String>,
}

#[derive(Debug)]
struct StopPosition {
    lat: f64,
    lon: f64,
    stop: StopIdx,
}

impl RTreeObject for StopPosition {
    type Envelope = AABB<[f64; 2]>;

    fn envelope(&self) -> AABB<[f64; 2]> {
        AABB::from_point([self.lon, self.lat])
    }
}

impl PointDistance for StopPosition {
    fn distance_2(&self, point: &[f64; 2]) -> f64 {
        // Degrees of longitude shrink toward the poles.
        let width = point[1].to_radians().cos();
        ((self.lon - point[0]) * width).powi(2) + (self.lat - point[1]).powi(2)
    }
}

/// Returns true if the stop is searchable: not an entrance, a node or a platform of a station.
fn is_searchable(location_type: u8, has_parent: bool) -> bool {
    location_type == 1 || location_type == 0 && !has_parent
}

impl StopAndRouteSearchIndex {
    pub fn new(timetable: &Timetable) -> StopAndRouteSearchIndex {
        let mut names = String::new();
        let mut spans = Vec::new();
        let mut words = Vec::new();
        let mut positions = Vec::new();
        for stop in timetable.stops() {
            if !is_searchable(stop.location_type, stop.parent.is_some()) {
                continue;
            }
            if let (Some(lat), Some(lon)) = (stop.lat, stop.lon) {
                positions.push(StopPosition { lat, lon, stop: stop.idx });
            }
            let start = names.len();
            names.push_str(&fold_for_search(stop.name));
            // Offsets are 32 bits; a city's names take a few megabytes.
            let Ok(end) = u32::try_from(names.len()) else { break };
            let span = spans.len() as u32;
            let mut at = start;
            for word in names[start..].split(' ').filter(|word| !word.is_empty()) {
                words.push((at as u32, span));
                at += word.len() + 1;
            }
            spans.push((stop.idx, start as u32, end));
        }
        let routes = timetable.routes().map(|route| {
            fold_for_search(&format!("{} {}", route.short_name, route.long_name)).into_boxed_str()
        });
        let (routes, positions) = (routes.collect(), RTree::bulk_load(positions));
        let mut by_name: Vec<u32> = (0..spans.len() as u32).collect();
        let mut index = StopAndRouteSearchIndex {
            names,
            spans,
            words: Vec::new(),
            by_name: Vec::new(),
            positions,
            routes,
        };
        // A word is compared only up to the end of its name: otherwise equal names would be compared to the end of all
        // names.
        words
            .sort_by(|&a, &b| index.word_with_rest_of_name(a).cmp(index.word_with_rest_of_name(b)));
        index.words = words;
        let lacks_trips: Vec<bool> =
            index.spans.iter().map(|&(stop, ..)| !has_trips_at_stop(timetable, stop)).collect();
        by_name.sort_by(|&a, &b| {
            let by_name = compare_names_naturally(index.folded_name(a), index.folded_name(b));
            lacks_trips[a as usize].cmp(&lacks_trips[b as usize]).then(by_name).then(a.cmp(&b))
        });
        index.by_name = by_name;
        index
    }

    fn folded_name(&self, span: u32) -> &str {
        let (_, start, end) = self.spans[span as usize];
        &self.names[start as usize..end as usize]
    }

    /// Returns true if a folded word begins a word of a stop or a route.
    pub fn is_prefix_of_any_word(&self, word: &str) -> bool {
        let first = self.words.partition_point(|&known| self.word_with_rest_of_name(known) < word);
        let is_stop_word = self
            .words
            .get(first)
            .is_some_and(|&it| self.word_with_rest_of_name(it).starts_with(word));
        let own = [word.to_owned()];
        is_stop_word || self.routes.iter().any(|name| has_words_by_prefix(name, &own))
    }

    /// Compares a misspelled word with the words of stops and routes that begin with the same letter, with at most
    /// `left` comparisons.
    pub fn compare_with_index_words(&self, matcher: &mut SpellingCorrector, left: &mut usize) {
        let letter = matcher.initial_of_candidates();
        let mut initial_buffer = [0; 4];
        let initial: &str = letter.encode_utf8(&mut initial_buffer);
        let first =
            self.words.partition_point(|&known| self.word_with_rest_of_name(known) < initial);
        let stop_words = self.words[first..]
            .iter()
            .map(|&known| self.word_with_rest_of_name(known).split(' ').next().unwrap_or_default())
            .take_while(|known| known.starts_with(letter));
        let route_words = self.routes.iter().flat_map(|name| name.split(' '));
        let route_words = route_words.filter(|known| known.starts_with(letter));
        let mut previous = "";
        for known in stop_words.chain(route_words) {
            if *left == 0 {
                return;
            }
            *left -= 1;
            if known != previous {
                matcher.consider_known_word(known);
            }
            previous = known;
        }
    }

    /// Corrects misspelled words by this index; `None` if there is nothing to correct.
    fn correct_words_by_index(&self, words: &[String]) -> Option<Vec<String>> {
        let mut left = SPELLING_COMPARISONS_MAX;
        correct_misspelled_words(
            words,
            |word| self.is_prefix_of_any_word(word),
            |matcher| {
                self.compare_with_index_words(matcher, &mut left);
            },
        )
    }

    /// Returns a word with the rest of its name.
    fn word_with_rest_of_name(&self, (at, span): (u32, u32)) -> &str {
        let (_, _, end) = self.spans[span as usize];
        &self.names[at as usize..end as usize]
    }

    /// Returns the searchable stops of the timetable, without entrances and the platforms of stations: from index
    /// `skip` on, at most `limit`. Without words all stops in the order of their names, else the best matches first.
    pub fn search_stops_page(
        &self,
        timetable: &Timetable,
        text: &str,
        skip: usize,
        limit: usize,
    ) -> StopSearchPage {
        let words = parse_query_words(text);
        if words.is_empty() {
            let stops = self.by_name.iter().skip(skip).take(limit);
            let stops = stops.map(|&span| self.spans[span as usize].0);
            let total = self.by_name.len();
            return StopSearchPage { stops: stops.collect(), total, corrected: None };
        }
        let find = |text: &str| {
            let query =
                StopSearchQuery { text: Some(text.to_owned()), ..StopSearchQuery::default() };
            self.search_stops_with_ranks(timetable, &query, usize::MAX)
        };
        let (mut found, mut corrected) = (find(text), None);
        if found.is_empty() {
            corrected = self.correct_words_by_index(&words).map(|words| words.join(" "));
            found = corrected.as_deref().map(find).unwrap_or_default();
        }
        let stops = found.iter().skip(skip).take(limit).map(|&(_, stop, _)| stop);
        StopSearchPage { stops: stops.collect(), total: found.len(), corrected }
    }

    /// Returns the first characters of the stops' names, in the order of [`StopAndRouteSearchIndex::search_stops_page`]
    /// without words, each with the index of its first stop; all digits as `0`. Stops without trips are left out: they
    /// are last.
    pub fn stop_name_initials(&self, timetable: &Timetable) -> Vec<(char, usize)> {
        let mut initials: Vec<(char, usize)> = Vec::new();
        for (at, &span) in self.by_name.iter().enumerate() {
            if !has_trips_at_stop(timetable, self.spans[span as usize].0) {
                break;
            }
            let Some(first) = self.folded_name(span).chars().next() else { continue };
            let first = if first.is_ascii_digit() { '0' } else { first };
            if initials.last().is_none_or(|(last, _)| *last != first) {
                initials.push((first, at));
            }
        }
        initials
    }

    /// Returns the matching routes with their rank: the least is best.
    pub fn rank_routes(
        &self,
        timetable: &Timetable,
        query: &RouteQuery,
    ) -> impl Iterator<Item = ((u8, usize), RouteIdx)> {
        let routes = timetable.routes().zip(self.folded_route_names());
        routes.filter_map(|(route, folded)| {
            let rank = query.rank_route(folded, &fold_for_search(route.short_name), route.kind)?;
            Some(((rank, route.short_name.len()), route.idx))
        })
    }

    /// Returns the routes that a text names, the best matches first.
    pub fn search_routes(&self, timetable: &Timetable, text: &str) -> Vec<RouteIdx> {
        let words = parse_query_words(text);
        if words.is_empty() {
            return Vec::new();
        }
        let query = RouteQuery::new(words);
        let mut found: Vec<_> = self.rank_routes(timetable, &query).collect();
        found.sort_by_key(|&(rank, _)| rank);
        found.into_iter().map(|(_, route)| route).collect()
    }

    /// Returns the folded names of the routes, in the order of their indexes.
    pub fn folded_route_names(&self) -> &[Box<str>] {
        &self.routes
    }

    /// Returns stops with their rank (smaller is better) and their distance.
    pub fn search_stops_with_ranks(
        &self,
        timetable: &Timetable,
        query: &StopSearchQuery,
        limit: usize,
    ) -> Vec<(f64, StopIdx, Option<f64>)> {
        let words = query.text.as_deref().map(parse_query_words);
        if let Some(point) = query.near {
            return self.search_stops_near(timetable, query, words.as_deref(), point, limit);
        }
        let found: Vec<StopIdx> = match (&words, query.bbox) {
            (Some(words), _) => {
                self.find_by_words(words).chain(find_by_code(timetable, query)).collect()
            }
            (None, Some(bbox)) => self.find_in_box(bbox),
            (None, None) => self.spans.iter().map(|&(stop, _, _)| stop).collect(),
        };
        let mut ranked: Vec<_> = found
            .into_iter()
            .filter(|&stop| is_in_box(timetable, stop, query.bbox))
            .map(|stop| {
                (
                    rank_stop_by_name(timetable, stop, words.as_deref().unwrap_or_default()),
                    stop,
                    None,
                )
            })
            .collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        ranked.dedup_by_key(|&mut (_, stop, _)| stop);
        ranked.truncate(limit);
        ranked
    }

    /// Returns stops with their rank and their distance from a point: those that match the words or a code, of equal
    /// matches the nearest first; without words all, the nearest first.
    fn search_stops_near(
        &self,
        timetable: &Timetable,
        query: &StopSearchQuery,
        words: Option<&[String]>,
        point: (f64, f64),
        limit: usize,
    ) -> Vec<(f64, StopIdx, Option<f64>)> {
        let is_inside = |stop: &StopIdx| is_in_box(timetable, *stop, query.bbox);
        let words = words.filter(|words| !words.is_empty());
        let candidates: Vec<StopIdx> = match words {
            Some(words) => self
                .find_by_words(words)
                .chain(find_by_code(timetable, query))
                .filter(is_inside)
                .collect(),
            None => {
                let nearest = self.positions.nearest_neighbor_iter(&[point.1, point.0]);
                let inside = nearest.map(|nearest_stop| nearest_stop.stop).filter(is_inside);
                inside.take(limit.saturating_mul(NEAR_CANDIDATES)).collect()
            }
        };
        let measure = |stop: StopIdx| {
            let stop_data = timetable.stop(stop);
            let meters = distance_meters(point, stop_data.lat.zip(stop_data.lon)?);
            let far = if meters > NEAR_METERS_MAX { RANK_FAR } else { 0.0 };
            let rank = words.map_or(0.0, |words| far + rank_stop_match(timetable, stop, words));
            Some((rank, stop, Some(meters)))
        };
        let mut measured: Vec<_> = candidates.into_iter().filter_map(measure).collect();
        let meters = |found: &(f64, StopIdx, Option<f64>)| found.2.unwrap_or_default();
        measured.sort_by(|a, b| {
            let by_distance = meters(a).total_cmp(&meters(b));
            a.0.total_cmp(&b.0).then(by_distance).then(a.1.cmp(&b.1))
        });
        measured.dedup_by_key(|&mut (_, stop, _)| stop);
        measured.truncate(limit);
        measured
    }

    /// Returns the stops that match each of `words`; the longest one is looked up, the others are compared.
    fn find_by_words<'a>(&'a self, words: &'a [String]) -> impl Iterator<Item = StopIdx> + 'a {
        let longest = words.iter().max_by_key(|word| word.len()).map_or("", String::as_str);
        let first = self.words.partition_point(|&word| self.word_with_rest_of_name(word) < longest);
        let candidates = if longest.is_empty() { &[] } else { &self.words[first..] };
        let mut spans: Vec<u32> = candidates
            .iter()
            .take_while(|&&word| self.word_with_rest_of_name(word).starts_with(longest))
            .map(|&(_, span)| span)
            .collect();
        spans.sort_unstable();
        spans.dedup();
        spans.into_iter().filter_map(move |span| {
            let (stop, start, end) = self.spans[span as usize];
            has_words_by_prefix(&self.names[start as usize..end as usize], words).then_some(stop)
        })
    }

    fn find_in_box(&self, bbox: BoundingBox) -> Vec<StopIdx> {
        let halves = if bbox.min_lon <= bbox.max_lon {
            vec![(bbox.min_lon, bbox.max_lon)]
        } else {
            vec![(bbox.min_lon, 180.0), (-180.0, bbox.max_lon)]
        };
        let boxes = halves
            .into_iter()
            .map(|(west, east)| AABB::from_corners([west, bbox.min_lat], [east, bbox.max_lat]));
        boxes.flat_map(|it| self.positions.locate_in_envelope(&it)).map(|hit| hit.stop).collect()
    }
}

/// Returns the rank of a stop without a point: of equal matches, the shortest name comes first.
fn rank_stop_by_name(timetable: &Timetable, stop: StopIdx, words: &[String]) -> f64 {
    let length =
        if words.is_empty() { 0 } else { fold_for_search(timetable.stop(stop).name).len() };
    rank_stop_match(timetable, stop, words) + length.min(999) as f64
}

/// Returns the rank of a stop by its match: stops that a route serves come first, then the exact name, then names with
/// all words of the query as whole words, then names that begin with the query, then stations.
fn rank_stop_match(timetable: &Timetable, stop: StopIdx, words: &[String]) -> f64 {
    let data = timetable.stop(stop);
    let kind = if data.location_type == 1 { 0.0 } else { RANK_NO_STATION };
    if words.is_empty() {
        return kind;
    }
    let name = fold_for_search(data.name);
    let begins = words.first().is_some_and(|word| name.starts_with(word.as_str()));
    let exact = name == words.join(" ");
    let group = match (exact, has_whole_words(&name, words), begins) {
        (true, _, _) => 0.0,
        (_, true, true) => 2000.0,
        (_, true, false) => 4000.0,
        (_, false, true) => 6000.0,
        _ => 8000.0,
    };
    group + kind + if has_trips_at_stop(timetable, stop) { 0.0 } else { RANK_UNSERVED }
}

/// Returns true if trips call at a stop, or at a platform of a station.
fn has_trips_at_stop(timetable: &Timetable, stop: StopIdx) -> bool {
    let mut stops = timetable.stop_and_descendants(stop).into_iter();
    stops.any(|stop| !timetable.patterns_at_stop(stop).is_empty())
}

/// Returns the stops whose id or code equals the query. Stops on both sides of a street may share a code.
fn find_by_code<'a>(
    timetable: &'a Timetable,
    query: &'a StopSearchQuery,
) -> impl Iterator<Item = StopIdx> + 'a {
    let text = query.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let by_id = text.and_then(|text| timetable.find_stop(text));
    let has_code = move |code: Option<&str>| code.is_some() && code == text;
    let by_code =
        timetable.stops().filter(move |stop| stop.location_type <= 1 && has_code(stop.code));
    by_id.into_iter().chain(by_code.map(|stop| stop.idx))
}

fn is_in_box(timetable: &Timetable, stop: StopIdx, bbox: Option<BoundingBox>) -> bool {
    let Some(bbox) = bbox else { return true };
    let stop = timetable.stop(stop);
    stop.lat.zip(stop.lon).is_some_and(|(lat, lon)| bbox.contains(lat, lon))
}

/// Returns the distance in meters between two points of latitude and longitude.
fn distance_meters((lat_a, lon_a): (f64, f64), (lat_b, lon_b): (f64, f64)) -> f64 {
    let half = |degrees: f64| (degrees.to_radians() / 2.0).sin().powi(2);
    let across = lat_a.to_radians().cos() * lat_b.to_radians().cos();
    2.0 * EARTH_RADIUS * (half(lat_b - lat_a) + across * half(lon_b - lon_a)).sqrt().min(1.0).asin()
}

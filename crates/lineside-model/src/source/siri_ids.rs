//! Mapping of ids in SIRI to ids in the schedule.

use std::{collections::HashMap, sync::Arc};

use smol_str::{SmolStr, format_smolstr};

/// Maximum size of a table of ids, in bytes.
const TABLE_BYTES_MAX: usize = 64 << 20;
/// Maximum number of rows of a table of ids.
const TABLE_ROWS_MAX: usize = 1_000_000;

/// The kind of item that an id names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdKind {
    /// A line, a route in GTFS.
    Line,
    /// A journey, a trip in GTFS.
    Journey,
    /// A stop point, quay or stop place.
    Stop,
    /// An operator, an agency in GTFS.
    Operator,
}

impl IdKind {
    /// All kinds.
    pub const ALL: [IdKind; 4] = [IdKind::Line, IdKind::Journey, IdKind::Stop, IdKind::Operator];

    /// Returns the name of the kind in a table.
    pub fn as_str(self) -> &'static str {
        match self {
            IdKind::Line => "line",
            IdKind::Journey => "journey",
            IdKind::Stop => "stop",
            IdKind::Operator => "operator",
        }
    }
}

/// The mapping from the ids of a SIRI feed to those of its schedule.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SiriIdMapping {
    /// The ids are equal.
    #[default]
    Same,
    /// The ids differ by a prefix: it is removed from ids that begin with it and added to others.
    Prefix(SmolStr),
    /// SIRI uses NeTEx object ids, the schedule only the part that names the object: `FR:Quay:123:LOC` becomes `123`.
    Netex,
    /// A table from a file; ids that it does not contain are unchanged.
    Table(Arc<str>, Arc<IdTable>),
}

impl SiriIdMapping {
    /// Returns the schedule's id.
    pub fn map_to_schedule_id(&self, kind: IdKind, id: &str) -> SmolStr {
        match self {
            SiriIdMapping::Same => SmolStr::new(id),
            SiriIdMapping::Prefix(prefix) => match id.strip_prefix(prefix.as_str()) {
                Some(rest) => SmolStr::new(rest),
                None => format_smolstr!("{prefix}{id}"),
            },
            SiriIdMapping::Netex => netex_id_object_part(id),
            SiriIdMapping::Table(_, table) => {
                table.find_id(kind, id).unwrap_or_else(|| SmolStr::new(id))
            }
        }
    }

    /// Parses the configured name; a table has none.
    pub fn parse(name: &str) -> Option<SiriIdMapping> {
        match (name, name.strip_prefix("prefix:")) {
            ("same", _) => Some(SiriIdMapping::Same),
            ("netex", _) => Some(SiriIdMapping::Netex),
            (_, Some(prefix)) if !prefix.is_empty() => Some(SiriIdMapping::Prefix(prefix.into())),
            _ => None,
        }
    }

    /// Returns the configured name; `None` for a table.
    pub fn config_name(&self) -> Option<SmolStr> {
        match self {
            SiriIdMapping::Same => Some(SmolStr::new_static("same")),
            SiriIdMapping::Prefix(prefix) => Some(format_smolstr!("prefix:{prefix}")),
            SiriIdMapping::Netex => Some(SmolStr::new_static("netex")),
            SiriIdMapping::Table(..) => None,
        }
    }
}

/// Returns the part of a NeTEx id that names the object: `NO:Line:7` and `FR:Line:7:LOC` both yield 7. French ids may
/// contain a qualifier of up to two letters before it: `X:StopPoint:Q:7:LOC`. Other ids are unchanged.
fn netex_id_object_part(id: &str) -> SmolStr {
    let mut parts: Vec<&str> = id.split(':').collect();
    if parts.len() < 3 {
        return SmolStr::new(id);
    }
    parts.drain(..2);
    if parts.len() > 1 && parts.last().is_some_and(|last| last.is_empty() || *last == "LOC") {
        parts.pop();
    }
    let is_kind = |part: &&str| part.len() <= 2 && part.bytes().all(|it| it.is_ascii_uppercase());
    if parts.len() > 1 && parts.first().is_some_and(is_kind) {
        parts.remove(0);
    }
    match parts.join(":") {
        name if name.is_empty() => SmolStr::new(id),
        name => SmolStr::from(name),
    }
}

/// Ids of the schedule by kind and SIRI id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdTable {
    by_kind: [HashMap<SmolStr, SmolStr>; IdKind::ALL.len()],
}

/// An invalid table of ids.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {detail}")]
pub struct IdTableError {
    line: u64,
    detail: String,
}

impl IdTable {
    /// Parses a table: CSV with the columns `kind,siri,gtfs` in its first line; a kind is `line`, `journey`, `stop`,
    /// `operator`, or empty for all of them.
    ///
    /// # Errors
    /// Returns the first invalid line and what is wrong with it.
    pub fn parse(text: &[u8]) -> Result<IdTable, IdTableError> {
        let fail = |line, detail: String| Err(IdTableError { line, detail });
        if text.len() > TABLE_BYTES_MAX {
            return fail(1, format!("the table is larger than {} MiB", TABLE_BYTES_MAX >> 20));
        }
        let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        let mut table = IdTable::default();
        let mut rows = 0;
        for (line, row) in (1..).zip(text.split(|&byte| byte == b'\n')) {
            let Ok(row) = std::str::from_utf8(row) else {
                return fail(line, "is not UTF-8".to_owned());
            };
            let row = row.trim_end_matches('\r');
            let cells: Vec<&str> = row.split(',').map(|it| it.trim().trim_matches('"')).collect();
            match (line, cells.as_slice()) {
                (1, ["kind", "siri", "gtfs"]) | (2.., [""]) => continue,
                (2.., [kind, siri, gtfs]) if !siri.is_empty() && !gtfs.is_empty() => {
                    let kinds = parse_kinds(kind);
                    if kinds.is_empty() {
                        let kinds = IdKind::ALL.map(IdKind::as_str).join(", ");
                        return fail(line, format!("{kind:?} is not one of the kinds {kinds}"));
                    }
                    for kind in kinds {
                        let kind_table = &mut table.by_kind[kind as usize];
                        kind_table.insert(SmolStr::new(siri), SmolStr::new(gtfs));
                    }
                }
                (1, _) => return fail(line, "must be kind,siri,gtfs".to_owned()),
                _ => return fail(line, "must have a kind, a SIRI id and a GTFS id".to_owned()),
            }
            rows += 1;
            if rows > TABLE_ROWS_MAX {
                return fail(line, format!("the table has more than {TABLE_ROWS_MAX} rows"));
            }
        }
        Ok(table)
    }

    fn find_id(&self, kind: IdKind, id: &str) -> Option<SmolStr> {
        self.by_kind[kind as usize].get(id).cloned()
    }
}

fn parse_kinds(name: &str) -> Vec<IdKind> {
    let fits = |kind: &IdKind| name.is_empty() || kind.as_str() == name;
    IdKind::ALL.into_iter().filter(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siri_ids_map_to_ids_of_the_schedule() {
        let table = IdTable::parse(b"kind,siri,gtfs\nstop,A,1\r\n,B,2\n\n").unwrap();
        let table = SiriIdMapping::Table("ids.csv".into(), Arc::new(table));
        for (ids, kind, id, expected) in [
            (&SiriIdMapping::Same, IdKind::Stop, "NSR:Quay:7", "NSR:Quay:7"),
            (&SiriIdMapping::Prefix("no:".into()), IdKind::Line, "7", "no:7"),
            (&SiriIdMapping::Prefix("no:".into()), IdKind::Line, "no:7", "7"),
            (&SiriIdMapping::Netex, IdKind::Stop, "NSR:Quay:7", "7"),
            (&SiriIdMapping::Netex, IdKind::Stop, "STIF:StopPoint:Q:22092:", "22092"),
            (&SiriIdMapping::Netex, IdKind::Line, "FR:Line:A:B:LOC", "B"),
            (&SiriIdMapping::Netex, IdKind::Line, "FR:Line:north:1:LOC", "north:1"),
            (&SiriIdMapping::Netex, IdKind::Journey, "X:VehicleJourney::7:LOC", "7"),
            (&SiriIdMapping::Netex, IdKind::Line, "7", "7"),
            (&SiriIdMapping::Netex, IdKind::Line, "a::", "a::"),
            (&table, IdKind::Stop, "A", "1"),
            (&table, IdKind::Line, "A", "A"),
            (&table, IdKind::Line, "B", "2"),
        ] {
            assert_eq!(ids.map_to_schedule_id(kind, id), expected, "{id} mapped by {ids:?}");
        }
    }

    #[test]
    fn id_rules_round_trip_through_their_text() {
        for name in ["same", "netex", "prefix:no:"] {
            assert_eq!(
                SiriIdMapping::parse(name).and_then(|ids| ids.config_name()).as_deref(),
                Some(name)
            );
        }
        assert_eq!((SiriIdMapping::parse("prefix:"), SiriIdMapping::parse("other")), (None, None));
    }

    #[test]
    fn an_invalid_table_names_the_line() {
        for (text, expected) in [
            (&b"stop,A,1\n"[..], "line 1: must be kind,siri,gtfs"),
            (b"kind,siri,gtfs\nstop,A\n", "line 2: must have a kind, a SIRI id and a GTFS id"),
            (
                b"kind,siri,gtfs\nquay,A,1\n",
                "line 2: \"quay\" is not one of the kinds line, journey, stop, operator",
            ),
            (b"kind,siri,gtfs\nstop,\xFF,1\n", "line 2: is not UTF-8"),
        ] {
            assert_eq!(IdTable::parse(text).unwrap_err().to_string(), expected);
        }
    }
}

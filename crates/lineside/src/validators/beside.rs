//! What validators said of a version, beside what we say of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use lineside_ingest::Feed;
use lineside_sync::UnixMillis;
use lineside_validate::Severity;

use super::opinion::{Opinion, Said};
use crate::app::App;
use crate::http::{find_report, remembered};
use crate::reports::{Finding, Report, Subject};

/// Opinions that are read of one version: more than there may be validators, as some are gone.
const OPINIONS_MAX: usize = 100;

/// One validator's word, and ours on the same version.
#[derive(Debug)]
pub(crate) struct Beside {
    /// The validator.
    pub(crate) name: String,
    /// What it said; none before its first run has ended.
    pub(crate) opinion: Option<Arc<Opinion>>,
    /// What we say of the version that its last word is about, where that is known.
    pub(crate) ours: Option<Arc<Report>>,
    /// Whether it looks at the feed's newest version right now, or that waits for it.
    pub(crate) is_pending: bool,
}

/// How many findings of one code there are, and how bad they are at worst.
pub(crate) type Count = Option<(Severity, u64)>;

/// One code as both have it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Compared<'a> {
    pub(crate) code: &'a str,
    pub(crate) ours: Count,
    pub(crate) theirs: Count,
}

impl Compared<'_> {
    /// Whether they say different things.
    pub(crate) fn differs(&self) -> bool {
        self.ours != self.theirs
    }

    fn worst(&self) -> Option<Severity> {
        let severity = |count: Count| count.map(|(severity, _)| severity);
        severity(self.ours).max(severity(self.theirs))
    }
}

impl Beside {
    /// Its last word.
    pub(crate) fn said(&self) -> Option<&Said> {
        self.opinion.as_ref().and_then(|opinion| opinion.said.as_ref())
    }

    /// When what is known of it last became another.
    pub(crate) fn changed(&self) -> Option<UnixMillis> {
        let opinion = self.opinion.as_ref()?;
        let said = opinion.said.as_ref().map(Said::ended_at);
        said.max(opinion.failed.as_ref().map(|failed| failed.at)).map(UnixMillis)
    }

    /// Each code as both have it, what differs first, of that the worst; none where one of both gave no report.
    pub(crate) fn compared(&self) -> Option<Vec<Compared<'_>>> {
        let theirs = self.said()?.findings()?;
        let ours = self.ours.as_ref().filter(|report| report.is_word())?;
        Some(compared(&ours.findings, theirs))
    }
}

fn compared<'a>(ours: &'a [Finding], theirs: &'a [Finding]) -> Vec<Compared<'a>> {
    let mut codes: BTreeMap<&str, (Count, Count)> = BTreeMap::new();
    for finding in ours {
        add(&mut codes.entry(&finding.code).or_default().0, finding);
    }
    for finding in theirs {
        add(&mut codes.entry(&finding.code).or_default().1, finding);
    }
    let both = codes.into_iter().map(|(code, (ours, theirs))| Compared { code, ours, theirs });
    let mut both: Vec<Compared<'_>> = both.collect();
    both.sort_by_key(|it| (!it.differs(), std::cmp::Reverse(it.worst())));
    both
}

fn add(count: &mut Count, finding: &Finding) {
    let (severity, total) = count.unwrap_or((finding.severity, 0));
    *count = Some((severity.max(finding.severity), total.saturating_add(finding.total)));
}

/// All that validators said of the version of a report, or, where it is the feed's latest, what they said last.
pub(crate) async fn beside(
    app: &App,
    feed: &Feed,
    report: &Arc<Report>,
    is_latest: bool,
) -> Vec<Beside> {
    let Subject::Dataset { version, .. } = &report.subject else { return Vec::new() };
    let mut opinions: Vec<Arc<Opinion>> = app.validators().of(feed.id().as_str()).to_vec();
    if !is_latest {
        opinions.retain(|opinion| opinion.version == *version);
        opinions.extend(kept(app, feed, version).await);
        opinions.sort_by(|a, b| a.validator.cmp(&b.validator));
        // The first is what is known, which may not be on the disk yet.
        opinions.dedup_by(|a, b| a.validator == b.validator);
    }
    let mut all = Vec::new();
    for opinion in opinions {
        let ours = ours(app, feed, report, &opinion).await;
        let name = opinion.validator.clone();
        all.push(Beside { name, opinion: Some(opinion), ours, is_pending: false });
    }
    if is_latest {
        add_pending(app, feed, &mut all);
    }
    all
}

/// What was kept of that version; nothing where it cannot be read now.
async fn kept(app: &App, feed: &Feed, version: &str) -> Vec<Arc<Opinion>> {
    let Some(store) = app.store().map(Arc::clone) else { return Vec::new() };
    let (id, version) = (feed.id().clone(), version.to_owned());
    let subjects = Opinion::subjects();
    let read = move |_: &dyn lineside_ingest::Archive| {
        store.list_reports_of(&id, subjects, &version, OPINIONS_MAX)
    };
    let rows = remembered(app, read).await.unwrap_or_default();
    rows.iter().filter_map(Opinion::of_row).map(Arc::new).collect()
}

/// What we say of what it spoke of last.
async fn ours(
    app: &App,
    feed: &Feed,
    report: &Arc<Report>,
    opinion: &Opinion,
) -> Option<Arc<Report>> {
    let about = &opinion.said.as_ref()?.version;
    if report.subject.version() == Some(about.as_str()) {
        return Some(Arc::clone(report));
    }
    find_report(app, feed, Some(about.as_str())).await.ok()
}

/// Says who looks right now, and names those who never did before.
fn add_pending(app: &App, feed: &Feed, all: &mut Vec<Beside>) {
    let (validators, id) = (app.validators(), feed.id().as_str());
    for beside in all.iter_mut() {
        beside.is_pending = validators.is_pending(id, &beside.name);
    }
    for validator in &app.config().validators {
        let is_new = all.iter().all(|beside| beside.name != validator.name);
        if is_new && validators.is_pending(id, &validator.name) {
            let name = validator.name.to_string();
            all.push(Beside { name, opinion: None, ours: None, is_pending: true });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reports::test_report;

    #[test]
    fn what_differs_comes_first_and_of_that_the_worst() {
        use Severity::{Error, Info, Warning};
        let ours = test_report(
            "a",
            &[("same", Error, 3), ("more", Info, 9), ("mine", Warning, 1), ("graver", Warning, 2)],
        );
        let theirs = test_report(
            "a",
            &[
                ("same", Error, 2),
                ("same", Warning, 1),
                ("more", Info, 8),
                ("theirs", Error, 1),
                ("graver", Error, 2),
            ],
        );
        let both = compared(&ours.findings, &theirs.findings);
        let told: Vec<_> = both.iter().map(|it| (it.code, it.ours, it.theirs)).collect();
        assert_eq!(
            told,
            [
                ("graver", Some((Warning, 2)), Some((Error, 2))),
                ("theirs", None, Some((Error, 1))),
                ("mine", Some((Warning, 1)), None),
                ("more", Some((Info, 9)), Some((Info, 8))),
                ("same", Some((Error, 3)), Some((Error, 3))),
            ]
        );
        assert!(!both[4].differs() && both[..4].iter().all(Compared::differs));
    }
}

//! Looks at all feeds once a second.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use lineside_ingest::{Feed, FeedId, FeedState};
use lineside_sync::UnixMillis;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::notice::{About, Kind, Notice};
use super::outbox::Outbox;
use super::said::{self, Patience, Said};
use crate::app::App;
use crate::config::{Alert, Config};

/// How often feeds are looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

struct Target {
    alert: Alert,
    outbox: Arc<Outbox>,
    /// Ends its sending; none before that has begun.
    sending: Option<DropGuard>,
    /// What was said of states.
    states: HashMap<FeedId, Said>,
    /// What was said of ends.
    ends: HashMap<FeedId, String>,
}

/// How a feed is, beyond its status.
struct Course {
    is_trouble: bool,
    /// Since when it is so, whatever the states were.
    since: UnixMillis,
}

struct Watch {
    app: App,
    /// What the targets were made from.
    config: Arc<Config>,
    targets: Vec<Target>,
    courses: HashMap<FeedId, Course>,
}

/// Tells the targets of the configuration what becomes of feeds, until the server stops.
pub(crate) async fn watch(app: App) {
    let mut watch = Watch::new(app.clone());
    watch.take_targets();
    watch.remember().await;
    watch.start_all();
    while !app.shutdown().is_draining() {
        tokio::select! {
            () = app.clock().sleep(LOOK_INTERVAL) => {}
            () = app.shutdown().draining() => return,
        }
        let config = app.config();
        if config.alerts != watch.config.alerts || config.smtp != watch.config.smtp {
            watch.take_targets();
            watch.start_all();
        }
        watch.look();
    }
}

fn restore(targets: &mut [Target], row: lineside_store::NoticeRow) {
    let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.as_str() == row.kind) else { return };
    for target in targets.iter_mut().filter(|target| target.outbox.key() == row.target) {
        match kind {
            Kind::State => {
                let state = FeedState::parse(&row.word).unwrap_or_default();
                target.states.insert(row.feed.clone(), Said { state, at: row.at });
            }
            Kind::Expiry => {
                target.ends.insert(row.feed.clone(), row.word.clone());
            }
        }
        target.outbox.restore(kind, row.clone());
    }
}

impl Watch {
    fn new(app: App) -> Self {
        Self { config: app.config(), app, targets: Vec::new(), courses: HashMap::new() }
    }

    /// Has the targets that the configuration names now. Who was a target before goes on as one.
    fn take_targets(&mut self) {
        let config = self.app.config();
        let mut before = std::mem::take(&mut self.targets);
        let is_same_way = config.smtp == self.config.smtp;
        for (number, alert) in config.alerts.iter().enumerate() {
            let known = before.iter().position(|it| is_same_way && it.alert.target == alert.target);
            let target = match known {
                Some(known) => Some(Target { alert: alert.clone(), ..before.swap_remove(known) }),
                None => self.new_target(number, alert, &config),
            };
            self.targets.extend(target);
        }
        self.config = config;
    }

    fn new_target(&self, number: usize, alert: &Alert, config: &Config) -> Option<Target> {
        let parts = (self.app.clock(), self.app.store(), self.app.notices());
        let client_name = &config.server.client_name;
        let outbox = Outbox::new(&alert.target, number, config.smtp.as_ref(), client_name, parts);
        let outbox = outbox
            .inspect_err(|error| {
                tracing::error!("alert[{number}] will tell nobody anything: {error:#}");
            })
            .ok()?;
        Some(Target {
            alert: alert.clone(),
            outbox: Arc::new(outbox),
            sending: None,
            states: HashMap::new(),
            ends: HashMap::new(),
        })
    }

    /// What the targets were told before this start.
    async fn remember(&mut self) {
        let Some(store) = self.app.store().filter(|_| !self.targets.is_empty()).cloned() else {
            return;
        };
        match tokio::task::spawn_blocking(move || store.list_notices()).await {
            Ok(Ok(rows)) => rows.into_iter().for_each(|row| restore(&mut self.targets, row)),
            Ok(Err(error)) => tracing::warn!(%error, "what was told before may be told again"),
            Err(error) => tracing::error!(%error, "reading what was told broke off"),
        }
    }

    /// Has those send that do not yet.
    fn start_all(&mut self) {
        for target in self.targets.iter_mut().filter(|target| target.sending.is_none()) {
            let stop = self.app.shutdown().clone();
            let ended = CancellationToken::new();
            let sending = Arc::clone(&target.outbox).run(stop);
            tokio::spawn(ended.clone().run_until_cancelled_owned(sending));
            target.sending = Some(ended.drop_guard());
        }
    }

    fn look(&mut self) {
        let now = self.app.now();
        let feeds = self.app.ingest().feeds();
        if self.courses.len() > feeds.len() {
            self.courses.retain(|id, _| feeds.iter().any(|feed| feed.id() == id));
        }
        for feed in &feeds {
            self.look_at_state(feed, now);
            if feed.is_schedule() {
                self.look_at_end(feed, now);
            }
        }
    }

    fn look_at_state(&mut self, feed: &Feed, now: UnixMillis) {
        let status = feed.status();
        if status.state == FeedState::Unknown {
            return;
        }
        let is_trouble = status.state.is_trouble();
        let begin = || Course { is_trouble, since: status.since };
        let course = self.courses.entry(feed.id().clone()).or_insert_with(begin);
        if course.is_trouble != is_trouble {
            *course = begin();
        }
        let since = course.since;
        for target in self.targets.iter_mut().filter(|target| target.alert.on_state) {
            let said = target.states.get(feed.id()).copied();
            let Alert { after, quiet, .. } = target.alert;
            let patience = Patience { after, quiet };
            if !said::is_due(said, status.state, since, now, patience)
                || !target.alert.is_about(feed.id().as_str())
            {
                continue;
            }
            let previous = said.map_or(FeedState::Ok, |said| said.state);
            let notice = Notice::of_state(about(&self.app, feed), &status, previous, now);
            let state = status.state;
            target.outbox.put(feed.id(), Kind::State, state.to_string(), notice);
            target.states.insert(feed.id().clone(), Said { state, at: now });
        }
    }

    fn look_at_end(&mut self, feed: &Feed, now: UnixMillis) {
        let Some(timetable) = feed.network().timetable() else { return };
        let Some((_, last)) = timetable.service_range() else { return };
        let Ok(at) = Timestamp::from_millisecond(now.0) else { return };
        let today = at.to_zoned(timetable.timezone().clone()).date();
        let days_left = i64::from((last - today).get_days());
        let word = said::expiry_word(last, days_left);
        for target in self.targets.iter_mut().filter(|target| target.alert.on_expiry) {
            // An empty word: it was said that it runs on.
            let told = target.ends.get(feed.id()).map_or("", String::as_str);
            let word = word.as_deref().unwrap_or_default();
            if told == word || !target.alert.is_about(feed.id().as_str()) {
                continue;
            }
            let notice = Notice::of_expiry(about(&self.app, feed), last, days_left, now);
            target.outbox.put(feed.id(), Kind::Expiry, word.to_owned(), notice);
            target.ends.insert(feed.id().clone(), word.to_owned());
        }
    }
}

fn about(app: &App, feed: &Feed) -> About {
    let config = app.config();
    let server = &config.server;
    let base = match &server.public_url {
        Some(url) => url.as_str().trim_end_matches('/').to_owned(),
        None => format!("{}://{}", server.scheme(), server.listen),
    };
    About {
        id: feed.id().to_string(),
        name: feed.config().display_name().to_owned(),
        url: format!("{base}/feeds/{}", feed.id()),
    }
}

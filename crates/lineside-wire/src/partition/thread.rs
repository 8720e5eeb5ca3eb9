//! A partition's thread: its turn, and what it does in it.

mod arrival;

use std::collections::VecDeque;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::time::Duration;

use lineside_hub::{Audience, Seat, SessionLimits, Workers as _};
use lineside_sync::Clock;
use lineside_sync::mailbox::Receiver;
use lineside_sync::stage::{self, Stage};
use mio::{Events, Poll};
use slab::Slab;

use super::Newcomer;
use super::alarm::{ALARM, Alarm, Checked};
use super::drain::Draining;
use super::limits::{
    BUSY_PER_TURN, EVENTS_AT_ONCE, READ_SLICE_BYTES, SLICES_PER_TURN, STATES_AT_ONCE,
};
use super::metrics::{Closed, Metrics};
use super::passes::Passes;
use super::row::{Flushed, Row, Tools};
use super::wheel::Wheel;
use super::workers::Pool;
use crate::centrifuge::Service;

/// What a partition is given.
pub(super) struct Given {
    pub(super) service: Arc<Service>,
    pub(super) sessions: SessionLimits,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) inbox: Receiver<Box<Newcomer>>,
    pub(super) workers: Arc<Pool>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) drain: Arc<OnceLock<Duration>>,
    pub(super) seed: u64,
}

pub(super) struct Partition {
    clock: Arc<dyn Clock>,
    inbox: Receiver<Box<Newcomer>>,
    metrics: Arc<Metrics>,
    drain: Arc<OnceLock<Duration>>,
    draining: Option<Draining>,
    alarm: Arc<Alarm>,
    waker: Waker,
    poll: Poll,
    audience: Audience,
    rows: Slab<Row>,
    passes: Passes,
    /// With more to write than one slice. Bound: each row once.
    busy: VecDeque<u32>,
    /// That go on where they stopped short. Bound: each row once per turn.
    resuming: Vec<u32>,
    /// That are to be read further, and whether the other side has closed. Bound: each row once per turn.
    unread: Vec<(u32, bool)>,
    /// Rows that wait for a place among those that are given a state. Bound: each row once.
    state_queue: VecDeque<u32>,
    /// Rows that are given a state.
    n_states: usize,
    wheel: Wheel,
    rng: fastrand::Rng,
    tools: Tools,
    workers: Arc<Pool>,
    /// Rows whose tokens have been checked.
    checked: Arc<Checked>,
    service: Arc<Service>,
    sessions: SessionLimits,
    /// What is read, kept from one row to the next.
    read: Box<[u8]>,
}

impl Partition {
    pub(super) fn new(given: Given) -> io::Result<Self> {
        let Given { service, sessions, clock, inbox, workers, metrics, drain, seed } = given;
        let poll = Poll::new()?;
        let alarm = Arc::new(Alarm::new(&poll)?);
        let checked = Arc::new(Checked::new(alarm.clone()));
        let now = clock.monotonic();
        Ok(Self {
            audience: Audience::new(&service.hub, alarm.clone(), workers.clone()),
            clock,
            inbox,
            metrics,
            drain,
            draining: None,
            waker: Waker::from(alarm.clone()),
            alarm,
            poll,
            rows: Slab::new(),
            passes: Passes::default(),
            busy: VecDeque::new(),
            resuming: Vec::new(),
            unread: Vec::new(),
            state_queue: VecDeque::new(),
            n_states: 0,
            wheel: Wheel::new(now),
            rng: fastrand::Rng::with_seed(seed),
            tools: Tools::default(),
            workers,
            checked,
            service,
            sessions,
            read: vec![0; READ_SLICE_BYTES].into(),
        })
    }

    pub(super) fn alarm(&self) -> Arc<Alarm> {
        self.alarm.clone()
    }

    /// Works until it has been drained. After a fault of ours, which the panic hook has told of, it goes on without the
    /// connections that it had: their clients come back.
    pub(super) fn run(mut self) {
        while panic::catch_unwind(AssertUnwindSafe(|| self.work())).is_err() {
            self.begin_anew();
        }
    }

    fn begin_anew(&mut self) {
        let rows: Vec<u32> = self.rows.iter().map(|(number, _)| number as u32).collect();
        rows.into_iter().for_each(|number| self.remove(number, Closed::Fault));
        self.metrics.states_waiting.subtract(self.state_queue.len() as u64);
        self.passes = Passes::default();
        self.tools = Tools::default();
        self.wheel = Wheel::new(self.now());
        self.busy.clear();
        self.resuming.clear();
        self.unread.clear();
        self.state_queue.clear();
        self.n_states = 0;
        self.read = vec![0; READ_SLICE_BYTES].into();
    }

    fn work(&mut self) {
        let mut events = Events::with_capacity(EVENTS_AT_ONCE);
        while !self.is_over() {
            let timeout = self.timeout();
            match self.poll.poll(&mut events, Some(timeout)) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // Only a poller that is broken says anything else; without it nobody can be served.
                Err(_) => return,
            }
            self.take_newcomers();
            let now = self.now();
            let delivering = stage::enter(Stage::Deliver);
            self.write_news();
            let receiving = stage::enter(Stage::Receive);
            for event in &events {
                if event.token() != ALARM {
                    self.look_at(event, now);
                }
            }
            self.resume(now);
            self.read_on(now);
            drop(receiving);
            self.write_on(now);
            self.give_states();
            drop(delivering);
            self.look_at_due(now);
            self.let_go(now);
        }
    }

    fn now(&self) -> Duration {
        self.clock.monotonic()
    }

    fn is_over(&self) -> bool {
        self.draining.is_some() && self.rows.is_empty()
    }

    fn timeout(&mut self) -> Duration {
        let has_more = self.passes.is_running()
            || !self.busy.is_empty()
            || !self.unread.is_empty()
            || !self.resuming.is_empty();
        if has_more || !self.inbox.wake_by(&self.waker) {
            return Duration::ZERO;
        }
        self.tools.codecs.runs.clear();
        let now = self.now();
        let mut timeout = self.wheel.next(now);
        if let Some(due) = self.passes.next_due() {
            timeout = timeout.min(due.saturating_sub(now));
        }
        if self.draining.is_some() {
            timeout = timeout.min(Duration::from_millis(10));
        }
        timeout
    }

    /// Goes on with the rooms that have news.
    fn write_news(&mut self) {
        let mut seats: Vec<Seat> = Vec::new();
        for _ in 0..SLICES_PER_TURN {
            let now = self.now();
            self.passes.take_news(&mut self.audience, now);
            self.passes.next_slice(&mut seats, now);
            if seats.is_empty() && !self.passes.is_running() {
                return;
            }
            // All of them first: what is not at hand of one is fetched while the next is looked at.
            for seat in &seats {
                if let Some(row) = self.rows.get_mut(seat.row as usize) {
                    row.transport.session().note(seat.subscription);
                }
            }
            for seat in seats.drain(..) {
                self.write_news_of(seat.row, now);
            }
        }
    }

    /// Writes what a row has, now if that is news, and in turn with others if it is a state.
    fn write_news_of(&mut self, number: u32, now: Duration) {
        let Some(row) = self.rows.get_mut(number as usize) else { return };
        if row.transport.session().is_given_state() {
            self.write_in_turn(number);
        } else {
            self.write(number, now);
        }
    }

    /// Writes what a row has when it is its turn.
    fn write_in_turn(&mut self, number: u32) {
        if let Some(row) = self.rows.get_mut(number as usize)
            && !row.is_busy
        {
            row.is_busy = true;
            self.busy.push_back(number);
        }
    }

    /// Writes what a row has.
    fn write(&mut self, number: u32, now: Duration) {
        let Some(row) = self.rows.get_mut(number as usize) else { return };
        let had_state = row.has_state_place;
        let n_states = self.n_states;
        let flushed = row.flush(&mut self.tools, now, || n_states < STATES_AT_ONCE);
        if row.has_state_place && !had_state {
            self.n_states += 1;
        }
        match flushed {
            Flushed::Drained => self.rest(number),
            Flushed::Blocked => {
                self.metrics.blocked.increment();
                self.expect(number);
            }
            Flushed::More => self.write_in_turn(number),
            Flushed::NeedsStatePlace => {
                if !row.waits_for_state {
                    row.waits_for_state = true;
                    self.state_queue.push_back(number);
                    self.metrics.states_waiting.add(1);
                }
            }
            Flushed::Gone(why) => self.remove(number, why),
        }
    }

    /// A row's socket has taken everything: it is given no state any more, and can be read again.
    fn rest(&mut self, number: u32) {
        let Some(row) = self.rows.get_mut(number as usize) else { return };
        if row.has_state_place && !row.transport.session().is_given_state() {
            row.has_state_place = false;
            self.n_states -= 1;
        }
        if row.resumes_when_drained() {
            self.resuming.push(number);
        } else if std::mem::take(&mut row.is_put_off) {
            // Whether it has been closed meanwhile is found by reading on.
            self.unread.push((number, true));
        }
    }

    /// Sees to it that the row is looked at when its next deadline has passed.
    fn expect(&mut self, number: u32) {
        if let Some(row) = self.rows.get_mut(number as usize) {
            let due = row.next_due();
            if due.as_secs() + 1 < u64::from(row.due) {
                row.due = self.wheel.enter(number, due);
            }
        }
    }

    fn look_at(&mut self, event: &mio::event::Event, now: Duration) {
        let number = event.token().0;
        let Some(row) = self.rows.get_mut(number) else { return };
        let number = number as u32;
        if event.is_writable() {
            row.unblock();
            self.write_in_turn(number);
        }
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            // What comes after this is told of again.
            self.read(number, event.is_read_closed(), now);
        }
    }

    /// Reads what is there, up to a slice; what is left has its turn later, as has the end if it `is_closed`.
    fn read(&mut self, number: u32, is_closed: bool, now: Duration) {
        let Some(row) = self.rows.get_mut(number as usize) else { return };
        if row.is_full() {
            row.is_put_off = true;
            return;
        }
        match row.socket().read(&mut self.read) {
            Ok(0) => {
                let why = row.gone();
                return self.remove(number, why);
            }
            Ok(n) => {
                let mut read = std::mem::take(&mut self.read);
                self.receive(number, &mut read[..n], now);
                self.read = read;
                // Less than was asked for is all there was.
                if n == self.read.len() || is_closed {
                    self.unread.push((number, is_closed));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => return self.remove(number, Closed::Client),
        }
        self.write_news_of(number, now);
        self.expect(number);
    }

    fn receive(&mut self, number: u32, bytes: &mut [u8], now: Duration) {
        if let Some(row) = self.rows.get_mut(number as usize) {
            let token = row.receive(bytes, now, &mut self.tools);
            self.check(number, token);
        }
    }

    /// Has a worker check a token, after which the row goes on.
    fn check(&mut self, number: u32, token: Option<Box<str>>) {
        let row = self.rows.get(number as usize);
        if let Some(token) = token
            && let Some(id) = row.and_then(|row| row.transport.id()).cloned()
        {
            let (gate, checked) = (self.service.gate.clone(), self.checked.clone());
            self.workers.run(Box::new(move || {
                gate.check(&token);
                checked.tell(number, id);
            }));
        }
    }

    /// Lets rows go on that waited for their socket or for a worker.
    fn resume(&mut self, now: Duration) {
        for (number, id) in self.checked.take() {
            let row = self.rows.get(number as usize);
            if row.and_then(|row| row.transport.id()).is_some_and(|its| *its == id) {
                self.resuming.push(number);
            }
        }
        for number in std::mem::take(&mut self.resuming) {
            let Some(row) = self.rows.get_mut(number as usize) else { continue };
            let token = row.resume(now, &mut self.tools);
            if !row.is_full() && std::mem::take(&mut row.is_put_off) {
                self.unread.push((number, true));
            }
            self.check(number, token);
            self.write_news_of(number, now);
            self.expect(number);
        }
    }

    fn read_on(&mut self, now: Duration) {
        for (number, is_closed) in std::mem::take(&mut self.unread) {
            self.read(number, is_closed, now);
        }
    }

    /// Goes on with those who have much to write, or could not.
    fn write_on(&mut self, now: Duration) {
        for _ in 0..self.busy.len().min(BUSY_PER_TURN) {
            let Some(number) = self.busy.pop_front() else { return };
            if let Some(row) = self.rows.get_mut(number as usize) {
                row.is_busy = false;
                self.write(number, now);
            }
        }
        if self.n_states > 0 {
            // What is published meanwhile comes from threads that may share this one's core.
            std::thread::yield_now();
        }
    }

    /// Gives places that are free to those who wait for a state.
    fn give_states(&mut self) {
        let free = STATES_AT_ONCE.saturating_sub(self.n_states);
        for _ in 0..self.state_queue.len().min(free) {
            let Some(number) = self.state_queue.pop_front() else { return };
            self.metrics.states_waiting.subtract(1);
            if let Some(row) = self.rows.get_mut(number as usize) {
                row.waits_for_state = false;
                self.write_in_turn(number);
            }
        }
    }

    fn look_at_due(&mut self, now: Duration) {
        let mut due = Vec::new();
        self.wheel.take_due(now, &mut due);
        for (number, second) in due {
            // One that was entered again for another second has nothing to do in this one.
            let Some(row) = self.rows.get_mut(number as usize).filter(|row| row.due == second)
            else {
                continue;
            };
            if let Some(why) = row.tick(now) {
                self.remove(number, why);
                continue;
            }
            row.due = self.wheel.enter(number, row.next_due());
            self.write(number, now);
        }
    }

    /// Lets go of as many rows as the time since the drain began asks for.
    fn let_go(&mut self, now: Duration) {
        if self.draining.is_none()
            && let Some(over) = self.drain.get()
        {
            self.draining = Some(Draining::new(now, *over, self.rows.len()));
            self.inbox.close();
        }
        let Some(draining) = self.draining else { return };
        let open = self.rows.iter().filter(|(_, row)| !row.is_closing()).count();
        let stay = draining.stay(now);
        let going: Vec<u32> = self
            .rows
            .iter()
            .filter(|(_, row)| !row.is_closing())
            .map(|(number, _)| number as u32)
            .take(open.saturating_sub(stay))
            .collect();
        for number in going {
            if let Some(row) = self.rows.get_mut(number as usize) {
                row.close(Closed::Shutdown, now);
                self.write(number, now);
                self.expect(number);
            }
        }
    }

    fn remove(&mut self, number: u32, why: Closed) {
        let row = self.rows.remove(number as usize);
        if row.has_state_place {
            self.n_states -= 1;
        }
        self.metrics.closed[why as usize].increment();
        self.metrics.rows.subtract(1);
    }
}

//! Reads records from a source: follows the path, counts, and keeps what is wrong until the record's id is known.

use jiff::tz::TimeZone;
use smol_str::SmolStr;

use super::{
    Limits,
    passed_over::PassedOver,
    record::{Named, Record},
    source::Source,
    unread::Unread,
    values::{Fault, Leaf},
};
use crate::{Error, ErrorKind, Losses, Problem, Problems};

/// The namespaces in which SIRI and its envelopes are written.
const NAMESPACES: [&str; 7] = [
    "http://www.siri.org.uk/siri",
    "http://www.siri.org.uk/",
    "http://wsdl.siri.org.uk",
    "http://wsdl.siri.org.uk/siri",
    "http://new.webservice.namespace",
    "http://schemas.xmlsoap.org/soap/envelope/",
    "http://www.w3.org/2003/05/soap-envelope",
];

/// Elements around what a message says, in the French envelope; what is in them belongs to the message.
const ENVELOPES: [&str; 18] = [
    "ServiceRequestInfo",
    "SubscriptionRequestInfo",
    "DeleteSubscriptionInfo",
    "CheckStatusInfo",
    "Request",
    "ServiceDeliveryInfo",
    "Answer",
    "Notification",
    "AnswerExtension",
    "DataSupplyRequestInfo",
    "DataSupplyAnswerInfo",
    "SiriExtension",
    "CheckStatusAnswerInfo",
    "SubscriptionAnswerInfo",
    "DeleteSubscriptionAnswerInfo",
    "HeartbeatNotifyInfo",
    "SubscriptionTerminatedNotifyInfo",
    "DataReadyNotifyInfo",
];

/// Reading in progress.
pub(super) struct Reader<'a, S: Source<'a>> {
    pub(super) source: S,
    zone: &'a TimeZone,
    limits: &'a Limits,
    problems: Problems,
    passed_over: PassedOver,
    /// The names of the open records, from the payload on.
    path: Vec<&'static str>,
    /// Where the path of the record that problems are told of begins.
    named_depth: usize,
    pending: Vec<Pending>,
    /// What cannot be read of the records that are open, and none of them keeps yet.
    unread: Unread,
    n_named: u64,
    record_bytes: usize,
}

/// What is wrong inside a record whose id is not known yet.
struct Pending {
    path: Box<str>,
    fault: Fault,
    value: Option<SmolStr>,
}

impl<'a, S: Source<'a>> Reader<'a, S> {
    pub(super) fn new(source: S, zone: &'a TimeZone, limits: &'a Limits) -> Reader<'a, S> {
        Reader {
            source,
            zone,
            limits,
            problems: Problems::new(),
            passed_over: PassedOver::default(),
            path: Vec::new(),
            named_depth: 0,
            pending: Vec::new(),
            unread: Unread::default(),
            n_named: 0,
            record_bytes: 0,
        }
    }

    /// What was wrong, and what was passed over.
    pub(super) fn finish(mut self) -> (Problems, Losses) {
        match self.source.lone_ampersands() {
            0 => {}
            n => {
                let detail = crate::xml::standing_alone(n);
                self.problems.push(Problem::new("Siri", "lone_ampersand", detail));
            }
        }
        (self.problems, self.passed_over.into_losses())
    }

    /// Reads a value into a place, which stays as it is where the text is none.
    #[inline]
    pub(super) fn read_leaf<T: Leaf>(
        &mut self,
        name: &'static str,
        place: &mut Option<T>,
    ) -> Result<(), Error> {
        let text = self.source.text()?;
        if let Some(value) = self.leaf_of(name, &text)
            && place.replace(value).is_some()
        {
            self.passed_over.repeated(name);
        }
        Ok(())
    }

    /// The value of a text.
    #[inline]
    pub(super) fn leaf_of<T: Leaf>(&mut self, name: &'static str, text: &str) -> Option<T> {
        if text.len() > self.limits.text_bytes {
            self.report(name, TOO_LONG, Some(text));
            self.cannot_read(name);
            return None;
        }
        let text = text.trim_ascii();
        if text.is_empty() {
            return None;
        }
        let (value, fault) = T::parse(text, self.zone);
        if let Some(fault) = fault {
            self.report(name, *fault, Some(text));
            if value.is_none() {
                self.cannot_read(name);
            }
        }
        value
    }

    /// Notes that an element of the record that was opened last is there and has no value.
    #[cold]
    fn cannot_read(&mut self, name: &'static str) {
        self.unread.add(self.path.last().copied().unwrap_or_default(), name);
    }

    /// Has a record keep what could not be read of it, if it does.
    #[cold]
    fn keep_unread<T: Record>(&mut self, record: &mut T) -> Result<(), Error> {
        let Some(kept) = record.unread_mut() else { return Ok(()) };
        kept.take(&mut self.unread, self.path.last().copied().unwrap_or_default());
        self.count_bytes(Unread::BYTES)
    }

    /// Reads what is in the open element into a record.
    pub(super) fn read_record<T: Record>(
        &mut self,
        name: &'static str,
        record: &mut T,
    ) -> Result<(), Error> {
        self.path.push(name);
        self.read_attributes(record);
        self.read_children(record)?;
        self.path.pop();
        Ok(())
    }

    fn read_attributes<T: Record>(&mut self, record: &mut T) {
        let Some(version) = self.attribute("version") else { return };
        if let Some(place) = record.version_mut() {
            *place = Some(version);
        }
    }

    /// An attribute of the element that was opened last.
    pub(super) fn attribute(&mut self, name: &'static str) -> Option<SmolStr> {
        let value = self.source.attribute(name)?;
        self.leaf_of(name, &value)
    }

    fn read_children<T: Record>(&mut self, record: &mut T) -> Result<(), Error> {
        while let Some(name) = self.source.next_child()? {
            if record.read_child(name, self)? {
                if !self.unread.is_empty() {
                    self.keep_unread(record)?;
                }
                continue;
            }
            if T::IS_PAYLOAD && ENVELOPES.contains(&name) {
                self.read_attributes(record);
                self.read_children(record)?;
            } else {
                self.pass_over_in(name, T::IS_PAYLOAD)?;
            }
        }
        Ok(())
    }

    #[cold]
    fn pass_over_in(&mut self, name: &str, in_payload: bool) -> Result<(), Error> {
        if in_payload && name.ends_with("Delivery") {
            self.problems.push_with("ServiceDelivery", "delivery_not_read", || {
                let detail = "a delivery of a service that is not read";
                Problem::new("ServiceDelivery", "delivery_not_read", detail).with_value(name)
            });
        }
        self.pass_over(name)
    }

    /// Passes over the element of this name, which was opened last, and counts it.
    pub(super) fn pass_over(&mut self, name: &str) -> Result<(), Error> {
        self.passed_over.unread(name);
        self.source.skip()
    }

    /// Reads children of one name into a list, and passes over others.
    pub(super) fn read_wrapped(
        &mut self,
        name: &'static str,
        inner: &'static str,
        mut read: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.path.push(name);
        while let Some(child) = self.source.next_child()? {
            if child == inner { read(self)? } else { self.pass_over(child)? }
        }
        self.path.pop();
        Ok(())
    }

    /// Reads a record that problems are told of by its id.
    pub(super) fn read_named<T: Record + Named>(
        &mut self,
        name: &'static str,
        record: &mut T,
    ) -> Result<(), Error> {
        self.n_named += 1;
        self.check_namespace(name);
        let outside = std::mem::replace(&mut self.named_depth, self.path.len() + 1);
        self.read_record(name, record)?;
        self.named_depth = outside;
        let missing = record.missing();
        // What is there and cannot be read is told as such.
        let is_there = |field: &str| self.pending.iter().any(|it| *it.path == *field);
        if let Some(field) = missing.filter(|field| !is_there(field)) {
            self.pending.push(Pending { path: field.into(), fault: MISSING, value: None });
        }
        if !self.pending.is_empty() {
            self.report_pending(name, record.id());
        }
        Ok(())
    }

    /// Counts the memory of a record or text that is about to be kept.
    #[inline]
    pub(super) fn count_bytes(&mut self, bytes: usize) -> Result<(), Error> {
        self.record_bytes += bytes;
        if self.record_bytes <= self.limits.record_bytes {
            return Ok(());
        }
        let most = self.limits.record_bytes;
        let detail = format!("the records of the message take more than {most} bytes of memory");
        Err(Error::new(ErrorKind::TooLarge, detail))
    }

    /// Complains where the element that was opened last is in a namespace of something else.
    pub(super) fn check_namespace(&mut self, name: &'static str) {
        let Some(namespace) = self.source.namespace() else { return };
        if !NAMESPACES.contains(&namespace) {
            self.problems.push_with(name, "wrong_namespace", || {
                Problem::new(name, "wrong_namespace", "is not in the namespace of SIRI")
                    .with_value(namespace)
            });
        }
    }

    /// Whether the element that was opened last is said to be SIRI's.
    pub(super) fn is_in_namespace(&self) -> bool {
        self.source.namespace().is_some_and(|namespace| NAMESPACES.contains(&namespace))
    }

    #[cold]
    fn report(&mut self, field: &'static str, fault: Fault, value: Option<&str>) {
        let is_inside = self.named_depth > 0;
        // The first name of a path says what the problem is of.
        let depth = if is_inside { self.named_depth } else { self.path.len().min(1) };
        let (outside, path) = self.path.split_at(depth);
        if is_inside && self.pending.len() < Limits::PROBLEMS_PER_RECORD {
            let value = value.map(|value| value.chars().take(QUOTED_CHARS).collect());
            self.pending.push(Pending { path: join(path, field), fault, value });
            return;
        }
        let kind = outside.last().copied().unwrap_or("Siri");
        self.problems.push_with(kind, fault.code, || {
            let problem = Problem::new(kind, fault.code, fault.detail).in_field(&join(path, field));
            match value {
                Some(value) => problem.with_value(value),
                None => problem,
            }
        });
    }

    #[cold]
    fn report_pending(&mut self, kind: &'static str, id: Option<&str>) {
        for Pending { path, fault, value } in self.pending.drain(..) {
            let number = self.n_named;
            self.problems.push_with(kind, fault.code, || {
                let mut problem = Problem::new(kind, fault.code, fault.detail);
                if let Some(id) = id {
                    problem = problem.in_record(id);
                }
                if let Some(value) = value {
                    problem = problem.with_value(&value);
                }
                problem.at_line(number).in_field(&path)
            });
        }
    }
}

fn join(path: &[&str], field: &str) -> Box<str> {
    let mut joined = path.join("/");
    if !joined.is_empty() {
        joined.push('/');
    }
    joined.push_str(field);
    joined.into()
}

/// Characters of a value that a problem holds on to.
const QUOTED_CHARS: usize = Problem::VALUE_CHARS_MAX;

const TOO_LONG: Fault =
    Fault { code: "text_too_long", detail: "is longer than is taken, so it is left out" };
const MISSING: Fault =
    Fault { code: "missing_required_field", detail: "a required field is missing" };

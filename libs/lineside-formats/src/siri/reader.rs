//! Reads records from a source: tracks the path, counts memory, and holds problems until the record's id is known.

use jiff::tz::TimeZone;
use smol_str::SmolStr;

use super::{
    MessageLimits,
    ignored_elements::IgnoredElements,
    record::{IdentifiedRecord, SiriRecord},
    source::MessageSource,
    unread_elements::UnreadableElements,
    values::{TextValue, ValueFault},
};
use crate::{ConversionReport, Error, ErrorKind, Problem, Problems};

/// The namespaces of SIRI and its envelopes.
const NAMESPACES: [&str; 7] = [
    "http://www.siri.org.uk/siri",
    "http://www.siri.org.uk/",
    "http://wsdl.siri.org.uk",
    "http://wsdl.siri.org.uk/siri",
    "http://new.webservice.namespace",
    "http://schemas.xmlsoap.org/soap/envelope/",
    "http://www.w3.org/2003/05/soap-envelope",
];

/// Elements around the content of a message in the French envelope; their children belong to the message.
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

pub(super) struct MessageReader<'a, S: MessageSource<'a>> {
    pub(super) source: S,
    zone: &'a TimeZone,
    limits: &'a MessageLimits,
    problems: Problems,
    ignored: IgnoredElements,
    /// The names of the open records, beginning with the payload.
    path: Vec<&'static str>,
    /// The depth of the path at which the record named in problems begins.
    named_depth: usize,
    pending: Vec<PendingProblem>,
    /// Unreadable elements of open records that have not been moved to a record yet.
    unread: UnreadableElements,
    n_named: u64,
    record_bytes: usize,
}

/// A problem inside a record whose id is not known yet.
struct PendingProblem {
    path: Box<str>,
    fault: ValueFault,
    value: Option<SmolStr>,
}

impl<'a, S: MessageSource<'a>> MessageReader<'a, S> {
    pub(super) fn new(
        source: S,
        zone: &'a TimeZone,
        limits: &'a MessageLimits,
    ) -> MessageReader<'a, S> {
        MessageReader {
            source,
            zone,
            limits,
            problems: Problems::new(),
            ignored: IgnoredElements::default(),
            path: Vec::new(),
            named_depth: 0,
            pending: Vec::new(),
            unread: UnreadableElements::default(),
            n_named: 0,
            record_bytes: 0,
        }
    }

    /// Returns the problems, and the report of skipped elements.
    pub(super) fn into_problems_and_report(mut self) -> (Problems, ConversionReport) {
        match self.source.lone_ampersand_count() {
            0 => {}
            n => {
                let detail = crate::xml::describe_lone_ampersands(n);
                self.problems.push(Problem::new("Siri", "lone_ampersand", detail));
            }
        }
        (self.problems, self.ignored.into_conversion_report())
    }

    /// Reads a value into `place`, which remains unchanged if the text is invalid.
    #[inline]
    pub(super) fn read_value<T: TextValue>(
        &mut self,
        name: &'static str,
        place: &mut Option<T>,
    ) -> Result<(), Error> {
        let text = self.source.read_element_text()?;
        if let Some(value) = self.parse_text_value(name, &text)
            && place.replace(value).is_some()
        {
            self.ignored.count_overwritten_value(name);
        }
        Ok(())
    }

    #[inline]
    pub(super) fn parse_text_value<T: TextValue>(
        &mut self,
        name: &'static str,
        text: &str,
    ) -> Option<T> {
        if text.len() > self.limits.text_bytes {
            self.report_value_fault(name, TOO_LONG, Some(text));
            self.record_unreadable_element(name);
            return None;
        }
        let text = text.trim_ascii();
        if text.is_empty() {
            return None;
        }
        let (value, fault) = T::parse(text, self.zone);
        if let Some(fault) = fault {
            self.report_value_fault(name, *fault, Some(text));
            if value.is_none() {
                self.record_unreadable_element(name);
            }
        }
        value
    }

    /// Notes an unreadable element of the innermost open record.
    #[cold]
    fn record_unreadable_element(&mut self, name: &'static str) {
        self.unread.add_unreadable_element(self.path.last().copied().unwrap_or_default(), name);
    }

    /// Moves the noted unreadable elements to a record, if its type stores them.
    #[cold]
    fn move_unreadable_to_record<T: SiriRecord>(&mut self, record: &mut T) -> Result<(), Error> {
        let Some(unread) = record.unread_mut() else { return Ok(()) };
        unread.move_elements_from(&mut self.unread, self.path.last().copied().unwrap_or_default());
        self.count_record_bytes(UnreadableElements::BYTES)
    }

    /// Reads the open element into a record.
    pub(super) fn read_record<T: SiriRecord>(
        &mut self,
        name: &'static str,
        record: &mut T,
    ) -> Result<(), Error> {
        self.path.push(name);
        self.read_version_attribute(record);
        self.read_children(record)?;
        self.path.pop();
        Ok(())
    }

    fn read_version_attribute<T: SiriRecord>(&mut self, record: &mut T) {
        let Some(version) = self.read_attribute("version") else { return };
        if let Some(place) = record.version_mut() {
            *place = Some(version);
        }
    }

    /// Reads an attribute of the most recently opened element.
    pub(super) fn read_attribute(&mut self, name: &'static str) -> Option<SmolStr> {
        let value = self.source.attribute(name)?;
        self.parse_text_value(name, &value)
    }

    fn read_children<T: SiriRecord>(&mut self, record: &mut T) -> Result<(), Error> {
        while let Some(name) = self.source.open_next_child()? {
            if record.read_child(name, self)? {
                if !self.unread.is_empty() {
                    self.move_unreadable_to_record(record)?;
                }
                continue;
            }
            if T::IS_PAYLOAD && ENVELOPES.contains(&name) {
                self.read_version_attribute(record);
                self.read_children(record)?;
            } else {
                self.skip_unknown_child(name, T::IS_PAYLOAD)?;
            }
        }
        Ok(())
    }

    #[cold]
    fn skip_unknown_child(&mut self, name: &str, in_payload: bool) -> Result<(), Error> {
        if in_payload && name.ends_with("Delivery") {
            self.problems.push_lazily("ServiceDelivery", "delivery_not_read", || {
                let detail = "the delivery is of an unsupported service";
                Problem::new("ServiceDelivery", "delivery_not_read", detail).with_value(name)
            });
        }
        self.skip_and_count_element(name)
    }

    /// Skips the most recently opened element, which has this name, and counts it.
    pub(super) fn skip_and_count_element(&mut self, name: &str) -> Result<(), Error> {
        self.ignored.count_unknown_element(name);
        self.source.skip_element()
    }

    /// Reads children with one name into a list, and skips others.
    pub(super) fn read_wrapped_list(
        &mut self,
        name: &'static str,
        inner: &'static str,
        mut read: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.path.push(name);
        while let Some(child) = self.source.open_next_child()? {
            if child == inner { read(self)? } else { self.skip_and_count_element(child)? }
        }
        self.path.pop();
        Ok(())
    }

    /// Reads a record whose problems name its id.
    pub(super) fn read_identified_record<T: SiriRecord + IdentifiedRecord>(
        &mut self,
        name: &'static str,
        record: &mut T,
    ) -> Result<(), Error> {
        self.n_named += 1;
        self.report_foreign_namespace(name);
        let outer_depth = std::mem::replace(&mut self.named_depth, self.path.len() + 1);
        self.read_record(name, record)?;
        self.named_depth = outer_depth;
        let missing = record.missing_field();
        // An unreadable field is already reported.
        let is_there = |field: &str| self.pending.iter().any(|it| *it.path == *field);
        if let Some(field) = missing.filter(|field| !is_there(field)) {
            self.pending.push(PendingProblem { path: field.into(), fault: MISSING, value: None });
        }
        if !self.pending.is_empty() {
            self.report_pending_problems(name, record.record_id());
        }
        Ok(())
    }

    /// Counts the memory of a record or text before it is stored.
    #[inline]
    pub(super) fn count_record_bytes(&mut self, bytes: usize) -> Result<(), Error> {
        self.record_bytes += bytes;
        if self.record_bytes <= self.limits.record_bytes {
            return Ok(());
        }
        let max = self.limits.record_bytes;
        let detail = format!("the records of the message need more than {max} bytes of memory");
        Err(Error::new(ErrorKind::TooLarge, detail))
    }

    /// Reports the most recently opened element if it is in a foreign namespace.
    pub(super) fn report_foreign_namespace(&mut self, name: &'static str) {
        let Some(namespace) = self.source.element_namespace() else { return };
        if !NAMESPACES.contains(&namespace) {
            self.problems.push_lazily(name, "wrong_namespace", || {
                Problem::new(name, "wrong_namespace", "is not in the SIRI namespace")
                    .with_value(namespace)
            });
        }
    }

    /// Returns true if the most recently opened element is in a namespace of SIRI.
    pub(super) fn is_siri_namespace(&self) -> bool {
        self.source.element_namespace().is_some_and(|namespace| NAMESPACES.contains(&namespace))
    }

    #[cold]
    fn report_value_fault(&mut self, field: &'static str, fault: ValueFault, value: Option<&str>) {
        let is_inside = self.named_depth > 0;
        // Outside of identified records the first name of the path is the subject of the problem.
        let depth = if is_inside { self.named_depth } else { self.path.len().min(1) };
        let (outer_path, path) = self.path.split_at(depth);
        if is_inside && self.pending.len() < MessageLimits::PROBLEMS_PER_RECORD {
            let value = value.map(|value| value.chars().take(QUOTED_CHARS).collect());
            self.pending.push(PendingProblem {
                path: join_element_path(path, field),
                fault,
                value,
            });
            return;
        }
        let kind = outer_path.last().copied().unwrap_or("Siri");
        self.problems.push_lazily(kind, fault.code, || {
            let problem = Problem::new(kind, fault.code, fault.detail)
                .with_field(&join_element_path(path, field));
            match value {
                Some(value) => problem.with_value(value),
                None => problem,
            }
        });
    }

    #[cold]
    fn report_pending_problems(&mut self, kind: &'static str, id: Option<&str>) {
        for PendingProblem { path, fault, value } in self.pending.drain(..) {
            let number = self.n_named;
            self.problems.push_lazily(kind, fault.code, || {
                let mut problem = Problem::new(kind, fault.code, fault.detail);
                if let Some(id) = id {
                    problem = problem.with_record(id);
                }
                if let Some(value) = value {
                    problem = problem.with_value(&value);
                }
                problem.with_line(number).with_field(&path)
            });
        }
    }
}

fn join_element_path(path: &[&str], field: &str) -> Box<str> {
    let mut joined = path.join("/");
    if !joined.is_empty() {
        joined.push('/');
    }
    joined.push_str(field);
    joined.into()
}

/// Maximum number of characters of a value that a pending problem stores.
const QUOTED_CHARS: usize = Problem::VALUE_CHARS_MAX;

const TOO_LONG: ValueFault =
    ValueFault { code: "text_too_long", detail: "is longer than the limit and is ignored" };
const MISSING: ValueFault =
    ValueFault { code: "missing_required_field", detail: "a required field is missing" };

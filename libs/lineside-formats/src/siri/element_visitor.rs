//! Visits all elements of a decoded message, to track the use of each.

use super::{
    ServiceDelivery, SiriMessage,
    encode::write_payload,
    record::SiriRecord as _,
    sink::{MessageSink, XmlSink},
    values::JsonValueForm,
};

/// A visitor of the elements of a message.
pub trait ElementVisitor {
    /// Called for an element with children. Returns true to visit them, false to skip them.
    fn enter_element(&mut self, element: &str) -> bool;

    /// Called at the end of an element that was entered.
    fn leave_element(&mut self);

    /// Called for an element with a text or without content; a list of texts causes one call for each.
    fn visit_text(&mut self, element: &str, text: &str);
}

/// Visits the elements of a message in the order in which they are written. Faults, which only an envelope has, and
/// payloads that are known only by name are skipped.
pub fn visit_message_elements(message: &SiriMessage, walker: &mut impl ElementVisitor) {
    let mut sink = VisitorSink { walker, n_hidden: 0 };
    for payload in &message.payloads {
        write_payload(payload, &mut sink);
    }
}

/// Returns a delivery in XML that contains each supported element once, with a value of its type; a text is the name of
/// its element.
pub fn sample_delivery_xml() -> String {
    let mut sink = XmlSink::default();
    sink.begin_element("Siri");
    sink.write_attribute("xmlns", super::encode::SIRI);
    sink.begin_element("ServiceDelivery");
    ServiceDelivery::write_samples(&mut sink);
    sink.end_element("ServiceDelivery");
    sink.end_element("Siri");
    sink.text
}

struct VisitorSink<'w, W> {
    walker: &'w mut W,
    /// Number of open elements that are skipped.
    n_hidden: u32,
}

impl<W: ElementVisitor> MessageSink for VisitorSink<'_, W> {
    fn begin_element(&mut self, name: &str) {
        if self.n_hidden > 0 || !self.walker.enter_element(name) {
            self.n_hidden += 1;
        }
    }

    fn end_element(&mut self, _: &str) {
        match self.n_hidden {
            0 => self.walker.leave_element(),
            n => self.n_hidden = n - 1,
        }
    }

    fn write_attribute(&mut self, name: &str, value: &str) {
        self.write_leaf(name, value, JsonValueForm::Quoted);
    }

    fn write_leaf(&mut self, name: &str, text: &str, _: JsonValueForm) {
        if self.n_hidden == 0 {
            self.walker.visit_text(name, text);
        }
    }

    fn write_localized_text(&mut self, name: &str, _: Option<&str>, text: &str) {
        self.write_leaf(name, text, JsonValueForm::Quoted);
    }

    fn write_presence_element(&mut self, name: &str) {
        self.write_leaf(name, "", JsonValueForm::Quoted);
    }

    fn write_list<T>(&mut self, _: &str, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        for item in items {
            write(self, item);
        }
    }
}

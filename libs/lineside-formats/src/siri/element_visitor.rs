//! All that a message says, element by element, for those who ask what becomes of each.

use super::{
    ServiceDelivery, SiriMessage,
    encode::write_payload,
    record::SiriRecord as _,
    sink::{MessageSink, XmlSink},
    values::TextForm,
};

/// Who is shown what a message says.
pub trait ElementVisitor {
    /// An element with others in it. Tells whether to show them too; if not, this is all that is shown of it.
    fn enter_element(&mut self, element: &str) -> bool;

    /// The end of an element that was entered.
    fn leave_element(&mut self);

    /// An element with a text, or with nothing in it; a list of texts comes one by one.
    fn visit_text(&mut self, element: &str, text: &str);
}

/// Shows the elements of a message in the order in which they would be written. What only an envelope has (a fault), and
/// what is known by its name alone, is left out.
pub fn visit_message(message: &SiriMessage, walker: &mut impl ElementVisitor) {
    let mut sink = VisitorSink { walker, n_hidden: 0 };
    for payload in &message.payloads {
        write_payload(payload, &mut sink);
    }
}

/// A delivery in XML that holds each element that is read of one, once, with a value of its kind; a text is its element's
/// name.
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
    /// How many elements are open that are not shown.
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
        self.write_leaf(name, value, TextForm::Quoted);
    }

    fn write_leaf(&mut self, name: &str, text: &str, _: TextForm) {
        if self.n_hidden == 0 {
            self.walker.visit_text(name, text);
        }
    }

    fn write_localized_text(&mut self, name: &str, _: Option<&str>, text: &str) {
        self.write_leaf(name, text, TextForm::Quoted);
    }

    fn write_flag(&mut self, name: &str) {
        self.write_leaf(name, "", TextForm::Quoted);
    }

    fn write_list<T>(&mut self, _: &str, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        for item in items {
            write(self, item);
        }
    }
}

//! All that a message says, element by element, for those who ask what becomes of each.

use super::{
    Message, ServiceDelivery,
    encode::write_payload,
    record::Record as _,
    sink::{Sink, XmlSink},
    values::TextForm,
};

/// Who is shown what a message says.
pub trait Walker {
    /// An element with others in it. Tells whether to show them too; if not, this is all that is shown of it.
    fn enter(&mut self, element: &str) -> bool;

    /// The end of an element that was entered.
    fn leave(&mut self);

    /// An element with a text, or with nothing in it; a list of texts comes one by one.
    fn text(&mut self, element: &str, text: &str);
}

/// Shows the elements of a message in the order in which they would be written. What only an envelope has (a fault), and
/// what is known by its name alone, is left out.
pub fn walk(message: &Message, walker: &mut impl Walker) {
    let mut sink = WalkerSink { walker, n_hidden: 0 };
    for payload in &message.payloads {
        write_payload(payload, &mut sink);
    }
}

/// A delivery in XML that holds each element that is read of one, once, with a value of its kind; a text is its element's
/// name.
pub fn sample_delivery() -> String {
    let mut sink = XmlSink::default();
    sink.begin("Siri");
    sink.attribute("xmlns", super::encode::SIRI);
    sink.begin("ServiceDelivery");
    ServiceDelivery::write_samples(&mut sink);
    sink.end("ServiceDelivery");
    sink.end("Siri");
    sink.text
}

struct WalkerSink<'w, W> {
    walker: &'w mut W,
    /// How many elements are open that are not shown.
    n_hidden: u32,
}

impl<W: Walker> Sink for WalkerSink<'_, W> {
    fn begin(&mut self, name: &str) {
        if self.n_hidden > 0 || !self.walker.enter(name) {
            self.n_hidden += 1;
        }
    }

    fn end(&mut self, _: &str) {
        match self.n_hidden {
            0 => self.walker.leave(),
            n => self.n_hidden = n - 1,
        }
    }

    fn attribute(&mut self, name: &str, value: &str) {
        self.leaf(name, value, TextForm::Quoted);
    }

    fn leaf(&mut self, name: &str, text: &str, _: TextForm) {
        if self.n_hidden == 0 {
            self.walker.text(name, text);
        }
    }

    fn text_in_language(&mut self, name: &str, _: Option<&str>, text: &str) {
        self.leaf(name, text, TextForm::Quoted);
    }

    fn flag(&mut self, name: &str) {
        self.leaf(name, "", TextForm::Quoted);
    }

    fn list<T>(&mut self, _: &str, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        for item in items {
            write(self, item);
        }
    }
}

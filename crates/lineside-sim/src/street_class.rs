//! The classes of streets.

/// Classes of streets, widest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StreetClass {
    Motorway,
    Main,
    Avenue,
    Collector,
    Lane,
    Street,
}

impl StreetClass {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Motorway => "motorway",
            Self::Main => "main",
            Self::Avenue => "avenue",
            Self::Collector => "collector",
            Self::Lane => "lane",
            Self::Street => "street",
        }
    }
}

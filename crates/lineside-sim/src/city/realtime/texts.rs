//! The texts of alerts in English, German and French.

use jiff::civil::Date;
use lineside_formats::gtfs_rt::proto;
use proto::translated_string::Translation;

/// A text in three languages with `{name}` placeholders.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrilingualAlertText {
    pub(super) en: &'static str,
    pub(super) de: &'static str,
    pub(super) fr: &'static str,
}

impl TrilingualAlertText {
    /// Replaces the placeholders by the values given as (name, value).
    pub(super) fn fill_placeholders(&self, values: &[(&str, &str)]) -> proto::TranslatedString {
        let translation = [("en", self.en), ("de", self.de), ("fr", self.fr)]
            .into_iter()
            .map(|(language, text)| {
                let filled = values.iter().fold(text.to_owned(), |text, (name, value)| {
                    text.replace(&format!("{{{name}}}"), value)
                });
                Translation { text: filled, language: Some(language.to_owned()) }
            })
            .collect();
        proto::TranslatedString { translation }
    }
}

pub(super) type HeaderAndDescription = (TrilingualAlertText, TrilingualAlertText);

/// The names of the months: English, German, French.
const MONTHS: [[&str; 3]; 12] = [
    ["January", "Januar", "janvier"],
    ["February", "Februar", "février"],
    ["March", "März", "mars"],
    ["April", "April", "avril"],
    ["May", "Mai", "mai"],
    ["June", "Juni", "juin"],
    ["July", "Juli", "juillet"],
    ["August", "August", "août"],
    ["September", "September", "septembre"],
    ["October", "Oktober", "octobre"],
    ["November", "November", "novembre"],
    ["December", "Dezember", "décembre"],
];

/// Returns a date in English, German and French, each with the name of its placeholder.
pub(super) fn date_placeholder_values(date: Date) -> [(&'static str, String); 3] {
    let month = MONTHS[usize::try_from(date.month() - 1).unwrap_or(0) % MONTHS.len()];
    let (day, year) = (date.day(), date.year());
    [
        ("date", format!("{day} {} {year}", month[0])),
        ("datum", format!("{day}. {} {year}", month[1])),
        ("jour", format!("{day} {} {year}", month[2])),
    ]
}

pub(super) const ACCIDENT: HeaderAndDescription = (
    TrilingualAlertText {
        en: "Line {line}: delays after an accident",
        de: "Linie {line}: Verspätungen nach einem Unfall",
        fr: "Ligne {line} : retards à la suite d'un accident",
    },
    TrilingualAlertText {
        en: "An accident between {from} and {to} holds up traffic. Expect delays of up to {minutes} minutes.",
        de: "Ein Unfall zwischen {from} und {to} behindert den Verkehr. Rechnen Sie mit bis zu {minutes} Minuten Verspätung.",
        fr: "Un accident entre {from} et {to} ralentit la circulation. Prévoyez jusqu'à {minutes} minutes de retard.",
    },
);

pub(super) const TECHNICAL: HeaderAndDescription = (
    TrilingualAlertText {
        en: "Line {line}: delays due to a technical fault",
        de: "Linie {line}: Verspätungen wegen einer technischen Störung",
        fr: "Ligne {line} : retards en raison d'un incident technique",
    },
    TrilingualAlertText {
        en: "A fault between {from} and {to} is being repaired. Expect delays of up to {minutes} minutes.",
        de: "Eine Störung zwischen {from} und {to} wird behoben. Rechnen Sie mit bis zu {minutes} Minuten Verspätung.",
        fr: "Une panne entre {from} et {to} est en cours de réparation. Prévoyez jusqu'à {minutes} minutes de retard.",
    },
);

pub(super) const POLICE: HeaderAndDescription = (
    TrilingualAlertText {
        en: "Line {line}: delays due to a police operation",
        de: "Linie {line}: Verspätungen wegen eines Polizeieinsatzes",
        fr: "Ligne {line} : retards en raison d'une intervention de police",
    },
    TrilingualAlertText {
        en: "The police are at work between {from} and {to}. Expect delays of up to {minutes} minutes.",
        de: "Zwischen {from} und {to} ist die Polizei im Einsatz. Rechnen Sie mit bis zu {minutes} Minuten Verspätung.",
        fr: "La police intervient entre {from} et {to}. Prévoyez jusqu'à {minutes} minutes de retard.",
    },
);

pub(super) const MEDICAL: HeaderAndDescription = (
    TrilingualAlertText {
        en: "Line {line}: delays due to a medical emergency",
        de: "Linie {line}: Verspätungen wegen eines Notarzteinsatzes",
        fr: "Ligne {line} : retards en raison d'une urgence médicale",
    },
    TrilingualAlertText {
        en: "A passenger needed help between {from} and {to}. Expect delays of up to {minutes} minutes.",
        de: "Zwischen {from} und {to} brauchte ein Fahrgast Hilfe. Rechnen Sie mit bis zu {minutes} Minuten Verspätung.",
        fr: "Un voyageur a été pris de malaise entre {from} et {to}. Prévoyez jusqu'à {minutes} minutes de retard.",
    },
);

pub(super) const CLOSED_STOP: HeaderAndDescription = (
    TrilingualAlertText {
        en: "{stop} is closed",
        de: "Haltestelle {stop} gesperrt",
        fr: "Arrêt {stop} fermé",
    },
    TrilingualAlertText {
        en: "Road works: line {line} does not stop at {stop}. Please use the stop before or after it.",
        de: "Bauarbeiten: Die Linie {line} hält nicht an der Haltestelle {stop}. Bitte nutzen Sie die Haltestelle davor oder danach.",
        fr: "Travaux : la ligne {line} ne dessert pas l'arrêt {stop}. Merci d'utiliser l'arrêt précédent ou suivant.",
    },
);

pub(super) const LIFT: HeaderAndDescription = (
    TrilingualAlertText {
        en: "{stop}: lift out of order",
        de: "{stop}: Aufzug außer Betrieb",
        fr: "{stop} : ascenseur hors service",
    },
    TrilingualAlertText {
        en: "The lift at {stop} is being repaired. Step-free access is by the ramp on the north side.",
        de: "Der Aufzug an der Station {stop} wird repariert. Stufenfreier Zugang über die Rampe auf der Nordseite.",
        fr: "L'ascenseur de la station {stop} est en réparation. Accès de plain-pied par la rampe côté nord.",
    },
);

pub(super) const WIND: HeaderAndDescription = (
    TrilingualAlertText {
        en: "Ferries: delays in strong wind",
        de: "Fähren: Verspätungen bei starkem Wind",
        fr: "Bacs : retards en raison du vent fort",
    },
    TrilingualAlertText {
        en: "Strong wind on the bay. Ferries sail more slowly and may be late.",
        de: "Starker Wind in der Bucht. Die Fähren fahren langsamer und können sich verspäten.",
        fr: "Vent fort dans la baie. Les bacs naviguent plus lentement et peuvent avoir du retard.",
    },
);

pub(super) const CANCELLED: HeaderAndDescription = (
    TrilingualAlertText {
        en: "Line {line}: single trips are cancelled",
        de: "Linie {line}: einzelne Fahrten entfallen",
        fr: "Ligne {line} : quelques départs supprimés",
    },
    TrilingualAlertText {
        en: "Because of a staff shortage, {count} trips on line {line} are cancelled in the next hour: {times}.",
        de: "Wegen Personalmangels entfallen in der nächsten Stunde {count} Fahrten der Linie {line}: {times}.",
        fr: "Faute de personnel, {count} départs de la ligne {line} sont supprimés dans l'heure : {times}.",
    },
);

/// The description of [`CANCELLED`] for a single trip.
pub(super) const ONE_CANCELLED: TrilingualAlertText = TrilingualAlertText {
    en: "Because of a staff shortage, one trip on line {line} is cancelled in the next hour: {times}.",
    de: "Wegen Personalmangels entfällt in der nächsten Stunde eine Fahrt der Linie {line}: {times}.",
    fr: "Faute de personnel, un départ de la ligne {line} est supprimé dans l'heure : {times}.",
};

pub(super) const FESTIVAL: HeaderAndDescription = (
    TrilingualAlertText {
        en: "Lantern festival: extra ferries",
        de: "Laternenfest: zusätzliche Fähren",
        fr: "Fête des lanternes : bacs supplémentaires",
    },
    TrilingualAlertText {
        en: "On {date} extra ferries sail from 18:00 until after midnight.",
        de: "Am {datum} fahren ab 18 Uhr bis nach Mitternacht zusätzliche Fähren.",
        fr: "Le {jour}, des bacs supplémentaires circulent de 18 h jusqu'après minuit.",
    },
);

pub(super) const HOLIDAY: HeaderAndDescription = (
    TrilingualAlertText {
        en: "Sunday timetable on {date}",
        de: "Sonntagsfahrplan am {datum}",
        fr: "Horaires du dimanche le {jour}",
    },
    TrilingualAlertText {
        en: "On the public holiday of {date} all lines run to the Sunday timetable.",
        de: "Am Feiertag, dem {datum}, gilt auf allen Linien der Sonntagsfahrplan.",
        fr: "Le {jour}, jour férié, toutes les lignes circulent selon les horaires du dimanche.",
    },
);

pub(super) const PLATFORMS: HeaderAndDescription = (
    TrilingualAlertText {
        en: "{stop}: other platforms at the weekend",
        de: "{stop}: andere Gleise am Wochenende",
        fr: "{stop} : changement de voies ce week-end",
    },
    TrilingualAlertText {
        en: "While tracks are renewed, trains of line {line} may use other platforms at {stop}. Please check the departure boards.",
        de: "Während der Gleiserneuerung können Züge der Linie {line} in {stop} andere Gleise nutzen. Bitte beachten Sie die Anzeigen.",
        fr: "Pendant le renouvellement des voies, les trains de la ligne {line} peuvent utiliser d'autres voies à {stop}. Consultez les écrans.",
    },
);

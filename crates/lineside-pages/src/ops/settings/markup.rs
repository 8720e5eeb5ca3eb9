//! The HTML of a feed's form: each field with its label, input and errors.

use lineside_config::overrides::{FeedKeys, FeedOverride, OverrideKeyError};
use maud::{Markup, html};
use serde_json::Value;

use super::fields::{FieldGroup, GROUPS, InputKind, PAIRS, SettingsField};
use super::form::{SettingsForm, original_field_name, pair_name_field, pair_secret_field};

/// Empty rows after those of a list.
const ROWS_MORE: usize = 2;
/// Schedules in the list of choices.
const SCHEDULES_MAX: usize = 1_000;

/// The form with its context.
pub(super) struct SettingsView<'a> {
    pub(super) form: &'a SettingsForm,
    /// The feed's override.
    pub(super) current_override: Option<&'a FeedOverride>,
    pub(super) is_in_file: bool,
    pub(super) errors: &'a [OverrideKeyError],
    /// The feed that already has the id of the form.
    pub(super) existing_feed: Option<String>,
    /// The id of the draft with the submitted secrets.
    pub(super) draft: Option<&'a str>,
    /// Feeds that may be schedules: ids and names.
    pub(super) schedules: Vec<(String, String)>,
    pub(super) defaults: FeedKeys,
    /// The default polling interval of the feed's format.
    pub(super) poll: String,
}

impl SettingsView<'_> {
    /// Renders all fields, without the form around them.
    pub(super) fn render_fields(&self, is_new: bool) -> Markup {
        html! {
            @if let Some(draft) = self.draft { input type="hidden" name="draft" value=(draft); }
            @for group in GROUPS {
                @if group.is_essential {
                    fieldset.group {
                        legend { (group.title) }
                        div.fields {
                            @if is_new {
                                (self.render_labeled("id", "Id", "Used in URLs and channels. Letters, digits and . _ -", html! {
                                    (self.render_input("id", "text", &self.form.id, "", true))
                                }))
                            }
                            @for field in group.fields { (self.render_field(field)) }
                        }
                    }
                } @else {
                    details.group open[self.is_group_open(group)] {
                        summary { (group.title) (self.render_group_override_mark(group.fields)) }
                        fieldset.fields aria-label=(group.title) { @for field in group.fields { (self.render_field(field)) } }
                        @if let Some(field) = group.fields.first().filter(|field| field.name.contains('.')) {
                            (self.render_reset_checkbox(field.config_key()))
                        }
                    }
                }
            }
            @for (key, title) in PAIRS { (self.render_secret_list(key, title)) }
        }
    }

    /// Returns true if a field of the group has an error, or another value than the default.
    fn is_group_open(&self, group: &FieldGroup) -> bool {
        group.fields.iter().any(|field| {
            let default = self.defaults.get(field.name).and_then(Value::as_str);
            let is_set =
                self.form.field_value(field.name).is_some_and(|value| default != Some(value));
            is_set || self.form.has_secret(field.name) || self.find_error(field.name).is_some()
        })
    }

    /// Renders all errors, each with a link to its field.
    pub(super) fn render_error_summary(&self) -> Markup {
        html! {
            @if !self.errors.is_empty() {
                div.note.bad role="alert" {
                    p { strong { "Nothing was changed." } }
                    ul {
                        @for error in self.errors {
                            li {
                                @match self.field_for_error(error) {
                                    Some(name) => a href=(format!("#f-{name}")) { (error) },
                                    None => (error),
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// Returns the field at which an error is shown.
    fn field_for_error(&self, error: &OverrideKeyError) -> Option<String> {
        let key = error.key.as_str();
        let is_field = key == "id" || super::fields::all_fields().any(|field| field.name == key);
        if is_field {
            return Some(key.to_owned());
        }
        let (table, name) = key.split_once('.').unwrap_or((key, ""));
        if PAIRS.iter().any(|(key, _)| *key == table) {
            let row = self.form.secret_pairs(table).iter().position(|row| row.name == name);
            return Some(pair_name_field(table, row.unwrap_or(0)));
        }
        let member = super::fields::all_fields().find(|field| field.config_key() == table)?;
        Some(member.name.to_owned())
    }

    fn find_error(&self, name: &str) -> Option<&OverrideKeyError> {
        self.errors.iter().find(|error| self.field_for_error(error).as_deref() == Some(name))
    }

    /// Returns true if the field has the initial focus: the first field with an error.
    fn has_focus(&self, name: &str) -> bool {
        let first = self.errors.iter().find_map(|error| self.field_for_error(error));
        first.as_deref() == Some(name)
    }

    fn is_overridden(&self, key: &str) -> bool {
        self.current_override.is_some_and(|feed_override| feed_override.keys.contains_key(key))
    }

    fn render_group_override_mark(&self, fields: &[SettingsField]) -> Markup {
        let table = fields.first().filter(|field| field.name.contains('.'));
        html! { @if let Some(field) = table { (self.render_override_mark(field.config_key())) } }
    }

    /// Renders a mark if a key is overridden.
    fn render_override_mark(&self, key: &str) -> Markup {
        html! { @if self.is_in_file && self.is_overridden(key) { " " span.tag { "Overridden" } } }
    }

    fn render_reset_checkbox(&self, key: &str) -> Markup {
        html! {
            @if self.is_in_file && self.is_overridden(key) {
                label.check.small {
                    input type="checkbox" name="back" value=(key) checked[self.form.reverted_keys.contains(key)];
                    span { "Reset to the file" span.visually-hidden { ": " (key) } }
                }
            }
        }
    }

    fn render_field(&self, field: &SettingsField) -> Markup {
        let name = field.name;
        let value = self.form.field_value(name).unwrap_or_default();
        let was_shown = html! {
            @if let Some(text) = self.form.original_value(name) { input type="hidden" name=(original_field_name(name)) value=(text); }
        };
        let id = format!("f-{name}");
        let inside = match field.kind {
            InputKind::Choice(choices) => html! {
                select.select id=(id) name=(name) {
                    @for (word, words) in choices { option value=(word) selected[*word == value] { (words) } }
                }
            },
            InputKind::Secret => {
                let placeholder =
                    if self.form.has_secret(name) { "New value, hidden" } else { "Unchanged" };
                let has = self.form.has_secret(name) || self.has_table(field.config_key());
                self.render_input(name, "password", "", if has { placeholder } else { "" }, false)
            }
            InputKind::Feed => self.render_schedule_choice(name, value),
            InputKind::Text if name == "poll" => {
                self.render_input(name, "text", value, &self.poll, false)
            }
            InputKind::Number => self.render_input(name, "number", value, "", false),
            InputKind::Text => self.render_input(name, "text", value, "", name == "url"),
        };
        let whole = html! {
            (inside) (was_shown)
            @if !name.contains('.') { (self.render_reset_checkbox(name)) }
        };
        self.render_labeled(name, field.label, field.hint, whole)
    }

    /// Renders a choice of the existing schedules, which always includes the current value.
    fn render_schedule_choice(&self, name: &str, value: &str) -> Markup {
        let is_listed = self.schedules.iter().any(|(id, _)| id == value);
        let is_wrong = self.find_error(name).is_some();
        let described = if is_wrong { "e-static h-static" } else { "h-static" };
        html! {
            select.select #f-static name=(name) aria-invalid=[is_wrong.then_some("true")] aria-describedby=(described)
                autofocus[self.has_focus(name)] {
                option value="" { "None" }
                @if !value.is_empty() && !is_listed { option value=(value) selected { (value) } }
                @for (id, label) in self.schedules.iter().take(SCHEDULES_MAX) {
                    option value=(id) selected[id == value] {
                        @if id == label { (id) } @else { (label) " (" (id) ")" }
                    }
                }
            }
        }
    }

    /// Returns true if the feed has a table of this key.
    fn has_table(&self, key: &str) -> bool {
        super::fields::all_fields().any(|field| {
            field.config_key() == key && self.form.original_value(field.name).is_some()
        })
    }

    /// Renders a field with its label, its hint, and its error.
    fn render_labeled(&self, name: &str, label: &str, hint: &str, inside: Markup) -> Markup {
        let mark = if name.contains('.') {
            html! {}
        } else {
            self.render_override_mark(name)
        };
        html! {
            div.field.wide[name == "url"] {
                label for=(format!("f-{name}")) { (label) (mark) }
                (inside)
                @if !hint.is_empty() { p.hint id=(format!("h-{name}")) { (hint) } }
                (self.render_error(name))
            }
        }
    }

    fn render_error(&self, name: &str) -> Markup {
        html! {
            @if let Some(error) = self.find_error(name) {
                p.fault id=(format!("e-{name}")) {
                    (error.reason)
                    @if let Some(id) = self.existing_feed.as_ref().filter(|_| name == "id") {
                        ". " a href=(format!("/ops/feeds/{id}")) data-existing=(id) { "Edit " (id) }
                    }
                }
            }
        }
    }

    fn render_input(
        &self,
        name: &str,
        kind: &str,
        value: &str,
        placeholder: &str,
        is_needed: bool,
    ) -> Markup {
        let is_wrong = self.find_error(name).is_some();
        let has_hint = name == "id"
            || super::fields::all_fields()
                .any(|field| field.name == name && !field.hint.is_empty());
        let mut described = Vec::new();
        described.extend(is_wrong.then(|| format!("e-{name}")));
        described.extend(has_hint.then(|| format!("h-{name}")));
        let described = Some(described.join(" ")).filter(|ids| !ids.is_empty());
        html! {
            input.input id=(format!("f-{name}")) type=(kind) name=(name) value=[Some(value).filter(|_| kind != "password")]
                placeholder=[Some(placeholder).filter(|text| !text.is_empty())]
                autocomplete=(if kind == "password" { "new-password" } else { "off" }) spellcheck="false" required[is_needed]
                aria-invalid=[is_wrong.then_some("true")] aria-describedby=[described] autofocus[self.has_focus(name)];
        }
    }

    /// Renders names with their secrets, and empty rows.
    fn render_secret_list(&self, key: &str, title: &str) -> Markup {
        let rows = self.form.secret_pairs(key);
        let is_wrong = self.errors.iter().any(|error| error.key.split('.').next() == Some(key));
        html! {
            details.group open[!rows.is_empty() || is_wrong] {
                summary { (title) (self.render_override_mark(key)) }
                p.hint { "Values are hidden. Leave empty to keep; clear the name to delete the row." }
                @for n in 0..rows.len() + ROWS_MORE {
                    @let row = rows.get(n);
                    @let (name, value) = (pair_name_field(key, n), pair_secret_field(key, n));
                    @let placeholder = match row {
                        Some(row) if row.secret.is_some() => "New value, hidden",
                        Some(row) if !row.original_name.is_empty() => "Unchanged",
                        _ => "",
                    };
                    div.pair {
                        div.field {
                            label for=(format!("f-{name}")) { "Name" span.visually-hidden { " " (n + 1) ": " (title) } }
                            (self.render_input(&name, "text", row.map_or("", |row| &row.name), "", false))
                            @if let Some(row) = row.filter(|row| !row.original_name.is_empty()) {
                                input type="hidden" name=(original_field_name(&name)) value=(row.original_name);
                            }
                            (self.render_error(&name))
                        }
                        div.field {
                            label for=(format!("f-{value}")) { "Value" span.visually-hidden { " " (n + 1) ": " (title) } }
                            (self.render_input(&value, "password", "", placeholder, false))
                        }
                    }
                }
                (self.render_reset_checkbox(key))
            }
        }
    }
}

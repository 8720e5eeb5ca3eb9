//! Resolves addresses to function names, including inlined functions.

use std::collections::HashMap;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

/// Maximum number of characters of a name: nested types make names very long.
const NAME_CHARS_MAX: usize = 160;
/// The replacement for an address without a name.
const NAMELESS: &str = "(no name)";
/// The frames just above the work of every thread and of every task.
const STACK_STARTS: [&str; 2] =
    ["__rust_begin_short_backtrace", "tokio::runtime::task::core::poll"];
/// The frames that may lie between the start of a task and its work.
const RUNTIME_FRAMES: [&str; 3] =
    ["tokio::loom::", "tokio::runtime::task::core::", "tokio::runtime::blocking::task::"];
/// Longer generic arguments are omitted, because they hide more than they tell.
const TYPES_CHARS_MAX: usize = 40;

/// A cache of resolved names.
#[derive(Default)]
pub(super) struct SymbolCache {
    /// For each address its functions, outermost first.
    known: HashMap<usize, Arc<[Arc<str>]>>,
    names: HashMap<String, Arc<str>>,
}

impl SymbolCache {
    /// Returns the functions of a stack, outermost first, without those that only start threads and tasks.
    pub(super) fn resolve_stack(&mut self, stack: &[usize]) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = Vec::new();
        for address in stack.iter().rev() {
            names.extend(self.resolve_address(*address).iter().cloned());
        }
        strip_start_frames(&names).to_vec()
    }

    fn resolve_address(&mut self, address: usize) -> Arc<[Arc<str>]> {
        if let Some(known) = self.known.get(&address) {
            return Arc::clone(known);
        }
        let mut found: Vec<Arc<str>> = Vec::new();
        // The lookup uses the byte before the return address, which belongs to the call.
        backtrace::resolve(ptr::without_provenance_mut(address), |symbol| {
            let name = symbol.name().map(|name| format!("{name:#}"));
            found.push(
                self.intern_name(function_name_with_module(name.as_deref(), symbol.filename())),
            );
        });
        if found.is_empty() {
            found.push(self.intern_name(NAMELESS.to_owned()));
        }
        found.reverse();
        let found: Arc<[Arc<str>]> = found.into();
        self.known.insert(address, Arc::clone(&found));
        found
    }

    fn intern_name(&mut self, name: String) -> Arc<str> {
        let interned = self.names.entry(name).or_insert_with_key(|name| name.as_str().into());
        Arc::clone(interned)
    }
}

/// Returns the names from the start of a thread's or a task's own work.
fn strip_start_frames(names: &[Arc<str>]) -> &[Arc<str>] {
    let is_start = |name: &Arc<str>| STACK_STARTS.iter().any(|start| name.contains(start));
    let Some(start) = names.iter().rposition(is_start) else { return names };
    let within = names.get(start + 1..).unwrap_or_default();
    let is_between =
        |name: &Arc<str>| RUNTIME_FRAMES.iter().any(|between| name.starts_with(between));
    let work = within.iter().position(|name| !is_between(name)).unwrap_or(within.len());
    within.get(work..).unwrap_or_default()
}

/// Returns a function's name with its module path, which names in debug info may lack.
fn function_name_with_module(name: Option<&str>, file: Option<&Path>) -> String {
    let Some(name) = name else { return NAMELESS.to_owned() };
    let own = name.split('<').next().unwrap_or_default();
    let module = if own.is_empty() || own.contains("::") {
        None
    } else {
        file.and_then(module_path_of_file)
    };
    let types = name.strip_prefix(own).unwrap_or_default();
    let is_long = types.ends_with('>') && types.chars().count() > TYPES_CHARS_MAX;
    let name = if is_long && !own.is_empty() { format!("{own}<…>") } else { name.to_owned() };
    let whole = match module {
        Some(module) => format!("{module}::{name}"),
        None => name,
    };
    whole.chars().filter(|char| !char.is_control()).take(NAME_CHARS_MAX).collect()
}

/// Returns the module path of a file: `lineside_wire::partition::row` for `…/lineside-wire/src/partition/row.rs`;
/// `None` if it is not Rust.
fn module_path_of_file(file: &Path) -> Option<String> {
    let file = file.to_str()?.strip_suffix(".rs")?;
    let (folder, within) = file.rsplit_once("/src/")?;
    let package = folder.rsplit('/').next()?;
    // Folders of third-party packages end in a version.
    let package = match package.rsplit_once('-') {
        Some((package, version)) if version.starts_with(|first: char| first.is_ascii_digit()) => {
            package
        }
        _ => package,
    };
    let package = package.replace('-', "_");
    let within = within.split('/').filter(|part| !["lib", "main", "mod"].contains(part));
    Some(within.fold(package, |path, part| path + "::" + part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_a_path_receive_their_module_path() {
        let wire = Path::new("/home/a/lineside/crates/lineside-wire/src/partition/row.rs");
        let tokio = Path::new("/registry/src/x-1/tokio-1.54.0/src/runtime/mod.rs");
        let core = Path::new("/rustc/abc/library/core/src/ops/function.rs");
        let c = Path::new("/registry/src/x-1/aws-lc-sys-0.30/aws-lc/crypto/rsa.c");
        for (name, file, expect) in [
            ("flush", Some(wire), "lineside_wire::partition::row::flush"),
            ("{closure#0}", Some(wire), "lineside_wire::partition::row::{closure#0}"),
            ("run<T::U>", Some(tokio), "tokio::runtime::run<T::U>"),
            ("call_once<fn(), ()>", Some(core), "core::ops::function::call_once<fn(), ()>"),
            ("a::poll<core::option::Option<core::result::Result<A, B>>>", None, "a::poll<…>"),
            ("tokio::runtime::poll", Some(core), "tokio::runtime::poll"),
            ("<A as B>::c", Some(core), "<A as B>::c"),
            ("RSA_sign", Some(c), "RSA_sign"),
            ("writev", None, "writev"),
            ("a\nb;", None, "ab;"),
        ] {
            assert_eq!(function_name_with_module(Some(name), file), expect);
        }
        assert_eq!(function_name_with_module(None, Some(wire)), NAMELESS);
        assert_eq!(function_name_with_module(Some(&"x".repeat(9_999)), None).len(), NAME_CHARS_MAX);
    }

    #[test]
    fn frames_before_the_work_of_a_thread_or_task_are_removed() {
        let check = |names: &str, expect: &str| {
            let names: Vec<Arc<str>> = names.split(' ').map(Into::into).collect();
            assert_eq!(strip_start_frames(&names).join(" "), expect);
        };
        check("start __rust_begin_short_backtrace<…> a::work b::more", "a::work b::more");
        let task = "tokio::runtime::task::core::poll<…> tokio::loom::std::with_mut \
                    tokio::runtime::task::core::{closure#0}<…>";
        check(
            &format!("x {task} a::run {task} a::poll tokio::runtime::task::join::drop"),
            "a::poll tokio::runtime::task::join::drop",
        );
        check("a b", "a b");
        check(&format!("a {task}"), "");
    }

    #[test]
    fn only_addresses_of_the_program_have_names() {
        let mut symbols = SymbolCache::default();
        let here = function_name_with_module as fn(_, _) -> _ as usize + 1;
        let names = symbols.resolve_stack(&[here]);
        assert!(names.last().unwrap().contains("function_name_with_module"), "{names:?}");
        assert_eq!(symbols.resolve_stack(&[here]), names);
        assert_eq!(*symbols.resolve_stack(&[usize::MAX, 1])[0], *NAMELESS);
    }
}

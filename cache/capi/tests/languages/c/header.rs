//! `larder.h` against the code: a C compiler judges the prototypes, the constants and the layouts of the code.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

use larder_capi::types::{
    Bytes, Entry, InitialNumber, LeaseToken, LeasedEntry, Metadata, Outcome, PutEntry, Reader,
    StoreStats,
};
use larder_host::scratch::ScratchDir;

/// The types of the code, and their names in C.
const TYPES: &[(&str, &str)] = &[
    ("Bytes", "larder_bytes"),
    ("Entry", "larder_entry"),
    ("InitialNumber", "larder_initial"),
    ("LeaseToken", "larder_token"),
    ("LeasedEntry", "larder_leased"),
    ("Metadata", "larder_meta"),
    ("Outcome", "larder_outcome"),
    ("PutEntry", "larder_put"),
    ("Reader", "larder_reader"),
    ("SessionHandle", "larder_session"),
    ("StoreHandle", "larder_store"),
    ("StoreStats", "larder_stats"),
    ("c_char", "char"),
    ("c_void", "void"),
    ("i32", "int32_t"),
    ("i64", "int64_t"),
    ("u32", "uint32_t"),
    ("u64", "uint64_t"),
    ("usize", "size_t"),
];

/// Holds the header against the code.
pub(crate) fn the_header_is_that_of_the_code() {
    let source = source();
    let functions = functions(&source);
    let mut program = String::from("#include <larder.h>\n");
    for (_, prototype) in &functions {
        writeln!(program, "{prototype};").unwrap();
    }
    let constants = constants(&source);
    for (name, value) in &constants {
        let value = value.replace("u64::MAX", "UINT64_MAX");
        writeln!(program, "_Static_assert({name} == {value}, \"{name}\");").unwrap();
    }
    program += &layouts();
    let folder = ScratchDir::create("capi").unwrap();
    let file = folder.path().join("header.c");
    fs::write(&file, program).unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"]);
    let output = compiler.arg(include).arg(file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    // The compiler does not see a function or a constant that stands in the header alone.
    let header = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/include/larder.h"));
    let header = without_comments(&header.unwrap());
    let declared = header.match_indices('(').filter_map(|(at, _)| {
        let word = header[..at].rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
        word.filter(|word| word.starts_with("larder_")).map(str::to_owned)
    });
    let coded = functions.into_iter().map(|(name, _)| name);
    assert_eq!(declared.collect::<BTreeSet<_>>(), coded.collect::<BTreeSet<_>>());
    let defines = header.lines().filter_map(|line| line.strip_prefix("#define LARDER_"));
    let defined = defines.filter_map(|define| define.split_once(' '));
    let defined = defined.map(|(name, _)| format!("LARDER_{name}"));
    let coded = constants.into_iter().map(|(name, _)| name);
    assert_eq!(defined.collect::<BTreeSet<_>>(), coded.collect::<BTreeSet<_>>());
}

/// The whole code of the crate.
fn source() -> String {
    let folder = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).unwrap();
    folder.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect()
}

/// The name of each function for C, and its prototype.
fn functions(source: &str) -> Vec<(String, String)> {
    let function = |text: &str| {
        let (name, rest) = text.split_once('(').unwrap();
        let (parameters, rest) = rest.split_once(')').unwrap();
        let result = rest.split_once('{').unwrap().0.trim().strip_prefix("->");
        let parameters = parameters.split(',').filter_map(|one| one.split_once(": "));
        let mut parameters: Vec<_> = parameters.map(|(_, of)| in_c(of)).collect();
        if parameters.is_empty() {
            parameters.push("void".into());
        }
        let result = result.map_or_else(|| "void".into(), in_c);
        (name.to_owned(), format!("{result} {name}({})", parameters.join(", ")))
    };
    let functions: Vec<_> = source.split("extern \"C\" fn ").skip(1).map(function).collect();
    assert!(functions.len() > 20, "{functions:?}");
    functions
}

/// A type of the code, as C writes it.
fn in_c(of: &str) -> String {
    let of = of.trim();
    if let Some(of) = of.strip_prefix("*mut ") {
        return format!("{} *", in_c(of));
    }
    if let Some(of) = of.strip_prefix("*const ") {
        return format!("const {} *", in_c(of));
    }
    let found = TYPES.iter().find(|(name, _)| *name == of);
    found.unwrap_or_else(|| panic!("`{of}` has no name in C")).1.to_owned()
}

/// The name and the value of each constant for C.
fn constants(source: &str) -> Vec<(String, String)> {
    let constants = source.split("\npub const LARDER_").skip(1);
    let constant = |text: &str| {
        let (name, rest) = text.split_once(": ").unwrap();
        let (_, value) = rest.split_once(';').unwrap().0.split_once(" = ").unwrap();
        (format!("LARDER_{name}"), value.to_owned())
    };
    constants.map(constant).collect()
}

/// Assertions of the size of each structure, and of the place of each field.
fn layouts() -> String {
    let mut text = String::new();
    let mut layout = |name: &str, size: usize, fields: &[(&str, usize)]| {
        let mut holds = |what: String, wanted: usize| {
            writeln!(text, "_Static_assert({what} == {wanted}, \"{what}\");").unwrap();
        };
        holds(format!("sizeof({name})"), size);
        for (field, offset) in fields {
            holds(format!("offsetof({name}, {field})"), *offset);
        }
    };
    macro_rules! layouts {
        ($($of:ident { $($field:ident)* })*) => {$(
            let (_, name) = TYPES.iter().find(|(name, _)| *name == stringify!($of)).unwrap();
            layout(name, size_of::<$of>(), &[$((stringify!($field), offset_of!($of, $field))),*]);
        )*};
    }
    layouts! {
        Bytes { data len }
        Metadata { version ttl_ms flags stale }
        Reader { session value capacity value_len meta }
        Entry { code value meta }
        PutEntry { key value ttl_ms version flags mode }
        Outcome { code version }
        InitialNumber { number ttl_ms }
        LeaseToken { bytes }
        LeasedEntry { code value meta token }
        StoreStats {
            hits misses sets deletes evictions expirations items bytes capacity_bytes connections requests_sent
        }
    }
    text
}

/// The header without its comments.
fn without_comments(header: &str) -> String {
    let mut parts = header.split("/*");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.filter_map(|part| part.split_once("*/")).fold(first, |text, (_, code)| text + code)
}

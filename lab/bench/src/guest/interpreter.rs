//! The interpreter of a guest's program: the usual one of its language, or the one that the URL names. So a run can
//! compare two versions of a language.

use std::env;
use std::path::{Path, PathBuf, absolute};

use larder_host::managed;
use larder_store::{Error, Result, Role, StoreUrl};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};

use super::Cache;

/// The option that names the interpreter. It is read here, and not passed to programs.
pub(crate) const INTERPRETER: &str = "interpreter";

/// Its description in lists of options.
const DESCRIPTION: &str = "The interpreter that runs the program, by its path or by its name on `PATH`; without it, \
                           the language's own. Two versions of a language stand side by side in a comparison, each \
                           above its own floor.";

/// The program that runs a guest's program.
#[derive(Debug, Clone)]
pub(super) struct Interpreter {
    /// Its path.
    pub(super) program: PathBuf,
    /// Whether the URL names it.
    pub(super) is_named: bool,
}

impl Interpreter {
    /// The interpreter that a URL asks for, and the URL without that option.
    pub(super) fn of(cache: &Cache, url: &StoreUrl) -> Result<(Self, StoreUrl)> {
        let engine = cache.engine.scheme;
        let rest = url.for_engine(url.scheme(), |name| name != INTERPRETER);
        let found = match url.option(INTERPRETER) {
            Some(named) => Self { program: named_program(engine, named)?, is_named: true },
            None => Self { program: of_language(cache)?, is_named: false },
        };
        Ok((found, rest))
    }

    /// The language as reports name it, with a named interpreter. Different interpreters have different floors.
    pub(super) fn language(&self, name: &str) -> String {
        if self.is_named {
            format!("{name} by {}", self.program.display())
        } else {
            name.to_owned()
        }
    }
}

/// The interpreter of the cache's language; if it is missing, another one that the cache can use.
fn of_language(cache: &Cache) -> Result<PathBuf> {
    let engine = cache.engine.scheme;
    let recipes = cache.engine.recipes;
    let others = recipes.iter().filter(|recipe| recipe.role == Role::Interpreter);
    let mut known = std::iter::once(&cache.language.interpreter).chain(others);
    match known.find_map(|recipe| managed::find(engine, recipe).ok()) {
        Some(found) => Ok(found),
        None => managed::find(engine, recipes.first().unwrap_or(&cache.language.interpreter)),
    }
}

/// Finds a named program: a path as it is, a bare name on `PATH`. Links are kept, because Python finds its environment
/// by the link that starts it.
fn named_program(engine: &'static str, named: &str) -> Result<PathBuf> {
    let invalid = |reason: String| Error::InvalidOptions {
        engine,
        reason: format!("option `{INTERPRETER}`: {reason}"),
    };
    if named.is_empty() {
        return Err(invalid("the value is empty; write the path of an interpreter".into()));
    }
    let is_name = !named.contains('/');
    let paths = env::var_os("PATH").unwrap_or_default();
    let mut on_path = env::split_paths(&paths).map(|folder| folder.join(named));
    let found = if is_name {
        on_path.find(|file| managed::is_program(file))
    } else {
        // The path must be absolute, because the program runs in a folder of its own.
        absolute(Path::new(named)).ok().filter(|file| managed::is_program(file))
    };
    found.ok_or_else(|| {
        let place = if is_name { " on PATH" } else { "" };
        let what = format!(
            "option `{INTERPRETER}`: there is no program `{named}`{place}; write the path of an existing program"
        );
        Error::Unavailable { engine, what, source: None }
    })
}

/// The options of a cache for the documentation, with the option that every guest has.
pub(super) fn schema_of<T: JsonSchema>() -> Schema {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<T>();
    let properties = schema.ensure_object().entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        let nullable = json!({ "type": ["string", "null"], "description": DESCRIPTION });
        properties.insert(INTERPRETER.to_owned(), nullable);
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;

    fn interpreter(url: &str) -> Result<(Interpreter, StoreUrl)> {
        let url = StoreUrl::parse(url).unwrap();
        Interpreter::of(find(url.scheme()).unwrap(), &url)
    }

    #[test]
    fn a_path_a_name_on_path_and_nothing_are_told_apart() {
        let (found, rest) = interpreter("perl+mmap:/tmp?interpreter=/bin/sh&size=1m").unwrap();
        assert_eq!((found.program.as_path(), found.is_named), (Path::new("/bin/sh"), true));
        assert_eq!((rest.option(INTERPRETER), rest.option("size")), (None, Some("1m")));
        assert_eq!(found.language("perl"), "perl by /bin/sh");
        let (found, _) = interpreter("php+null:?interpreter=sh").unwrap();
        assert!(found.program.ends_with("sh") && found.program.is_absolute(), "{found:?}");
    }

    #[test]
    fn what_is_not_there_or_cannot_be_run_is_one_clear_line() {
        for (url, words) in [
            (
                "php+null:?interpreter=/no/such/php",
                "option `interpreter`: there is no program `/no/such/php`; write the path",
            ),
            ("php+null:?interpreter=no-such-php", "there is no program `no-such-php` on PATH"),
            ("php+null:?interpreter=/tmp", "there is no program `/tmp`; write"),
            ("php+null:?interpreter=/etc/passwd", "there is no program `/etc/passwd`"),
            ("php+null:?interpreter=", "the value is empty"),
        ] {
            let said = interpreter(url).unwrap_err().to_string();
            assert!(said.contains(words) && !said.contains('\n'), "{said}");
        }
    }
}

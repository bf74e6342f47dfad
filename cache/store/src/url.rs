//! Store URLs: `scheme:path?option=value` and `scheme://user:password@host:port,host:port/path?option=value`; and
//! stacks of them: `scheme:URL|URL|?option=value`.

mod mask;
mod stack;

use std::fmt;

use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use crate::options::from_pairs;
use crate::{Error, Result};
use mask::{mask, user_info};

/// The place of a store and its options, as a person types them.
///
/// Two kinds of options belong to every target and are taken out before the engine reads its own: `name` (a label) and
/// names that begin with `driver.`, which go unread to the client library behind an engine. `Display` masks the
/// password, so that a URL may be shown and stored.
///
/// A `|` behind the scheme makes a stack: `tiered:moka:?size=64m|memcached://h1,h2|?l1_ttl=10s`. Each part is a whole
/// URL with options of its own, and a last part that begins with `?` holds the options of the stack. A `|` that
/// separates no tiers is written `%7C`.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    scheme: String,
    user: Option<String>,
    password: Option<String>,
    hosts: Vec<String>,
    path: String,
    query: Vec<(String, String)>,
    tiers: Vec<Self>,
    scratch: bool,
    masked: String,
}

impl StoreUrl {
    /// A text that may have a URL in it, with the URL's password masked, even where the URL is wrong.
    pub fn mask(text: &str) -> String {
        mask(text)
    }

    /// Reads a URL. [`Catalog::open`](crate::Catalog::open) checks that the scheme is known and the options fit.
    pub fn parse(text: &str) -> Result<Self> {
        let masked = mask(text);
        let invalid =
            |reason: &str| Error::InvalidUrl { url: masked.clone(), reason: reason.into() };
        let (scheme, rest) = text.split_once(':').ok_or_else(|| invalid(&no_engine(text)))?;
        if !stack::is_scheme(scheme) {
            return Err(invalid("an engine is written in small letters, then a colon"));
        }
        if rest.contains('|') {
            return Self::parse_stack(scheme, rest, masked);
        }
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut url = Self {
            scheme: scheme.into(),
            user: None,
            password: None,
            hosts: Vec::new(),
            path: String::new(),
            query: Vec::new(),
            tiers: Vec::new(),
            scratch: false,
            masked: masked.clone(),
        };
        let decoded = |text: &str| {
            percent_decode_str(text)
                .decode_utf8()
                .map(String::from)
                .map_err(|_| invalid("percent-encoding that is not UTF-8"))
        };
        if let Some(place) = place.strip_prefix("//") {
            if user_info(text).is_some_and(|range| text[range].contains(['/', '?', '#'])) {
                return Err(invalid(
                    "`/`, `?` and `#` in a user or password are written `%2F`, `%3F`, `%23`, and `@` in a path `%40`",
                ));
            }
            let (authority, path) =
                place.find('/').map_or((place, ""), |slash| place.split_at(slash));
            let (user_info, hosts) = match authority.rsplit_once('@') {
                Some((user_info, hosts)) => (Some(user_info), hosts),
                None => (None, authority),
            };
            if let Some(user_info) = user_info {
                let (user, password) = match user_info.split_once(':') {
                    Some((user, password)) => (user, Some(password)),
                    None => (user_info, None),
                };
                url.user = Some(decoded(user)?);
                url.password = password.map(decoded).transpose()?;
            }
            if !hosts.is_empty() {
                url.hosts = hosts.split(',').map(decoded).collect::<Result<_>>()?;
                if url.hosts.iter().any(String::is_empty) {
                    return Err(invalid("an empty host between commas"));
                }
            }
            url.path = decoded(path)?;
        } else {
            url.path = decoded(place)?;
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, "on"));
            let name = decoded(name)?;
            if url.option(&name).is_some() {
                return Err(invalid(&format!("option `{name}` is given twice")));
            }
            let value = decoded(value)?;
            url.query.push((name, value));
        }
        Ok(url)
    }

    /// Reads `URL|URL|?options`, the text behind the scheme of a stack.
    fn parse_stack(scheme: &str, rest: &str, masked: String) -> Result<Self> {
        let invalid = |reason: String| Error::InvalidUrl { url: masked.clone(), reason };
        if stack::is_cut(rest) {
            return Err(invalid(stack::HINT.into()));
        }
        let (parts, own) = match rest.rsplit_once('|') {
            Some((parts, own)) if own.starts_with('?') => (parts, own),
            _ => (rest, ""),
        };
        let mut tiers = Vec::new();
        for (i, part) in parts.split('|').enumerate() {
            if !part.split_once(':').is_some_and(|(scheme, _)| stack::is_scheme(scheme)) {
                let hint = stack::HINT;
                return Err(invalid(format!(
                    "tier {} does not begin with an engine; {hint}",
                    i + 1
                )));
            }
            tiers.push(Self::parse(part).map_err(|error| match error {
                Error::InvalidUrl { url, reason } => {
                    invalid(format!("tier {}, `{url}`: {reason}", i + 1))
                }
                error => error,
            })?);
        }
        let mut url = Self::parse(&format!("{scheme}:{own}"))?;
        // The name of a stack stands at its end, where the options of the last tier are too.
        if let Some(last) = tiers.last_mut()
            && let Some(at) = last.query.iter().position(|(name, _)| name == "name")
        {
            let label = last.query.remove(at);
            if url.name().is_some() {
                return Err(invalid(
                    "option `name` is given twice, by the last tier and by the stack".into(),
                ));
            }
            url.query.push(label);
        }
        Ok(Self { tiers, masked, ..url })
    }

    /// The scheme: the kind of engine.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The user before the `@`, decoded.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The password before the `@`, decoded. Never show it.
    pub fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// The hosts of `//host:port,host:port`, as written; empty where there is none.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// The path, decoded; empty where there is none.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The tiers of a stack, the nearest first; empty where the URL is no stack.
    pub fn tiers(&self) -> &[Self] {
        &self.tiers
    }

    /// The label given by `?name=`.
    pub fn name(&self) -> Option<&str> {
        self.option("name")
    }

    /// The text of one option.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The same URL with an option added, unless the option is already given; a stack gets an option of its own.
    /// `Display` still shows the text that was typed.
    #[must_use]
    pub fn or_option(mut self, name: &str, value: &str) -> Self {
        if self.option(name).is_none() {
            self.query.push((name.into(), value.into()));
        }
        self
    }

    /// The same URL with a user and a password, unless it has them. `Display` still shows the text that was typed.
    #[must_use]
    pub fn or_login(mut self, user: &str, password: &str) -> Self {
        self.user.get_or_insert_with(|| user.into());
        self.password.get_or_insert_with(|| password.into());
        self
    }

    /// The same URL, for a temporary store that vanishes when it is closed. An engine that keeps files makes new ones
    /// in or beside the path and removes them again; files that exist at the path stay as they are. For a stack, all
    /// tiers.
    #[must_use]
    pub fn in_scratch(mut self) -> Self {
        self.scratch = true;
        self.tiers = self.tiers.into_iter().map(Self::in_scratch).collect();
        self
    }

    /// Whether the URL asks for a temporary store; see [`StoreUrl::in_scratch`].
    pub fn is_scratch(&self) -> bool {
        self.scratch
    }

    /// The names of the engine's own options, as they were given.
    pub fn option_names(&self) -> impl Iterator<Item = &str> {
        self.query.iter().map(|(name, _)| name.as_str()).filter(|name| is_own(name))
    }

    /// The same place for another engine, with the options that `takes` accepts. `Display` shows the text that was
    /// typed, with the other scheme.
    #[must_use]
    pub fn for_engine(&self, scheme: &str, takes: impl Fn(&str) -> bool) -> Self {
        let typed = self.masked.split_once(':').map_or("", |(_, typed)| typed);
        let masked = format!("{scheme}:{typed}");
        let query = self.query.iter().filter(|(name, _)| takes(name)).cloned().collect();
        Self { scheme: scheme.into(), query, masked, ..self.clone() }
    }

    /// The same URL without these options; a stack loses options of its own, its tiers keep theirs. `Display` still shows
    /// the text that was typed.
    #[must_use]
    pub fn without_options(&self, leaves_out: impl Fn(&str) -> bool) -> Self {
        let query = self.query.iter().filter(|(name, _)| !leaves_out(name)).cloned().collect();
        Self { query, ..self.clone() }
    }

    /// The engine's own options as its struct. Unknown names and values out of range are errors that name them.
    pub fn options<T: DeserializeOwned>(&self, engine: &'static str) -> Result<T> {
        let own = self
            .query
            .iter()
            .filter(|(name, _)| is_own(name))
            .map(|(name, value)| (name.as_str(), value.as_str()));
        from_pairs(own).map_err(|reason| Error::InvalidOptions { engine, reason })
    }

    /// The options `driver.<name>=<value>`, for the client library behind an engine, the prefix taken off.
    pub fn driver_options(&self) -> impl Iterator<Item = (&str, &str)> {
        self.query
            .iter()
            .filter_map(|(name, value)| Some((name.strip_prefix("driver.")?, value.as_str())))
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.masked)
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({})", self.masked)
    }
}

/// Whether an option belongs to the engine, not to every target or to the library behind it.
fn is_own(name: &str) -> bool {
    name != "name" && !name.starts_with("driver.")
}

/// The fix for a text without a colon.
fn no_engine(text: &str) -> String {
    if text.starts_with(['/', '.']) {
        format!("no engine stands before the path; write `file:{text}`")
    } else if stack::is_scheme(text) {
        format!("the name of an engine ends with a colon; write `{text}:`, or `--scenario {text}`")
    } else {
        "no engine; write `memcached:` or `file:/var/tmp/cache`".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_come_out() {
        let url = StoreUrl::parse("memcached://h1:11211,h2/p?nodes=4&name=two%20nodes").unwrap();
        assert_eq!(url.scheme(), "memcached");
        assert_eq!(url.hosts(), ["h1:11211", "h2"]);
        assert_eq!(url.path(), "/p");
        assert_eq!(url.name(), Some("two nodes"));
        assert_eq!(url.option("nodes"), Some("4"));

        let url = StoreUrl::parse("file:/var/tmp/a%3Fb").unwrap();
        assert_eq!((url.hosts().len(), url.path()), (0, "/var/tmp/a?b"));
        assert_eq!(StoreUrl::parse("memcached:").unwrap().path(), "");
    }

    #[test]
    fn another_engine_gets_the_place_and_the_options_that_it_takes() {
        let url = StoreUrl::parse("perl+memcached://me:pw@h1,h2?nowait=on&m=64m&name=x").unwrap();
        assert_eq!(url.option_names().collect::<Vec<_>>(), ["nowait", "m"]);
        let other = url.for_engine("memcached", |name| name == "m");
        assert_eq!((other.scheme(), other.hosts()), ("memcached", url.hosts()));
        assert_eq!((other.option("m"), other.option("nowait")), (Some("64m"), None));
        assert_eq!(other.to_string(), "memcached://me:***@h1,h2?nowait=on&m=64m&name=x");
    }

    #[test]
    fn passwords_are_never_shown() {
        let url =
            StoreUrl::parse("mysql://me:s%40crt@db:3306/x?driver.ssl_password=y&a=b").unwrap();
        assert_eq!(url.password(), Some("s@crt"));
        let shown = format!("{url} {url:?}");
        assert!(shown.contains("mysql://me:***@db:3306/x?driver.ssl_password=***&a=b"), "{shown}");
        assert!(!shown.contains("crt"), "{shown}");
        // A broken URL is shown too, in its error.
        let error = StoreUrl::parse("redis://me:pa@ss@a,,b").unwrap_err().to_string();
        assert!(error.contains("redis://me:***@a,,b") && !error.contains("pa@"), "{error}");
    }

    #[test]
    fn a_password_that_is_not_encoded_is_refused_and_not_shown() {
        for (text, shown) in [
            ("mysql://me:pa?ss@db", "mysql://me:***@db"),
            ("mysql://me:pa/ss@db/x", "mysql://me:***@db/x"),
            ("mysql://me:pa#ss@db", "mysql://me:***@db"),
            ("mysql://me:pa/s?s=s@db?a=b&password=ss", "mysql://me:***@db?a=b&password=***"),
            ("mysql://me:pa?s=s@db", "mysql://me:***@db"),
            ("mysql://me:pa@s/s@db", "mysql://me:***@db"),
            ("mysql://me:pa@s?s@db", "mysql://me:***@db"),
            // The beginning of these passwords could be a port.
            ("mysql://me:12/pass@db", "mysql://me:***@db"),
            ("mysql://me:12?pass@db", "mysql://me:***@db"),
            ("mysql://m/e:pass@db", "mysql://m/e:***@db"),
            ("redis://:/pass@db", "redis://:***@db"),
            ("redis://:?pa=ss@db", "redis://:***@db"),
        ] {
            let error = StoreUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains(&format!("`{shown}`")) && error.contains("`%2F`"), "{error}");
        }
        let url = StoreUrl::parse("mysql://me:pa%3Fs%2Fs%23@db").unwrap();
        assert_eq!((url.password(), &*url.to_string()), (Some("pa?s/s#"), "mysql://me:***@db"));
    }

    #[test]
    fn a_stack_is_made_of_whole_urls() {
        let text =
            "tiered:moka:?size=64m|memcached://h1:11211,h2?via=delay:2ms|?l1_ttl=10s&name=both";
        let url = StoreUrl::parse(text).unwrap();
        assert_eq!((url.scheme(), url.path(), url.hosts().len()), ("tiered", "", 0));
        assert_eq!(
            (url.name(), url.option("l1_ttl"), url.option("size")),
            (Some("both"), Some("10s"), None)
        );
        let [l1, l2] = url.tiers() else { panic!("{} tiers", url.tiers().len()) };
        assert_eq!((l1.scheme(), l1.option("size")), ("moka", Some("64m")));
        assert_eq!(
            (l2.hosts(), l2.option("via")),
            (&["h1:11211".to_owned(), "h2".into()][..], Some("delay:2ms"))
        );
        assert_eq!(
            (l2.to_string(), url.to_string()),
            ("memcached://h1:11211,h2?via=delay:2ms".into(), text.into())
        );

        let url = StoreUrl::parse("perl+tiered:fastmmap:/dev/shm|memcached:").unwrap();
        let schemes: Vec<&str> = url.tiers().iter().map(StoreUrl::scheme).collect();
        assert_eq!((url.scheme(), schemes), ("perl+tiered", vec!["fastmmap", "memcached"]));
        assert_eq!(url.tiers()[0].path(), "/dev/shm");
        let url = url.or_option("room", "1g").in_scratch();
        assert!(url.tiers().iter().all(StoreUrl::is_scratch));
        assert_eq!((url.option("room"), url.tiers()[1].option("room")), (Some("1g"), None));

        assert_eq!(StoreUrl::parse("file:/a%7Cb").unwrap().path(), "/a|b");
        assert!(StoreUrl::parse("moka:").unwrap().tiers().is_empty());
    }

    #[test]
    fn a_stack_is_named_at_its_end_or_by_its_own_option() {
        let url = StoreUrl::parse("tiered:moka:?name=near|lmdb:?name=both").unwrap();
        assert_eq!(url.name(), Some("both"));
        let names: Vec<_> = url.tiers().iter().map(StoreUrl::name).collect();
        assert_eq!(names, [Some("near"), None]);
        let error = StoreUrl::parse("tiered:moka:|lmdb:?name=a|?name=b").unwrap_err().to_string();
        assert!(error.contains("`name` is given twice"), "{error}");
    }

    #[test]
    fn no_tier_shows_its_password() {
        let url =
            StoreUrl::parse("tiered:redis://a:secret@h1|mysql://b:sec%7Cret@h2?token=secret|?x=1")
                .unwrap();
        assert_eq!(url.to_string(), "tiered:redis://a:***@h1|mysql://b:***@h2?token=***|?x=1");
        assert_eq!(url.tiers()[1].password(), Some("sec|ret"));
        let url = StoreUrl::parse("tiered:x:?token=a%7Cb|moka:|redis://h?password=c|?x=1").unwrap();
        assert_eq!(url.to_string(), "tiered:x:?token=***|moka:|redis://h?password=***|?x=1");
        for (text, shown) in [
            ("x:?channel=redis://me:pass@db", "x:?channel=redis://me:***@db"),
            ("x:?a=redis%3A%2F%2Fme%3Apass@db%26y", "x:?a=redis://me:***@db%26y"),
            ("x:?a=redis://me:pa%252Fss@db?b=1", "x:?a=redis://me:***@db?b=1"),
            ("x:?a=redis://h1%26b=%252F", "x:?a=redis://h1%26b=%252F"),
            (
                "tiered:moka:|redis:|?l1_ttl=1h&channel=redis://me:pass@db",
                "tiered:moka:|redis:|?l1_ttl=1h&channel=redis://me:***@db",
            ),
        ] {
            assert_eq!(StoreUrl::mask(text), shown);
        }
        assert_eq!((url.tiers().len(), url.tiers()[0].option("token")), (3, Some("a|b")));
        // A `|` in a password cuts it in two; neither half is shown.
        for (text, shown) in [
            ("redis://me:pa|ss@db", "redis://me:***@db"),
            ("tiered:moka:|redis://me:pa|ss@db", "tiered:moka:|redis://me:***@db"),
            ("tiered:moka:|redis://me:12|s:s@db|?x=y", "tiered:moka:|redis://me:***@db|?x=y"),
            ("tiered:redis://me:p|a|s?s@db|moka:", "tiered:redis://me:***@db|moka:"),
            ("tiered:redis://:p|ass@db", "tiered:redis://:***@db"),
            ("tiered:moka:|mysql://h?password=a|ss", "tiered:moka:|mysql://h?password=***"),
            ("tiered:x:?token=a|s:s|s|moka:", "tiered:x:?token=***|moka:"),
            ("tiered:x:?secret=a|s&b=c|?x=1", "tiered:x:?secret=***&b=c|?x=1"),
            (
                "tiered:x:?passwd=|ss|lmdb:/tmp/x|moka:?s=1",
                "tiered:x:?passwd=***|lmdb:/tmp/x|moka:?s=1",
            ),
            ("tiered:x://a:p|ss@h?token=a|ss|y:", "tiered:x://a:***@h?token=***|y:"),
        ] {
            let error = StoreUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains(&format!("`{shown}`")) && error.contains("`%7C`"), "{error}");
        }
    }

    #[test]
    fn an_at_sign_elsewhere_is_no_user() {
        for (text, hosts, path, option) in [
            ("redis://h?x=a@b", &["h"][..], "", Some("a@b")),
            ("redis://h:6379/0?x=a:b@c", &["h:6379"], "/0", Some("a:b@c")),
            ("redis://[::1]:1,[::2]?x=a@b", &["[::1]:1", "[::2]"], "", Some("a@b")),
            ("redis://h/a%40b", &["h"], "/a@b", None),
            ("memcached:///run/a:b@c?x=@", &[], "/run/a:b@c", Some("@")),
            ("file:/tmp//a:b/c@d?x=e//f:g@h", &[], "/tmp//a:b/c@d", Some("e//f:g@h")),
        ] {
            let url = StoreUrl::parse(text).unwrap();
            assert_eq!(url.hosts(), hosts);
            assert_eq!((url.path(), url.option("x")), (path, option));
            assert_eq!((url.user(), url.to_string()), (None, text.to_owned()));
        }
        let url = StoreUrl::parse("mysql://me:pass@h:1/x?y=a@b").unwrap();
        assert_eq!((url.password(), url.option("y")), (Some("pass"), Some("a@b")));
        assert_eq!(url.to_string(), "mysql://me:***@h:1/x?y=a@b");
    }

    #[test]
    fn a_bad_url_names_its_fault() {
        for (text, needle) in [
            ("moka", "the name of an engine ends with a colon; write `moka:`"),
            ("/var/tmp", "no engine"),
            (":x", "small letters"),
            ("Moka:", "small letters"),
            ("memcached://a,,b", "empty host"),
            ("moka:?size=1&size=2", "given twice"),
            ("file:%ff", "UTF-8"),
            ("file:/a|b", "tier 1 does not begin with an engine; `|` separates tiers"),
            ("moka:?name=a|b", "`%7C`"),
            ("tiered:moka:||lmdb:", "tier 2 does not begin"),
            ("tiered:moka:|memcached://a,,b", "tier 2, `memcached://a,,b`: an empty host"),
        ] {
            let error = StoreUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains(needle) && !error.contains('\n'), "{text}: {error}");
        }
    }
}

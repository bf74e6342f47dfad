//! Store URLs: `scheme:path?option=value` and `scheme://user:password@host:port,host:port/path?option=value`.

use std::fmt;

use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use crate::options::from_pairs;
use crate::{Error, Result};

/// Where a store is and how it is opened, as a person types it.
///
/// Two options belong to every target and are taken out before the engine sees its own: `name` (a label) and
/// those beginning with `driver.`, which go unread to the client library behind an engine. `Display` masks the
/// password, so that a URL may be shown and stored.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    scheme: String,
    user: Option<String>,
    password: Option<String>,
    hosts: Vec<String>,
    path: String,
    query: Vec<(String, String)>,
    scratch: bool,
    masked: String,
}

impl StoreUrl {
    /// Reads a URL. Whether its scheme is known and its options fit is for [`Catalog::open`](crate::Catalog::open).
    pub fn parse(text: &str) -> Result<Self> {
        let masked = mask(text);
        let invalid =
            |reason: &str| Error::InvalidUrl { url: masked.clone(), reason: reason.into() };
        let (scheme, rest) = text
            .split_once(':')
            .ok_or_else(|| invalid("no engine; write `memcached:` or `file:/var/tmp/cache`"))?;
        let letters =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '+' || c == '-';
        if scheme.is_empty() || !scheme.chars().all(letters) {
            return Err(invalid("an engine is written in small letters, then a colon"));
        }
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut url = Self {
            scheme: scheme.into(),
            user: None,
            password: None,
            hosts: Vec::new(),
            path: String::new(),
            query: Vec::new(),
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

    /// The label given by `?name=`.
    pub fn name(&self) -> Option<&str> {
        self.option("name")
    }

    /// The text of one option.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The same URL with an option added, unless it is already given. What is shown stays as it was typed.
    #[must_use]
    pub fn or_option(mut self, name: &str, value: &str) -> Self {
        if self.option(name).is_none() {
            self.query.push((name.into(), value.into()));
        }
        self
    }

    /// The same URL, for a store of one's own that vanishes when it is closed: an engine that keeps files makes new ones
    /// in or beside the path and removes them again, and what lies at the path stays as it is.
    #[must_use]
    pub fn in_scratch(mut self) -> Self {
        self.scratch = true;
        self
    }

    /// Whether this asks for a store that vanishes; see [`StoreUrl::in_scratch`].
    pub fn is_scratch(&self) -> bool {
        self.scratch
    }

    /// The engine's own options as its struct. Unknown names and values out of range are errors that name them.
    pub fn options<T: DeserializeOwned>(&self, engine: &'static str) -> Result<T> {
        let own = self
            .query
            .iter()
            .filter(|(name, _)| name != "name" && !name.starts_with("driver."))
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

/// The URL with `***` in place of its password: between `:` and `@`, and in options that are named like one.
fn mask(text: &str) -> String {
    let (place, query) = match text.split_once('?') {
        Some((place, query)) => (place, Some(query)),
        None => (text, None),
    };
    let mut masked = mask_user_info(place);
    if let Some(query) = query {
        masked.push('?');
        for (i, pair) in query.split('&').enumerate() {
            if i > 0 {
                masked.push('&');
            }
            match pair.split_once('=') {
                Some((name, _)) if is_secret(name) => {
                    masked.push_str(name);
                    masked.push_str("=***");
                }
                _ => masked.push_str(pair),
            }
        }
    }
    masked
}

fn mask_user_info(place: &str) -> String {
    let masked = || {
        let start = place.find("//")? + 2;
        let end = start + place[start..].find('/').unwrap_or(place.len() - start);
        let at = start + place[start..end].rfind('@')?;
        let colon = start + place[start..at].find(':')?;
        Some(format!("{}:***{}", &place[..colon], &place[at..]))
    };
    masked().unwrap_or_else(|| place.into())
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["password", "passwd", "secret", "token"].iter().any(|word| name.contains(word))
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
    fn bad_urls_say_what_would_be_right() {
        for (text, needle) in [
            ("moka", "no engine"),
            ("/var/tmp", "no engine"),
            (":x", "small letters"),
            ("Moka:", "small letters"),
            ("memcached://a,,b", "empty host"),
            ("moka:?size=1&size=2", "given twice"),
            ("file:%ff", "UTF-8"),
        ] {
            let error = StoreUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains(needle) && !error.contains('\n'), "{text}: {error}");
        }
    }
}

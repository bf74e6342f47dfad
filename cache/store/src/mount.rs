//! A file system that is mounted for a store.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};

use crate::units::ByteSize;

/// The smallest tmpfs. An empty store of files takes some pages of it, and the kernel reads a size of 0 as no limit at
/// all.
const SMALLEST: ByteSize = ByteSize(64 << 10);

/// A file system in memory that is mounted for a store and unmounted when the store is closed: `tmpfs:1g`, `ramfs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mount {
    /// With a limit: this size, or half of the machine's memory. Writes beyond the limit are refused.
    Tmpfs(Option<ByteSize>),
    /// Without a limit. The kernel takes a size and ignores it, so the URL may give one too.
    Ramfs(Option<ByteSize>),
}

impl Mount {
    /// The kernel's name of the file system.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Tmpfs(_) => "tmpfs",
            Self::Ramfs(_) => "ramfs",
        }
    }

    /// The size that the URL gives, whether the kernel heeds it or not.
    pub fn asked(self) -> Option<ByteSize> {
        match self {
            Self::Tmpfs(size) | Self::Ramfs(size) => size,
        }
    }
}

impl fmt::Display for Mount {
    /// The file system in words: a size that a ramfs was given is no limit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tmpfs(Some(size)) => write!(f, "tmpfs, size={size}"),
            Self::Tmpfs(None) => f.write_str("tmpfs, size=half of memory"),
            Self::Ramfs(Some(size)) => write!(f, "ramfs, size={size} is ignored by ramfs"),
            Self::Ramfs(None) => f.write_str("ramfs"),
        }
    }
}

impl FromStr for Mount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, size) = match text.split_once(':') {
            Some((kind, size)) => (kind, Some(size)),
            None => (text, None),
        };
        if !matches!(kind, "tmpfs" | "ramfs") {
            return Err(format!("`{kind}` cannot be mounted for a store; write tmpfs:1g or ramfs"));
        }
        let size: Option<ByteSize> = size.map(str::parse).transpose()?;
        if kind == "ramfs" {
            return Ok(Self::Ramfs(size));
        }
        match size.filter(|size| *size < SMALLEST) {
            Some(size) => Err(format!("a tmpfs of {size} is below {SMALLEST}; give it more")),
            None => Ok(Self::Tmpfs(size)),
        }
    }
}

impl<'de> Deserialize<'de> for Mount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Mount;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a file system such as tmpfs:1g")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Mount, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl JsonSchema for Mount {
    fn schema_name() -> Cow<'static, str> {
        "Mount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "a file system such as tmpfs:1g" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_reads_and_shows() {
        for (text, mount, shown) in [
            ("tmpfs:1g", Mount::Tmpfs(Some(ByteSize(1 << 30))), "tmpfs, size=1 GiB"),
            ("tmpfs", Mount::Tmpfs(None), "tmpfs, size=half of memory"),
            (
                "ramfs:1g",
                Mount::Ramfs(Some(ByteSize(1 << 30))),
                "ramfs, size=1 GiB is ignored by ramfs",
            ),
            ("ramfs", Mount::Ramfs(None), "ramfs"),
        ] {
            assert_eq!(text.parse(), Ok(mount));
            assert_eq!(mount.to_string(), shown);
        }
    }

    #[test]
    fn a_wrong_mount_is_refused_with_a_remedy() {
        for (text, message) in [
            ("ext4", "`ext4` cannot be mounted for a store; write tmpfs:1g or ramfs"),
            ("tmpfs:0", "a tmpfs of 0 B is below 64 KiB; give it more"),
            ("tmpfs:much", "`much` is not a size; write 4096, 4k, 64m or 1g"),
        ] {
            assert_eq!(text.parse::<Mount>(), Err(message.into()));
        }
    }
}

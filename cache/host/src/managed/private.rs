//! Secrets of a server: its files, and its password.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use larder_store::{Error, Result};

use super::Account;

/// Writes a new file that only the server, which runs under this account, may read.
pub fn write_private(
    engine: &'static str,
    path: &Path,
    text: &str,
    account: Option<&Account>,
) -> Result<()> {
    let mut file = OpenOptions::new();
    file.write(true).create_new(true).mode(0o600);
    let written = file.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    let given = written.and_then(|()| account.map_or(Ok(()), |account| account.own(path)));
    given.map_err(|source| {
        let what = format!("writing {}", path.display());
        Error::Io { engine, what, source }
    })
}

/// A password that cannot be guessed: 128 random bits as text.
pub fn random_password(engine: &'static str) -> Result<String> {
    let mut bits = [0; 16];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bits));
    read.map_err(|source| {
        let what = "drawing a password from /dev/urandom".into();
        Error::Io { engine, what, source }
    })?;
    Ok(format!("{:032x}", u128::from_le_bytes(bits)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_differ() {
        let (one, other) = (random_password("test").unwrap(), random_password("test").unwrap());
        assert!(one != other && one.len() == 32, "{one} {other}");
    }
}

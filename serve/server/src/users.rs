//! The users that may speak to the server, from a file as memcached's `-Y` takes it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// The longest file, in bytes.
const MAX_FILE: u64 = 64 << 10;

/// A file of users, and its users as of the last reading.
#[derive(Debug)]
pub(crate) struct Users {
    path: PathBuf,
    /// `user:password` each.
    lines: RwLock<Arc<[Line]>>,
}

/// A user and a password.
type Line = (Box<[u8]>, Box<[u8]>);

impl Users {
    /// Reads a file: a user, a colon and a password in each line. Empty lines are ignored.
    ///
    /// # Errors
    ///
    /// One sentence that says what is wrong.
    pub(crate) fn of_file(path: &Path) -> Result<Self, String> {
        let lines = RwLock::new(read(path)?);
        Ok(Self { path: path.to_owned(), lines })
    }

    /// Reads the file again. After an error the users stay as they were.
    ///
    /// # Errors
    ///
    /// As for [`Users::of_file`].
    pub(crate) fn reload(&self) -> Result<(), String> {
        *self.lines.write().unwrap_or_else(PoisonError::into_inner) = read(&self.path)?;
        Ok(())
    }

    /// Whether this is the password of this user. The time it takes reveals nothing of either.
    pub(crate) fn have(&self, user: &[u8], password: &[u8]) -> bool {
        let lines = Arc::clone(&self.lines.read().unwrap_or_else(PoisonError::into_inner));
        lines.iter().fold(false, |found, (name, secret)| {
            found | (is_equal(name, user) & is_equal(secret, password))
        })
    }
}

fn read(path: &Path) -> Result<Arc<[Line]>, String> {
    let shown = path.display();
    let failed = |error: std::io::Error| format!("{shown}: {error}");
    if fs::metadata(path).map_err(failed)?.len() > MAX_FILE {
        return Err(format!("{shown}: a file of users has {MAX_FILE} bytes at most"));
    }
    let text = fs::read(path).map_err(failed)?;
    let mut lines = Vec::new();
    for (i, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let at = line.iter().position(|byte| *byte == b':');
        match at {
            Some(at) if at > 0 => lines.push((line[..at].into(), line[at + 1..].into())),
            None if line.is_empty() => {}
            _ => return Err(format!("{shown}: line {} is not user:password", i + 1)),
        }
    }
    if lines.is_empty() {
        return Err(format!("{shown}: there is no user; write user:password"));
    }
    Ok(lines.into())
}

/// Compares all bytes, so that a guess does not come nearer by the time it takes.
fn is_equal(secret: &[u8], guess: &[u8]) -> bool {
    let mut difference = u8::from(secret.len() != guess.len());
    for (i, byte) in guess.iter().enumerate() {
        difference |= byte ^ secret.get(i).copied().unwrap_or(!byte);
    }
    std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_known_by_their_whole_passwords() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users");
        fs::write(&path, "ann:secret\r\n\nbob:a:b c\n").unwrap();
        let users = Users::of_file(&path).unwrap();
        assert!(users.have(b"ann", b"secret") && users.have(b"bob", b"a:b c"));
        for (user, password) in
            [("ann", "secre"), ("ann", "secrets"), ("ann", ""), ("bob", "secret"), ("", "")]
        {
            assert!(!users.have(user.as_bytes(), password.as_bytes()), "{user} {password}");
        }
        fs::write(&path, "carl:new").unwrap();
        users.reload().unwrap();
        assert!(users.have(b"carl", b"new") && !users.have(b"ann", b"secret"));
        fs::write(&path, "carl").unwrap();
        assert!(users.reload().unwrap_err().contains("line 1 is not user:password"));
        assert!(users.have(b"carl", b"new"));
        fs::write(&path, "\n").unwrap();
        assert!(Users::of_file(&path).unwrap_err().contains("there is no user"));
    }
}

//! Salts: random for one recording, or from a file for recordings whose keys must have the same numbers.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::keys::SALT_LEN;

/// A random salt.
pub fn random_salt() -> [u8; SALT_LEN] {
    rand::random()
}

/// The salt of a file: 32 hexadecimal digits. A missing file is created with a random salt, readable by its owner only.
///
/// # Errors
///
/// A sentence that names the file and says what is wrong.
pub fn salt_of_file(path: &Path) -> Result<[u8; SALT_LEN], String> {
    let shown = path.display();
    match fs::read_to_string(path) {
        Ok(text) => parse(text.trim()).ok_or_else(|| {
            format!(
                "{shown}: a salt is {} hexadecimal digits; name a new file, and one is made",
                2 * SALT_LEN
            )
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let salt = random_salt();
            let text = salt.iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            });
            let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
            let written = file.and_then(|mut file| {
                file.write_all(format!("{text}\n").as_bytes())?;
                file.sync_all()
            });
            written.map(|()| salt).map_err(|error| format!("{shown}: {error}"))
        }
        Err(error) => Err(format!("{shown}: {error}")),
    }
}

fn parse(text: &str) -> Option<[u8; SALT_LEN]> {
    let mut salt = [0; SALT_LEN];
    if text.len() != 2 * SALT_LEN || !text.is_ascii() {
        return None;
    }
    for (place, digits) in salt.iter_mut().zip(text.as_bytes().chunks(2)) {
        *place = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(salt)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_made_once_and_read_from_then_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("salt");
        let made = salt_of_file(&path).unwrap();
        assert_eq!(salt_of_file(&path), Ok(made));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_ne!(random_salt(), random_salt());
    }

    #[test]
    fn a_file_that_is_no_salt_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("salt");
        for text in ["", "123", "zz000000000000000000000000000000", &"é".repeat(16)] {
            fs::write(&path, text).unwrap();
            assert!(salt_of_file(&path).unwrap_err().contains("hexadecimal digits"), "{text}");
        }
        assert!(salt_of_file(&folder.path().join("no/such")).is_err());
    }
}

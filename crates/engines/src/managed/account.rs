//! The unprivileged accounts that servers run under when Larder itself is root.

use std::fs;
use std::path::Path;

/// An account of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub name: String,
    uid: u32,
    gid: u32,
}

impl Account {
    /// The first of these accounts that exists, when this process is root and a server must not be; else `None`.
    pub fn for_server(names: &[&str]) -> Option<Self> {
        // SAFETY: geteuid has no arguments and touches no memory.
        if unsafe { libc::geteuid() } != 0 {
            return None;
        }
        let accounts = fs::read_to_string("/etc/passwd").ok()?;
        names.iter().find_map(|name| find(&accounts, name))
    }

    /// Gives a file or directory to this account.
    pub(super) fn own(&self, path: &Path) -> std::io::Result<()> {
        std::os::unix::fs::chown(path, Some(self.uid), Some(self.gid))
    }
}

/// The account in the text of `/etc/passwd`: `name:x:uid:gid:…` a line. Servers' accounts are always there, other
/// sources of accounts hold people.
fn find(accounts: &str, name: &str) -> Option<Account> {
    accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next() != Some(name) {
            return None;
        }
        let mut number = || fields.nth(1).and_then(|field| field.parse().ok());
        let uid = number()?;
        let gid = fields.next()?.parse().ok()?;
        Some(Account { name: name.into(), uid, gid })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_found_by_its_whole_name() {
        let accounts =
            "root:x:0:0:root:/root:/bin/sh\nmemcache:x:102:105:Memcached,,,:/:/bin/false\n";
        let memcache = Account { name: "memcache".into(), uid: 102, gid: 105 };
        assert_eq!(find(accounts, "memcache"), Some(memcache));
        assert_eq!(find(accounts, "mem"), None);
    }
}

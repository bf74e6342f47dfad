//! The unprivileged accounts that servers run under when Larder itself is root.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// An account of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub name: String,
    uid: u32,
    gid: u32,
}

impl Account {
    /// The first of these accounts that exists and can reach its future `directory`; `None` unless this process is
    /// root.
    ///
    /// If only root may enter the temporary directory, no other account can work there: then the server runs as root
    /// too.
    pub fn for_server(names: &[&str], directory: &Path) -> Option<Self> {
        if !is_root() {
            return None;
        }
        let accounts = fs::read_to_string("/etc/passwd").ok()?;
        let known = names.iter().filter_map(|name| find(&accounts, name));
        let mut able = known.filter(|account| account.reaches(directory));
        able.next().or_else(|| find(&accounts, "root"))
    }

    /// The account of this name, where there is one.
    pub fn named(name: &str) -> Option<Self> {
        find(&fs::read_to_string("/etc/passwd").ok()?, name)
    }

    /// Makes this process, with all its threads, run under this account from now on.
    ///
    /// # Errors
    ///
    /// What the system reports; the process may then have the account's groups already.
    pub fn become_it(&self) -> io::Result<()> {
        let name = CString::new(self.name.as_str()).map_err(io::Error::other)?;
        // SAFETY: the call reads the name only.
        succeeded(unsafe { libc::initgroups(name.as_ptr(), self.gid) })?;
        // SAFETY: the calls touch no memory.
        succeeded(unsafe { libc::setgid(self.gid) })?;
        // SAFETY: as above.
        succeeded(unsafe { libc::setuid(self.uid) })
    }

    /// Whether this account may pass through every folder above `directory`.
    fn reaches(&self, directory: &Path) -> bool {
        directory.ancestors().skip(1).all(|folder| {
            fs::metadata(folder).is_ok_and(|folder| {
                let pass = match (folder.uid() == self.uid, folder.gid() == self.gid) {
                    (true, _) => 0o100,
                    (false, true) => 0o010,
                    (false, false) => 0o001,
                };
                folder.mode() & pass != 0
            })
        })
    }

    /// Gives a file or directory to this account.
    pub fn own(&self, path: &Path) -> std::io::Result<()> {
        std::os::unix::fs::chown(path, Some(self.uid), Some(self.gid))
    }

    /// Makes a program start under this account: for a server without an option for it.
    pub fn run(&self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid);
    }
}

/// Whether this process is root's.
pub fn is_root() -> bool {
    // SAFETY: geteuid has no arguments and touches no memory.
    unsafe { libc::geteuid() == 0 }
}

fn succeeded(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The account in the text of `/etc/passwd`: `name:x:uid:gid:…` a line. Servers' accounts are always in this file;
/// other sources of accounts hold people.
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

    #[test]
    fn a_folder_that_only_its_owner_may_enter_is_out_of_reach_of_others() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = crate::scratch::ScratchDir::create("account").unwrap();
        let outer = scratch.path().join("outer");
        let inner = outer.join("inner");
        fs::create_dir_all(&inner).unwrap();
        let metadata = fs::metadata(&outer).unwrap();
        let owner = Account { name: "owner".into(), uid: metadata.uid(), gid: metadata.gid() };
        let other = Account { name: "other".into(), uid: owner.uid + 1, gid: owner.gid + 1 };
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let reachable = [0o700, 0o755].map(|mode| {
            fs::set_permissions(&outer, fs::Permissions::from_mode(mode)).unwrap();
            (owner.reaches(&inner), other.reaches(&inner))
        });
        // Whether the temporary directory itself can be passed depends on the machine.
        assert_eq!((reachable[0].1, reachable[1].0), (false, reachable[0].0));
        assert_eq!(reachable[1].1, other.reaches(&outer));
    }
}

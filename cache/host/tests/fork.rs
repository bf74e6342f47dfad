//! Directories and programs in a forked child of the process that made them.

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::Command;

use larder_host::managed::Group;
use larder_host::scratch::ScratchDir;
use larder_testkit::{PATIENCE, fork, has_succeeded, within};

#[test]
fn a_child_leaves_the_directory_and_the_program_of_its_parent_alone() {
    let directory = ScratchDir::create("fork").unwrap();
    let program = Group::spawn(Command::new("/bin/sleep").arg("1000")).unwrap();
    let path = directory.path().to_owned();
    let mut moved = Some((directory, program));
    let child = fork(|| {
        drop(moved.take());
        // A child has a watchdog of its own.
        let own = ScratchDir::create("fork").unwrap();
        assert!(own.path().is_dir());
        let there = own.path().to_owned();
        drop(own);
        assert!(!there.exists());
    });
    assert!(has_succeeded(child));
    let (directory, program) = moved.take().unwrap();
    assert!(path.is_dir());
    assert_eq!(program.ended(), None);
    drop(directory);
    assert!(!path.exists());
}

#[test]
fn a_watchdog_does_not_wait_for_the_children_of_its_process() {
    let (mut told, mut tell) = std::io::pipe().unwrap();
    let (mut ended, end) = std::io::pipe().unwrap();
    let parent = fork(|| {
        let directory = ScratchDir::create("fork").unwrap();
        // Lives until the test closes the pipe.
        fork(|| {
            // SAFETY: this process, which does not drop it, uses it no more.
            unsafe { libc::close(end.as_raw_fd()) };
            let _ = ended.read(&mut [0]);
        });
        tell.write_all(directory.path().as_os_str().as_encoded_bytes()).unwrap();
        // The parent ends without removing it.
        std::mem::forget(directory);
    });
    assert!(has_succeeded(parent));
    // The child that lives has the other end open, so there is no end of the file.
    let mut bytes = [0; 4096];
    let len = told.read(&mut bytes).unwrap();
    let path = PathBuf::from(std::str::from_utf8(&bytes[..len]).unwrap());
    assert!(within(PATIENCE, || !path.exists()), "{} is still there", path.display());
    drop(end);
}

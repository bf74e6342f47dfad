# Cleans up after a process that may be killed at any instruction. Standard input is a pipe whose other end only
# that process holds: it ends when the process does, however it does. Until then the lines are
#     directory <path>    mount <path>    group <process group>    cgroup <path>    forget <an earlier line>
newline='
'
# Whatever the environment of the program was, this needs rm, rmdir, umount and sleep.
PATH=${PATH:+$PATH:}/usr/bin:/bin
list=$newline
while IFS= read -r line; do
    case $line in
    "forget "*)
        line=${line#forget }
        case $list in
        *"$newline$line$newline"*)
            list=${list%%"$newline$line$newline"*}$newline${list#*"$newline$line$newline"}
            ;;
        esac
        ;;
    *) list=$list$line$newline ;;
    esac
done

set -f
IFS=$newline
# Sends a signal to every group; fails when none of them is left.
signal_groups() {
    found=1
    for entry in $list; do
        case $entry in
        "group "*) kill -s "$1" -- "-${entry#group }" && found=0 ;;
        esac
    done
    return $found
}
signal_groups TERM
tries=0
while [ $tries -lt 10 ] && signal_groups 0; do
    sleep 0.05
    tries=$((tries + 1))
done
signal_groups KILL
# Whoever is still in a control group of the program was started by it; nobody else gets in. Version 2 kills them all at
# once; otherwise those who start others meanwhile have to be read again.
empty_group() {
    if [ -e "$1/cgroup.kill" ] && echo 1 >"$1/cgroup.kill"; then
        return
    fi
    while IFS= read -r process; do
        kill -s KILL -- "$process"
    done <"$1/cgroup.procs"
}
for entry in $list; do
    case $entry in
    "cgroup "*) empty_group "${entry#cgroup }" ;;
    esac
done

# What lies in a file system goes with it, so that nothing is removed in it: it is unmounted, its directory is removed if
# it is empty, and where somebody still works in it, it vanishes once they have ended.
unmount() {
    tries=0
    while umount -- "$1"; rmdir -- "$1"; [ -e "$1" ]; do
        tries=$((tries + 1))
        if [ $tries -ge 10 ]; then
            umount -l -- "$1"
            rmdir -- "$1"
            return
        fi
        sleep 0.05
    done
}
for entry in $list; do
    case $entry in
    "mount "*) unmount "${entry#mount }" & ;;
    esac
done
wait

# A process that is just being killed may still make a file, so a directory may need a second attempt. They go side by
# side, because one with many files takes its time.
remove() {
    tries=0
    while [ $tries -lt 10 ] && { rm -rf -- "$1"; [ -e "$1" ]; }; do
        sleep 0.05
        tries=$((tries + 1))
    done
}
for entry in $list; do
    case $entry in
    "directory "*) remove "${entry#directory }" & ;;
    esac
done
wait

# A group can be removed once the last of it has ended, and what was killed while it waited for a disk takes its time.
for entry in $list; do
    case $entry in
    "cgroup "*)
        tries=0
        while rmdir -- "${entry#cgroup }"; [ -e "${entry#cgroup }" ] && [ $tries -lt 100 ]; do
            empty_group "${entry#cgroup }"
            sleep 0.05
            tries=$((tries + 1))
        done
        ;;
    esac
done

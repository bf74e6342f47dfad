# A program that answers as docs/guests.md requires, except for the fault that the name of its cache tells.
#
# It needs no module beyond Debian's perl-base, which has none for JSON and no clock in parts of a second.

use strict;
use warnings;

use POSIX ();

$| = 1;

sub slurp { open my $file, '<', shift or die $!; local $/; return <$file> }

# Sends a line. An answer is written as Perl, and differs from JSON only in its quotes.
sub answer { my $line = shift; $line =~ tr/'/"/; print "$line\n" }
sub seconds { select undef, undef, undef, shift }

# The time of CLOCK_MONOTONIC in nanoseconds.
my $clock_gettime = { x86_64 => 228, aarch64 => 113 }->{ (POSIX::uname())[4] } // die 'an unknown processor';
sub now_ns {
    my $time = "\0" x 16;
    syscall $clock_gettime, 1, $time;
    my ($s, $ns) = unpack 'qq', $time;
    return 1_000_000_000 * $s + $ns;
}

my ($how) = slurp("$ARGV[0]/open.json") =~ /"cache":\s*"(\w+)"/;
my ($folder, %kept);

if ($how eq 'missing') {
    answer("{'unavailable': 'the module Cache::Nowhere is missing'}");
    exit 0;
}
my $mode = sprintf '%o', (stat "$ARGV[0]/open.json")[2] & 07777;
my $protocol = $how eq 'newer' ? 3 : 2;
answer("{'protocol': $protocol, 'language': 'hostile 1', 'cache': '$how 1', 'settings': {'mode': '$mode'}}");

# A child that would outlive its parent.
if ($how eq 'leaves' && !fork) { exec 'sleep', 100 }

while (my $line = <STDIN>) {
    if ($line =~ /^load (.*)/) {
        $folder = $1;
        answer($how eq 'unread' ? "{'error': 'no room for the keys', 'kind': 'io'}" : "{'loaded': true}");
    }
    elsif ($line =~ /^run (\d+)/) { run($1) }
    elsif ($line =~ /^(set|get|delete) (\d+)(?: (\d+))?/) { one($1, $2, $3) }
    elsif ($line =~ /^end/) {
        # The program without a plan, which only reads the settings, ends at once.
        sleep 100 if $how eq 'stays' && $folder;
        exit 0;
    }
}

# A cache that keeps values is probed before it is measured.
sub one {
    my ($what, $key_length, $value_length) = @_;
    read STDIN, (my $key), $key_length;
    if ($what eq 'set') {
        read STDIN, $kept{$key}, $value_length;
        return answer("{'stored': true}");
    }
    my $value = $what eq 'delete' ? delete $kept{$key} : $kept{$key};
    return answer(defined $value ? "{'found': true}" : "{'found': false}") if $what eq 'delete';
    my $length = defined $value ? length $value : 'null';
    answer("{'found': $length}");
    print $value if defined $value;
}

sub run {
    my ($number) = @_;
    if ($how eq 'dies') { print STDERR "something broke\n"; exit 3 }
    exit 0 if $how eq 'leaves';
    sleep 100 if $how eq 'hangs';
    if ($how eq 'garbage') { print "Use of uninitialized value\n"; return }
    my @phases = slurp("$folder/plan.json") =~ /"operations":\s*\[\s*"(\w+)".*?"shares":\s*\[\s*\[\s*\d+,\s*(\d+)/sg;
    my ($name, $ops) = @phases[2 * $number, 2 * $number + 1];
    if ($how eq 'works' && $name eq 'get') {
        # The test waits for this file.
        open my $file, '>', "$folder/gets" or die $!;
        for (my $done = 1; ; $done++) { answer("{'alive': $done}"); seconds(0.1) }
    }
    # The process that works hangs; only the process that reports for it does not.
    while ($how eq 'repeats') { answer("{'alive': 7}"); seconds(0.1) }
    if ($how eq 'busy') {
        for (1 .. 5) {
            my $end = now_ns() + 420_000_000;
            1 while now_ns() < $end;
            answer("{'alive': $_}");
        }
    }
    my $start = now_ns();
    seconds(0.02);
    my $wall = 1000 * $ops;
    $start = 1                 if $how eq 'early';
    $wall  = 3_600_000_000_000 if $how eq 'slow';
    my $cpu       = $how eq 'cpu' ? 3_600_000_000_000 : 1000;
    my $failed    = $how eq 'failed' ? $ops + 1 : '';
    my $tiers     = $how eq 'tiers' ? "{'name': 'near', 'hits': 1, 'misses': 0, 'fills': 0, 'refused': 0}" : '';
    my $counted   = $how eq 'counts' ? $ops - 1 : $ops;
    my $busy      = 1000 * $ops;
    my $hits      = $name eq 'get' ? $counted : 0;
    my $misses    = { hits => 2, negative => -1 }->{$how} // 0;
    my $bytes     = $how eq 'bytes' ? 1_000_000 * $ops : 1024 * $counted;
    my ($errors, $kinds, $succeeded, $latencies) = (0, '', $counted, "[1000, $counted]");
    $latencies = '[1000, ' . ($ops - 1) . ']' if $how eq 'latencies';
    $latencies = "[1, $ops]" if $how eq 'units';
    ($hits, $succeeded, $latencies) = (0, 0, '') if $how eq 'back' && $name eq 'get';
    if ($how eq 'kinds' || $how eq 'unstored') {
        ($errors, $succeeded) = (1, $ops - 1);
        $latencies = "[1000, $succeeded]";
    }
    $kinds = "'refused': 1" if $how eq 'unstored';
    return answer("{'ran': $number}") if $how eq 'silent';
    my $record = <<"END";
{'start_ns': $start, 'wall_ns': $wall, 'cpu_user_ns': $cpu, 'cpu_system_ns': 0, 'rss_bytes': 1000000,
 'connections': 0, 'failed': [$failed], 'first_error': null, 'tiers': [$tiers], 'operations': {'$name': {
   'ops': $counted, 'hits': $hits, 'misses': $misses, 'planned_misses': 0, 'wrong': 0, 'truncated': 0, 'stale': 0,
   'other_key': 0, 'damaged': 0, 'wrong_examples': {}, 'errors': $errors, 'failed_fills': 0, 'succeeded': $succeeded,
   'bytes': $bytes, 'busy_ns': $busy, 'latencies': [$latencies], 'errors_by_kind': {$kinds},
   'timeline': {'bin_ns': 65536, 'ops': [$counted], 'max_ns': [1000]}}}}
END
    open my $file, '>', "$folder/ran-$number-0.json" or die $!;
    print $file $record =~ tr/'/"/r;
    close $file;
    answer("{'ran': $number}");
}

# A program that answers as docs/guests.md requires, except for the fault that the name of its cache tells.

use strict;
use warnings;

use JSON::PP;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC sleep);

$| = 1;

sub slurp { open my $file, '<', shift or die $!; local $/; return <$file> }
sub say_json { print encode_json(shift), "\n" }

my $how = decode_json(slurp("$ARGV[0]/open.json"))->{cache};
my ($folder, %kept);

if ($how eq 'missing') {
    say_json({ unavailable => 'the module Cache::Nowhere is missing' });
    exit 0;
}
my %settings = (mode => sprintf '%o', (stat "$ARGV[0]/open.json")[2] & 07777);
say_json({ protocol => $how eq 'newer' ? 3 : 2, language => 'hostile 1', cache => "$how 1", settings => \%settings });

# A child that would outlive its parent.
if ($how eq 'leaves' && !fork) { exec 'sleep', 100 }

while (my $line = <STDIN>) {
    if ($line =~ /^load (.*)/) {
        $folder = $1;
        say_json($how eq 'unread' ? { error => 'no room for the keys', kind => 'io' } : { loaded => JSON::PP::true });
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
        return say_json({ stored => JSON::PP::true });
    }
    my $value = $what eq 'delete' ? delete $kept{$key} : $kept{$key};
    return say_json({ found => defined $value ? JSON::PP::true : JSON::PP::false }) if $what eq 'delete';
    say_json({ found => defined $value ? length $value : undef });
    print $value if defined $value;
}

sub run {
    my ($number) = @_;
    if ($how eq 'dies') { print STDERR "something broke\n"; exit 3 }
    exit 0 if $how eq 'leaves';
    sleep 100 if $how eq 'hangs';
    if ($how eq 'garbage') { print "Use of uninitialized value\n"; return }
    my $phase = decode_json(slurp("$folder/plan.json"))->{phases}[$number];
    my $name = $phase->{operations}[0];
    if ($how eq 'works' && $name eq 'get') {
        # The test waits for this file.
        open my $file, '>', "$folder/gets" or die $!;
        for (my $done = 1; ; $done++) { say_json({ alive => $done }); sleep 0.1 }
    }
    # The process that works hangs; only the process that reports for it does not.
    while ($how eq 'repeats') { say_json({ alive => 7 }); sleep 0.1 }
    if ($how eq 'busy') {
        for (1 .. 5) {
            my $end = clock_gettime(CLOCK_MONOTONIC) + 0.42;
            1 while clock_gettime(CLOCK_MONOTONIC) < $end;
            say_json({ alive => $_ });
        }
    }
    my $ops   = $phase->{shares}[0][1];
    my $start = int(1e9 * clock_gettime(CLOCK_MONOTONIC));
    sleep 0.02;
    my $wall = 1000 * $ops;
    $start = 1            if $how eq 'early';
    $wall  = int(3600e9)  if $how eq 'slow';
    my $counted = $how eq 'counts' ? $ops - 1 : $ops;
    my %found   = (
        ops => $counted, hits => 0, misses => 0, planned_misses => 0, wrong => 0,
        truncated => 0, stale => 0, other_key => 0, damaged => 0, wrong_examples => {}, errors => 0, failed_fills => 0,
        succeeded => $counted, bytes => 1024 * $counted, busy_ns => 1000 * $ops,
        latencies => [[1000, $counted]], errors_by_kind => {},
        timeline => { bin_ns => 65536, ops => [$counted], max_ns => [1000] },
    );
    $found{hits}      = $counted             if $name eq 'get';
    $found{misses}    = 2                    if $how eq 'hits';
    $found{misses}    = -1                   if $how eq 'negative';
    $found{latencies} = [[1000, $ops - 1]]   if $how eq 'latencies';
    $found{latencies} = [[1, $ops]]          if $how eq 'units';
    $found{bytes}     = 1_000_000 * $ops     if $how eq 'bytes';
    @found{qw(hits succeeded latencies)} = (0, 0, []) if $how eq 'back' && $name eq 'get';
    @found{qw(errors succeeded latencies)} = (1, $ops - 1, [[1000, $ops - 1]]) if $how eq 'kinds' || $how eq 'unstored';
    $found{errors_by_kind} = { refused => 1 } if $how eq 'unstored';
    return say_json({ ran => 0 + $number } ) if $how eq 'silent';
    open my $file, '>', "$folder/ran-$number-0.json" or die $!;
    print $file encode_json({
        start_ns => $start, wall_ns => $wall, cpu_user_ns => $how eq 'cpu' ? 3600e9 : 1000, cpu_system_ns => 0,
        rss_bytes => 1e6, connections => 0, failed => $how eq 'failed' ? [$ops + 1] : [], first_error => undef,
        tiers => $how eq 'tiers' ? [{ name => 'near', hits => 1, misses => 0, fills => 0, refused => 0 }] : [],
        operations => { $name => \%found },
    });
    close $file;
    say_json({ ran => 0 + $number });
}

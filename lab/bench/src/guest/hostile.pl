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

my $open = slurp("$ARGV[0]/open.json");
my ($how) = $open =~ /"cache":\s*"(\w+)"/;
my ($protocol) = $open =~ /"protocol":\s*(\d+)/;
my ($folder, %kept);

if ($how eq 'missing') {
    answer("{'unavailable': 'the module Cache::Nowhere is missing'}");
    exit 0;
}
my $mode = sprintf '%o', (stat "$ARGV[0]/open.json")[2] & 07777;
$protocol++ if $how eq 'newer';
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
    my @shares = slurp("$folder/plan.json") =~ /"shares":\s*\[\s*\[\s*(\d+),\s*(\d+)/g;
    my ($first, $ops) = @shares[ 2 * $number, 2 * $number + 1 ];
    # The kind of the first operation stands for all.
    my $name = unpack('V', substr slurp("$folder/ops.bin"), 16 * $first, 4) == 0 ? 'get' : 'set';
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
    records($number, $name, $ops);
}

# Sends the records of a phase, with the fault of this program.
sub records {
    my ($number, $name, $ops) = @_;
    open my $records, '>', "$folder/records-0" or die $!;
    open my $next,    '<', "$folder/next-0"    or die $!;
    my $send = sub {
        my ($kind, $part, $length) = @_;
        syswrite $records, pack('V2', $kind, $length // length $part) . $part;
    };
    my $start = $how eq 'before' ? 1 : now_ns();
    seconds(0.02);
    $ops-- if $how eq 'fewer';
    $ops++ if $how eq 'more';
    my @ends = map { $start + 1000 * $_ } 1 .. $ops;
    @ends = reverse @ends          if $how eq 'reversed';
    $ends[-1] += 3_600_000_000_000 if $how eq 'longer';
    my @outcomes = (0) x $ops;
    $outcomes[3] = { outcome => 9, noteless => 2, unordered => 2 }->{$how} // 0;
    my @notes;
    @notes = map { pack 'V3 V/a*', $_, 3, 0, 'other' } 7, 3 if $how eq 'unordered';
    if ($how eq 'shortened' && $name eq 'get') {
        # A value of 1,024 bytes of which only some are told.
        $outcomes[3] = 5;
        @notes = pack 'V3 V/a*', 3, 2, 1024, 'x' x 64;
    }
    if ($how eq 'swapped' && $name eq 'get') {
        $outcomes[3] = 5;
        # The value of the fourth key is not that of another.
        @notes = pack 'V4', 3, 1, 1, 0;
    }
    my $block = pack('V4 V x4 Q<', $ops, 1, scalar @notes, 0, 0, $start)
        . pack('Q<*', @ends) . pack('C*', @outcomes) . join '', @notes;
    $send->($how eq 'kindless' ? 7 : 1, $how eq 'cut' ? substr($block, 0, 99) : $block, $how eq 'huge' ? 0xffff_ffff : undef);
    sysread $next, my $byte, 1;
    # Blocks without operations, also when the phase is over.
    if ($how eq 'floods') {
        answer("{'ran': $number}");
        $send->(1, pack 'V4', 0, 0, 0, 0) while 1;
    }
    return answer("{'ran': $number}") if $how eq 'endless';
    my $cpu   = $how eq 'processor' ? 3_600_000_000_000                                               : 1000;
    my $tiers = $how eq 'stranger'  ? "{'name': 'near', 'hits': 1, 'misses': 0, 'fills': 0, 'refused': 0}" : '';
    my $rss   = $how eq 'invalid'   ? -1                                                              : 1_000_000;
    my $end   = "{'cpu_user_ns': $cpu, 'cpu_system_ns': 0, 'rss_bytes': $rss, 'connections': 0, 'tiers': [$tiers]}";
    $send->(2, $end =~ tr/'/"/r);
    answer("{'ran': $number}");
}

# A worker on Cache::FastMmap: the work of work.rs, as far as this cache can do it.
#
# fastmmap.pl FOLDER make     makes the file
# fastmmap.pl FOLDER NUMBER   works until it is killed
use strict;
use warnings;
use Cache::FastMmap;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

# The ledger's layout is in ledger.rs. All places are in words.
use constant {WORKERS => 8, KEYS => 4096, COUNTERS => 64, LINE => 288, EACH => 4};
use constant {FIRST_KEY => WORKERS * LINE, FIRST_COUNTER => WORKERS * LINE + EACH * KEYS};
use constant {OPERATIONS => 0, HITS => 1, WRONG => 2, OLD => 3};
use constant {SINCE => 16, WAITED => 17, KEY => 18, SLOW => 20, STOPPED => 21};
use constant {BEGUN => 0, OLDEST => 1, STORED => 2};
use constant {ANY => ~0, OFTEN => 2_000_000, TOLD => 50_000_000};

my ($folder, $number) = @ARGV;
# The file has as many bytes as the other caches; a page has room for the longest value.
my $cache = Cache::FastMmap->new(
    share_file => "$folder/cache", init_file => $number eq 'make', unlink_on_exit => 0,
    num_pages => 31, page_size => '256k', serializer => '',
);
exit 0 if $number eq 'make';
srand($$);
open my $ledger, '+<:raw', "$folder/ledger" or die "ledger: $!";
open my $schedule, '<', '/proc/self/schedstat' or die "schedstat: $!";
my $line = $number * LINE;

sub words {
    my ($at, $count) = @_;
    sysseek $ledger, 8 * $at, 0;
    sysread $ledger, my $bytes, 8 * $count;
    return unpack 'Q*', $bytes;
}

sub put {
    my ($at, @words) = @_;
    sysseek $ledger, 8 * $at, 0;
    syswrite $ledger, pack 'Q*', @words;
}

sub add { my ($at, $more) = @_; put($at, (words($at, 1))[0] + $more) }
sub tally { add($line + $_[0], 1) }
sub at { return FIRST_KEY + EACH * $_[0] + $_[1] }
sub key { return (words(at($_[0], $_[1]), 1))[0] }
sub raise { my ($key, $word, $to) = @_; put(at($key, $word), $to) if key($key, $word) < $to }
sub now { return int(clock_gettime(CLOCK_MONOTONIC) * 1e9) }

sub waited {
    sysseek $schedule, 0, 0;
    sysread $schedule, my $text, 100;
    return (split ' ', $text)[1];
}

# The value of a key in a version, with the lengths of values.rs.
sub value {
    my ($key, $version) = @_;
    my $mixed = ($key * 2654435761 + $version * 40503) % 1_000_003;
    my $long = int($key / WORKERS) % 8 == 0 ? $mixed % 8 : 7;
    my $length = $long == 0 ? 20_000 + $mixed % 60_000 : $long < 4 ? 4000 + $mixed % 6000 : 24 + $mixed % 2000;
    my $unit = pack 'QQ', $version, $key;
    return substr $unit x (1 + $length / 16), 0, $length;
}

sub get {
    my ($key) = @_;
    my $oldest = key($key, OLDEST);
    my $found = $cache->get("key-$key");
    return unless defined $found;
    my $newest = key($key, BEGUN);
    tally(HITS);
    my $version = length $found < 16 ? 0 : unpack 'Q', $found;
    my $right = $version > 0 && $version <= $newest && $found eq value($key, $version);
    tally($right ? OLD : WRONG) if !$right || $version < $oldest;
}

sub set {
    my ($key) = @_;
    my $version = key($key, BEGUN) + 1;
    put(at($key, BEGUN), $version);
    if ($cache->set("key-$key", value($key, $version))) {
        raise($key, STORED, $version);
        raise($key, OLDEST, $version);
    } else {
        $cache->remove("key-$key");
        raise($key, OLDEST, $version + 1);
    }
}

sub remove {
    my ($key) = @_;
    my $version = key($key, BEGUN) + 1;
    put(at($key, BEGUN), $version);
    $cache->remove("key-$key");
    raise($key, OLDEST, $version + 1);
}

sub clear {
    my @words = words(FIRST_KEY, EACH * KEYS);
    $cache->clear;
    for my $key (0 .. KEYS - 1) {
        my $stored = $words[EACH * $key + STORED];
        raise($key, OLDEST, $stored + 1) if $stored;
    }
}

# A counter: see counters.rs.
sub count {
    my ($counter) = @_;
    my $at = FIRST_COUNTER + 2 * WORKERS * $counter;
    my $least = 0;
    for (words($at + WORKERS, WORKERS)) { $least = $_ if $_ > $least }
    add($at + $number, 1);
    my $sum;
    $cache->get_and_set("counter-$counter", sub {
        my (undef, $old) = @_;
        return unless defined $old;
        return $sum = $old + 1 if $old =~ /^\d+$/;
        tally(WRONG);
        return;
    });
    if (defined $sum) {
        put($at + WORKERS + $number, $sum);
        my $most = WORKERS;
        $most += $_ for words($at, WORKERS);
        tally(OLD) if $sum <= $least;
        tally(WRONG) if $sum > $most || 1 < grep { $_ == $sum } words($at + WORKERS, WORKERS);
    } elsif ($counter % WORKERS == $number) {
        add($at + $number, 2 * WORKERS);
        my $first = 0;
        $first += $_ for words($at, WORKERS);
        $cache->get_and_set("counter-$counter", sub { return defined $_[1] ? () : ($sum = $first) });
        put($at + WORKERS + $number, $sum) if defined $sum;
    }
}

my ($asked, $waited) = (0, 0);
while (1) {
    my $stopped = (words(STOPPED, 1))[0] - 1;
    my $again = $stopped >= 0 && $stopped < KEYS && rand($stopped % WORKERS == $number ? 2 : 8) < 1;
    my $any = $again ? $stopped : int rand KEYS;
    my $own = $any - $any % WORKERS + $number;
    my $counter = $any % COUNTERS;
    my $which = int rand 4096;
    my ($what, $key) = $which < 1 && rand(32) < 1 ? (\&clear, ANY)
        : $which < 600 ? (\&set, $own)
        : $which < 750 ? (\&remove, $own)
        : $which < 900 ? (\&count, KEYS + $counter)
        : (\&get, $any);
    my $began = now();
    if ($began - $asked > OFTEN) {
        $waited = waited();
        put($line + WAITED, $waited);
        $asked = $began = now();
    }
    put($line + SINCE, $began);
    put($line + KEY, $key);
    $what->($what == \&count ? $counter : $key);
    my $ended = now();
    if ($ended - $began >= TOLD) {
        my $told = (words($line + SLOW, 1))[0];
        put($line + 32 + 4 * ($told % 64), $began, $ended, waited() - $waited, ($key & (ANY >> 1)) << 1);
        put($line + SLOW, $told + 1);
    }
    put($line + SINCE, 0);
    tally(OPERATIONS);
}

#!/usr/bin/perl

# What a hit of 100 bytes costs: Larder beside the caches that programs in Perl have. Rounds of all caches take turns.
#
#   perl -Ilib bench/hits.pl [MEMCACHED]
#
# MEMCACHED is the host:port of a memcached; without it, the caches of this host are measured alone.

use v5.36;

use File::Temp  qw(tempdir);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

use Cache::FastMmap;
use FFI::Platypus;
use Larder;

use constant { KEYS => 1000, ROUNDS => 9, VALUE_BYTES => 100 };

my ($server) = @ARGV;
my $folder = tempdir('hits-XXXX', DIR => -d '/dev/shm' ? '/dev/shm' : undef, CLEANUP => 1);
my $value  = 'x' x VALUE_BYTES;
my @keys   = map { "key:$_" } 1 .. KEYS;

my %hash = map { ($_ => $value) } @keys;
my %caches = (
    'Larder mmap'     => Larder->open("mmap:$folder/larder?size=64m"),
    'Larder memory'   => Larder->open('memory:?size=64m'),
    'Cache::FastMmap' => Cache::FastMmap->new(
        share_file => "$folder/fast", init_file => 1, serializer => '', cache_size => '64m', unlink_on_exit => 1,
    ),
);
if (eval { require CHI; 1 }) {
    $caches{'CHI on Larder mmap'}     = CHI->new(driver => 'Larder', url => "mmap:$folder/chi?size=64m");
    $caches{'CHI on Cache::FastMmap'} = CHI->new(driver => 'FastMmap', root_dir => "$folder/chi-fast", cache_size => '64m');
}
if ($server) {
    require Cache::Memcached::Fast;
    $caches{'Larder memcached'}       = Larder->open("memcached://$server");
    $caches{'Cache::Memcached::Fast'} = Cache::Memcached::Fast->new({ servers => [$server], namespace => "hits$$:" });
}
for my $cache (values %caches) { $cache->set($_, $value, 60) for @keys }

# A hash, and a call of the library that does nothing, are the floors.
my %rounds = (
    'a hash'                => sub { my $read; $read = $hash{$_} for @keys },
    'an empty library call' => sub { Larder::Library::larder_session_close(undef) for @keys },
    map { my $cache = $caches{$_}; ($_ => sub { my $read; $read = $cache->get($_) for @keys }) } keys %caches,
);
my %took;
for my $round (0 .. ROUNDS) {
    for my $name (keys %rounds) {
        my $begin = clock_gettime(CLOCK_MONOTONIC);
        $rounds{$name}->();
        my $took = (clock_gettime(CLOCK_MONOTONIC) - $begin) / KEYS * 1e9;
        # The first round fills the processor's own caches.
        push @{ $took{$name} }, $took if $round > 0;
    }
}
for my $name (sort { median($a) <=> median($b) } keys %took) {
    my @sorted = sort { $a <=> $b } @{ $took{$name} };
    printf "%-24s %9.0f ns (%.0f to %.0f)\n", $name, median($name), @sorted[ 0, -1 ];
}

sub median ($name) {
    return (sort { $a <=> $b } @{ $took{$name} })[ ROUNDS / 2 ];
}

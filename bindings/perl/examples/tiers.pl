#!/usr/bin/perl

# The benchmark of an article of 2009 on tiered caches in Perl: a page is stored once and read many times, then stored and
# read many times. The remote cache alone, and caches of this host before it.
#
#   perl -Ilib examples/tiers.pl REMOTE [ROUNDS]
#
# REMOTE is the host:port of a memcached. ROUNDS is 50000, as in the article.

use v5.36;

use File::Temp  qw(tempdir);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

use Cache::FastMmap;
use Cache::Memcached::Fast;
use Cache::Tiered;
use Larder;

# The article's page has about this size, and its entries live for 30 seconds.
use constant { PAGE_BYTES => 30_000, TTL_S => 30 };

my ($remote, $rounds) = (@ARGV, 50_000);
die "usage: perl -Ilib examples/tiers.pl REMOTE [ROUNDS]\n" if !@ARGV || $rounds !~ /\A[1-9][0-9]*\z/;

my $folder = tempdir('tiers-XXXX', DIR => -d '/dev/shm' ? '/dev/shm' : undef, CLEANUP => 1);
my $memd   = Cache::Memcached::Fast->new({ servers => [$remote] });
%{ $memd->server_versions } or die "no memcached answers at $remote; start one, or name another\n";
my $fast = Cache::FastMmap->new(
    share_file => "$folder/fast", init_file => 1, serializer => '', cache_size => '4m', expire_time => TTL_S,
);

my @caches = (
    [ 'remote memcached'          => $memd ],
    [ 'Cache::FastMmap alone'     => $fast ],
    [ 'Larder mmap alone'         => Larder->open("mmap:$folder/alone?size=4m") ],
    [ 'FastMmap before remote'    => Cache::Tiered->new(tiers => [ $fast, $memd ], ttl => TTL_S) ],
    [ 'Larder stack before remote' =>
            Cache::Tiered->new(tiers => [ "mmap:$folder/near?size=4m", "memcached://$remote" ], ttl => TTL_S) ],
);

my $page = join '', map { chr 32 + $_ * 7 % 90 } 1 .. PAGE_BYTES;
my %took;
for my $caches (@caches) {
    my ($name, $cache) = @$caches;
    my $key = "tiers.pl:$$:" . $name =~ tr/ /_/r;
    $took{$name} = [ map { $_->($cache, $key) } \&read_heavy, \&write_heavy ];
    my ($read, $write) = @{ $took{$name} };
    printf "%-27s reads %9.3f s, %d misses; %8.1f times as fast as the remote; sets with a read %9.3f s\n", $name,
        @$read, $took{'remote memcached'}[0][0] / $read->[0], $write->[0];
    my $remove = $cache->can('delete') // $cache->can('remove');
    $cache->$remove($key);
}

# Stores the page once and reads it `$rounds` times, storing it again where it is gone: the seconds, and the misses.
sub read_heavy ($cache, $key) {
    my ($misses, $begin) = (0, clock_gettime(CLOCK_MONOTONIC));
    $cache->set($key, $page, TTL_S);
    for (1 .. $rounds) {
        my $read = $cache->get($key);
        if (!defined $read) {
            $misses++;
            $cache->set($key, $page, TTL_S);
        } elsif ($read ne $page) {
            die "$key: another value came back\n";
        }
    }
    return [ clock_gettime(CLOCK_MONOTONIC) - $begin, $misses ];
}

# Stores and reads the page `$rounds` times: the seconds.
sub write_heavy ($cache, $key) {
    my $begin = clock_gettime(CLOCK_MONOTONIC);
    for (1 .. $rounds) {
        $cache->set($key, $page, TTL_S);
        $cache->get($key);
    }
    return [ clock_gettime(CLOCK_MONOTONIC) - $begin ];
}

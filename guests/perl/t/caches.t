use v5.36;

use FindBin ();
use lib "$FindBin::Bin/lib";

use File::Temp ();
use Test::More;
use Time::HiRes qw(sleep);

use TestGuest ();
use TestPlan  ();

my $server = TestGuest->memcached_or_not;
my $files  = File::Temp->newdir;
my $local  = $server && TestGuest->memcached_on("$files/socket");
my @servers   = $server ? (servers => [ $server->address ]) : ();
my %memcached = (cache => 'memcached', options => { connect => 'session' }, @servers);

# A tier of a tiered cache in a folder of its own.
sub tier ($cache) {
    return { cache => $cache, options => {}, folder => File::Temp::tempdir(CLEANUP => 1), servers => [],
        room_bytes => 8 * 1024 * 1024, largest_bytes => 32_768 };
}

my @caches = (
    [ 'filecache', 'filecache', {} ],
    [ 'filecache per operation', 'filecache', { options => { connect => 'operation' } } ],
    [ 'mmap',      'mmap',      {} ],
    [ 'mmap that freezes', 'mmap', { options => { strings => JSON::PP::false } } ],
    [ 'fastmmap',  'fastmmap',  {} ],
    [ 'fastmmap that compresses', 'fastmmap', { options => { compressor => 'zlib' } } ],
    [ 'tiered', 'tiered', { tiers => [ tier('fastmmap'), tier('mmap'), tier('filecache') ] } ],
    $server
    ? (
        [ 'memcached',               'memcached', {@servers} ],
        [ 'memcached on a socket',   'memcached', { servers => [ $local->address ] } ],
        [ 'memcached per operation', 'memcached', { @servers, options => { connect => 'operation' } } ],
        [ 'memcached without waiting', 'memcached', { @servers, options => { nowait => JSON::PP::true } } ],
        [ 'tiered over memcached',   'tiered',    { tiers => [ tier('mmap'), \%memcached ] } ],
    )
    : (),
);

for my $case (@caches) {
    my ($name, $cache, $order) = @$case;
    subtest $name => sub { holds($name, $cache, $order) };
}

# What every cache must do, by commands and by a plan.
sub holds ($name, $cache, $order) {
    my $guest = TestGuest->start($cache, %$order);
    like $guest->opened->{cache}, qr/^Cache::\S+ \d/, 'it tells module and version' or diag explain $guest->opened;
    is $guest->get('none'), undef, 'what was never stored is not there';
    my $binary = join '', map { chr } 0 .. 255;
    ok $guest->set('bytes', $binary)->{stored}, 'a value of all bytes is stored';
    is $guest->get('bytes'), $binary, 'and comes back whole';
    ok $guest->set('bytes', 'newer')->{stored}, 'it is replaced';
    is $guest->get('bytes'), 'newer', 'by what is read then';
    ok $guest->set('empty', '')->{stored}, 'an empty value is stored';
    is $guest->get('empty'), '', 'and is not a miss';
    ok $guest->delete('bytes'), 'it is deleted';
    ok !$guest->delete('bytes'), 'and cannot be deleted again';
    is $guest->get('bytes'), undef, 'for it is gone';
    ok $guest->set('long', 'x' x 30_000, 600)->{stored}, 'the largest announced value is stored, with a TTL';
    is length $guest->get('long'), 30_000, 'and comes back';
    runs_a_plan($name, $guest);
    is $guest->end, 0, 'the guest ends well';
    return;
}

sub runs_a_plan ($name, $guest) {
    my $folder = File::Temp->newdir;
    my $plan   = TestPlan->new("$folder", keys => [ map { $name =~ tr{ }{-}r . "-$_" } 0 .. 49 ], ttl_s => 600);
    my @values = map { $plan->value($_, 10 + 40 * $_) } 0 .. 49;
    my @set    = map { [ set => $_, $values[$_] ] } 0 .. 29;
    my @get    = map { [ get => $_, $_ < 30 ? $values[$_] : 0 ] } 0 .. 39;
    my @fill   = map { [ get_or_set => $_, $values[$_] ] } 20 .. 49;
    $plan->phase({ operations => ['set'] }, \@set);
    $plan->phase({ operations => ['get'] }, \@get);
    $plan->phase({ operations => ['get_many'], multiget => 8 }, \@get);
    $plan->phase({ operations => ['get_or_set'] }, \@fill);
    my @mixed = map { ([ get => $_, $values[$_] ], [ delete => $_ ]) } 40 .. 49;
    $plan->phase({ operations => [qw(get delete)] }, \@mixed);
    my @found = map { $_->[0]{operations} } $guest->run_plan($plan);
    my $counts = sub ($of, @names) { return [ map { $of->{$_} } @names ] };
    my @names  = qw(ops hits misses wrong errors failed_fills succeeded);
    is_deeply $counts->($found[0]{set},        @names), [ 30, 0,  0,  0, 0, 0, 30 ], 'a plan of sets';
    is_deeply $counts->($found[1]{get},        @names), [ 40, 30, 10, 0, 0, 0, 30 ], 'of gets';
    is_deeply $counts->($found[2]{get_many},   @names), [ 40, 30, 10, 0, 0, 0, 30 ], 'of requests of many keys';
    is_deeply $counts->($found[3]{get_or_set}, @names), [ 30, 10, 20, 0, 0, 0, 30 ], 'of gets that fill';
    is_deeply $counts->($found[4]{get},        @names), [ 10, 10, 0,  0, 0, 0, 10 ], 'of gets among deletes';
    is_deeply $counts->($found[4]{delete},     @names), [ 10, 0,  0,  0, 0, 0, 10 ], 'of deletes';
    my $requests = 0;
    $requests += $_->[1] for @{ $found[2]{get_many}{latencies} };
    is $requests, 4, 'a request has one latency, if any of its keys was right';
    return;
}

subtest 'what does not fit is refused' => sub {
    for my $cache (qw(mmap fastmmap)) {
        my $guest = TestGuest->start($cache);
        my $answer = $guest->set('key', 'x' x 1_000_000);
        ok !$answer->{stored}, "$cache does not store it";
        like $answer->{why}, qr/1000003 bytes do not fit into a (?:page|bucket)/, 'and says why';
    }
};

subtest 'tiers are counted, and a nearer one never has an older value' => sub {
    my %near  = (%{ tier('fastmmap') }, options => { page_size => 65_536 });
    my $guest = TestGuest->start('tiered', tiers => [ \%near, tier('filecache') ]);
    my $folder = File::Temp->newdir;
    my $plan  = TestPlan->new("$folder", keys => [qw(grows stays)]);
    my ($small, $stays, $large) = ($plan->value(0, 100), $plan->value(1, 100), $plan->value(0, 90_000));
    $plan->phase({ operations => ['set'] }, [ [ set => 0, $small ], [ set => 1, $stays ], [ set => 0, $large ] ]);
    $plan->phase({ operations => ['get'] }, [ [ get => 0, $large ], [ get => 1, $stays ], [ get => 0, $large ] ]);
    my ($sets, $gets) = map { $_->[0] } $guest->run_plan($plan);
    is $sets->{operations}{set}{succeeded}, 3, 'what the farthest took is stored';
    is $gets->{operations}{get}{hits}, 3, 'the newest is what is read';
    my @counts = map { [ @$_{qw(name hits misses fills refused)} ] } @{ $sets->{tiers} }, @{ $gets->{tiers} };
    my @expected = (
        [ 'fastmmap', 0, 0, 0, 1 ], [ 'filecache', 0, 0, 0, 0 ],
        # Both misses are followed by a fill that is too large again.
        [ 'fastmmap', 1, 2, 0, 2 ], [ 'filecache', 2, 0, 0, 0 ],
    );
    is_deeply \@counts, \@expected, 'and each tier tells what it did in the phase';
};

subtest 'what the user chose is what is opened' => sub {
    my $fast = TestGuest->start('fastmmap', options => { page_size => 131_072, num_pages => 7 });
    is_deeply [ @{ $fast->opened->{settings} }{qw(page_size num_pages)} ], [ 131_072, 7 ], 'pages';
    my %chosen = (bucketsize => 10_000, buckets => 5, pagesize => 4096, expiry => 9);
    my $mmap   = TestGuest->start('mmap', options => \%chosen);
    is_deeply [ @{ $mmap->opened->{settings} }{qw(bucketsize buckets expiry)} ], [ 12_288, 5, 9 ], 'buckets';
};

subtest 'a fraction of a second is rounded up, and none is none' => sub {
    my $fast = TestGuest->start('fastmmap', options => { expire_time => 1.2 });
    is $fast->opened->{settings}{expire_time}, 2, 'by fastmmap';
    my $mmap = TestGuest->start('mmap', options => { expiry => 2.5 });
    is $mmap->opened->{settings}{expiry}, 3, 'by mmap';
    is +TestGuest->start('mmap')->opened->{settings}{expiry}, 0, 'and nobody said one';
    like +TestGuest->start('fastmmap')->opened->{settings}{expire_time}, qr/^0?$/, 'nor here';
};

subtest 'a value expires' => sub {
    my %guests = map { ($_ => TestGuest->start($_, @servers)) } qw(filecache mmap fastmmap), $server ? 'memcached' : ();
    for my $cache (sort keys %guests) {
        $guests{$cache}->set('short', 'x', 1);
        is $guests{$cache}->get('short'), 'x', "$cache has it";
    }
    sleep 2.1;
    is $guests{$_}->get('short'), undef, "and $_ has it no more" for sort keys %guests;
};

subtest 'another process finds what the first one stored' => sub {
    for my $cache (qw(filecache mmap fastmmap)) {
        my $folder = File::Temp->newdir;
        my $first  = TestGuest->start($cache, folder => "$folder");
        $first->set('kept', 'x');
        is $first->end, 0, "$cache is left";
        my $second = TestGuest->start($cache, folder => "$folder", fresh => JSON::PP::false);
        is $second->get('kept'), 'x', 'and opened again';
        my $third = TestGuest->start($cache, folder => "$folder");
        is $third->get('kept'), undef, 'or fresh';
    }
};

done_testing;

use v5.36;

use FindBin ();
use lib "$FindBin::Bin/lib";

use File::Temp ();
use Test::More;

use TestGuest ();
use TestPlan  ();

# A tier of a tiered cache in a folder of its own.
sub tier ($cache) {
    return { cache => $cache, options => {}, folder => File::Temp::tempdir(CLEANUP => 1), servers => [],
        room_bytes => 8 * 1024 * 1024, largest_bytes => 32_768 };
}

subtest 'a value that does not fit is refused' => sub {
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

subtest 'a nearest tier whose hits are dropped is asked, passed over and filled again' => sub {
    my $guest = TestGuest->start(
        'tiered',
        tiers   => [ tier('fastmmap'), tier('filecache') ],
        options => { l1_drops_hits => JSON::PP::true },
    );
    my $folder = File::Temp->newdir;
    my $plan   = TestPlan->new("$folder", keys => [qw(one)]);
    my $value  = $plan->value(0, 100);
    $plan->phase({ operations => ['set'] }, [ [ set => 0, $value ] ]);
    $plan->phase({ operations => ['get'] }, [ ([ get => 0, $value ]) x 3 ]);
    my $gets = ($guest->run_plan($plan))[1][0];
    is $gets->{operations}{get}{hits}, 3, 'the farthest answers';
    my @counts = map { [ @$_{qw(name hits misses dropped fills refused)} ] } @{ $gets->{tiers} };
    is_deeply \@counts, [ [ 'fastmmap', 0, 3, 3, 3, 0 ], [ 'filecache', 3, 0, 0, 0, 0 ] ], 'each time both are paid for';
};

subtest 'the cache is opened with the options of the user' => sub {
    my $fast = TestGuest->start('fastmmap', options => { page_size => 131_072, num_pages => 7 });
    is_deeply [ @{ $fast->opened->{settings} }{qw(page_size num_pages)} ], [ 131_072, 7 ], 'pages';
    my %chosen = (bucketsize => 10_000, buckets => 5, pagesize => 4096, expiry => 9);
    my $mmap   = TestGuest->start('mmap', options => \%chosen);
    is_deeply [ @{ $mmap->opened->{settings} }{qw(bucketsize buckets expiry)} ], [ 12_288, 5, 9 ], 'buckets';
};

subtest 'a fraction of a second is rounded up, and no TTL stays no TTL' => sub {
    my $fast = TestGuest->start('fastmmap', options => { expire_time => 1.2 });
    is $fast->opened->{settings}{expire_time}, 2, 'by fastmmap';
    my $mmap = TestGuest->start('mmap', options => { expiry => 2.5 });
    is $mmap->opened->{settings}{expiry}, 3, 'by mmap';
    is +TestGuest->start('mmap')->opened->{settings}{expiry}, 0, 'and nobody said one';
    like +TestGuest->start('fastmmap')->opened->{settings}{expire_time}, qr/^0?$/, 'nor here';
};

subtest 'another process finds the entries that the first process stored' => sub {
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

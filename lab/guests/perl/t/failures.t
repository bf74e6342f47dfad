use v5.36;

use FindBin ();
use lib "$FindBin::Bin/lib";

use File::Temp ();
use Test::More;

use TestGuest ();
use TestPlan  ();

subtest 'a module that is missing' => sub {
    my $hidden = File::Temp->newdir;
    mkdir "$hidden/Cache" or die "cannot make a folder: $!\n";
    # A module that fails to load with the message of a missing module.
    open my $file, '>', "$hidden/Cache/FastMmap.pm" or die "cannot write: $!\n";
    print {$file} q{die "Can't locate Cache/FastMmap.pm in \@INC (you may need to install it)\n";};
    close $file or die "cannot write: $!\n";
    local $ENV{PERL5LIB} = "$hidden";
    is_deeply(TestGuest->start('fastmmap')->opened,
        { unavailable => 'the Perl module Cache::FastMmap is not installed' }, 'is said in one line');
};

subtest 'a cache or an operation that this guest does not have' => sub {
    my $unknown = TestGuest->start('apcu')->opened;
    like $unknown->{unavailable}, qr/^unknown cache: apcu; known: fastmmap, /, 'a cache';
    my $touched = TestGuest->start('filecache')->ask('touch 3 5', 'key');
    like $touched->{error}, qr/^Cache::FileCache \S+ cannot renew a time to live$/, 'an operation';
};

subtest 'text that a module prints does not get into the answers' => sub {
    my $noisy = File::Temp->newdir;
    mkdir "$noisy/Cache" or die "cannot make a folder: $!\n";
    open my $file, '>', "$noisy/Cache/FastMmap.pm" or die "cannot write: $!\n";
    print {$file} q{print "hello\n"; die "no library\n";};
    close $file or die "cannot write: $!\n";
    local $ENV{PERL5LIB} = "$noisy";
    open my $kept, '>&', \*STDERR or die "cannot duplicate: $!\n";
    open STDERR, '>', "$noisy/stderr" or die "cannot redirect: $!\n";
    my $guest = TestGuest->start('fastmmap');
    open STDERR, '>&', $kept or die "cannot restore: $!\n";
    like $guest->opened->{unavailable}, qr/^no library/, 'the answer is the first line';
    is $guest->wait, 0, 'and the only one';
    open my $errors, '<', "$noisy/stderr" or die "cannot open: $!\n";
    is readline $errors, "hello\n", 'and the rest is on standard error';
};

my $server = TestGuest->memcached_or_not;
SKIP: {
    skip 'memcached is not installed', 3 if !$server;

    subtest 'a server that refuses a value' => sub {
        my $guest = TestGuest->start('memcached', servers => [ $server->address ], largest_bytes => 3_000_000);
        my $answer = $guest->set('large', 'x' x 2_000_000);
        ok !$answer->{stored}, 'is not a success';
        is $answer->{why}, 'the server refused the value of 2000000 bytes', 'and the server is who refused it';
        ok $guest->set('small', 'x')->{stored}, 'the next value is stored';
        is $guest->ask('touch 5 60', 'small')->{found}, JSON::PP::true, 'a key that is there is touched';
        is $guest->ask('touch 4 60', 'none')->{found}, JSON::PP::false, 'one that is not is not';
    };

    subtest 'a client for every operation' => sub {
        my $folder = File::Temp->newdir;
        my $guest  = TestGuest->start('memcached', servers => [ $server->address ],
            options => { connect => 'operation' });
        my $plan   = TestPlan->new("$folder", keys => [qw(only other)]);
        my $value  = $plan->value(0, 50);
        $plan->phase({ operations => ['set'] }, [ map { [ set => 0, $value ] } 1 .. 20 ]);
        $plan->phase({ operations => ['get_or_set'] }, [ map { [ get_or_set => 0, $value ] } 1 .. 20 ]);
        $plan->phase({ operations => ['get_or_set'] }, [ map { [ get_or_set => 1, $value, 0 ] } 1 .. 20 ]);
        my @opened = map { $_->[0]{connections} } $guest->run_plan($plan);
        is_deeply \@opened, [ 20, 20, 20 ], 'opens one connection for each, and one for a miss and its fill';
    };

    subtest 'a server that is gone' => sub {
        my $folder = File::Temp->newdir;
        my $guest  = TestGuest->start('memcached', servers => [ $server->address ]);
        my $plan   = TestPlan->new("$folder", keys => [ map { "gone-$_" } 0 .. 19 ]);
        my @values = map { $plan->value($_, 50) } 0 .. 19;
        $plan->phase({ operations => ['get'] }, [ map { [ get => $_, $values[$_] ] } 0 .. 19 ]);
        $plan->phase({ operations => ['set'] }, [ map { [ set => $_, $values[$_] ] } 0 .. 19 ]);
        undef $server;
        my ($gets, $sets) = map { $_->[0] } $guest->run_plan($plan);
        my $get = $gets->{operations}{get};
        # The first get finds a closed connection, and the client reports it as a mere miss.
        is_deeply [ @$get{qw(errors misses)} ], [ 20, 0 ], 'is no cache that misses';
        is_deeply [ keys %{ $get->{errors_by_kind} } ], ['io'], 'but an error';
        is $sets->{operations}{set}{errors_by_kind}{io}, 20, 'for sets as well';
        like $guest->ask('get 4', 'gone')->{error}, qr/^no answer from /, 'nor is one that is probed';
        like $sets->{first_error}, qr/^no answer from 127\.0\.0\.1:\d+$/, 'that names the server';
    };
}

done_testing;

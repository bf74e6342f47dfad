# Cache::Tiered over objects that a program has, and over a stack of Larder.

use v5.36;

use File::Temp qw(tempdir);
use Test::More;

use Cache::Tiered;
use Larder;

my $server = $ENV{LARDER_TEST_SERVER};
my $folder = tempdir(CLEANUP => 1);

subtest 'objects are asked one after the other' => sub {
    my ($near, $far) = map { Larder->open('memory:?size=1m') } 1, 2;
    my $cache = Cache::Tiered->new(tiers => [ $near, $far ], ttl => 60);
    is $cache->get('key'), undef;
    ok $cache->set(key => 'value');
    is $_->get('key'), 'value', 'every tier has it' for $near, $far;
    $near->delete('key');
    is $cache->get('key'), 'value', 'the farther tier answers';
    is $near->get('key'),  'value', 'and the nearer one has it again';
    ok $cache->delete('key');
    ok !$cache->delete('key');
    is $_->get('key'), undef, 'no tier has it' for $near, $far;
    is $cache->get_or_load('made', sub { 'by hand' }), 'by hand';
    is $far->get('made'), 'by hand';
};

subtest 'objects of other modules are tiers' => sub {
    plan skip_all => 'Cache::FastMmap is not installed' if !eval { require Cache::FastMmap; 1 };
    my $near = Cache::FastMmap->new(share_file => "$folder/fast", init_file => 1, serializer => '', unlink_on_exit => 1);
    my $far  = Larder->open('memory:?size=1m');
    my $cache = Cache::Tiered->new(tiers => [ $near, $far ], ttl => 60);
    ok $cache->set(key => 'value');
    is $near->get('key'), 'value';
    $near->remove('key');
    is $cache->get('key'), 'value';
    ok $cache->delete('key');
    is $far->get('key'), undef;
};

subtest 'no tier keeps an older value' => sub {
    my @told;
    my $tier = sub ($name, $takes) { bless { name => $name, takes => $takes, told => \@told }, 'Told' };
    package Told {
        sub get ($self, $key) { return undef }
        sub set ($self, @entry) { push @{ $self->{told} }, "$self->{name} set"; return $self->{takes} }
        sub delete ($self, $key) { push @{ $self->{told} }, "$self->{name} delete"; return 1 }
    }
    my $set = sub (@tiers) {
        @told = ();
        return Cache::Tiered->new(tiers => \@tiers)->set(key => 'value');
    };
    is $set->($tier->('near', 1), $tier->('far', 1)), 1;
    is_deeply \@told, [ 'far set', 'near set' ], 'the farthest goes first';
    is $set->($tier->('near', 1), $tier->('far', 0)), 0;
    is_deeply \@told, [ 'far set', 'near delete' ];
    is $set->($tier->('near', 0), $tier->('far', 1)), 1;
    is_deeply \@told, [ 'far set', 'near set', 'near delete' ];
};

subtest 'URLs are one stack' => sub {
    plan skip_all => 'LARDER_TEST_SERVER names no memcached' if !$server;
    my $cache = Cache::Tiered->new(tiers => [ "mmap:$folder/near?size=1m", $server ], ttl => 60);
    ok $cache->set(key => 'value');
    is $cache->get('key'), 'value';
    is(Larder->open($server)->get('key'), 'value', 'the server has it');
    is $cache->get_or_load('made', sub { 'by hand' }), 'by hand';
    ok $cache->delete('key');
    is(Larder->open($server)->get('key'), undef);
};

subtest 'what cannot be tiers is refused in one line' => sub {
    my %wrong = (
        'tiers is no list'              => {},
        'there are no tiers'            => { tiers => [] },
        'URLs and objects do not mix'   => { tiers => [ 'memory:', Larder->open('memory:') ] },
        'is no cache: it has no method' => { tiers => [ bless {}, 'Nothing' ] },
        'unknown option size'           => { tiers => ['memory:'], size => 1 },
    );
    for my $said (sort keys %wrong) {
        ok !eval { Cache::Tiered->new(%{ $wrong{$said} }); 1 };
        like $@, qr/\Q$said\E/;
    }
};

done_testing;

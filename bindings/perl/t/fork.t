# Processes: a fork, many that load at once, one that is killed while it writes, and a server that ends.

use v5.36;

use Digest::SHA qw(sha1_hex);
use File::Temp  qw(tempdir);
use POSIX       ();
use Test::More;
use Time::HiRes qw(sleep time);

use Larder;

my $url  = $ENV{LARDER_TEST_URL}  // '';
my $kind = $ENV{LARDER_TEST_KIND} // 'own';
if ($url =~ /\A(?:memory:|\z)/) {
    my $folder = tempdir(CLEANUP => 1);
    $url = "mmap:$folder/cache?size=8m";
}

# The most that a busy machine takes for what lasts a moment.
use constant PATIENCE_S => 60;

# Runs code in a child, which ends without the parent's clean-up; its process id.
sub child ($code) {
    my $pid = fork // die "fork: $!\n";
    return $pid if $pid;
    my $is_right = eval { $code->() };
    print STDERR $@ if $@;
    POSIX::_exit($is_right ? 0 : 1);
}

sub ended_well ($pid) {
    waitpid $pid, 0;
    return $? == 0;
}

my $cache = Larder->open($url);
$cache->set(parent => 'p');

subtest 'a child goes on with the store of its parent' => sub {
    my $pid = child(sub {
        return 0 if $cache->get('parent') ne 'p';
        return 0 if join(',', map { "$_" } %{ $cache->get_many('parent') }) ne 'parent,p';
        $cache->set(child => 'c');
        my $loaded = $cache->get_or_load('of_child', sub { 'loaded' });
        $cache->close;
        return $loaded eq 'loaded';
    });
    ok ended_well($pid), 'the child has read and stored';
    is $cache->get('child'),    'c';
    is $cache->get('of_child'), 'loaded';
    is $cache->get('parent'),   'p', 'the store of the parent is as it was';
};

subtest 'the first call of a child may be any' => sub {
    my %calls = (
        get         => sub { $cache->get('parent') eq 'p' },
        set         => sub { $cache->set(a => 1) },
        get_many    => sub { $cache->get_many('parent')->{parent} eq 'p' },
        set_many    => sub { !$cache->set_many({ b => 1 }) },
        get_or_load => sub { $cache->get_or_load('parent', sub { 'x' }) eq 'p' },
        delete      => sub { !$cache->delete('absent') },
        contains    => sub { $cache->contains('parent') },
        touch       => sub { $cache->touch('parent') },
    );
    ok ended_well(child($calls{$_})), $_ for sort keys %calls;
};

subtest 'one of many processes loads' => sub {
    my $counter = Larder->open($url);
    $cache->delete_many(qw(slow loads));
    $counter->add(loads => 0);
    my @children = map {
        child(sub {
            my $value = $cache->get_or_load('slow', sub { $counter->incr('loads'); sleep 0.3; 'made' }, wait => PATIENCE_S);
            return $value eq 'made';
        });
    } 1 .. 6;
    is scalar(grep { !ended_well($_) } @children), 0, 'all have the value';
    is $counter->get('loads'), 1, 'and one has loaded it';
};

subtest 'a handler of a signal may use the same cache' => sub {
    $cache->set("s$_", "value $_ " . 'x' x 50) for 1 .. 20;
    $cache->set(handler => 'of the handler');
    $cache->set(large => 'y' x 100_000);
    my ($n_signals, $n_wrong) = (0, 0);
    my %reads = (
        get      => sub { grep { $cache->get("s$_") !~ /^value $_ / } 1 .. 20 },
        large    => sub { $cache->get('large') ne 'y' x 100_000 },
        get_many => sub { my $found = $cache->get_many(map { "s$_" } 1 .. 20); grep { $found->{"s$_"} !~ /^value $_ / } 1 .. 20 },
        load     => sub { $cache->get_or_load('s1', sub { 'loaded' }) !~ /^value 1 / },
    );
    for my $name (sort keys %reads) {
        my $left = 200;
        local $SIG{ALRM} = sub { $n_signals++; $left--; $cache->get('handler'); $cache->get('large') };
        my $end = time + PATIENCE_S;
        Time::HiRes::setitimer(Time::HiRes::ITIMER_REAL(), 0.0002, 0.0002);
        while ($left > 0 && time < $end) { $n_wrong += grep { $_ } $reads{$name}->() }
        Time::HiRes::setitimer(Time::HiRes::ITIMER_REAL(), 0);
        is $n_wrong, 0, "$name returns its own value";
    }
    ok $n_signals >= 800, 'handlers came between';
};

subtest 'what a store holds back is stored at the end of the program' => sub {
    plan skip_all => 'LARDER_TEST_SERVER names no memcached' if !$ENV{LARDER_TEST_SERVER};
    my $folder = tempdir(CLEANUP => 1);
    my $behind = "tiered:mmap:$folder/near?size=4m|$ENV{LARDER_TEST_SERVER}|?write=behind";
    is system($^X, '-Ilib', '-MLarder', '-e', 'our $c = Larder->open(shift); $c->set("behind$_", $_) for 1 .. 500', $behind), 0;
    my $server = Larder->open($ENV{LARDER_TEST_SERVER});
    is scalar(keys %{ $server->get_many(map { "behind$_" } 1 .. 500) }), 500;
};

subtest 'a process that is killed leaves no wrong value and no lock' => sub {
    # A value tells its own sum, so that a part of another one shows.
    my $value = sub { my $text = join '', map { chr 33 + rand 90 } 1 .. 10 + rand 3000; sha1_hex($text) . $text };
    my $wrong = 0;
    for my $round (1 .. 5) {
        my @writers = map {
            child(sub { srand $_ + $$; while (1) { $cache->set('key' . int(rand 50), $value->()) } });
        } 1 .. 2;
        my ($n_read, $end) = (0, time + PATIENCE_S);
        while ($n_read < 300 && time < $end) {
            my $read = $cache->get('key' . int rand 50) // next;
            $n_read++;
            $wrong++ if substr($read, 0, 40) ne sha1_hex(substr $read, 40);
        }
        is $n_read, 300, "values were read in round $round";
        kill KILL => @writers;
        waitpid $_, 0 for @writers;
    }
    is $wrong, 0, 'each is what a writer stored';
    ok $cache->set("after$_", 1), "key$_ can be written" for 1 .. 50;
};

done_testing;

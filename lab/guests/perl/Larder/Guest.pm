package Larder::Guest;

# Opens the cache, and carries out the commands.

use v5.36;

use JSON::PP    ();
use Time::HiRes qw(time);

use Larder::Cache     ();
use Larder::Failure   ();
use Larder::Phase     ();
use Larder::Plan      ();
use Larder::Processes ();

use constant PROTOCOL => 3;
use constant ALIVE_S  => 1;

my %COMMANDS = (
    set    => \&_set,
    get    => \&_get,
    delete => \&_delete,
    touch  => \&_touch,
    load   => \&_load,
    run    => \&_run,
);

# Opens the cache of `$folder/open.json` and greets; returns nothing if the cache is unavailable.
sub open_cache ($class, $protocol, $folder) {
    my $cache = eval {
        my $order = Larder::Plan::read_json("$folder/open.json");
        $order->{protocol} == PROTOCOL
            or die Larder::Failure->new('protocol', "this guest speaks protocol @{[PROTOCOL]}, not $order->{protocol}");
        Larder::Cache::open_cache($order);
    };
    if (!$cache) {
        $protocol->answer({ unavailable => Larder::Failure->from($@)->text });
        return;
    }
    $protocol->answer({
        protocol => PROTOCOL,
        language => sprintf('perl %vd', $^V),
        cache    => $cache->title,
        settings => $cache->settings,
    });
    return bless { protocol => $protocol, cache => $cache }, $class;
}

# Answers commands until there are no more.
sub serve ($self) {
    my $protocol = $self->{protocol};
    while (defined(my $line = $protocol->line)) {
        my ($name, @arguments) = split / /, $line, 2;
        return if $line eq 'end';
        my $command = $COMMANDS{ $name // '' };
        if (!$command) {
            $protocol->answer(Larder::Failure->new('protocol', "unknown command: $line")->answer);
            next;
        }
        eval { $self->$command(@arguments); 1 } or $protocol->answer(Larder::Failure->from($@)->answer);
    }
    return;
}

sub _set ($self, $arguments) {
    my ($key_length, $value_length, $ttl) = split / /, $arguments;
    my $key   = $self->{protocol}->bytes($key_length);
    my $value = $self->{protocol}->bytes($value_length);
    $ttl = $ttl eq '-' ? undef : $ttl + 0;
    my $cache  = $self->{cache} = $self->{cache}->with_ttl($ttl);
    my $began  = time;
    my $stored = $cache->set($key, $value, $cache->ttl_argument($ttl));
    my $answer
        = $stored
        ? { stored => JSON::PP::true }
        : { stored => JSON::PP::false, why => $cache->refusal($key, $value, $stored, time - $began, {})->text };
    $self->{protocol}->answer($answer);
    return;
}

sub _get ($self, $arguments) {
    my ($cache, $key) = ($self->{cache}, $self->{protocol}->bytes($arguments));
    my $began = time;
    my $value = $cache->get($key);
    if (!defined $value && $cache->can('failure_of_miss')) {
        my $failure = $cache->failure_of_miss(time - $began, undef, {});
        die $failure if $failure;
    }
    $self->{protocol}->answer(defined $value ? ({ found => length $value }, $value) : { found => undef });
    return;
}

sub _delete ($self, $arguments) {
    my $found = $self->{cache}->delete($self->{protocol}->bytes($arguments));
    $self->_found($found);
    return;
}

sub _touch ($self, $arguments) {
    my ($key_length, $ttl) = split / /, $arguments;
    my $key = $self->{protocol}->bytes($key_length);
    $self->_found($self->{cache}->touch($key, $self->{cache}->ttl_argument($ttl eq '-' ? undef : $ttl + 0)));
    return;
}

sub _found ($self, $found) {
    defined $found or die Larder::Failure->unexplained;
    $self->{protocol}->answer({ found => $found ? JSON::PP::true : JSON::PP::false });
    return;
}

sub _load ($self, $folder) {
    my $plan = Larder::Plan->read_from($folder);
    $self->{cache} = $self->{cache}->with_ttl($plan->{ttl});
    $self->{plan} = $plan;
    $self->{protocol}->answer({ loaded => JSON::PP::true });
    return;
}

sub _run ($self, $number) {
    my $plan = $self->{plan} or die Larder::Failure->new('protocol', 'no plan has been loaded');
    $plan->{phases}[$number] or die Larder::Failure->new('protocol', "the plan has no phase $number");
    my %parts = (%$self{qw(plan cache)}, phase => $number);
    my ($told, $last) = (time, 0);
    my $tell = sub ($operations) {
        exit 0 if $self->{protocol}->has_ended;
        # A guest that waits for idle processes does not count as alive.
        return if $operations == $last || time - $told < ALIVE_S;
        ($told, $last) = (time, $operations);
        $self->{protocol}->answer({ alive => $operations });
    };
    if ($plan->{processes} > 1) {
        Larder::Processes->new($self->{protocol}, %parts)->run($tell);
    }
    else {
        Larder::Phase->new(%parts, process => 0)->run($tell);
    }
    $self->{protocol}->answer({ ran => $number + 0 });
    return;
}

1;

package Larder::Phase;

# One process's share of a phase: blocks are made ready, worked through, sent to Larder. A process alone stops its clock
# while it prepares and sends. Each of several processes keeps its clock running, because the other processes have the
# cache to themselves meanwhile. So each of them prepares and sends as much at once as memory allows, mostly everything.

use v5.36;

use Larder::Block    ();
use Larder::Failures ();
use Larder::Loop     ();
use Larder::Records  ();
use Larder::Usage    ();

# The limits of a block. For a process alone: as much as stays in a processor's cache.
my %ALONE   = (operations => 4_096,   bytes => 4 * 1024 * 1024);
my %SEVERAL = (operations => 262_144, bytes => 64 * 1024 * 1024);
# The longest segment of the loop; between segments the guest reports its progress.
use constant SEGMENT_S => 0.25;

# `%parts` are `plan`, `cache`, `phase` and `process`; the last two are counted from 0.
sub new ($class, %parts) {
    my $self  = bless {%parts}, $class;
    my $plan  = $self->{plan};
    my $phase = $plan->{phases}[ $self->{phase} ];
    my $alone = $plan->{processes} == 1;
    my $held  = $plan->{replays} ? $plan->held_before($self->{phase}, $self->{process}) : 0;
    $self->{cache}->set('held', $plan->value($held), undef) if $held;
    my $block = Larder::Block->new(
        $plan, $alone ? %ALONE : %SEVERAL,
        multiget    => $phase->{multiget},
        meets_newer => !$alone || $phase->{again},
        held        => $held,
    );
    my $loop  = Larder::Loop->new(
        cache  => $self->{cache},
        block  => $block,
        ttl    => $self->{cache}->ttl_argument($plan->{ttl}),
        doubts => $self->{cache}->can('failure_of_miss') ? 1 : 0,
    );
    @$self{qw(first operations)} = @{ $phase->{shares}[ $self->{process} ] };
    $self->{limit_s} = $phase->{time_limit_s} // 9**9**9;
    $self->{failures} = Larder::Failures->new(cache => $self->{cache}, block => $block);
    $self->{again}   = $phase->{again} && defined $phase->{time_limit_s};
    $self->{records} = Larder::Records->new($plan->{folder}, $self->{process});
    @$self{qw(alone block loop usage done timed)} = ($alone, $block, $loop, Larder::Usage->new, 0, 0);
    $self->{filled} = $block->fill($self->{first}, $self->{operations});
    return $self;
}

# Does the share, sends its records, and calls `$tell` with the number of operations done so far several times a second.
sub run ($self, $tell) {
    $self->{cache}->connections;
    $self->{cache}->tier_counts;
    $self->{usage}->start if !$self->{alone};
    my $position = 0;
    while ($self->{filled}) {
        $self->{records}->await_count;
        my $done = $self->_work_through_block($tell);
        $self->{records}->send_block($self->{block}, $done);
        $self->{failures}->next_block;
        last if $self->{timed} >= $self->{limit_s};
        $position += $self->{filled};
        $position = 0 if $self->{again} && $position == $self->{operations};
        $self->{filled} = $self->{block}->fill($self->{first} + $position, $self->{operations} - $position);
    }
    $self->{usage}->stop if !$self->{alone};
    my ($user_ns, $system_ns) = $self->{usage}->cpu_ns;
    $self->{records}->send_end({
        cpu_user_ns   => $user_ns,
        cpu_system_ns => $system_ns,
        rss_bytes     => Larder::Usage::rss_bytes(),
        connections   => $self->{cache}->connections,
        tiers         => $self->{cache}->tier_counts,
    });
    return;
}

# Returns the number of operations of the block that are done.
sub _work_through_block ($self, $tell) {
    my ($block, $loop, $usage, $alone) = @$self{qw(block loop usage alone)};
    my $at = 0;
    while ($at < $block->{count} && $self->{timed} < $self->{limit_s}) {
        my $left = $self->{limit_s} - $self->{timed};
        $usage->start if $alone;
        my ($began, $next) = $loop->run($at, $left < SEGMENT_S ? $left : SEGMENT_S);
        $usage->stop if $alone;
        my $end = $block->{end}[ $next - 1 ];
        $self->{start} //= $began;
        push @{ $block->{segments} }, [ $at, $began ];
        $self->{timed} = $alone ? $self->{timed} + $end - $began : $end - $self->{start};
        $self->{done} += $next - $at;
        $self->{failures}->settle($at, $began);
        $at = $next;
        $tell->($self->{done});
    }
    return $at;
}

1;

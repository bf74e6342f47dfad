package TestRecords;

# Receives the records of a phase as Larder does, and counts outcomes. Larder alone judges values: of those that are not
# the expected ones, the values of the key that have a number count as hits here, and the others as wrong.

use v5.36;

use JSON::PP ();
use POSIX    ();

my @OUTCOMES = qw(right missed failed filled unfilled other);

# Makes the pipes of a plan.
sub make_pipes ($folder, $processes) {
    for my $process (0 .. $processes - 1) {
        for my $pipe ("records-$process", "next-$process") {
            next if -p "$folder/$pipe";
            POSIX::mkfifo("$folder/$pipe", 0600) or die "cannot make a pipe: $!\n";
        }
    }
    return;
}

# Begins to receive the records of all processes, by a process for each.
sub receive ($class, $folder) {
    my $processes = () = glob "$folder/records-*";
    my $self = bless { folder => $folder, pids => [] }, $class;
    for my $process (0 .. $processes - 1) {
        open my $records, '+<:raw', "$folder/records-$process" or die "cannot open a pipe: $!\n";
        open my $next,    '+<:raw', "$folder/next-$process"    or die "cannot open a pipe: $!\n";
        unlink "$folder/received-$process";
        my $pid = fork // die "cannot fork: $!\n";
        if (!$pid) {
            open my $file, '>:raw', "$folder/received-$process" or POSIX::_exit(1);
            my $kind = 1;
            while ($kind == 1) {
                my $head = _read($records, 8);
                ($kind, my $length) = unpack 'V2', $head;
                syswrite $file, $head . _read($records, $length);
                syswrite $next, "\n" if $kind == 1;
            }
            POSIX::_exit(0);
        }
        push @{ $self->{pids} }, $pid;
    }
    return $self;
}

sub _read ($from, $length) {
    my $bytes = '';
    while (length $bytes < $length) {
        sysread $from, $bytes, $length - length $bytes, length $bytes or POSIX::_exit(1);
    }
    return $bytes;
}

# Waits for the records of a phase that is over, and counts those of each process.
sub counts ($self, $plan, $phase) {
    waitpid $_, 0 for splice @{ $self->{pids} };
    return [ map { _counts($plan, $plan->{phases}[$phase], $_) } 0 .. $plan->{processes} - 1 ];
}

# A phase that was given up has no end.
sub DESTROY ($self) {
    local ($?, $!) = ($?, $!);
    kill KILL => @{ $self->{pids} } if @{ $self->{pids} };
    waitpid $_, 0 for @{ $self->{pids} };
    return;
}

sub _counts ($plan, $phase, $process) {
    my ($first, $count) = @{ $phase->{shares}[$process] };
    my %result = (wall_ns => 0, failed => [], operations => {});
    my @names = ($phase->{multiget} > 1 ? 'get_many' : 'get', qw(set get_or_set delete touch));
    my $at    = 0;
    open my $file, '<:raw', "$plan->{folder}/received-$process" or die "nothing was received: $!\n";
    while (read $file, my $head, 8) {
        my ($kind, $length) = unpack 'V2', $head;
        read($file, my $part, $length) == $length or die "a part is cut\n";
        if ($kind == 2) {
            %result = (%result, JSON::PP->new->decode($part)->%*);
            next;
        }
        my ($block, $segments, $notes) = unpack 'V3', $part;
        my @began    = map { [ unpack 'V x4 Q<', substr $part, 16 + 16 * $_, 16 ] } 0 .. $segments - 1;
        my $behind   = 16 + 16 * $segments;
        my @end      = unpack 'Q<*', substr $part, $behind, 8 * $block;
        my @outcome  = unpack 'C*', substr $part, $behind + 8 * $block, $block;
        my %note     = _notes(substr($part, $behind + 9 * $block), $notes);
        my $then;
        for my $n (0 .. $block - 1) {
            $then = (shift @began)->[1] if @began && $began[0][0] == $n;
            my ($what, $value) = (unpack 'V3', $plan->{ops}[ $first + ($at + $n) % $count ])[ 0, 2 ];
            my $of   = $result{operations}{ $names[$what] } //= { map { $_ => 0 } qw(ops hits misses errors wrong failed_fills succeeded busy_ns) };
            my $name = $OUTCOMES[ $outcome[$n] ];
            my $is_right = $name eq 'right' || $name eq 'other' && $note{$n}[0] == 1;
            $of->{ops}++;
            $of->{hits}++         if $is_right && ($what == 0 || $what == 2);
            $of->{succeeded}++    if $is_right || $name eq 'filled';
            $of->{wrong}++        if $name eq 'other' && !$is_right;
            $of->{misses}++       if $name =~ /^(?:missed|filled|unfilled)$/;
            $of->{errors}++       if $name eq 'failed';
            $of->{failed_fills}++ if $name eq 'unfilled';
            $of->{busy_ns} += $end[$n] - $then;
            $result{wall_ns} += $end[$n] - $then;
            $then = $end[$n];
            next if $name ne 'failed' && $name ne 'unfilled';
            my ($error, $text) = split /\n/, $note{$n}[2], 2;
            $of->{errors_by_kind}{$error}++;
            $result{first_error} //= $text;
            push @{ $result{failed} }, $value if $what == 1 || $what == 2;
        }
        $at += $block;
    }
    return \%result;
}

# The notes of a block: of an operation, the kind, the number and the bytes.
sub _notes ($part, $count) {
    my @fields = unpack '(V3 V/a*)*', $part;
    return map { $fields[ 4 * $_ ] => [ @fields[ 4 * $_ + 1 .. 4 * $_ + 3 ] ] } 0 .. $count - 1;
}

1;

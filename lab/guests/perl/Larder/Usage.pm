package Larder::Usage;

# CPU time between two instants, and memory. The process clock gives the sum to the nanosecond; `times` gives user and
# system time in hundredths of a second. So the sum is divided in the proportion of `times`.

use v5.36;

use POSIX ();
use Time::HiRes qw(clock_gettime CLOCK_PROCESS_CPUTIME_ID);

my $PAGE_BYTES = POSIX::sysconf(POSIX::_SC_PAGESIZE());

sub new ($class) {
    return bless { cpu => 0, user => 0, system => 0 }, $class;
}

sub start ($self) {
    my ($user, $system) = times;
    $self->{user}   -= $user;
    $self->{system} -= $system;
    $self->{cpu}    -= clock_gettime(CLOCK_PROCESS_CPUTIME_ID);
    return;
}

sub stop ($self) {
    $self->{cpu} += clock_gettime(CLOCK_PROCESS_CPUTIME_ID);
    my ($user, $system) = times;
    $self->{user}   += $user;
    $self->{system} += $system;
    return;
}

# User and system time in nanoseconds.
sub cpu_ns ($self) {
    my ($user, $system) = map { $_ > 0 ? $_ : 0 } @$self{qw(user system)};
    my $all_ns    = int($self->{cpu} * 1e9);
    my $system_ns = $user + $system > 0 ? int($all_ns * $system / ($user + $system)) : 0;
    return ($all_ns - $system_ns, $system_ns);
}

sub rss_bytes {
    open my $file, '<', '/proc/self/statm' or return 0;
    my (undef, $pages) = split ' ', <$file> // '';
    close $file or return 0;
    return $pages * $PAGE_BYTES;
}

1;

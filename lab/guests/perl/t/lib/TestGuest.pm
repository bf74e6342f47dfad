package TestGuest;

# A guest as Larder starts it, and a server for it to speak to.

use v5.36;

use Cwd            ();
use File::Basename ();
use File::Temp     ();
use IO::Socket     ();
use JSON::PP       ();
use Time::HiRes qw(sleep);

use TestRecords ();

my $PROGRAM = Cwd::abs_path(File::Basename::dirname(__FILE__) . '/../../guest.pl');

# Starts the program for a cache. `%order` replaces fields of open.json.
sub start ($class, $cache, %order) {
    my $folder = File::Temp->newdir('larder-guest-XXXXXX', TMPDIR => 1);
    my %open   = (
        protocol => 3, cache => $cache, options => {}, folder => "$folder", servers => [], tiers => [],
        room_bytes => 8 * 1024 * 1024, largest_bytes => 32_768, fresh => JSON::PP::true, %order,
    );
    open my $file, '>', "$folder/open.json" or die "cannot write open.json: $!\n";
    print {$file} JSON::PP->new->encode(\%open);
    close $file or die "cannot write open.json: $!\n";
    pipe my $commands, my $to_guest   or die "cannot make a pipe: $!\n";
    pipe my $from_guest, my $answers or die "cannot make a pipe: $!\n";
    my $pid = fork // die "cannot fork: $!\n";
    if (!$pid) {
        open STDIN,  '<&', $commands or die "cannot read commands: $!\n";
        open STDOUT, '>&', $answers  or die "cannot answer: $!\n";
        close $_ for $to_guest, $from_guest;
        exec $^X, $PROGRAM, "$folder" or die "cannot run $PROGRAM: $!\n";
    }
    close $_ for $commands, $answers;
    binmode $_ for $to_guest, $from_guest;
    $to_guest->autoflush;
    my $self = bless { folder => $folder, pid => $pid, to => $to_guest, from => $from_guest }, $class;
    $self->{opened} = $self->answer;
    return $self;
}

sub opened ($self) { return $self->{opened} }
sub folder ($self) { return "$self->{folder}" }

# Sends a command. From the command to run a phase on, the records of the loaded plan are received.
sub send ($self, $bytes) {
    $self->{plan_folder} = $1 if $bytes =~ /^load (.*)/;
    $self->{records} = TestRecords->receive($self->{plan_folder}) if $bytes =~ /^run /;
    print { $self->{to} } $bytes;
    return;
}

sub answer ($self) {
    my $line = readline $self->{from} // return;
    return defined $line ? JSON::PP->new->decode($line) : undef;
}

# The answer to a command, without the `alive` lines before it.
sub ask ($self, $command, $bytes = '') {
    $self->send("$command\n$bytes");
    return $self->last_answer;
}

# Whether an answer comes within `$seconds`.
sub answers_within ($self, $seconds) {
    my $waiting = '';
    vec($waiting, fileno $self->{from}, 1) = 1;
    return scalar select $waiting, undef, undef, $seconds;
}

sub last_answer ($self) {
    my $answer;
    do { $answer = $self->answer } while defined $answer && exists $answer->{alive};
    return $answer;
}

sub set ($self, $key, $value, $ttl = '-') {
    return $self->ask(join(' ', 'set', length $key, length $value, $ttl), $key . $value);
}

sub get ($self, $key) {
    my $answer = $self->ask('get ' . length $key, $key);
    return undef if !defined $answer->{found};    ## no critic (ProhibitExplicitReturnUndef)
    read $self->{from}, my $value, $answer->{found};
    return $value;
}

sub delete ($self, $key) { return $self->ask('delete ' . length $key, $key)->{found} }

# Loads a plan and runs its phases; returns the results of the processes, by phase.
sub run_plan ($self, $plan) {
    my $folder = $plan->write;
    $self->ask("load $folder")->{loaded} or die "the plan was not loaded\n";
    my @found;
    for my $phase (0 .. $#{ $plan->{phases} }) {
        my $answer = $self->ask("run $phase");
        die "phase $phase: $answer->{error}\n" if defined $answer->{error};
        push @found, $self->result($plan, $phase);
    }
    return @found;
}

# What the processes did in the latest phase, which has this number.
sub result ($self, $plan, $phase) { return $self->{records}->counts($plan, $phase) }

# Ends the guest by `end`; returns its exit code.
sub end ($self) {
    $self->send("end\n");
    close $self->{to} or die "cannot close: $!\n";
    return $self->wait;
}

sub wait ($self) {
    waitpid delete $self->{pid}, 0;
    return $?;
}

# A memcached on a free port, which runs as long as the object lives; undef where memcached is not installed.
sub memcached ($class, @arguments) {
    my ($program) = grep { -x } map { "$_/memcached" } split(/:/, $ENV{PATH}), '/usr/bin', '/usr/local/bin';
    return undef if !defined $program;    ## no critic (ProhibitExplicitReturnUndef)
    my $free = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 1) or die "no free port: $@\n";
    my $port = $free->sockport;
    close $free or die "cannot close: $!\n";
    return $class->_server("127.0.0.1:$port", $program, qw(-u nobody -l 127.0.0.1 -U 0 -p), $port, @arguments);
}

# The same; a missing memcached is an error where no test may be left out.
sub memcached_or_not ($class) {
    my $server = $class->memcached;
    return $server                               if $server;
    die "memcached is not installed\n"           if ($ENV{LARDER_REQUIRE} // '') eq 'all';
    warn "# memcached is not installed: its tests are left out\n";
    return;
}

sub _server ($class, $address, @command) {
    my $pid = fork // die "cannot fork: $!\n";
    if (!$pid) {
        exec @command or die "cannot run $command[0]: $!\n";
    }
    for (1 .. 200) {
        last if IO::Socket::INET->new(PeerAddr => $address);
        sleep 0.01;
    }
    return bless { pid => $pid, address => $address }, $class;
}

sub address ($self) { return $self->{address} }

# Lets the server hang, and returns when all its threads stand still: the server answers no request from then on.
sub pause ($self) {
    kill STOP => $self->{pid};
    for my $thread (glob "/proc/$self->{pid}/task/*/stat") {
        sleep 0.001 until _line($thread) =~ /\) T/;
    }
    return;
}

sub resume ($self) { return kill CONT => $self->{pid} }

# Waits until this many clients wait at the paused server: it has not accepted their connections. A client whose request
# timed out connects anew, so each such client waits here.
sub wait_for_clients ($self, $count) {
    my $listens = sprintf '%04X', (split /:/, $self->{address})[1];
    return _until("$count clients wait", sub { return _queued(qr/:$listens \S+ 0A/) >= $count });
}

# Waits until a request lies unread in one of the paused server's connections.
sub wait_for_request ($self) {
    my $port = sprintf '%04X', (split /:/, $self->{address})[1];
    return _until('a request has arrived', sub { return _queued(qr/:$port \S+ 01/) > 0 });
}

# Waits until the server has answered a get.
sub wait_for_gets ($self) {
    my $before = $self->_gets;
    return _until('a get is answered', sub { return $self->_gets > $before });
}

sub _gets ($self) {
    my $stream = IO::Socket::INET->new(PeerAddr => $self->{address}) or die "cannot connect: $@\n";
    print {$stream} "stats\r\nquit\r\n";
    my ($gets) = map { /^STAT cmd_get (\d+)/ } readline $stream;
    return $gets;
}

# The bytes in the receive queues of the sockets with such a local port and state.
sub _queued ($socket) {
    open my $file, '<', '/proc/net/tcp' or die "cannot read the sockets: $!\n";
    my $sum = 0;
    while (my $line = readline $file) {
        $sum += hex $1 if $line =~ /^\s*\d+: \w+$socket \w+:(\w+)/;
    }
    return $sum;
}

sub _until ($what, $is_so) {
    my $deadline = time + 300;
    while (!$is_so->()) {
        die "within 5 minutes not so: $what\n" if time > $deadline;
        sleep 0.002;
    }
    return;
}

sub _line ($path) {
    open my $file, '<', $path or die "cannot open $path: $!\n";
    return readline $file;
}

sub DESTROY ($self) {
    local ($?, $!) = ($?, $!);
    my $pid = $self->{pid} // return;
    kill KILL => $pid;
    waitpid $pid, 0;
    return;
}

1;

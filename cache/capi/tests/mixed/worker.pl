# Uses a shared cache until its input ends; run.py says what each worker does.

use v5.36;

use Compress::Zlib ();
use IO::Select     ();
use Larder         ();
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

my ($url, $seed) = @ARGV;
srand $seed;
$| = 1;
my ($cache, $input) = (Larder->open($url), IO::Select->new(\*STDIN));
my ($calls, $hits, $busy, $slowest, $told) = (0, 0, 0, 0, clock_gettime CLOCK_MONOTONIC);
while (1) {
    my ($key, $part, $began) = ('key:' . int rand 1000, rand, clock_gettime CLOCK_MONOTONIC);
    my $ended_well = eval {
        if ($part < 0.6) {
            my $value = $cache->get($key);
            if (defined $value) {
                $hits++;
                my ($payload, $sum) = $value =~ /\A(.*):([0-9a-f]{8})\z/s;
                die "wrong value of $key: " . substr($value, 0, 60) . "\n"
                    if !defined $sum || $sum ne sprintf '%08x', Compress::Zlib::crc32("$key$payload");
            }
        }
        elsif ($part < 0.9) {
            my $payload = chr(97 + int rand 10) x int rand 2000;
            $cache->set($key, sprintf '%s:%08x', $payload, Compress::Zlib::crc32("$key$payload"));
        }
        elsif ($part < 0.95) {
            $cache->delete($key);
        }
        else {
            my $number = $cache->incr('number:' . int(rand 10), 1, 1);
            die "number $number\n" if $number < 1;
        }
        1;
    };
    if (!$ended_well) {
        die $@ if !ref $@ || $@->kind ne 'busy';
        $busy++;
    }
    my $now = clock_gettime CLOCK_MONOTONIC;
    $slowest = $now - $began if $now - $began > $slowest;
    $calls++;
    if ($now - $told > 0.2) {
        say "$calls $hits ", int(1000 * $slowest), " $busy";
        last if $input->can_read(0);
        $told = $now;
    }
}
$cache->close;

# CHI's own tests of drivers, from CHI's distribution.

use v5.36;
use lib 't/lib';

use Test::More;

BEGIN {
    plan skip_all => 'CHI is not installed: apt-get install libchi-perl'               if !eval { require CHI; 1 };
    plan skip_all => 'Test::Class is not installed: apt-get install libtest-class-perl' if !eval { require Test::Class; 1 };
}
use Larder::Test::CHI;

BEGIN { $ENV{LARDER_TEST_URL} ||= 'memory:?size=8m' }
Larder::Test::CHI->runtests;

#!/usr/bin/env perl

# A guest of Larder: opens one of Perl's caches, runs a plan on it, times itself. docs/guests.md describes the commands
# and answers.

use v5.36;

# Debian's perl-base, which every system has, lacks most of Perl's standard modules.
BEGIN {
    if (!eval { require FindBin; require JSON::PP; 1 }) {
        say '{"unavailable": "this Perl lacks its standard modules, such as FindBin and JSON::PP"}';
        exit 0;
    }
}

use FindBin ();
use lib $FindBin::Bin;

use Larder::Guest    ();
use Larder::Protocol ();

my ($folder) = @ARGV;
die "usage: perl guest.pl FOLDER, with commands on standard input\n" unless defined $folder;

# Standard output carries answers and nothing else, so the output of modules goes to standard error.
open my $answers, '>&', \*STDOUT or die "cannot duplicate standard output: $!\n";
open STDOUT,      '>&', \*STDERR or die "cannot send standard output to standard error: $!\n";
STDOUT->autoflush;
binmode $_ for \*STDIN, $answers;
# A server that closed its connection is an error of an operation, not the end of this program.
local $SIG{PIPE} = 'IGNORE';

my $protocol = Larder::Protocol->new(\*STDIN, $answers);
my $guest    = Larder::Guest->open_cache($protocol, $folder) or exit 0;
$guest->serve;

#!/usr/bin/perl
# An agent that finds out what it measures when it starts: the file MADE holds how many metrics there are, and a client that
# stores into dynamicpl.count changes that for the next start (the binding has no means to tell the library of a new table
# later). The instances change at once. The agent answers all questions for names itself.
use strict;
use warnings;
use PCP::PMDA;

my ($domain, $things, $file) = (498, 0, $ENV{MADE});
open(my $made, '<', $file) or die "$file: $!";
chomp(my $count = <$made>);
close($made);

# As many instances as that.
sub instances
{
    return { map { ("thing$_" => 100 + $_) } 0 .. $_[0] - 1 };
}

sub value
{
    my ($cluster, $item, $inst) = @_;
    return ($count, 1) if $cluster == 0;
    my $value = pmda_inst_lookup($things, $inst);
    return (PM_ERR_INST, 0) unless defined($value);
    return ($value * 1000 + $item, 1);
}

sub store
{
    my ($cluster, $item, $inst, $value) = @_;
    return PM_ERR_PERMISSION if $cluster != 0;
    return PM_ERR_BADSTORE if $value > 9;
    $count = $value;
    open(my $made, '>', $file) or return PM_ERR_GENERIC;
    print $made "$count\n";
    close($made);
    return 0;
}

my $pmda = PCP::PMDA->new('dynamicpl', $domain);
$pmda->connect_pmcd;
my @units = (0, 0, 0, 0, 0, 0);
$pmda->add_metric(pmda_pmid(0, 0), PM_TYPE_U32, PM_INDOM_NULL, PM_SEM_DISCRETE, pmda_units(@units),
		  'dynamicpl.count', 'how many there are', '');
foreach my $i (0 .. $count - 1) {
    $pmda->add_metric(pmda_pmid(1, $i), PM_TYPE_U32, $things, PM_SEM_INSTANT, pmda_units(@units),
		      "dynamicpl.made.m$i", "metric $i", "Metric $i of $count");
}
$things = $pmda->add_indom($things, instances($count), 'things', 'Things that were made so far');
$pmda->set_fetch(sub { $pmda->replace_indom($things, instances($count)) });
$pmda->set_fetch_callback(\&value);
$pmda->set_store_callback(\&store);
$pmda->run;

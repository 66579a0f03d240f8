#!/usr/bin/perl
# An agent with a thousand instances, all of which each fetch hands over anew.
use strict;
use warnings;
use PCP::PMDA;

my ($things, $round) = (0, 0);

sub refreshed
{
    $round++;
    return { map { ("thing number $_" => $_ + $round) } 0 .. 999 };
}

sub value
{
    my ($cluster, $item, $inst) = @_;
    my $value = pmda_inst_lookup($things, $inst);
    return defined($value) ? ($value, 1) : (PM_ERR_INST, 0);
}

my $pmda = PCP::PMDA->new('instancespl', 496);
$pmda->connect_pmcd;
$pmda->add_metric(pmda_pmid(0, 0), PM_TYPE_U32, $things, PM_SEM_INSTANT, pmda_units(0, 0, 0, 0, 0, 0),
		  'instancespl.value', 'a value for each thing', '');
$things = $pmda->add_indom($things, refreshed(), 'things', '');
$pmda->set_fetch(sub { $pmda->replace_indom($things, refreshed()) });
$pmda->set_fetch_callback(\&value);
$pmda->run;

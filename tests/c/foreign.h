/* An agent whose pmdaExt was made by hand. */
#ifndef FOREIGN_H
#define FOREIGN_H

static pmdaInstid foreign_table[] = { { 3, "three" }, { 1, "one" } };
static pmdaIndom foreign_indoms[] = { { 5, 2, foreign_table } };
static pmdaMetric foreign_metrics[] = {
    { NULL, { (7 << 22) | PMDA_PMID(0, 0), PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
};

static inline pmdaExt *
foreign_ext(void *record)
{
    pmdaExt *ext = calloc(1, sizeof(*ext));

    ext->e_ext = record;
    ext->e_name = "by hand";
    ext->e_help = -1;
    ext->e_direct = 1;
    ext->e_metrics = foreign_metrics;
    ext->e_nmetrics = 1;
    ext->e_indoms = foreign_indoms;
    ext->e_nindoms = 1;
    ext->e_fetchCallBack = setup_fetch;
    return ext;
}

#endif

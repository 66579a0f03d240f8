// cplusplus: an agent in C++17. Callbacks are plain functions that C calls, so no exception may leave them.
#include <cstring>
#include <exception>
#include <map>
#include <string>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

namespace {

constexpr int domain = 498;
constexpr unsigned int words = 0;	// serial number of the instance domain

// How often each word was seen.
const std::map<std::string, unsigned int> counts { { "alpha", 3 }, { "beta", 5 }, { "gamma", 8 } };

int value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
try {
    char *name;

    if (pmdaCacheLookup(metric->m_desc.indom, static_cast<int>(inst), &name, nullptr) != PMDA_CACHE_ACTIVE)
	return PM_ERR_INST;
    atom->ul = counts.at(name);
    return PMDA_FETCH_STATIC;
} catch (const std::exception &error) {
    pmNotifyErr(LOG_ERR, "cplusplus: %s", error.what());
    return PM_ERR_GENERIC;
}

} // namespace

int main(int, char **argv)
{
    pmdaMetric metric {};
    pmdaIndom indom {};
    pmdaInterface dispatch {};

    metric.m_desc.pmid = PMDA_PMID(0, 0);
    metric.m_desc.type = PM_TYPE_U32;
    metric.m_desc.indom = words;
    metric.m_desc.sem = PM_SEM_INSTANT;
    indom.it_indom = words;

    pmSetProgname(argv[0]);
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, pmGetProgname(), domain, "cplusplus.log", nullptr);
    pmdaOpenLog(&dispatch);
    pmdaSetFetchCallBack(&dispatch, value);
    pmdaInit(&dispatch, &indom, 1, &metric, 1);
    for (const auto &[word, count] : counts)
	pmdaCacheStore(indom.it_indom, PMDA_CACHE_ADD, word.c_str(), nullptr);
    pmdaConnect(&dispatch);
    pmdaMain(&dispatch);
    return 0;
}

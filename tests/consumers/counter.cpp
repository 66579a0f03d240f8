// An agent in C++: a counter and a cached domain of words, the objects behind both owned by a class.
#include <string>
#include <utility>
#include <vector>

#include <pcp/pmapi.h>
#include <pcp/pmda.h>

namespace {

class Counter {
public:
    explicit Counter(std::vector<std::string> words) : words_(std::move(words)) {}

    int start(int argc, char **argv)
    {
	pmSetProgname(argv[0]);
	(void)argc;
	pmdaInterface dispatch;
	pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "counter", 496, "counter.log", nullptr);
	pmdaOpenLog(&dispatch);
	pmdaSetFetchCallBack(&dispatch, fetched);
	pmdaExtSetData(dispatch.version.any.ext, this);
	pmdaInit(&dispatch, domains_, 1, metrics_, 2);
	for (auto &word : words_)
	    pmdaCacheStore(domains_[0].it_indom, PMDA_CACHE_ADD, word.c_str(), &word);
	self = this;
	pmdaConnect(&dispatch);
	pmdaMain(&dispatch);
	return 0;
    }

private:
    static int fetched(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
    {
	if (pmID_item(metric->m_desc.pmid) == 0) {
	    atom->ull = ++self->fetches_;
	    return PMDA_FETCH_STATIC;
	}
	void *word = nullptr;
	if (pmdaCacheLookup(metric->m_desc.indom, static_cast<int>(inst), nullptr, &word) != PMDA_CACHE_ACTIVE)
	    return PM_ERR_INST;
	atom->cp = const_cast<char *>(static_cast<std::string *>(word)->c_str());
	return PMDA_FETCH_STATIC;
    }

    static Counter *self;
    unsigned long long fetches_ = 0;
    std::vector<std::string> words_;
    pmdaIndom domains_[1] = { { 0, 0, nullptr } };
    pmdaMetric metrics_[2] = {
	{ nullptr, { PMDA_PMID(0, 0), PM_TYPE_U64, PM_INDOM_NULL, PM_SEM_COUNTER, PMDA_PMUNITS(0, 0, 1, 0, 0, PM_COUNT_ONE) } },
	{ nullptr, { PMDA_PMID(0, 1), PM_TYPE_STRING, 0, PM_SEM_DISCRETE, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
    };
};

Counter *Counter::self;

} // namespace

int main(int argc, char **argv)
{
    return Counter({ "one", "two", "a longer name with words" }).start(argc, argv);
}

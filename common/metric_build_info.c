#include "common/metric.h"

void metric_build_info(struct metrics *m, const char *service)
{
	static const char *const labels[] = {"service", "version", NULL};
	const char *const values[] = {service, UMAVEZ_VERSION};

	metric_set(metric_series(
		       metric_family(m, METRIC_GAUGE, "umavez_build_info",
			   "Always 1: which service this is, and of which version", labels, NULL),
		       values),
	    1);
}

#include "common/role.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

const char *role_name(void)
{
	static const char *const roles[][2] = {{"umavez-producer", "umavez_producer"},
	    {"umavez-relay", "umavez_relay"}, {"umavez-consumer", "umavez_consumer"},
	    {"umavez", "umavez_operator"}};

	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		if (strcmp(program_invocation_short_name, roles[i][0]) == 0)
			return roles[i][1];
	}
	return "the role for this program";
}

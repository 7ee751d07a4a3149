#include "tests/chaos/faults.h"

#include "tests/chaos/scene.h"

/*
 * Weights make kills of services, and cuts, a little more frequent than faults of servers, which
 * all services feel.  Redis Sentinel is no fault here (crash/test_sentinel.c has it): it names
 * addresses that lead past the proxies.
 */
const struct fault faults[] = {
    {"kill -9", 30, MEMBERS, 50, 3000, TAKES_MEMBER, 0, fault_kill, fault_start},
    {"SIGSTOP", 15, MEMBERS, 200, 4000, TAKES_MEMBER, 0, fault_stop, fault_continue},
    {"SIGTERM", 8, MEMBERS, 50, 1000, TAKES_MEMBER, 0, fault_terminate, fault_terminated},
    {"crash point", 20, MEMBERS, 500, 3000, TAKES_MEMBER, 0, fault_crash_point, fault_start},

    {"cut", 20, PROXIES, 0, 0, TAKES_PROXY, 0, fault_cut, NULL},
    {"half-close", 8, PROXIES, 0, 0, TAKES_PROXY, 0, fault_half_close, NULL},
    {"cut in a message", 20, PROXIES, 100, 1000, TAKES_PROXY, 0, fault_cut_after, fault_release},
    {"cut an answer", 30, PROXIES, 100, 2000, TAKES_PROXY, 0, fault_cut_answer, fault_release},
    {"silence", 15, PROXIES, 200, 5000, TAKES_PROXY, 0, fault_hold, fault_release},
    {"delay", 10, PROXIES, 500, 4000, TAKES_PROXY, 0, fault_delay, fault_release},
    {"forget connections", 6, PROXIES, 500, 8000, TAKES_PROXY, 0, fault_forget, fault_cut},

    {"PostgreSQL crashes", 6, 1, 50, 2000, TAKES_PG, 0, fault_pg_crash, fault_pg_start},
    {"PostgreSQL fails over", 1, 1, 0, 0, TAKES_PG, 0, fault_pg_failover, NULL},
    {"end sessions", 8, ROLES, 0, 0, 0, TAKES_PG, fault_sessions, NULL},
    {"take leases away", 10, SHARDS, 0, 0, 0, TAKES_PG | TAKES_EFFECTS, fault_lease, NULL},
    {"open transaction", 12, TELLERS, 100, 4000, TAKES_TELLER, TAKES_PG, fault_tell, fault_told},
    {"refuse a purchase", 8, 1, 0, 0, 0, TAKES_PG | TAKES_EFFECTS, fault_refuse, NULL},
    {"copy effects", 5, 1, 0, 0, TAKES_EFFECTS, TAKES_PG, fault_effects_copy, NULL},
    {"restore effects", 4, 1, 0, 0, TAKES_EFFECTS, TAKES_PG, fault_effects_restore, NULL},

    {"Redis crashes", 6, 1, 50, 2000, TAKES_REDIS, 0, fault_redis_crash, fault_redis_start},
    {"Redis stops", 5, 1, 200, 3000, TAKES_REDIS, 0, fault_redis_stop, fault_redis_continue},
    {"Redis is full", 4, 1, 200, 2000, TAKES_REDIS, 0, fault_redis_full, fault_redis_room},
    {"Redis is a replica", 4, 1, 200, 2000, TAKES_REDIS, 0, fault_redis_replica,
	fault_redis_master},
    {"save Redis", 8, 1, 0, 0, 0, TAKES_REDIS, fault_redis_save, NULL},
    {"remove streams", 8, 1, 0, 0, 0, TAKES_REDIS, fault_redis_flush, NULL},
    {"foreign entries", 12, SHARDS, 0, 0, 0, TAKES_REDIS, fault_redis_foreign, NULL},

    {NULL, 0, 0, 0, 0, 0, 0, NULL, NULL},
};

/*
 * role.h - by which name this program has its rights.
 */
#ifndef UMAVEZ_ROLE_H
#define UMAVEZ_ROLE_H

/*
 * "umavez_relay" in umavez-relay: a group role of PostgreSQL (schema/roles.sql) and a user of Redis
 * (schema/redis.acl).  Static; of another program a few words in place of the name.
 */
const char *role_name(void);

#endif

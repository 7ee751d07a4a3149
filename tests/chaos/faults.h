/*
 * faults.h - everything that chaos may do: the table, and the functions behind its rows.
 */
#ifndef UMAVEZ_TESTS_CHAOS_FAULTS_H
#define UMAVEZ_TESTS_CHAOS_FAULTS_H

#include "tests/chaos/schedule.h"

extern const struct fault faults[]; /* ends with a row without a name */

/* faults_service.c: target: a member. */
void fault_kill(struct scene *s, const struct step *step);
void fault_stop(struct scene *s, const struct step *step);
void fault_continue(struct scene *s, const struct step *step);
void fault_terminate(struct scene *s, const struct step *step);
void fault_terminated(struct scene *s, const struct step *step);
void fault_crash_point(struct scene *s, const struct step *step);
void fault_start(struct scene *s, const struct step *step);

/* faults_network.c: target: a proxy. */
void fault_cut(struct scene *s, const struct step *step);
void fault_half_close(struct scene *s, const struct step *step);
void fault_cut_after(struct scene *s, const struct step *step);
void fault_cut_answer(struct scene *s, const struct step *step);
void fault_hold(struct scene *s, const struct step *step);
void fault_release(struct scene *s, const struct step *step);
void fault_delay(struct scene *s, const struct step *step);
void fault_forget(struct scene *s, const struct step *step);

/* faults_server.c */
void fault_pg_crash(struct scene *s, const struct step *step);
void fault_pg_start(struct scene *s, const struct step *step);
void fault_pg_failover(struct scene *s, const struct step *step);
void fault_sessions(struct scene *s, const struct step *step);
void fault_lease(struct scene *s, const struct step *step);
void fault_tell(struct scene *s, const struct step *step);
void fault_told(struct scene *s, const struct step *step);
void fault_refuse(struct scene *s, const struct step *step);
void fault_effects_copy(struct scene *s, const struct step *step);
void fault_effects_restore(struct scene *s, const struct step *step);
void fault_redis_crash(struct scene *s, const struct step *step);
void fault_redis_start(struct scene *s, const struct step *step);
void fault_redis_stop(struct scene *s, const struct step *step);
void fault_redis_continue(struct scene *s, const struct step *step);
void fault_redis_full(struct scene *s, const struct step *step);
void fault_redis_room(struct scene *s, const struct step *step);
void fault_redis_replica(struct scene *s, const struct step *step);
void fault_redis_master(struct scene *s, const struct step *step);
void fault_redis_save(struct scene *s, const struct step *step);
void fault_redis_flush(struct scene *s, const struct step *step);
void fault_redis_foreign(struct scene *s, const struct step *step);

#endif

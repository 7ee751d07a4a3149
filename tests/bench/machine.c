#include "tests/bench/machine.h"

#include "tests/support/files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static void look_at_processor(struct machine *m)
{
	char *text = file_read("/proc/cpuinfo", NULL);
	const char *line = text ? strstr(text, "model name") : NULL;

	line = line ? strchr(line, ':') : NULL;
	snprintf(m->processor, sizeof(m->processor), "%.*s",
	    line ? (int)strcspn(line + 2, "\n") : 7, line ? line + 2 : "unknown");
	m->cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
	free(text);
}

/* An archive of the source has none. */
static void look_at_commit(struct machine *m)
{
	FILE *f =
	    popen("git -C '" UMAVEZ_SOURCE_DIR "' describe --always --dirty 2>/dev/null", "re");

	if (f == NULL || fgets(m->commit, sizeof(m->commit), f) == NULL)
		snprintf(m->commit, sizeof(m->commit), "unknown");
	m->commit[strcspn(m->commit, "\n")] = '\0';
	if (f != NULL)
		pclose(f);
}

static void look_at_servers(struct machine *m, struct ground *g)
{
	char *version = world_text(g->w, "SHOW server_version");
	redisReply *info = ground_redis(g, "INFO server");
	const char *redis = strstr(info->str, "redis_version:");

	m->fsync = !g->options->no_fsync;
	snprintf(m->postgresql, sizeof(m->postgresql), "%s", version);
	snprintf(m->redis, sizeof(m->redis), "%.*s", redis ? (int)strcspn(redis + 14, "\r\n") : 0,
	    redis ? redis + 14 : "");
	freeReplyObject(info);
	free(version);
}

void machine_look(struct ground *g, struct machine *ret)
{
	time_t now = time(NULL);
	struct utsname name;
	struct tm utc;

	memset(ret, 0, sizeof(*ret));
	look_at_processor(ret);
	look_at_commit(ret);
	look_at_servers(ret, g);
	if (uname(&name) == 0)
		snprintf(ret->kernel, sizeof(ret->kernel), "%s %s", name.sysname, name.release);
	strftime(ret->date, sizeof(ret->date), "%Y-%m-%d %H:%M UTC", gmtime_r(&now, &utc));
}

void machine_print(FILE *out, const struct machine *m)
{
	fprintf(out,
	    "%s, commit %s\n%s, %d cores, %s\nPostgreSQL %s, whose commits %s for the disk; Redis "
	    "%s\n",
	    m->date, m->commit, m->processor, m->cores, m->kernel, m->postgresql,
	    m->fsync ? "wait" : "do not wait", m->redis);
}

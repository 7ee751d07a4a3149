#include "tests/bench/resources.h"

#include "tests/support/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file of a process that must be there. */
static char *read_proc(pid_t pid, const char *name)
{
	char *path = text_format("/proc/%d/%s", (int)pid, name), *text = file_read(path, NULL);

	if (text == NULL)
		die("cannot read %s", path);
	free(path);
	return text;
}

double resources_peak_rss(pid_t pid)
{
	char *text = read_proc(pid, "status");
	const char *line = strstr(text, "VmHWM:");
	double kib = line ? strtod(line + 6, NULL) : 0;

	free(text);
	return kib / 1024;
}

/* proc(5): utime and stime are the 14th and 15th field; the second, in parentheses, may have
 * blanks. */
int64_t resources_cpu_us(pid_t pid)
{
	char *text = read_proc(pid, "stat"), *at = strrchr(text, ')');
	int64_t ticks;

	for (int field = 2; at && field < 14; field++)
		at = strchr(at + 1, ' ');
	if (at == NULL)
		die("/proc/%d/stat: %s", (int)pid, text);
	ticks = strtoll(at, &at, 10);
	ticks += strtoll(at, NULL, 10);
	free(text);
	return ticks * 1000000 / sysconf(_SC_CLK_TCK);
}

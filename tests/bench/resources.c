#include "tests/bench/resources.h"

#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/text.h"

#include <dirent.h>
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

/* A line of its status that is in KiB. */
static double status_mib(pid_t pid, const char *name)
{
	char *text = read_proc(pid, "status");
	const char *line = strstr(text, name);
	double kib = line ? strtod(line + strlen(name), NULL) : 0;

	free(text);
	return kib / 1024;
}

double resources_rss(pid_t pid)
{
	return status_mib(pid, "VmRSS:");
}

double resources_peak_rss(pid_t pid)
{
	return status_mib(pid, "VmHWM:");
}

int resources_descriptors(pid_t pid)
{
	char *path = text_format("/proc/%d/fd", (int)pid);
	DIR *dir = opendir(path);
	const struct dirent *entry;
	int n = 0;

	if (dir == NULL)
		die("cannot read %s", path);
	while ((entry = readdir(dir)) != NULL)
		n += entry->d_name[0] != '.';
	closedir(dir);
	free(path);
	return n;
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

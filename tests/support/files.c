#include "tests/support/files.h"

#include "tests/support/die.h"
#include "tests/support/text.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *temp_root(void)
{
	const char *root = getenv("TMPDIR");

	return root != NULL && *root != '\0' ? root : "/tmp";
}

char *file_read(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t len = 0, size = 0, n;

	if (f == NULL)
		return NULL;
	do {
		if (size - len < 2) {
			size = size ? size * 2 : 4096;
			text = realloc(text, size);
			if (text == NULL)
				die("out of memory");
		}
		n = fread(text + len, 1, size - len - 1, f);
		len += n;
	} while (n > 0);
	text[len] = '\0';
	fclose(f);
	if (ret_len != NULL)
		*ret_len = len;
	return text;
}

void file_write(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0)
		die("cannot write %s: %s", path, strerror(errno));
}

bool file_has(const char *path, const char *text)
{
	size_t len;
	char *all = file_read(path, &len);
	bool found = all != NULL && memmem(all, len, text, strlen(text)) != NULL;

	free(all);
	return found;
}

int64_t file_count(const char *path, const char *text)
{
	char *all = file_read(path, NULL);
	int64_t n = all != NULL ? text_count(all, text) : 0;

	free(all);
	return n;
}

void file_print_tail(const char *path, size_t max_bytes)
{
	size_t len;
	char *text = file_read(path, &len);

	if (text == NULL || len == 0)
		goto done;
	fprintf(stderr, "---- the end of %s\n", path);
	fwrite(len > max_bytes ? text + len - max_bytes : text, 1,
	    len > max_bytes ? max_bytes : len, stderr);
	fputs("----\n", stderr);
done:
	free(text);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	if (remove(path) < 0 && errno != ENOENT)
		fprintf(stderr, "cannot remove %s: %s\n", path, strerror(errno));
	return 0;
}

void tree_remove(const char *path)
{
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

#include "tests/support/die.h"
#include "tests/support/proc.h"
#include "tests/support/text.h"
#include "tests/support/world_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUN_MS 120000
#define MAX_WORDS 64

/* A file and not a pipe: a pipe could fill up while we wait for the end. */
static FILE *nameless_file(void)
{
	FILE *f = tmpfile();

	if (f == NULL)
		die("no temporary file: %s", strerror(errno));
	return f;
}

static char *read_all(FILE *f)
{
	long len = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
	char *text = len < 0 ? NULL : calloc(1, (size_t)len + 1);

	rewind(f);
	if (text == NULL || fread(text, 1, (size_t)len, f) != (size_t)len)
		die("cannot read what a program printed");
	return text;
}

static void add_words(const char **words, size_t *n, const char *const *more)
{
	for (; more != NULL && *more != NULL; more++) {
		if (*n == MAX_WORDS - 1)
			die("too many arguments");
		words[(*n)++] = *more;
	}
	words[*n] = NULL;
}

int world_run_all(struct world *w, const char *binary, const char *const *args,
    const char *const *env, char **ret_out, char **ret_err)
{
	const char *bin_dir = w ? w->bin_dir : UMAVEZ_BIN_DIR;
	char *path =
	    strchr(binary, '/') ? text_format("%s", binary) : text_format("%s/%s", bin_dir, binary);
	char *database = text_format("DATABASE_URL=%s", w ? world_operator_url(w) : "");
	char *redis = text_format("REDIS_URL=%s", w ? w->redis_urls[ROLE_OPERATOR] : "");
	const char *argv[MAX_WORDS] = {path}, *all_env[MAX_WORDS] = {NULL};
	FILE *out = nameless_file(), *err = nameless_file();
	size_t n_argv = 1, n_env = 0;
	int status;

	add_words(argv, &n_argv, args);
	add_words(all_env, &n_env, env);
	if (w != NULL)
		add_words(all_env, &n_env, (const char *const[]){database, redis, NULL});
	struct proc_spec spec = {
	    .argv = argv, .env = all_env, .out_fd = fileno(out), .err_fd = fileno(err)};
	status = proc_run(&spec, RUN_MS);
	if (ret_out != NULL)
		*ret_out = read_all(out);
	if (ret_err != NULL)
		*ret_err = read_all(err);
	fclose(out);
	fclose(err);
	free(path);
	free(database);
	free(redis);
	return status;
}

int world_run(struct world *w, char **ret_out, const char *binary, const char *const *args)
{
	char *err;
	int status = world_run_all(w, binary, args, NULL, ret_out, &err);

	fputs(err, stderr);
	free(err);
	return status;
}

#include "relay/script.h"

#include "common/memory.h"
#include "relay_text.h"

#include <stdlib.h>

void script_init(struct script *s, const char *body)
{
	s->text = mem_printf("%s%s", relay_id_lua, body);
	redis_script_init(&s->redis, s->text);
}

void script_done(struct script *s)
{
	free(s->text);
	s->text = NULL;
}

int script_run(struct redis *redis, const struct script *s, int n_keys, int argc, const char **argv,
    redisReply **ret_reply, struct err *err)
{
	return redis_eval(redis, &s->redis, n_keys, argc, argv, NULL, ret_reply, err);
}

int script_id(const redisReply *reply, struct stream_id *ret_id, struct err *err)
{
	if (reply->type != REDIS_REPLY_STRING || !stream_id_parse(reply->str, ret_id))
		return err_set(err, ERR_FATAL, "Redis: a script gave no stream ID");
	return 0;
}

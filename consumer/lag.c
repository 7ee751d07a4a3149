#include "consumer/lag.h"

int64_t lag_place(const struct stream_size *size, struct stream_id cursor, int64_t known)
{
	if (size->added == LAG_UNKNOWN)
		return LAG_UNKNOWN;
	if (stream_id_compare(cursor, size->end) >= 0)
		return size->added;
	if (stream_id_compare(cursor, size->first) < 0)
		return size->added - size->length;
	return known;
}

int64_t lag_entries(const struct stream_size *size, struct stream_id cursor, int64_t place)
{
	if (stream_id_compare(cursor, size->end) >= 0)
		return 0;
	if (place == LAG_UNKNOWN || size->added < place)
		return size->length;
	return size->added - place;
}

#include "relay/row.h"

#include <assert.h>
#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define EPOCH_S INT64_C(946684800) /* 2000-01-01, since 1970 */
#define US_PER_S INT64_C(1000000)

/* In the statement's order. The fields are in that of enum event_field. */
enum { ID, SIZE, WHOLE, FIELDS, CREATED_AT = FIELDS + EVENT_ROW_FIELDS, COLUMNS };

static int64_t int_at(const PGresult *row, int column)
{
	uint64_t net;

	assert(PQnfields(row) >= COLUMNS && PQgetlength(row, 0, column) == sizeof(net));
	memcpy(&net, PQgetvalue(row, 0, column), sizeof(net));
	return (int64_t)be64toh(net);
}

bool row_there(const PGresult *row)
{
	return PQnfields(row) >= COLUMNS && !PQgetisnull(row, 0, ID);
}

int64_t row_id(const PGresult *row)
{
	return int_at(row, ID);
}

int64_t row_size(const PGresult *row)
{
	return int_at(row, SIZE);
}

bool row_whole(const PGresult *row)
{
	return *PQgetvalue(row, 0, WHOLE) != 0;
}

double row_created_at(const PGresult *row)
{
	return (double)int_at(row, CREATED_AT) / (double)US_PER_S + (double)EPOCH_S;
}

struct event_text row_field(const PGresult *row, enum event_field field)
{
	int column = FIELDS + (int)field;

	assert(field < EVENT_ROW_FIELDS && field != EVENT_TIME);
	return (struct event_text){PQgetvalue(row, 0, column), (size_t)PQgetlength(row, 0, column)};
}

void row_time(const PGresult *row, char ret_time[ROW_TIME_SIZE])
{
	int64_t us = int_at(row, FIELDS + EVENT_TIME), part = us % US_PER_S;
	time_t seconds;
	struct tm tm;
	int year;

	if (us == INT64_MAX || us == INT64_MIN) {
		snprintf(ret_time, ROW_TIME_SIZE, us < 0 ? "-infinity" : "infinity");
		return;
	}
	if (part < 0)
		part += US_PER_S;
	seconds = (us - part) / US_PER_S + EPOCH_S;
	gmtime_r(&seconds, &tm);
	/* There is no year 0: before 1 comes 1 BC, which to_char() writes without the BC. */
	year = tm.tm_year + 1900 > 0 ? tm.tm_year + 1900 : 1 - (tm.tm_year + 1900);
	snprintf(ret_time, ROW_TIME_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", year,
	    tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)part);
}

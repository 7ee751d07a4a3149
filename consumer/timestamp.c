#include "consumer/timestamp.h"

/* What is left to read. */
struct input {
	const char *at, *end;
};

static bool is_digit(const struct input *in)
{
	return in->at < in->end && *in->at >= '0' && *in->at <= '9';
}

static bool take_char(struct input *in, const char *choices)
{
	for (; *choices && in->at < in->end; choices++) {
		if (*in->at == *choices) {
			in->at++;
			return true;
		}
	}
	return false;
}

static bool take_number(struct input *in, int digits, int min, int max, int *ret)
{
	int n = 0;

	for (int i = 0; i < digits; i++) {
		if (!is_digit(in))
			return false;
		n = n * 10 + (*in->at++ - '0');
	}
	*ret = n;
	return n >= min && n <= max;
}

static bool is_leap(int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_in(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	return days[month - 1] + (month == 2 && is_leap(year));
}

/* Days from 1970-01-01; the Gregorian calendar repeats every 400 years of 146097 days. */
static int64_t days_since_1970(int year, int month, int day)
{
	int64_t y = year - 1; /* whole years since year 1 */
	int64_t days = y * 365 + y / 4 - y / 100 + y / 400 + day - 1;

	for (int m = 1; m < month; m++)
		days += days_in(year, m);
	return days - 719162; /* from 0001-01-01 to 1970-01-01 */
}

static bool take_date(struct input *in, int64_t *ret_days)
{
	int year, month, day;

	if (!take_number(in, 4, 1, 9999, &year) || !take_char(in, "-") ||
	    !take_number(in, 2, 1, 12, &month) || !take_char(in, "-") ||
	    !take_number(in, 2, 1, days_in(year, month), &day))
		return false;
	*ret_days = days_since_1970(year, month, day);
	return true;
}

/* ".123456" or nothing. */
static bool take_fraction(struct input *in, int *ret_ms)
{
	int unit = 100, ms = 0;

	*ret_ms = 0;
	if (!take_char(in, "."))
		return true;
	if (!is_digit(in))
		return false;
	for (; is_digit(in); in->at++, unit /= 10)
		ms += unit * (*in->at - '0');
	*ret_ms = ms;
	return true;
}

static bool take_time(struct input *in, int64_t *ret_ms)
{
	int hour, minute, second, ms;

	if (!take_number(in, 2, 0, 23, &hour) || !take_char(in, ":") ||
	    !take_number(in, 2, 0, 59, &minute) || !take_char(in, ":") ||
	    !take_number(in, 2, 0, 60, &second) || !take_fraction(in, &ms))
		return false;
	*ret_ms = ((hour * 60 + minute) * 60 + second) * INT64_C(1000) + ms;
	return true;
}

static bool take_offset(struct input *in, int64_t *ret_ms)
{
	int hour, minute;
	bool west;

	*ret_ms = 0;
	if (take_char(in, "Zz"))
		return true;
	west = in->at < in->end && *in->at == '-';
	if (!take_char(in, "+-") || !take_number(in, 2, 0, 23, &hour) || !take_char(in, ":") ||
	    !take_number(in, 2, 0, 59, &minute))
		return false;
	*ret_ms = (hour * 60 + minute) * INT64_C(60000) * (west ? -1 : 1);
	return true;
}

bool timestamp_parse(const char *text, size_t len, int64_t *ret_wall_ms)
{
	struct input in = {text, text + len};
	int64_t days, ms, offset;

	if (!take_date(&in, &days) || !take_char(&in, "Tt ") || !take_time(&in, &ms) ||
	    !take_offset(&in, &offset) || in.at != in.end)
		return false;
	*ret_wall_ms = days * INT64_C(86400000) + ms - offset;
	return true;
}

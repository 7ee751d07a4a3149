#include "common/hex.h"
#include "tests/support/check.h"

static void bytes(void)
{
	char hex[9] = "xxxxxxxx";

	CHECK_STR(hex_format("\x00\x7f\x80\xff", 4, hex), "007f80ff");
	CHECK_STR(hex_format("", 0, hex), "");
}

/* FIPS 180-4, the example of one block. */
static void sha256(void)
{
	char hex[HEX_SHA256_SIZE];

	CHECK_STR(hex_sha256("abc", 3, hex),
	    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static const struct check checks[] = {
    {"bytes", bytes},
    {"SHA-256", sha256},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("common hex", checks, argc, argv);
}

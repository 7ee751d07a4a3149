/* A program that loses what it allocated: what test_leaks must notice. */
#include <stdlib.h>

int main(void)
{
	volatile char *lost = malloc(100);

	lost = NULL;
	return lost != NULL;
}

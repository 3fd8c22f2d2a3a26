/* inner_row.c - see inner_row.h. */
#include "model/inner_row.h"

#include <stddef.h>
#include <string.h>

const char *inner_row_of(const char *operator_name)
{
	if (strcmp(operator_name, "aten::detach") != 0 &&
	    strcmp(operator_name, "aten::detach_") != 0)
		return NULL;
	return operator_name + strlen("aten::");
}

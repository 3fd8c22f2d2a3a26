/* writer.c - the writer that keeps nothing: everything it needs is in the summary. */
#include "output/writer.h"

#include <errno.h>
#include <stdlib.h>

#include "model/sink.h"

struct simple_writer {
	struct writer writer;
	struct byte_sink *out;
	int (*finish)(struct byte_sink *out, const struct summary *summary);
};

static int simple_finish(struct writer *writer, const struct summary *summary)
{
	struct simple_writer *simple = container_of(writer, struct simple_writer, writer);

	return simple->finish(simple->out, summary);
}

static void simple_free(struct writer *writer)
{
	free(container_of(writer, struct simple_writer, writer));
}

static const struct writer_ops simple_ops = {
	.finish = simple_finish,
	.free = simple_free,
};

int writer_simple_new(struct writer **writer, struct byte_sink *out,
		      int (*finish)(struct byte_sink *out, const struct summary *summary))
{
	struct simple_writer *simple = calloc(1, sizeof(*simple));

	if (!simple)
		return -ENOMEM;
	simple->writer.ops = &simple_ops;
	simple->out = out;
	simple->finish = finish;
	*writer = &simple->writer;
	return 0;
}

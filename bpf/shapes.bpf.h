/*
 * shapes.bpf.h - the sizes, strides and types of an operator's tensor arguments, read from where
 * its schema says that they are passed. Nothing that is read is believed: a layout that does not
 * fit gives an argument that is not readable.
 */
#ifndef SHAPES_BPF_H
#define SHAPES_BPF_H

#include "calls.bpf.h"

#define INLINE_DIMENSIONS 5 /* c10::SizesAndStrides keeps so many in itself */
#define DIMENSIONS_SANE 64

/* From TensorImpl::sizes_and_strides_ on; what follows it lies alike in 1.13 to 2.14. */
struct tensor_view {
	__u64 dimensions;
	__s64 sizes[INLINE_DIMENSIONS]; /* or the address of both, sizes first */
	__s64 strides[INLINE_DIMENSIONS];
	__u64 storage_offset;
	__s64 numel;
	__u16 type;
	__u8 device[3]; /* one says that it is there: the first before 2.2, the last since */
	__u8 reserved[3];
};

static __always_inline __u64 register_at(struct pt_regs *ctx, __u32 place)
{
	switch (place) {
	case 0:
		return ARGUMENT_0(ctx);
	case 1:
		return ARGUMENT_1(ctx);
	case 2:
		return ARGUMENT_2(ctx);
	case 3:
		return ARGUMENT_3(ctx);
	case 4:
		return ARGUMENT_4(ctx);
	case 5:
		return ARGUMENT_5(ctx);
	default:
		return read_word(STACK_POINTER(ctx) + 8 + 8 * (__u64)(place - PLACE_STACK));
	}
}

static __always_inline bool is_undefined(const struct tensor_view *view)
{
	return view->device[2] != 1 && !(view->device[0] == 1 && view->device[2] != 0);
}

static __always_inline void read_far(struct wire_argument *argument, const struct tensor_view *view)
{
	__u64 at = (__u64)view->sizes[0];

	if (bpf_probe_read_user(argument->sizes, sizeof(argument->sizes), (void *)at) ||
	    bpf_probe_read_user(argument->strides, sizeof(argument->strides),
				(void *)(at + 8 * view->dimensions)))
		argument->kind = ARGUMENT_UNREADABLE;
}

/* Is the layout the one we take it for? The sizes' product is kept as well. */
static __always_inline bool is_consistent(const struct tensor_view *view)
{
	__s64 product = 1;
	__u32 i;

	for (i = 0; i < INLINE_DIMENSIONS; i++) {
		if (i < view->dimensions)
			product *= view->sizes[i];
	}
	return product == view->numel;
}

static __always_inline void read_tensor(struct wire_argument *argument, __u64 address, __u8 flags)
{
	struct tensor_view view = {};
	__u64 impl, flag_at = address + 8;

	argument->kind = ARGUMENT_UNDEFINED;
	if (flags & PLACE_FLAG_FIRST) {
		flag_at = address;
		address += 8;
	}
	if ((flags & PLACE_OPTIONAL) && !(read_word(flag_at) & 0xff))
		return;
	impl = read_word(address);
	argument->kind = ARGUMENT_UNREADABLE;
	if (!impl || bpf_probe_read_user(&view, sizeof(view), (void *)(impl + config.tensor_sizes)))
		return;
	if (view.dimensions > DIMENSIONS_SANE || view.type > 255)
		return;
	argument->kind = is_undefined(&view) ? ARGUMENT_UNDEFINED : ARGUMENT_TENSOR;
	argument->type = view.type;
	argument->dimensions = view.dimensions;
	if (argument->kind == ARGUMENT_UNDEFINED)
		return;
	if (view.dimensions > INLINE_DIMENSIONS) {
		read_far(argument, &view);
		return;
	}
	if (!is_consistent(&view)) {
		argument->kind = ARGUMENT_UNREADABLE;
		loss_count(LOSS_ARGUMENT_UNREADABLE);
		return;
	}
	/* A sparse tensor keeps no storage, and has strides of 0. */
	if (view.dimensions && !view.strides[0])
		argument->without_strides = !read_word(impl + config.tensor_storage);
	__builtin_memcpy(argument->sizes, view.sizes, sizeof(view.sizes));
	__builtin_memcpy(argument->strides, view.strides, sizeof(view.strides));
}

static __always_inline void read_integers(struct wire_argument *argument, __u64 address,
					  __u64 count)
{
	__u32 taken = count < SHAPES_DIMENSIONS_MAX ? count : SHAPES_DIMENSIONS_MAX;

	argument->kind = ARGUMENT_INTEGERS;
	argument->dimensions = count < 255 ? count : 255;
	if (taken && bpf_probe_read_user(argument->sizes, taken * sizeof(__s64), (void *)address))
		argument->kind = ARGUMENT_UNREADABLE;
}

static __always_inline void read_argument(struct pt_regs *ctx, struct wire_argument *argument,
					  const struct argument_place *place)
{
	__u64 value = register_at(ctx, place->place);

	__builtin_memset(argument, 0, sizeof(*argument));
	argument->position = place->position;
	if (place->kind == ARGUMENT_TENSOR)
		read_tensor(argument, value, place->flags);
	else if (place->kind == ARGUMENT_INTEGERS)
		read_integers(argument, value, register_at(ctx, place->place + 1));
}

/* bytes is a constant in each call: a ring's reservation must be. */
static __always_inline void emit_shapes(struct pt_regs *ctx, __u32 tid, __u64 now_ns, __u32 index,
					const struct operator_places *places, __u32 arguments_max)
{
	const __u32 bytes = offsetof(struct wire_shapes, arguments) +
			    arguments_max * sizeof(struct wire_argument);
	struct wire_shapes *record = emit_reserve(bytes, WIRE_SHAPES, index, tid, now_ns);
	__u32 i;

	if (!record)
		return;
	record->count = 0;
	__builtin_memset(record->reserved, 0, sizeof(record->reserved));
	record->argument_count = places->argument_count;
	for (i = 0; i < arguments_max && i < places->count; i++) {
		read_argument(ctx, &record->arguments[i], &places->places[i]);
		record->count = i + 1;
	}
	record->header.size = offsetof(struct wire_shapes, arguments) +
			      record->count * sizeof(struct wire_argument);
	emit_submit(record);
}

static __always_inline void on_op_shapes(struct pt_regs *ctx, __u32 tid, __u64 now_ns, __u32 index)
{
	const struct operator_places *places = bpf_map_lookup_elem(&argument_places, &index);

	on_op(ctx, tid, now_ns, WIRE_OP_BEGIN, index);
	if (!places || !places->count || phase_now() != PHASE_ACTIVE)
		return;
	if (places->count <= 2)
		emit_shapes(ctx, tid, now_ns, index, places, 2);
	else
		emit_shapes(ctx, tid, now_ns, index, places, SHAPES_ARGUMENTS_MAX);
}

#endif /* SHAPES_BPF_H */

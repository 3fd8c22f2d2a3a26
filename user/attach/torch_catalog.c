/*
 * torch_catalog.c - see torch_catalog.h. Where each row was seen: on the official
 * wheels 2.4.1, 2.13.0 and 2.14.1 and on Debian's 1.13.1 with uprobes on running jobs.
 */
#include "attach/torch_catalog.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const struct catalog_row rows[] = {
	{
		.kind = PROBE_RANGE_NAME,
		.point = "range name",
		.needs = PROBE_SITE_ARGUMENT(1),
		.library = LIBRARY_TORCH_CPU,
		.prefixes = { "_ZN5torch8autograd8profiler25record_function_enter_newE" },
		.since = TORCH_RELEASE(2, 0),
		.hits = "once per record_function range",
		.cost = "ranges, their names, and attempts in auto mode",
	},
	{
		/* 1.13 enters ranges through an operator; its first string argument is the name. */
		.kind = PROBE_RANGE_NAME,
		.point = "range name (1.13)",
		.needs = PROBE_SITE_ARGUMENT(1),
		.library = LIBRARY_TORCH_CPU,
		.prefixes = { "_ZN3c106ivalue14ConstantString6createENSt7__cxx1112basic_string",
			      "_ZN3c106ivalue14ConstantString6createESs" },
		.until = TORCH_RELEASE(1, 13),
		.hits = "once per string that is handed to an operator",
		.cost = "ranges, their names, and attempts in auto mode",
	},
	{
		.kind = PROBE_RANGE_NAME_RESET,
		.point = "operator call from Python (1.13)",
		.library = LIBRARY_TORCH_PYTHON,
		.prefixes = { "_ZN5torch3jit24invokeOperatorFromPythonE" },
		.until = TORCH_RELEASE(1, 13),
		.hits = "once per torch.ops call",
		.cost = "the right name of a range that was given arguments",
	},
	{
		/* Static, so in .symtab alone: the wheels have it, stripped builds do not. */
		.kind = PROBE_RANGE_ENTER,
		.point = "range enter",
		.needs = PROBE_SITE_ARGUMENT(0) | PROBE_SITE_ARGUMENT(2),
		.library = LIBRARY_TORCH_CPU,
		.prefixes = { "_ZN5torch8autograd8profilerL21record_function_enterE",
			      "_ZN5torch8autograd8profiler21record_function_enterE" },
		.since = TORCH_RELEASE(2, 0),
		.hits = "once per record_function range",
		.cost = "the cheap way to see ranges: without it every autograd node is hit too",
	},
	{
		.kind = PROBE_RANGE_EXIT,
		.point = "range exit",
		.library = LIBRARY_TORCH_CPU,
		.prefixes = { "_ZN5torch8autograd8profilerL24record_function_exit_newE",
			      "_ZN5torch8autograd8profiler24record_function_exit_newE" },
		/* It ends in a jump to RecordFunction::end(), with end's argument in place. */
		.needs_tail_jump = true,
		.since = TORCH_RELEASE(2, 0),
		.hits = "once per record_function range",
		.cost = "the cheap way to see ranges: without it every autograd node is hit too",
	},
	{
		.kind = PROBE_RANGE_BEGIN,
		.point = "range begin",
		.needs = PROBE_SITE_ARGUMENT(0) | PROBE_SITE_ARGUMENT(1),
		.library = LIBRARY_TORCH_CPU,
		.prefixes = { "_ZN2at14RecordFunctionC1ENS_11RecordScopeE",
			      "_ZN2at14RecordFunctionC2ENS_11RecordScopeE" },
		.hits = "once per range and per autograd node",
		.cost = "ranges",
	},
	{
		.kind = PROBE_RANGE_END,
		.point = "range end",
		.needs = PROBE_SITE_ARGUMENT(0),
		.library = LIBRARY_TORCH_CPU,
		.prefixes = { "_ZN2at14RecordFunction3endEv" },
		.hits = "twice per range and per autograd node",
		.cost = "the ends of ranges",
	},
	{
		.kind = PROBE_REGION_CSTRING,
		.point = "compiled region (to 2.8)",
		.needs = PROBE_SITE_ARGUMENT(0) | PROBE_SITE_ARGUMENT(1),
		.library = LIBRARY_TORCH_CPU,
		.prefixes = { "_ZN2at14RecordFunction6beforeEPKcl" },
		.since = TORCH_RELEASE(2, 2),
		.until = TORCH_RELEASE(2, 8),
		.hits = "once per compiled region",
		.cost = "compiled regions",
	},
	{
		.kind = PROBE_REGION_VIEW,
		.point = "compiled region",
		.needs = PROBE_SITE_ARGUMENT(0) | PROBE_SITE_STACK,
		.library = LIBRARY_TORCH_CPU,
		.prefixes = { "_ZN2at14RecordFunction6beforeESt7variantIJSt17basic_string_view" },
		.since = TORCH_RELEASE(2, 9),
		.hits = "once per compiled region",
		.cost = "compiled regions",
	},
	{
		/* Not where nothing is seen of nodes: there every guard's end is watched. */
		.kind = PROBE_REGION_EXIT,
		.point = "compiled region end",
		.needs = PROBE_SITE_ARGUMENT(0),
		.library = LIBRARY_TORCH_PYTHON,
		.prefixes = { "_pytorch_record_function_exit" },
		.since = TORCH_RELEASE(2, 2),
		.hits = "once per compiled region",
		.cost = "the ends of compiled regions",
	},
	{
		.kind = PROBE_UNSCALE,
		.point = "gradient unscale",
		.library = LIBRARY_TORCH_CPU,
		.prefixes = { "_ZN2at4_ops42_amp_foreach_non_finite_check_and_unscale_4callE" },
		.hits = "a few times per attempt, with a GradScaler",
		.cost = "whether an attempt was skipped, where a GradScaler runs",
	},
	{
		.kind = PROBE_SCALE_UPDATE,
		.point = "gradient scale update",
		.needs = PROBE_SITE_ARGUMENT(2),
		.library = LIBRARY_TORCH_CPU,
		.prefixes = { "_ZN2at4_ops18_amp_update_scale_4callE" },
		.hits = "once per attempt, with a GradScaler",
		.cost = "attempts that a GradScaler skipped",
	},
	{
		/* Fused optimizers run their range although they skip; both overloads of each. */
		.kind = PROBE_FUSED_STEP,
		.point = "fused optimizer",
		.library = LIBRARY_TORCH_CPU,
		.prefixes = { "_ZN2at4_ops11_fused_sgd_4callE",
			      "_ZN2at4_ops21_fused_sgd__tensor_lr4callE" },
		.is_family = true,
		.since = TORCH_RELEASE(2, 3),
		.hits = "once per parameter group and attempt, with fused=True",
		.cost = "whether a fused SGD step was skipped",
	},
	{
		.kind = PROBE_FUSED_STEP,
		.point = "fused optimizer (Adam)",
		.library = LIBRARY_TORCH_CPU,
		.prefixes = { "_ZN2at4_ops12_fused_adam_4callE",
			      "_ZN2at4_ops22_fused_adam__tensor_lr4callE" },
		.is_family = true,
		.hits = "once per parameter group and attempt, with fused=True",
		.cost = "whether a fused Adam step was skipped",
	},
	{
		.kind = PROBE_FUSED_STEP,
		.point = "fused optimizer (AdamW)",
		.library = LIBRARY_TORCH_CPU,
		.prefixes = { "_ZN2at4_ops13_fused_adamw_4callE",
			      "_ZN2at4_ops23_fused_adamw__tensor_lr4callE" },
		.is_family = true,
		.since = TORCH_RELEASE(2, 1),
		.hits = "once per parameter group and attempt, with fused=True",
		.cost = "whether a fused AdamW step was skipped",
	},
	{
		.kind = PROBE_FUSED_STEP,
		.point = "fused optimizer (Adagrad)",
		.library = LIBRARY_TORCH_CPU,
		.prefixes = { "_ZN2at4_ops15_fused_adagrad_4callE",
			      "_ZN2at4_ops25_fused_adagrad__tensor_lr4callE" },
		.is_family = true,
		.since = TORCH_RELEASE(2, 4),
		.hits = "once per parameter group and attempt, with fused=True",
		.cost = "whether a fused Adagrad step was skipped",
	},
	{
		.kind = PROBE_NODE_BEGIN,
		.point = "autograd node",
		.needs = PROBE_SITE_ARGUMENT(2),
		.library = LIBRARY_TORCH_CPU,
		.prefixes = { "_ZN5torch8autograd6Engine17evaluate_functionE" },
		.activity = ACTIVITY_AUTOGRAD,
		.hits = "once per autograd node",
		.cost = "autograd nodes",
	},
	{
		/* The guard of a node is destroyed right behind it, by the same frame. */
		.kind = PROBE_GUARD_END,
		.point = "guard end",
		.needs = PROBE_SITE_ARGUMENT(0),
		.library = LIBRARY_TORCH_CPU,
		.prefixes = { "_ZN2at14RecordFunctionD1Ev", "_ZN2at14RecordFunctionD2Ev" },
		.activity = ACTIVITY_AUTOGRAD,
		.hits = "once per autograd node, range and detach",
		.cost = "the ends of autograd nodes, and rows of RECORD_FUNCTION",
	},
	{
		.kind = PROBE_APPLY_BEGIN,
		.point = "autograd.Function",
		.needs = PROBE_SITE_ARGUMENT(0),
		.library = LIBRARY_TORCH_PYTHON,
		.prefixes = { "_Z17THPFunction_applyP7_object",
			      "_ZN12_GLOBAL__N_117THPFunction_applyEP7_object" },
		.activity = ACTIVITY_AUTOGRAD,
		.hits = "once per forward of a custom autograd.Function",
		.cost = "the forward rows of custom autograd.Functions",
	},
	{
		.kind = PROBE_BOXED_VECTOR,
		.point = "torch.ops call (to 2.8)",
		.needs = PROBE_SITE_ARGUMENT(1),
		.library = LIBRARY_TORCH_PYTHON,
		.prefixes = { "_ZN5torch3jit24invokeOperatorFromPythonERKSt6vector" },
		.activity = ACTIVITY_OPERATORS,
		.until = TORCH_RELEASE(2, 8),
		.hits = "once per torch.ops call, twice per record_function range",
		.cost = "operators called through torch.ops",
	},
	{
		.kind = PROBE_BOXED_BEGIN,
		.point = "torch.ops call",
		.needs = PROBE_SITE_ARGUMENT(1),
		.library = LIBRARY_TORCH_PYTHON,
		.prefixes = { "_ZN5torch3jit24invokeOperatorFromPythonEN3c108ArrayRefI" },
		.activity = ACTIVITY_OPERATORS,
		.since = TORCH_RELEASE(2, 9),
		.hits = "once per torch.ops call, twice per record_function range",
		.cost = "operators called through torch.ops",
	},
	{
		.kind = PROBE_SEQUENCE,
		.point = "sequence number",
		.library = LIBRARY_TORCH_CPU,
		.prefixes = { "_ZN2at15sequence_number17get_and_incrementEv" },
		.activity = ACTIVITY_AUTOGRAD,
		.hits = "once per autograd node that is made",
		.cost = "which backward belongs to which forward",
	},
	{
		.kind = PROBE_MEMORY_NEW,
		.point = "CPU allocation",
		.needs = PROBE_SITE_ARGUMENT(1) | PROBE_SITE_ARGUMENT(2),
		.library = LIBRARY_C10,
		.prefixes = { "_ZN3c1025ProfiledCPUMemoryReporter3NewEPv" },
		.activity = ACTIVITY_MEMORY,
		.hits = "once per block of CPU memory",
		.cost = "CPU memory",
	},
	{
		.kind = PROBE_MEMORY_DELETE,
		.point = "CPU free",
		.needs = PROBE_SITE_ARGUMENT(1),
		.library = LIBRARY_C10,
		.prefixes = { "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv" },
		.activity = ACTIVITY_MEMORY,
		.hits = "once per block of CPU memory",
		.cost = "what CPU memory was freed",
	},
	{
		.kind = PROBE_MEMORY_OUT,
		.point = "out of CPU memory",
		.needs = PROBE_SITE_ARGUMENT(1),
		.library = LIBRARY_C10,
		.prefixes = { "_ZN3c1025ProfiledCPUMemoryReporter11OutOfMemoryE" },
		.activity = ACTIVITY_MEMORY,
		.hits = "once per failed allocation",
		.cost = "out-of-memory events of the CPU",
	},
	{
		.kind = PROBE_DEVICE_MEMORY,
		.point = "device memory",
		.needs = PROBE_SITE_ARGUMENT(0) | PROBE_SITE_ARGUMENT(1) | PROBE_SITE_ARGUMENT(2) |
			 PROBE_SITE_ARGUMENT(3) | PROBE_SITE_ARGUMENT(4),
		.library = LIBRARY_C10,
		.prefixes = { "_ZN3c1027reportMemoryUsageToProfilerEPv" },
		.activity = ACTIVITY_MEMORY,
		.hits = "twice per block of device memory",
		.cost = "device memory",
	},
	{
		.kind = PROBE_DEVICE_OUT,
		.point = "out of device memory",
		.needs = PROBE_SITE_ARGUMENT(0) | PROBE_SITE_ARGUMENT(1) | PROBE_SITE_ARGUMENT(2) |
			 PROBE_SITE_ARGUMENT(3),
		.library = LIBRARY_C10,
		.prefixes = { "_ZN3c1027reportOutOfMemoryToProfilerE" },
		.activity = ACTIVITY_MEMORY,
		.hits = "once per failed allocation",
		.cost = "out-of-memory events of devices",
	},
	{
		.kind = PROBE_PYTHON_CALL,
		.point = "Python call",
		.needs = PROBE_SITE_ARGUMENT(0) | PROBE_SITE_ARGUMENT(1),
		.library = LIBRARY_PYTHON,
		.prefixes = { "_PyEval_EvalFrameDefault" },
		.activity = ACTIVITY_MODULES,
		.hits = "once per call that C makes of Python, of modules and others",
		.cost = "calls of modules (CPython 3.11 to 3.13 has what they are seen by)",
	},
};

const struct catalog_row *torch_catalog(size_t *count)
{
	*count = sizeof(rows) / sizeof(rows[0]);
	return rows;
}

bool torch_catalog_applies(const struct catalog_row *row, torch_release release)
{
	if (!release)
		return !row->until;
	return (!row->since || release >= row->since) && (!row->until || release <= row->until);
}

static bool is_name_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

int torch_catalog_operator(const char *name, char *prefix, size_t size_bytes)
{
	char base[128];
	char *c;
	int length;

	if (text_has_prefix(name, "aten::"))
		name += strlen("aten::");
	if (!*name || (*name >= '0' && *name <= '9') || text_copy(base, sizeof(base), name))
		return -EINVAL;
	for (c = base; *c; c++) {
		if (*c == '.') /* between name and overload */
			*c = '_';
		else if (!is_name_character(*c))
			return -EINVAL;
	}
	length = snprintf(prefix, size_bytes, "_ZN2at4_ops%zu%s4callE", strlen(base), base);
	return length > 0 && (size_t)length < size_bytes ? 0 : -EINVAL;
}

bool torch_catalog_node_layout(torch_release release, struct probe_config *config)
{
	static const struct {
		torch_release since;
		__u32 node_sequence, node_object;
	} layouts[] = {
		{ TORCH_RELEASE(2, 13), 16, 112 },
		{ TORCH_RELEASE(2, 2), 24, 472 },
		{ TORCH_RELEASE(1, 13), 24, 392 },
	};
	size_t i;

	for (i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (release < layouts[i].since)
			continue;
		config->node_sequence = layouts[i].node_sequence;
		config->node_object = layouts[i].node_object;
		return true;
	}
	return false;
}

bool torch_catalog_tensor_layout(torch_release release, struct probe_config *config)
{
	static const struct {
		torch_release since;
		__u32 tensor_sizes, tensor_storage, storage_data;
	} layouts[] = {
		{ TORCH_RELEASE(2, 13), 56, 16, 16 },
		{ TORCH_RELEASE(2, 3), 64, 16, 16 },
		{ TORCH_RELEASE(1, 13), 72, 24, 24 },
	};
	size_t i;

	for (i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (release < layouts[i].since)
			continue;
		config->tensor_sizes = layouts[i].tensor_sizes;
		config->tensor_storage = layouts[i].tensor_storage;
		config->storage_data = layouts[i].storage_data;
		return true;
	}
	return false;
}

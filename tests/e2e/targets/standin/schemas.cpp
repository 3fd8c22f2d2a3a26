// The schemas as they stand in the read-only data of libtorch_cpu.so: one string each, but for
// those that the linker keeps as the end of another, among strings of the JIT that look alike.

#include "operators.h"

namespace standin {

static const char *const schemas[] = {
#define STANDIN_SCHEMA(name, full, schema, ret, params, args) full schema,
	STANDIN_OPERATORS(STANDIN_SCHEMA)
#undef STANDIN_SCHEMA
};

// "addmm(..." is the end of the first; the others name operators with other arguments or results.
TORCH_API extern const char *const jit_schemas[];
const char *const jit_schemas[] = {
	"aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)"
	" -> Tensor",
	"aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta, Scalar alpha)"
	" -> Tensor",
	"aten::as_strided(Tensor self, int[] size, int[] stride, int? storage_offset) -> Tensor",
	"aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> (Tensor)",
	"aten::mul.Tensor(Tensor self, Tensor other) -> (Tensor)",
	"aten::sum(Tensor self, int[]? dim, bool keepdim, *, int? dtype) -> Tensor",
	"aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, int? dtype=None)"
	" -> (Tensor)",
	"aten::cat(Tensor[] inputs) -> Tensor",
	"aten::relu(Tensoaten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> r_relu",
	"mm(Tensor self, Tensor mat2) -> Tensor\") INTERNAL ASSERT FAILED at \"batch_mm.cpp\"",
	"aten::item",
	"aten::add_",
	nullptr,
};

const char *operator_schema(OperatorId id)
{
	return schemas[static_cast<size_t>(id)];
}

} // namespace standin

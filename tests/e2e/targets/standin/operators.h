// at::_ops::*::call with the names of the real ones.

#ifndef STANDIN_OPERATORS_H
#define STANDIN_OPERATORS_H

#include "operator_table.h"
#include "torch_types.h"

namespace at::_ops
{

using c10::ArrayRef;
using c10::Device;
using c10::IListRef;
using c10::Layout;
using c10::MemoryFormat;
using c10::optional;
using c10::OptionalArrayRef;
using c10::Scalar;
using c10::ScalarType;
using c10::SymInt;

#define STANDIN_DECLARE(name, full, schema, ret, params, args) \
	struct TORCH_API name {                                \
		static ret call params;                        \
	};
STANDIN_OPERATORS(STANDIN_DECLARE)
#undef STANDIN_DECLARE

} // namespace at::_ops

namespace standin
{

enum class OperatorId {
#define STANDIN_ID(name, full, schema, ret, params, args) name,
	STANDIN_OPERATORS(STANDIN_ID)
#undef STANDIN_ID
};

// The schemas of all operators, in the order of OperatorId.
TORCH_API const char *operator_schema(OperatorId id);

} // namespace standin

#endif

/* inner_row.h - rows that torch.profiler has of a part of an operator. */
#ifndef MODEL_INNER_ROW_H
#define MODEL_INNER_ROW_H

/*
 * "detach" for "aten::detach": VariableTypeManual.cpp of PyTorch holds a RECORD_FUNCTION of that
 * name in it. It is told by the operator's own probes, and is not seen without them. NULL: there is
 * none.
 */
const char *inner_row_of(const char *operator_name);

#endif /* MODEL_INNER_ROW_H */

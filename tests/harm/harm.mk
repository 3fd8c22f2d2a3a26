# The harm suite: targets that throw, fork, crash, are confined or stopped, against a tpbpf that is interrupted, killed, out of memory or
# of room. As root. CELLS=PATTERN runs the cells whose ROW/COLUMN holds it; harm-short a selection of about two minutes.

.PHONY: harm harm-short
harm: all standin
	tests/harm/harm.py $(if $(CELLS),--cells '$(CELLS)') $(HARM_FLAGS)

harm-short: all standin
	tests/harm/harm.py --short $(HARM_FLAGS)

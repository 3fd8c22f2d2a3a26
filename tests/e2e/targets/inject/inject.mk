# What 73_inject.py needs: a job that would notice, and what takes its threads again and again.
INJECT_SRC := tests/e2e/targets/inject
C_FILES += $(wildcard $(INJECT_SRC)/*.[ch])

$(BUILD)/inject/waits: $(wildcard $(INJECT_SRC)/waits.c $(INJECT_SRC)/registers.[ch])
	$(say) TARGET $@
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -pthread -o $@.tmp \
		$(filter %.c,$^) && mv -f $@.tmp $@

$(BUILD)/inject/waits-static: $(wildcard $(INJECT_SRC)/waits.c $(INJECT_SRC)/registers.[ch])
	$(say) TARGET $@
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -pthread -static -o $@.tmp \
		$(filter %.c,$^) && mv -f $@.tmp $@

$(BUILD)/inject/inject_many: $(INJECT_SRC)/inject_many.c $(BUILD)/core.a
	$(say) TEST $@
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(CORE_CFLAGS) $(DEPFLAGS) -MF $@.d -o $@ $< $(BUILD)/core.a $(LIBS)

$(BUILD)/inject/filtered: $(INJECT_SRC)/filtered.c
	$(say) TARGET $@
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -o $@.tmp $< && mv -f $@.tmp $@

inject-test: $(BUILD)/inject/filtered $(BUILD)/inject/waits $(BUILD)/inject/waits-static $(BUILD)/inject/inject_many $(BUILD)/libtpbpf-agent.so
.PHONY: inject-test

# The agent that lives in the job: an own library, with nothing of core.a in it.
AGENT_SOURCES := $(wildcard user/agent/*.c)
AGENT_OBJECTS := $(AGENT_SOURCES:%.c=$(BUILD)/%.o)
# No endbr64 in front of the probed nop; no lazy binding in somebody else's process.
AGENT_CFLAGS := -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -fPIC -fvisibility=hidden -fcf-protection=none \
	-Iuser -Iinclude -include user/agent/old_glibc.h
AGENT_LDFLAGS := -shared -Wl,-soname,libtpbpf-agent.so -Wl,--version-script,user/agent/agent.map \
	-Wl,-z,defs -Wl,-z,nodelete -Wl,-z,now -Wl,-z,relro -Wl,--as-needed

$(AGENT_OBJECTS): $(BUILD)/user/agent/%.o: user/agent/%.c
	$(say) CC-AGENT $<
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(AGENT_CFLAGS) $(DEPFLAGS) -c -o $@ $<

# Under a temporary name, so that a job that maps the old file keeps it.
$(BUILD)/libtpbpf-agent.so: $(AGENT_OBJECTS) user/agent/agent.map
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(AGENT_LDFLAGS) $(LDFLAGS) -o $@.tmp $(AGENT_OBJECTS) && mv -f $@.tmp $@

agent: $(BUILD)/libtpbpf-agent.so
.PHONY: agent

all: $(BUILD)/libtpbpf-agent.so

install: install-agent
install-agent: $(BUILD)/libtpbpf-agent.so
	install -D -m 755 $< $(DESTDIR)$(PREFIX)/lib/tpbpf/libtpbpf-agent.so

uninstall: uninstall-agent
uninstall-agent:
	rm -f $(DESTDIR)$(PREFIX)/lib/tpbpf/libtpbpf-agent.so
.PHONY: install-agent uninstall-agent

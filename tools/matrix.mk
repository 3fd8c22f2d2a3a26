# The end-to-end tests that need no PyTorch on Debian's 6.1 and 6.12, booted under QEMU, and on the running kernel (as root).
# KERNELS="6.1 running" runs those; see tests/matrix/README.md.

.PHONY: matrix matrix-run
matrix:
	tools/setup.sh --matrix --no-torch
	$(Q)$(MAKE) --no-print-directory matrix-run

matrix-run: all standin fakes agent agent-capture cuda-job inject-test $(BUILD)/tests/check_sites
	BUILD=$(BUILD) tests/matrix/run.sh $(KERNELS)

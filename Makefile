# SPDX-License-Identifier: MIT
# gpulite: `make help` says what there is. GNU make.

# ---- which backend: a GPU with CUDA, or the CUDA runtime on a CPU (tests/cpu) ----
# cuda where nvcc is found and a GPU answers, otherwise cpu. BACKEND=cuda|cpu and ARCH=... override it.

NVCC ?= $(shell command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
FOUND := $(if $(NVCC),$(shell command -v $(firstword $(NVCC)) 2>/dev/null))
ifneq ($(FOUND),)
CUDA_HOME ?= $(patsubst %/bin/,%,$(dir $(realpath $(FOUND))))
# compute capabilities of the GPUs, as in "9.0"; nvcc's own query where nvidia-smi is missing
GPUS := $(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | grep -x '[0-9]*\.[0-9]*')
ifeq ($(GPUS),)
GPUS := $(shell "$(CUDA_HOME)/bin/__nvcc_device_query" 2>/dev/null | tr ', ' '\n\n' | sed -n 's/^\([0-9]*\)\([0-9]\)$$/\1.\2/p')
endif
endif

ifeq ($(FOUND),)
BACKEND ?= cpu
WHY := no nvcc $(if $(NVCC),at $(NVCC),found)
else ifeq ($(GPUS),)
BACKEND ?= cpu
WHY := nvcc found, but no GPU answers
else
BACKEND ?= cuda
WHY := nvcc and a GPU of capability $(firstword $(GPUS)) found
endif
ifneq ($(filter command line environment,$(origin BACKEND)),)
WHY := asked for
endif

ifeq ($(ARCH),)
ifeq ($(GPUS),)
ARCH := all-major
else ifeq ($(filter-out 9.0,$(GPUS)),)
ARCH := sm_90a
else
ARCH := native
endif
endif
# for sm_90a alone: -arch=sm_90a compiles for compute_90 too, which takes half as long again
GENCODE = $(if $(filter sm_90a,$(ARCH)),-gencode=arch=compute_90a$(comma)code=sm_90a,-arch=$(ARCH))

# ---- tools and flags; CC, CXX, CFLAGS, CXXFLAGS, LDFLAGS, NVCCFLAGS and SANITIZE=address,undefined are yours ----

# With no flags of yours, C++ (the kernels, on the stand-in) takes -O1, and -g1, which is enough for lines: half the time to
# compile, and tests take 5 % longer.
ifeq ($(origin CFLAGS),undefined)
CFLAGS := -O2 -g
CXXFLAGS ?= -O1 -g1
endif
CXXFLAGS ?= $(CFLAGS)
PYTHON ?= python3
WARNINGS := -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-qual
# -MD: the headers of tests/cpu count as the system's, which -MMD leaves out
ALL_CFLAGS := -std=c99 $(WARNINGS) -Wstrict-prototypes -I. -MD -MP
ALL_CXXFLAGS := -std=c++17 -ffp-contract=off -I. -Itests/cpu -MD -MP
ifneq ($(SANITIZE),)
# null and object-size: a third of the seconds to compile, for what AddressSanitizer finds as well. What a conversion of
# a float to an integer cannot hold is undefined, too, but no part of `undefined`.
SANITIZE_FLAGS := -fsanitize=$(SANITIZE) $(if $(findstring undefined,$(SANITIZE)),-fsanitize=float-cast-overflow) \
	-fno-sanitize=null,object-size -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
# kernels tell of each load and store: see tests/cpu/README.md
WATCHED := -DSTANDIN_WATCH -fsanitize=thread

empty :=
comma := ,
B := build/$(BACKEND)$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))$(if $(WATCH),-watched)

# the goals that need a backend
BUILDS := $(filter-out clean help install uninstall,$(or $(MAKECMDGOALS),all))
ifeq ($(BACKEND),cuda)
ifeq ($(FOUND),)
$(if $(BUILDS),$(error BACKEND=cuda needs nvcc, on the PATH or in /usr/local/cuda/bin, or as NVCC=...))
endif
# architectures are compiled in parallel when asked, and by nvcc 12.1 and later the kernels of one, too
PARALLEL := --threads=0 $(shell "$(NVCC)" --help 2>/dev/null | grep -q split-compile && echo --split-compile=0)
CUDA_LIB := $(firstword $(wildcard $(CUDA_HOME)/lib64 $(CUDA_HOME)/targets/*-linux/lib $(CUDA_HOME)/lib))
ALL_CFLAGS += -isystem $(firstword $(wildcard $(CUDA_HOME)/include $(CUDA_HOME)/targets/*-linux/include))
COMPILE_CU = $(NVCC) -O3 -std=c++17 $(GENCODE) $(PARALLEL) -lineinfo -I. -MMD -MP -Xcompiler -fno-exceptions,-fno-threadsafe-statics $(NVCCFLAGS)
LIBS := -L$(CUDA_LIB) -Wl,-rpath,$(CUDA_LIB) -lcudart -lm
RUNTIME :=
SAYS := $(ARCH), with $(NVCC)
else ifeq ($(BACKEND),cpu)
ALL_CFLAGS += -isystem tests/cpu
COMPILE_CU = $(CXX) $(ALL_CXXFLAGS) $(SANITIZE_FLAGS) $(CXXFLAGS) $(if $(WATCH),$(WATCHED)) -x c++
LIBS := -lstdc++ -lpthread -lm
RUNTIME := $(if $(WATCH),$B/cudart_watched.o,$B/cudart.o)
SAYS := no GPU: the CUDA runtime of tests/cpu$(if $(filter command line environment,$(origin ARCH)),$(comma) which knows no ARCH=$(ARCH))
else
$(if $(BUILDS),$(error BACKEND=$(BACKEND): cuda or cpu))
endif
COMPILE_C = $(CC) $(ALL_CFLAGS) $(SANITIZE_FLAGS) $(CFLAGS)
LINK = $(CC) $(CFLAGS) $(LDFLAGS) $(SANITIZE_FLAGS)

# ---- what there is ----

EXAMPLES := device_report vecadd arrays numpy elementwise transfers asynchronous streams gemv block_sum reduce race histogram matmul block_size out_of_memory larger graph custom ordered benchmark tour
TESTS := $(sort $(basename $(notdir $(wildcard tests/test_*.c tests/test_*.cu))))
TESTS := $(filter-out $(if $(WATCH),test_faults test_errors test_benchmark),$(TESTS))# what they test is the host side
SELFTESTS := $(if $(filter cpu,$(BACKEND)),$(if $(WATCH),,selftest) $(if $(SANITIZE),,selftest_watch))
KERNELS := $B/gpulite_kernels.o $(RUNTIME)
EXAMPLE_BINS := $(EXAMPLES:%=$B/examples/%)
TEST_BINS := $(TESTS:%=$B/tests/%) $(SELFTESTS:%=$B/tests/cpu/%)
TEST_SCRIPTS := $(sort $(wildcard tests/test_*.sh))

.DEFAULT_GOAL := all
.PHONY: all run test sanitize bench check figures install uninstall clean help backend FORCE
.DELETE_ON_ERROR:
.SECONDARY:

all: backend $(EXAMPLE_BINS)

backend:
	@echo "backend: $(BACKEND) ($(WHY)); $(SAYS)"

run: all
	@for example in $(EXAMPLES); do \
	    printf '\n==== %s ====\n' "$$example"; \
	    case $$example in tour) set -- examples/data/digits.npy $B/tour.svg ;; \
	        transfers | streams | reduce | histogram) set -- $B/$$example.svg ;; *) set -- ;; esac; \
	    "$B/examples/$$example" "$$@" || exit 1; \
	done

# Of several goals of one `make -j`, those that build by a make of their own come after the others, one by one: two makes would
# write the same files at once.
# A test that does not build is counted as one that failed.
test: backend | $(filter all run,$(MAKECMDGOALS))
	@$(MAKE) -k --no-print-directory $(TEST_BINS) $(EXAMPLE_BINS) BACKEND=$(BACKEND) || true
	@BUILD=$B WATCH=$(WATCH) CHECK_QUICK=$(if $(SANITIZE)$(WATCH),1) sh tests/run.sh $(TEST_BINS) $(EXAMPLE_BINS) $(TEST_SCRIPTS)

# BENCH='--quick --case vecadd' narrows it, BENCH=--help says how. The CSV and the pictures stay in the build directory.
bench: backend | $(filter all run test,$(MAKECMDGOALS))
ifeq ($(BACKEND),cuda)
	@$(MAKE) --no-print-directory $B/bench BACKEND=cuda ARCH=$(ARCH)
	$B/bench --csv $B/bench.csv $(BENCH)
	@$(PYTHON) tests/bench/plot.py $B/bench.csv || echo 'no pictures'
else
	@echo 'make bench compares speeds on a GPU; there is none here'
endif

$B/bench: tests/bench/bench.cu tests/bench/random.cuh gpulite.h $B/gpulite_kernels.o $B/commands
	$(NVCC) -O3 -std=c++17 $(GENCODE) -lineinfo -I. $(NVCCFLAGS) -o $@ $< $B/gpulite_kernels.o -lcublas -lcublasLt

# compute-sanitizer's four tools over every test, on a GPU
sanitize: backend | $(filter all run test bench,$(MAKECMDGOALS))
ifeq ($(BACKEND),cuda)
	@$(MAKE) --no-print-directory $(TEST_BINS) $B/sanitizer_faults BACKEND=cuda ARCH=$(ARCH)
	@sh tests/sanitize.sh $B/sanitizer_faults $(TEST_BINS)
else
	@echo 'make sanitize needs a GPU; here, make test SANITIZE=address,undefined'
endif

$B/sanitizer_faults: tests/sanitizer_faults.cu $B/commands
	$(NVCC) -std=c++17 $(GENCODE) -lineinfo -o $@ $<

check:
	@CC='$(CC)' CXX='$(CXX)' NVCC='$(NVCC)' sh tests/check.sh

# ARCH=sm_90a unless another is asked for
figures:
	@NVCC='$(NVCC)' ARCH='$(if $(filter command line environment,$(origin ARCH)),$(ARCH),sm_90a)' sh tests/figures.sh

help:
	@echo 'make              builds the examples into build/<backend>/'
	@echo 'make run          builds and runs every example; the last one is the tour'
	@echo 'make test         builds and runs every test and example; ends with "N passed, N failed"'
	@echo 'make sanitize     every test under compute-sanitizer, on a GPU'
	@echo 'make bench        gpulite beside other libraries, on a GPU'
	@echo 'make check        formatting, warnings, symbols, static analysis, planted faults (with the tools that are there)'
	@echo 'make figures      counts kernels, seconds to compile, bytes and lines, with nvcc'
	@echo 'make install      PREFIX=/usr/local DESTDIR=: header, kernels, pkg-config file; make uninstall removes them'
	@echo 'make clean        removes build/'
	@echo
	@echo 'BACKEND=cuda|cpu  a GPU, or the CUDA runtime on a CPU; here: $(BACKEND) ($(WHY))'
	@echo 'ARCH=sm_90a       what nvcc builds for; here: $(ARCH)'
	@echo 'SANITIZE=address,undefined    instruments everything (BACKEND=cpu)'
	@echo 'WATCH=1           finds races between the threads of kernels (BACKEND=cpu)'
	@echo 'CC, CXX, NVCC, PYTHON, CFLAGS, CXXFLAGS, LDFLAGS, NVCCFLAGS as usual'

clean:
	rm -rf build

# ---- building ----

# Everything depends on the command lines, so that other flags or compilers never meet old objects.
COMMANDS = $(COMPILE_C) | $(COMPILE_CU) | $(ONCE) | $(CXX) $(ALL_CXXFLAGS) $(CXXFLAGS) | $(LINK) $(LIBS)
QUOTED = '$(subst ','\'',$(COMMANDS))'# for the shell
$B/commands: FORCE
	@mkdir -p $B/examples $B/tests/cpu
	@printf '%s\n' $(QUOTED) | cmp -s - $@ || printf '%s\n' $(QUOTED) >$@

$B/gpulite_kernels.o: gpulite_kernels.cu $B/commands
	$(COMPILE_CU) -c -o $@ $<
$B/cudart.o: tests/cpu/cudart.cpp $B/commands
	$(CXX) $(ALL_CXXFLAGS) $(SANITIZE_FLAGS) $(CXXFLAGS) -c -o $@ $<
# what is called at each load and store of a kernel is optimized, whatever the kernels are
$B/cudart_watched.o: tests/cpu/cudart.cpp $B/commands
	$(CXX) $(ALL_CXXFLAGS) $(CXXFLAGS) -O2 -DSTANDIN_WATCH -c -o $@ $<

# An example has the implementation in it, for its one command. Here it is compiled once: as if each had it already.
ONCE := -DGPULITE_IMPLEMENTATION_DONE
$B/examples/%.o: examples/%.c $B/commands
	$(COMPILE_C) $(ONCE) -c -o $@ $<
$B/examples/%.o: examples/%.cu $B/commands
	$(COMPILE_CU) $(ONCE) -c -o $@ $<
$B/examples/%: $B/examples/%.o $B/tests/gpulite_impl.o $(KERNELS)
	$(LINK) -o $@ $^ $(LIBS)

$B/tests/%.o: tests/%.c $B/commands
	$(COMPILE_C) -Itests -c -o $@ $<
$B/tests/%.o: tests/%.cu $B/commands
	$(COMPILE_CU) -Itests -c -o $@ $<
$B/tests/cpu/%.o: tests/cpu/%.cpp $B/commands
	$(CXX) $(ALL_CXXFLAGS) $(SANITIZE_FLAGS) $(CXXFLAGS) -Itests -c -o $@ $<
$B/tests/cpu/selftest_watch.o: tests/cpu/selftest_watch.cpp $B/commands
	$(CXX) $(ALL_CXXFLAGS) $(CXXFLAGS) -O1 -g $(WATCHED) -c -o $@ $<
$B/tests/cpu/selftest_watch: $B/tests/cpu/selftest_watch.o $B/cudart_watched.o
	$(LINK) -o $@ $^ $(LIBS)
$B/tests/cpu/%: $B/tests/cpu/%.o $(RUNTIME)
	$(LINK) -o $@ $^ $(LIBS)
$B/tests/%: $B/tests/%.o $B/tests/gpulite_impl.o $(KERNELS)
	$(LINK) -o $@ $^ $(LIBS)

$B/tests/test_custom: $B/tests/custom_kernels.o

-include $(wildcard $B/*.d $B/examples/*.d $B/tests/*.d $B/tests/cpu/*.d)

# ---- installing: a header, a source file that the user's build compiles, and where to find them ----

PREFIX ?= /usr/local
TO := $(if $(filter /%,$(firstword $(PREFIX))),$(PREFIX),$(CURDIR)/$(PREFIX))# abspath takes a space for the end of a path
VERSION = $(shell sed -n 's/^#define GPUL_VERSION "\(.*\)"/\1/p' gpulite.h)

install:
	install -d '$(DESTDIR)$(TO)/include' '$(DESTDIR)$(TO)/share/pkgconfig'
	install -m 644 gpulite.h gpulite_kernels.cu '$(DESTDIR)$(TO)/include/'
	printf '%s\n' 'prefix=$(TO)' 'includedir=$${prefix}/include' 'kernels=$${includedir}/gpulite_kernels.cu' '' \
	    'Name: gpulite' 'Description: NVIDIA GPUs for C programs: a header, and kernels to compile with nvcc' \
	    'Version: $(VERSION)' 'Cflags: -I"$${includedir}"' >'$(DESTDIR)$(TO)/share/pkgconfig/gpulite.pc'

uninstall:
	rm -f '$(DESTDIR)$(TO)/include/gpulite.h' '$(DESTDIR)$(TO)/include/gpulite_kernels.cu' \
	    '$(DESTDIR)$(TO)/share/pkgconfig/gpulite.pc'

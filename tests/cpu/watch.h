/* SPDX-License-Identifier: MIT */
/*
 * The watched build, a part of cudart.cpp with -DSTANDIN_WATCH: kernels compiled with -fsanitize=thread call a function
 * before each load and store. ThreadSanitizer's own library is not linked; these functions are here instead, and know
 * CUDA's threads.
 *
 * A race is two accesses of a byte by two threads of a launch, one of them a store, not both atomic, and neither
 * ordered before the other. What orders: the barrier of a block, that of a grid, __syncwarp among its lanes, mbarriers,
 * and an atomic operation after a fence before one that reads its result. Shuffles and votes order nothing, as CUDA
 * says.
 *
 * Time is told by block. A phase of a block ends at its barrier, and a thread's clock goes on where it releases what it
 * has done. A thread knows all phases of its block before the present one, and what it has acquired besides (Known).
 */
namespace {

typedef unsigned u32;

/* Of a block: all accesses before `phase`, and those in it of the threads listed, in order, up to a clock each. */
struct Known {
    u32 phase = 0;
    std::vector<std::pair<u32, u32>> clocks;

    void join(const Known &other) {
        if (other.phase < phase || (other.phase == phase && other.clocks.empty())) return;
        if (other.phase > phase || clocks.empty()) {
            *this = other;
            return;
        }
        std::vector<std::pair<u32, u32>> all;
        auto a = clocks.begin();
        for (const auto &b : other.clocks) {
            while (a != clocks.end() && a->first < b.first) all.push_back(*a++);
            all.push_back(b);
            if (a != clocks.end() && a->first == b.first) all.back().second = std::max(b.second, a++->second);
        }
        all.insert(all.end(), a, clocks.end());
        clocks.swap(all);
    }
    void add(u32 thread, u32 clock) {
        Known one;
        one.phase = phase;
        one.clocks.emplace_back(thread, clock);
        join(one);
    }
    bool has(u32 of_phase, u32 thread, u32 clock) const {
        if (of_phase != phase) return of_phase < phase;
        if (clocks.empty() || thread < clocks[0].first) return false;
        const size_t if_all = thread - clocks[0].first; /* a warp's lanes mostly are */
        auto c = clocks.begin() + std::ptrdiff_t(if_all);
        if (if_all >= clocks.size() || c->first != thread)
            c = std::lower_bound(clocks.begin(), clocks.end(), std::make_pair(thread, 0u));
        return c != clocks.end() && c->first == thread && clock <= c->second;
    }
};
struct Knowledge {
    std::map<u32, Known> blocks;
    void join(const Knowledge &other) {
        for (const auto &b : other.blocks) blocks[b.first].join(b.second);
    }
};

/* When an access was: whose, and at which time of its thread. */
struct Epoch {
    u32 block, thread, phase, clock, grid;
};

struct WatchedThread {
    u32 clock = 1, epoch = 0, epoch_phase = 0, epoch_clock = 0, epoch_grid = 0;
    u32 publishing = 0,
        publishing_for = 0; /* the epoch of atomic operations that publish, and the ordinary one meanwhile */
    Knowledge known;        /* since the last barrier; of its own block, what is of this phase */
    Knowledge released;     /* at its last fence, when its clock was: */
    u32 fence_clock = 0;
};
struct Watched {
    u32 number = 0, phase = 1;
    bool fenced = false;           /* some thread, in this phase */
    Knowledge known, released;     /* of all threads, at the last barrier, and at the last one after a fence */
    std::vector<u32> have_learned; /* threads whose `known` is not empty */
    WatchedThread threads[max_threads];
};

/* The last two stores and two loads of a word or a byte, of different threads where there are. */
struct Slot {
    u32 epoch, site;
};
struct Cell {
    Slot stores[2], loads[2];
};
struct CellPage {
    Cell *cells = nullptr;
    bool of_bytes = false; /* else of words of four */
};
struct Variable {
    Address start, end;
    bool shared;
};

struct Watch {
    std::vector<Epoch> epochs;
    std::vector<void *> sites; /* code that accesses; a slot has twice the index, and 1 for atomic */
    std::unordered_map<void *, u32> site_of;
    std::pair<void *, u32> recent_sites[256];
    std::unordered_map<Address, CellPage> pages;
    std::pair<Address, CellPage *> recent_pages[64];
    std::unordered_map<Address, Knowledge> published; /* by an atomic variable or an mbarrier */
    Allocation *recent[8] = {};
    unsigned next_recent = 0;
    u64 recent_private[256] = {};    /* address and bytes that no threads have in common */
    std::vector<Variable> variables; /* of the program, by address */
    bool has_variables = false;
    u32 blocks = 0;
    std::set<std::pair<u32, u32>> reported;
    long races = 0;
};
Watch &watch() {
    static Watch &w = *new Watch;
    return w;
}

enum { ACCESS_LOAD = 0, ACCESS_STORE = 1, ACCESS_ATOMIC = 2 };

Knowledge &published_at(Address at, bool shared) {
    return watch().published[shared ? at ^ u64(block->watched->number + 1) << 48 : at];
}

/* How often the thread's grid has come together before */
u32 grids_seen() { return block->arrivals - (block->arrived ? 1 : 0); }

u32 epoch_now() {
    Watched &b = *block->watched;
    WatchedThread &t = b.threads[current];
    if (t.epoch && t.epoch_phase == b.phase && t.epoch_clock == t.clock && t.epoch_grid == block->arrivals)
        return t.epoch;
    t.epoch = static_cast<u32>(watch().epochs.size());
    t.epoch_phase = b.phase;
    t.epoch_clock = t.clock;
    t.epoch_grid = block->arrivals;
    watch().epochs.push_back(Epoch{b.number, static_cast<u32>(current), b.phase, t.clock, block->arrivals});
    return t.epoch;
}

/* An atomic operation that publishes what was done before a fence is known with it: it passes for as old. */
u32 epoch_of_atomic() {
    const u32 now = epoch_now();
    Watched &b = *block->watched;
    WatchedThread &t = b.threads[current];
    const auto own = t.released.blocks.find(b.number), all = b.released.blocks.find(b.number);
    const bool fenced = own != t.released.blocks.end() && own->second.phase == b.phase;
    if (!fenced && (all == b.released.blocks.end() || all->second.phase != b.phase)) return now;
    if (t.publishing_for != now) {
        Epoch e = watch().epochs[now];
        if (fenced) e.clock = t.fence_clock;
        else e.phase--;
        t.publishing = static_cast<u32>(watch().epochs.size());
        t.publishing_for = now;
        watch().epochs.push_back(e);
    }
    return t.publishing;
}

/* Whether the thread that runs knows of an access. Those of another block to shared memory are of other memory. */
bool is_ordered(const Epoch &e, bool shared) {
    const Watched &b = *block->watched;
    const WatchedThread &t = b.threads[current];
    if (e.block == b.number) {
        if (e.thread == static_cast<u32>(current) || e.phase < b.phase) return true;
    } else if (shared || e.grid < grids_seen()) {
        return true;
    }
    auto k = t.known.blocks.find(e.block);
    if (k != t.known.blocks.end() && k->second.has(e.phase, e.thread, e.clock)) return true;
    k = b.known.blocks.find(e.block);
    return k != b.known.blocks.end() && k->second.has(e.phase, e.thread, e.clock);
}

void learn(const Knowledge &what) {
    Watched &b = *block->watched;
    WatchedThread &t = b.threads[current];
    if (t.known.blocks.empty()) b.have_learned.push_back(static_cast<u32>(current));
    t.known.join(what);
}
/* All that a thread knows and has done, its present clock included */
Knowledge all_known(int thread) {
    const Watched &b = *block->watched;
    Knowledge k = b.known;
    k.join(b.threads[thread].known);
    Known &own = k.blocks[b.number];
    if (own.phase < b.phase) {
        own.phase = b.phase;
        own.clocks.clear();
    }
    own.add(static_cast<u32>(thread), b.threads[thread].clock);
    return k;
}

void watch_launch() {
    Watch &w = watch();
    for (auto &p : w.pages) delete[] p.second.cells;
    w.pages.clear();
    for (auto &p : w.recent_pages) p = std::make_pair(Address(0), nullptr);
    w.epochs.assign(1, Epoch{0, 0, 0, 0, 0});
    w.published.clear();
    std::fill(w.recent, w.recent + 8, nullptr);
    std::fill(w.recent_private, w.recent_private + 256, 0);
    w.blocks = 0;
}
void watch_block() {
    if (!block->watched) block->watched = new Watched;
    Watched &b = *block->watched;
    b.number = watch().blocks++;
    b.phase = 1;
    b.fenced = false;
    b.known.blocks.clear();
    b.released.blocks.clear();
    b.have_learned.clear();
    for (int t = 0; t < kernel.count; t++) {
        b.threads[t].clock = 1;
        b.threads[t].epoch = b.threads[t].publishing_for = 0;
        b.threads[t].known.blocks.clear();
        b.threads[t].released.blocks.clear();
    }
}
void watch_barrier() {
    Watched &b = *block->watched;
    for (u32 t : b.have_learned) {
        b.threads[t].known.blocks.erase(b.number);
        b.known.join(b.threads[t].known);
        b.threads[t].known.blocks.clear();
    }
    b.have_learned.clear();
    b.phase++;
    if (!b.fenced) return;
    b.fenced = false;
    b.released = b.known;
    b.released.blocks[b.number].phase = b.phase;
}
void watch_syncwarp(int first, unsigned lanes) {
    Watched &b = *block->watched;
    Knowledge all;
    Known &own = all.blocks[b.number];
    own.phase = b.phase;
    for (unsigned left = lanes; left; left &= left - 1) {
        int t = first + __builtin_ctz(left);
        all.join(b.threads[t].known);
        own.add(static_cast<u32>(t), b.threads[t].clock++);
    }
    for (unsigned left = lanes; left; left &= left - 1) {
        int t = first + __builtin_ctz(left);
        if (b.threads[t].known.blocks.empty()) b.have_learned.push_back(static_cast<u32>(t));
        b.threads[t].known = all;
    }
}
void watch_arrive(Address mbarrier) {
    published_at(mbarrier, true).join(all_known(current));
    block->watched->threads[current].clock++;
}
void watch_wait(Address mbarrier) { learn(published_at(mbarrier, true)); }

/* What the program's variables are: those of functions are shared memory, the others belong to the device. */
void find_variables() {
    Watch &w = watch();
    w.has_variables = true;
    for (const auto &each : Symbols::all().locals)
        w.variables.push_back(Variable{each.second.first, each.second.first + each.second.second, true});
    dl_iterate_phdr(
        [](struct dl_phdr_info *info, size_t, void *list) {
            if (info->dlpi_name && (strstr(info->dlpi_name, "/lib/") || strstr(info->dlpi_name, "/lib64/"))) return 0;
            for (int i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) &h = info->dlpi_phdr[i];
                if (h.p_type != PT_LOAD || !(h.p_flags & PF_W)) continue;
                Address at = info->dlpi_addr + h.p_vaddr;
                static_cast<std::vector<Variable> *>(list)->push_back(Variable{at, at + h.p_memsz, false});
            }
            return 0;
        },
        &w.variables);
    std::stable_sort(w.variables.begin(), w.variables.end(),
                     [](const Variable &a, const Variable &b) { return a.shared && !b.shared; });
}

/* Memory that threads may have in common; ends the launch where there is none. */
enum { PRIVATE, GLOBAL, SHARED };
int kind_of_memory(Address at, size_t bytes, bool store, void *code) {
    if (at - reinterpret_cast<Address>(running->base) < running->size) return PRIVATE;
    Watch &w = watch();
    for (Allocation *a : w.recent) {
        if (a && at - a->start < a->size && at - a->start + bytes <= a->size) return GLOBAL;
    }
    if (in_arena(reinterpret_cast<void *>(at))) {
        Allocation *a = allocation_at(reinterpret_cast<void *>(at));
        if (!a || at - a->start + bytes > a->size) {
            char who[400];
            snprintf(who, sizeof who, "%.200s, block (%u,%u,%u), thread (%u,%u,%u): %s %zu bytes at",
                     kernel.launch->function->name.c_str(), blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x,
                     threadIdx.y, threadIdx.z, store ? "writes" : "reads", bytes);
            describe(who, a ? a->start + a->size : at);
            say_where("", where(&code, 1));
            give_up(cudaErrorIllegalAddress);
        }
        w.recent[w.next_recent++ % 8] = a;
        return GLOBAL;
    }
    if (in_shared(at, bytes)) return SHARED;
    const u64 access = at << 5 | bytes; /* an address has 47 bits */
    u64 &recent_private = w.recent_private[at / 4 % 256];
    if (bytes < 32 && recent_private == access) return PRIVATE;
    if (at + shared_room - block->dynamic < 2 * shared_room) {
        for (Address base : shared_bases) {
            if (at - base >= shared_room + page) continue;
            kernel_error(cudaErrorIllegalAddress, "%s %zu bytes at byte %lld of %zu of dynamic shared memory",
                         store ? "writes" : "reads", bytes, static_cast<long long>(at - block->dynamic),
                         kernel.launch->dynamic);
        }
    }
    if (!w.has_variables) find_variables();
    for (const Variable &v : w.variables) {
        if (at >= v.start && at < v.end) return v.shared ? SHARED : GLOBAL;
    }
    if (registered(reinterpret_cast<void *>(at), bytes)) return GLOBAL;
    if (bytes < 32) recent_private = access;
    return PRIVATE;
}

u32 site_number(void *code) {
    Watch &w = watch();
    auto &recent = w.recent_sites[reinterpret_cast<Address>(code) >> 2 & 255];
    if (recent.first == code) return recent.second;
    auto added = w.site_of.emplace(code, static_cast<u32>(w.sites.size()));
    if (added.second) w.sites.push_back(code);
    recent = *added.first;
    return recent.second;
}

std::string text_of(uint3 v) {
    return "(" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + ")";
}

void report_race(const Slot &before, bool stored, Address at, u32 site, int access, bool shared) {
    Watch &w = watch();
    w.races++;
    if (w.reported.size() >= 20 || !w.reported.emplace(before.site, site).second) return;
    const Epoch &e = w.epochs[before.epoch];
    const char *earlier = before.site & 1 ? "updated atomically" : stored ? "wrote" : "read";
    const char *now = access & ACCESS_ATOMIC ? "updates atomically" : access & ACCESS_STORE ? "writes" : "reads";
    const bool same_block = e.block == block->watched->number;
    say("standin: race: %s, block %s, thread %s %s what thread %s of %s %s, and nothing orders the two",
        kernel.launch->function->name.c_str(), text_of(blockIdx).c_str(), text_of(threadIdx).c_str(), now,
        text_of(kernel.index[e.thread]).c_str(), same_block ? "the same block" : "another block", earlier);
    say_where(now, where(&w.sites[site >> 1], 1));
    say_where(earlier, where(&w.sites[before.site >> 1], 1));
    const Allocation *a = shared ? nullptr : allocation_at(reinterpret_cast<void *>(at));
    if (shared) say("standin:   in shared memory, at %p", reinterpret_cast<void *>(at));
    else if (a) {
        say("standin:   byte %zu of the allocation of %zu bytes made by %s #%ld", at - a->start, a->size, a->call,
            a->serial);
        say_where("made", where(a->made));
    }
    say_where("launched", where(kernel.launch->made));
}

bool concurrent(const Slot &before, int access, bool shared) {
    if (!before.epoch || ((before.site & 1) && (access & ACCESS_ATOMIC))) return false;
    return !is_ordered(watch().epochs[before.epoch], shared);
}

void note(Cell &cell, Address at, u32 epoch, u32 site, int access, bool shared) {
    const bool store = access & ACCESS_STORE;
    for (Slot &s : cell.stores) {
        if (s.epoch != epoch && concurrent(s, access, shared)) report_race(s, true, at, site, access, shared);
    }
    for (Slot &s : cell.loads) {
        if (store && s.epoch != epoch && concurrent(s, access, shared)) report_race(s, false, at, site, access, shared);
    }
    Slot *const slots = store ? cell.stores : cell.loads;
    if (store) cell.loads[0].epoch = cell.loads[1].epoch = 0; /* whoever races with them races with this store */
    for (int k = 0; k < 2; k++) {
        if (slots[k].epoch != epoch) continue;
        if (!(site & 1)) slots[k].site = site; /* an ordinary access counts for more than an atomic one */
        return;
    }
    for (int k = 0; k < 2; k++) {
        if (slots[k].epoch && !is_ordered(watch().epochs[slots[k].epoch], shared)) continue;
        slots[k] = Slot{epoch, site};
        return;
    }
    if (store) slots[0] = Slot{epoch, site};
}

CellPage &page_at(Address at) {
    Watch &w = watch();
    Address number = at / page;
    auto &recent = w.recent_pages[number & 63];
    if (recent.second && recent.first == number) return *recent.second;
    CellPage &p = w.pages[number];
    if (!p.cells) p.cells = new Cell[page / 4]();
    recent = std::make_pair(number, &p);
    return p;
}

void watch_access(const volatile void *p, size_t bytes, int access, void *code) {
    if (!in_kernel || current < 0 || threads_engine || !bytes) return;
    Address at = reinterpret_cast<Address>(p), end = at + bytes;
    code = static_cast<char *>(code) - 1; /* within the call */
    const int kind = kind_of_memory(at, bytes, access & ACCESS_STORE, code);
    if (kind == PRIVATE) return;
    const u32 epoch = access & ACCESS_ATOMIC ? epoch_of_atomic() : epoch_now(),
              site = site_number(code) << 1 | (access & ACCESS_ATOMIC ? 1 : 0);
    while (at < end) {
        CellPage &p4 = page_at(at);
        if (!p4.of_bytes && (at % 4 || end - at < 4)) { /* from words to bytes */
            Cell *cells = new Cell[page];
            for (size_t i = 0; i < page; i++) cells[i] = p4.cells[i / 4];
            delete[] p4.cells;
            p4.cells = cells;
            p4.of_bytes = true;
        }
        note(p4.cells[p4.of_bytes ? at % page : at % page / 4], at, epoch, site, access, kind == SHARED);
        at += p4.of_bytes ? 1 : 4;
    }
}

/* An atomic operation: learns what is published there, and publishes what its thread had done before a fence. */
void watch_atomic(const volatile void *p, size_t bytes, int access, void *code) {
    if (!in_kernel || current < 0 || threads_engine) return;
    watch_access(p, bytes, access | ACCESS_ATOMIC, code);
    Watched &b = *block->watched;
    WatchedThread &t = b.threads[current];
    Address at = reinterpret_cast<Address>(p);
    const bool shared = in_shared(at, bytes);
    auto found = watch().published.find(shared ? at ^ u64(b.number + 1) << 48 : at);
    if (found != watch().published.end()) learn(found->second);
    if (!(access & ACCESS_STORE) || (t.released.blocks.empty() && b.released.blocks.empty())) return;
    Knowledge &k = published_at(at, shared);
    k.join(t.released);
    k.join(b.released);
}

} // namespace

extern "C" {

void standin_fence(void) {
    if (current < 0 || threads_engine) return;
    WatchedThread &t = block->watched->threads[current];
    t.released = all_known(current);
    t.fence_clock = t.clock++;
    block->watched->fenced = true;
}
long standin_races(void) { return watch().races; }

/* ---- What compilers call with -fsanitize=thread -------------------------------------------------------------------- */

#define STANDIN_CODE __builtin_return_address(0)
#define STANDIN_HOOKS(bytes)                                                                                           \
    void __tsan_read##bytes(void *p) { watch_access(p, bytes, ACCESS_LOAD, STANDIN_CODE); }                            \
    void __tsan_write##bytes(void *p) { watch_access(p, bytes, ACCESS_STORE, STANDIN_CODE); }                          \
    void __tsan_unaligned_read##bytes(void *p) { watch_access(p, bytes, ACCESS_LOAD, STANDIN_CODE); }                  \
    void __tsan_unaligned_write##bytes(void *p) { watch_access(p, bytes, ACCESS_STORE, STANDIN_CODE); }                \
    void __tsan_read_write##bytes(void *p) { watch_access(p, bytes, ACCESS_STORE, STANDIN_CODE); }                     \
    void __tsan_unaligned_read_write##bytes(void *p) { watch_access(p, bytes, ACCESS_STORE, STANDIN_CODE); }           \
    void __tsan_volatile_read##bytes(void *p) { watch_atomic(p, bytes, ACCESS_LOAD, STANDIN_CODE); }                   \
    void __tsan_volatile_write##bytes(void *p) { watch_atomic(p, bytes, ACCESS_STORE, STANDIN_CODE); }                 \
    void __tsan_unaligned_volatile_read##bytes(void *p) { watch_atomic(p, bytes, ACCESS_LOAD, STANDIN_CODE); }         \
    void __tsan_unaligned_volatile_write##bytes(void *p) { watch_atomic(p, bytes, ACCESS_STORE, STANDIN_CODE); }
STANDIN_HOOKS(1)
STANDIN_HOOKS(2)
STANDIN_HOOKS(4)
STANDIN_HOOKS(8)
STANDIN_HOOKS(16)
#undef STANDIN_HOOKS

void __tsan_init(void) {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit(void) {}
void __tsan_vptr_read(void **) {}
void __tsan_vptr_update(void **, void *) {}
void __tsan_read_range(void *p, size_t bytes) { watch_access(p, bytes, ACCESS_LOAD, STANDIN_CODE); }
void __tsan_write_range(void *p, size_t bytes) { watch_access(p, bytes, ACCESS_STORE, STANDIN_CODE); }
void *__tsan_memcpy(void *to, const void *from, size_t bytes) {
    watch_access(from, bytes, ACCESS_LOAD, STANDIN_CODE);
    watch_access(to, bytes, ACCESS_STORE, STANDIN_CODE);
    return memcpy(to, from, bytes);
}
void *__tsan_memmove(void *to, const void *from, size_t bytes) {
    watch_access(from, bytes, ACCESS_LOAD, STANDIN_CODE);
    watch_access(to, bytes, ACCESS_STORE, STANDIN_CODE);
    return memmove(to, from, bytes);
}
void *__tsan_memset(void *to, int value, size_t bytes) {
    watch_access(to, bytes, ACCESS_STORE, STANDIN_CODE);
    return memset(to, value, bytes);
}

#define STANDIN_ATOMIC_UPDATE(bits, T, name)                                                                           \
    T __tsan_atomic##bits##_##name(volatile T *p, T v, int) {                                                          \
        watch_atomic(p, bits / 8, ACCESS_STORE, STANDIN_CODE);                                                         \
        return __atomic_##name(p, v, __ATOMIC_SEQ_CST);                                                                \
    }
#define STANDIN_ATOMIC_COMPARE(bits, T, name, weak)                                                                    \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile T *p, T *expected, T v, int, int) {                     \
        watch_atomic(p, bits / 8, ACCESS_STORE, STANDIN_CODE);                                                         \
        return __atomic_compare_exchange_n(p, expected, v, weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                  \
    }
#define STANDIN_ATOMIC_HOOKS(bits, T)                                                                                  \
    T __tsan_atomic##bits##_load(const volatile T *p, int) {                                                           \
        watch_atomic(p, bits / 8, ACCESS_LOAD, STANDIN_CODE);                                                          \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                                   \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(volatile T *p, T v, int) {                                                        \
        watch_atomic(p, bits / 8, ACCESS_STORE, STANDIN_CODE);                                                         \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                                      \
    }                                                                                                                  \
    T __tsan_atomic##bits##_exchange(volatile T *p, T v, int) {                                                        \
        watch_atomic(p, bits / 8, ACCESS_STORE, STANDIN_CODE);                                                         \
        return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                                            \
    }                                                                                                                  \
    STANDIN_ATOMIC_UPDATE(bits, T, fetch_add)                                                                          \
    STANDIN_ATOMIC_UPDATE(bits, T, fetch_sub)                                                                          \
    STANDIN_ATOMIC_UPDATE(bits, T, fetch_and)                                                                          \
    STANDIN_ATOMIC_UPDATE(bits, T, fetch_or)                                                                           \
    STANDIN_ATOMIC_UPDATE(bits, T, fetch_xor)                                                                          \
    STANDIN_ATOMIC_UPDATE(bits, T, fetch_nand)                                                                         \
    STANDIN_ATOMIC_COMPARE(bits, T, strong, false)                                                                     \
    STANDIN_ATOMIC_COMPARE(bits, T, weak, true)                                                                        \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T *p, T expected, T v, int, int) {                           \
        watch_atomic(p, bits / 8, ACCESS_STORE, STANDIN_CODE);                                                         \
        __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                       \
        return expected;                                                                                               \
    }
STANDIN_ATOMIC_HOOKS(8, unsigned char)
STANDIN_ATOMIC_HOOKS(16, unsigned short)
STANDIN_ATOMIC_HOOKS(32, unsigned int)
STANDIN_ATOMIC_HOOKS(64, unsigned long long)
#undef STANDIN_ATOMIC_HOOKS
#undef STANDIN_ATOMIC_UPDATE
#undef STANDIN_ATOMIC_COMPARE
void __tsan_atomic_thread_fence(int) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    standin_fence();
}
void __tsan_atomic_signal_fence(int) {}

} // extern "C"

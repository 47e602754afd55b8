// Chooses the instruction set when the module is imported.

#include <cstring>

#include "kernels.hpp"

namespace neglog {

const InstructionSet* instruction_set(const char* name) {
    const auto wanted = [name](const InstructionSet& set) { return !name || !std::strcmp(name, set.name); };
#ifdef NEGLOG_X86_VARIANTS
    __builtin_cpu_init();
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    if (has_avx512 && wanted(avx512::instruction_set)) return &avx512::instruction_set;
    if (has_avx2 && wanted(avx2::instruction_set)) return &avx2::instruction_set;
#endif
    return wanted(baseline::instruction_set) ? &baseline::instruction_set : nullptr;
}

const Kernel* InstructionSet::find(const char* family, const char* link) const {
    for (const KernelTable& table : tables)
        for (const Kernel* kernel = table.first; kernel != table.first + *table.count; ++kernel)
            if (!std::strcmp(family, kernel->family) && !std::strcmp(link, kernel->link)) return kernel;
    return nullptr;
}

}  // namespace neglog

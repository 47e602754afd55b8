// The module: bindings, nothing else. Arrays in, loops of the chosen instruction set, arrays out.

#include "arrays.hpp"

namespace neglog {
const InstructionSet* active = instruction_set();
}

NB_MODULE(_core, m) {
    using namespace neglog;
    m.def("instruction_set", [] { return std::string(active->name); });
    m.def("use_instruction_set", [](const std::string& name) {
        const InstructionSet* chosen = instruction_set(name.c_str());
        if (!chosen) throw nb::value_error(("this processor or build has no instruction set '" + name + "'").c_str());
        active = chosen;
    }, "name"_a);
    m.def("links", [](const std::string& family) {
        std::vector<std::string> names;
        for (const KernelTable& table : active->tables)
            for (const Kernel* kernel = table.first; kernel != table.first + *table.count; ++kernel)
                if (family == kernel->family) names.emplace_back(kernel->link);
        return names;
    }, "family"_a);
    define_functions(m);
    define_tables(m);
    define_systems(m);
    define_columns(m);
    define_absolute(m);
}

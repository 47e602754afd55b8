// What all bindings share: arrays of Python as sources and sinks, and the instruction set in use.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "../blocks.hpp"
#include "../kernels.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace neglog {

extern const InstructionSet* active;

using Input = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using DoublesOut = nb::ndarray<double, nb::c_contig, nb::device::cpu>;

inline bool is_single(const nb::dlpack::dtype& type) {
    if (type == nb::dtype<float>()) return true;
    if (type == nb::dtype<double>()) return false;
    throw nb::type_error("arrays must be float32 or float64");
}

inline Source source(const Input& array, std::size_t n) {
    if (array.size() != n && array.size() != 1) throw nb::value_error("an input has neither one element nor as many as the output");
    return {array.data(), is_single(array.dtype()), array.size() != n};
}

inline Sink sink(const Output& array, std::size_t n) {
    if (array.size() != n) throw nb::value_error("the outputs differ in size");
    return {array.data(), is_single(array.dtype())};
}

inline std::vector<Source> sources(const std::vector<Input>& arrays, std::size_t n) {
    if (arrays.size() > most_parameters) throw nb::value_error("a noise has at most eight parameters beside its location");
    std::vector<Source> found;
    for (const Input& array : arrays) found.push_back(source(array, n));
    return found;
}

inline const Kernel& find_kernel(const std::string& family, const std::string& link) {
    if (const Kernel* kernel = active->find(family.c_str(), link.c_str())) return *kernel;
    throw nb::key_error((family + " has no kernel for the link " + link).c_str());
}

// Each adds its functions and classes to the module.
void define_functions(nb::module_& m);
void define_tables(nb::module_& m);
void define_systems(nb::module_& m);
void define_columns(nb::module_& m);
void define_absolute(nb::module_& m);

}  // namespace neglog

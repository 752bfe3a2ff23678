// A program of two halves: product.cc compiled with gemmlowp's headers is one, and with libqgemm's the other. They have
// classes and templates of the same names, of which the linker must not take one for the other.

#ifndef PROGRAM_H
#define PROGRAM_H

#include <cstdint>
#include <vector>

std::vector<std::uint8_t> ProductByGemmlowp(int size);
std::vector<std::uint8_t> ProductByLibqgemm(int size);

#endif

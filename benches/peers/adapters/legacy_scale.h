// A real multiplier and zero point in the terms of EightBitIntGemm: c = clamp((acc + offset) * mult / 2^shift).
#pragma once
#include <cmath>
#include <cstdint>
#include "../qbench.h"

struct LegacyScale {
  int32_t offset, mult;
  // Results are within a few hundred, so (acc + offset) * mult stays below 2^31; and mult is large enough
  // (about 240 at a depth of 4096) to be within half a result step of the real multiplier.
  static constexpr int32_t shift = 21;

  explicit LegacyScale(const qb_case &q)
      : offset(static_cast<int32_t>(std::lround(q.zc / double(q.scale)))),
        mult(static_cast<int32_t>(std::lround(std::ldexp(double(q.scale), shift)))) {}
};

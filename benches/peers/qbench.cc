// qbench: quantized (and f32) matrix products of several libraries, on the same shapes, interleaved.
// One line of CSV for each (shape, library, variant). README.md says how it measures.
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>
#include "harness/clock.h"
#include "harness/contender.h"
#include "harness/libraries.h"
#include "harness/operands.h"
#include "harness/options.h"
#include "harness/shape.h"
#include "qbench.h"

using Field = std::vector<std::unique_ptr<Contender>>;

// The operations per second that "library:variant" last reached: who is hopeless on a long product.
static std::map<std::string, double> last_speed;

static bool too_slow(const std::string &id, const Shape &s) {
  auto known = last_speed.find(id);
  return known != last_speed.end() && s.ops() / known->second > 1.5;
}

// Everybody who was asked for and can do this shape, checked and calibrated.
static Field starters(const std::vector<const qb_lib *> &libraries, Operands &operands, const Shape &s,
                      const Options &o) {
  Field field;
  for (const qb_lib *l : libraries)
    for (int v = 0; v < l->nvariants; v++) {
      const std::string id = std::string(l->library) + ":" + l->variants[v].name;
      if (!matches(o.variants, l->variants[v].name)) continue;
      if (!o.skipped.empty() && matches(o.skipped, id)) continue;
      if (o.skip_slow && too_slow(id, s)) {
        fprintf(stderr, "# %s skipped on %s: too slow\n", id.c_str(), s.name.c_str());
        continue;
      }
      auto contender = Contender::made(l, v, operands, o.threads);
      if (!contender) continue;
      last_speed[id] = s.ops() / contender->calibrate(s, o);
      field.push_back(std::move(contender));
    }
  return field;
}

static void measure(const Shape &s, const std::vector<const qb_lib *> &libraries, const Options &o, FILE *out) {
  Operands operands(s, o.s8_bits);
  Field field = starters(libraries, operands, s, o);
  // A B C, B C A, ...: a slow spell of the machine hits all alike.
  for (int round = 0; round < o.rounds; round++)
    for (size_t i = 0; i < field.size(); i++) field[(i + round) % field.size()]->sample(s, o);
  for (auto &contender : field) contender->print(out, s, o);
  fflush(out);
}

int main(int argc, char **argv) {
  const Options o = parsed_options(argc, argv);
  if (o.threads == 1) pin_to_first_allowed_cpu();
  announce_threads(o.threads);
  const auto libraries = loaded_libraries(o);
  FILE *out = o.out.empty() ? stdout : fopen(o.out.c_str(), "w");
  if (!out) {
    fprintf(stderr, "qbench: cannot write %s\n", o.out.c_str());
    return 2;
  }
  Contender::print_header(out);
  for (auto &s : chosen_shapes(o)) {
    if (!o.quiet) fprintf(stderr, "# %s\n", s.name.c_str());
    measure(s, libraries, o, out);
  }
}

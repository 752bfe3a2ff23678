// What the command line asks for.
#pragma once
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>
#include "shape.h"

using Patterns = std::vector<std::string>;

// Whether no pattern was given, or one of them occurs in `s`.
inline bool matches(const Patterns &patterns, const std::string &s) {
  for (auto &p : patterns)
    if (s.find(p) != std::string::npos) return true;
  return patterns.empty();
}

struct Options {
  int threads = 1;
  int rounds = 15;
  double sample_ms = 3;
  double max_seconds = 2.5;  // for each contender and shape
  double settle_ms = 30;     // several threads: the other contenders' pools spin that long (OpenBLAS 27 ms)
  int s8_bits = 8;           // 7: B's s8 values stay in -64..63, so that saturating rivals are right too
  bool quiet = false;        // do not say which shape is being measured
  bool skip_slow = true;     // leave out a contender that would need more than 1.5 s for one product
  Patterns libraries, variants, kinds, shapes, skipped, adapters;
  std::string shape_list = kAllShapes;
  std::string out;
};

inline const char *kUsage =
    "usage: qbench [--quick] [--threads N] [--rounds R] [--sample-ms MS] [--max-s S] [--settle-ms MS]\n"
    "  [--libs a,b] [--variants x,y] [--class c,d] [--shape MxNxK,..] [--skip lib:variant,..] [--all-slow]\n"
    "  [--s8-bits 7] [--quiet] [--shapes-file F] [--adapter path.so].. [--out F.csv]\n";

inline Patterns split_at_commas(const std::string &s) {
  Patterns parts;
  std::stringstream rest(s);
  for (std::string part; std::getline(rest, part, ',');)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

inline std::string file_contents(const std::string &path) {
  std::ifstream f(path);
  if (!f) {
    fprintf(stderr, "qbench: cannot read %s\n", path.c_str());
    exit(2);
  }
  std::stringstream s;
  s << f.rdbuf();
  return s.str();
}

inline Options parsed_options(int argc, char **argv) {
  Options o;
  for (int i = 1; i < argc; i++) {
    std::string flag = argv[i];
    auto value = [&]() -> std::string {
      if (i + 1 < argc) return argv[++i];
      fprintf(stderr, "qbench: %s wants a value\n%s", flag.c_str(), kUsage);
      exit(2);
    };
    if (flag == "--quick") o.shape_list = kQuickShapes, o.rounds = 7, o.max_seconds = 1;
    else if (flag == "--threads") o.threads = std::max(1, atoi(value().c_str()));
    else if (flag == "--rounds") o.rounds = std::max(1, atoi(value().c_str()));
    else if (flag == "--sample-ms") o.sample_ms = atof(value().c_str());
    else if (flag == "--max-s") o.max_seconds = atof(value().c_str());
    else if (flag == "--settle-ms") o.settle_ms = atof(value().c_str());
    else if (flag == "--s8-bits") o.s8_bits = std::min(8, std::max(1, atoi(value().c_str())));
    else if (flag == "--libs") o.libraries = split_at_commas(value());
    else if (flag == "--variants") o.variants = split_at_commas(value());
    else if (flag == "--class") o.kinds = split_at_commas(value());
    else if (flag == "--shape") o.shapes = split_at_commas(value());
    else if (flag == "--skip") o.skipped = split_at_commas(value());
    else if (flag == "--quiet") o.quiet = true;
    else if (flag == "--all-slow") o.skip_slow = false;
    else if (flag == "--shapes-file") o.shape_list = file_contents(value());
    else if (flag == "--adapter") o.adapters.push_back(value());
    else if (flag == "--out") o.out = value();
    else {
      fputs(kUsage, stderr);
      exit(flag == "--help" ? 0 : 2);
    }
  }
  return o;
}

// The shapes of the list that were asked for. A name given by --shape need not be in the list.
inline std::vector<Shape> chosen_shapes(const Options &o) {
  if (!o.shapes.empty()) {
    std::string text;
    for (auto &s : o.shapes) text += "given " + s + "\n";
    return parsed_shapes(text);
  }
  std::vector<Shape> chosen;
  for (auto &s : parsed_shapes(o.shape_list))
    if (matches(o.kinds, s.kind)) chosen.push_back(s);
  return chosen;
}

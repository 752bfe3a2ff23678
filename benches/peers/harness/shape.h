// The shapes to measure: lines `class MxNxK`; a trailing `c` means cold (B is evicted before each call).
#pragma once
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

struct Shape {
  std::string kind, name;  // "square", "512x512x512"
  int m, n, k;
  bool cold;
  double ops() const { return 2. * m * n * k; }
};

inline const char *kAllShapes =
    "small 8x8x8\nsmall 16x16x16\nsmall 32x32x32\n"
    "square 64x64x64\nsquare 128x128x128\nsquare 256x256x256\nsquare 512x512x512\n"
    "square 1024x1024x1024\nsquare 2048x2048x2048\n"
    "gemv 1x1000x1024\ngemv 1x4096x4096\ngemv 1x4096x4096c\n"
    "skinny 2x4096x4096\nskinny 4x4096x4096\nskinny 4x4096x4096c\nskinny 8x4096x4096\n"
    "skinny 16x1024x1024\nskinny 16x4096x4096c\nskinny 32x4096x4096\n"
    "prefill 128x4096x4096\n"
    // ResNet-50 layers, as products.
    "conv 12544x64x147\nconv 3136x64x576\nconv 784x128x1152\nconv 196x256x2304\nconv 49x512x4608\n"
    "deep 64x64x32768\n"
    // Primes, one short of a tile and one past it.
    "odd 7x13x17\nodd 31x31x31\nodd 33x33x33\nodd 65x65x65\nodd 127x127x127\nodd 129x129x129\n"
    "odd 257x257x257\nodd 97x389x769\nodd 509x521x523\n";

inline const char *kQuickShapes =
    "small 8x8x8\nsmall 32x32x32\n"
    "square 64x64x64\nsquare 256x256x256\nsquare 512x512x512\nsquare 1024x1024x1024\n"
    "gemv 1x1000x1024\nskinny 16x1024x1024\nconv 784x128x1152\nodd 129x129x129\n";

inline std::vector<Shape> parsed_shapes(const std::string &text) {
  std::vector<Shape> shapes;
  std::stringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    char kind[64], name[64];
    Shape s;
    if (sscanf(line.c_str(), "%63s %63s", kind, name) != 2) continue;
    if (sscanf(name, "%dx%dx%d", &s.m, &s.n, &s.k) != 3 || s.m < 1 || s.n < 1 || s.k < 1) {
      fprintf(stderr, "# not a shape: %s\n", line.c_str());
      continue;
    }
    s.kind = kind, s.name = name;
    s.cold = s.name.back() == 'c';
    shapes.push_back(s);
  }
  return shapes;
}

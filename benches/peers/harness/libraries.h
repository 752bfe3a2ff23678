// The contenders' libraries: every adapter that loads.
#pragma once
#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include "../qbench.h"
#include "options.h"

// Libraries read these when they start, so this comes before anything is loaded.
inline void announce_threads(int threads) {
  const std::string n = std::to_string(threads);
  for (const char *name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS",
                           "RTEN_NUM_THREADS", "QB_THREADS"})
    setenv(name, n.c_str(), 1);
}

// adapters/libqb_*.so beside the program.
inline std::vector<std::string> built_adapters() {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  std::string directory(self, length > 0 ? length : 0);
  directory.erase(directory.rfind('/') + 1);
  std::vector<std::string> paths;
  glob_t found;
  if (!glob((directory + "adapters/libqb_*.so").c_str(), 0, nullptr, &found))
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

inline const qb_lib *loaded_library(const std::string &path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    fprintf(stderr, "# skipped %s: %s\n", file.c_str(), dlerror());
    return nullptr;
  }
  auto get = reinterpret_cast<qb_get_fn>(dlsym(handle, "qb_get"));
  const qb_lib *library = get ? get() : nullptr;
  if (!library || library->abi != QB_ABI) {
    fprintf(stderr, "# skipped %s: not available here\n", file.c_str());
    return nullptr;
  }
  return library;
}

inline std::vector<const qb_lib *> loaded_libraries(const Options &o) {
  std::vector<const qb_lib *> libraries;
  for (auto &path : o.adapters.empty() ? built_adapters() : o.adapters) {
    const qb_lib *l = loaded_library(path);
    if (!l || !matches(o.libraries, l->library)) continue;
    fprintf(stderr, "# %s %s %s: %d variants\n", l->library, l->version, l->kernel, l->nvariants);
    libraries.push_back(l);
  }
  return libraries;
}

// For programs that check how functions end the program.

#ifndef ABORTS_H
#define ABORTS_H

#include <algorithm>
#include <csignal>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

// Calls `function` in a child, which has to abort. Returns what it printed before; an emulator may add what it saw.
inline std::string PrintedByAbort(void (*function)()) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    function();
    _exit(0);
  }
  close(ends[1]);
  std::string printed;
  char piece[256];
  for (ssize_t size; (size = read(ends[0], piece, sizeof piece)) > 0;) {
    printed.append(piece, static_cast<std::size_t>(size));
  }
  close(ends[0]);
  printed.resize(std::min(printed.size(), printed.find("qemu: uncaught target signal")));
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  return printed;
}

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <gtest/gtest.h>

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>

/// Programs whose end is the subject: this executable, started once more with a scenario's name as its only argument.
/// Its main() must run that scenario and nothing else.
namespace test {

struct Ended {
  int status = 0;       ///< as from waitpid
  bool hung = false;    ///< was still running after the time limit, and was killed
  std::string output;   ///< stdout and stderr

  [[nodiscard]] bool with(int code) const { return !hung && WIFEXITED(status) && WEXITSTATUS(status) == code; }
  /// For messages: how it ended, and what it said.
  [[nodiscard]] std::string story() const {
    return (hung                    ? std::string("hung")
            : WIFSIGNALED(status)   ? "killed by signal " + std::to_string(WTERMSIG(status))
                                    : "exit status " + std::to_string(WEXITSTATUS(status))) +
           ", output:\n" + output;
  }
};

/// The limit only turns a hang into a failure; nothing is measured.
inline Ended run_scenario(const char* name, int limit_s = 120) {
  Ended ended;
  int ends[2];
  if (::pipe(ends) != 0) ADD_FAILURE() << "pipe: " << std::strerror(errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  char self[] = "/proc/self/exe";
  char* const arguments[] = {self, const_cast<char*>(name), nullptr};
  pid_t child = 0;
  const int error = ::posix_spawn(&child, self, &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) {
    ADD_FAILURE() << "posix_spawn: " << std::strerror(error);
    ::close(ends[0]);
    return ended;
  }
  // The pipe ends with the last process that holds it.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(limit_s);
  for (;;) {
    using Milliseconds = std::chrono::milliseconds;
    const auto left = std::chrono::duration_cast<Milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd waiting{ends[0], POLLIN, 0};
    if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count())) == 0) {
      ended.hung = true;
      ::kill(child, SIGKILL);
      break;
    }
    char text[4096];
    const ssize_t n = ::read(ends[0], text, sizeof text);
    if (n <= 0) break;
    ended.output.append(text, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  ::waitpid(child, &ended.status, 0);
  return ended;
}

}  // namespace test

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "gemm_chain.hpp"

#include <nlohmann/json.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace gemm_chain {
namespace {

using Json = nlohmann::ordered_json;

/// A folder that is removed at the end of its life, with the two files in it.
class Folder {
 public:
  Folder() {
    const char* const temporary = std::getenv("TMPDIR");
    path_ = std::string(temporary != nullptr ? temporary : "/tmp") + "/gemm_chain.XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary folder can be made in " + path_ + "; set TMPDIR");
  }
  ~Folder() {
    ::unlink(file("program").c_str());
    ::unlink(file("semcache").c_str());
    ::rmdir(path_.c_str());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const char* name) const { return path_ + "/" + name + ".json"; }

 private:
  std::string path_;
};

int wait_for(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execv(words[0], words.data());
    ::_exit(127);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Json read(const std::string& file, const char* what) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(std::string(what) + " has written no report");
  return Json::parse(in);
}

}  // namespace

Outcome run_under_semcache(const Options& o, const std::string& runner) {
  const Folder folder;
  std::vector<std::string> command{runner, "--offload=always", "--protocol=" + o.variant, "--report=" + folder.file("semcache"),
                                   "/proc/self/exe", "--variant", "cpu", "--n", std::to_string(o.n), "--rounds", std::to_string(o.rounds),
                                   "--quiet", "--report", folder.file("program")};
  command[4] = [] {
    std::string path(4096, '\0');
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
    path.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return path;
  }();
  if (o.rewrite) command.emplace_back("--rewrite");
  if (o.start) command.emplace_back("--start");
  if (o.verify) command.emplace_back("--verify");
  if (const int status = wait_for(command); status != 0) throw std::runtime_error(runner + " ended with status " + std::to_string(status));
  const Json program = read(folder.file("program"), "the program"), semcache = read(folder.file("semcache"), "SemCache");
  for (const Json& call : semcache.at("library_calls")) {
    const auto what = call.at("what").get<std::string>();
    if (what.find("dgemm on the device") == std::string::npos)
      throw std::runtime_error("products were not offloaded: " + what);
  }
  Outcome out;
  out.seconds = program.at("seconds").get<std::vector<double>>();
  out.rewrite_seconds = program.at("rewrite_seconds").get<std::vector<double>>();
  out.start_seconds = program.value("start_seconds", 0.0);
  out.error = program.value("error", 0.0);
  const Json& total = semcache.at("total");
  Moved moved{total.at("h2d").at("bytes"), total.at("d2h").at("bytes"), total.at("h2d").at("count"), total.at("d2h").at("count")};
  if (o.start) {  // which is no part of the chain: both of its operands, and its result, are sent at once
    moved.to_device -= 2 * start_bytes;
    moved.to_device_count -= 2;
    moved.to_host -= start_bytes;
    moved.to_host_count -= 1;
  }
  out.moved = moved;
  out.device = semcache.at("device").at("kind");
  return out;
}

std::string to_json(const Options& o, const Outcome& out) {
  Json j;
  j["program"] = "gemm_chain";
  j["variant"] = o.variant;
  j["n"] = o.n;
  j["rounds"] = o.rounds;
  j["rewrite"] = o.rewrite;
  j["device"] = out.device;
  if (o.start) j["start_seconds"] = out.start_seconds;
  j["seconds"] = out.seconds;
  j["rewrite_seconds"] = out.rewrite_seconds;
  if (o.verify) j["error"] = out.error;
  if (o.verify) j["verified"] = out.error <= tolerance(o.n);
  if (o.variant == "cublasxt") j["block"] = o.block;
  if (o.variant == "cublasxt") j["pinning"] = o.pinning;
  if (out.moved) {
    const double bytes = static_cast<double>(o.n) * static_cast<double>(o.n) * sizeof(double);
    j["transfers"] = {{"h2d_bytes", out.moved->to_device},
                      {"h2d_count", out.moved->to_device_count},
                      {"d2h_bytes", out.moved->to_host},
                      {"d2h_count", out.moved->to_host_count},
                      {"h2d_matrices", static_cast<double>(out.moved->to_device) / bytes},
                      {"d2h_matrices", static_cast<double>(out.moved->to_host) / bytes}};
  }
  return j.dump(2) + "\n";
}

}  // namespace gemm_chain

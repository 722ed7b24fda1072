// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/configuration.hpp>

#include <semcache/base/numbers.hpp>
#include <semcache/runtime/foreign_text.hpp>
#include <semcache/runtime/machine_file.hpp>
#include <semcache/semcache.hpp>
#include <semcache/trace/report.hpp>

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace semcache::runtime {
namespace {

struct Variable {
  const char* name;
  const char* accepts;
  void (*read)(const Variable& variable, std::string_view text, Configuration& configuration);
};

constexpr std::initializer_list<const char*> local_rank_variables = {
    "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",    "MV2_COMM_WORLD_LOCAL_RANK",
    "PALS_LOCAL_RANKID",          "FLUX_TASK_LOCAL_ID", "SLURM_LOCALID"};

[[noreturn]] void refuse(const Variable& variable, std::string_view value, const std::string& why = {}) {
  std::string text = std::string(variable.name) + "=" + quoted(value) + " cannot be used";
  if (!why.empty()) text += ": " + why;
  throw ConfigurationError(text + ". Accepted: " + variable.accepts + ".");
}

/// Returns the variable's value, or nothing if it is absent or blank.
std::optional<std::string> value_of(const Environment& environment, const char* name) {
  const char* text = environment(name);
  if (text == nullptr) return std::nullopt;
  const std::string_view value = trimmed(text);
  if (value.empty()) return std::nullopt;
  return std::string(value);
}

std::uint64_t bounded_number(const Variable& variable, std::string_view text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t n = 0;
  const std::errc error = base::parse_number(text, n);
  if (error != std::errc()) refuse(variable, text, error == std::errc::result_out_of_range ? "too large" : "not a whole number");
  if (n < least) refuse(variable, text, "too small");
  if (n > most) refuse(variable, text, "too large");
  return n;
}

template <auto field, unsigned least, unsigned most>
void read_number(const Variable& variable, std::string_view text, Configuration& configuration) {
  configuration.*field = static_cast<unsigned>(bounded_number(variable, text, least, most));
}

/// @param number  the part of `text` that must be a number of bytes; the message quotes all of `text`
std::uint64_t bytes_or_refuse(const Variable& variable, std::string_view text, std::string_view number) {
  if (number.empty()) refuse(variable, text, "a number is missing beside a comma");
  std::uint64_t bytes = 0;
  const std::errc error = base::parse_bytes(number, bytes);
  if (error != std::errc()) refuse(variable, text, error == std::errc::result_out_of_range ? "too large" : "not a whole number of bytes");
  return bytes;
}

template <auto field>
void read_bytes(const Variable& variable, std::string_view text, Configuration& configuration) {
  configuration.*field = bytes_or_refuse(variable, text, text);
}

void read_device_memory(const Variable& variable, std::string_view text, Configuration& configuration) {
  const std::vector<std::string_view> items = items_of(text);
  if (items.size() == 1) {
    configuration.device_memory_bytes = bytes_or_refuse(variable, text, text);
    return;
  }
  for (const std::string_view item : items) configuration.device_budgets.push_back(bytes_or_refuse(variable, text, item));
}

// The spellings of the values, in the order of the enumerators.
constexpr auto spellings(bool) noexcept { return std::array{"0", "1"}; }
constexpr auto spellings(DeviceChoice) noexcept { return std::array{"auto", "emulated", "cuda"}; }
constexpr auto spellings(Protocol) noexcept { return std::array{"write-back", "write-through", "off"}; }
constexpr auto spellings(engine::PeerAccess) noexcept { return std::array{"auto", "off"}; }
constexpr auto spellings(TrackerChoice) noexcept { return std::array{"auto", "mprotect", "userfaultfd", "explicit"}; }
constexpr auto spellings(policy::Spread) noexcept { return std::array{"auto", "always", "never"}; }
constexpr auto spellings(Switch) noexcept { return std::array{"auto", "on", "off"}; }

template <auto field>
void read_choice(const Variable& variable, std::string_view text, Configuration& configuration) {
  auto& choice = configuration.*field;
  const auto known = spellings(choice);
  const auto found = std::find(known.begin(), known.end(), text);
  if (found == known.end()) refuse(variable, text);
  choice = static_cast<std::decay_t<decltype(choice)>>(found - known.begin());
}

void read_devices(const Variable& variable, std::string_view text, Configuration& configuration) {
  std::vector<std::string_view> items = items_of(text);
  constexpr std::string_view host = "host";
  if (items.size() == 1 && items.front() != host) {
    configuration.device_count = static_cast<int>(bounded_number(variable, text, 1, max_devices));
    return;
  }
  // "1," is the list of device 1 alone, because "1" is a count. A longer list needs no comma at its end.
  if (items.back().empty()) {
    if (items.size() > 2) refuse(variable, text, "it ends in a comma");
    items.pop_back();
  }
  std::vector<int>& ordinals = configuration.device_ordinals;
  for (const std::string_view item : items) {
    std::uint64_t n = 0;
    if (item == host) {
      ordinals.push_back(the_host);
      continue;
    }
    if (base::parse_number(item, n) != std::errc() || n > INT32_MAX) refuse(variable, text, quoted(item) + " is not a device number");
    ordinals.push_back(static_cast<int>(n));
  }
  const std::string why = why_no_list_of_devices(ordinals);
  if (!why.empty()) refuse(variable, text, why);
  configuration.host_listed = take_host_out(ordinals);
  configuration.device_count = static_cast<int>(ordinals.size());
}

/// Refuses what is no name of a file. @param text  may hold %p %h %r
void expect_file_name(const Variable& variable, std::string_view text) {
  if (const std::string why = trace::why_no_report_target(text); !why.empty()) refuse(variable, text, why);
}

void read_report(const Variable& variable, std::string_view text, Configuration& configuration) {
  expect_file_name(variable, text);
  configuration.report = text;
}

void read_trace(const Variable& variable, std::string_view text, Configuration& configuration) {
  expect_file_name(variable, text);
  for (const char* word : {"stderr", "stdout", "-"}) {
    if (text == word) refuse(variable, text, "a timeline goes to a file (one of that name is ./" + std::string(text) + ")");
  }
  configuration.trace = text;
}

void read_emulated_machine(const Variable& variable, std::string_view text, Configuration& configuration) {
  constexpr std::size_t most_bytes = std::size_t{1} << 20;
  const std::string path(text);
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) refuse(variable, text, std::string("it cannot be opened (") + std::strerror(errno) + ")");
  std::string content(most_bytes, '\0');
  errno = 0;
  content.resize(std::fread(content.data(), 1, most_bytes, file));
  const int error = std::ferror(file) != 0 ? errno : 0;
  std::fclose(file);
  if (error != 0) refuse(variable, text, std::string("it cannot be read (") + std::strerror(error) + ")");
  if (content.size() == most_bytes) refuse(variable, text, "it is larger than 1 MiB");
  configuration.emulated_machine = read_machine(content, path);
}

/// The advisor and the drop-in BLAS (packages/advisor, packages/blas) read their variables themselves. They are known here, so that they are not
/// taken for misspelt ones.
void leave_to_package(const Variable&, std::string_view, Configuration&) {}

constexpr Variable known_variables[] = {
    {"SEMCACHE_ADVISOR_LARGEST", "a number of bytes, for the advisor", &leave_to_package},
    {"SEMCACHE_ADVISOR_REPORT", "as SEMCACHE_REPORT, for the advisor", &leave_to_package},
    {"SEMCACHE_BLAS_GUARD", "a number of pages, for the drop-in BLAS", &leave_to_package},
    {"SEMCACHE_BLAS_KEEP", "a number of bytes, for the drop-in BLAS", &leave_to_package},
    {"SEMCACHE_BLAS_MALLOC", "a number of bytes, for the drop-in BLAS", &leave_to_package},
    {"SEMCACHE_BLAS_OFFLOAD", "auto, always or never, for the drop-in BLAS", &leave_to_package},
    {"SEMCACHE_DEVICE", "auto, emulated or cuda", &read_choice<&Configuration::device>},
    {"SEMCACHE_DEVICES", "a count from 1 to 16 (2), or a comma-separated list of distinct devices (0,2; 1, for one alone), with the host's "
     "processor or not (host,0,2)",
     &read_devices},
    {"SEMCACHE_DEVICE_MEMORY",
     "a whole number of bytes for each device, with K, M, G or T for powers of 1024 (512M), or a comma-separated list with one number "
     "for each (512M,1G); 0 for the default",
     &read_device_memory},
    {"SEMCACHE_HOST_ADDRESSES", "a whole number of bytes, with K, M, G or T for powers of 1024 (64G); 0 for the default",
     &read_bytes<&Configuration::host_address_bytes>},
    {"SEMCACHE_EMULATED_MACHINE", "the name of a file with lines such as link = 55e9 (docs/reference/emulated.md)", &read_emulated_machine},
    {"SEMCACHE_PEER_ACCESS", "auto or off", &read_choice<&Configuration::peer_access>},
    {"SEMCACHE_PROTOCOL", "write-back, write-through or off", &read_choice<&Configuration::protocol>},
    {"SEMCACHE_TRACKER", "auto, mprotect, userfaultfd or explicit", &read_choice<&Configuration::tracker>},
    {"SEMCACHE_CHECK", "0 or 1", &read_choice<&Configuration::check>},
    {"SEMCACHE_CHECK_WRITES", "0 or 1", &read_choice<&Configuration::check_writes>},
    {"SEMCACHE_MPI_CUDA", "auto, on or off", &read_choice<&Configuration::mpi_cuda>},
    {"SEMCACHE_DEVICE_TRACKER", "auto, on or off", &read_choice<&Configuration::device_tracker>},
    {"SEMCACHE_REPORT",
     "stderr, stdout (or -), or a file name (JSON if it ends in .json) with %p process, %h host, %r MPI rank, %% percent sign",
     &read_report},
    {"SEMCACHE_TRACE", "a file name with %p process, %h host, %r MPI rank, %% percent sign", &read_trace},
    {"SEMCACHE_TRACE_SPANS", "a whole number from 1 to 100000000",
     [](const Variable& variable, std::string_view text, Configuration& configuration) {
       configuration.trace_spans = bounded_number(variable, text, 1, 100'000'000);
     }},
    {"SEMCACHE_SNAPSHOT_SHARE", "a whole percentage from 0 to 100", &read_number<&Configuration::snapshot_share_percent, 0, 100>},
    {"SEMCACHE_SPREAD", "auto, always or never", &read_choice<&Configuration::spread>},
    {"SEMCACHE_FAULT_TIMEOUT", "a whole number of seconds from 1 to 86400",
     &read_number<&Configuration::fault_timeout_s, 1, 86400>},
};

int launcher_rank(const Environment& environment, std::initializer_list<const char*> variables) {
  // The launcher sets these variables, not the user. A value that makes no sense is ignored, so that it does not stop a program.
  for (const char* name : variables) {
    const auto value = value_of(environment, name);
    std::uint64_t rank = 0;
    if (value && base::parse_number(*value, rank) == std::errc() && rank <= INT32_MAX) return static_cast<int>(rank);
  }
  return -1;
}

/// Refuses values that exclude each other. Otherwise a user who asks for a check would wait for its messages in vain.
void refuse_contradictions(const Configuration& c) {
  const bool copies_at_once = c.protocol == Protocol::off;
  if (copies_at_once && c.device_tracker == Switch::on) {
    throw ConfigurationError("SEMCACHE_DEVICE_TRACKER=on cannot be used with SEMCACHE_PROTOCOL=off, which notices no uses.");
  }
  if (c.check && (copies_at_once || c.tracker == TrackerChoice::explicit_only)) {
    throw ConfigurationError(std::string("SEMCACHE_CHECK=1 cannot be used with ") +
                             (copies_at_once ? "SEMCACHE_PROTOCOL=off" : "SEMCACHE_TRACKER=explicit") +
                             ", where nobody is there to say whose access it is that was not announced.");
  }
}

/// Returns the least number of edits (insert, remove, replace, swap neighbours) that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before.swap(row);
    row.swap(next);
  }
  return row[b.size()];
}

}  // namespace

const char* to_string(DeviceChoice choice) noexcept { return spellings(choice)[static_cast<std::size_t>(choice)]; }
const char* to_string(Protocol protocol) noexcept { return spellings(protocol)[static_cast<std::size_t>(protocol)]; }
const char* to_string(TrackerChoice choice) noexcept { return spellings(choice)[static_cast<std::size_t>(choice)]; }

std::string why_no_list_of_devices(const std::vector<int>& ordinals) {
  constexpr int most = 1024;  // more than any machine has
  if (ordinals.empty()) return "the list is empty";
  const auto hosts = std::count(ordinals.begin(), ordinals.end(), the_host);
  if (hosts > 1) return "the host appears twice";
  if (hosts > 0 && ordinals.size() == 1) return "the host alone: content is kept coherent with a device, so there must be one (without a GPU: SEMCACHE_DEVICE=emulated)";
  for (auto o = ordinals.begin(); o != ordinals.end(); ++o) {
    if (*o == the_host) continue;
    if (*o < 0 || *o >= most) return std::to_string(*o) + " is not a device number";
    if (std::find(ordinals.begin(), o, *o) != o) return "device " + std::to_string(*o) + " appears twice";
  }
  if (ordinals.size() - static_cast<std::size_t>(hosts) > max_devices) return "more than " + std::to_string(max_devices) + " devices";
  return {};
}

bool take_host_out(std::vector<int>& ordinals) {
  const auto found = std::find(ordinals.begin(), ordinals.end(), the_host);
  if (found == ordinals.end()) return false;
  ordinals.erase(found);
  return true;
}

Configuration read_configuration(const Environment& environment) {
  Configuration c;
  for (const Variable& variable : known_variables) {
    if (const auto text = value_of(environment, variable.name)) variable.read(variable, *text, c);
  }
  refuse_contradictions(c);
  c.mpi_rank = launcher_rank(environment, trace::rank_variables);
  c.local_rank = launcher_rank(environment, local_rank_variables);
  return c;
}

std::vector<std::string> unknown_variable_warnings(const std::vector<std::string>& environ_entries) {
  constexpr std::string_view prefix = "SEMCACHE_";
  std::vector<std::string> warnings;
  for (const std::string& entry : environ_entries) {
    const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
    if (name.substr(0, prefix.size()) != prefix) continue;
    const Variable* closest = nullptr;
    std::size_t distance = SIZE_MAX;
    for (const Variable& known : known_variables) {
      const std::size_t d = edit_distance(name.substr(prefix.size()), std::string_view(known.name).substr(prefix.size()));
      if (d < distance) {
        distance = d;
        closest = &known;
      }
    }
    if (distance == 0) continue;
    std::string warning = "the environment variable " + quoted(name) + " is not known and has no effect";
    // A name that differs in more than about a third of its letters would be a misleading suggestion.
    const bool near = distance <= 1 + (name.size() - prefix.size()) / 3;
    if (near) warning += std::string(". Did you mean ") + closest->name + " (" + closest->accepts + ")?";
    warnings.push_back(std::move(warning));
  }
  std::sort(warnings.begin(), warnings.end());
  return warnings;
}

Configuration read_process_configuration() {
  // A program with rights that its caller does not have (set-user-id) must not obey its caller's variables.
  if (::getauxval(AT_SECURE) != 0) return read_configuration([](const char*) { return nullptr; });
  std::vector<std::string> entries;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) entries.emplace_back(*entry);
  for (const std::string& warning : unknown_variable_warnings(entries)) base::raw_log("warning: %s", warning.c_str());
  return read_configuration([](const char* name) { return std::getenv(name); });
}

}  // namespace semcache::runtime

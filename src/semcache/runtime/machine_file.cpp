// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/foreign_text.hpp>
#include <semcache/runtime/machine_file.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <locale>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

namespace semcache::runtime {
namespace {

using device::MachineModel;

enum class Unit : std::uint8_t { rate, time };
/// Which places may stand behind a key.
enum class Of : std::uint8_t { device, host_link, peer_link, any_link };

struct Key {
  const char* name;
  MachineModel::Figure MachineModel::* figure;
  Unit unit;
  Of of;
};
constexpr Key keys[] = {
    {"memory", &MachineModel::memory, Unit::rate, Of::device},   {"launch", &MachineModel::launch, Unit::time, Of::device},
    {"link", &MachineModel::link, Unit::rate, Of::host_link},    {"peer", &MachineModel::peer, Unit::rate, Of::peer_link},
    {"latency", &MachineModel::latency, Unit::time, Of::any_link},
};
constexpr const char* accepted =
    "lines key = value, # begins a comment. In bytes per second: memory, link (between host and device), peer (between devices); in "
    "seconds: launch, latency; for one device or link: memory 1, link 1, link host 1, peer 0 1, latency 0 1; links that carry one transfer "
    "at a time: shared = host 0, host 1";

/// One line of the file.
struct Line {
  const std::string& file;
  std::size_t number;
  std::string_view text;

  [[noreturn]] void refuse(const std::string& why) const {
    throw ConfigurationError("SEMCACHE_EMULATED_MACHINE: " + quoted(file) + ", line " + std::to_string(number) + ": " + quoted(text) +
                             " cannot be used: " + why + ". Accepted: " + accepted + ".");
  }
};

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!(text = trimmed(text)).empty()) {
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

int place_of(const Line& line, std::string_view word) {
  constexpr int most = 1024;  // as in SEMCACHE_DEVICES
  if (word == "host") return MachineModel::host;
  int ordinal = 0;
  const auto [behind, error] = std::from_chars(word.data(), word.data() + word.size(), ordinal);
  if (error != std::errc() || behind != word.data() + word.size() || ordinal < 0 || ordinal >= most) {
    line.refuse(quoted(word) + " is neither a device number nor host");
  }
  return ordinal;
}

MachineModel::Link link_of(const Line& line, std::string_view from, std::string_view to) {
  const MachineModel::Link link{place_of(line, from), place_of(line, to)};
  if (link.first == link.second) line.refuse("a link leads from one place to another");
  return link;
}

double number_of(const Line& line, std::string_view text, Unit unit) {
  std::istringstream in{std::string(text)};
  in.imbue(std::locale::classic());
  double number = 0;
  if (text.empty() || !(in >> number) || in.peek() != std::istringstream::traits_type::eof()) line.refuse(quoted(text) + " is not a number");
  if (number < 0 || (unit == Unit::rate && number == 0) || !std::isfinite(number)) {
    line.refuse(unit == Unit::rate ? "a rate is more than 0 bytes per second" : "a time is at least 0 seconds");
  }
  return number;
}

/// Reads what stands behind a key, and sets the figure.
void set_figure(const Line& line, const Key& key, const std::vector<std::string_view>& places, double value, MachineModel& model) {
  MachineModel::Figure& figure = model.*key.figure;
  const std::string name = key.name;
  if (places.empty()) {
    figure.of_all = value;
  } else if (places.size() == 1) {
    const int place = place_of(line, places[0]);
    if (place == MachineModel::host || key.of == Of::peer_link) line.refuse(name + (key.of == Of::peer_link ? " needs two devices" : " needs a device"));
    figure.of_device[place] = value;
  } else if (places.size() == 2 && key.of != Of::device) {
    const MachineModel::Link link = link_of(line, places[0], places[1]);
    const bool with_host = link.first == MachineModel::host || link.second == MachineModel::host;
    if (key.of == Of::host_link && !with_host) line.refuse("link is between the host and a device; between devices it is peer");
    if (key.of == Of::peer_link && with_host) line.refuse("peer is between devices; between the host and a device it is link");
    figure.of_link[link] = value;
  } else {
    line.refuse("too many words in front of =");
  }
}

void add_shared(const Line& line, std::string_view value, MachineModel& model) {
  std::vector<MachineModel::Link> group;
  for (const std::string_view item : items_of(value)) {
    const std::vector<std::string_view> words = words_of(item);
    if (words.size() != 2) line.refuse(quoted(item) + " is not a link, such as host 0 or 0 host");
    const MachineModel::Link link = link_of(line, words[0], words[1]);
    const auto has = [&](const std::vector<MachineModel::Link>& links) { return std::find(links.begin(), links.end(), link) != links.end(); };
    if (has(group) || std::any_of(model.shared.begin(), model.shared.end(), has)) line.refuse(quoted(item) + " is shared already");
    group.push_back(link);
  }
  if (group.size() < 2) line.refuse("at least two links share something");
  model.shared.push_back(std::move(group));
}

}  // namespace

device::MachineModel read_machine(std::string_view text, const std::string& name) {
  MachineModel model;
  std::set<std::string> seen;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view whole = text.substr(begin, end - begin);
    const Line line{name, ++number, trimmed(whole.substr(0, whole.find('#')))};
    begin = end + 1;
    if (line.text.empty()) continue;
    const std::size_t equals = line.text.find('=');
    if (equals == std::string_view::npos) line.refuse("= is missing");
    const std::vector<std::string_view> words = words_of(line.text.substr(0, equals));
    const std::string_view value = trimmed(line.text.substr(equals + 1));
    if (words.empty()) line.refuse("a key is missing in front of =");
    if (words[0] == "shared" && words.size() == 1) {
      seen.insert("shared");
      add_shared(line, value, model);
      continue;
    }
    const auto* const key = std::find_if(std::begin(keys), std::end(keys), [&](const Key& k) { return words[0] == k.name; });
    if (key == std::end(keys)) line.refuse(quoted(words[0]) + " is not a key");
    std::string left;
    for (const std::string_view word : words) left += std::string(word) + " ";
    if (!seen.insert(left).second) line.refuse("it is stated twice");
    set_figure(line, *key, {words.begin() + 1, words.end()}, number_of(line, value, key->unit), model);
  }
  if (seen.empty()) throw ConfigurationError("SEMCACHE_EMULATED_MACHINE: " + quoted(name) + " states nothing. Accepted: " + accepted + ".");
  return model;
}

}  // namespace semcache::runtime

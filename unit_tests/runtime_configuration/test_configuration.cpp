// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/configuration.hpp>
#include <semcache/runtime/machine_file.hpp>
#include <semcache/semcache.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace {

using semcache::ConfigurationError;
using namespace semcache::runtime;

using Variables = std::map<std::string, std::string>;

Configuration read(const Variables& variables) {
  return read_configuration([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

/// The text of the error that a value causes; empty if it is accepted.
std::string error_of(const std::string& name, const std::string& value) {
  try {
    (void)read({{name, value}});
  } catch (const ConfigurationError& e) {
    return e.what();
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Configuration, AnEmptyEnvironmentGivesTheDefaults) {
  const Configuration c = read({});

  EXPECT_EQ(c.device, DeviceChoice::automatic);
  EXPECT_EQ(c.device_count, 0);
  EXPECT_TRUE(c.device_ordinals.empty());
  EXPECT_EQ(c.device_memory_bytes, 0u);
  EXPECT_TRUE(c.device_budgets.empty());
  EXPECT_EQ(c.host_address_bytes, 0u);
  EXPECT_EQ(c.protocol, Protocol::write_back);
  EXPECT_EQ(c.tracker, TrackerChoice::automatic);
  EXPECT_FALSE(c.check);
  EXPECT_FALSE(c.check_writes);
  EXPECT_EQ(c.report, "");
  EXPECT_EQ(c.snapshot_share_percent, 25u);
  EXPECT_EQ(c.fault_timeout_s, 60u);
  EXPECT_EQ(c.mpi_rank, -1);
}

constexpr const char* all_names[] = {
    "SEMCACHE_DEVICE", "SEMCACHE_DEVICES",      "SEMCACHE_DEVICE_MEMORY", "SEMCACHE_PROTOCOL",       "SEMCACHE_TRACKER",
    "SEMCACHE_CHECK",  "SEMCACHE_CHECK_WRITES", "SEMCACHE_REPORT",        "SEMCACHE_SNAPSHOT_SHARE", "SEMCACHE_FAULT_TIMEOUT",
    "SEMCACHE_DEVICE_TRACKER", "SEMCACHE_HOST_ADDRESSES", "SEMCACHE_MPI_CUDA", "SEMCACHE_PEER_ACCESS",
    "SEMCACHE_EMULATED_MACHINE", "SEMCACHE_TRACE", "SEMCACHE_TRACE_SPANS"};

TEST(Configuration, AnEmptyOrBlankVariableIsAnAbsentOne) {
  for (const char* name : all_names) {
    EXPECT_EQ(error_of(name, ""), "") << name;
    EXPECT_EQ(error_of(name, " \t"), "") << name;
  }
}

TEST(Configuration, EveryWordOfEveryChoiceIsRead) {
  EXPECT_EQ(read({{"SEMCACHE_DEVICE", "auto"}}).device, DeviceChoice::automatic);
  EXPECT_EQ(read({{"SEMCACHE_DEVICE", "emulated"}}).device, DeviceChoice::emulated);
  EXPECT_EQ(read({{"SEMCACHE_DEVICE", "cuda"}}).device, DeviceChoice::cuda);
  EXPECT_EQ(read({{"SEMCACHE_PEER_ACCESS", "auto"}}).peer_access, semcache::engine::PeerAccess::where_possible);
  EXPECT_EQ(read({{"SEMCACHE_PEER_ACCESS", "off"}}).peer_access, semcache::engine::PeerAccess::off);
  EXPECT_EQ(read({{"SEMCACHE_PROTOCOL", "write-back"}}).protocol, Protocol::write_back);
  EXPECT_EQ(read({{"SEMCACHE_PROTOCOL", "write-through"}}).protocol, Protocol::write_through);
  EXPECT_EQ(read({{"SEMCACHE_PROTOCOL", "off"}}).protocol, Protocol::off);
  EXPECT_EQ(read({{"SEMCACHE_TRACKER", "auto"}}).tracker, TrackerChoice::automatic);
  EXPECT_EQ(read({{"SEMCACHE_TRACKER", "mprotect"}}).tracker, TrackerChoice::mprotect);
  EXPECT_EQ(read({{"SEMCACHE_TRACKER", "userfaultfd"}}).tracker, TrackerChoice::userfaultfd);
  EXPECT_EQ(read({{"SEMCACHE_TRACKER", "explicit"}}).tracker, TrackerChoice::explicit_only);
  EXPECT_TRUE(read({{"SEMCACHE_CHECK", "1"}}).check);
  EXPECT_FALSE(read({{"SEMCACHE_CHECK", "0"}}).check);
  EXPECT_TRUE(read({{"SEMCACHE_CHECK_WRITES", "1"}}).check_writes);
  EXPECT_FALSE(read({{"SEMCACHE_CHECK_WRITES", "1"}}).check);
}

/// Whoever asks for what another variable makes impossible is told both names.
TEST(Configuration, VariablesThatExcludeEachOtherAreRefusedByBothNames) {
  using Setting = std::pair<std::string, std::string>;
  const std::pair<Setting, Setting> contradictions[] = {
      {{"SEMCACHE_DEVICE_TRACKER", "on"}, {"SEMCACHE_PROTOCOL", "off"}},
      {{"SEMCACHE_CHECK", "1"}, {"SEMCACHE_PROTOCOL", "off"}},
      {{"SEMCACHE_CHECK", "1"}, {"SEMCACHE_TRACKER", "explicit"}},
  };
  for (const auto& [one, other] : contradictions) {
    std::string text;
    try {
      (void)read({one, other});
    } catch (const ConfigurationError& e) {
      text = e.what();
    }
    EXPECT_TRUE(contains(text, one.first + "=" + one.second)) << text;
    EXPECT_TRUE(contains(text, other.first + "=" + other.second)) << text;
  }
  EXPECT_EQ(read({{"SEMCACHE_DEVICE_TRACKER", "auto"}, {"SEMCACHE_PROTOCOL", "off"}}).protocol, Protocol::off);
  EXPECT_TRUE(read({{"SEMCACHE_CHECK", "1"}, {"SEMCACHE_PROTOCOL", "write-through"}, {"SEMCACHE_TRACKER", "userfaultfd"}}).check);
}

TEST(Configuration, BlanksAroundAValueAreIgnored) {
  EXPECT_EQ(read({{"SEMCACHE_DEVICE", " cuda\n"}}).device, DeviceChoice::cuda);
  EXPECT_EQ(read({{"SEMCACHE_DEVICES", " 0 , 2 "}}).device_ordinals, (std::vector<int>{0, 2}));
}

TEST(Configuration, DevicesAreACountOrAList) {
  const Configuration count = read({{"SEMCACHE_DEVICES", "2"}});
  EXPECT_EQ(count.device_count, 2);
  EXPECT_TRUE(count.device_ordinals.empty());

  const Configuration list = read({{"SEMCACHE_DEVICES", "3,0,1"}});
  EXPECT_EQ(list.device_count, 3);
  EXPECT_EQ(list.device_ordinals, (std::vector<int>{3, 0, 1}));

  const Configuration alone = read({{"SEMCACHE_DEVICES", "1,"}});
  EXPECT_EQ(alone.device_count, 1);
  EXPECT_EQ(alone.device_ordinals, (std::vector<int>{1}));

  EXPECT_EQ(read({{"SEMCACHE_DEVICES", "16"}}).device_count, 16);
  EXPECT_FALSE(list.host_listed);
  for (const char* text : {"host,3,0", "3, host ,0", "3,0,host"}) {
    const Configuration with_host = read({{"SEMCACHE_DEVICES", text}});
    EXPECT_TRUE(with_host.host_listed) << text;
    EXPECT_EQ(with_host.device_count, 2) << text;
    EXPECT_EQ(with_host.device_ordinals, (std::vector<int>{3, 0})) << text;
  }
}

TEST(Configuration, DeviceMemoryTakesPowersOf1024) {
  const auto bytes = [](const char* text) { return read({{"SEMCACHE_DEVICE_MEMORY", text}}).device_memory_bytes; };

  EXPECT_EQ(bytes("0"), 0u);
  EXPECT_EQ(bytes("1"), 1u);
  EXPECT_EQ(bytes("4096"), 4096u);
  EXPECT_EQ(bytes("3K"), 3072u);
  EXPECT_EQ(bytes("3k"), 3072u);
  EXPECT_EQ(bytes("512M"), 512ull << 20);
  EXPECT_EQ(bytes("512m"), 512ull << 20);
  EXPECT_EQ(bytes("141G"), 141ull << 30);
  EXPECT_EQ(bytes("8g"), 8ull << 30);
  EXPECT_EQ(bytes("2T"), 2ull << 40);
  EXPECT_EQ(bytes("2t"), 2ull << 40);
  EXPECT_EQ(bytes("00000000000000000000000000000007"), 7u);
  EXPECT_EQ(bytes("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(bytes("17179869183G"), 17179869183ull << 30);
}

TEST(Configuration, DeviceMemoryIsOneNumberForAllOrOneForEachDevice) {
  const auto budgets = [](const char* text) { return read({{"SEMCACHE_DEVICE_MEMORY", text}}).device_budgets; };
  const std::uint64_t M = 1 << 20;

  EXPECT_EQ(budgets("512M,1G"), (std::vector<std::uint64_t>{512 * M, 1024 * M}));
  EXPECT_EQ(budgets(" 1 , 0,\t3K "), (std::vector<std::uint64_t>{1, 0, 3072}));
  EXPECT_EQ(read({{"SEMCACHE_DEVICE_MEMORY", "1M,2M"}}).device_memory_bytes, 0u);
  EXPECT_TRUE(budgets("512M").empty());
  for (const char* text : {"1G,", ",1G", "1G,,1G", ","}) {
    EXPECT_TRUE(contains(error_of("SEMCACHE_DEVICE_MEMORY", text), "a number is missing")) << text;
  }

  const Configuration list = read({{"SEMCACHE_DEVICE_MEMORY", "1M,2M"}});
  EXPECT_EQ(list.budget_of(0), M);
  EXPECT_EQ(list.budget_of(1), 2 * M);
  EXPECT_EQ(read({{"SEMCACHE_DEVICE_MEMORY", "3M"}}).budget_of(5), 3 * M);
}

TEST(Configuration, AListOfDevicesSaysWhatIsWrongWithIt) {
  EXPECT_EQ(why_no_list_of_devices({2, 0, 1023}), "");
  EXPECT_EQ(why_no_list_of_devices({}), "the list is empty");
  EXPECT_EQ(why_no_list_of_devices({0, -1}), "-1 is not a device number");
  EXPECT_EQ(why_no_list_of_devices({1024}), "1024 is not a device number");
  EXPECT_EQ(why_no_list_of_devices({4, 2, 4}), "device 4 appears twice");
  std::vector<int> many;
  while (many.size() < max_devices) many.push_back(static_cast<int>(many.size()));
  EXPECT_EQ(why_no_list_of_devices(many), "");
  many.push_back(max_devices);
  EXPECT_EQ(why_no_list_of_devices(many), "more than 16 devices");
  many.back() = semcache::the_host;
  EXPECT_EQ(why_no_list_of_devices(many), "");

  EXPECT_TRUE(contains(error_of("SEMCACHE_DEVICES", "1,2,"), "it ends in a comma"));
  EXPECT_TRUE(contains(error_of("SEMCACHE_DEVICES", "host"), "the host alone"));
  EXPECT_TRUE(contains(error_of("SEMCACHE_DEVICES", "host,"), "the host alone"));
  EXPECT_TRUE(contains(error_of("SEMCACHE_DEVICES", "host,1,host"), "the host appears twice"));
  EXPECT_TRUE(contains(error_of("SEMCACHE_DEVICES", "Host,1"), "\"Host\" is not a device number"));
  EXPECT_TRUE(contains(error_of("SEMCACHE_DEVICES", ","), "\"\" is not a device number"));
  EXPECT_TRUE(contains(error_of("SEMCACHE_DEVICES", "0,1,0"), "device 0 appears twice"));
}

TEST(Configuration, AddressesForHostArraysAreBytes) {
  EXPECT_EQ(read({{"SEMCACHE_HOST_ADDRESSES", "3G"}}).host_address_bytes, std::uint64_t{3} << 30);
}

TEST(Configuration, ASumOfBytesThatOverflowsIsRefused) {
  for (const char* text : {"18446744073709551616", "17179869184G", "16777216T", "18446744073709551615K", "18014398509481984K",
                           "99999999999999999999999999999999999999G", "1G,16777216T", "18446744073709551616,1"}) {
    EXPECT_TRUE(contains(error_of("SEMCACHE_DEVICE_MEMORY", text), "too large")) << text;
  }
}

TEST(Configuration, NumbersAtTheirBoundsAreAccepted) {
  EXPECT_EQ(read({{"SEMCACHE_SNAPSHOT_SHARE", "0"}}).snapshot_share_percent, 0u);
  EXPECT_EQ(read({{"SEMCACHE_SNAPSHOT_SHARE", "100"}}).snapshot_share_percent, 100u);
  EXPECT_EQ(read({{"SEMCACHE_FAULT_TIMEOUT", "1"}}).fault_timeout_s, 1u);
  EXPECT_EQ(read({{"SEMCACHE_FAULT_TIMEOUT", "86400"}}).fault_timeout_s, 86400u);
}

TEST(Configuration, NonsenseInAnyVariableIsRefusedByNameValueAndAcceptedForms) {
  const std::map<std::string, std::vector<std::string>> nonsense = {
      {"SEMCACHE_DEVICE", {"gpu", "CUDA", "cuda,emulated", "0", "auto x", "\x01"}},
      {"SEMCACHE_DEVICES", {"0", "-1", "17", "two", "1.0", ",", ",1", "1,,2", "1,2,", "0,0", "0,-1", "0,1024", "0,x", "0x1", "1 2", "+1",
                            "4294967297", "0,4294967296", "99999999999999999999999"}},
      {"SEMCACHE_DEVICE_MEMORY", {"-1", "1.5G", "G", "1GB", "1GiB", "1 G", "1P", "lots", "1e9", "0x10", "1KK", "+1", "K1", "1G,",
                                  ",1G", "1G,,2G", ",", "1G,x", "1G;2G", "1G 2G", "1,-1"}},
      {"SEMCACHE_PROTOCOL", {"writeback", "write_back", "on", "0", "1", "WRITE-BACK"}},
      {"SEMCACHE_TRACKER", {"userfault", "mprotect ,", "off", "none", "1"}},
      {"SEMCACHE_CHECK", {"yes", "true", "2", "-1", "01", "on"}},
      {"SEMCACHE_CHECK_WRITES", {"yes", "2", "10"}},
      {"SEMCACHE_REPORT", {"%", "report.%", "%d.json", "%P", "%%%", "folder/", "/", "1", "0", "on", "off", "yes", "true"}},
      {"SEMCACHE_TRACE", {"%", "%d.json", "%%%", "folder/", "1", "on", "stdout", "stderr", "-"}},
      {"SEMCACHE_TRACE_SPANS", {"0", "-1", "x", "1.5", "100000001", "1K"}},
      {"SEMCACHE_SNAPSHOT_SHARE", {"101", "-1", "25%", "0.25", "x", "18446744073709551641", "184467440737095516160"}},
      {"SEMCACHE_FAULT_TIMEOUT", {"0", "86401", "-60", "1m", "inf", "4294967356", "60s"}},
      {"SEMCACHE_DEVICE_TRACKER", {"1", "yes", "cupti", "ON"}},
      {"SEMCACHE_HOST_ADDRESSES", {"-1", "64GiB", "half", "1P"}},
      {"SEMCACHE_PEER_ACCESS", {"1", "on", "OFF", "none"}},
      {"SEMCACHE_MPI_CUDA", {"1", "always", "never", "OFF", "-1"}},
      {"SEMCACHE_EMULATED_MACHINE", {"/", "/no/such/file", "\x01"}},
  };
  ASSERT_EQ(nonsense.size(), std::size(all_names));

  for (const auto& [name, values] : nonsense) {
    for (const std::string& value : values) {
      const std::string text = error_of(name, value);
      EXPECT_TRUE(contains(text, name + "=\"")) << name << "=" << value << ": " << text;
      EXPECT_TRUE(contains(text, "Accepted: ")) << name << "=" << value << ": " << text;
      if (value != "\x01") {
        EXPECT_TRUE(contains(text, value)) << name << "=" << value << ": " << text;
      }
      EXPECT_LT(text.size(), 500u);
    }
  }
}

TEST(Configuration, AHugeOrBinaryValueStaysReadableInItsMessage) {
  const std::string huge = error_of("SEMCACHE_PROTOCOL", std::string(1 << 20, 'x'));
  EXPECT_FALSE(huge.empty());
  EXPECT_LT(huge.size(), 400u);

  EXPECT_LT(error_of("SEMCACHE_REPORT", std::string(1 << 20, '%')).size(), 400u);

  const std::string binary = error_of("SEMCACHE_DEVICE", "a\x1b[31m\nb");
  EXPECT_TRUE(contains(binary, "a\\x1b[31m\\x0ab")) << binary;
}

semcache::device::MachineModel machine(const std::string& text) { return read_machine(text, "machine.txt"); }

TEST(MachineFile, EachKeyIsAFigureOfAllOrOfOne) {
  constexpr int host = semcache::device::MachineModel::host;
  const auto m = machine(
      "# two devices\n"
      "\n"
      "memory=3.8e12   # bytes per second\n"
      "  memory 1 = 1e12\r\n"
      "launch = 3e-6\nlaunch 0 = 0\n"
      "link = 55e9\nlink 1 = 32e9\nlink host 0 = 50e9\nlink\t0  host = 49e9\n"
      "peer = 395e9\npeer 1 0 = 5\n"
      "latency = 6e-6\nlatency 1 = 7e-6\nlatency 0 1 = 8e-6\nlatency host 1 = 9e-6\n"
      "shared = host 0, host 1\nshared = 0 host,1 host,0 1");
  EXPECT_EQ(m.memory.of(0, 0), 3.8e12);
  EXPECT_EQ(m.memory.of(1, 0), 1e12);
  EXPECT_EQ(m.launch.of(0, 1), 0);
  EXPECT_EQ(m.launch.of(7, 1), 3e-6);
  EXPECT_EQ(m.link.of({host, 2}, 0), 55e9);
  EXPECT_EQ(m.link.of({host, 1}, 0), 32e9);
  EXPECT_EQ(m.link.of({1, host}, 0), 32e9);
  EXPECT_EQ(m.link.of({host, 0}, 0), 50e9);
  EXPECT_EQ(m.link.of({0, host}, 0), 49e9);
  EXPECT_EQ(m.peer.of({0, 1}, 0), 395e9);
  EXPECT_EQ(m.peer.of({1, 0}, 0), 5);
  EXPECT_EQ(m.latency.of({1, 0}, 0), 6e-6);
  EXPECT_EQ(m.latency.of({0, 1}, 0), 8e-6);
  EXPECT_EQ(m.latency.of({1, host}, 0), 7e-6);
  EXPECT_EQ(m.latency.of({host, 1}, 0), 9e-6);
  using Links = std::vector<semcache::device::MachineModel::Link>;
  EXPECT_EQ(m.shared, (std::vector<Links>{{{host, 0}, {host, 1}}, {{0, host}, {1, host}, {0, 1}}}));
}

TEST(MachineFile, WhatCannotBeUsedIsRefusedByFileLineValueAndAcceptedForms) {
  const std::pair<const char*, const char*> wrong[] = {
      {"lnik = 5", "\"lnik\" is not a key"},
      {"link 5e9", "= is missing"},
      {"= 5", "a key is missing"},
      {"link =", "\"\" is not a number"},
      {"link = fast", "\"fast\" is not a number"},
      {"link = 5 GB", "\"5 GB\" is not a number"},
      {"link = 5e9 = 6", "is not a number"},
      {"link = nan", "is not a number"},
      {"link = 1e999", "is not a number"},
      {"link = 0", "a rate is more than 0"},
      {"memory = -1", "a rate is more than 0"},
      {"latency = -1e-6", "a time is at least 0"},
      {"link = 1\nlink = 2", "stated twice"},
      {"peer 0 1 = 1\npeer  0  1 = 1", "stated twice"},
      {"link gpu = 1", "\"gpu\" is neither a device number nor host"},
      {"link -1 = 1", "\"-1\" is neither a device number nor host"},
      {"link 1024 = 1", "\"1024\" is neither a device number nor host"},
      {"link 1x = 1", "\"1x\" is neither a device number nor host"},
      {"link host = 1", "link needs a device"},
      {"memory host = 1", "memory needs a device"},
      {"memory 0 1 = 1", "too many words"},
      {"link host 0 1 = 1", "too many words"},
      {"link 0 1 = 1", "between devices it is peer"},
      {"peer 0 = 1", "peer needs two devices"},
      {"peer host 0 = 1", "between the host and a device it is link"},
      {"peer 0 0 = 1", "a link leads from one place to another"},
      {"shared = host 0", "at least two links"},
      {"shared =", "is not a link"},
      {"shared = host 0, host", "\"host\" is not a link"},
      {"shared = host 0, host 1,", "\"\" is not a link"},
      {"shared = host 0, host host", "a link leads from one place to another"},
      {"shared = host 0, host 0", "\"host 0\" is shared already"},
      {"shared = host 0, 0 host\nshared = 0 host, 1 host", "\"0 host\" is shared already"},
      {"shared 0 = host 0, host 1", "\"shared\" is not a key"},
  };
  for (const auto& [text, why] : wrong) {
    std::string error;
    try {
      (void)machine(std::string("memory 5 = 1 # fine\n\n") + text);
    } catch (const ConfigurationError& e) {
      error = e.what();
    }
    const std::string lines(text);
    const bool second = lines.find('\n') != std::string::npos;
    EXPECT_TRUE(contains(error, std::string("SEMCACHE_EMULATED_MACHINE: \"machine.txt\", line ") + (second ? "4" : "3") + ": ")) << text << ": " << error;
    EXPECT_TRUE(contains(error, "\"" + (second ? lines.substr(lines.find('\n') + 1) : lines) + "\" cannot be used: ")) << text << ": " << error;
    EXPECT_TRUE(contains(error, why)) << text << ": " << error;
    EXPECT_TRUE(contains(error, ". Accepted: lines key = value")) << text << ": " << error;
  }
  for (const char* const nothing : {"", "# link = 5\n", "\n \n"}) {
    std::string error;
    try {
      (void)machine(nothing);
    } catch (const ConfigurationError& e) {
      error = e.what();
    }
    EXPECT_TRUE(contains(error, "\"machine.txt\" states nothing. Accepted: ")) << nothing << ": " << error;
  }
}

TEST(MachineFile, TheVariableNamesTheFile) {
  EXPECT_FALSE(read({}).emulated_machine.has_value());
  const std::string file = ::testing::TempDir() + "machine_of_configuration.txt";
  std::ofstream(file) << "link = 5";
  EXPECT_EQ(read({{"SEMCACHE_EMULATED_MACHINE", " " + file}}).emulated_machine->link.of_all, 5);
  std::ofstream(file) << "lnik = 5";
  EXPECT_TRUE(contains(error_of("SEMCACHE_EMULATED_MACHINE", file), "line 1: \"lnik = 5\" cannot be used"));
  std::ofstream(file) << std::string(1 << 20, '#');
  EXPECT_TRUE(contains(error_of("SEMCACHE_EMULATED_MACHINE", file), "larger than 1 MiB"));
  std::remove(file.c_str());
  EXPECT_TRUE(contains(error_of("SEMCACHE_EMULATED_MACHINE", file), "it cannot be opened (No such file"));
}

TEST(Configuration, AReportNameIsKeptAsWritten) {
  for (const char* name : {"stderr", "stdout", "-", "./1", "./stdout", "on.txt"}) EXPECT_EQ(read({{"SEMCACHE_REPORT", name}}).report, name);
  EXPECT_EQ(read({{"SEMCACHE_REPORT", "out/%h-%r-%p-100%%.json"}}).report, "out/%h-%r-%p-100%%.json");
  EXPECT_EQ(read({{"SEMCACHE_REPORT", "with blanks.txt"}}).report, "with blanks.txt");
  EXPECT_EQ(read({{"SEMCACHE_TRACE", "t-%r.json"}}).trace, "t-%r.json");
  EXPECT_EQ(read({}).trace, "");
  EXPECT_EQ(read({{"SEMCACHE_TRACE_SPANS", "17"}}).trace_spans, 17u);
}

TEST(Configuration, TheRankComesFromTheFirstLauncherThatNamesOne) {
  EXPECT_EQ(read({{"SLURM_PROCID", "3"}}).mpi_rank, 3);
  EXPECT_EQ(read({{"PMI_RANK", "2"}, {"SLURM_PROCID", "3"}}).mpi_rank, 2);
  EXPECT_EQ(read({{"OMPI_COMM_WORLD_RANK", "0"}, {"PMI_RANK", "2"}}).mpi_rank, 0);
  EXPECT_EQ(read({{"OMPI_COMM_WORLD_RANK", "none"}, {"PMI_RANK", "99999999999"}, {"SLURM_PROCID", "7"}}).mpi_rank, 7);
  EXPECT_EQ(read({{"PMI_RANK", "-4"}}).mpi_rank, -1);
}

TEST(Configuration, SoDoesTheRankOnTheNode) {
  EXPECT_EQ(read({}).local_rank, -1);
  EXPECT_EQ(read({{"OMPI_COMM_WORLD_RANK", "5"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}).local_rank, 1);
  EXPECT_EQ(read({{"MPI_LOCALRANKID", "2"}, {"SLURM_LOCALID", "3"}}).local_rank, 2);
  EXPECT_EQ(read({{"SLURM_LOCALID", "3"}}).local_rank, 3);
  EXPECT_EQ(read({{"SLURM_LOCALID", "x"}}).local_rank, -1);
}

TEST(Configuration, WordsReadBackAsWhatTheySay) {
  for (const auto choice : {DeviceChoice::automatic, DeviceChoice::emulated, DeviceChoice::cuda}) {
    EXPECT_EQ(read({{"SEMCACHE_DEVICE", to_string(choice)}}).device, choice);
  }
  for (const auto protocol : {Protocol::write_back, Protocol::write_through, Protocol::off}) {
    EXPECT_EQ(read({{"SEMCACHE_PROTOCOL", to_string(protocol)}}).protocol, protocol);
  }
  for (const auto tracker : {TrackerChoice::automatic, TrackerChoice::mprotect, TrackerChoice::userfaultfd,
                             TrackerChoice::explicit_only}) {
    EXPECT_EQ(read({{"SEMCACHE_TRACKER", to_string(tracker)}}).tracker, tracker);
  }
}

TEST(Configuration, KnownVariablesAndThoseOfOthersRaiseNoWarning) {
  std::vector<std::string> entries = {"PATH=/bin", "SEMCACHE=1", "MY_SEMCACHE_DEVICE=x", "", "=", "SemCache_ROOT=/x"};
  for (const char* name : all_names) entries.push_back(std::string(name) + "=");

  EXPECT_TRUE(unknown_variable_warnings(entries).empty());
}

TEST(Configuration, AMisspeltVariableIsNamedWithTheClosestKnownOne) {
  const std::vector<std::pair<std::string, std::string>> misspelt = {
      {"SEMCACHE_PROTOCL", "SEMCACHE_PROTOCOL"},          {"SEMCACHE_DEVICE_MEM", "SEMCACHE_DEVICE_MEMORY"},
      {"SEMCACHE_REPROT", "SEMCACHE_REPORT"},             {"SEMCACHE_CHECK_WRITE", "SEMCACHE_CHECK_WRITES"},
      {"SEMCACHE_DEVICE_MEMROY", "SEMCACHE_DEVICE_MEMORY"}, {"SEMCACHE_FAULTTIMEOUT", "SEMCACHE_FAULT_TIMEOUT"}};

  for (const auto& [wrong, right] : misspelt) {
    const auto warnings = unknown_variable_warnings({"HOME=/", wrong + "=1"});
    ASSERT_EQ(warnings.size(), 1u) << wrong;
    EXPECT_TRUE(contains(warnings[0], "\"" + wrong + "\"")) << warnings[0];
    EXPECT_TRUE(contains(warnings[0], "Did you mean " + right + " (")) << warnings[0];
  }
}

TEST(Configuration, AFarNameGetsAWarningWithoutAGuess) {
  const auto warnings = unknown_variable_warnings({"SEMCACHE_ZZZZZZZZZZ=1", "SEMCACHE_=2", "SEMCACHE_WITHOUT_EQUALS"});

  ASSERT_EQ(warnings.size(), 3u);
  for (const auto& warning : warnings) EXPECT_FALSE(contains(warning, "Did you mean")) << warning;
}

TEST(Configuration, TheProcessEnvironmentIsReadAndAMisspellingReachesStderrAsOneLine) {
  ::setenv("SEMCACHE_SNAPSHOT_SHARE", "7", 1);
  ::setenv("SEMCACHE_SNAPSHOT_SHARES", "8", 1);
  testing::internal::CaptureStderr();

  const Configuration c = read_process_configuration();

  const std::string text = testing::internal::GetCapturedStderr();
  ::unsetenv("SEMCACHE_SNAPSHOT_SHARE");
  ::unsetenv("SEMCACHE_SNAPSHOT_SHARES");
  EXPECT_EQ(c.snapshot_share_percent, 7u);
  EXPECT_TRUE(contains(text, "SEMCACHE_SNAPSHOT_SHARES")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

}  // namespace

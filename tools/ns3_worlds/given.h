// What a world was given, and whose packet one is.
#pragma once

#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "ns3/internet-module.h"
#include "ns3/point-to-point-module.h"

namespace world {

using namespace ns3;

inline constexpr uint16_t kFlowPort = 5001;
inline constexpr uint16_t kOtherPort = 6001;

inline std::map<std::string, std::string> g_given;
inline std::FILE* g_events;

inline std::string Word(const std::string& key, const std::string& otherwise = "") {
    auto found = g_given.find(key);
    return found == g_given.end() ? otherwise : found->second;
}

inline double Number(const std::string& key, double otherwise = 0) {
    auto word = Word(key);
    return word.empty() ? otherwise : std::stod(word);
}

// The flow of a packet: even numbers are its data's way, odd ones the way back; -1 for others.
inline int HalfOf(Ptr<const Packet> packet, bool hasPpp, int protocol = -1) {
    auto copy = packet->Copy();
    if (hasPpp) {
        PppHeader ppp;
        copy->RemoveHeader(ppp);
    }
    if (protocol < 0) {
        Ipv4Header ip;
        copy->RemoveHeader(ip);
        protocol = ip.GetProtocol();
    }
    TcpHeader tcp;
    if (protocol != 6 || copy->GetSize() < 20) {
        return -1;
    }
    copy->PeekHeader(tcp);
    auto flows = static_cast<int>(Number("flows", 1));
    for (auto [port, way] : {std::pair{tcp.GetDestinationPort(), 0}, {tcp.GetSourcePort(), 1}}) {
        if (port >= kFlowPort && port < kFlowPort + flows) {
            return 2 * (port - kFlowPort) + way;
        }
    }
    return -1;
}

// What an element did to a packet of a half; those of others do not count.
inline void Note(int half, const char* action, const char* reason) {
    if (half >= 0) {
        auto at = static_cast<long long>(Simulator::Now().GetNanoSeconds());
        std::fprintf(g_events, "%lld,%d,%s,%s\n", at, half, action, reason);
    }
}

}  // namespace world

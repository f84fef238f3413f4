// What lies between the hosts: links with their totals, queues, and what loses packets.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "given.h"
#include "ns3/traffic-control-module.h"

namespace world {

// Loses packets by chance, one by one or in bursts (Gilbert and Elliott), and above a rate.
class Harm : public ErrorModel {
  public:
    static TypeId GetTypeId() {
        static TypeId id = TypeId("tcpwhy::Harm").SetParent<ErrorModel>();
        return id;
    }

    double loss = 0, worse = 0, better = 0, rate = 0, burst = 0;

  private:
    bool DoCorrupt(Ptr<Packet> packet) override {
        if (rate > 0) {
            tokens = std::min(burst, tokens + (Simulator::Now() - last).GetSeconds() * rate / 8);
            last = Simulator::Now();
            if (tokens < packet->GetSize()) {
                Note(HalfOf(packet, true), "drop", "policed");
                return true;
            }
            tokens -= packet->GetSize();
        }
        if (worse > 0) {
            isBad = isBad ? chance->GetValue() >= better : chance->GetValue() < worse;
        }
        if (isBad || (loss > 0 && chance->GetValue() < loss)) {
            Note(HalfOf(packet, true), "drop", isBad ? "burst_loss" : "random_loss");
            return true;
        }
        return false;
    }

    void DoReset() override {}

    Ptr<UniformRandomVariable> chance = CreateObject<UniformRandomVariable>();
    double tokens = 1e12;
    Time last;
    bool isBad = false;
};

// Totals of a link: how long it was sending, and whose bytes.
struct Link {
    std::string name;
    Ptr<PointToPointNetDevice> device;
    double busy = 0;
    std::map<int, double> bytes;

    void OnSend(Ptr<const Packet> packet) {
        DataRateValue rate;
        device->GetAttribute("DataRate", rate);
        busy += rate.Get().CalculateBytesTxTime(packet->GetSize()).GetSeconds();
        bytes[HalfOf(packet, true)] += packet->GetSize();
    }

    // A shaper is a link of its own.
    void OnShaped(Ptr<const QueueDiscItem> item) {
        busy += item->GetSize() * 8 / Number("rate");
        bytes[HalfOf(item->GetPacket(), false, item->GetProtocol() == 0x0800 ? 6 : 0)] +=
            item->GetSize();
    }
};

inline std::vector<std::unique_ptr<Link>> g_links;

inline int HalfOfItem(Ptr<const QueueDiscItem> item) {
    auto ipv4 = DynamicCast<const Ipv4QueueDiscItem>(item);
    return ipv4 ? HalfOf(item->GetPacket(), false, ipv4->GetHeader().GetProtocol()) : -1;
}

inline void OnDrop(Ptr<const QueueDiscItem> item) { Note(HalfOfItem(item), "drop", "queue"); }

inline void OnMark(Ptr<const QueueDiscItem> item, const char*) { Note(HalfOfItem(item), "mark", "queue"); }

inline void Watch(const std::string& name, Ptr<NetDevice> device) {
    auto link = std::make_unique<Link>();
    link->name = name;
    link->device = DynamicCast<PointToPointNetDevice>(device);
    device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Link::OnSend, link.get()));
    g_links.push_back(std::move(link));
}

// The rate of a link that walks.
inline void Walk(Ptr<PointToPointNetDevice> device, double rate, Ptr<UniformRandomVariable> chance) {
    auto step = chance->GetValue(1 / (1 + Number("walk_step")), 1 + Number("walk_step"));
    rate = std::clamp(rate * step, Number("walk_min"), Number("walk_max"));
    device->SetAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rate))));
    Simulator::Schedule(Seconds(Number("walk_s")), Walk, device, rate, chance);
}

inline NetDeviceContainer Join(Ptr<Node> a, Ptr<Node> b, double rate, double delay) {
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rate))));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("2p"));
    return link.Install(a, b);
}

inline void SetQueue(Ptr<NetDevice> device, const std::string& kind, double limit) {
    TrafficControlHelper helper;
    auto bytes = std::to_string(static_cast<uint64_t>(std::max(limit, 3100.0))) + "B";
    auto packets = std::to_string(static_cast<uint64_t>(std::max(limit / 1500, 4.0))) + "p";
    auto rate = DataRateValue(DataRate(static_cast<uint64_t>(Number("rate"))));
    auto ecn = BooleanValue(Number("ecn") > 0);
    if (kind == "red") {
        helper.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", StringValue(packets), "MinTh",
                                DoubleValue(std::max(limit / 6000, 2.0)), "MaxTh",
                                DoubleValue(std::max(limit / 2000, 4.0)), "LinkBandwidth", rate,
                                "UseEcn", ecn);
    } else if (kind == "tbf") {
        auto handle = helper.SetRootQueueDisc(
            "ns3::TbfQueueDisc", "Rate", rate, "Burst",
            UintegerValue(static_cast<uint32_t>(Number("burst"))), "MaxSize", StringValue(packets));
        auto classes = helper.AddQueueDiscClasses(handle, 1, "ns3::QueueDiscClass");
        helper.AddChildQueueDisc(handle, classes[0], "ns3::FifoQueueDisc", "MaxSize",
                                 StringValue(packets));
    } else if (kind == "fifo") {
        helper.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(bytes));
    } else {
        auto name = kind == "codel"      ? "ns3::CoDelQueueDisc"
                    : kind == "pie"      ? "ns3::PieQueueDisc"
                    : kind == "fq_codel" ? "ns3::FqCoDelQueueDisc"
                    : kind == "fq_pie"   ? "ns3::FqPieQueueDisc"
                                         : "ns3::CobaltQueueDisc";
        helper.SetRootQueueDisc(name, "MaxSize", StringValue(packets), "UseEcn", ecn);
    }
    auto disc = helper.Install(device).Get(0);
    disc->TraceConnectWithoutContext("Drop", MakeCallback(&OnDrop));
    disc->TraceConnectWithoutContext("Mark", MakeCallback(&OnMark));
    if (kind == "tbf") {
        auto link = std::make_unique<Link>();
        link->name = "shaper";
        disc->TraceConnectWithoutContext("Dequeue", MakeCallback(&Link::OnShaped, link.get()));
        g_links.push_back(std::move(link));
    }
}

}  // namespace world

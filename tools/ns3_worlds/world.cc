// A world in ns-3: hosts, a path, neighbours, and the record that says what was true.
//
//     world OUTPUT KEY=VALUE…      the keys are those of draw.py
//
// OUTPUT gets a capture per tap and three tables. `state.csv` has what held each sender back, each
// 5 ms, in the words of `crates/sim/src/tcp/limit.rs`. `links.csv` has totals of each link, and
// `events.csv` what was dropped or marked.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "given.h"
#include "hosts.h"
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "path.h"

using namespace world;

namespace {

constexpr uint32_t kHeaders = 100;
const Time kSample = MilliSeconds(5);

std::string g_folder;
std::FILE* g_totals;
std::vector<Ptr<Writer>> g_writers;

void Sample() {
    auto at = static_cast<long long>(Simulator::Now().GetNanoSeconds());
    for (auto& writer : g_writers) {
        writer->Look();
    }
    if (at % MilliSeconds(10).GetNanoSeconds() == 0) {
        for (auto& link : g_links) {
            double all = 0;
            for (auto [_, bytes] : link->bytes) {
                all += bytes;
            }
            std::fprintf(g_totals, "%lld,%s,%.9f,%.0f", at, link->name.c_str(), link->busy, all);
            for (int half = 0; half < 2 * Number("flows", 1); half++) {
                std::fprintf(g_totals, ",%.0f", link->bytes[half]);
            }
            std::fprintf(g_totals, "\n");
        }
    }
    Simulator::Schedule(kSample, Sample);
}

void Defaults() {
    auto set = [](const std::string& name, const AttributeValue& value) {
        Config::SetDefault("ns3::" + name, value);
    };
    set("PcapFileWrapper::CaptureSize", UintegerValue(kHeaders));
    set("PcapFileWrapper::NanosecMode", BooleanValue(true));
    set("TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::Tcp" + Word("controller"))));
    set("TcpSocket::SegmentSize", UintegerValue(Number("mss", 1448)));
    set("TcpSocket::InitialCwnd", UintegerValue(10));
    set("TcpSocket::DelAckCount", UintegerValue(Number("delayed_ack", 2)));
    set("TcpSocket::SndBufSize", UintegerValue(Number("send_buffer", 4e6)));
    set("TcpSocket::RcvBufSize", UintegerValue(Number("receive_buffer", 6e6)));
    // Linux waits 40 ms at least and times out after 200 ms and more; RFC 1122 and 6298 allow
    // half a second, and ask for a second.
    auto isLinux = Number("min_rto", 0.2) < 1;
    set("TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(isLinux ? 40 : 200)));
    set("TcpSocketBase::MinRto", TimeValue(Seconds(Number("min_rto", 0.2))));
    set("TcpSocketBase::Sack", BooleanValue(Number("sack", 1) > 0));
    set("TcpSocketBase::Timestamp", BooleanValue(Number("timestamps", 1) > 0));
    set("TcpSocketBase::WindowScaling", BooleanValue(Number("window_scaling", 1) > 0));
    set("TcpSocketBase::UseEcn",
        EnumValue(Number("ecn") > 0 ? TcpSocketState::On : TcpSocketState::Off));
}

// Neighbours on the narrow link: TCP with programs of their own, or a stream of UDP.
void Others(Ptr<Node> from, Ptr<Node> to, Ipv4Address there, Ipv4Address here) {
    auto start = Number("others_start", 0.5);
    for (int i = 0; i < Number("others_tcp"); i++) {
        uint16_t port = kOtherPort + i;
        auto reader = CreateObject<Reader>();
        auto writer = CreateObject<Writer>();
        reader->Begin(to, port);
        writer->program = Word("others_program", "bulk");
        writer->size = Number("others_size");
        writer->interval = Number("others_interval");
        writer->piece = 14480;
        reader->Ref();
        writer->Ref();
        Simulator::Schedule(Seconds(start + 0.083 * i), &Writer::Begin, PeekPointer(writer), from,
                            Address(InetSocketAddress(here, 41001 + i)),
                            Address(InetSocketAddress(there, port)));
    }
    if (auto rate = Number("others_udp"); rate > 0) {
        OnOffHelper source("ns3::UdpSocketFactory", InetSocketAddress(there, 9));
        auto isOn = Number("others_on", 0) > 0;
        auto times = [&](double mean) {
            return "ns3::ExponentialRandomVariable[Mean=" + std::to_string(mean) + "]";
        };
        source.SetAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rate))));
        source.SetAttribute("PacketSize", UintegerValue(Number("others_packet", 1200)));
        source.SetAttribute("OnTime", StringValue(isOn ? times(Number("others_on"))
                                                       : "ns3::ConstantRandomVariable[Constant=1e6]"));
        source.SetAttribute("OffTime", StringValue(isOn ? times(Number("others_off"))
                                                        : "ns3::ConstantRandomVariable[Constant=0]"));
        source.Install(from).Start(Seconds(start));
        PacketSinkHelper("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9))
            .Install(to);
    }
}

void Write() {
    auto file = std::fopen((g_folder + "/state.csv").c_str(), "w");
    std::fprintf(file, "at_ns,flow,limit,near,both,srtt_s,least_s\n");
    for (size_t flow = 0; flow < g_writers.size(); flow++) {
        for (auto& at : g_writers[flow]->states) {
            std::fprintf(file, "%lld,%zu,%s,%s,%d,%.6f,%.6f\n", static_cast<long long>(at.at), flow,
                         at.limit.c_str(), at.near, at.isBoth, at.srtt, at.least);
        }
    }
    std::fclose(file);
}

void Build() {
    NodeContainer nodes;
    nodes.Create(6);
    InternetStackHelper().Install(nodes);
    auto sender = nodes.Get(0), left = nodes.Get(1), right = nodes.Get(2), receiver = nodes.Get(3);
    auto rate = Number("rate"), wide = Number("wide");
    // A shaper drains into a wider link.
    auto narrow = Word("queue") == "tbf" ? wide : rate;
    auto near = Join(sender, left, wide, Number("near_s"));
    auto link = Join(left, right, narrow, Number("delay_s"));
    auto far = Join(right, receiver, wide, Number("far_s"));
    auto beside = Join(nodes.Get(4), left, 10 * wide, Number("beside_s"));
    auto beyond = Join(right, nodes.Get(5), 10 * wide, 0.001);
    link.Get(1)->SetAttribute(
        "DataRate", DataRateValue(DataRate(static_cast<uint64_t>(Number("back_rate")))));
    SetQueue(link.Get(0), Word("queue", "fifo"), Number("limit"));
    auto harm = CreateObject<Harm>();
    harm->loss = Number("loss");
    harm->worse = Number("worse");
    harm->better = Number("better");
    harm->rate = Number("policer");
    harm->burst = Number("policer_burst");
    auto behind = Number("harm_before") > 0 ? near.Get(1) : link.Get(1);
    behind->SetAttribute("ReceiveErrorModel", PointerValue(harm));
    Watch("narrow", link.Get(0));
    Watch("back", link.Get(1));
    Watch("near", near.Get(0));
    Watch("far", far.Get(0));
    if (Number("walk_s") > 0) {
        auto chance = CreateObject<UniformRandomVariable>();
        Walk(DynamicCast<PointToPointNetDevice>(link.Get(0)), rate, chance);
    }
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    std::vector<Ipv4InterfaceContainer> given;
    for (auto& devices : {near, link, far, beside, beyond}) {
        given.push_back(addresses.Assign(devices));
        addresses.NewNetwork();
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    PointToPointHelper capture;
    capture.EnablePcap(g_folder + "/sender.pcap", near.Get(0), false, true);
    capture.EnablePcap(g_folder + "/middle.pcap",
                       Number("tap_behind") > 0 ? far.Get(0) : near.Get(1), false, true);
    capture.EnablePcap(g_folder + "/receiver.pcap", far.Get(1), false, true);
    for (int i = 0; i < Number("flows", 1); i++) {
        uint16_t port = kFlowPort + i;
        auto reader = CreateObject<Reader>();
        reader->rate = Number("reader");
        reader->Begin(receiver, port);
        reader->Ref();
        auto writer = CreateObject<Writer>();
        writer->program = Word("program", "bulk");
        writer->size = Number("size");
        writer->interval = Number("interval");
        writer->isBbr = Word("controller") == "Bbr";
        writer->piece = std::min(Number("piece", 14480), Number("send_buffer", 4e6) / 3);
        g_writers.push_back(writer);
        Simulator::Schedule(Seconds(0.2 + i * Number("stagger")), &Writer::Begin,
                            PeekPointer(writer), sender,
                            Address(InetSocketAddress(given[0].GetAddress(0), 40001 + i)),
                            Address(InetSocketAddress(given[2].GetAddress(1), port)));
    }
    Others(nodes.Get(4), nodes.Get(5), given[4].GetAddress(1), given[3].GetAddress(0));
}

}  // namespace

int main(int count, char** words) {
    g_folder = words[1];
    for (int i = 2; i < count; i++) {
        std::string word = words[i];
        auto at = word.find('=');
        g_given[word.substr(0, at)] = word.substr(at + 1);
    }
    g_events = std::fopen((g_folder + "/events.csv").c_str(), "w");
    g_totals = std::fopen((g_folder + "/links.csv").c_str(), "w");
    std::fprintf(g_events, "at_ns,half,action,reason\n");
    RngSeedManager::SetSeed(1 + static_cast<uint32_t>(Number("seed")));
    Defaults();
    Build();
    Simulator::Schedule(kSample, Sample);
    Simulator::Stop(Seconds(Number("duration", 10)));
    Simulator::Run();
    Write();
    std::fclose(g_events);
    std::fclose(g_totals);
    Simulator::Destroy();
}

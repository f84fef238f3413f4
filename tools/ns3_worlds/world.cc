// A world in ns-3: hosts, a path, neighbours, and the record that says what was true.
//
//     world OUTPUT KEY=VALUE…      the keys are those of draw.py
//
// OUTPUT gets a capture per tap and three tables. `state.csv` has what held each sender back, each
// 5 ms, in the words of `crates/sim/src/tcp/limit.rs`. `links.csv` has totals of each link, and
// `events.csv` what was dropped or marked.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace {

constexpr uint16_t kFlowPort = 5001;
constexpr uint16_t kOtherPort = 6001;
constexpr uint32_t kHeaders = 100;
const Time kSample = MilliSeconds(5);

std::map<std::string, std::string> g_given;
std::string g_folder;
std::FILE* g_events;

std::string Word(const std::string& key, const std::string& otherwise = "") {
    auto found = g_given.find(key);
    return found == g_given.end() ? otherwise : found->second;
}

double Number(const std::string& key, double otherwise = 0) {
    auto word = Word(key);
    return word.empty() ? otherwise : std::stod(word);
}

// The flow of a packet: even numbers are its data's way, odd ones the way back; -1 for others.
int HalfOf(Ptr<const Packet> packet, bool hasPpp, int protocol = -1) {
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

void Note(int half, const char* action, const char* reason) {
    if (half >= 0) {
        auto at = static_cast<long long>(Simulator::Now().GetNanoSeconds());
        std::fprintf(g_events, "%lld,%d,%s,%s\n", at, half, action, reason);
    }
}

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

// Writes what a program has: all the time, or so many bytes at each interval or after each answer.
class Writer : public Object {
  public:
    static TypeId GetTypeId() {
        static TypeId id = TypeId("tcpwhy::Writer").SetParent<Object>();
        return id;
    }

    struct State {
        int64_t at;
        std::string limit;
        const char* near;
        bool isBoth;
        double srtt, least;
    };

    Ptr<Socket> socket;
    std::string program;
    double size = 0, interval = 0, stop = 1e9;
    uint32_t piece = 0;
    bool isBbr = false;
    std::vector<State> states;

    void Begin(Ptr<Node> node, Address local, Address remote) {
        socket = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
        socket->Bind(local);
        auto trace = [this](const char* name, auto callback) {
            socket->TraceConnectWithoutContext(name, callback);
        };
        trace("CongestionWindow", MakeCallback(&Writer::OnCwnd, this));
        trace("SlowStartThreshold", MakeCallback(&Writer::OnThreshold, this));
        trace("RWND", MakeCallback(&Writer::OnWindow, this));
        trace("BytesInFlight", MakeCallback(&Writer::OnFlight, this));
        trace("CongState", MakeCallback(&Writer::OnState, this));
        trace("NextTxSequence", MakeCallback(&Writer::OnNext, this));
        trace("RTT", MakeCallback(&Writer::OnSrtt, this));
        trace("LastRTT", MakeCallback(&Writer::OnRtt, this));
        trace("RTO", MakeCallback(&Writer::OnRto, this));
        socket->SetConnectCallback(MakeCallback(&Writer::OnOpen, this),
                                   MakeNullCallback<void, Ptr<Socket>>());
        socket->SetSendCallback(MakeCallback(&Writer::OnRoom, this));
        socket->Connect(remote);
    }

    void Look() {
        if (isOpen) {
            states.push_back({Simulator::Now().GetNanoSeconds(), Limit(), Near(), IsBoth(), srtt,
                              least});
        }
        if (program == "asked" && isOpen && !isAsked && due == 0 && Buffer()->Size() == 0) {
            isAsked = true;
            Simulator::Schedule(Seconds(interval), &Writer::More, this);
        }
    }

  private:
    Ptr<TcpTxBuffer> Buffer() const { return DynamicCast<TcpSocketBase>(socket)->GetTxBuffer(); }

    int64_t Outstanding() const {
        return std::max<int64_t>(0, std::min<int64_t>(next - Buffer()->HeadSequence(),
                                                      Buffer()->Size()));
    }

    bool IsRefused() const { return due > 0 && socket->GetTxAvailable() < Wanted(); }

    double Wanted() const { return std::min<double>(due, piece); }

    double Mss() const { return Number("mss", 1448); }

    // The host's window of which less than two segments or a tenth are left.
    const char* Near() const {
        auto isFull = [this](double room) {
            return room < Outstanding() + std::max(2 * Mss(), room / 10);
        };
        return isFull(window) ? "receiver_window"
               : isFull(Number("send_buffer", 4e6)) ? "send_buffer"
                                                    : "";
    }

    bool IsBoth() const {
        auto unsent = Buffer()->Size() - Outstanding();
        return window < Outstanding() + Mss() && IsRefused() && unsent < Mss();
    }

    std::string Phase() const { return cwnd < threshold ? "slow_start" : "congestion_avoidance"; }

    std::string Limit() const {
        // Segments that are lost do not leave either while the window is closed.
        if (window < Mss()) {
            return "receiver_window";
        }
        if (state == TcpSocketState::CA_RECOVERY || state == TcpSocketState::CA_LOSS) {
            return "recovery";
        }
        auto unsent = static_cast<int64_t>(Buffer()->Size()) - Outstanding();
        if (unsent <= 0) {
            return IsRefused() ? "send_buffer" : "application";
        }
        auto room = std::min<int64_t>(static_cast<int64_t>(Mss()), unsent);
        if (Outstanding() + room > window) {
            return "receiver_window";
        }
        return flight + room > cwnd || !isBbr ? Phase() : "pacing/" + Phase();
    }

    void OnOpen(Ptr<Socket>) {
        isOpen = true;
        isAsked = true;
        More();
    }

    void OnRoom(Ptr<Socket>, uint32_t) { Write(); }

    void More() {
        if (Simulator::Now().GetSeconds() > stop) {
            return;
        }
        due = program == "bulk" ? 1e15 : due + size;
        isAsked = false;
        Write();
        if (program == "chunks") {
            Simulator::Schedule(Seconds(interval), &Writer::More, this);
        }
    }

    void Write() {
        while (due > 0 && socket->GetTxAvailable() >= Wanted()) {
            auto sent = socket->Send(Create<Packet>(static_cast<uint32_t>(Wanted())));
            if (sent <= 0) {
                return;
            }
            due -= sent;
        }
    }

    void OnCwnd(uint32_t, uint32_t now) { cwnd = now; }
    void OnThreshold(uint32_t, uint32_t now) { threshold = now; }
    void OnWindow(uint32_t, uint32_t now) { window = now; }
    void OnFlight(uint32_t, uint32_t now) { flight = now; }
    void OnSrtt(Time, Time now) { srtt = now.GetSeconds(); }

    void OnState(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now) {
        state = now;
        if (state == TcpSocketState::CA_LOSS) {
            CallTheTimers();
        }
    }

    void OnNext(SequenceNumber32, SequenceNumber32 now) {
        next = now;
        moved = states.size();
    }

    void OnRtt(Time, Time now) {
        least = least > 0 ? std::min(least, now.GetSeconds()) : now.GetSeconds();
        moved = states.size();
    }

    // The timer doubles when it ran out again.
    void OnRto(Time before, Time now) {
        if (state == TcpSocketState::CA_LOSS && now > before * 1.5) {
            CallTheTimers();
        }
    }

    // The wait before a timeout: since something was last sent or acknowledged.
    void CallTheTimers() {
        for (auto i = moved; i < states.size(); i++) {
            states[i].limit = "timer";
        }
        moved = states.size();
    }

    bool isOpen = false, isAsked = false;
    double due = 0, srtt = 0, least = 0;
    uint32_t cwnd = 0, threshold = 0xffffffff, window = 65535, flight = 0;
    TcpSocketState::TcpCongState_t state = TcpSocketState::CA_OPEN;
    SequenceNumber32 next;
    size_t moved = 0;
};

// Reads all that comes, or so many bytes at a time.
class Reader : public Object {
  public:
    static TypeId GetTypeId() {
        static TypeId id = TypeId("tcpwhy::Reader").SetParent<Object>();
        return id;
    }

    double rate = 0;
    uint32_t piece = 16384;

    void Begin(Ptr<Node> node, uint16_t port) {
        socket = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
        socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        socket->Listen();
        socket->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                  MakeCallback(&Reader::OnOpen, this));
    }

  private:
    void OnOpen(Ptr<Socket> opened, const Address&) {
        if (rate > 0) {
            Read(opened);
        } else {
            opened->SetRecvCallback(MakeCallback(&Reader::OnData, this));
        }
    }

    void OnData(Ptr<Socket> opened) {
        while (auto packet = opened->Recv()) {
            if (packet->GetSize() == 0) {
                return;
            }
        }
    }

    void Read(Ptr<Socket> opened) {
        opened->Recv(piece, 0);
        Simulator::Schedule(Seconds(piece * 8 / rate), &Reader::Read, this, opened);
    }

    Ptr<Socket> socket;
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

std::vector<std::unique_ptr<Link>> g_links;
std::vector<Ptr<Writer>> g_writers;
std::FILE* g_totals;

int HalfOfItem(Ptr<const QueueDiscItem> item) {
    auto ipv4 = DynamicCast<const Ipv4QueueDiscItem>(item);
    return ipv4 ? HalfOf(item->GetPacket(), false, ipv4->GetHeader().GetProtocol()) : -1;
}

void OnDrop(Ptr<const QueueDiscItem> item) { Note(HalfOfItem(item), "drop", "queue"); }

void OnMark(Ptr<const QueueDiscItem> item, const char*) { Note(HalfOfItem(item), "mark", "queue"); }

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

void Watch(const std::string& name, Ptr<NetDevice> device) {
    auto link = std::make_unique<Link>();
    link->name = name;
    link->device = DynamicCast<PointToPointNetDevice>(device);
    device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Link::OnSend, link.get()));
    g_links.push_back(std::move(link));
}

// The rate of a link that walks.
void Walk(Ptr<PointToPointNetDevice> device, double rate, Ptr<UniformRandomVariable> chance) {
    auto step = chance->GetValue(1 / (1 + Number("walk_step")), 1 + Number("walk_step"));
    rate = std::clamp(rate * step, Number("walk_min"), Number("walk_max"));
    device->SetAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rate))));
    Simulator::Schedule(Seconds(Number("walk_s")), Walk, device, rate, chance);
}

NetDeviceContainer Join(Ptr<Node> a, Ptr<Node> b, double rate, double delay) {
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rate))));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("2p"));
    return link.Install(a, b);
}

void Queue(Ptr<NetDevice> device, const std::string& kind, double limit) {
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
    Queue(link.Get(0), Word("queue", "fifo"), Number("limit"));
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

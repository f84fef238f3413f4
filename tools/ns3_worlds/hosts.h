// The two ends of a flow: who writes, with what held it back at each look, and who reads.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "given.h"
#include "ns3/network-module.h"

namespace world {

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

}  // namespace world

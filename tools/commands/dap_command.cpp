// SPDX-License-Identifier: Apache-2.0
// lockwarp dap: the Debug Adapter Protocol's messages on stdin and stdout, or on a port of this
// machine.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "debug/dap.hpp"
#include "debug/words.hpp"
#include "tools/commands/commands.hpp"
#include "tools/exit_status.hpp"
#include "tools/report/failure.hpp"
#include "tools/report/why_subject.hpp"

namespace lockwarp::tools {

namespace {

using debug::Json;

// "Content-Length: N", a blank line, N bytes of JSON.
class Channel {
  public:
    Channel(int in, int out) : in_(in), out_(out) {}

    // none: the end, or no message of the protocol, after which there can be none.
    std::optional<Json> read() {
        constexpr size_t max_header = 4096;
        constexpr uint64_t max_body = uint64_t{16} << 20;
        size_t end;
        while ((end = text_.find("\r\n\r\n")) == std::string::npos)
            if (text_.size() > max_header || !more()) return std::nullopt;
        std::optional<uint64_t> length;
        for (size_t at = 0; at < end;) {
            const size_t stop = std::min(text_.find("\r\n", at), end);
            constexpr std::string_view name = "Content-Length:";
            const std::string_view line(text_.data() + at, stop - at);
            if (line.starts_with(name))
                length = debug::number_of(debug::trimmed(line.substr(name.size())));
            at = stop + 2;
        }
        if (!length || *length > max_body) return std::nullopt;
        text_.erase(0, end + 4);
        while (text_.size() < *length)
            if (!more()) return std::nullopt;
        Json out = Json::parse(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(*length),
                               nullptr, false);
        text_.erase(0, *length);
        return out;
    }

    void write(const Json& message) {
        const std::string body = message.dump(-1, ' ', false, Json::error_handler_t::replace);
        const std::string all = fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
        for (size_t at = 0; at < all.size();) {
            const ssize_t n = ::write(out_, all.data() + at, all.size() - at);
            if (n <= 0) return;
            at += static_cast<size_t>(n);
        }
    }

  private:
    bool more() {
        std::array<char, 65536> part{};
        const ssize_t n = ::read(in_, part.data(), part.size());
        if (n <= 0) return false;
        text_.append(part.data(), static_cast<size_t>(n));
        return true;
    }

    int in_, out_;
    std::string text_;
};

// Messages are read while the program runs, so that "pause" holds it.
void serve(int in, int out) {
    Channel channel(in, out);
    std::atomic<bool> wish{false};
    std::mutex lock;
    std::condition_variable changed;
    std::deque<std::optional<Json>> waiting;  // none: the end
    const auto pass_on = [&](std::optional<Json> message) {
        const std::lock_guard guard(lock);
        waiting.push_back(std::move(message));
        changed.notify_one();
    };
    std::thread reader([&] {
        while (std::optional<Json> message = channel.read()) {
            const std::string command =
                message->contains("command") && (*message)["command"].is_string()
                    ? (*message)["command"].get<std::string>()
                    : std::string();
            const bool ends = command == "disconnect";
            if (ends || command == "pause" || command == "terminate") wish = true;
            pass_on(std::move(message));
            if (ends) return;
        }
        wish = true;
        pass_on(std::nullopt);
    });
    debug::DapServer server([&](const Json& message) { channel.write(message); }, &wish);
    server.expect(
        [](std::vector<std::string> products) { return subject_of(std::move(products)); });
    for (;;) {
        std::unique_lock guard(lock);
        changed.wait(guard, [&] { return !waiting.empty(); });
        const std::optional<Json> message = std::move(waiting.front());
        waiting.pop_front();
        guard.unlock();
        if (!message) break;
        server.handle(*message);
        if (server.is_done()) break;
    }
    // One that ended by a command of the session: the client closes its side.
    reader.join();
}

// One client on 127.0.0.1.
int serve_port(uint16_t port) {
    const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listening < 0) return refuse(std::string("no socket: ") + std::strerror(errno));
    const int on = 1;
    ::setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listening, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listening, 1) != 0 ||
        ::getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        const std::string why = std::strerror(errno);
        ::close(listening);
        return refuse(fmt::format("port {}: {}", port, why));
    }
    fmt::print("listening on 127.0.0.1:{}\n", ntohs(address.sin_port));
    std::fflush(stdout);
    const int client = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    ::close(listening);
    if (client < 0) return refuse("no client");
    serve(client, client);
    ::close(client);
    return done;
}

}  // namespace

void add_dap(CLI::App& app, int& status) {
    const auto port = std::make_shared<std::optional<uint16_t>>();
    CLI::App* dap = app.add_subcommand(
        "dap", "The debugger for editors: the Debug Adapter Protocol on stdin and stdout");
    dap->add_option("--port", *port,
                    "listen for one client on this port of 127.0.0.1; 0: one that is free, which "
                    "is printed")
        ->type_name("N");
    dap->callback([port, &status] {
        if (*port) {
            status = serve_port(**port);
            return;
        }
        serve(STDIN_FILENO, STDOUT_FILENO);
        status = done;
    });
}

}  // namespace lockwarp::tools

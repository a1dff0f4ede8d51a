// SPDX-License-Identifier: Apache-2.0
#include "tools/address_space.hpp"
#include "tools/commands/cli.hpp"

int main(int argc, char** argv) {
    if (argc > 1 && lockwarp::tools::uses_given_addresses(argv[1]))
        lockwarp::tools::map_from_below(argv);
    return lockwarp::tools::command_line(argc, argv);
}
